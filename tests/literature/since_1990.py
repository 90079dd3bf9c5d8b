"""Published bilevel linear programs since 1990."""

from tests.literature.statement import FREE, BigMTrap, Problem

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
    note="A counterexample to an earlier algorithm, which stops at a worse point.",
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
    note="The last row is printed with the other direction in the books; with it the published "
    "optimum is infeasible.",
)

MITSOS_BARTON_2006_1 = Problem(
    key="mitsos-barton-2006-3-1",
    citation="A. Mitsos, P. I. Barton: A test set for bilevel programs. "
    "Massachusetts Institute of Technology, 2006, example 3.1.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[1]], row_lower=[-1], row_upper=[1], column_lower=FREE
        ),
        coupling=[[0]],
        leader_cost=[0],
        response_cost=[1],
        variable_lower=-1,
        variable_upper=1,
    ),
    leader_objective=1,
    follower_objective=-1,
    note="The leader has nothing to say; a variable without effect stands in for its empty decision.",
)

MITSOS_BARTON_2006_2 = Problem(
    key="mitsos-barton-2006-3-2",
    citation="A. Mitsos, P. I. Barton: A test set for bilevel programs. "
    "Massachusetts Institute of Technology, 2006, example 3.2.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[1]], row_lower=[-1], row_upper=[1], column_lower=FREE
        ),
        coupling=[[0]],
        leader_cost=[0],
        response_cost=[1],
        variable_lower=-1,
        variable_upper=1,
        leader_matrix=[[0]],
        response_matrix=[[1]],
        leader_upper=[0],
    ),
    leader_objective=None,
    status="infeasible",
    note="The leader demands y <= 0 where the follower always answers y = 1.",
)

MERSHA_DEMPE_2006 = Problem(
    key="mersha-dempe-2006",
    citation="A. G. Mersha, S. Dempe: Linear bilevel programming with upper level constraints "
    "depending on the lower "
    "level solution. Applied Mathematics and Computation 180, 2006, 247-254, example 2.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[1], [1]], row_upper=[-3, 30], column_lower=FREE
        ),
        coupling=[[-3], [3]],
        leader_cost=[-1],
        response_cost=[-2],
        variable_lower=FREE,
        leader_matrix=[[-2], [1]],
        response_matrix=[[3], [1]],
        leader_upper=[12, 14],
    ),
    leader_objective=-20,
    follower_objective=-6,
    x=(8,),
    y=(6,),
    note="The feasible set falls into two parts; with the leader's rows in the follower the answer "
    "would be (6, 8).",
)

LAN_2007 = Problem(
    key="lan-2007",
    citation="K. M. Lan, U. P. Wen, H. S. Shih, E. S. Lee: A hybrid neural network approach to "
    "bilevel programming "
    "problems. Applied Mathematics Letters 20, 2007, 880-884.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[3],
            matrix=[[-2], [-1], [4], [7], [5], [-4]],
            row_upper=[4, 24, 96, 126, 65, -8],
        ),
        coupling=[[1], [2], [3], [1], [-4], [-1]],
        leader_cost=[2],
        response_cost=[-11],
    ),
    leader_objective=-936 / 11,
    follower_objective=360 / 11,
    x=(192 / 11,),
    y=(120 / 11,),
    note="Published as -85.0855 at (17.45, 10.908), a rounded point; exact is -936/11 = -85.0909...",
)

HU_HUANG_ZHANG_2009 = Problem(
    key="hu-huang-zhang-2009",
    citation="T. Hu, B. Huang, X. Zhang: A neural network approach for solving linear bilevel "
    "programming problem. "
    "Sixth International Symposium on Neural Networks, Springer, 2009, 649-658.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-3, 0], matrix=[[1, 1], [0, 1], [1, 1]], row_upper=[25 / 9, 2, 8 / 9]
        ),
        coupling=[[1], [1], [0]],
        leader_cost=[-4],
        response_cost=[-1, -1],
        leader_sign=-1,
        follower_sign=-1,
    ),
    leader_objective=-79 / 9,
    follower_objective=-7 / 3,
    x=(2,),
    y=(7 / 9, 0),
    note="Published and collected as -76/9 at x = 17/9, y = (8/9, 0), which is feasible but not "
    "best: x = 2 gives "
    "y = (7/9, 0) and -79/9.",
)

GLACKIN_2009 = Problem(
    key="glackin-2009",
    citation="J. Glackin, J. G. Ecker, M. Kupferschmid: Solving bilevel linear programs using "
    "multiple objective "
    "linear programming. Journal of Optimization Theory and Applications 140, 2009, 197-212.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[-1], matrix=[[1], [1]], row_upper=[4, 6]),
        coupling=[[1, 1], [2, 2]],
        leader_cost=[-2, 4],
        response_cost=[3],
        leader_matrix=[[1, -1]],
        leader_upper=[-1],
    ),
    leader_objective=6,
    follower_objective=0,
    x=(1, 2),
    y=(0,),
)

ALLENDE_STILL_2013 = Problem(
    key="allende-still-2013",
    citation="G. B. Allende, G. Still: Solving bilevel programs with the KKT-approach. "
    "Mathematical Programming 138, 2013, 309-332, example 3.1.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[1], matrix=[[-1], [1]], row_upper=[0, 0], column_lower=FREE),
        coupling=[[1], [0]],
        leader_cost=[-1],
        response_cost=[-1],
        variable_lower=FREE,
    ),
    leader_objective=0,
    follower_objective=0,
    x=(0,),
    y=(0,),
    note="At the optimum both rows are active and the multipliers are not unique: they have no upper "
    "bound there.",
)

PINEDA_MORALES_2019 = Problem(
    key="pineda-morales-2019",
    citation="S. Pineda, J. M. Morales: Solving linear bilevel problems using big-Ms: not all that "
    "glitters is gold. "
    "IEEE Transactions on Power Systems 34(3), 2019, 2469-2471.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[1], matrix=[[-0.01]], row_upper=[1]),
        coupling=[[1]],
        leader_cost=[-1],
        response_cost=[-1],
        variable_upper=2,
        leader_sign=-1,
    ),
    leader_objective=-102,
    follower_objective=100,
    x=(2,),
    y=(100,),
    note="With 200 for slacks and 50 for multipliers the usual model answers x = 1, y = 0 with the "
    "value 1 instead of "
    "102. No multiplier or slack sits at its constant there, so that the usual check passes; the "
    "true optimum "
    "needs the multiplier 100.",
    trap=BigMTrap(slack_constant=200, multiplier_constant=50, wrong_objective=-1),
)

KLEINERT_2021 = Problem(
    key="kleinert-2021",
    citation="T. Kleinert: Algorithms for mixed-integer bilevel problems with convex followers. "
    "PhD thesis, Friedrich-Alexander-Universitaet Erlangen-Nuernberg, 2021, introductory example.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[-1], [-1], [6], [3]], row_lower=[0, -6, -3, 3], column_lower=FREE
        ),
        coupling=[[2], [-1], [-1], [1]],
        leader_cost=[1],
        response_cost=[6],
        leader_matrix=[[-1]],
        response_matrix=[[5]],
        leader_upper=[12.5],
    ),
    leader_objective=39 / 7,
    follower_objective=-6 / 7,
    x=(3 / 7,),
    y=(6 / 7,),
)
