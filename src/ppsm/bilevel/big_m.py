"""Complementarity by binaries and proven bounds (Fortuny-Amat & McCarl 1981), solved by HiGHS."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray
from ppsm.bilevel.assembly import padded, with_columns, with_rows
from ppsm.bilevel.bounds import M_MARGIN, BoundFinder
from ppsm.bilevel.kkt import KktSystem
from ppsm.game.verify import Finding
from ppsm.program import LinearProgram
from ppsm.solvers.mip import MixedIntegerProgram

_ZERO_BOUND = 1e-9


@dataclass(frozen=True, eq=False)
class BigM:
    """A big-M program and the proven multiplier bounds it rests on, one for each pair of the KKT system."""

    problem: MixedIntegerProgram
    kkt: KktSystem
    multiplier_bound: FloatArray

    def check(self, columns: FloatArray) -> tuple[Finding, ...]:
        """Multipliers beyond their proven bound: evidence that the bound, hence the answer, was wrong."""
        names, pairs = self.kkt.multipliers.names, self.kkt.pairs
        values = columns[self.kkt.first_multiplier + pairs]
        excess = values - self.multiplier_bound
        allowed = 0.5 * M_MARGIN * self.multiplier_bound + 1e-6
        return tuple(
            Finding("multiplier beyond its proven bound at", names[pairs[k]], int(k), float(excess[k]))
            for k in np.flatnonzero(excess > allowed)
        )


def big_m(kkt: KktSystem, finder: BoundFinder) -> BigM:
    """For each pair a binary t:  multiplier <= M t  and  slack <= S (1 - t), with M and S proven.

    A multiplier that is always zero needs no binary, nor does an inequality that is always tight; the two
    sides of one row are never tight together.
    """
    multiplier_bound = np.array([finder.multiplier(int(side)) for side in kkt.pairs])
    slack_bound = np.array([finder.slack(int(side)) for side in kkt.pairs])
    needed = np.flatnonzero((multiplier_bound > _ZERO_BOUND) & (slack_bound > _ZERO_BOUND))
    sides = kkt.pairs[needed]
    count, width = sides.size, kkt.relaxation.shape[1]
    names = tuple(f"tight {kkt.multipliers.names[side]}" for side in sides)
    linear = with_columns(
        _without_dead_multipliers(kkt, multiplier_bound), np.zeros(count), np.ones(count), names
    )
    large_m = (1.0 + M_MARGIN) * multiplier_bound[needed]
    large_s = (1.0 + M_MARGIN) * slack_bound[needed]
    pick = sp.csr_array(
        (np.ones(count), (np.arange(count), kkt.first_multiplier + sides)), shape=(count, width)
    )
    multiplier_rows = sp.hstack([pick, sp.diags_array(-large_m)], format="csr")
    slack_rows = sp.hstack([kkt.slack_matrix[sides, :], sp.diags_array(large_s)], format="csr")
    free_below = np.full(count, -INFINITY)
    linear = with_rows(
        linear, multiplier_rows, free_below, np.zeros(count), tuple(f"M of {n}" for n in names)
    )
    linear = with_rows(
        linear,
        slack_rows,
        free_below,
        large_s - kkt.slack_constant[sides],
        tuple(f"S of {n}" for n in names),
    )
    position = {int(side): width + k for k, side in enumerate(sides)}
    twins = [
        (position[int(side)], position[int(kkt.multipliers.twin[side])])
        for side in sides
        if int(kkt.multipliers.twin[side]) in position and kkt.multipliers.twin[side] > side
    ]
    exclusive = sp.csr_array(
        (np.ones(2 * len(twins)), (np.repeat(np.arange(len(twins)), 2), np.array(twins, dtype=int).ravel())),
        shape=(len(twins), width + count),
    )
    linear = with_rows(
        linear,
        padded(exclusive, width + count),
        np.full(len(twins), -INFINITY),
        np.ones(len(twins)),
        tuple(f"one side {k}" for k in range(len(twins))),
    )
    integer = np.concatenate([kkt.is_integer, np.ones(count, dtype=np.bool_)])
    return BigM(MixedIntegerProgram(linear, integer), kkt, multiplier_bound)


def _without_dead_multipliers(kkt: KktSystem, bound: FloatArray) -> LinearProgram:
    """The relaxation with every multiplier that is always zero fixed there."""
    upper = kkt.relaxation.column_upper.copy()
    upper[kkt.first_multiplier + kkt.pairs[bound <= _ZERO_BOUND]] = 0.0
    return replace(kkt.relaxation, column_upper=upper)
