"""The engine: warm re-solves of a follower, and the time a game takes with each method."""

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from tests.literature.problems import PROBLEMS

from benchmarks.report import Table, median_seconds
from benchmarks.rivals import sos1_in_scip
from ppsm import BilevelProgram, Follower, LinearProgram, PpsmError, solve_bilevel
from ppsm.bilevel.solution import Method
from ppsm.examples import freight_game, permit_game, water_game
from ppsm.solvers.highs import HIGHS, solve_lp
from ppsm.solvers.scip import scip_is_installed

_CHANGES = 40


def measure() -> list[Table]:
    """Everything about the engine."""
    return [resolves(), published_games(), small_games(), large_games()]


def network_follower(nodes: int, pipes: int, limits: int, seed: int = 0) -> Follower:
    """A supply network like a gas market: balances at nodes, joint limits on flows and supplies.

    Rows: one balance per node (its demand is the parameter) and ``limits`` inequalities over random groups
    of columns; columns: pipes, three supply blocks at every third node, and dear imports everywhere.
    """
    rng = np.random.default_rng(seed)
    ends = np.array([(k, (k + 1) % nodes) for k in range(nodes)])
    extra = np.array([rng.choice(nodes, 2, replace=False) for _ in range(pipes - nodes)]).reshape(-1, 2)
    start, end = np.vstack([ends, extra]).T
    sites = np.repeat(np.arange(0, nodes, 3), 3)
    own = pipes + sites.size
    columns = own + nodes
    row = np.concatenate([start, end, sites, np.arange(nodes)])
    column = np.concatenate([np.tile(np.arange(pipes), 2), np.arange(pipes, columns)])
    value = np.concatenate([-np.ones(pipes), np.ones(pipes), np.ones(sites.size + nodes)])
    balance = sp.csr_array((value, (row, column)), shape=(nodes, columns))
    groups = [rng.choice(own, 4, replace=False) for _ in range(limits)]
    weights = rng.uniform(0.5, 1.5, (limits, 4))
    joint = sp.csr_array(
        (weights.ravel(), (np.repeat(np.arange(limits), 4), np.concatenate(groups))), shape=(limits, columns)
    )
    demand = rng.uniform(5, 15, nodes)
    program = LinearProgram.from_arrays(
        cost=np.concatenate(
            [rng.uniform(0.1, 1, pipes), np.tile([3.0, 5.0, 9.0], sites.size // 3), np.full(nodes, 40.0)]
        ),
        matrix=sp.vstack([balance, joint]),
        row_lower=np.concatenate([demand, np.full(limits, -np.inf)]),
        row_upper=np.concatenate([demand, rng.uniform(30, 60, limits)]),
        column_lower=np.concatenate([np.full(pipes, -40.0), np.zeros(columns - pipes)]),
        column_upper=np.concatenate(
            [np.full(pipes, 40.0), np.full(sites.size, 15.0), np.full(nodes, np.inf)]
        ),
        row_names=[*(f"demand {k}" for k in range(nodes)), *(f"limit {k}" for k in range(limits))],
    )
    return Follower.from_program(program, [f"demand {k}" for k in range(nodes)])


def resolves() -> Table:
    """One row for each size and kind of change."""
    rows: list[tuple[str | float, ...]] = []
    for nodes, pipes, limits in ((30, 60, 100), (150, 250, 750), (1000, 1600, 2500)):
        follower = network_follower(nodes, pipes, limits)
        shape = "{} x {}".format(*follower.program.shape)
        rng = np.random.default_rng(1)
        for label, share in (
            ("one entry, 10 %", None),
            ("all entries, 1 %", 0.01),
            ("all entries, 10 %", 0.1),
        ):
            cold, warm = _cold_and_warm(
                follower, [_changed(follower.nominal, share, rng) for _ in range(_CHANGES)]
            )
            rows.append((shape, label, 1e3 * cold, 1e3 * warm, cold / warm))
    return Table(
        f"Follower: re-solve after a change of right-hand sides ({HIGHS})",
        ("rows x columns", "change", "cold, ms", "warm, ms", "times faster"),
        tuple(rows),
        "Medians of one run; cold builds and solves the LP anew. Warm values equal cold ones to 1e-7.",
    )


def _cold_and_warm(follower: Follower, changes: list[np.ndarray]) -> tuple[float, float]:
    """Median seconds of a cold and of a warm solve; fewer cold ones, as they take longer."""
    follower.solve()
    warm = [_timed(lambda d: follower.solve(d).value, change) for change in changes]
    cold = [_timed(lambda d: solve_lp(follower.at(d)).objective, change) for change in changes[::4]]
    assert np.allclose([value for _, value in warm[::4]], [value for _, value in cold], rtol=1e-7)
    return statistics.median(seconds for seconds, _ in cold), statistics.median(
        seconds for seconds, _ in warm
    )


def _timed(action: Callable[[np.ndarray], float], argument: np.ndarray) -> tuple[float, float]:
    started = time.perf_counter()
    value = action(argument)
    return time.perf_counter() - started, value


def _changed(nominal: np.ndarray, share: float | None, rng: np.random.Generator) -> np.ndarray:
    if share is None:
        changed = nominal.copy()
        changed[rng.integers(nominal.size)] *= rng.uniform(0.9, 1.1)
        return changed
    return nominal * rng.uniform(1 - share, 1 + share, nominal.size)


def small_games() -> Table:
    rows: list[tuple[str | float, ...]] = []
    for name, game in (("water", water_game()), ("freight", freight_game()), ("permits", permit_game())):
        program = game.program()
        shape = f"{len(program.leader_row_names) + program.follower.shape[0]} rows"
        rows += [(name, shape, method.value, *_solved(program, method, 5)) for method in Method]
    return Table(
        "Small games, built and verified",
        ("game", "size", "method", "ms", "status", "objective"),
        tuple(rows),
        "The time includes bounds, search, polish and verification.",
    )


def published_games() -> Table:
    """Milliseconds of the processor: the automatic choice, and the KKT system written by hand for SCIP."""
    solvers: dict[str, Callable[[BilevelProgram], object]] = {"auto": solve_bilevel}
    if scip_is_installed():
        solvers["SCIP, SOS1"] = partial(sos1_in_scip, seconds=10.0)
    times: dict[str, list[float]] = {solver: [] for solver in solvers}
    for problem in PROBLEMS:
        for solver, solve in solvers.items():
            solve(problem.program)  # whoever is first would else pay for what is loaded
            started = time.process_time()
            solve(problem.program)
            times[solver].append(1e3 * (time.process_time() - started))
    return Table(
        "Published games of the tests, milliseconds of the processor",
        ("solver", "games", "median", "9 of 10 within", "longest"),
        tuple(
            (solver, len(taken), *map(float, np.quantile(taken, [0.5, 0.9, 1.0])))
            for solver, taken in times.items()
        ),
    )


def large_games() -> Table:
    rows: list[tuple[str | float, ...]] = []
    for nodes, pipes, limits, choices in ((60, 100, 200, 6), (250, 400, 900, 8), (600, 900, 2400, 8)):
        program = reservoir_game(nodes, pipes, limits, choices)
        total = len(program.leader_row_names) + program.follower.shape[0]
        rows.append((f"{choices} sites", f"{total} rows", "auto", *_solved(program, Method.AUTO, 1)))
    return Table(
        "Larger games: binary investments that hold prices below a cap",
        ("game", "size", "method", "ms", "status", "objective"),
        tuple(rows),
    )


def reservoir_game(nodes: int, pipes: int, limits: int, choices: int, seed: int = 0) -> BilevelProgram:
    """The leader opens supplies at some nodes so that all prices fall below a cap; each has a cost."""
    follower = network_follower(nodes, pipes, limits, seed).at()
    rng = np.random.default_rng(7 + seed)
    rows = follower.shape[0]
    sites = rng.choice(nodes, choices, replace=False)
    release = rng.uniform(20, 60, choices)
    everything = np.zeros(rows)
    everything[sites] = release
    # The cap is what opening everything achieves, so that the game has a solution; pipes must carry it off.
    while not (relieved := solve_lp(follower.shifted(-everything))).prices.size:
        release, everything = release / 2, everything / 2
    opened = sp.csr_array((release, (sites, np.arange(choices))), shape=(rows, choices))
    cap = float(relieved.prices[:nodes].max()) + 1e-3
    seen = sp.csr_array((np.ones(nodes), (np.arange(nodes), np.arange(nodes))), shape=(nodes, rows))
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=rng.integers(10, 30, choices).astype(float),
        coupling=opened,
        variable_upper=1.0,
        is_integer=True,
        price_matrix=seen,
        leader_upper=np.full(nodes, cap),
    )


def _solved(
    program: BilevelProgram, method: Method, repetitions: int
) -> tuple[float | str, str, float | str]:
    try:
        started = time.perf_counter()
        solution = solve_bilevel(program, method=method, time_limit=120)
        seconds = time.perf_counter() - started
        if repetitions > 1:
            seconds = median_seconds(lambda: solve_bilevel(program, method=method), repetitions)
    except PpsmError as error:
        return "-", f"refused ({type(error).__name__})", "-"
    objective = solution.leader_objective
    return 1e3 * seconds, solution.status.value, "-" if objective is None else objective
