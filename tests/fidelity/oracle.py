"""The truth about small fidelity problems, by looking at every complementarity pattern.

The nearest faithful vector for either norm, with or without a prior, and the least factor of bands that
nothing satisfies. Nothing is shared with the package but the types of what it is asked.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ppsm.arrays import FloatArray
from ppsm.fidelity import Bands
from ppsm.fidelity.problem import HalfSpaces, Norm
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


_LINPROG: Any = linprog


@dataclass(frozen=True, eq=False)
class Distance:
    """``sum |d - released|^p + strength (d - mean)^2``, p = 1 or 2."""

    norm: Norm
    mean: FloatArray
    strength: FloatArray


def brute_force(
    follower: Follower,
    released: FloatArray,
    bands: Bands,
    lower: FloatArray,
    upper: FloatArray,
    distance: Distance | None = None,
    half_spaces: HalfSpaces | None = None,
) -> float:
    """The least distance over all patterns; infinite where nothing is faithful. Columns are bounded.

    Without a ``distance`` it is the squared one.
    """
    nothing = np.zeros(released.size)
    distance = distance or Distance("l2", nothing, nothing)
    return min(
        (
            _nearest(follower, released, bands, state, lower, upper, distance, half_spaces)
            for state in _states(follower)
            if _dual_exists(follower, bands, state)
        ),
        default=np.inf,
    )


def least_factor(follower: Follower, bands: Bands, lower: FloatArray, upper: FloatArray) -> float:
    """The least common factor, at least one, with which the bands hold somewhere: one LP for each pattern."""
    return min(_least_factor(follower, bands, state, lower, upper) for state in _states(follower))


def _states(follower: Follower) -> Iterator[np.ndarray]:
    """Every column is at its lower end, strictly between (both multipliers zero), or at its upper end."""
    for pattern in itertools.product((-1, 0, 1), repeat=follower.program.shape[1]):
        yield np.array(pattern)


def _reduced_costs(program: LinearProgram, state: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Rows and limits for row prices p: reduced cost c - a'p >= 0 at the lower end, <= 0 at the upper."""
    transposed = program.matrix.toarray().T
    low, high = state <= 0, state >= 0
    rows = np.vstack([transposed[low], -transposed[high]])
    return rows, np.concatenate([program.cost[low], -program.cost[high]])


def _dual_exists(follower: Follower, bands: Bands, state: np.ndarray) -> bool:
    """Whether row prices exist whose reduced costs suit the state and whose entry prices are in the band."""
    rows, limits = _reduced_costs(follower.program, state)
    if bands.prices is not None and bands.price_width is not None:
        to_prices = follower.parameter_map.toarray().T
        centre = follower.sign * bands.prices
        rows = np.vstack([rows, to_prices, -to_prices])
        limits = np.concatenate([limits, centre + bands.price_width, bands.price_width - centre])
    cost = np.zeros(follower.program.shape[0])
    answer = _LINPROG(cost, A_ub=rows, b_ub=limits + 1e-9, bounds=(None, None), method="highs")
    return bool(answer.status == 0)


def _least_factor(
    follower: Follower, bands: Bands, state: np.ndarray, lower: FloatArray, upper: FloatArray
) -> float:
    """The least factor among row prices, answers and parameters in a state."""
    program, goods = follower.program, follower.parameter_map.toarray()
    rows, columns = program.shape
    entries = lower.size
    # columns (p, x, d, factor)
    reduced, limits = _reduced_costs(program, state)
    blocks = [np.hstack([reduced, np.zeros((reduced.shape[0], columns + entries + 1))])]
    sides = [limits]
    for sign in (1.0, -1.0):
        if bands.prices is not None and bands.price_width is not None:
            width = -bands.price_width[:, None]
            blocks.append(np.hstack([sign * goods.T, np.zeros((entries, columns + entries)), width]))
            sides.append(sign * follower.sign * bands.prices)
        if bands.value is not None:
            others = np.zeros(rows), sign * program.cost, np.zeros(entries), [-bands.value_width]
            blocks.append(np.concatenate(others)[None, :])
            sides.append(np.array([sign * (follower.sign * bands.value - program.offset)]))
    equality = np.hstack([np.zeros((rows, rows)), program.matrix.toarray(), -goods, np.zeros((rows, 1))])
    low, high = _ends(program, state)
    bounds = [(None, None)] * rows + [
        *zip(low, high, strict=True),
        *zip(lower, upper, strict=True),
        (1, None),
    ]
    cost = np.zeros(equality.shape[1])
    cost[-1] = 1.0
    answer = _LINPROG(
        cost,
        A_ub=np.vstack(blocks),
        b_ub=np.concatenate(sides),
        A_eq=equality,
        b_eq=program.row_lower,
        bounds=bounds,
        method="highs",
    )
    return float(answer.fun) if answer.status == 0 else np.inf


def _ends(program: LinearProgram, state: np.ndarray) -> tuple[FloatArray, FloatArray]:
    low = np.where(state > 0, program.column_upper, program.column_lower)
    high = np.where(state < 0, program.column_lower, program.column_upper)
    return low, high


def _nearest(
    follower: Follower,
    released: FloatArray,
    bands: Bands,
    state: np.ndarray,
    lower: FloatArray,
    upper: FloatArray,
    distance: Distance,
    half_spaces: HalfSpaces | None,
) -> float:
    """Nearest parameter among answers in a state, by Clarabel over (x, move), in l1 also the moves' sizes."""
    program = follower.program
    columns, entries = program.shape[1], released.size
    extra = entries if distance.norm == "l1" else 0
    width = columns + entries + extra
    low, high = _ends(program, state)
    unit = np.eye(width)
    moves, sizes = unit[columns : columns + entries], unit[columns + entries :]
    equality = np.hstack(
        [program.matrix.toarray(), -follower.parameter_map.toarray(), np.zeros((program.shape[0], extra))]
    )
    right = program.row_lower + follower.parameter_map @ released
    inequality = [unit[:columns], -unit[:columns], moves, -moves]
    limits = [high, -low, upper - released, released - lower]
    if extra:
        inequality += [moves - sizes, -moves - sizes]
        limits += [np.zeros(2 * entries)]
    if half_spaces is not None:
        inequality += [-half_spaces.weights @ moves]
        limits += [half_spaces.weights @ released - half_spaces.least]
    if bands.value is not None:
        row = np.concatenate([program.cost, np.zeros(width - columns)])[None, :]
        middle = follower.sign * bands.value - program.offset
        inequality += [row, -row]
        limits += [np.array([middle + bands.value_width]), np.array([bands.value_width - middle])]
    matrix, bound = np.vstack(inequality), np.concatenate(limits)
    keep = np.isfinite(bound)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False
    squares = 0.0 if extra else 1.0
    curvature = np.concatenate([np.zeros(columns), 2.0 * (squares + distance.strength), np.zeros(extra)])
    off = released - distance.mean
    cost = np.concatenate([np.zeros(columns), 2.0 * distance.strength * off, np.ones(extra)])
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.diag(curvature)),
        cost,
        sp.csc_matrix(np.vstack([equality, matrix[keep]])),
        np.concatenate([right, bound[keep]]),
        [clarabel.ZeroConeT(right.size), clarabel.NonnegativeConeT(int(keep.sum()))],
        settings,
    )
    answer = solver.solve()
    if str(answer.status) not in ("Solved", "AlmostSolved"):
        return np.inf
    return float(answer.obj_val) + float((distance.strength * off**2).sum())
