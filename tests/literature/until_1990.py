"""Published bilevel linear programs until 1990."""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram

CANDLER_TOWNSLEY_1982 = Problem(
    key="candler-townsley-1982",
    citation="W. Candler, R. Townsley: A linear two-level programming problem. "
    "Computers & Operations Research 9(1), 1982, 59-76, section 6.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1, 1, 2, 0, 0, 0],
            matrix=[[-1, 1, 1, 1, 0, 0], [-1, 2, -0.5, 0, 1, 0], [2, -1, -0.5, 0, 0, 1]],
            row_lower=[1, 1, 1],
            row_upper=[1, 1, 1],
        ),
        coupling=[[0, 0], [2, 0], [0, 2]],
        leader_cost=[-8, -4],
        response_cost=[4, -40, -4, 0, 0, 0],
    ),
    leader_objective=-29.2,
    follower_objective=1.4,
    x=(0, 0.9),
    y=(0, 0.6, 0.4, 0, 0, 0),
)

BARD_FALK_1982_1 = Problem(
    key="bard-falk-1982-1",
    citation="J. F. Bard, J. E. Falk: An explicit solution to the multi-level programming problem. "
    "Computers & Operations Research 9(1), 1982, 77-100, example 1.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1, 1, 2],
            matrix=[[-1, 1, 1], [-1, 2, -0.5], [2, -1, -0.5]],
            row_upper=[1, 1, 1],
        ),
        coupling=[[0, 0], [2, 0], [0, 2]],
        leader_cost=[-8, -4],
        response_cost=[4, -40, 4],
    ),
    leader_objective=-26,
    follower_objective=1.4,
    x=(0, 0.9),
    y=(0, 0.6, 0.4),
    note="As Candler and Townsley's problem without slacks and with the other sign of the third response.",
)

BARD_FALK_1982_2 = Problem(
    key="bard-falk-1982-2",
    citation="J. F. Bard, J. E. Falk: An explicit solution to the multi-level programming problem. "
    "Computers & Operations Research 9(1), 1982, 77-100, example 2.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-4, 1],
            matrix=[[1, -1], [0, 1], [0, 0]],
            row_upper=[-2.5, 2, 2],
        ),
        coupling=[[-2, 0], [1, -3], [1, 1]],
        leader_cost=[-2, 1],
        response_cost=[0.5, 0],
    ),
    leader_objective=-3.25,
    follower_objective=-6,
    x=(2, 0),
    y=(1.5, 0),
    note="The third follower row holds leader variables only.",
)

BARD_1984_1 = Problem(
    key="bard-1984-1",
    citation="J. F. Bard: Optimality conditions for the bilevel programming problem. "
    "Naval Research Logistics Quarterly 31, 1984, 13-26, example 1.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[-0.5], [1], [0.5], [-2]], row_upper=[-2, 2, 8, 4]
        ),
        coupling=[[-1], [-0.25], [1], [1]],
        leader_cost=[1],
        response_cost=[1],
    ),
    leader_objective=28 / 9,
    follower_objective=-20 / 9,
    x=(8 / 9,),
    y=(20 / 9,),
)

BARD_1984_2 = Problem(
    key="bard-1984-2",
    citation="J. F. Bard: Optimality conditions for the bilevel programming problem. "
    "Naval Research Logistics Quarterly 31, 1984, 13-26; problem Bard1984b of BOLIB.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1], matrix=[[-0.5], [1], [0.5], [-2]], row_upper=[-2, 2, 8, 4]
        ),
        coupling=[[-1], [-0.25], [1], [1]],
        leader_cost=[-5],
        response_cost=[-1],
    ),
    leader_objective=-37.6,
    follower_objective=1.6,
    x=(7.2,),
    y=(1.6,),
)

BIALAS_KARWAN_1984_1 = Problem(
    key="bialas-karwan-1984-1",
    citation="W. F. Bialas, M. H. Karwan: Two-level linear programming. "
    "Management Science 30(8), 1984, 1004-1020, example 1.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[0, -1],
            matrix=[[1, 1], [-1, 1], [1, 1], [-1, 1], [0, 1]],
            row_upper=[3, -1, 1, 1, 0.5],
        ),
        coupling=[[1], [-1], [-1], [1], [0]],
        leader_cost=[-1],
        response_cost=[0, -1],
    ),
    leader_objective=-2,
    note="The first response costs nothing, so that answers are not unique, nor is the optimum: published is "
    "x = 1.5, y = (1, 0.5); x = 2, y = (1, 0) is as good.",
)

BIALAS_KARWAN_1984_2 = Problem(
    key="bialas-karwan-1984-2",
    citation="W. F. Bialas, M. H. Karwan: Two-level linear programming. "
    "Management Science 30(8), 1984, 1004-1020, example 2.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1], matrix=[[-2], [2], [2], [-2], [-1]], row_upper=[-10, 38, 18, 6, 21]
        ),
        coupling=[[-1], [1], [-1], [1], [2]],
        leader_cost=[0],
        response_cost=[-1],
    ),
    leader_objective=-11,
    follower_objective=11,
    x=(16,),
    y=(11,),
)

CLARK_WESTERBERG_1988 = Problem(
    key="clark-westerberg-1988",
    citation="P. A. Clark, A. W. Westerberg: A note on the optimality conditions for the bilevel programming "
    "problem. Naval Research Logistics 35(5), 1988, 413-418.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1], matrix=[[1], [5], [-3]], row_upper=[0, 108, -4], column_lower=FREE
        ),
        coupling=[[-2], [2], [2]],
        leader_cost=[1],
        response_cost=[-4],
        variable_lower=FREE,
    ),
    leader_objective=-37,
    follower_objective=14,
    x=(19,),
    y=(14,),
    note="Both variables are free in the source.",
)

SAVARD_1989 = Problem(
    key="savard-1989",
    citation="G. Savard: Contribution a la programmation mathematique a deux niveaux. "
    "PhD thesis, Ecole Polytechnique de Montreal, 1989.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[2, 1, 2],
            matrix=[[-1, 1, 1], [-2, 4, -1], [4, -2, -1]],
            row_upper=[1, 2, 2],
        ),
        coupling=[[0, 0], [4, 0], [0, 4]],
        leader_cost=[-8, -4],
        response_cost=[4, -40, 4],
        leader_matrix=[[1, 2]],
        response_matrix=[[0, 0, -1]],
        leader_upper=[1.3],
    ),
    leader_objective=-14.6,
    follower_objective=0.3,
    x=(0, 0.65),
    y=(0, 0.3, 0),
    note="A leader row contains a response.",
)

ANANDALINGAM_WHITE_1990 = Problem(
    key="anandalingam-white-1990",
    citation="G. Anandalingam, D. J. White: A solution method for the linear static Stackelberg "
    "problem using "
    "penalty functions. IEEE Transactions on Automatic Control 35(10), 1990, 1170-1173.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[3], matrix=[[-2], [-2], [-1], [2], [2]], row_upper=[-10, 6, 21, 38, 18]
        ),
        coupling=[[-1], [1], [2], [1], [-1]],
        leader_cost=[-1],
        response_cost=[-3],
    ),
    leader_objective=-49,
    follower_objective=33,
    x=(16,),
    y=(11,),
)

BEN_AYED_BLAIR_1990_1 = Problem(
    key="ben-ayed-blair-1990-1",
    citation="O. Ben-Ayed, C. E. Blair: Computational difficulties of bilevel linear programming. "
    "Operations Research 38(3), 1990, 556-560, example 1.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[-1, -5], matrix=[[3, 1], [1, 3]], row_upper=[5, 5]),
        coupling=[[1], [2]],
        leader_cost=[-1.5],
        response_cost=[-6, -1],
        variable_upper=1,
        leader_sign=-1,
        follower_sign=-1,
    ),
    leader_objective=-2.5,
    follower_objective=-5,
    x=(1,),
    y=(0, 1),
)

BEN_AYED_BLAIR_1990_2 = Problem(
    key="ben-ayed-blair-1990-2",
    citation="O. Ben-Ayed, C. E. Blair: Computational difficulties of bilevel linear programming. "
    "Operations Research 38(3), 1990, 556-560, example 2.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[1], matrix=[[-3], [2], [1]], row_upper=[-19, 11, 13]),
        coupling=[[-4], [1], [3]],
        leader_cost=[-1],
        response_cost=[-1],
        leader_sign=-1,
    ),
    leader_objective=-6,
    follower_objective=5,
    x=(1,),
    y=(5,),
)
