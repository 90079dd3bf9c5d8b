"""Published bilevel linear programs since 2000."""

from tests.literature.statement import FREE, BigMTrap, Problem

from ppsm.program import BilevelProgram, LinearProgram

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
    note="Collected as -76/9 at x = 17/9, y = (8/9, 0), which is feasible but not "
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
    "PhD thesis, Friedrich-Alexander-Universitaet Erlangen-Nuernberg, 2021.",
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
