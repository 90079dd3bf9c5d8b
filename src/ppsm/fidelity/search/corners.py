"""PPSM_p in l1 when the lower end of the value band binds: from corner to corner along the axes.

``V`` is convex, so over a polytope it is largest at a vertex. The vectors that are nearer than ``r`` in l1
are a polytope around the nearest vector within the public bounds, and each of its vertices has moved one
entry by all of ``r``. So the nearest vector that is worth enough has moved a single entry: one LP for each
direction says how far that has to go, and the shortest way is the answer and its proof at once.

An entry that would have to go beyond its public bound ends there. The polytope is then cut off by that bound:
its end is a *corner*, from which ways lead along all other axes, and so on. Corners are added for ways that
come up as the shortest only, so there are a few of them as a rule.

Where the follower cannot serve what lies farther on a way, before it is worth enough, vertices are not known:
what is left is a bound.
"""

import heapq
import itertools
import time
from dataclasses import dataclass, field, replace

import numpy as np

from ppsm.arrays import INFINITY, FloatArray
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import NONE, Incumbent, SearchOutcome
from ppsm.fidelity.tuning import TUNING
from ppsm.status import Status


@dataclass(frozen=True)
class Way:
    """An entry that rises or falls, as far as its public bound; each unit costs its weight."""

    entry: int
    sign: float
    room: float
    weight: float


@dataclass(frozen=True, eq=False)
class Corner:
    """A vector with some entries at the ends of their ways, and how far each other way could go from it."""

    parameter: FloatArray
    distance: float
    entries: frozenset[int]
    lengths: dict[Way, float] = field(default_factory=dict)


@dataclass(frozen=True, order=True)
class _Move:
    """Along a way from a corner until the value is met; ``distance`` is that of its end."""

    distance: float
    order: int
    corner: Corner = field(compare=False)
    way: Way = field(compare=False)


class CornerSearch:
    """The nearest vector in l1 that is worth ``core.value_lower``; ``best`` is one that is."""

    def __init__(self, core: Core, lps: FollowerLps, best: Incumbent, stop: float) -> None:
        self.core, self.lps, self.best, self._stop = core, lps, best, stop
        # What costs no more than the value that is asked for.
        self._below = replace(core, value_lower=-INFINITY, value_upper=core.value_lower)
        self._corners: list[Corner] = []
        self._closed: set[Way] = set()
        self._moves: list[_Move] = []
        self._orders = itertools.count()
        centre = np.clip(core.reference, core.lower, core.upper)
        self._ways = _ways(core, centre)
        self._centre = Corner(centre, core.objective(centre), frozenset())

    def run(self) -> SearchOutcome:
        """The optimum, or a point and a bound where it cannot be told."""
        found = self.lps.value(self.core.rows_at(self._centre.parameter))
        if found is None or not self._is_short(found[0]) or not np.isfinite(found[0]):
            return self._outcome(-INFINITY)
        if not self._add(self._centre):
            return self._outcome(-INFINITY)
        while self._moves:
            move = self._moves[0]
            length = move.corner.lengths[move.way]
            if length < move.way.room * (1.0 - TUNING.met) or not self._ends_short(move):
                # Short of its bound a way ends where the value is met, or where nothing can be served.
                return self._outcome(move.distance, is_proven=self._offer(move, length))
            heapq.heappop(self._moves)
            if move.way not in self._closed and not self._close(move.way):
                return self._outcome(move.distance)
        return self._outcome(self.best.objective, is_proven=True)

    def _is_short(self, value: float) -> bool:
        """Whether a value misses the band."""
        return value < self.core.value_lower - TUNING.met * max(1.0, abs(self.core.value_lower))

    def _ends_short(self, move: _Move) -> bool:
        """Whether a way is over at its public bound before the value is met."""
        found = self.lps.value(self.core.rows_at(_moved(move.corner.parameter, move.way, move.way.room)))
        return found is not None and self._is_short(found[0])

    def _offer(self, move: _Move, length: float) -> bool:
        """Take the end of a way for the best point; False where it is not worth enough."""
        parameter = _moved(move.corner.parameter, move.way, min(length, move.way.room))
        found = self.lps.value(self.core.rows_at(parameter))
        if found is None or self._is_short(found[0]):
            return False
        self.best = Incumbent(self.core.objective(parameter), parameter, found[1], NONE)
        return True

    def _close(self, way: Way) -> bool:
        """Let a way end at its public bound: what is there is a corner, beside every one that there is."""
        self._closed.add(way)
        for corner in tuple(self._corners):
            distance = corner.distance + way.weight * way.room
            is_short = way.entry not in corner.entries and corner.lengths[way] >= way.room * (1 - TUNING.met)
            if is_short and distance < self.best.objective:
                parameter = _moved(corner.parameter, way, way.room)
                if not self._add(Corner(parameter, distance, corner.entries | {way.entry})):
                    return False
        return True

    def _add(self, corner: Corner) -> bool:
        """Look along all ways from a corner; False where an LP or the time does not allow it."""
        if len(self._corners) >= TUNING.most_corners:
            return False
        self._corners.append(corner)
        for way in self._ways:
            if way.entry in corner.entries:
                continue
            if time.perf_counter() > self._stop:
                return False
            farthest = (self.best.objective - corner.distance) / way.weight
            length = self._length(corner.parameter, way, farthest)
            if length is None:
                return False
            corner.lengths[way] = length
            if length < farthest * (1.0 - TUNING.met):
                distance = corner.distance + way.weight * length
                heapq.heappush(self._moves, _Move(distance, next(self._orders), corner, way))
        return True

    def _length(self, start: FloatArray, way: Way, farthest: float) -> float | None:
        """How far a way goes until the value is met, at most ``farthest``: by one LP."""
        lower, upper = start.copy(), start.copy()
        ends = upper if way.sign > 0 else lower
        ends[way.entry] += way.sign * farthest
        cost = np.zeros(self.core.follower.free_parameter_matrix.shape[1])
        cost[cost.size - start.size + way.entry] = -way.sign
        most = self.lps.free_parameter.least(replace(self._below, lower=lower, upper=upper), NONE, cost)
        if not np.isfinite(most):
            return None
        return float(np.clip(-most - way.sign * start[way.entry], 0.0, farthest))

    def _outcome(self, bound: float, *, is_proven: bool = False) -> SearchOutcome:
        status = Status.PROVEN_OPTIMAL if is_proven else Status.INCUMBENT
        # LPs are exact up to a tolerance.
        bound = max(self.core.least, min(bound, self.best.objective) - TUNING.met)
        return SearchOutcome(status, self.best, bound, max(1, len(self._corners)))


def _ways(core: Core, centre: FloatArray) -> list[Way]:
    """Up and down from every entry that does not sit at that public bound."""
    found = []
    for entry, weight in enumerate(core.weight.tolist()):
        for sign, room in (
            (1.0, float(core.upper[entry] - centre[entry])),
            (-1.0, float(centre[entry] - core.lower[entry])),
        ):
            if room > 0.0:
                found.append(Way(entry, sign, room, weight))
    return found


def _moved(parameter: FloatArray, way: Way, length: float) -> FloatArray:
    moved = parameter.copy()
    moved[way.entry] += way.sign * length
    return moved
