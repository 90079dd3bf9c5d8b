"""Complementarity by binaries and proven bounds (Fortuny-Amat & McCarl 1981), solved by HiGHS."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.bilevel.bounds.finder import BoundFinder, widened
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.reformulation import Reformulation
from ppsm.bilevel.methods.strong_duality import duality_is_available, product_values, with_duality
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.verify import Finding
from ppsm.program import LinearProgram
from ppsm.solvers.mip import MixedIntegerProgram


def big_m(kkt: KktSystem, finder: BoundFinder) -> Reformulation:
    """For each pair a binary t:  multiplier <= M t  and  slack <= S (1 - t), with M and S proven.

    A multiplier that is always zero needs no binary, nor does an inequality that is always tight; the two
    sides of one row are never tight together. The enclosed strong-duality row strengthens the relaxation.
    """
    multiplier_bound = np.array([finder.multiplier(int(side)) for side in kkt.pairs])
    slack_bound = np.array([finder.slack(int(side)) for side in kkt.pairs])
    needed = np.flatnonzero((multiplier_bound > TUNING.zero_bound) & (slack_bound > TUNING.zero_bound))
    sides = kkt.pairs[needed]
    linear = _without_dead_multipliers(kkt, multiplier_bound)
    linear = _with_binaries(linear, kkt, sides, multiplier_bound[needed], slack_bound[needed])
    binaries = sides.size
    products: IntArray = np.empty((0, 2), dtype=np.int64)
    if duality_is_available(kkt, finder):
        linear, products = with_duality(linear, kkt, finder)
    continuous = np.zeros(products.shape[0], dtype=np.bool_)
    integer = np.concatenate([kkt.is_integer, np.ones(binaries, dtype=np.bool_), continuous])

    def complete(columns: FloatArray) -> FloatArray:
        tight = columns[kkt.first_multiplier + sides] > kkt.slacks(columns)[sides]
        return np.concatenate([columns, tight.astype(float), product_values(kkt, products, columns)])

    def check(columns: FloatArray) -> tuple[Finding, ...]:
        return _beyond_bounds(finder, multiplier_bound, columns)

    largest = float(multiplier_bound.max(initial=0.0))
    return Reformulation(MixedIntegerProgram(linear, integer), complete, largest, check)


def _beyond_bounds(finder: BoundFinder, bound: FloatArray, columns: FloatArray) -> tuple[Finding, ...]:
    """Multipliers beyond their proven bound: evidence that the bound, hence the answer, was wrong.

    The M in the program is wider than the proven bound, so that nothing keeps a multiplier from crossing it.
    """
    kkt = finder.kkt
    # Bounds that hold only for some optimal dual (the vertices) say nothing about this one.
    bound = np.where([finder.holds_for_every_dual(int(side)) for side in kkt.pairs], bound, INFINITY)
    excess = columns[kkt.first_multiplier + kkt.pairs] - bound
    allowed = 0.5 * (TUNING.m_margin * bound + TUNING.least_margin)
    names = kkt.multipliers.names
    return tuple(
        Finding("multiplier beyond its proven bound at", names[kkt.pairs[k]], int(k), float(excess[k]))
        for k in np.flatnonzero(excess > allowed)
    )


def _without_dead_multipliers(kkt: KktSystem, bound: FloatArray) -> LinearProgram:
    """The relaxation with every multiplier that is always zero fixed there."""
    upper = kkt.relaxation.column_upper.copy()
    upper[kkt.first_multiplier + kkt.pairs[bound <= TUNING.zero_bound]] = 0.0
    return replace(kkt.relaxation, column_upper=upper)


def _with_binaries(
    linear: LinearProgram,
    kkt: KktSystem,
    sides: IntArray,
    multiplier_bound: FloatArray,
    slack_bound: FloatArray,
) -> LinearProgram:
    """Append one binary for each side, its two big-M rows, and "one side at most" for the twins."""
    count, width = sides.size, linear.shape[1]
    names = tuple(f"tight {kkt.multipliers.names[side]}" for side in sides)
    linear = linear.with_columns(np.zeros(count), np.ones(count), names=names)
    large_m, large_s = widened(multiplier_bound), widened(slack_bound)
    entries = (np.ones(count), (np.arange(count), kkt.first_multiplier + sides))
    pick = sp.csr_array(entries, shape=(count, width))
    rows = sp.hstack([pick, sp.diags_array(-large_m)], format="csr")
    linear = linear.with_rows(rows, upper=np.zeros(count), names=(f"M of {name}" for name in names))
    rows = sp.hstack([kkt.slack_matrix[sides, :], sp.diags_array(large_s)], format="csr")
    limit = large_s - kkt.slack_constant[sides]
    linear = linear.with_rows(rows, upper=limit, names=(f"S of {name}" for name in names))
    twins = _twin_rows(kkt, sides, width)
    return linear.with_rows(twins, upper=np.ones(twins.shape[0]))


def _twin_rows(kkt: KktSystem, sides: IntArray, width: int) -> sp.csr_array:
    """Rows that add up the binaries of the two sides of one follower row or column."""
    position = {int(side): width + k for k, side in enumerate(sides)}
    twin = kkt.multipliers.twin
    pairs = [
        (position[int(side)], position[int(twin[side])])
        for side in sides
        if twin[side] > side and int(twin[side]) in position
    ]
    columns = np.array(pairs, dtype=np.int64).reshape(-1)
    rows = np.repeat(np.arange(len(pairs)), 2)
    return sp.csr_array((np.ones(columns.size), (rows, columns)), shape=(len(pairs), width + sides.size))
