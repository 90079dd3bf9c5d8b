"""Valid bounds for multipliers, prices and slacks: big-M values that are proven, never guessed.

Three arguments are tried in turn; each bound found is valid for every point of the game (or, for the third,
for at least one optimal dual at every point), so no optimum is cut off:

1. *LP tightening*: the largest value over the relaxation (leader rows, follower feasibility, stationarity).
   Two sides of one row cannot both carry a multiplier, so the **net** of the two is maximised.
2. *Strong duality*: at a follower's optimum its cost equals the dual objective, which is at most
   ``sum_k max_x g_k(x) m_k`` where ``g_k(x)`` is side k's right-hand side. This row joins the relaxation.
3. *Dual vertices*: if no price enters the leader's problem, any optimal dual will do, and a vertex of the
   dual polyhedron always is one; small polyhedra are enumerated.

Where all three fail no finite bound is known and :class:`NoValidBoundError` names the row. Small big-M values
that merely look plausible are how bilevel programs get wrong answers (Pineda & Morales 2019).
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.bilevel.kkt import KktSystem
from ppsm.errors import NoValidBoundError
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status

# A proven bound is widened by this much before it becomes an M: then a multiplier that touches its M
# exposes a wrong bound instead of an honest extreme price.
M_MARGIN = 0.01
_VERTEX_BASES_LIMIT = 50_000
_ILL_CONDITIONED = 1e10
_SINGULAR = 1e15


class BoundFinder:
    """Derives valid bounds for one KKT system; every answer is remembered."""

    def __init__(self, kkt: KktSystem) -> None:
        self.kkt = kkt
        self._relaxation = PersistentLp(kkt.relaxation)
        self._with_duality: PersistentLp | None = None
        self._duality_tried = False
        self._vertex_bounds: tuple[FloatArray, FloatArray] | None = None
        self._vertices_tried = False
        self._slack: dict[int, float] = {}
        self._net: dict[int, tuple[float, float]] = {}

    def slack(self, side: int) -> float:
        """Largest slack of a side's inequality, or an error that names it."""
        if side not in self._slack:
            direction = self.kkt.slack_matrix[[side], :].toarray().ravel()
            found = self._largest(self._relaxation, direction) + float(self.kkt.slack_constant[side])
            self._slack[side] = max(0.0, found)
        if not math.isfinite(self._slack[side]):
            raise NoValidBoundError(
                f"no finite bound exists on the slack of '{self.kkt.multipliers.names[side]}': the leader's "
                "and follower's constraints let it grow without limit; bound the variables in it, or use "
                "method='sos1' or 'indicator', which need no bound."
            )
        return self._slack[side]

    def multiplier(self, side: int) -> float:
        """Largest multiplier of a side, or an error that names its row."""
        low, high = self._net_range(side)
        found = high if self.kkt.multipliers.sign[side] > 0 else -low
        if not math.isfinite(found):
            raise NoValidBoundError(
                f"no finite bound exists on the multiplier of '{self.kkt.multipliers.names[side]}': "
                "nothing in the game limits that price; add a leader constraint or a priced slack that does, or "
                "use method='sos1' or 'indicator', which need no bound."
            )
        return max(0.0, found)

    def price_range(self, row: int) -> tuple[float, float]:
        """Smallest and largest price of a follower row, or an error that names it."""
        multipliers = self.kkt.multipliers
        sides = np.flatnonzero(multipliers.is_row & (multipliers.index == row))
        if sides.size == 0:
            return 0.0, 0.0
        low, high = self._net_range(int(sides[0]))
        if not (math.isfinite(low) and math.isfinite(high)):
            name = self.kkt.program.follower.row_names[row]
            raise NoValidBoundError(
                f"no finite bound exists on the price of '{name}': nothing in the game limits it; add a "
                "leader constraint or a priced slack that does, or use method='sos1' or 'indicator'."
            )
        return low, high

    def _net_range(self, side: int) -> tuple[float, float]:
        """Range of the net multiplier (price or reduced cost) of the row or column that a side belongs to."""
        twin = int(self.kkt.multipliers.twin[side])
        key = min(side, twin) if twin >= 0 else side
        if key not in self._net:
            self._net[key] = self._derive_net_range(key, twin if key == side else side)
        return self._net[key]

    def _derive_net_range(self, side: int, twin: int) -> tuple[float, float]:
        direction = self._net_direction(side, twin)
        low, high = self._optimise_both(self._relaxation, direction, -INFINITY, INFINITY)
        if not (math.isfinite(low) and math.isfinite(high)):
            stronger = self._relaxation_with_duality()
            if stronger is not None:
                low, high = self._optimise_both(stronger, direction, low, high)
        if not (math.isfinite(low) and math.isfinite(high)):
            vertices = self._dual_vertex_bounds()
            if vertices is not None:
                low = low if math.isfinite(low) else self._net_vertex(vertices, side, twin)[0]
                high = high if math.isfinite(high) else self._net_vertex(vertices, side, twin)[1]
        return low, high

    def _net_direction(self, side: int, twin: int) -> FloatArray:
        direction = np.zeros(self.kkt.relaxation.shape[1])
        for position in (side, twin):
            if position >= 0:
                direction[self.kkt.first_multiplier + position] = self.kkt.multipliers.sign[position]
        return direction

    @staticmethod
    def _largest(lp: PersistentLp, direction: FloatArray) -> float:
        """Maximise a direction; infinite where unbounded, minus infinite over an empty relaxation."""
        if not direction.any():
            return 0.0
        lp.set_cost(-direction)
        solution = lp.solve()
        if solution.status is Status.INFEASIBLE:
            return -INFINITY
        return float(direction @ solution.columns) if solution.status is Status.PROVEN_OPTIMAL else INFINITY

    def _optimise_both(
        self, lp: PersistentLp, direction: FloatArray, low: float, high: float
    ) -> tuple[float, float]:
        """Tighten the ends that are still infinite."""
        if not math.isfinite(high):
            high = self._largest(lp, direction)
        if not math.isfinite(low):
            low = -self._largest(lp, -direction)
        return low, high

    def _relaxation_with_duality(self) -> PersistentLp | None:
        """The relaxation with the strong-duality row, or None where the row cannot be made linear."""
        if not self._duality_tried:
            self._duality_tried = True
            row = self._duality_row()
            if row is not None:
                linear = self.kkt.relaxation
                self._with_duality = PersistentLp(
                    replace(
                        linear,
                        matrix=sp.vstack([linear.matrix, sp.csr_array(row[0][None, :])], format="csr"),
                        row_lower=np.append(linear.row_lower, -INFINITY),
                        row_upper=np.append(linear.row_upper, row[1]),
                        row_names=(*linear.row_names, "strong duality"),
                    )
                )
        return self._with_duality

    def _duality_row(self) -> tuple[FloatArray, float] | None:
        """Coefficients and upper bound of ``c'y - sum_k gmax_k m_k <= constant``."""
        kkt, multipliers = self.kkt, self.kkt.multipliers
        row = np.zeros(kkt.relaxation.shape[1])
        row[kkt.responses] = kkt.program.follower.cost
        constant = 0.0
        for side in range(multipliers.count):
            low, high = self._right_hand_side_range(side)
            weight = high
            if multipliers.is_free[side] and low != high:
                # |price| is at most its known range, so price * g <= price * middle + range * half the width.
                price_low, price_high = self._optimise_both(
                    self._relaxation, self._net_direction(side, -1), -INFINITY, INFINITY
                )
                weight = 0.5 * (low + high)
                constant += 0.5 * (high - low) * max(abs(price_low), abs(price_high))
            row[kkt.first_multiplier + side] = -weight
        return (row, constant) if np.isfinite(row).all() and math.isfinite(constant) else None

    def _right_hand_side_range(self, side: int) -> tuple[float, float]:
        """Range of ``sign * (bound - coupling x)``, what a side's multiplier earns in the dual objective."""
        kkt, multipliers = self.kkt, self.kkt.multipliers
        sign, bound = float(multipliers.sign[side]), float(multipliers.bound[side])
        coupled = np.zeros(kkt.relaxation.shape[1])
        if multipliers.is_row[side]:
            row = kkt.program.coupling[[int(multipliers.index[side])], :].toarray().ravel()
            coupled[kkt.variables] = -sign * row
        high = self._largest(self._relaxation, coupled)
        low = -self._largest(self._relaxation, -coupled)
        return sign * bound + low, sign * bound + high

    @staticmethod
    def _net_vertex(vertices: tuple[FloatArray, FloatArray], side: int, twin: int) -> tuple[float, float]:
        lows, highs = vertices
        chosen = [position for position in (side, twin) if position >= 0]
        return float(min(lows[chosen])), float(max(highs[chosen]))

    def _dual_vertex_bounds(self) -> tuple[FloatArray, FloatArray] | None:
        """Least and largest signed multiplier over the dual vertices, if they may be used and are few."""
        if not self._vertices_tried:
            self._vertices_tried = True
            if not self.kkt.program.leader_sees_prices:
                self._vertex_bounds = _enumerate_dual_vertices(self.kkt)
        return self._vertex_bounds


def _independent_columns(matrix: FloatArray, candidates: IntArray) -> IntArray:
    """A maximal independent subset of the candidate columns."""
    chosen: list[int] = []
    for candidate in candidates.tolist():
        if np.linalg.matrix_rank(matrix[:, [*chosen, candidate]]) > len(chosen):
            chosen.append(candidate)
    return np.array(chosen, dtype=np.int64)


def _enumerate_dual_vertices(kkt: KktSystem) -> tuple[FloatArray, FloatArray] | None:
    """Solve for every basis of ``stationarity m = c``; None where there are too many to look at."""
    multipliers, follower = kkt.multipliers, kkt.program.follower
    width = follower.shape[1]
    first_row = kkt.relaxation.shape[0] - width
    dual = kkt.relaxation.matrix[first_row:, kkt.first_multiplier :].toarray()
    independent = _independent_columns(dual.T, np.arange(width))
    dual, cost = dual[independent], follower.cost[independent]
    # Free multipliers are part of every basis; dependent ones can be zero at an optimal dual.
    free = _independent_columns(dual, np.flatnonzero(multipliers.is_free))
    signed = np.flatnonzero(~multipliers.is_free)
    picks = independent.size - free.size
    if math.comb(signed.size, max(picks, 0)) > _VERTEX_BASES_LIMIT:
        return None
    lows, highs = np.zeros(multipliers.count), np.zeros(multipliers.count)
    for pick in itertools.combinations(signed.tolist(), picks):
        basis = np.concatenate([free, np.array(pick, dtype=np.int64)])
        square = dual[:, basis]
        condition = float(np.linalg.cond(square)) if basis.size else 1.0
        if condition > _SINGULAR:
            continue
        if condition > _ILL_CONDITIONED:
            return None  # too close to singular to trust either verdict
        values = np.linalg.solve(square, cost)
        tolerance = 1e-7 * max(1.0, float(np.abs(values).max(initial=0.0)))
        if (values[free.size :] < -tolerance).any():
            continue
        signed_values = values * multipliers.sign[basis]
        lows[basis] = np.minimum(lows[basis], signed_values)
        highs[basis] = np.maximum(highs[basis], signed_values)
    return lows, highs
