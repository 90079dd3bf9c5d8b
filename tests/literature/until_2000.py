"""Published bilevel linear programs from 1990 to 2000."""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram

CLARK_WESTERBERG_1990 = Problem(
    key="clark-westerberg-1990",
    citation="P. A. Clark, A. W. Westerberg: Bilevel programming for steady-state chemical process "
    "design, I. "
    "Computers & Chemical Engineering 14(1), 1990, 87-97, section 3.1.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1, 0],
            matrix=[[1, 4], [3, -2], [1, -3]],
            row_upper=[16, 48, -12],
            column_lower=[0, FREE],
            column_upper=[4, float("inf")],
        ),
        coupling=[[-2], [8], [-2]],
        leader_cost=[-1],
        response_cost=[-3, 2],
        variable_upper=8,
        follower_sign=-1,
    ),
    leader_objective=-13,
    follower_objective=-4,
    x=(5,),
    y=(4, 2),
    note="The second response costs nothing. A model library circulates the point x = 6, y = (4, 6) "
    "with the value "
    "-6 as a correction of the published -13; enumeration confirms the publication.",
)

HAURIE_SAVARD_WHITE_1990 = Problem(
    key="haurie-savard-white-1990",
    citation="A. Haurie, G. Savard, D. J. White: A note on: an efficient point algorithm for a "
    "linear two-stage "
    "optimization problem. Operations Research 38(3), 1990, 553-555.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[2], [4], [-5], [-1]], row_upper=[6, 48, 9, -8], column_lower=FREE
        ),
        coupling=[[-3], [3], [2], [-1]],
        leader_cost=[1],
        response_cost=[5],
        variable_lower=FREE,
        follower_sign=-1,
    ),
    leader_objective=27,
    follower_objective=-3,
    x=(12,),
    y=(3,),
)

MOORE_BARD_1990 = Problem(
    key="moore-bard-1990",
    citation="J. T. Moore, J. F. Bard: The mixed integer linear bilevel programming problem. "
    "Operations Research 38(5), 1990, 911-921, example 1 without integrality.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1], matrix=[[20], [2], [-1], [-10]], row_upper=[30, 10, 15, -15]
        ),
        coupling=[[-25], [1], [2], [-2]],
        leader_cost=[-1],
        response_cost=[-10],
    ),
    leader_objective=-18,
    follower_objective=1,
    x=(8,),
    y=(1,),
    note="Famous because the integer problem's optimum, -22 at (2, 2), lies below this one.",
)

WEN_YANG_1990 = Problem(
    key="wen-yang-1990",
    citation="U. P. Wen, Y. H. Yang: Algorithms for solving the mixed integer two-level linear "
    "programming problem. "
    "Computers & Operations Research 17(2), 1990, 133-142.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-20, -60, -8],
            matrix=[[8, 2, 3], [4, 3, 0], [2, 0, 1]],
            row_upper=[230, 240, 90],
        ),
        coupling=[[5, 10, 30, 5], [20, 5, 10, 10], [5, 5, 10, 5]],
        leader_cost=[-20, -60, -30, -50],
        response_cost=[-15, -10, -7],
        variable_upper=1,
        is_integer=True,
        leader_sign=-1,
        follower_sign=-1,
    ),
    leader_objective=-(60 + 50 + 10 * 75 + 7 * 65 / 3),
    follower_objective=-(60 * 75 + 8 * 65 / 3),
    x=(0, 1, 0, 1),
    y=(0, 75, 65 / 3),
    note="Binary leader; published as 1011.67.",
)

BARD_1991 = Problem(
    key="bard-1991",
    citation="J. F. Bard: Some properties of the bilevel programming problem. "
    "Journal of Optimization Theory and Applications 68(2), 1991, 371-378, example 2.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1, -1], matrix=[[1, 0], [0, 1], [1, 1]], row_upper=[1, 1, 1]
        ),
        coupling=[[1], [1], [0]],
        leader_cost=[-1],
        response_cost=[10, -1],
    ),
    leader_objective=-1,
    note="Two optimal points, x = 1 with y = (0, 0) and x = 0 with y = (0, 1), the latter by the "
    "follower's goodwill.",
)

HANSEN_JAUMARD_SAVARD_1992 = Problem(
    key="hansen-jaumard-savard-1992",
    citation="P. Hansen, B. Jaumard, G. Savard: New branch-and-bound rules for linear bilevel programming. "
    "SIAM Journal on Scientific and Statistical Computing 13(5), 1992, 1194-1217.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[2, 1, 2],
            matrix=[[-1, 1, 1], [-2, 4, -1], [4, -2, -1]],
            row_upper=[1, 2, 2],
        ),
        coupling=[[0, 0], [4, 0], [0, 4]],
        leader_cost=[-8, -4],
        response_cost=[4, -40, -4],
        leader_matrix=[[1, 2]],
        response_matrix=[[0, 0, -1]],
        leader_upper=[1.3],
        leader_sign=-1,
    ),
    leader_objective=-18.4,
    follower_objective=1.8,
    x=(0.5, 0.8),
    y=(0, 0.2, 0.8),
)

TUY_1993 = Problem(
    key="tuy-1993",
    citation="H. Tuy, A. Migdalas, P. Varbrand: A global optimization approach for the linear "
    "two-level program. "
    "Journal of Global Optimization 3, 1993, 1-23.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[-4, 1], matrix=[[1, -1], [0, 1]], row_upper=[-2.5, 2]),
        coupling=[[-2, 0], [1, -3]],
        leader_cost=[-2, 1],
        response_cost=[0.5, 0],
        leader_matrix=[[1, 1]],
        leader_upper=[2],
    ),
    leader_objective=-3.25,
    follower_objective=-6,
    x=(2, 0),
    y=(1.5, 0),
)

LIU_HART_1994 = Problem(
    key="liu-hart-1994",
    citation="Y. H. Liu, S. M. Hart: Characterizing an optimal solution to the linear bilevel "
    "programming problem. "
    "European Journal of Operational Research 73(1), 1994, 164-166.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[1], matrix=[[1], [2], [-1]], row_upper=[3, 12, 12]),
        coupling=[[-1], [1], [4]],
        leader_cost=[-1],
        response_cost=[-3],
    ),
    leader_objective=-16,
    follower_objective=4,
    x=(4,),
    y=(4,),
)

VISWESWARAN_1996 = Problem(
    key="visweswaran-1996",
    citation="V. Visweswaran, C. A. Floudas, M. G. Ierapetritou, E. N. Pistikopoulos: A "
    "decomposition-based global "
    "optimization approach for solving bilevel linear and quadratic programs. "
    "State of the Art in Global Optimization, Kluwer, 1996, page 139.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[-0.5], [1], [0.5], [-2]], row_upper=[-2, 2, 8, 2]
        ),
        coupling=[[-1], [-0.25], [1], [1]],
        leader_cost=[1],
        response_cost=[1],
    ),
    leader_objective=28 / 9,
    follower_objective=-20 / 9,
    x=(8 / 9,),
    y=(20 / 9,),
    note="Bard's problem of 1984 with 2 for 4 in the last row, which does not touch the optimum.",
)

SHIMIZU_ISHIZUKA_BARD_1997 = Problem(
    key="shimizu-ishizuka-bard-1997",
    citation="K. Shimizu, Y. Ishizuka, J. F. Bard: Nondifferentiable and Two-Level Mathematical Programming. "
    "Kluwer, 1997, example 16.1.1; also J. F. Bard: Practical Bilevel Optimization. Kluwer, 1998, "
    "example 5.1.1.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[1], matrix=[[-1], [1], [1], [-2]], row_upper=[-3, 0, 12, 4]),
        coupling=[[-1], [-2], [2], [3]],
        leader_cost=[1],
        response_cost=[-4],
    ),
    leader_objective=-12,
    follower_objective=4,
    x=(4,),
    y=(4,),
    note="BASBLib remarks that the last row is printed in the wrong direction; this is the corrected one.",
)
