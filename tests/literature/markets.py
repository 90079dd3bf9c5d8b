"""Games about markets, where the leader sees the clearing price, and games whose follower is quadratic."""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram, Products

COLLECTION = "; test set of BilevelJuMP."

CONEJO_2016 = Problem(
    key="conejo-2016",
    citation="A. J. Conejo, L. Baringo, S. J. Kazempour, A. S. Siddiqui: Investment in Electricity "
    "Generation and Transmission. Springer, 2016" + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[10, 12, 15],
            matrix=[[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
            row_lower=[200, FREE, FREE, FREE],
            row_upper=[200, 0, 150, 100],
        ),
        coupling=[[0], [-1], [0], [0]],
        leader_cost=[40_000],
        response_cost=[87_600, 0, 0],
        products=Products(price_response=[[-8760, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]),
        variable_upper=250,
    ),
    leader_objective=-190_000,
    note="An investor picks the capacity at which the dearer competitor still sets the price.",
)

FANZERES_2017 = Problem(
    key="fanzeres-2017",
    citation="B. Fanzeres: Robust strategic bidding in auction-based markets. PhD thesis, PUC-Rio, 2017"
    + COLLECTION,
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[0, 50, 100, 1000],
            matrix=[[1, 1, 1, 1], [1, 0, 0, 0]],
            row_lower=[100, FREE],
            row_upper=[100, 0],
            column_upper=[float("inf"), 40, 40, 100],
        ),
        coupling=[[0], [-1]],
        leader_cost=[0],
        products=Products(price_response=[[-1, 0, 0, 0], [0, 0, 0, 0]]),
        variable_upper=100,
        price_matrix=[[1, 0]],
        leader_lower=[0],
        leader_sign=-1,
    ),
    leader_objective=-20_000,
    note="The bidder withholds until scarcity sets the price.",
)

BILEVELJUMP_PRICE = Problem(
    key="bileveljump-price",
    citation="Test set of BilevelJuMP: a price bid of a producer with a contract.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[100, 0, 2, 1.5],
            matrix=[[1, 1, 1, 1]],
            row_lower=[26],
            row_upper=[26],
            column_upper=[float("inf"), 10, 15, 12],
        ),
        coupling=[[0]],
        cost_coupling=[[0], [1], [0], [0]],
        leader_cost=[0],
        response_cost=[0, 1, 0, 0],
        price_cost=[10],
        products=Products(price_response=[[0, -1, 0, 0]]),
        offset=-10,
        price_matrix=[[1]],
        leader_lower=[0],
        leader_sign=-1,
    ),
    leader_objective=0,
)


def _aiyoshi_shimizu(key: str, citation: str, first: float, *, leaders_row: bool, note: str = "") -> Problem:
    """The answer keeps close to ``x - (first, 20)``; a row of both is the leader's or the follower's."""
    row, coupling = [[1.0, -2.0]], [[1.0, 1.0]]
    own = [] if leaders_row else row
    return Problem(
        key=key,
        citation=citation,
        program=BilevelProgram.from_arrays(
            follower=LinearProgram.from_arrays(
                cost=[2 * first, 40],
                matrix=[[2.0, 0.0], [0.0, 2.0], *own],
                row_upper=[-10, -10, *([40] * len(own))],
                column_lower=-10,
                column_upper=20,
            ),
            coupling=[[-1.0, 0.0], [0.0, -1.0], *(coupling * len(own))],
            cost_coupling=[[-2, 0], [0, -2]],
            curvature=[[2, 0], [0, 2]],
            leader_cost=[2, 2],
            response_cost=[-3, -3],
            offset=-60,
            variable_upper=50,
            leader_matrix=coupling if leaders_row else None,
            response_matrix=row if leaders_row else None,
            leader_upper=[40] if leaders_row else None,
        ),
        leader_objective=0,
        note=note,
    )


AIYOSHI_SHIMIZU_1984 = _aiyoshi_shimizu(
    "aiyoshi-shimizu-1984",
    "E. Aiyoshi, K. Shimizu: A solution method for the static constrained Stackelberg problem via penalty "
    "method. IEEE Transactions on Automatic Control 29(12), 1984, 1111-1114, example 2; BOLIB, and BASBLib "
    "as_1984_01.",
    20,
    leaders_row=True,
    note="Two points are optimal.",
)
HANDBOOK_9_3_4 = _aiyoshi_shimizu(
    "handbook-9-3-4",
    "C. A. Floudas et al.: Handbook of Test Problems in Local and Global Optimization. Kluwer, 1999, problem "
    "9.3.4 with the constant of the GAMS EMP library" + COLLECTION,
    40,
    leaders_row=True,
)
FLOUDAS_2013 = _aiyoshi_shimizu(
    "floudas-2013",
    "FloudasEtal2013 of BOLIB: the same with the leader's row as the follower's.",
    20,
    leaders_row=False,
)

HATZ_2013 = Problem(
    key="hatz-2013",
    citation="K. Hatz, S. Leyffer, J. P. Schloder, H. G. Bock: Regularizing bilevel nonlinear programs by "
    "lifting. Argonne National Laboratory, 2013; BOLIB.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[0, 0], matrix=[[1, 0]], row_lower=[0]),
        coupling=[[0]],
        cost_coupling=[[-2], [0]],
        curvature=[[2, 0], [0, 2]],
        leader_cost=[-1],
        response_cost=[2, 1],
        variable_lower=FREE,
    ),
    leader_objective=0,
    note="A row repeats the sign condition of the first answer, so that there is one.",
)
