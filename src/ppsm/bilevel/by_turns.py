"""Searches that take turns (:mod:`ppsm.bilevel.portfolio`), and what becomes of what they say."""

import time
from collections.abc import Sequence
from dataclasses import replace

from ppsm.arrays import FloatArray
from ppsm.bilevel.bounds.slater_columns import bounded
from ppsm.bilevel.methods.branching import Branching
from ppsm.bilevel.portfolio import OwnSearcher, Progress, Searcher, own_progress, searchers
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.standing import Standing
from ppsm.bilevel.tuning import TUNING
from ppsm.solvers.highs import HIGHS
from ppsm.status import Status


class Turns:
    """Turns on one game; what they find goes into its standing."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing

    def solution(self) -> BilevelSolution | None:
        """The answer, or as much as time allows; None where everybody gave up."""
        try:
            return self._take_turns()
        except KeyboardInterrupt:
            # It came between two turns, say while a point was verified: what was found is kept.
            base = self._standing.base(Method.AUTO, "interrupted", HIGHS)
            return self._standing.left(base, interrupted=True)

    def _take_turns(self) -> BilevelSolution | None:
        kkt = bounded(self._standing.kkt, self._standing.deadline)
        if kkt is None:
            return self._over_unbounded_relaxation()
        players = list(searchers(kkt, self._standing.limits, self._standing.deadline))
        turn = TUNING.glance
        while players and time.perf_counter() < self._standing.deadline:
            for player in tuple(players):
                seconds = turn * self._share(player) * self._standing.stretch
                if turn < player.from_turn or self._standing.is_late:
                    continue
                progress = player.run(min(self._standing.deadline, time.perf_counter() + seconds))
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
        """Whether somebody else's bound is better than that of a search that has one."""
        if player.bound is None or self._standing.bound is None:
            return False
        return player.bound < self._standing.bound - TUNING.clearly * max(1.0, abs(self._standing.bound))

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
        return self._judged(found, players, progress.nodes)

    def _judged(
        self, found: BilevelSolution, players: Sequence[Searcher], nodes: int
    ) -> BilevelSolution | None:
        """A solver's claim, made after so many nodes, after a second opinion; None where that refutes it."""
        trees = [player.search for player in players if isinstance(player, OwnSearcher)]
        begun = next((tree for tree in trees if isinstance(tree, Branching)), None)
        opinion = self._standing.second_opinion(found, self._standing.seconds, begun, nodes)
        better = self._standing.better(opinion, found)
        if better is None:
            return self._standing.with_opinion(found, opinion)
        self._take(better.columns, players)
        return None

    def _take(self, columns: FloatArray, players: Sequence[Searcher]) -> None:
        """Verify a point and, where it is the best so far, tell everybody."""
        if self._standing.take(columns) and self._standing.best is not None:
            for player in players:
                player.offer(self._standing.best.columns)
