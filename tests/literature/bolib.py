"""Games of the collections BOLIB and BASBLib that the older modules do not state."""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram

INFINITE = float("inf")

BARD_1991_VARIATION = Problem(
    key="bard-1991-variation",
    citation="BASBLib, b_1991_01v: a variation of J. F. Bard, 1991, example 2.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1, -1], matrix=[[1, 0], [0, 1], [1, 1]], row_upper=[1, 1, 1], column_upper=10
        ),
        coupling=[[1], [1], [0]],
        leader_cost=[-1],
        response_cost=[10, -2],
        variable_upper=10,
    ),
    leader_objective=-2,
    follower_objective=-1,
    x=(0,),
    y=(0, 1),
)

GROSSMANN_FLOUDAS_1987 = Problem(
    key="grossmann-floudas-1987",
    citation="I. E. Grossmann, C. A. Floudas: Active constraint strategy for flexibility analysis in "
    "chemical processes. Computers & Chemical Engineering 11(6), 1987, 675-693, example 1; BASBLib, "
    "gf_1987_01_FI.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[0, 1],
            matrix=[[-0.67, -1], [0.5, -1], [1, -1], [1, -1], [-1, -1]],
            row_upper=[350, -1388.5, -2044, -2830, 3153],
            column_lower=[0, -50],
            column_upper=[500, 100],
        ),
        coupling=[
            [0, 1, 0, 0, 0],
            [-0.75, -1, -1, 0, 0],
            [-1.5, -2, -1, 0, 0],
            [-1.5, -2, -1, -2, 0],
            [1.5, 2, 1, 3, 0],
        ],
        leader_cost=[0, 0, 0, 0, 1],
        response_cost=[0, 0],
        variable_lower=[520, 288, 483, 213, 0],
        variable_upper=[720, 488, 683, 413, 10],
        leader_matrix=[
            [1, 0, 0, 0, 10], [1, 0, 0, 0, -10],
            [0, 1, 0, 0, 10], [0, 1, 0, 0, -10],
            [0, 0, 1, 0, 10], [0, 0, 1, 0, -10],
            [0, 0, 0, 1, 10], [0, 0, 0, 1, -10],
            [0, 0, 0, 0, 0],
        ],
        response_matrix=[[0, 0]] * 8 + [[0, 1]],
        leader_lower=[620, FREE, 388, FREE, 583, FREE, 313, FREE, 0],
        leader_upper=[INFINITE, 620, INFINITE, 388, INFINITE, 583, INFINITE, 313, 0],
    ),
    leader_objective=0.5,
    note="The least deviation of four temperatures at which no control keeps all limits of a heat exchanger "
    "network.",
)  # fmt: skip

MERSHA_DEMPE_2006_1 = Problem(
    key="mersha-dempe-2006-1",
    citation="A. G. Mersha, S. Dempe: Linear bilevel programming with upper level constraints depending on "
    "the lower level solution. Applied Mathematics and Computation 180, 2006, 247-254, example 1; BOLIB.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1], matrix=[[2], [2], [-3], [-1]], row_lower=[-33, 9, -5, -15]
        ),
        coupling=[[-5], [1], [7], [-1]],
        leader_cost=[1],
        response_cost=[-8],
    ),
    leader_objective=-39,
    follower_objective=6,
    x=(9,),
    y=(6,),
    note="BOLIB states no optimum.",
)

TUY_1994 = Problem(
    key="tuy-1994",
    citation="H. Tuy, A. Migdalas, P. Varbrand: A quasiconcave minimization method for solving linear "
    "two-level programs. Journal of Global Optimization 4, 1994, 243-263; BOLIB.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[4, 1], matrix=[[6, 2]], row_lower=[15]),
        coupling=[[3, 5]],
        leader_cost=[3, 2],
        response_cost=[1, 1],
        leader_matrix=[[-1, -1]],
        response_matrix=[[-1, -1]],
        leader_lower=[-4],
    ),
    leader_objective=6,
    follower_objective=0,
    x=(0, 3),
    y=(0, 0),
)

WANG_JIAO_LI_2005 = Problem(
    key="wang-jiao-li-2005",
    citation="Y. Wang, Y. C. Jiao, H. Li: An evolutionary algorithm for solving nonlinear bilevel "
    "programming based on a new constraint-handling scheme. IEEE Transactions on Systems, Man, and "
    "Cybernetics C 35(2), 2005, 221-232; BOLIB.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1, -1], matrix=[[-1, 1], [-1, -1]], row_lower=[-1, -1], column_lower=0
        ),
        coupling=[[-1], [0]],
        leader_cost=[-100],
        response_cost=[-1000, 0],
        variable_upper=1,
    ),
    leader_objective=-1000,
    follower_objective=-1,
    note="Of many best answers the leader takes the one dear to it.",
)
