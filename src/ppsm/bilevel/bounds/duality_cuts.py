"""Cuts from the follower's strong duality: linear, and obeyed by every point of the game.

An optimal answer y with multipliers m, and prices p of the rows, costs what its dual earns:

    c'y - sum_k sign_k bound_k m_k + sum_ij C_ij p_i x_j  =  0

with the coupling C of the leader's variables. Each product ``p_i x_j`` has two planes on the side that
matters (McCormick 1976), over the ranges of price and variable; whichever is put in its place, "= 0" becomes
a valid "<= 0". Which planes cut best depends on the point, so the relaxation is solved a few times, with a
cut at each optimum. Without any the relaxation lets a follower answer and price as it likes.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.solvers.mip import Cuts
from ppsm.status import Status


def duality_cuts(kkt: KktSystem, deadline: float = INFINITY, worth: float = -INFINITY) -> Cuts | None:
    """Rows ``<= upper`` over the columns of a relaxation that is bounded.

    None where there are none, or where they leave the relaxation's bound below what they are ``worth`` from.
    """
    program = kkt.program
    if not program.only_moves_right_hand_sides or not program.coupling.nnz:
        return None
    planes = _Planes(kkt)
    if not planes.cover_all:
        return None
    lp = PersistentLp(kkt.relaxation)
    lp.skip_presolve()
    rows: list[FloatArray] = []
    limits: list[float] = []
    bound = -INFINITY
    for _ in range(TUNING.duality_cuts + 1):
        lp.stop_at(deadline)
        solution = lp.solve(is_bounded=True)
        if solution.status is not Status.PROVEN_OPTIMAL:
            break
        bound = solution.objective
        row, limit = planes.cut(solution.columns)
        is_near = row @ solution.columns <= limit + TUNING.clearly * max(1.0, abs(limit))
        if is_near or len(rows) == TUNING.duality_cuts:
            break
        rows.append(row)
        limits.append(limit)
        lp.add_row(row, -INFINITY, limit)
    if not rows or bound < worth:
        return None
    return Cuts(sp.csr_array(np.array(rows)), np.array(limits))


class _Planes:
    """For each product of the coupling its two planes: weights of price and variable, and a constant."""

    def __init__(self, kkt: KktSystem) -> None:
        program, multipliers = kkt.program, kkt.multipliers
        coupling = sp.coo_array(program.coupling)
        self._row, self._variable, self._value = coupling.row, coupling.col, coupling.data
        self._kkt = kkt
        self._fixed = np.zeros(kkt.relaxation.shape[1])
        self._fixed[kkt.responses] = program.follower.cost
        self._fixed[kkt.first_multiplier :] = -multipliers.sign * multipliers.bound
        low, high = (ends[self._row] for ends in price_ranges(kkt))
        least, most = (ends[self._variable] for ends in (program.variable_lower, program.variable_upper))
        # A product counts from below where its coefficient is positive, else from above.
        from_below = self._value > 0
        self._planes = (
            _plane(np.where(from_below, low, high), least),
            _plane(np.where(from_below, high, low), most),
        )

    @property
    def cover_all(self) -> bool:
        """Whether each product has a plane."""
        return bool(np.any([np.isfinite(plane).all(axis=0) for plane in self._planes], axis=0).all())

    def cut(self, columns: FloatArray) -> tuple[FloatArray, float]:
        """The planes that are nearest to the products at a point, as one row and its limit."""
        kkt = self._kkt
        price, value = kkt.prices(columns)[self._row], columns[self._variable]
        reach = [
            np.where(np.isfinite(plane).all(axis=0), self._value * _height(plane, price, value), -INFINITY)
            for plane in self._planes
        ]
        of_price, of_value, constant = self._value * np.where(reach[0] >= reach[1], *self._planes)
        row = self._fixed.copy()
        weights = np.bincount(self._row, of_price, minlength=kkt.program.follower.shape[0])
        row[kkt.first_multiplier :] += kkt.price_map.T @ weights
        row[kkt.variables] += np.bincount(self._variable, of_value, minlength=kkt.variables.stop)
        # Ranges of prices are good to rounding only.
        return row, float(constant.sum()) + TUNING.rounding * (1.0 + float(np.abs(constant).sum()))


def _plane(price: FloatArray, value: FloatArray) -> FloatArray:
    """``p x`` is at this corner of its ranges: ``value p + price x - price value``."""
    with np.errstate(invalid="ignore"):
        return np.array([value, price, np.where((price == 0) | (value == 0), 0.0, price * value)])


def _height(plane: FloatArray, price: FloatArray, value: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(plane[0] * price + plane[1] * value - plane[2])


def price_ranges(kkt: KktSystem) -> tuple[FloatArray, FloatArray]:
    """The least and largest price of each follower row, from bounds of multipliers and stationarity."""
    relaxation, first = kkt.relaxation, kkt.first_multiplier
    begin = len(kkt.program.leader_row_names) + kkt.program.follower.shape[0]
    largest = _implied(relaxation, slice(begin, relaxation.shape[0]), first)
    least = relaxation.column_lower[first:]
    ups, downs = kkt.price_map.maximum(0), (-kkt.price_map).maximum(0)
    low = _sum(ups, least, -INFINITY) - _sum(downs, largest, INFINITY)
    return low, _sum(ups, largest, INFINITY) - _sum(downs, least, -INFINITY)


def _sum(weights: SparseMatrix, ends: FloatArray, beyond: float) -> FloatArray:
    """What nonnegative weights make of ends, some of which are at infinity."""
    is_open = np.isinf(ends)
    total = weights @ np.where(is_open, 0.0, ends)
    return np.asarray(np.where(weights @ is_open.astype(float) > 0, beyond, total))


def _implied(linear: LinearProgram, rows: slice, first: int) -> FloatArray:
    """Upper bounds of the columns from ``first`` on that equations with no other open column imply."""
    matrix = sp.csr_array(linear.matrix[rows, :])
    lower, upper = linear.column_lower, linear.column_upper.copy()
    starts, where, values = matrix.indptr, matrix.indices, matrix.data
    for number, limit in enumerate(linear.row_upper[rows].tolist()):
        entries = slice(starts[number], starts[number + 1])
        weights, columns = values[entries], where[entries]
        least = weights * np.where(weights > 0, lower[columns], upper[columns])
        is_open = np.isinf(least)
        if not np.isfinite(limit) or is_open.any():
            continue
        ups = weights > 0
        reach = lower[columns[ups]] + (limit - least.sum()) / weights[ups]
        upper[columns[ups]] = np.minimum(upper[columns[ups]], reach + TUNING.rounding * (1.0 + np.abs(reach)))
    return upper[first:]
