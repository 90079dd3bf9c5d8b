"""Searches that take turns on one problem: each goes on for a moment, is left, and is taken up again.

Nobody knows beforehand which search suits a market. The specialised ones end within milliseconds where they
are at home; the plain tree over sides is at home wherever few sides are in doubt. A point of one is the point
that all have to beat, and the first that is through is the proof. Turns double, so that the best search is
slowed down by a constant factor only, and a search whose bound lags behind gets less of them. They are
counted in steps, not in seconds: the same problem is searched in the same way on a busy machine too.
Two players are made here: :class:`Restarting`, the two trees that begin anew, and :class:`InSquares`, which
lends their points to other distances.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from ppsm.arrays import INFINITY
from ppsm.fidelity.bounds.convex import Relaxation
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import Incumbent, SearchOutcome
from ppsm.fidelity.search.two_trees import TwoTrees
from ppsm.fidelity.tuning import TUNING
from ppsm.status import Status


class Player(Protocol):
    """A search that can be left before every step; ``stop`` is when its turn ends."""

    stop: float

    @property
    def nodes(self) -> int:
        """How many it has looked at."""

    def steps(self) -> Iterator[None]:
        """Search step by step."""

    def offer(self, candidate: Incumbent) -> None:
        """A faithful point to beat."""

    def outcome(self) -> SearchOutcome:
        """What is found and proven so far."""


class _Seat:
    """A player and where it was left; it sits down when its first turn comes."""

    def __init__(self, invite: Callable[[], Player]) -> None:
        self._invite = invite
        self.player: Player | None = None
        self._steps: Iterator[None] = iter(())
        self.bound = -INFINITY
        self.is_through = False

    def go_on(self, until: float, steps: float, nodes: int, best: Incumbent | None) -> SearchOutcome:
        """Search until a deadline of :func:`time.perf_counter`, for so many steps or nodes; at least one."""
        if self.player is None:
            self.player = self._invite()
            self._steps = self.player.steps()
        if best is not None:
            self.player.offer(best)
        self.player.stop = until
        self.is_through = True
        last = self.player.nodes + nodes
        for taken, _ in enumerate(self._steps, start=1):
            if taken >= steps or time.perf_counter() >= until or self.player.nodes >= last:
                self.is_through = False
                break
        found = self.player.outcome()
        self.bound = max(self.bound, found.bound)
        return found


class Restarting:
    """The two trees, which start again where they have come to a halt, with the best incumbent so far.

    Which sides a tree splits first depends on the last digits of LPs. Most are small; of one that is not
    another attempt, from other bases, is small as a rule. One whose bound nears its best point is left
    alone, as large trees of wide bands are; where two have come to nothing the one whose bound is better is
    gone on with.
    """

    def __init__(
        self,
        core: Core,
        lps: FollowerLps,
        limits: SearchLimits,
        matrices: PrimalDualMatrices,
        relaxation: Relaxation | None = None,
    ) -> None:
        self._core, self._lps, self._limits, self._matrices = core, lps, limits, matrices
        self._relaxation = relaxation
        self._spent = 0.0
        self.stop = INFINITY
        self._search = self._fresh()
        self._other: TwoTrees | None = None

    def _fresh(self) -> TwoTrees:
        band = PriceBox(self._core.price_lower, self._core.price_upper)
        return TwoTrees(
            self._core, self._lps, self._limits, self._matrices, band, relaxation=self._relaxation
        )

    @property
    def incumbent(self) -> Incumbent | None:
        """The best point so far."""
        return self._search.incumbent

    @property
    def nodes(self) -> int:
        """Nodes of all attempts."""
        return self._search.nodes + (0 if self._other is None else self._other.nodes)

    def offer(self, candidate: Incumbent) -> None:
        """Keep a faithful point if it is the best so far."""
        self._search.offer(candidate)

    def steps(self) -> Iterator[None]:
        """Search node by node, perhaps from the start again; then go on where it leads."""
        steps = self._search.steps()
        if (yield from self._for_a_share(steps, TUNING.stalls * TUNING.restart)):
            return
        missing = self._missing
        if (yield from self._for_a_share(steps, TUNING.restart)):
            return
        if self._missing < TUNING.rises * missing:
            yield from self._for_a_share(steps, INFINITY)
            return
        steps_of_first = steps
        self._turn_to(self._fresh())
        steps = self._search.steps()
        if (yield from self._for_a_share(steps, TUNING.settled)):
            return
        first = self._other
        if first is not None and first.outcome().bound > self._search.outcome().bound:
            self._turn_to(first)
            steps = steps_of_first
        yield from self._for_a_share(steps, INFINITY)

    @property
    def _missing(self) -> float:
        """What the bound of this attempt lacks of its best point."""
        found = self._search.outcome()
        return INFINITY if found.incumbent is None else found.incumbent.objective - found.bound

    def _turn_to(self, search: TwoTrees) -> None:
        """Go on with another attempt, which has to beat the best point of this one."""
        best, self._other, self._search = self.incumbent, self._search, search
        if best is not None:
            search.offer(best)

    def _for_a_share(self, steps: Iterator[None], share: float) -> Generator[None, None, bool]:
        """Search until a share of the time is spent; whether the search is through."""
        since = time.perf_counter()
        for _ in steps:
            self._spent += time.perf_counter() - since
            if self._spent > share * self._limits.seconds:
                return False
            yield
            since = time.perf_counter()
            self._search.stop = self.stop
        return True

    def outcome(self) -> SearchOutcome:
        """What is found and proven so far, by both attempts."""
        found = self._search.outcome()
        bound = -INFINITY if self._other is None else self._other.outcome().bound
        return replace(found, bound=max(bound, found.bound), nodes=self.nodes)


class InSquares:
    """Points for another distance from the two trees, which find one in the same bands where others do not.

    Of the distance that is asked for it proves nothing, but that there is no point at all; so it ends where
    somebody has a point.
    """

    def __init__(
        self, core: Core, lps: FollowerLps, limits: SearchLimits, matrices: PrimalDualMatrices
    ) -> None:
        self._core = core
        self._search = Restarting(core.in_squares, lps, limits, matrices)
        self._has_point = False
        self.stop = INFINITY

    @property
    def nodes(self) -> int:
        """How many it has looked at."""
        return self._search.nodes

    def offer(self, candidate: Incumbent) -> None:  # noqa: ARG002
        """Where there is a point none is needed; what is near in one distance need not be in the other."""
        self._has_point = True

    def steps(self) -> Iterator[None]:
        """Search node by node, until somebody has a point."""
        steps = self._search.steps()
        while not self._has_point and next(steps, self) is not self:
            yield
            self._search.stop = self.stop

    def outcome(self) -> SearchOutcome:
        """The point found, measured by the distance that is asked for."""
        found = self._search.outcome()
        if found.status is Status.INFEASIBLE:
            return found
        point = found.incumbent
        if point is None:
            return SearchOutcome(Status.NO_INCUMBENT, None, self._core.least, found.nodes)
        measured = replace(point, objective=self._core.objective(point.parameter))
        return SearchOutcome(Status.INCUMBENT, measured, self._core.least, found.nodes)


def search_by_turns(
    limits: SearchLimits,
    players: Sequence[Callable[[], Player]],
    best: Incumbent | None = None,
    bound: float = -INFINITY,
) -> SearchOutcome:
    """Let searches take turns until one is through or a limit is hit; ``best`` and ``bound`` are known."""
    started = time.perf_counter()
    everybody = [_Seat(invite) for invite in players[: limits.searches]]
    seats = list(everybody)
    turn = TUNING.first_turn
    while seats:
        for seat in tuple(seats):
            share = _share(seat, max(one.bound for one in seats), best)
            stop = started + _allowed(limits, best)
            alone = len(seats) == 1
            steps = INFINITY if alone else max(1.0, share * turn)
            found = seat.go_on(stop, steps, limits.nodes - _nodes(everybody), best)
            left = limits.nodes - _nodes(everybody)
            if best is None and found.incumbent and left > 0 and time.perf_counter() >= stop:
                # The time of a barren search is over, which it is no more.
                stop = started + limits.seconds
                found = seat.go_on(stop, steps, left, found.incumbent)
            best = _better(best, found.incumbent)
            bound = max(bound, found.bound)
            if found.status in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
                return replace(found, nodes=_nodes(everybody))
            if seat.is_through:  # what it left unsettled is up to the others
                seats.remove(seat)
            if time.perf_counter() >= stop or _nodes(everybody) >= limits.nodes:
                return _open_outcome(best, bound, _nodes(everybody))
        turn *= 2
    return _open_outcome(best, bound, _nodes(everybody))


def _share(seat: _Seat, best_bound: float, best: Incumbent | None) -> float:
    """What a search gets of a turn: the less the more its bound lacks, compared with the best one.

    One that proves nothing before its end does not lag behind; one that sits down late does at first.
    """
    if seat.player is None:
        return TUNING.lagging if best_bound > -INFINITY else 1.0
    if not -INFINITY < seat.bound < best_bound:
        return 1.0
    if best is None:
        return TUNING.lagging
    lacks = best.objective - seat.bound
    if lacks <= 0.0:  # all bounds have met the best point, but for rounding
        return 1.0
    return max(TUNING.least_share, (best.objective - best_bound) / lacks)


def _allowed(limits: SearchLimits, best: Incumbent | None) -> float:
    """Seconds for all turns: less while nothing is found."""
    return limits.seconds if best else min(limits.seconds, limits.barren_seconds)


def _better(one: Incumbent | None, other: Incumbent | None) -> Incumbent | None:
    if one is None or other is None:
        return one or other
    return other if other.objective < one.objective else one


def _nodes(seats: Sequence[_Seat]) -> int:
    return sum(seat.player.nodes for seat in seats if seat.player is not None)


def _open_outcome(best: Incumbent | None, bound: float, nodes: int) -> SearchOutcome:
    if best is None:
        return SearchOutcome(Status.NO_INCUMBENT, None, bound, nodes)
    return SearchOutcome(Status.INCUMBENT, best, min(bound, best.objective), nodes)
