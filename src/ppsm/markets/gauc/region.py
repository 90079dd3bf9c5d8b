"""Where the burn of every answer below a cost must lie: bounds by place and in total, from UC's relaxation.

Whatever the commitment, a cost target leaves little freedom to the plants' burn. The bounds come from linear
programs over UC's relaxation with the target as a row (optimality-based bound tightening), so they hold for
every commitment at the given levels or above.
"""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.errors import SolverError
from ppsm.markets.model.followers import Followers
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


class Extents:
    """What is known of ``w'd`` over a convex region of nonnegative ``d`` without asking.

    Half-spaces contain the region, points are contained in it. Asking for an extent is an LP over UC's
    relaxation (0.1 s on the Northeast case). After some hundred answers their half-spaces say as much of a
    new direction by an LP in a few columns, and their points say how much asking could still gain.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._cuts: list[tuple[FloatArray, float]] = []
        self._points: list[FloatArray] = []
        self._live: PersistentLp | None = None

    def inherit(self, others: "Extents") -> None:
        """Take over the half-spaces of a region that contains this one; its points may lie outside."""
        for weights, value in others._cuts:
            self.cut(weights, value)

    def cut(self, weights: FloatArray, value: float) -> None:
        """Note that ``w'd <= value`` in all of the region."""
        scale = float(np.abs(weights).max(initial=0.0))
        if not (np.isfinite(value) and scale > 0.0):
            return
        self._cuts.append((weights / scale, value / scale))
        if self._live is not None:
            self._live.add_row(weights / scale, -INFINITY, value / scale)

    def hold(self, point: FloatArray) -> None:
        """Note that a point lies in the region."""
        self._points.append(point)

    def at_least(self, weights: FloatArray) -> float:
        """What some point of the region attains."""
        return max((float(point @ weights) for point in self._points), default=-INFINITY)

    def at_most(self, weights: FloatArray) -> float:
        """What no point of the half-spaces exceeds; inf where they leave it open."""
        if self._live is None:
            self._live = PersistentLp(self._program())
            self._live.use_primal_simplex()
        self._live.set_cost(-weights)
        try:
            solution = self._live.solve()
        except SolverError:
            return INFINITY
        return -solution.objective if solution.status is Status.PROVEN_OPTIMAL else INFINITY

    def _program(self) -> LinearProgram:
        rows = len(self._cuts)
        directions = np.array([weights for weights, _ in self._cuts]).reshape(rows, self._size)
        return LinearProgram.of(
            np.zeros(self._size),
            sp.csr_array(directions),
            row_upper=np.array([value for _, value in self._cuts]),
            column_lower=np.zeros(self._size),
        )


class BurnRegion:
    """What the daily burn by place (junction with plants) can be at a cost up to a target.

    :meth:`bound` finds bounds by place and in total; :meth:`extent` asks the relaxation how far the burn goes
    in one more direction, and remembers it, :meth:`sharpen` only where that pays. What is known of a region
    that this one lies ``within`` holds here too: only the total is asked for anew.
    """

    def __init__(
        self,
        followers: Followers,
        power_stress: float,
        program: LinearProgram,
        target_usd: float,
        within: "BurnRegion | None" = None,
    ) -> None:
        self._burn = sp.csr_array(place_map(followers) @ followers.commitment.burn_map)
        self._live = PersistentLp(_with_cost_row(program), feasibility=TUNING.commitment_feasibility)
        self._live.start_from(followers.commitment.basis_of_relaxation(power_stress))
        self.empty = not self._limit_cost(target_usd - program.offset)
        self._asked: set[bytes] = set()
        self._known: dict[bytes, float] = {}
        self._extents = Extents(self._burn.shape[0])
        self.lower_mwh, self.upper_mwh = np.zeros(self._burn.shape[0]), np.full(self._burn.shape[0], np.inf)
        self.total_mwh = (0.0, np.inf)
        if within is not None:
            self._known = dict(within._known)
            self._extents.inherit(within._extents)
            self.lower_mwh, self.upper_mwh = within.lower_mwh.copy(), within.upper_mwh.copy()

    def _limit_cost(self, target_usd: float) -> bool:
        """Limit the cost to the target, from the cheapest point on; False where even that is dearer."""
        cheapest = self._live.solve()
        if cheapest.status is Status.INFEASIBLE:
            return False
        if cheapest.status is not Status.PROVEN_OPTIMAL:
            raise SolverError("The cheapest point of UC's relaxation was not found.")
        if cheapest.objective > target_usd + TUNING.widening * abs(target_usd):
            return False
        row = np.array([self._live.program.shape[0] - 1])
        self._live.set_row_bounds(row, np.array([-np.inf]), np.array([target_usd / TUNING.usd_per_row_unit]))
        self._live.use_primal_simplex()
        self._cheapest = self._live.basis()
        return True

    def bound(self, seconds_left: Callable[[], float]) -> bool:
        """Find the bounds in total, and by place unless inherited; False if the time is up before."""
        places = self._burn.shape[0]
        self.total_mwh = (-self.extent(-np.ones(places)), self.extent(np.ones(places)))
        for place in np.flatnonzero(np.isinf(self.upper_mwh)):
            if seconds_left() <= 0:
                return False
            unit = np.zeros(places)
            unit[place] = 1.0
            self.upper_mwh[place] = self.extent(unit)
            self.lower_mwh[place] = max(-self.extent(-unit), 0.0)
        return bool(np.isfinite(self.upper_mwh).all() and np.isfinite(self.total_mwh).all())

    def sharpen(self, weights: FloatArray, worth: float) -> bool:
        """Bound ``weights' burn`` more closely; ask the relaxation only where that may gain what it is worth.

        Says whether anything new was learned.
        """
        key = weights.tobytes()
        if key in self._asked:
            return False
        before = self._known.get(key, np.inf)
        known = self._known[key] = min(before, _widened(self._extents.at_most(weights), weights))
        if known - self._extents.at_least(weights) > worth:
            self.extent(weights)
        return key in self._asked or known < before - TUNING.widening * abs(known)

    def extent(self, weights: FloatArray) -> float:
        """Return ``max weights' burn`` over the relaxation, slightly widened; inf where that failed."""
        key = weights.tobytes()
        if key not in self._asked:
            # Asked once, whatever comes of it: what HiGHS cannot settle now it would not settle later.
            self._asked.add(key)
            asked = self._ask(weights)
            self._extents.cut(weights, asked)
            self._known[key] = min(asked, self._known.get(key, np.inf))
        return self._known[key]

    def _ask(self, weights: FloatArray) -> float:
        # The way from the last extent would be longer, and the answer a matter of what was asked before.
        self._live.start_from(self._cheapest)
        self._live.set_cost(-(self._burn.T @ weights))
        try:
            solution = self._live.solve()
        except SolverError:
            return np.inf
        if solution.status is not Status.PROVEN_OPTIMAL:
            return np.inf
        self._extents.hold(self._burn @ solution.columns)
        return _widened(-solution.objective, weights)

    def between(self, low_mwh: float, high_mwh: float) -> "BurnRegion":
        """The part of the region whose total burn is in an interval; it shares what is known of the whole."""
        part = copy.copy(self)
        part.total_mwh = (low_mwh, high_mwh)
        return part

    def largest(self, weights: FloatArray) -> FloatArray:
        """Upper bounds on ``weights' burn`` by row: what the relaxation said, else what the limits say."""
        most = knapsack(weights, self.lower_mwh, self.upper_mwh, self.total_mwh)
        known = np.array([self._known.get(row.tobytes(), np.inf) for row in weights])
        bounds: FloatArray = np.minimum(most, known)
        return bounds


def _widened(value: float, weights: FloatArray) -> float:
    return value + (TUNING.widening_mwh + TUNING.widening * abs(value)) * max(
        1.0, float(np.abs(weights).max())
    )


def knapsack(
    weights: FloatArray, low: FloatArray, high: FloatArray, total: tuple[float, float]
) -> FloatArray:
    """``max w' d`` over ``low <= d <= high`` with the sum of d in an interval, for each row w of the weights.

    Start with the best corner of the box, then give up what costs least until the sum fits.
    """
    point = np.where(weights > 0, high, low)
    sums = point.sum(axis=1)
    excess = np.where(sums > total[1], sums - total[1], np.minimum(sums - total[0], 0.0))[:, None]
    order = np.argsort(np.where(excess > 0, weights, -weights), axis=1)
    room = np.where(excess > 0, point - low, high - point)
    room, sorted_weights = (np.take_along_axis(array, order, axis=1) for array in (room, weights))
    before = np.cumsum(room, axis=1) - room
    moved = np.clip(np.abs(excess) - before, 0.0, room)
    value: FloatArray = (weights * point).sum(axis=1)
    value -= (np.sign(excess) * sorted_weights * moved).sum(axis=1)
    return value


def place_map(followers: Followers) -> SparseMatrix:
    """Links gathered by junction (places x links), in the order of the junctions."""
    places, position = np.unique(followers.gas.plants, return_inverse=True)
    shape = (places.size, position.size)
    return sp.csr_array((np.ones(position.size), (position, np.arange(position.size))), shape=shape)


def _with_cost_row(program: LinearProgram) -> LinearProgram:
    """UC's relaxation with one more row at the end, its cost (without a limit so far)."""
    row = sp.csr_array(program.cost[None, :] / TUNING.usd_per_row_unit)
    return replace(program.with_rows(row), offset=0.0)
