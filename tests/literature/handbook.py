"""Chapter 9 of the Handbook of Test Problems, and games of J. F. Bard, as BilevelJuMP's tests write them.

The sign conditions of the responses are rows of the follower **and** of the leader there, next to free
columns. Such doubled rows change no optimum but make prices ambiguous; HiGHS once failed on one of them.
"""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram

HANDBOOK = (
    "C. A. Floudas et al.: Handbook of Test Problems in Local and Global Optimization. Kluwer, 1999, problem "
)
BARD = "J. F. Bard: Practical Bilevel Optimization. Kluwer, 1998, "
COLLECTION = "; test set of BilevelJuMP."


def _signed_at_both_levels(
    *,
    cost: list[float],
    matrix: list[list[float]],
    coupling: list[list[float]],
    upper: list[float],
    leader_cost: list[float],
    response_cost: list[float],
    equalities: bool = False,
    most: float = float("inf"),
    leader_matrix: list[list[float]] | None = None,
    leader_upper: list[float] | None = None,
) -> BilevelProgram:
    """A game ``matrix y + coupling x <= upper`` whose ``y >= 0`` is a row of either level."""
    columns, variables = len(cost), len(leader_cost)
    unit = [[float(i == j) for j in range(columns)] for i in range(columns)]
    own = [] if leader_matrix is None else leader_matrix
    return BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=cost,
            matrix=matrix + unit,
            row_lower=(upper if equalities else [FREE] * len(upper)) + [0] * columns,
            row_upper=upper + [float("inf")] * columns,
            column_lower=FREE,
        ),
        coupling=coupling + [[0.0] * variables] * columns,
        leader_cost=leader_cost,
        response_cost=response_cost,
        leader_matrix=[[0.0] * variables] * columns + own,
        response_matrix=unit + [[0.0] * columns] * len(own),
        leader_lower=[0] * columns + [FREE] * len(own),
        leader_upper=[most] * columns + ([] if leader_upper is None else leader_upper),
    )


HANDBOOK_9_2_2 = Problem(
    key="handbook-9-2-2",
    citation=HANDBOOK + "9.2.2" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1, 0],
            matrix=[[1, 0], [2, 4], [3, -2], [1, -3]],
            row_lower=[0, FREE, FREE, FREE],
            row_upper=[4, 16, 48, -12],
            column_lower=FREE,
        ),
        coupling=[[0], [-2], [8], [-2]],
        leader_cost=[-1],
        response_cost=[-3, 2],
        variable_upper=8,
        response_matrix=[[1, 0], [0, 1]],
        leader_lower=[0, 0],
        leader_upper=[4, 4],
    ),
    leader_objective=-13,
    follower_objective=-4,
    x=(5,),
    y=(4, 2),
    note="Clark and Westerberg's game with 2 for 1 in the first row and limits on both responses.",
)

HANDBOOK_9_2_3 = Problem(
    key="handbook-9-2-3",
    citation=HANDBOOK + "9.2.3" + COLLECTION,
    program=_signed_at_both_levels(
        cost=[1],
        matrix=[[1], [2], [-1]],
        coupling=[[-1], [1], [4]],
        upper=[3, 12, 12],
        leader_cost=[-1],
        response_cost=[-3],
    ),
    leader_objective=-16,
    follower_objective=4,
    x=(4,),
    y=(4,),
    note="Liu and Hart's game of 1994.",
)

HANDBOOK_9_2_4 = Problem(
    key="handbook-9-2-4",
    citation=HANDBOOK + "9.2.4" + COLLECTION,
    program=_signed_at_both_levels(
        cost=[1, 1, 2, 0, 0, 0],
        matrix=[[-1, 1, 1, 1, 0, 0], [-1, 2, -0.5, 0, 1, 0], [2, -1, -0.5, 0, 0, 1]],
        coupling=[[0, 0], [2, 0], [0, 2]],
        upper=[1, 1, 1],
        leader_cost=[-8, -4],
        response_cost=[4, -40, -4, 0, 0, 0],
        equalities=True,
    ),
    leader_objective=-29.2,
    follower_objective=1.4,
    x=(0, 0.9),
    y=(0, 0.6, 0.4, 0, 0, 0),
    note="Candler and Townsley's game of 1982.",
)

HANDBOOK_9_2_6 = Problem(
    key="handbook-9-2-6",
    citation=HANDBOOK + "9.2.6" + COLLECTION,
    program=_signed_at_both_levels(
        cost=[-1, -1],
        matrix=[[-1, 0], [0, 1], [1, 1]],
        coupling=[[1], [1], [0]],
        upper=[1, 1, 1],
        leader_cost=[-1],
        response_cost=[10, -1],
    ),
    leader_objective=-1,
    note="BilevelJuMP calls the printed solution wrong; two points are optimal here, x = 0, y = (0, 1) among "
    "them.",
)

HANDBOOK_9_2_7 = Problem(
    key="handbook-9-2-7",
    citation=HANDBOOK + "9.2.7" + COLLECTION,
    program=_signed_at_both_levels(
        cost=[3],
        matrix=[[-2], [-2], [-1], [2], [2]],
        coupling=[[-1], [1], [2], [1], [-1]],
        upper=[-10, 6, 21, 38, 18],
        leader_cost=[-1],
        response_cost=[-3],
    ),
    leader_objective=-49,
    follower_objective=33,
    x=(16,),
    y=(11,),
    note="Anandalingam and White's game of 1990.",
)

HANDBOOK_9_2_8 = Problem(
    key="handbook-9-2-8",
    citation=HANDBOOK + "9.2.8" + COLLECTION,
    program=_signed_at_both_levels(
        cost=[1, 1, 2],
        matrix=[[-1, 1, 1], [-1, 2, -0.5], [2, -1, -0.5]],
        coupling=[[0, 0], [2, 0], [0, 2]],
        upper=[1, 1, 1],
        leader_cost=[-8, -4],
        response_cost=[4, -40, 4],
    ),
    leader_objective=-26,
    follower_objective=1.4,
    x=(0, 0.9),
    y=(0, 0.6, 0.4),
    note="Bard and Falk's first game; HiGHS 1.15.1 once called -23 optimal.",
)

HANDBOOK_9_2_9 = Problem(
    key="handbook-9-2-9",
    citation=HANDBOOK + "9.2.9" + COLLECTION,
    program=_signed_at_both_levels(
        cost=[-4, 1],
        matrix=[[1, -1], [0, 1], [0, 0]],
        coupling=[[-2, 0], [1, -3], [1, 1]],
        upper=[-2.5, 2, 2],
        leader_cost=[-2, 1],
        response_cost=[0.5, 0],
    ),
    leader_objective=-3.25,
    follower_objective=-6,
    x=(2, 0),
    y=(1.5, 0),
    note="Bard and Falk's second game; the printed solution is another one and wrong.",
)

HANDBOOK_9_2_10 = Problem(
    key="handbook-9-2-10",
    citation=HANDBOOK + "9.2.10" + COLLECTION,
    program=_signed_at_both_levels(
        cost=[-1],
        matrix=[[-0.5], [1], [0.5], [-2]],
        coupling=[[-1], [-0.25], [1], [1]],
        upper=[-2, 2, 8, 2],
        leader_cost=[1],
        response_cost=[1],
    ),
    leader_objective=28 / 9,
    follower_objective=-20 / 9,
    x=(8 / 9,),
    y=(20 / 9,),
    note="The game of Visweswaran et al. of 1996.",
)

HANDBOOK_9_2_11 = Problem(
    key="handbook-9-2-11",
    citation=HANDBOOK + "9.2.11 with the leader's row of the GAMS EMP library" + COLLECTION,
    program=_signed_at_both_levels(
        cost=[-4, 1],
        matrix=[[1, -1], [0, 1]],
        coupling=[[-2, 0], [1, -3]],
        upper=[-2.5, 2],
        leader_cost=[-2, 1],
        response_cost=[0.5, 0],
        leader_matrix=[[1, 1]],
        leader_upper=[2],
    ),
    leader_objective=-3.25,
    follower_objective=-6,
    x=(2, 0),
    y=(1.5, 0),
    note="The game of Tuy et al. of 1993.",
)
