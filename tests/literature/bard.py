"""Games of J. F. Bard and others as the tests of BilevelJuMP state them, and those tests' own games."""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram

BARD = "J. F. Bard: Practical Bilevel Optimization. Kluwer, 1998, "
COLLECTION = "; test set of BilevelJuMP."

BARD_1983 = Problem(
    key="bard-1983",
    citation="J. F. Bard: An efficient point algorithm for a linear two-stage optimization problem. "
    "Operations Research 31(4), 1983, 670-684" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-3, 1, 4],
            matrix=[[-4, 2, 1], [0, -4, 1], [2, 2, 0], [-2, 0, 0], [0, -1, 1], [-1, -2, -1], [0, 0, 0]],
            row_upper=[12, 10, 15, 12, -2, -2, -3],
        ),
        coupling=[
            [-1, 0.2, 0, 0, 1, 2],
            [1, 0, 1, -2, 0, 0],
            [5, 0, 0, 1, 0, 3.2],
            [0, -3, 0, -1, 1, 0],
            [-2, -1, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0],
            [0, -2, -3, 0, -1, 0],
        ],
        leader_cost=[-2, 1, 1, -2, -1, 3.5],
        response_cost=[1, 1.5, -3],
        leader_sign=-1,
        follower_sign=-1,
    ),
    leader_objective=-41.2,
    follower_objective=8,
    x=(0, 4, 0, 15, 9.2, 0),
    y=(0, 0, 2),
)

MOSHIRVAZIRI_1996 = Problem(
    key="moshirvaziri-1996",
    citation="K. Moshirvaziri, M. A. Amouzegar, S. E. Jacobsen: Test problem construction for linear bilevel "
    "programming problems. Journal of Global Optimization 8(3), 1996, 235-243" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-9, 9], matrix=[[-9, -7], [0, 0], [-5, -4], [1, 5]], row_upper=[-15, 26, -5, 32]
        ),
        coupling=[[-6, 1, 1, -3], [0, 4, 5, 10], [-9, 9, -9, 5], [5, 3, 1, 9]],
        leader_cost=[-4, 8, 1, -1],
        response_cost=[9, -9],
        leader_matrix=[
            [-9, 3, -8, 3],
            [4, -10, 3, 5],
            [4, -2, -2, 10],
            [9, -9, 4, -3],
            [-2, -2, 8, -5],
            [7, 2, -5, 4],
        ],
        response_matrix=[[3, 0], [8, 8], [-5, 8], [-1, -9], [5, 8], [-5, 0]],
        leader_upper=[-1, 25, 21, -1, 20, 11],
    ),
    leader_objective=129607 / 8416,
    note="Published with five digits: x = (1.57504, 0.83668, 0.188807, 2.17092), y = (1.88765, 0).",
)

BARD_1998_5_3 = Problem(
    key="bard-1998-5-3",
    citation=BARD + "example 5.3.1" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1, 1, 2],
            matrix=[[-1, 1, 1], [-1, 2, -0.5], [2, -1, -0.5]],
            row_upper=[1, 1, 1],
        ),
        coupling=[[0, 0], [2, 0], [0, 2]],
        leader_cost=[-8, -4],
        response_cost=[4, -40, -4],
    ),
    leader_objective=-29.2,
    follower_objective=1.4,
    x=(0, 0.9),
    y=(0, 0.6, 0.4),
    note="Candler and Townsley's game without slacks.",
)


def _example_8_1_2(key: str, leader_cost: float, other_cost: float, source: str) -> Problem:
    return Problem(
        key=key,
        citation=source + COLLECTION,
        program=BilevelProgram.from_arrays(
            follower=LinearProgram.from_arrays(
                cost=[-1, -1], matrix=[[-1, 0], [0, 1], [1, 1]], row_upper=[1, 1, 1]
            ),
            coupling=[[1], [1], [0]],
            leader_cost=[leader_cost],
            response_cost=[10, other_cost],
        ),
        leader_objective=other_cost,
        follower_objective=-1,
        x=(0,),
        y=(0, 1),
    )


BARD_1998_8_1 = _example_8_1_2("bard-1998-8-1", -10.1, -1, BARD + "example 8.1.2")
BARD_1998_8_1_B = _example_8_1_2(
    "bard-1998-8-1-b", -1, -2, BARD + "example 8.1.2 with other coefficients of the leader"
)

DECOMPOSITION_2006 = Problem(
    key="conejo-2006-7-2",
    citation="A. J. Conejo, E. Castillo, R. Minguez, R. Garcia-Bertrand: Decomposition Techniques in "
    "Mathematical Programming. Springer, 2006, section 7.2, page 281" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1],
            matrix=[[1], [1], [0], [0]],
            row_lower=[0, FREE, 0, FREE],
            row_upper=[float("inf"), 7, float("inf"), 4],
            column_lower=FREE,
        ),
        coupling=[[0], [1], [1], [1]],
        leader_cost=[-1],
        response_cost=[4],
        variable_lower=FREE,
        leader_matrix=[[2]],
        response_matrix=[[1]],
        leader_upper=[8],
    ),
    leader_objective=23,
    follower_objective=-6,
    x=(1,),
    y=(6,),
    note="Two rows of the follower hold the leader's variable only.",
)

DECOMPOSITION_2006_WIDER = Problem(
    key="conejo-2006-7-2-wider",
    citation="The same with a variable more on either level, each fixed at one by a row" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1, 1],
            matrix=[[1, 0], [1, 1], [0, 0], [0, 0], [0, 1]],
            row_lower=[0, FREE, 0, FREE, 1],
            row_upper=[float("inf"), 8, float("inf"), 4, 1],
            column_lower=FREE,
        ),
        coupling=[[0, 0], [1, 0], [1, 0], [1, 0], [0, 0]],
        leader_cost=[-1, 1],
        response_cost=[4, 0],
        variable_lower=FREE,
        leader_matrix=[[2, 1], [0, 1]],
        response_matrix=[[1, 0], [0, 0]],
        leader_lower=[FREE, 1],
        leader_upper=[9, 1],
    ),
    leader_objective=24,
    follower_objective=-5,
    x=(1, 1),
    y=(6, 1),
)


def _first_test(key: str, leader_cost: float, leader_objective: float) -> Problem:
    return Problem(
        key=key,
        citation="Test set of BilevelJuMP, first game" + (", with another coefficient" * (leader_cost < -4)),
        program=BilevelProgram.from_arrays(
            follower=LinearProgram.from_arrays(
                cost=[1],
                matrix=[[1], [2], [0], [1]],
                row_lower=[FREE, FREE, 0, 0],
                row_upper=[4, 4, float("inf"), float("inf")],
                column_lower=FREE,
            ),
            coupling=[[2], [1], [1], [0]],
            leader_cost=[leader_cost],
            response_cost=[-3],
            variable_lower=FREE,
        ),
        leader_objective=leader_objective,
        follower_objective=0,
        x=(2,),
        y=(0,),
    )


BILEVELJUMP_1 = _first_test("bileveljump-1", -4, -8)
BILEVELJUMP_1_B = _first_test("bileveljump-1-b", -5, -10)

BILEVELJUMP_2 = Problem(
    key="bileveljump-2",
    citation="Test set of BilevelJuMP, second game.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1],
            matrix=[[1], [4], [2], [0], [1]],
            row_lower=[FREE, 8, FREE, 1, 0],
            row_upper=[8, float("inf"), 13, 6, float("inf")],
            column_lower=FREE,
        ),
        coupling=[[1], [1], [1], [1], [0]],
        leader_cost=[1],
        response_cost=[3],
        variable_lower=FREE,
    ),
    leader_objective=12,
    follower_objective=-2,
    x=(6,),
    y=(2,),
    note="The leader's limits are a row of the follower.",
)

BILEVELJUMP_16 = Problem(
    key="bileveljump-16",
    citation="Test set of BilevelJuMP, sixteenth game.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1, 0, 0, 1], matrix=[[1, 0, 0, 0], [0, 1, 0, 0]], row_lower=[0.5, 0.5]
        ),
        coupling=[[0], [0]],
        leader_cost=[1],
        variable_upper=3,
        leader_matrix=[[1]],
        leader_lower=[1],
    ),
    leader_objective=1,
    note="The levels do not meet, and half of the follower's columns cost nothing.",
)
