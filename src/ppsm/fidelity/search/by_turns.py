"""Searches that take turns on one problem: each goes on for a moment, is left, and is taken up again.

Nobody knows beforehand which search suits a market. The specialised ones end within milliseconds where they
are at home; the plain tree over sides is at home wherever few sides are in doubt. A point of one is the point
that all have to beat, and the first that is through is the proof. Turns double, so that the best search is
slowed down by a constant factor only, and a search whose bound lags behind gets less of them. They are
counted in steps, not in seconds: the same problem is searched in the same way on a busy machine too.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from ppsm.arrays import INFINITY
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.search.best_first import Incumbent, SearchOutcome
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


def search_by_turns(
    limits: SearchLimits,
    players: Sequence[Callable[[], Player]],
    best: Incumbent | None = None,
    bound: float = -INFINITY,
) -> SearchOutcome:
    """Let searches take turns until one is through or a limit is hit; ``best`` and ``bound`` are known."""
    started = time.perf_counter()
    everybody = [_Seat(invite) for invite in players]
    seats = list(everybody)
    turn = TUNING.first_turn
    while seats:
        for seat in tuple(seats):
            share = TUNING.lagging if seat.player and seat.bound < max(one.bound for one in seats) else 1.0
            stop = started + (limits.seconds if best else min(limits.seconds, limits.barren_seconds))
            alone = len(seats) == 1
            steps = INFINITY if alone else max(1.0, share * turn)
            found = seat.go_on(stop, steps, limits.nodes - _nodes(everybody), best)
            best = found.incumbent or best
            bound = max(bound, found.bound)
            if found.status in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
                return replace(found, nodes=_nodes(everybody))
            if seat.is_through:  # what it left unsettled is up to the others
                seats.remove(seat)
            if time.perf_counter() >= stop or _nodes(everybody) >= limits.nodes:
                return _open_outcome(best, bound, _nodes(everybody))
        turn *= 2
    return _open_outcome(best, bound, _nodes(everybody))


def _nodes(seats: Sequence[_Seat]) -> int:
    return sum(seat.player.nodes for seat in seats if seat.player is not None)


def _open_outcome(best: Incumbent | None, bound: float, nodes: int) -> SearchOutcome:
    if best is None:
        return SearchOutcome(Status.NO_INCUMBENT, None, bound, nodes)
    return SearchOutcome(Status.INCUMBENT, best, min(bound, best.objective), nodes)
