"""The global optimum of small fidelity problems by looking at every complementarity pattern."""

import itertools
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ppsm.arrays import FloatArray
from ppsm.fidelity import Bands
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram


def random_follower(rng: np.random.Generator, *, degenerate: bool = False) -> Follower:
    """Two or three places, each with a demand; supplies in blocks, links of limited size."""
    places = int(rng.integers(1, 4))
    blocks = int(rng.integers(places, places + 2))
    at = np.concatenate([rng.permutation(places), rng.integers(places, size=blocks - places)])
    links = [(i, i + 1) for i in range(places - 1)]
    cost = np.concatenate([np.round(rng.uniform(1, 9, blocks), 1), np.zeros(len(links))])
    size = np.concatenate(
        [np.round(rng.uniform(3, 9, blocks), 1), np.round(rng.uniform(1, 5, len(links)), 1)]
    )
    if degenerate:
        cost[:blocks] = np.round(cost[:blocks] / 4) * 4 + 1
        size = np.ceil(size / 3) * 3
        size[rng.integers(size.size)] = 3.0
    matrix = np.zeros((places, blocks + len(links)))
    matrix[at, np.arange(blocks)] = 1.0
    for k, (i, j) in enumerate(links):
        matrix[i, blocks + k], matrix[j, blocks + k] = -1.0, 1.0
    program = LinearProgram.from_arrays(
        cost=cost,
        matrix=matrix,
        row_lower=np.zeros(places),
        row_upper=np.zeros(places),
        column_lower=0.0,
        column_upper=size,
    )
    return Follower.from_program(
        program,
        parameter_map=np.eye(places),
        nominal=np.zeros(places),
        parameter_names=[f"d{k}" for k in range(places)],
    )


def brute_force(
    follower: Follower, released: FloatArray, bands: Bands, lower: FloatArray, upper: FloatArray
) -> float:
    """Least squared distance over all patterns; infinite where nothing is faithful. Columns are bounded."""
    program = follower.program
    columns = program.shape[1]
    best = np.inf
    # every column is at its lower end, strictly between (both multipliers zero), or at its upper end
    for pattern in itertools.product((-1, 0, 1), repeat=columns):
        state = np.array(pattern)
        if _dual_exists(follower, bands, state):
            best = min(best, _nearest(follower, released, bands, state, lower, upper))
    return best


def _dual_exists(follower: Follower, bands: Bands, state: np.ndarray) -> bool:
    """Whether row prices exist whose reduced costs suit the state and whose entry prices are in the band."""
    program = follower.program
    rows = program.shape[0]
    reduced = program.matrix.toarray().T
    upper_rows, limits = [], []
    for column, where in enumerate(state):
        # reduced cost c - a'p: >= 0 at the lower end, <= 0 at the upper end, 0 between
        if where <= 0:
            upper_rows.append(reduced[column])
            limits.append(program.cost[column])
        if where >= 0:
            upper_rows.append(-reduced[column])
            limits.append(-program.cost[column])
    if bands.prices is not None and bands.price_width is not None:
        to_prices = follower.parameter_map.toarray().T
        centre = follower.sign * bands.prices
        upper_rows += [*to_prices, *(-to_prices)]
        limits += [*(centre + bands.price_width), *(bands.price_width - centre)]
    solve: Any = linprog
    answer = solve(
        np.zeros(rows),
        A_ub=np.array(upper_rows),
        b_ub=np.array(limits) + 1e-9,
        bounds=(None, None),
        method="highs",
    )
    return bool(answer.status == 0)


def _nearest(
    follower: Follower,
    released: FloatArray,
    bands: Bands,
    state: np.ndarray,
    lower: FloatArray,
    upper: FloatArray,
) -> float:
    """Nearest parameter among answers in a state, by Clarabel."""
    program = follower.program
    columns, entries = program.shape[1], released.size
    width = columns + entries
    low = np.where(state > 0, program.column_upper, program.column_lower)
    high = np.where(state < 0, program.column_lower, program.column_upper)
    equality = np.hstack([program.matrix.toarray(), -follower.parameter_map.toarray()])
    right = program.row_lower + follower.parameter_map @ released
    inequality = [
        np.eye(width)[:columns],
        -np.eye(width)[:columns],
        np.eye(width)[columns:],
        -np.eye(width)[columns:],
    ]
    limits = [high, -low, upper - released, released - lower]
    if bands.value is not None:
        row = np.concatenate([program.cost, np.zeros(entries)])[None, :]
        middle = follower.sign * bands.value - program.offset
        inequality += [row, -row]
        limits += [np.array([middle + bands.value_width]), np.array([bands.value_width - middle])]
    matrix, bound = np.vstack(inequality), np.concatenate(limits)
    keep = np.isfinite(bound)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.diag(np.concatenate([np.zeros(columns), 2 * np.ones(entries)]))),
        np.zeros(width),
        sp.csc_matrix(np.vstack([equality, matrix[keep]])),
        np.concatenate([right, bound[keep]]),
        [clarabel.ZeroConeT(right.size), clarabel.NonnegativeConeT(int(keep.sum()))],
        settings,
    )
    answer = solver.solve()
    return float(answer.obj_val) if str(answer.status) in ("Solved", "AlmostSolved") else np.inf
