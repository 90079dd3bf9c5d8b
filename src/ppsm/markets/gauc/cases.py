"""The cheapest price pattern by cases: boxes that hold every pattern together, each with a linear program.

Which cases must be told apart depends on the power side and the supply curve far more than on the demand. So
the boxes are remembered, by junction, for all demands and networks of a power stress, as the tree of their
splits: noise then costs one linear program for each box that says too little, and a few where the last ones
must be split further, instead of a search over integers. A box
counts as dear, or as empty, only by weak duality, computed here from the multipliers that HiGHS has found:
whatever these are, the bound holds for the program, so that no second opinion on it is needed. Cuts, flows
and the first box are those of every search of patterns.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.markets.gauc.areas import GasAreas
from ppsm.markets.gauc.patterns import PatternBox, PatternProgram
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


@dataclass(eq=False)
class Branch:
    """A box of patterns by junction, and the two parts it was split into, if it was."""

    box: PatternBox
    parts: tuple["Branch", ...] = ()


@dataclass(eq=False)
class CaseTree:
    """How all patterns were told apart: what holds all of them, split again and again."""

    root: Branch | None = None
    splits: int = 0

    def everything(self, junctions: int, steps: int) -> Branch:
        """The branch that holds all patterns."""
        if self.root is None:
            first = np.zeros(junctions, dtype=np.int64)
            self.root = Branch(PatternBox(first, first + steps))
        return self.root

    def keep(self, branch: Branch, parts: tuple[Branch, ...]) -> None:
        """Remember a split, while there are few."""
        if self.splits < TUNING.cases_kept:
            branch.parts = parts
            self.splits += 1


@dataclass(frozen=True, eq=False)
class CheapestCase:
    """A bound on all patterns below a target, and the cheapest (None: none is below).

    Branches that are ``open_`` hold all patterns below the target. What is not complete was given up.
    """

    bound_usd: float
    pattern: PatternBox | None
    open_: list[Branch]
    is_complete: bool = True


def cheapest_by_cases(
    program: PatternProgram,
    areas: GasAreas,
    root: PatternBox,
    tree: CaseTree,
    branches: list[Branch],
    target_usd: float,
    seconds_left: Callable[[], float],
) -> CheapestCase | None:
    """The cheapest pattern of a root by what the cuts say; None where a linear program has no clear end.

    ``branches`` of the tree hold all patterns that may be below the target.
    """
    cases = _Cases(program, areas, root, target_usd, seconds_left)
    try:
        return cases.search(tree, branches)
    except SolverError:
        return None


@dataclass(frozen=True, eq=False)
class _Case:
    """A branch, what it costs at least (inf: it is empty), and the relaxation's columns there."""

    branch: Branch
    bound_usd: float
    columns: FloatArray


class _Cases:
    """One search; best first, so that the first whole pattern is the cheapest."""

    def __init__(
        self,
        program: PatternProgram,
        areas: GasAreas,
        root: PatternBox,
        target_usd: float,
        seconds_left: Callable[[], float],
    ) -> None:
        self._program, self._areas, self._root, self._target = program, areas, root, target_usd
        self._seconds_left = seconds_left
        self._relaxation = BoundedPatterns(program, TUNING.cases_reach * target_usd)
        # any junction of an area tells its class
        self._junction_of_area = np.zeros(areas.count, dtype=np.int64)
        reached = np.flatnonzero(areas.of_junction >= 0)[::-1]
        self._junction_of_area[areas.of_junction[reached]] = reached

    def search(self, tree: CaseTree, branches: list[Branch]) -> CheapestCase:
        """Split the cheapest case until it is one pattern or none is below the target."""
        order = itertools.count()
        open_ = [(case.bound_usd, next(order), case) for case in self._known(branches)]
        heapq.heapify(open_)
        allowed = TUNING.further_cases_solved if tree.splits else TUNING.cases_solved
        most = self._relaxation.solved + allowed
        while open_:
            bound, _, cheapest = open_[0]
            is_over = self._relaxation.solved > most or self._seconds_left() <= 0
            parts = [] if is_over else self._split(cheapest)
            if not parts:
                left = [case.branch for _, _, case in open_]
                pattern = None if is_over else self._program.pattern_of(cheapest.columns)
                return CheapestCase(bound, pattern, left, is_complete=not is_over)
            heapq.heappop(open_)
            tree.keep(cheapest.branch, tuple(part.branch for part in parts))
            for part in parts:
                if part.bound_usd < self._target:
                    heapq.heappush(open_, (part.bound_usd, next(order), part))
        return CheapestCase(self._target, None, [])

    def _known(self, branches: list[Branch]) -> Iterator[_Case]:
        """The branches' last parts that may be below the target; a branch that is dear has no such part."""
        todo = branches[::-1]
        while todo:
            branch = todo.pop()
            case = self._bounded(branch)
            if case.bound_usd < self._target and branch.parts:
                todo.extend(branch.parts)
            elif case.bound_usd < self._target:
                yield case

    def _bounded(self, branch: Branch) -> _Case:
        """The relaxation in a branch."""
        box = branch.box
        low, high = self._root.lowest.copy(), self._root.highest.copy()
        reached = self._areas.of_junction >= 0
        area = self._areas.of_junction[reached]
        np.maximum.at(low, area, box.lowest[reached])
        np.minimum.at(high, area, box.highest[reached])
        here = PatternBox(low, high).narrowed(self._areas) if (low <= high).all() else None
        if here is None:
            return _Case(branch, np.inf, np.empty(0))
        return _Case(branch, *self._relaxation.cheapest(here))

    def _split(self, case: _Case) -> list[_Case]:
        """Two parts by the step of an area that tells most apart; none where the columns are a pattern."""
        reached = case.columns[self._program.reached_columns]
        broken = np.abs(reached - np.rint(reached))
        candidates = np.argsort(-broken, axis=None)[: TUNING.cases_tried]
        best: list[_Case] = []
        for area, step in zip(*np.unravel_index(candidates, broken.shape), strict=True):
            if broken[area, step] <= TUNING.whole:
                break
            number = int(self._program.steps_here[step])
            junction = int(self._junction_of_area[area])
            box = case.branch.box
            halves = box.with_highest(junction, number - 1), box.with_lowest(junction, number)
            parts = [self._bounded(Branch(half)) for half in halves]
            if not best or self._worth(parts, case) > self._worth(best, case):
                best = parts
            if all(part.bound_usd >= self._target for part in parts):
                break
        return best

    def _worth(self, parts: list[_Case], case: _Case) -> float:
        """How much both parts are dearer than the whole."""
        rise = [min(part.bound_usd, self._target) - case.bound_usd for part in parts]
        least = TUNING.pattern_precision * self._target
        return float(np.prod(np.maximum(rise, least)))


class BoundedPatterns:
    """The relaxation of a program of patterns, alive in HiGHS, with bounds that lean on no solver's word."""

    def __init__(self, program: PatternProgram, limit_usd: float) -> None:
        self._columns, self._steps = program.reached_columns, program.steps_here
        self._linear = program.below(limit_usd)
        self._upper = program.largest_columns(limit_usd)
        self._lower = self._linear.column_lower.copy()
        self._live = PersistentLp(self._linear, feasibility=TUNING.pattern_feasibility)
        self._live.skip_presolve()  # for the multipliers of programs without a point
        self.solved = 0

    def cheapest(self, box: PatternBox) -> tuple[float, FloatArray]:
        """At least what patterns in a box cost, inf where it has none, and the relaxation's columns."""
        self.solved += 1
        lower = (self._steps <= box.lowest[:, None]).astype(float).ravel()
        upper = (self._steps <= box.highest[:, None]).astype(float).ravel()
        columns = self._columns.ravel()
        self._lower[columns], self._upper[columns] = lower, upper
        self._live.set_column_bounds(columns, lower, upper)
        solution = self._live.solve(is_bounded=True)
        if solution.status is Status.PROVEN_OPTIMAL:
            value = self._at_least(self._linear.cost, solution.prices)[0]
            return value * TUNING.usd_per_row_unit, solution.columns
        ray = self._live.ray() if solution.status is Status.INFEASIBLE else None
        if ray is None or not self._is_empty(ray / max(float(np.abs(ray).max(initial=0.0)), 1e-300)):
            raise SolverError("the end of a case of price patterns is unclear.")
        return np.inf, np.empty(0)

    def _at_least(self, cost: FloatArray, prices: FloatArray) -> tuple[float, float]:
        """Weak duality: what the columns cost at least in their bounds, by any prices of rows; its size."""
        return weak_bound(self._linear, (self._lower, self._upper), cost, prices)

    def _is_empty(self, ray: FloatArray) -> bool:
        """Farkas: rows that cannot hold together have prices by which nothing costs more than nothing."""
        nothing = np.zeros_like(self._linear.cost)
        for prices in (ray, -ray):
            value, size = self._at_least(nothing, prices)
            if value > TUNING.pattern_feasibility * size:
                return True
        return False


def weak_bound(
    program: LinearProgram, bounds: tuple[FloatArray, FloatArray], cost: FloatArray, prices: FloatArray
) -> tuple[float, float]:
    """What columns within bounds cost at least, by any prices of rows, and the size of the largest terms.

    Prices of sides that a row does not have count as zero, and so do those that are no numbers.
    """
    side = np.where(prices > 0, program.row_lower, program.row_upper)
    used = np.where(np.isfinite(side) & np.isfinite(prices), prices, 0.0)
    rows = used * np.where(np.isfinite(side), side, 0.0)
    reduced = cost - program.matrix.T @ used
    at = np.where(reduced > 0, bounds[0], bounds[1])
    columns = np.where(reduced == 0.0, 0.0, reduced * at)
    return float(rows.sum() + columns.sum()), float(np.abs(rows).max(initial=0) + np.abs(columns).max())
