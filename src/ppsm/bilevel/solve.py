"""Solve a bilevel program exactly and believe the answer only after an independent check."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.incumbent import FirstLook, first_look, polish
from ppsm.bilevel.infeasibility import explain_infeasible
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.methods import Attempt, attempts, own_search
from ppsm.bilevel.methods.branching import Branching
from ppsm.bilevel.methods.unbounded import solve_over_unbounded_relaxation
from ppsm.bilevel.portfolio import OwnSearcher, Progress, Searcher, bounded, own_progress, searchers
from ppsm.bilevel.scaling import units_of, with_units
from ppsm.bilevel.second_opinion import Opinion, Verdict, second_opinion
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.verify import Finding, Verification, verify
from ppsm.errors import InputError, ModelError, SolverError
from ppsm.program import BilevelProgram
from ppsm.solvers.highs import HIGHS, solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import solve_mip_with_scip
from ppsm.status import Status, relative_gap

# The gap that verified objective and bound may have, whatever the solver claims, to count as optimal.
_SOUND_GAP = 1e-6
# HiGHS ends the process when it cannot start as many threads as it is asked for.
_MOST_THREADS = 256


def solve_bilevel(
    program: BilevelProgram,
    *,
    method: Method | str = Method.AUTO,
    gap: float = 1e-9,
    time_limit: float = math.inf,
    threads: int = 1,
    units: Mapping[str, str] | None = None,
) -> BilevelSolution:
    """Solve a bilevel program to global (optimistic) optimality and verify the answer independently.

    Parameters
    ----------
    program
        The game in arrays.
    method
        One of :class:`Method`. ``auto`` branches on pairs where they are few and tries all decisions of a
        leader who has few; else it takes strong duality where every leader variable in the follower's rows
        is binary, else big-M where valid bounds can be proven, else SOS1 (needs SCIP).
    gap
        Relative gap at which the answer counts as proven optimal.
    time_limit
        Wall-clock seconds; the best answer so far and its bound are returned when they are over.
    threads
        Threads the solver may use.
    units
        Units by variable or constraint name, for the findings.

    Returns
    -------
    BilevelSolution
        An answer that failed verification is never returned as one: the findings say what was wrong with
        it, and the status is ``NO_INCUMBENT`` unless an earlier point passed.
    """
    if not isinstance(program, BilevelProgram):
        raise InputError(f"the program is a {type(program).__name__}; expected a ppsm.BilevelProgram.")
    return _Solve(program, _method(method), _limits(gap, time_limit, threads), units).solution()


def _is_above(bound: float, objective: float) -> bool:
    """Whether a lower bound exceeds the cost of a point by more than rounding."""
    return bound - _SOUND_GAP * max(1.0, abs(bound)) > objective


def _method(method: Method | str) -> Method:
    try:
        return Method(method)
    except ValueError:
        known = ", ".join(Method)
        raise InputError(f"the method '{method}' is unknown; expected one of: {known}.") from None


def _limits(gap: float, time_limit: float, threads: int) -> SolveLimits:
    for what, value in (("gap", gap), ("time limit", time_limit)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"the {what} is {value!r}; expected a number.")
    if not gap >= 0 or not math.isfinite(gap):
        raise InputError(f"the gap is {gap}; expected a finite number of at least 0, such as 1e-6.")
    if not time_limit > 0:
        raise InputError(f"the time limit is {time_limit}; expected seconds above 0.")
    if not isinstance(threads, int) or not 1 <= threads <= _MOST_THREADS:
        raise InputError(f"threads is {threads!r}; expected a whole number from 1 to {_MOST_THREADS}.")
    return SolveLimits(gap=gap, seconds=time_limit, threads=threads)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A point of the KKT system after polish and verification; a point of the game if nothing was found.

    Columns and objective are in the scaled game's units, the verdict is in the user's.
    """

    columns: FloatArray
    objective: float
    verdict: Verification


class _Solve:
    """One solve: the game in the engine's units, what is known of it so far, and the clock."""

    def __init__(
        self,
        program: BilevelProgram,
        method: Method,
        limits: SolveLimits,
        units: Mapping[str, str] | None,
        *,
        explains: bool = True,
    ) -> None:
        self._explains = explains
        self._program, self._method, self._limits, self._units = program, method, limits, units
        self._started = time.perf_counter()
        self._deadline = self._started + limits.seconds
        self._scale = units_of(program)
        self._kkt: KktSystem = build_kkt(with_units(program, self._scale))
        self._best: _Candidate | None = None
        self._bound: float | None = None

    def solution(self) -> BilevelSolution:
        found = self._searched()
        if found.status is not Status.PROVEN_OPTIMAL or found.second_opinion:
            return found
        # No method got so far: the point meets the relaxation's bound.
        opinion = self._second_opinion(found, 0.0)
        better = self._better(opinion, found)
        if better is not None:
            return self._reported(found, better, None, ())
        return self._with_opinion(found, opinion)

    def _searched(self) -> BilevelSolution:
        if self._method is Method.AUTO:
            return self._by_turns()
        asked = own_search(self._kkt, self._method)
        if asked is None:
            return self._by_methods()
        search, words = asked
        tree = search(self._kkt, cutoff=None, gap=self._limits.gap, deadline=self._deadline)
        base = self._base(self._method, "asked for", HIGHS)
        if tree.is_unbounded:
            return self._unbounded(base)
        progress = own_progress(tree, words)
        found = self._heard(base, progress)
        if found is not None:
            return found
        if progress.gave_up:
            doubt = f"{words} of {tree.words} is through, but not all of it is proven; use the method 'auto'"
            base = replace(base, explanation=doubt)
        return self._left(base, interrupted=progress.interrupted)

    def _base(self, method: Method, reason: str, solver: str) -> BilevelSolution:
        return BilevelSolution(Status.NO_INCUMBENT, self._program, method, reason, solver, self._seconds)

    def _unbounded(self, base: BilevelSolution) -> BilevelSolution:
        """A leaf of our own tree whose cost falls without end."""
        if self._program.is_integer.any():
            raise ModelError(
                "a leaf is unbounded, and branching cannot tell whether it has an integer point; "
                "bound the leader's variables or use the method 'sos1'."
            )
        return replace(base, status=Status.UNBOUNDED)

    def _left(self, base: BilevelSolution, *, interrupted: bool) -> BilevelSolution:
        """What a search that is not through leaves behind; Ctrl-C is raised where that is nothing."""
        if interrupted and self._best is None:
            raise KeyboardInterrupt
        return self._reported(base, self._best, self._bound, ())

    def _by_turns(self) -> BilevelSolution:
        """Searches that take turns; see :mod:`ppsm.bilevel.portfolio`."""
        try:
            return self._take_turns()
        except KeyboardInterrupt:
            # It came between two turns, say while a point was verified: what was found is kept.
            return self._left(self._base(Method.AUTO, "interrupted", HIGHS), interrupted=True)

    def _take_turns(self) -> BilevelSolution:
        kkt = bounded(self._kkt, self._deadline)
        if kkt is None:
            return self._over_unbounded_relaxation()
        players = list(searchers(kkt, self._limits))
        turn = TUNING.first_turn
        while players and time.perf_counter() < self._deadline:
            for player in tuple(players):
                seconds = turn * self._share(player)
                if turn < player.from_turn or time.perf_counter() > self._deadline:
                    continue
                progress = player.run(min(self._deadline, time.perf_counter() + seconds))
                base = self._base(player.method, player.reason, player.solver)
                found = self._heard(base, progress, players)
                if found is not None:
                    return found
                if progress.interrupted:
                    return self._left(replace(base, method_reason="interrupted"), interrupted=True)
                player.earlier, player.bound = player.bound, progress.bound
                if progress.gave_up or progress.status in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
                    players.remove(player)  # what it claims did not stand up, nor does its bound
                bounds = [one.bound for one in players if one.bound is not None]
                self._bound = max(bounds, default=None)
            turn *= 2
        if players or time.perf_counter() >= self._deadline:
            late = self._base(Method.AUTO, "no search was through in time", HIGHS)
            return self._reported(late, self._best, self._bound, ())
        return self._by_methods()

    def _share(self, player: Searcher) -> float:
        """A player's part of a turn: more where its gap will soon be closed, less where others do better."""
        if self._is_promising(player):
            return max(player.share, TUNING.promising)
        return player.share * (TUNING.lagging if self._lags(player) else 1.0)

    def _is_promising(self, player: Searcher) -> bool:
        """Whether a few turns like the last one would close the gap."""
        if self._best is None or player.bound is None or player.earlier is None:
            return False
        gained = player.bound - player.earlier
        return self._best.objective - player.bound <= TUNING.turns_left * gained

    def _lags(self, player: Searcher) -> bool:
        """Whether somebody else's bound is better than that of a search that has one."""
        if player.bound is None or self._bound is None:
            return False
        return player.bound < self._bound - TUNING.clearly * max(1.0, abs(self._bound))

    def _over_unbounded_relaxation(self) -> BilevelSolution:
        """Where nothing bounds the relaxation our own tree has one turn, then the methods for such games."""
        tree = Branching(self._kkt, cutoff=None, gap=self._limits.gap)
        until = min(self._deadline, time.perf_counter() + TUNING.turn_without_bound)
        progress = own_progress(tree.run(until), "a tree")
        why = f"the search over {self._kkt.pairs.size} pairs was through within its turn"
        base = self._base(Method.BRANCHING, why, HIGHS)
        found = self._heard(base, progress)
        if found is not None:
            return found
        return self._left(base, interrupted=True) if progress.interrupted else self._by_methods()

    def _heard(
        self, base: BilevelSolution, progress: Progress, players: Sequence[Searcher] = ()
    ) -> BilevelSolution | None:
        """Take in what a search says; the answer to the game, if it claims one that stands up."""
        if progress.columns is not None:
            self._take(progress.columns, players)
        if progress.bound is not None:
            self._bound = progress.bound if self._bound is None else max(self._bound, progress.bound)
        if progress.status is Status.INFEASIBLE and self._best is None:
            found = replace(base, status=Status.INFEASIBLE)
        elif progress.status is Status.PROVEN_OPTIMAL and progress.bound is not None:
            found = self._reported(base, self._best, progress.bound, ())
        else:
            return None
        if found.status is not progress.status:
            return None
        if progress.proof is not None:
            return self._with_opinion(found, progress.proof)
        return self._judged(found, players)

    def _judged(self, found: BilevelSolution, players: Sequence[Searcher]) -> BilevelSolution | None:
        """A solver's claim after a second opinion; None where a better point refutes it."""
        trees = [player.search for player in players if isinstance(player, OwnSearcher)]
        begun = next((tree for tree in trees if isinstance(tree, Branching)), None)
        opinion = self._second_opinion(found, self._seconds, begun)
        better = self._better(opinion, found)
        if better is None:
            return self._with_opinion(found, opinion)
        self._take(better.columns, players)
        return None

    def _take(self, columns: FloatArray, players: Sequence[Searcher]) -> None:
        """Verify a point and, where it is the best so far, tell everybody."""
        candidate = self._candidate(columns)
        if not candidate.verdict.verified:
            return
        if self._best is None or candidate.objective < self._best.objective:
            self._best = candidate
            for player in players:
                player.offer(candidate.columns)

    def _by_methods(self) -> BilevelSolution:
        """One method after another until one has an answer that stands up."""
        relaxation = self._kkt.relaxation
        if solve_lp(replace(relaxation, cost=np.zeros_like(relaxation.cost))).status is Status.INFEASIBLE:
            return self._without_method(
                Status.INFEASIBLE, "no method is needed: the linear relaxation has no point"
            )
        if self._look.interrupted:
            raise KeyboardInterrupt
        self._best = self._first() or self._best
        cutoff = None if self._best is None else self._best.objective
        finder = BoundFinder(self._kkt, self._deadline, cutoff)
        found: BilevelSolution | None = None
        failure: SolverError | None = None
        try:
            for attempt in attempts(self._kkt, self._method, finder):
                try:
                    found, result = self._confirmed(attempt)
                except SolverError as error:
                    failure = error
                    continue
                if not found.findings or result.interrupted or time.perf_counter() > self._deadline:
                    break
        except BoundsOutOfTimeError as error:
            return self._without_method(Status.NO_INCUMBENT, str(error))
        if found is not None:
            return found
        if failure is not None and self._best is None:
            raise failure
        return self._without_method(Status.NO_INCUMBENT, str(failure))

    @cached_property
    def _look(self) -> FirstLook:
        return first_look(
            self._kkt, replace(self._limits, seconds=min(TUNING.first_look_seconds, self._limits.seconds))
        )

    def _confirmed(self, attempt: Attempt) -> tuple[BilevelSolution, MipResult]:
        """An attempt's answer, with a second opinion on its claim; refuted, it is tried on another path."""
        for number in range(TUNING.claims):
            result = self._run(attempt, another_path=number > 0)
            found, contradicted = self._conclude(attempt, result)
            if contradicted and not result.interrupted:
                continue
            if result.interrupted or found.status not in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
                return found, result
            opinion = self._second_opinion(found, result.seconds)
            better = self._better(opinion, found)
            if better is None:
                return self._with_opinion(found, opinion), result
            self._best = better
            amount = self._scale.objective * better.objective
            said = Finding("a better point refutes the claim of the solver on the", "game", 0, amount)
            found = self._reported(found, better, self._look.bound, (said,))
        return found, result

    def _with_opinion(self, found: BilevelSolution, opinion: Opinion) -> BilevelSolution:
        """A claim that nobody refuted; where nobody confirmed it either, the explanation says so."""
        if found.status is Status.INFEASIBLE and not opinion.interrupted:
            found = replace(found, explanation=self._why_infeasible())
        if opinion.verdict is not Verdict.CONFIRMED:
            what = "the bound" if found.status is Status.PROVEN_OPTIMAL else "the verdict"
            if opinion.verdict is Verdict.REFUTED:
                opinion = replace(opinion, words=f"{opinion.words}, which did not stand up to verification")
            doubt = f"{what} rests on {found.solver} alone: {opinion.words}"
            if opinion.verdict is Verdict.REFUTED and found.status is Status.INFEASIBLE:
                # Two disagree about whether there is any point: nobody is believed.
                found = replace(found, status=Status.NO_INCUMBENT, explanation="")
            explanation = "; ".join(text for text in (found.explanation, doubt) if text)
            found = replace(found, explanation=explanation)
        elif found.status is Status.PROVEN_OPTIMAL:
            found = replace(found, verified=True)
        return replace(found, second_opinion=opinion.words, seconds=self._seconds)

    def _second_opinion(
        self, found: BilevelSolution, searched: float, begun: Branching | None = None
    ) -> Opinion:
        """Whether a point of the game is better than what was found by more than the gap allows.

        ``searched`` is how many seconds the search took that made the claim; a tree that has ``begun`` before
        goes on.
        """
        limits = replace(self._limits, seconds=max(0.0, self._deadline - time.perf_counter()))
        return second_opinion(self._kkt, self._cutoff(found), found.method, limits, searched, begun)

    def _cutoff(self, found: BilevelSolution) -> float | None:
        """What a point must cost at most to refute a claim of optimality."""
        if found.leader_objective is None:
            return None
        best = found.leader_objective / (self._program.leader_sign * self._scale.objective)
        return best - max(self._limits.gap, _SOUND_GAP) * max(1.0, abs(best))

    def _better(self, opinion: Opinion, found: BilevelSolution) -> _Candidate | None:
        """The point that refutes a claim, if it stands up to verification itself."""
        if opinion.columns is None:
            return None
        candidate = self._candidate(opinion.columns)
        cutoff = self._cutoff(found)
        refutes = cutoff is None or candidate.objective <= cutoff + _SOUND_GAP * max(1.0, abs(cutoff)) / 2
        return candidate if candidate.verdict.verified and refutes else None

    def _first(self) -> _Candidate | None:
        """A verified first point of the game; one that only looks feasible would make wrong cutoffs."""
        if self._look.columns is None:
            return None
        candidate = self._candidate(self._look.columns)
        return candidate if candidate.verdict.verified else None

    def _run(self, attempt: Attempt, *, another_path: bool) -> MipResult:
        remaining = max(0.01, self._deadline - time.perf_counter())
        limits = replace(self._limits, seconds=remaining, another_path=another_path)
        problem = attempt.form.problem
        if self._best is not None:
            problem = replace(problem, start=attempt.form.complete(self._best.columns))
        return self._solve(attempt, problem, limits)

    def _solve(self, attempt: Attempt, problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
        if not attempt.needs_scip:
            return solve_mip_with_highs(problem, limits)
        if self._look.is_unbounded:
            return solve_over_unbounded_relaxation(self._kkt, problem, limits)
        return solve_mip_with_scip(problem, limits)

    def _candidate(self, columns: FloatArray) -> _Candidate:
        """Polish a solver's point and have it verified in the user's own terms."""
        polished = polish(self._kkt, columns)
        columns = columns if polished is None else polished  # either way verification has the last word
        objective = float(self._kkt.relaxation.cost @ columns) + self._kkt.relaxation.offset
        x, y, prices = self._parts(columns)
        claimed = self._scale.objective * objective
        verdict = verify(self._program, x, y, prices, claimed, units=self._units)
        return _Candidate(columns, objective, verdict)

    def _parts(self, columns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Adding zero turns the solvers' negative zeros into plain ones.
        prices = self._scale.prices * self._kkt.prices(columns) + 0.0
        return columns[self._kkt.variables] + 0.0, columns[self._kkt.responses] + 0.0, prices

    def _conclude(self, attempt: Attempt, result: MipResult) -> tuple[BilevelSolution, bool]:
        """Report the best point that verification lets pass, or what it held against the attempt.

        Also says whether a verified point contradicts the solver's own claims.
        """
        base = BilevelSolution(
            status=result.status,
            program=self._program,
            method=attempt.method,
            method_reason=attempt.reason,
            solver=result.solver,
            seconds=self._seconds,
        )
        best = self._best
        findings: tuple[Finding, ...] = ()
        if result.columns is not None:
            mine = self._candidate(result.columns[: self._kkt.relaxation.shape[1]])
            findings = (*mine.verdict.findings, *attempt.form.check(mine.columns))
            if not findings and (best is None or mine.objective < best.objective):
                best = mine
        self._best = best
        contradictions = self._contradictions(best, result)
        findings = (*findings, *contradictions)
        if findings:
            return self._reported(base, best, self._look.bound, findings), bool(contradictions)
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            return replace(base, seconds=self._seconds), False
        bounds = [bound for bound in (result.bound, self._look.bound) if bound is not None]
        if best is not None:
            bounds = [bound for bound in bounds if not _is_above(bound, best.objective)]
        return self._reported(base, best, max(bounds, default=None), ()), False

    def _contradictions(self, best: _Candidate | None, result: MipResult) -> tuple[Finding, ...]:
        """What a verified point says against the solver's claims."""
        if best is None:
            return ()
        if result.status is Status.INFEASIBLE:
            amount = self._scale.objective * best.objective
            return (Finding("a feasible point contradicts the verdict on the", "game", 0, amount),)
        bound = result.bound
        if bound is None or not _is_above(bound, best.objective):
            return ()
        amount = self._scale.objective * (bound - best.objective)
        return (Finding("feasible point below the proven bound of", "leader objective", 0, amount),)

    def _reported(
        self,
        base: BilevelSolution,
        best: _Candidate | None,
        bound: float | None,
        findings: tuple[Finding, ...],
    ) -> BilevelSolution:
        """A solution with the given point and (scaled) lower bound, either of which may be missing."""
        worth = self._program.leader_sign * self._scale.objective
        if bound is not None and best is not None and _is_above(bound, best.objective):
            bound = None  # a bound that a verified point contradicts is none
        if findings:
            base = replace(base, explanation=f"the solver's answer failed verification: {findings[0]}")
        base = replace(
            base,
            leader_bound=None if bound is None else worth * bound + 0.0,
            findings=findings,
            seconds=self._seconds,
        )
        if best is None:
            return replace(base, status=Status.NO_INCUMBENT)
        gap = None if bound is None else relative_gap(best.objective, bound)
        # The claim "optimal" is ours, from a verified point and a bound, not the solver's.
        proven = gap is not None and gap <= max(self._limits.gap, _SOUND_GAP)
        x, y, prices = self._parts(best.columns)
        return replace(
            base,
            status=Status.PROVEN_OPTIMAL if proven else Status.INCUMBENT,
            explanation="" if proven else base.explanation,
            # A point that meets the relaxation's bound is optimal, whatever became of the search.
            findings=() if proven else findings,
            leader_objective=worth * best.objective + 0.0,
            gap=gap,
            follower_objective=self._program.follower_sign * best.verdict.follower_value + 0.0,
            variables=x,
            responses=y,
            prices=prices,
            # A claim of optimality is believed only after a second opinion.
            verified=not proven,
            bilevel_gap=best.verdict.bilevel_gap,
        )

    def _without_method(self, status: Status, reason: str) -> BilevelSolution:
        """What is known before any method has run."""
        base = BilevelSolution(status, self._program, self._method, reason, HIGHS, self._seconds)
        if status is Status.INFEASIBLE:
            words = "an LP: the linear relaxation has no point"
            return replace(
                base, explanation=self._why_infeasible(), second_opinion=words, seconds=self._seconds
            )
        return self._reported(replace(base, explanation=reason), self._best, self._look.bound, ())

    def _why_infeasible(self) -> str:
        if not self._explains:
            return ""

        def solve(variation: BilevelProgram) -> BilevelSolution:
            seconds = min(TUNING.explanation_seconds, max(0.01, self._deadline - time.perf_counter()))
            limits = replace(self._limits, seconds=seconds)
            return _Solve(variation, self._method, limits, None, explains=False).solution()

        return explain_infeasible(self._kkt, solve)

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._started
