"""Who takes turns (:mod:`ppsm.bilevel.portfolio`): each search in a form that can be left and resumed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.bilevel.bounds.duality_cuts import duality_cuts
from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.bounds.network import network_bound
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods import Attempt, proven_forms
from ppsm.bilevel.methods.better_decisions import Steps, has_steps
from ppsm.bilevel.methods.branching import Branching
from ppsm.bilevel.methods.every_decision import Enumeration, assignments_of
from ppsm.bilevel.methods.reformulation import Reformulation
from ppsm.bilevel.methods.scip_forms import sos1
from ppsm.bilevel.methods.tree import Tree
from ppsm.bilevel.second_opinion import Opinion, Verdict
from ppsm.bilevel.solution import Method
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import NoValidBoundError, SolverError
from ppsm.solvers.highs import HIGHS, PersistentLp, solve_mip_with_highs
from ppsm.solvers.mip import Cuts, SolveLimits
from ppsm.solvers.scip import ScipSearch, scip_is_installed
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class Progress:
    """What a search has come to: a point of the relaxation's columns, a bound, and whether it is through.

    ``proof`` is how it proved what it says, None where it is only a solver's word. A search that ``gave_up``
    is not asked again.
    """

    status: Status
    columns: FloatArray | None = None
    bound: float | None = None
    proof: Opinion | None = None
    gave_up: bool = False
    interrupted: bool = False


class Searcher(Protocol):
    """One search among those that take turns, each with its share, from a length of turns on.

    ``bound`` is what it proved by its last turn, ``earlier`` by the one before.
    """

    method: Method
    reason: str
    solver: str
    from_turn: float
    share: float
    bound: float | None
    earlier: float | None

    def run(self, deadline: float) -> Progress:
        """Go on until a deadline."""

    def offer(self, columns: FloatArray) -> None:
        """Take a verified point of somebody else as the one to beat."""


@dataclass(eq=False)
class OwnSearcher:
    """A search of our own, whose leaves are proven."""

    method: Method
    reason: str
    search: Branching | Enumeration
    words: str
    from_turn: float = 0.0
    share: float = 1.0
    solver: str = HIGHS
    bound: float | None = None
    earlier: float | None = None

    def run(self, deadline: float) -> Progress:
        """Go on until a deadline."""
        return own_progress(self.search.run(deadline), self.words)

    def offer(self, columns: FloatArray) -> None:
        """Take a verified point of somebody else as the one to beat."""
        self.search.offer(columns)


@dataclass(eq=False)
class TreeSearcher(OwnSearcher):
    """Our own tree, which may have a glance at a game before others have a turn."""

    search: Branching
    share_after_glance: float | None = None

    def run(self, deadline: float) -> Progress:
        """Go on until a deadline; at a glance for a few nodes, or some more where the tree looks small."""
        if self.share_after_glance is None:
            return super().run(deadline)
        self.share, self.share_after_glance = self.share_after_glance, None
        tree = self.search.run(deadline, TUNING.peek)
        if self.search.looks_small and not tree.interrupted:
            self.share = max(self.share, TUNING.share_of_small_tree)
            tree = self.search.run(deadline, TUNING.nodes_of_glance)
        return own_progress(tree, self.words)


def own_progress(tree: Tree, words: str) -> Progress:
    """What a search of our own came to; one that is through without all its proofs has given up."""
    proven = tree.is_complete and tree.is_certified
    status = Status.NO_INCUMBENT if tree.columns is None else Status.INCUMBENT
    if proven:
        status = Status.INFEASIBLE if tree.columns is None else Status.PROVEN_OPTIMAL
    words = f"weak duality at every leaf of {words} of {tree.words}"
    # Leaves without proof say nothing; open nodes do, as long as all others are proven.
    has_bound = np.isfinite(tree.bound) and tree.is_certified
    return Progress(
        status,
        tree.columns,
        tree.bound if has_bound else None,
        Opinion(Verdict.CONFIRMED, words) if proven else None,
        gave_up=tree.is_unbounded or (tree.is_complete and not proven),
        interrupted=tree.interrupted,
    )


@dataclass(eq=False)
class StepSearcher:
    """Steps from decision to better decision: points that others must beat, never a proof."""

    steps: Steps
    from_turn: float = TUNING.first_turn
    share: float = TUNING.share_of_steps
    method: Method = Method.AUTO
    reason: str = ""
    solver: str = HIGHS
    bound: float | None = None
    earlier: float | None = None

    def run(self, deadline: float) -> Progress:
        """Go on until a deadline, or until no step helps."""
        self.share = TUNING.share_of_steps
        try:
            self.steps.run(deadline)
        except SolverError:
            return Progress(Status.NO_INCUMBENT, self.steps.columns, gave_up=True)
        return Progress(Status.NO_INCUMBENT, self.steps.columns, gave_up=self.steps.is_through)

    def offer(self, columns: FloatArray) -> None:
        """Go on from a verified point of somebody else, if it is better."""
        self.steps.offer(columns)


@dataclass(eq=False)
class ScipSearcher:
    """SCIP by SOS1 sets; its model is built at its first turn."""

    kkt: KktSystem
    limits: SolveLimits
    deadline: float
    from_turn: float
    reason: str = "the search that was through first"
    method: Method = Method.SOS1
    solver: str = "SCIP"
    share: float = 1.0
    bound: float | None = None
    earlier: float | None = None
    nodes: int = 0
    seconds: float = 0.0
    """Nodes, and seconds of the processor, of all turns so far."""
    presolved: bool = False
    """Whether presolve had a part in what it last said."""
    search: ScipSearch | None = None
    _point: FloatArray | None = None

    def run(self, deadline: float) -> Progress:
        """Go on until a deadline."""
        started = time.process_time()
        try:
            if self.search is None:
                seconds = max(0.01, self.deadline - time.perf_counter())
                limits = replace(self.limits, seconds=seconds, feasibility=TUNING.scip_feasibility)
                self.search = ScipSearch(replace(self._form.problem, cuts=self._cuts(deadline)), limits)
            if self._point is not None:
                self.search.offer(self._form.complete(self._point))
            self._point = None
            result = self.search.run(max(0.01, deadline - time.perf_counter()))
        except SolverError:
            return Progress(Status.NO_INCUMBENT, gave_up=True)
        self.solver, self.nodes, self.presolved = result.solver, result.nodes, result.presolved
        self.seconds += time.process_time() - started
        columns = None if result.columns is None else result.columns[: self.kkt.relaxation.shape[1]]
        return Progress(result.status, columns, result.bound, interrupted=result.interrupted)

    @cached_property
    def _form(self) -> Reformulation:
        return sos1(self.kkt)

    def _cuts(self, deadline: float) -> Cuts | None:
        """Cuts where the leader has many integers, if the bound then is not far from the point to beat."""
        relaxation, point = self.kkt.relaxation, self._point
        if point is None or self.kkt.is_integer.sum() < TUNING.integers_worth_cuts:
            return None
        cost = float(relaxation.cost @ point) + relaxation.offset
        return duality_cuts(self.kkt, deadline, cost - TUNING.far_from_point * max(1.0, abs(cost)))

    def offer(self, columns: FloatArray) -> None:
        """Take a verified point of somebody else as the one to beat."""
        self._point = columns


@dataclass(eq=False)
class HighsSearcher:
    """HiGHS on strong duality or big-M, once bounds are proven; it begins anew in every round."""

    kkt: KktSystem
    limits: SolveLimits
    from_turn: float
    share: float = 1.0
    method: Method = Method.BIG_M
    reason: str = ""
    solver: str = HIGHS
    bound: float | None = None
    earlier: float | None = None
    _finder: BoundFinder | None = None
    _cutoff: float | None = None
    _attempt: Attempt | None = field(default=None)

    def run(self, deadline: float) -> Progress:
        """Prove bounds, then search, until a deadline."""
        try:
            attempt = self._proven(deadline)
        except BoundsOutOfTimeError:
            return Progress(Status.NO_INCUMBENT)
        except NoValidBoundError:
            return Progress(Status.NO_INCUMBENT, gave_up=True)
        self.method, self.reason = attempt.method, attempt.reason
        seconds = max(0.01, deadline - time.perf_counter())
        try:
            result = solve_mip_with_highs(attempt.form.problem, replace(self.limits, seconds=seconds))
        except SolverError:
            return Progress(Status.NO_INCUMBENT, gave_up=True)
        columns = None if result.columns is None else result.columns[: self.kkt.relaxation.shape[1]]
        if columns is not None and attempt.form.check(columns):
            return Progress(Status.NO_INCUMBENT, columns, gave_up=True)
        return Progress(result.status, columns, result.bound, interrupted=result.interrupted)

    def _proven(self, deadline: float) -> Attempt:
        if self._attempt is None:
            if self._finder is None:
                self._finder = BoundFinder(self.kkt, deadline, self._cutoff)
            self._finder.deadline = deadline
            self._attempt = next(proven_forms(self.kkt, self._finder))
        return self._attempt

    def offer(self, columns: FloatArray) -> None:
        """Take the cost of a verified point as a limit for bounds that are yet to be proven."""
        if self._finder is None:
            self._cutoff = float(self.kkt.relaxation.cost @ columns) + self.kkt.relaxation.offset


def searchers(
    kkt: KktSystem, limits: SolveLimits, deadline: float, lp: PersistentLp | None = None
) -> Iterator[Searcher]:
    """Who takes turns on a game whose relaxation is bounded; its LP, if somebody has solved it."""
    count = assignments_of(kkt.program, TUNING.assignments)
    few = count is not None
    is_network = network_bound(kkt) is not None
    has_integers = bool(kkt.is_integer.any())
    late = TUNING.late_turn if few and kkt.pairs.size > TUNING.many_pairs else TUNING.first_turn
    if few:
        why = f"the leader's own rows leave {count} values of its integers"
        yield OwnSearcher(Method.ENUMERATION, why, Enumeration(kkt, gap=limits.gap), "a list")
    # The tree has a glance before all others; games that it is through with then are the smallest.
    has_glance = not few and (not has_integers or kkt.pairs.size <= TUNING.few_pairs)
    if not few and not is_network and has_steps(kkt.program):
        # SCIP takes half as long with a good point from the beginning.
        is_first = has_integers and kkt.pairs.size > TUNING.pairs_worth_steps
        first = TUNING.first_steps * int(kkt.is_integer.sum()) / TUNING.glance
        yield StepSearcher(Steps(kkt), 0.0, first) if is_first else StepSearcher(Steps(kkt))
    # SCIP is through with most games before anybody else is.
    if scip_is_installed():
        yield ScipSearcher(kkt, limits, deadline, late if few or has_glance else 0.0)
    why = f"the search over {kkt.pairs.size} pairs was through first"
    tree = Branching(kkt, cutoff=None, gap=limits.gap, lp=lp)
    share = TUNING.share_among_integers if has_integers else TUNING.share_of_tree
    if has_glance:
        yield TreeSearcher(Method.BRANCHING, why, tree, "a tree", share_after_glance=share)
    else:
        yield TreeSearcher(Method.BRANCHING, why, tree, "a tree", late, share)
    # Bounds of a network are at hand; others take an LP for each.
    if is_network:
        yield HighsSearcher(kkt, limits, late)
    else:
        yield HighsSearcher(kkt, limits, max(late, TUNING.turn_of_bounds), TUNING.share_with_bounds)
