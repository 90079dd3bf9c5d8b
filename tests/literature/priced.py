"""Games whose leader sets the follower's costs (tolls, bids) or earns a product of price and quantity."""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram, Products

BOLIB = "; BOLIB."
COLLECTION = "; test set of BilevelJuMP."
HANDBOOK = "C. A. Floudas et al.: Handbook of Test Problems in Local and Global Optimization. Kluwer, 1999, "


def _bard_1991(key: str, citation: str, least: float, most: float) -> Problem:
    return Problem(
        key=key,
        citation=citation,
        program=BilevelProgram.from_arrays(
            follower=LinearProgram.from_arrays(cost=[2, 0], matrix=[[1, 1]], row_lower=[4]),
            coupling=[[-1]],
            cost_coupling=[[0], [1]],
            leader_cost=[1],
            response_cost=[0, 1],
            variable_lower=least,
            variable_upper=most,
        ),
        leader_objective=2,
        note="At x = 2 both answers cost the same, and the leader prefers y = (6, 0).",
    )


BARD_1991_1 = _bard_1991(
    "bard-1991-1",
    "J. F. Bard: Some properties of the bilevel programming problem. Journal of Optimization Theory and "
    "Applications 68(2), 1991, 371-378, example 1; BOLIB, and BASBLib b_1991_02.",
    2,
    4,
)
HANDBOOK_9_3_10 = _bard_1991(
    "handbook-9-3-10",
    HANDBOOK + "problem 9.3.10 with the constant of the GAMS EMP library" + COLLECTION,
    0,
    float("inf"),
)


def _one_answer_in_a_box(
    key: str,
    citation: str,
    *,
    leader: tuple[float, float],
    limits: tuple[float, float],
    answer: tuple[float, float],
    cost: tuple[float, float],
    product: float = 0.0,
    offset: float = 0.0,
    leader_objective: float,
) -> Problem:
    """A single x in its limits, and a single y in its own at the cost ``cost[0] + cost[1] x``."""
    return Problem(
        key=key,
        citation=citation,
        program=BilevelProgram.from_arrays(
            follower=LinearProgram.from_arrays(
                cost=[cost[0]], matrix=[[1]], row_upper=[answer[1]], column_lower=answer[0]
            ),
            coupling=[[0]],
            cost_coupling=[[cost[1]]],
            leader_cost=[leader[0]],
            response_cost=[leader[1]],
            products=Products(variable_response=[[product]]),
            offset=offset,
            variable_lower=limits[0],
            variable_upper=limits[1],
        ),
        leader_objective=leader_objective,
    )


YEZZA_1996 = _one_answer_in_a_box(
    "yezza-1996-3-1",
    "A. Yezza: First-order necessary optimality conditions for general bilevel programming problems. Journal "
    "of Optimization Theory and Applications 89, 1996, 189-219, example 3.1; Handbook, problem 9.3.9; BOLIB.",
    leader=(2, 3),
    limits=(0, 1),
    answer=(0, 1),
    cost=(-1, 4),
    product=-4,
    offset=1,
    leader_objective=1.5,
)
LUCCHETTI_1987 = _one_answer_in_a_box(
    "lucchetti-1987",
    "R. Lucchetti, F. Mignanego, G. Pieri: Existence theorems of equilibrium points in Stackelberg games "
    "with constraints. Optimization 18(6), 1987, 857-866" + BOLIB,
    leader=(-0.5, 0),
    limits=(0, 1),
    answer=(0, 1),
    cost=(-1, 1),
    product=1,
    offset=0.5,
    leader_objective=0,
)
DEMPE_2012 = _one_answer_in_a_box(
    "dempe-2012",
    "S. Dempe, B. S. Mordukhovich, A. B. Zemkoho: Sensitivity analysis for two-level value functions with "
    "applications to bilevel programming. SIAM Journal on Optimization 22(4), 2012, 1309-1343" + BOLIB,
    leader=(1, 0),
    limits=(-1, 1),
    answer=(0, 1),
    cost=(0, 1),
    leader_objective=-1,
)
MORGAN_PATRONE_2006 = _one_answer_in_a_box(
    "morgan-patrone-2006-a",
    "J. Morgan, F. Patrone: Stackelberg problems: subgame perfect equilibria via Tikhonov regularization. "
    "Advances in Dynamic Games, Birkhauser, 2006, 209-221, first example" + BOLIB,
    leader=(-1, -1),
    limits=(-0.5, 0.5),
    answer=(-1, 1),
    cost=(0, 1),
    leader_objective=-1,
)

DEMPE_FRANKE_2014 = Problem(
    key="dempe-franke-2014-3-8",
    citation="S. Dempe, S. Franke: Solution algorithm for an optimistic linear Stackelberg problem. "
    "Computers & Operations Research 41, 2014, 277-281, example 3.8; BOLIB and BilevelOptimization.jl.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[0, 0], matrix=[[2, -1]], row_lower=[0], column_lower=[FREE, 0], column_upper=2
        ),
        coupling=[[0, 0]],
        cost_coupling=[[1, 0], [0, 1]],
        leader_cost=[2, 1],
        response_cost=[2, -1],
        variable_lower=-1,
        variable_upper=[1, -0.75],
    ),
    leader_objective=-1,
)


def _fruits(key: str, most: float, leader_objective: float | None) -> Problem:
    """Columns are purchases, then sales, then losses of two traders; the leader sets one price."""
    return Problem(
        key=key,
        citation=f"Test set of BilevelJuMP, after a user's question, with a price of at most {most}.",
        program=BilevelProgram.from_arrays(
            follower=LinearProgram.from_arrays(
                cost=[0.1, 0.1, 0.003, 0.003, 0.01, 0.01],
                matrix=[[-1, 0, 1, 0, -1, 0], [0, -1, 0, 1, 0, -1]],
                row_lower=[-3, -6],
                row_upper=[-3, -6],
                column_upper=10,
            ),
            coupling=[[0], [0]],
            cost_coupling=[[0], [0], [-1], [-1], [1], [1]],
            leader_cost=[0],
            response_cost=[0, 0, -0.003, -0.003, -0.01, -0.01],
            variable_upper=most,
            response_matrix=[[0, 0, 1, 1, -1, -1]],
            leader_lower=[0],
            leader_upper=[0],
        ),
        leader_objective=leader_objective,
        status="infeasible" if leader_objective is None else "optimal",
    )


BILEVELJUMP_FRUITS = _fruits("bileveljump-fruits", 0.1, 0)
BILEVELJUMP_FRUITS_CHEAP = _fruits("bileveljump-fruits-cheap", 0.05, None)

PAO_T5 = Problem(
    key="pao-t5",
    citation="Test t5 of PAO, after lecture notes on duality: the leader scales what the follower maximises.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[0, 0], matrix=[[4.44, 0], [0, 6.67], [4, 2.86], [3, 6]], row_upper=[100, 100, 100, 100]
        ),
        coupling=[[0]] * 4,
        cost_coupling=[[-3], [-2.5]],
        leader_cost=[0],
        products=Products(variable_response=[[3, 2.5]]),
        variable_lower=1,
        variable_upper=2,
        follower_sign=-1,
    ),
    leader_objective=1192 / 15.42,
)

PAO_T1 = Problem(
    key="pao-t1",
    citation="Test t1 of PAO: the leader scales what the follower minimises, by nothing positive.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[0, 0, 0], matrix=[[4, 2, 1], [1, 1, 0], [0, 1, 1]], row_lower=[5, 3, 4]
        ),
        coupling=[[0]] * 3,
        cost_coupling=[[6], [4], [2]],
        leader_cost=[0],
        products=Products(variable_response=[[-6, -4, -2]]),
        variable_lower=FREE,
        variable_upper=0,
        leader_sign=-1,
    ),
    leader_objective=0,
    note="Only zero leaves the follower a best answer.",
)

BESANCON_TOLLS = Problem(
    key="besancon-tolls",
    citation="Test of BilevelOptimization.jl: five levels of toll on four of five arcs of a network.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1, 1, 4, 1, 1],
            matrix=[[1, 1, 1, 0, 0], [1, 0, 0, -1, 0], [0, 1, 0, 0, -1]],
            row_lower=[3, 0, 0],
            row_upper=[float("inf"), 0, 0],
            column_upper=[3, 2, 3, 2, 1],
        ),
        coupling=[[0] * 4] * 3,
        cost_coupling=[[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0.5]],
        leader_cost=[0] * 4,
        products=Products(
            variable_response=[[-0.5, 0, 0, 0, 0], [0, -0.5, 0, 0, 0], [0, 0, 0, -0.5, 0], [0, 0, 0, 0, -0.5]]
        ),
        variable_upper=4,
        is_integer=True,
        leader_sign=-1,
    ),
    leader_objective=-6,
    note="Tolls are half the integers; the source has a binary for each level.",
)
