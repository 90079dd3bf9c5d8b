"""The truth about one node of a search, by looking at every complementarity pattern of a scaled problem.

Nothing here is shared with the searches: duals are looked for by SciPy, distances minimised by Clarabel.
Followers have equality rows and columns with two finite bounds, as those of ``random_follower``.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ppsm.arrays import FloatArray
from ppsm.fidelity.bounds.primal_dual import PriceBox
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.restore import Restorer
from ppsm.fidelity.scaled import Core
from tests.fidelity.markets import Instance

_LINPROG: Any = linprog


class Problem:
    """A random small problem in scaled arrays, with its LPs."""

    def __init__(self, seed: int, *, columns: int = 4, kind: int | None = None) -> None:
        self.seed = seed
        while True:
            instance = Instance(seed, kind=kind)
            if instance.follower.program.shape[1] <= columns:
                break
            seed += 1000
        self.instance = instance
        self.restorer = Restorer(instance.follower)
        self.core = self.restorer.core(instance.released, instance.bands, instance.public_bounds, "l2", None)
        self.lps = FollowerLps(self.restorer.scaled)
        self.rng = np.random.default_rng(seed)

    @property
    def band(self) -> PriceBox:
        return PriceBox(self.core.price_lower, self.core.price_upper)

    def sides(self, most: int) -> tuple[int, ...]:
        """A few sides, never two of one column."""
        found: list[int] = []
        twin = self.core.follower.sides.twin
        for side in self.rng.permutation(self.lps.inequalities)[: int(self.rng.integers(most + 1))].tolist():
            if int(twin[side]) not in found:
                found.append(side)
        return tuple(found)


def node_optimum(
    core: Core, tight: Iterable[int] = (), zero: Iterable[int] = (), box: PriceBox | None = None
) -> float:
    """The least distance of faithful points with sides tight, multipliers zero and prices in a box."""
    program = core.follower.program
    low, high = program.column_lower.copy(), program.column_upper.copy()
    for column, sign in _columns(core, tight):
        low[column], high[column] = (low[column],) * 2 if sign > 0 else (high[column],) * 2
    if (low > high).any():
        return np.inf
    best = np.inf
    # every column is at its lower end, strictly between (both multipliers zero), or at its upper end
    for pattern in itertools.product((-1, 0, 1), repeat=program.shape[1]):
        state = np.array(pattern)
        at_low, at_high = state < 0, state > 0
        if (low[at_low] > program.column_lower[at_low]).any():
            continue
        if (high[at_high] < program.column_upper[at_high]).any():
            continue
        if not _dual_exists(core, state, _columns(core, zero), box):
            continue
        lower, upper = np.where(at_high, high, low), np.where(at_low, low, high)
        best = min(best, _nearest(core, lower, upper))
    return best


def _columns(core: Core, positions: Iterable[int]) -> list[tuple[int, float]]:
    sides = core.follower.sides
    assert not sides.is_row[~sides.is_free].any()
    return [(int(sides.index[one]), float(sides.sign[one])) for one in positions]


def _dual_exists(
    core: Core, state: np.ndarray, zero: Sequence[tuple[int, float]], box: PriceBox | None
) -> bool:
    program = core.follower.program
    transposed = program.matrix.toarray().T
    # reduced cost c - a'p: >= 0 at the lower end, <= 0 at the upper end; a zero multiplier bars its sign
    not_negative = (state <= 0) | np.isin(np.arange(state.size), [k for k, sign in zero if sign < 0])
    not_positive = (state >= 0) | np.isin(np.arange(state.size), [k for k, sign in zero if sign > 0])
    prices = core.follower.parameter_map.toarray().T
    lower, upper = (core.price_lower, core.price_upper) if box is None else (box.lower, box.upper)
    rows = np.vstack([transposed[not_negative], -transposed[not_positive], prices, -prices])
    limits = np.concatenate([program.cost[not_negative], -program.cost[not_positive], upper, -lower])
    keep = np.isfinite(limits)
    answer = _LINPROG(
        np.zeros(program.shape[0]), A_ub=rows[keep], b_ub=limits[keep] + 1e-9, bounds=(None, None)
    )
    return bool(answer.status == 0)


def _nearest(core: Core, low: FloatArray, high: FloatArray) -> float:
    program, goods = core.follower.program, core.follower.parameter_map.toarray()
    columns, entries = program.shape[1], core.reference.size
    unit = np.eye(columns + entries)
    cost = np.concatenate([program.cost, np.zeros(entries)])[None, :]
    inequality = np.vstack([unit[:columns], -unit[:columns], unit[columns:], -unit[columns:], cost, -cost])
    moves = core.lower - core.reference, core.upper - core.reference
    limits = np.concatenate([high, -low, moves[1], -moves[0], [core.value_upper, -core.value_lower]])
    keep = np.isfinite(limits)
    right = program.row_lower + core.shift
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False
    answer = clarabel.DefaultSolver(
        sp.csc_matrix(np.diag(np.concatenate([np.zeros(columns), 2.0 * core.curvature]))),
        np.zeros(columns + entries),
        sp.csc_matrix(np.vstack([np.hstack([program.matrix.toarray(), -goods]), inequality[keep]])),
        np.concatenate([right, limits[keep]]),
        [clarabel.ZeroConeT(right.size), clarabel.NonnegativeConeT(int(keep.sum()))],
        settings,
    ).solve()
    return (
        float(answer.obj_val) + core.constant if str(answer.status) in ("Solved", "AlmostSolved") else np.inf
    )


def value_at(core: Core, parameter: FloatArray) -> float:
    """V at a parameter, infinite where it cannot be served."""
    program = core.follower.program
    right = program.row_lower + core.rows_at(parameter)
    bounds = np.column_stack([program.column_lower, program.column_upper])
    answer = _LINPROG(program.cost, A_eq=program.matrix.toarray(), b_eq=right, bounds=bounds)
    return float(answer.fun) if answer.status == 0 else np.inf


def dual_value(
    core: Core, parameter: FloatArray, lower: FloatArray, upper: FloatArray, zero: Iterable[int] = ()
) -> float:
    """The largest dual objective at a parameter over duals with prices in a box; -inf where there is none."""
    program = core.follower.program
    rows, columns = program.shape
    barred = _columns(core, zero)
    # columns (p, multipliers of lower ends, multipliers of upper ends), all rows being equalities
    worth = np.concatenate(
        [program.row_lower + core.rows_at(parameter), program.column_lower, -program.column_upper]
    )
    equality = np.hstack([program.matrix.toarray().T, np.eye(columns), -np.eye(columns)])
    prices = np.hstack([core.follower.parameter_map.toarray().T, np.zeros((lower.size, 2 * columns))])
    limits = np.concatenate([upper, -lower])
    keep = np.isfinite(limits)
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * rows + [(0.0, None)] * (2 * columns)
    for column, sign in barred:
        bounds[rows + column + (0 if sign > 0 else columns)] = (0.0, 0.0)
    answer = _LINPROG(
        -worth,
        A_ub=np.vstack([prices, -prices])[keep] if keep.any() else None,
        b_ub=limits[keep] if keep.any() else None,
        A_eq=equality,
        b_eq=program.cost,
        bounds=bounds,
    )
    if answer.status == 3:
        return np.inf
    return -float(answer.fun) if answer.status == 0 else -np.inf


def is_faithful(core: Core, parameter: FloatArray, tolerance: float = 1e-6) -> bool:
    """Whether bounds, value band and price band hold at a parameter."""
    value = value_at(core, parameter)
    within = (core.lower - tolerance <= parameter).all() and (parameter <= core.upper + tolerance).all()
    in_band = core.value_lower - tolerance <= value <= core.value_upper + tolerance
    dual = dual_value(core, parameter, core.price_lower - tolerance, core.price_upper + tolerance)
    return bool(within and in_band and np.isfinite(value) and dual >= value - tolerance)
