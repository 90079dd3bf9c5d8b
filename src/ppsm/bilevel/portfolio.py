"""The automatic choice: searches that take turns on one game and tell each other what they found.

Nobody knows beforehand which search is best for a game, so each goes on for a moment, is left, and is taken
up again for twice as long in the next round:

::

    enumeration    all decisions of a leader who has few
    sos1           SCIP, which needs no constants
    steps          from a decision to better ones, of integers first: a good point that others must beat
    branching      our own tree over pairs, with a proof at every leaf; it has a glance before all others
    duality        HiGHS, with constants that are proven first, by strong duality or big-M

A verified point of one is the point that all others must beat. The first that is through wins; what a solver
claims is called verified only after the tree, going on beyond that claim, or another form has confirmed it.
"""

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ppsm.arrays import INFINITY, FloatArray
from ppsm.bilevel.bounds.slater import bounded
from ppsm.bilevel.methods.branching import Branching
from ppsm.bilevel.searchers import Progress, ScipSearcher, Searcher, TreeSearcher, own_progress, searchers
from ppsm.bilevel.second_opinion import Opinion, Verdict
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.standing import Standing
from ppsm.bilevel.tuning import TUNING
from ppsm.solvers.highs import HIGHS
from ppsm.status import Status


def _scip_of(players: Sequence[Searcher]) -> ScipSearcher | None:
    return next((player for player in players if isinstance(player, ScipSearcher)), None)


def _is_quick(tree: Branching, players: Sequence[Searcher]) -> bool:
    """Whether a tree would take about as long as SCIP did, if it needs as many nodes.

    With integers it needs many times as many: SCIP has cuts.
    """
    scip = _scip_of(players)
    if scip is None or scip.kkt.is_integer.any():
        return False
    expected = (scip.nodes - tree.nodes) * tree.pace
    return expected <= max(TUNING.quick_opinion, TUNING.nodes_of_opinion * scip.seconds)


class Course:
    """What a search has proven after how many seconds of the processor."""

    def __init__(self) -> None:
        self._seconds: list[float] = []
        self._bounds: list[float] = []

    def add(self, seconds: float, bound: float | None) -> None:
        """One more turn."""
        self._seconds.append(seconds + (self._seconds[-1] if self._seconds else 0.0))
        self._bounds.append(-INFINITY if bound is None else bound)

    def is_behind(self, other: "Course") -> bool:
        """Whether the other one had a better bound by the time that both have worked."""
        seconds = min(self._seconds[-1], other._seconds[-1])
        theirs = other._at(seconds)
        if not np.isfinite(theirs):
            return False
        return self._at(seconds) < theirs - TUNING.clearly * max(1.0, abs(theirs))

    def _at(self, seconds: float) -> float:
        turns = bisect_right(self._seconds, seconds)
        return self._bounds[turns - 1] if turns else -INFINITY


class Turns:
    """Turns on one game; what they find goes into its standing."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._courses: dict[Searcher, Course] = {}

    def solution(self) -> BilevelSolution | None:
        """The answer, or as much as time allows; None where everybody gave up."""
        try:
            return self._take_turns()
        except KeyboardInterrupt:
            # It came between two turns, say while a point was verified: what was found is kept.
            base = self._standing.base(Method.AUTO, "interrupted", HIGHS)
            return self._standing.left(base, interrupted=True)

    def _take_turns(self) -> BilevelSolution | None:
        relaxed = bounded(self._standing.kkt, self._standing.deadline)
        if relaxed is None:
            return self._over_unbounded_relaxation()
        self._standing.bounded, lp = relaxed
        limits, deadline = self._standing.limits, self._standing.deadline
        players = list(searchers(self._standing.bounded, limits, deadline, lp))
        turn = TUNING.glance
        while players and time.perf_counter() < self._standing.deadline:
            for player in tuple(players):
                seconds = turn * self._share(player) * self._standing.stretch
                if turn < player.from_turn or self._standing.is_late:
                    continue
                started = time.process_time()
                progress = player.run(min(self._standing.deadline, time.perf_counter() + seconds))
                self._courses.setdefault(player, Course()).add(time.process_time() - started, progress.bound)
                base = self._standing.base(player.method, player.reason, player.solver)
                found = self.heard(base, progress, players)
                if found is not None:
                    return found
                if progress.interrupted:
                    return self._standing.left(replace(base, method_reason="interrupted"), interrupted=True)
                player.earlier, player.bound = player.bound, progress.bound
                if progress.gave_up or progress.status in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
                    players.remove(player)  # what it claims did not stand up, nor does its bound
                bounds = [one.bound for one in players if one.bound is not None]
                self._standing.bound = max(bounds, default=None)
            turn = max(TUNING.first_turn, 2 * turn)
        if players or time.perf_counter() >= self._standing.deadline:
            late = self._standing.base(Method.AUTO, "no search was through in time", HIGHS)
            return self._standing.reported(late, self._standing.best, self._standing.bound, ())
        return None

    def _share(self, player: Searcher) -> float:
        """A player's part of a turn: more where its gap will soon be closed, less where others do better."""
        if self._lags(player):
            return TUNING.lagging * player.share
        return max(player.share, TUNING.promising) if self._is_promising(player) else player.share

    def _is_promising(self, player: Searcher) -> bool:
        """Whether a few turns like the last one would close the gap."""
        if self._standing.best is None or player.bound is None or player.earlier is None:
            return False
        gained = player.bound - player.earlier
        return self._standing.best.objective - player.bound <= TUNING.turns_left * gained

    def _lags(self, player: Searcher) -> bool:
        """Whether somebody else's bound was better after as much work."""
        mine = self._courses.get(player)
        return mine is not None and any(mine.is_behind(other) for other in self._courses.values())

    def _over_unbounded_relaxation(self) -> BilevelSolution | None:
        """Where nothing bounds the relaxation our own tree has one turn, then the methods for such games."""
        tree = Branching(self._standing.kkt, cutoff=None, gap=self._standing.limits.gap)
        until = min(self._standing.deadline, time.perf_counter() + TUNING.turn_without_bound)
        progress = own_progress(tree.run(until), "a tree")
        why = f"the search over {self._standing.kkt.pairs.size} pairs was through within its turn"
        base = self._standing.base(Method.BRANCHING, why, HIGHS)
        found = self.heard(base, progress)
        if found is not None:
            return found
        return self._standing.left(base, interrupted=True) if progress.interrupted else None

    def heard(
        self, base: BilevelSolution, progress: Progress, players: Sequence[Searcher] = ()
    ) -> BilevelSolution | None:
        """Take in what a search says; the answer to the game, if it claims one that stands up."""
        if progress.columns is not None:
            self._take(progress.columns, players)
        if progress.bound is not None:
            known = self._standing.bound
            self._standing.bound = progress.bound if known is None else max(known, progress.bound)
        if progress.status is Status.INFEASIBLE and self._standing.best is None:
            found = replace(base, status=Status.INFEASIBLE)
        elif progress.status is Status.PROVEN_OPTIMAL and progress.bound is not None:
            found = self._standing.reported(base, self._standing.best, progress.bound, ())
        else:
            return None
        if found.status is not progress.status:
            return None
        if progress.proof is not None:
            return self._standing.with_opinion(found, progress.proof)
        return self._judged(found, players)

    def _judged(self, found: BilevelSolution, players: Sequence[Searcher]) -> BilevelSolution | None:
        """A solver's claim after a second opinion; None where that refutes it."""
        begun = next((player.search for player in players if isinstance(player, TreeSearcher)), None)
        opinion = self._of_scip(found, players)
        if opinion is None:
            scip = _scip_of(players) if found.method is Method.SOS1 else None
            opinion = self._standing.second_opinion(
                found,
                self._standing.seconds,
                begun,
                tree_first=begun is not None and _is_quick(begun, players),
                presolved=scip is not None and scip.presolved,
                scip=None if scip is None else scip.search,
            )
        better = self._standing.better(opinion, found)
        if better is None:
            return self._standing.with_opinion(found, opinion)
        self._take(better.columns, players)
        return None

    def _of_scip(self, found: BilevelSolution, players: Sequence[Searcher]) -> Opinion | None:
        """SCIP, which has begun, goes on beyond another solver's claim; None where it cannot."""
        scip = _scip_of(players)
        if scip is None or found.method is Method.SOS1 or found.status is Status.INFEASIBLE:
            return None
        standing = self._standing
        patience = standing.patience(found, standing.seconds, among_turns=True)
        progress = scip.run(min(standing.deadline, time.perf_counter() + patience))
        if progress.gave_up:
            return None
        words, cutoff = f"{scip.solver} by SOS1 sets", standing.cutoff(found)
        if progress.columns is not None and standing.cost(progress.columns) <= cutoff:
            return Opinion(Verdict.REFUTED, f"{words} found a better point", progress.columns)
        if progress.bound is not None and progress.bound >= cutoff:
            return Opinion(Verdict.CONFIRMED, words)
        words = f"{words} was not through after {patience:.2g} s more"
        return Opinion(Verdict.UNDECIDED, words, interrupted=progress.interrupted)

    def _take(self, columns: FloatArray, players: Sequence[Searcher]) -> None:
        """Verify a point and, where it is the best so far, tell everybody."""
        if self._standing.take(columns) and self._standing.best is not None:
            for player in players:
                player.offer(self._standing.best.columns)
