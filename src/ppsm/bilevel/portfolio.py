"""The automatic choice: searches that take turns on one game and tell each other what they found.

Nobody knows beforehand which search is best for a game, so each goes on for a moment, is left, and is taken
up again for twice as long in the next round:

::

    enumeration    all decisions of a leader who has few
    steps          from a decision of integers to better ones, for a good point that others must beat
    branching      our own tree over pairs, with a proof at every leaf
    sos1           SCIP, which needs no constants
    duality        HiGHS, with constants that are proven first, by strong duality or big-M

A verified point of one is the point that all others must beat. The first that is through wins; what a solver
claims is believed only after the tree, going on beyond that claim, or another form has confirmed it.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.bounds.network import network_bound
from ppsm.bilevel.bounds.slater import slater_row
from ppsm.bilevel.incumbent import point_of
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods import Attempt, proven_forms
from ppsm.bilevel.methods.branching import Branching
from ppsm.bilevel.methods.every_decision import Enumeration, Market, assignments_of, integer_range
from ppsm.bilevel.methods.reformulation import Reformulation
from ppsm.bilevel.methods.scip_forms import sos1
from ppsm.bilevel.methods.tree import Tree
from ppsm.bilevel.second_opinion import Opinion, Verdict
from ppsm.bilevel.solution import Method
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import NoValidBoundError, SolverError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import HIGHS, PersistentLp, may_be_unbounded, solve_mip_with_highs
from ppsm.solvers.mip import SolveLimits
from ppsm.solvers.scip import ScipSearch, scip_is_installed
from ppsm.status import Status

# What breaks the leader's rows comes before what costs.
_Worth = tuple[float, float]


def has_steps(program: BilevelProgram) -> bool:
    """Whether all that the leader decides are bounded integers, and the follower is linear and acts once."""
    if program.curvature.nnz or program.handed_on.nnz or not program.is_integer.any():
        return False
    lower, upper = integer_range(program)
    fixed = program.variable_lower == program.variable_upper
    is_bounded = bool(np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all())
    return is_bounded and bool((program.is_integer | fixed).all())


class Steps:
    """A good point soon: a leader of integers goes step by step to better decisions, the follower warm.

    One integer moves by one or to an end of its range, then two move together by one each, for as long as
    that helps. Nothing is proven. The walk can be left and taken up again; ``columns`` is the best point of
    the game on its way.
    """

    def __init__(self, kkt: KktSystem) -> None:
        self._kkt, self._program = kkt, kkt.program
        self._integer = np.flatnonzero(kkt.program.is_integer)
        self._lower, self._upper = integer_range(kkt.program)
        self._market = Market(kkt.program.follower)
        self._at, self._worth = self._lower, (INFINITY, INFINITY)
        self.columns: FloatArray | None = None
        self.is_through = False
        self._ways = self._all_ways()

    def run(self, deadline: float) -> None:
        """Walk on until a deadline of :func:`time.perf_counter`, or until no step helps."""
        for decision in self._ways:
            self._try(decision)
            if time.perf_counter() > deadline:
                return
        self.is_through = True

    def offer(self, columns: FloatArray) -> None:
        """Walk on from a point of the game that somebody else has found, if it is better."""
        worth = self._worth_of(columns)
        if worth < self._worth:
            self._at, self._worth, self.columns = np.round(columns[self._integer]), worth, columns

    def _all_ways(self) -> Iterator[FloatArray]:
        """Decisions to try, each beside the best one by then."""
        yield self._lower
        yield self._upper
        before: _Worth | None = None
        while before is None or self._worth < before:
            before = self._worth
            yield from self._single_steps()
            if self._worth == before:
                yield from self._double_steps()

    def _single_steps(self) -> Iterator[FloatArray]:
        width = self._upper - self._lower
        for place in range(self._integer.size):
            for step in (1.0, -1.0, INFINITY, -INFINITY) if width[place] > 1 else (1.0, -1.0):
                yield from self._moved(np.array([place]), np.array([step]))

    def _double_steps(self) -> Iterator[FloatArray]:
        """Two at once, until one such step helps: then single steps are worth trying again."""
        before = self._worth
        for places in combinations(range(self._integer.size), 2):
            for steps in product((1.0, -1.0), repeat=2):
                yield from self._moved(np.array(places), np.array(steps))
                if self._worth < before:
                    return

    def _moved(self, places: IntArray, steps: FloatArray) -> Iterator[FloatArray]:
        values = np.clip(self._at[places] + steps, self._lower[places], self._upper[places])
        if (values != self._at[places]).all():
            decision = self._at.copy()
            decision[places] = values
            yield decision

    def _try(self, values: FloatArray) -> None:
        program = self._program
        decision = np.where(program.is_integer, 0.0, program.variable_lower)
        decision[self._integer] = values
        follower = program.follower_at(decision, np.zeros(program.follower.shape[1]))
        answer = self._market.answer(follower)
        if answer.status is not Status.PROVEN_OPTIMAL:
            return
        point = point_of(self._kkt, answer, decision)
        worth = self._worth_of(point)
        if worth < self._worth:
            self._at, self._worth = values, worth
            self.columns = point if worth[0] == 0 else None

    def _worth_of(self, columns: FloatArray) -> _Worth:
        relaxation, rows = self._kkt.relaxation, len(self._program.leader_row_names)
        activity = relaxation.matrix[:rows, :] @ columns
        low, high = relaxation.row_lower[:rows], relaxation.row_upper[:rows]
        broken = np.maximum(0.0, np.maximum(low - activity, activity - high))
        broken = np.where(broken > TUNING.clearly * np.maximum(1.0, np.abs(activity)), broken, 0.0)
        return float(broken.sum()), float(relaxation.cost @ columns)


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
    """Steps of the leader's integers to better decisions: points that others must beat, never a proof."""

    steps: Steps
    from_turn: float = 0.0
    share: float = TUNING.share_of_steps
    method: Method = Method.AUTO
    reason: str = ""
    solver: str = HIGHS
    bound: float | None = None
    earlier: float | None = None

    def run(self, deadline: float) -> Progress:
        """Go on until a deadline, or until no step helps."""
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
    from_turn: float
    reason: str = "the search that was through first"
    method: Method = Method.SOS1
    solver: str = "SCIP"
    share: float = 1.0
    bound: float | None = None
    earlier: float | None = None
    _search: ScipSearch | None = None
    _point: FloatArray | None = None

    def run(self, deadline: float) -> Progress:
        """Go on until a deadline."""
        try:
            if self._search is None:
                self._search = ScipSearch(self._form.problem, self.limits)
            if self._point is not None:
                self._search.offer(self._form.complete(self._point))
            self._point = None
            result = self._search.run(max(0.01, deadline - time.perf_counter()))
        except SolverError:
            return Progress(Status.NO_INCUMBENT, gave_up=True)
        self.solver = result.solver
        columns = None if result.columns is None else result.columns[: self.kkt.relaxation.shape[1]]
        return Progress(result.status, columns, result.bound, interrupted=result.interrupted)

    @cached_property
    def _form(self) -> Reformulation:
        return sos1(self.kkt)

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


def bounded(kkt: KktSystem, deadline: float) -> KktSystem | None:
    """The system, with Slater's row where the relaxation alone is unbounded; None where it stays so."""
    if not _is_unbounded(kkt.relaxation, deadline):
        return kkt
    coupled = np.unique(kkt.program.coupling.indices).astype(np.int64)
    lower, upper = kkt.program.variable_lower[coupled], kkt.program.variable_upper[coupled]
    found = slater_row(kkt, coupled, lower, upper, deadline)
    if found is None:
        return None
    row = sp.csr_array(found[0][None, :])
    relaxation = kkt.relaxation.with_rows(row, upper=np.array([found[1]]), names=("Slater",))
    return None if _is_unbounded(relaxation, deadline) else replace(kkt, relaxation=relaxation)


def _is_unbounded(relaxation: LinearProgram, deadline: float) -> bool:
    if not may_be_unbounded(relaxation):
        return False
    lp = PersistentLp(relaxation)
    lp.stop_at(deadline)
    return lp.solve().status is Status.UNBOUNDED


def searchers(kkt: KktSystem, limits: SolveLimits) -> Iterator[Searcher]:
    """Who takes turns on a game whose relaxation is bounded."""
    count = assignments_of(kkt.program)
    few = count is not None and count <= TUNING.assignments
    is_network = network_bound(kkt) is not None
    has_integers = bool(kkt.is_integer.any())
    late = TUNING.late_turn if few and kkt.pairs.size > TUNING.many_pairs else 0.0
    if few:
        why = f"the leader's integers have {count} values together"
        yield OwnSearcher(Method.ENUMERATION, why, Enumeration(kkt, gap=limits.gap), "a list")
    # Among integers SCIP is through with most small games before anybody else has begun.
    if has_integers:
        yield from _by_scip(kkt, limits, late)
    if not few and not is_network and has_steps(kkt.program):
        yield StepSearcher(Steps(kkt))
    why = f"the search over {kkt.pairs.size} pairs was through first"
    tree = Branching(kkt, cutoff=None, gap=limits.gap)
    share = TUNING.share_among_integers if has_integers else 1.0
    yield OwnSearcher(Method.BRANCHING, why, tree, "a tree", late, share)
    if not has_integers:
        yield from _by_scip(kkt, limits, late)
    # Bounds of a network are at hand; others take an LP for each.
    if is_network:
        yield HighsSearcher(kkt, limits, late)
    else:
        yield HighsSearcher(kkt, limits, max(late, TUNING.turn_of_bounds), TUNING.share_with_bounds)


def _by_scip(kkt: KktSystem, limits: SolveLimits, from_turn: float) -> Iterator[Searcher]:
    if scip_is_installed():
        yield ScipSearcher(kkt, limits, from_turn)
