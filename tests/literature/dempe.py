"""Games from the textbooks of S. Dempe and of his co-authors, as the tests of BilevelJuMP state them."""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram

FOUNDATIONS = "S. Dempe: Foundations of Bilevel Programming. Kluwer, 2002, "
PROBLEMS_2015 = (
    "S. Dempe, V. Kalashnikov, G. A. Perez-Valdes, N. Kalashnykova: Bilevel Programming Problems. "
    "Springer, 2015, "
)
COLLECTION = "; test set of BilevelJuMP."


DEMPE_2002_3_2 = Problem(
    key="dempe-2002-3-2",
    citation=FOUNDATIONS + "section 3.2, page 25" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[1], [-4], [2], [2]], row_upper=[8, -8, 13, 0], column_lower=FREE
        ),
        coupling=[[1], [-1], [1], [-7]],
        leader_cost=[1],
        response_cost=[3],
        variable_upper=8,
        response_matrix=[[1]],
        leader_upper=[5],
    ),
    leader_objective=92 / 15,
    follower_objective=-28 / 15,
    x=(8 / 15,),
    y=(28 / 15,),
    note="A limit on the response is the leader's.",
)

DEMPE_2002_3_2_MOVED = Problem(
    key="dempe-2002-3-2-moved",
    citation=FOUNDATIONS + "section 3.2, with the limit on the response as the follower's" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[1], [-4], [2], [2], [1]], row_upper=[8, -8, 13, 0, 5], column_lower=FREE
        ),
        coupling=[[1], [-1], [1], [-7], [0]],
        leader_cost=[1],
        response_cost=[3],
        variable_upper=8,
    ),
    leader_objective=92 / 15,
    follower_objective=-28 / 15,
    x=(8 / 15,),
    y=(28 / 15,),
)

DEMPE_2002_3_4 = Problem(
    key="dempe-2002-3-4",
    citation=FOUNDATIONS + "section 3.4.1, page 32" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[-1, 0], matrix=[[100, -1], [0, 1]], row_upper=[1, 0]),
        coupling=[[0], [-1]],
        leader_cost=[-1],
        response_cost=[0, 2],
        variable_upper=3,
    ),
    leader_objective=0,
    follower_objective=-0.01,
    x=(0,),
    y=(0.01, 0),
    note="The second response costs nothing but lets the first one grow: y = ((1 + x) / 100, x).",
)


def _clauses() -> BilevelProgram:
    """``y[i]`` may be positive only where neither the literal ``i`` nor its negation is chosen outright."""
    clauses, literals = [[1, 2, 3], [-1, -4, 3], [7, -6, 4], [5, 6, 7]], 7
    rows = [[float(j in (i, literals + i)) for j in range(2 * literals + 1)] for i in range(literals)]
    for clause in clauses:
        chosen = [literal - 1 if literal > 0 else literals - literal - 1 for literal in clause]
        rows.append([float(j in chosen) for j in range(2 * literals)] + [-1.0])
    unit = [[float(i == j) for j in range(literals)] for i in range(literals)]
    limits = [[-float(i == j) for j in range(2 * literals + 1)] for i in range(2 * literals)]
    return BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1] * literals, matrix=unit + unit, row_upper=[0] * (2 * literals)
        ),
        coupling=limits,
        leader_cost=[0] * (2 * literals) + [-1],
        response_cost=[1] * literals,
        variable_upper=1,
        leader_matrix=rows,
        leader_lower=[1] * literals + [0] * len(clauses),
        leader_upper=[1] * literals + [float("inf")] * len(clauses),
    )


DEMPE_2002_3_7 = Problem(
    key="dempe-2002-3-7",
    citation=FOUNDATIONS + "section 3.7, page 59, with four clauses of seven literals" + COLLECTION,
    program=_clauses(),
    leader_objective=-1,
    note="Satisfiability as a game: -1 if and only if the clauses can hold together.",
)

DEMPE_2002_8_1 = Problem(
    key="dempe-2002-8-1",
    citation=FOUNDATIONS + "section 8.1, page 257, the leader integer, the follower not" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1], matrix=[[20], [2], [-1], [-10]], row_upper=[30, 10, 15, -15], column_lower=FREE
        ),
        coupling=[[-25], [1], [2], [-2]],
        leader_cost=[-1],
        response_cost=[-10],
        variable_upper=20,
        is_integer=True,
    ),
    leader_objective=-18,
    follower_objective=1,
    x=(8,),
    y=(1,),
    note="Moore and Bard's game with an integer leader; the source has no limit of 20 on x, rows imply it.",
)

DEMPE_2015_1_4 = Problem(
    key="dempe-2015-1-4",
    citation=PROBLEMS_2015 + "example 1.4" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[10, 30, 8, 60, 4, 16, 32, 30, 120, 6],
            matrix=[[5, 3, 2, 5, 1, 8, 4, 3, 6, 3]],
            row_lower=[0],
            column_upper=1,
        ),
        coupling=[[-1]],
        leader_cost=[100],
        response_cost=[10, 15, -24, 20, -40, 80, -32, -60, -12, -60],
        variable_upper=50,
    ),
    leader_objective=0,
    note="A continuous knapsack; the sources give no solution. With 100 per unit of x nothing is worth "
    "its price.",
)

MERSHA_DEMPE_2006_MOVED = Problem(
    key="mersha-dempe-2006-moved",
    citation=PROBLEMS_2015 + "example 2.1 with the leader's rows as the follower's; also PAO" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[3], [1], [1], [1]], row_upper=[12, 14, -3, 30], column_lower=FREE
        ),
        coupling=[[-2], [1], [-3], [3]],
        leader_cost=[-1],
        response_cost=[-2],
        variable_lower=FREE,
    ),
    leader_objective=-22,
    follower_objective=-8,
    x=(6,),
    y=(8,),
    note="Constraints change the answer with the level that they belong to.",
)


def _example_3_3(a: float) -> Problem:
    return Problem(
        key=f"dempe-2015-3-3-{a}",
        citation=PROBLEMS_2015 + f"example 3.3 with alpha = {a}" + COLLECTION,
        program=BilevelProgram.from_arrays(
            follower=LinearProgram.from_arrays(
                cost=[-1, -1],
                matrix=[[1, 0], [1, 0], [0, 1]],
                row_lower=[FREE, FREE, 0],
                row_upper=[1 + a, 1, 1],
                column_lower=FREE,
            ),
            coupling=[[1], [-1], [0]],
            leader_cost=[0.5],
            response_cost=[-1, 3],
            variable_lower=FREE,
        ),
        leader_objective=2 - a / 4,
        follower_objective=-2 - a / 2,
        x=(a / 2,),
        y=(1 + a / 2, 1),
    )


DEMPE_2015_3_3 = _example_3_3(0)
DEMPE_2015_3_3_A = _example_3_3(0.1)
DEMPE_2015_3_3_B = _example_3_3(0.2)

DEMPE_2015_8_2 = Problem(
    key="dempe-2015-8-2",
    citation=PROBLEMS_2015 + "example 8.2, page 290" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[1], matrix=[[-1]], row_upper=[5], column_upper=10),
        coupling=[[1, 1]],
        leader_cost=[1, -2],
        response_cost=[1],
        variable_upper=10,
        leader_matrix=[[1, 1]],
        response_matrix=[[1]],
        leader_lower=[15],
    ),
    leader_objective=-15,
    follower_objective=5,
    x=(0, 10),
    y=(5,),
)

DEMPE_2015_8_5 = Problem(
    key="dempe-2015-8-5",
    citation=PROBLEMS_2015 + "example 8.5, page 300, binary leader" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-60, -8], matrix=[[2, 3], [3, 0], [0, 1]], row_upper=[225, 230, 85], column_lower=FREE
        ),
        coupling=[[10], [5], [5]],
        leader_cost=[1],
        response_cost=[-2, 1],
        variable_upper=1,
        is_integer=True,
        response_matrix=[[1, 0], [0, 1]],
        leader_lower=[0, 0],
        leader_upper=[100, 100],
    ),
    leader_objective=-1165 / 9,
    follower_objective=-60 * 230 / 3 - 8 * 215 / 9,
    x=(0,),
    y=(230 / 3, 215 / 9),
    note="BilevelJuMP expects x = 1, y = (75, 65 / 3), worth only -382 / 3, in a test that never runs.",
)

DEMPE_2015_8_5_MOVED = Problem(
    key="dempe-2015-8-5-moved",
    citation=PROBLEMS_2015 + "example 8.5 with the first response as the leader's" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-8], matrix=[[3], [0], [1]], row_upper=[225, 230, 85], column_lower=FREE
        ),
        coupling=[[10, 2], [5, 3], [5, 0]],
        leader_cost=[1, -2],
        response_cost=[1],
        variable_upper=[1, 100],
        is_integer=[True, False],
        response_matrix=[[1]],
        leader_lower=[0],
        leader_upper=[100],
    ),
    leader_objective=-1165 / 9,
    follower_objective=-8 * 215 / 9,
    x=(0, 230 / 3),
    y=(215 / 9,),
)
