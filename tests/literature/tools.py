"""Games from the examples of modelling tools: PAO, BilevelOptimization.jl, the GAMS EMP library, YALMIP."""

from tests.literature.statement import FREE, Problem

from ppsm.program import BilevelProgram, LinearProgram

INFINITE = float("inf")

GECCO_2013 = Problem(
    key="gecco-2013",
    citation="A. Sinha, P. Malo, K. Deb: Evolutionary bilevel optimization. Tutorial at GECCO, 2013; "
    "example gecco2013 of PAO.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[1], [4], [2]], row_lower=[FREE, 8, FREE], row_upper=[8, INFINITE, 13]
        ),
        coupling=[[1], [1], [1]],
        leader_cost=[1],
        response_cost=[3],
        variable_lower=2,
        variable_upper=6,
        follower_sign=-1,
    ),
    leader_objective=12,
    follower_objective=-2,
    x=(6,),
    y=(2,),
)

PAO_1 = Problem(
    key="pao-1",
    citation="Example pao1 of PAO.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1], matrix=[[1], [4], [2]], row_lower=[FREE, 8, FREE], row_upper=[8, INFINITE, 13]
        ),
        coupling=[[1, 0], [1, 0], [1, 0]],
        leader_cost=[1, 0],
        response_cost=[3],
        variable_lower=[2, FREE],
        variable_upper=[6, INFINITE],
        leader_matrix=[[1, 1]],
        leader_lower=[10],
        leader_upper=[10],
        follower_sign=-1,
    ),
    leader_objective=12,
    follower_objective=-2,
    x=(6, 4),
    y=(2,),
    note="An equality of the leader.",
)

PAO_2 = Problem(
    key="pao-2",
    citation="Example pao2 of PAO.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1, -1],
            matrix=[[1, 0], [4, 0], [2, 0], [0, 1], [0, 4], [0, 2]],
            row_lower=[FREE, 8, FREE, FREE, 8, FREE],
            row_upper=[8, INFINITE, 13, 8, INFINITE, 13],
        ),
        coupling=[[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]],
        leader_cost=[1, 0],
        response_cost=[3, 3],
        variable_lower=[2, FREE],
        variable_upper=[6, INFINITE],
        leader_matrix=[[1, 1]],
        leader_lower=[10],
        leader_upper=[10],
        follower_sign=-1,
    ),
    leader_objective=18.5,
    follower_objective=-5.5,
    x=(2, 8),
    y=(5.5, 0),
    note="Two followers side by side. The source names (6, 4) and the response 2, as for its first example, "
    "but that is worth 24.",
)

PAO_SIMPLE = Problem(
    key="pao-simple",
    citation="First example of Pyomo's bilevel extension, today PAO.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[0, -1], matrix=[[1, 1]], row_upper=[2.5], column_lower=[1, -1], column_upper=[2, 1]
        ),
        coupling=[[0, 0]],
        leader_cost=[1, 1],
        response_cost=[1, 0],
        variable_lower=1,
        variable_upper=2,
        leader_matrix=[[1, 1]],
        leader_lower=[1.5],
        follower_sign=-1,
    ),
    leader_objective=3,
    follower_objective=-1,
    x=(1, 1),
    y=(1, 1),
    note="The follower does not care for its first column up to 1.5; the leader takes the least.",
)

ARCS = {
    (0, 1): 2, (0, 2): 6, (0, 3): 4, (0, 4): 2, (1, 5): 3,
    (2, 1): 2, (2, 3): 2, (3, 4): 2, (4, 5): 1, (3, 5): 5,
}  # fmt: skip


def _interdiction() -> BilevelProgram:
    """Columns are the total flow, then that of each arc; rows are nodes, source, sink and arcs."""
    arcs = list(ARCS)
    flow = [[0.0, *(float(end == n) - float(start == n) for start, end in arcs)] for n in range(1, 5)]
    source = [[1.0, *(-float(start == 0) for start, _ in arcs)]]
    sink = [[1.0, *(-float(end == 5) for _, end in arcs)]]
    unit = [[float(i == j) for j in range(-1, len(arcs))] for i in range(len(arcs))]
    capacities = [[ARCS[arc] * float(i == j) for j in range(len(arcs))] for i, arc in enumerate(arcs)]
    return BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-1.0] + [0.0] * len(arcs),
            matrix=flow + source + sink + unit,
            row_lower=[0.0] * 4 + [FREE] * (2 + len(arcs)),
            row_upper=[0.0] * 6 + [float(ARCS[arc]) for arc in arcs],
            column_lower=[FREE] + [0.0] * len(arcs),
        ),
        coupling=[[0.0] * len(arcs)] * 6 + capacities,
        leader_cost=[0.0] * len(arcs),
        response_cost=[1.0] + [0.0] * len(arcs),
        variable_upper=1,
        is_integer=True,
        leader_matrix=[[1.0] * len(arcs)],
        leader_upper=[1],
        follower_sign=-1,
    )


PAO_INTERDICTION = Problem(
    key="pao-interdiction",
    citation="Maximum flow with one arc to cut; example of Pyomo's bilevel extension, today PAO.",
    program=_interdiction(),
    leader_objective=4,
    follower_objective=-4,
    note="The source gives no value; the ten cuts are easily tried. Without any the flow is 9.",
)

BESANCON_2019 = Problem(
    key="besancon-2019-2-7",
    citation="M. Besancon, M. F. Anjos, L. Brotcorne: Near-optimal robust bilevel optimization. "
    "arXiv:1908.04040, 2019, example 2.7; example besancon27 of PAO and test of BilevelOptimization.jl.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[-1], matrix=[[1]], row_upper=[1], column_lower=FREE),
        coupling=[[-0.1]],
        leader_cost=[1],
        response_cost=[0],
        leader_matrix=[[0.1]],
        response_matrix=[[1]],
        leader_lower=[1],
        follower_sign=-1,
    ),
    leader_objective=0,
    follower_objective=-1,
    x=(0,),
    y=(1,),
)

DEMPE_2015_INTEGER = Problem(
    key="dempe-2015-integer",
    citation="S. Dempe, V. Kalashnikov, G. A. Perez-Valdes, N. Kalashnykova: Bilevel Programming Problems. "
    "Springer, 2015; test of BilevelOptimization.jl.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[-5, -8, -1], matrix=[[4, 2, 0], [2, 4, 1]], row_upper=[0, 0]
        ),
        coupling=[[-1, 0], [0, -1]],
        leader_cost=[2, 0],
        response_cost=[3, 2, 6],
        variable_upper=10,
        is_integer=True,
        leader_matrix=[[4, 1]],
        leader_lower=[10],
        leader_upper=[10],
    ),
    leader_objective=17 / 3,
    follower_objective=-13 / 3,
    x=(2, 2),
    y=(1 / 3, 1 / 3, 0),
    note="The source has no limit of 10 on the leader's integers; its equality implies it.",
)


def _joint(key: str, sense: float, own: list[list[float]], joint: bool, **known: object) -> Problem:
    """``y >= -x`` is the follower's; a second row is the leader's, or both levels' where it is joint."""
    slope, level = own[0]
    rows = [[1.0, 0.0], *([[slope, level]] if joint else [])]
    return Problem(
        key=key,
        citation="M. Ferris: educational bilevel models, GAMS EMP library; test set of BilevelJuMP.",
        program=BilevelProgram.from_arrays(
            follower=LinearProgram.from_arrays(
                cost=[1], matrix=[[1]] * len(rows), row_lower=[row[1] for row in rows], column_lower=FREE
            ),
            coupling=[[row[0]] for row in rows],
            leader_cost=[sense],
            response_cost=[0],
            variable_lower=1,
            variable_upper=INFINITE if sense > 0 else 2,
            leader_matrix=[[slope], [1]],
            response_matrix=[[1], [1]],
            leader_lower=[level, 0],
            leader_sign=sense,
        ),
        **known,  # type: ignore[arg-type]
    )


JOINT_1 = _joint("gams-jointc1", 1, [[-1, 0]], False, leader_objective=None, status="infeasible")
JOINT_1_BOTH = _joint(
    "gams-jointc1-both", 1, [[-1, 0]], True, leader_objective=1, follower_objective=1, x=(1,), y=(1,)
)
JOINT_2 = _joint(
    "gams-jointc2", -1, [[-1, -2]], False, leader_objective=-1, follower_objective=-1, x=(1,), y=(-1,)
)
JOINT_2_BOTH = _joint(
    "gams-jointc2-both", -1, [[-1, -2]], True, leader_objective=-2, follower_objective=0, x=(2,), y=(0,)
)

YALMIP = Problem(
    key="yalmip-solvebilevel",
    citation="First example of the command solvebilevel in the documentation of YALMIP.",
    program=BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[1, 1, 2],
            matrix=[[-1, 1, 1], [-1, 2, -0.5], [2, -1, -0.5]],
            row_upper=[10, 10, 9.7],
        ),
        coupling=[[0, 0], [2, 0], [0, 2]],
        leader_cost=[-8, -4],
        response_cost=[4, -40, -4],
    ),
    leader_objective=-291.4,
    follower_objective=14,
    x=(0, 8.85),
    y=(0, 6, 4),
)
