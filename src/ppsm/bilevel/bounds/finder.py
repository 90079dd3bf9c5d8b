"""Valid bounds for multipliers, prices and slacks: big-M values that are proven, never guessed.

Three arguments are tried in turn; each bound found is valid for every point of the game (or, for the third,
for at least one optimal dual at every point), so no optimum is cut off:

1. *LP tightening*: the largest value over the relaxation (leader rows, follower feasibility, stationarity).
   Two sides of one row cannot both carry a multiplier, so the **net** of the two is maximised.
2. *Slater's condition*: an answer of the follower that is feasible with slack whatever the leader decides
   bounds every optimal dual; see :mod:`ppsm.bilevel.bounds.slater`. Its row joins the relaxation.
3. *Dual vertices*: if no price enters the leader's problem, any optimal dual will do, and a vertex of the
   dual polyhedron always is one; small polyhedra are enumerated.

Where all three fail no finite bound is known and :class:`NoValidBoundError` names the row. Small big-M values
that merely look plausible are how bilevel programs get wrong answers (Pineda & Morales 2019).
"""

import itertools
import math
import time

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.bilevel.bounds.slater import slater_row
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import NoValidBoundError
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status

_NO_PRICE_LIMIT = "nothing in the game limits it; add a leader constraint or a priced slack that does"


def widened(bound: FloatArray) -> FloatArray:
    """An upper bound with its margins."""
    return (1.0 + TUNING.m_margin) * bound + TUNING.least_margin


class BoundsOutOfTimeError(NoValidBoundError):
    """The time limit came while bounds were being proven: no verdict on whether they exist."""


def _no_bound(what: str, why_and_remedy: str) -> NoValidBoundError:
    obstacle = f"no finite bound exists on {what}"
    return NoValidBoundError(
        f"{obstacle}: {why_and_remedy}, or use the method 'sos1' or 'indicator', which need no bound.",
        obstacle,
    )


class BoundFinder:
    """Derives valid bounds for one KKT system; every answer is remembered.

    After ``deadline`` (of :func:`time.perf_counter`) no new bound is derived. With a ``cutoff`` the bounds
    hold for points whose leader cost is at most that: enough for an optimum, if it is an incumbent's cost.
    """

    def __init__(self, kkt: KktSystem, deadline: float = INFINITY, cutoff: float | None = None) -> None:
        self.kkt = kkt
        self._deadline = deadline
        self._program = kkt.relaxation if cutoff is None else _with_cutoff(kkt.relaxation, cutoff)
        self._relaxation = PersistentLp(self._program)
        self._follower_columns = kkt.program.follower.matrix.tocsc()
        self._with_slater: PersistentLp | None = None
        self._slater_tried = False
        self._vertex_bounds: tuple[FloatArray, FloatArray] | None = None
        self._vertices_tried = False
        self._slack: dict[int, float] = {}
        self._net: dict[int, tuple[float, float]] = {}
        self._vertex_only: set[int] = set()
        self._variable: dict[int, tuple[float, float]] = {}

    def slack(self, side: int) -> float:
        """Largest slack of a side's inequality, or an error that names it."""
        if side not in self._slack:
            self._slack[side] = max(0.0, self._derive_slack(side))
        if not math.isfinite(self._slack[side]):
            raise _no_bound(
                f"the slack of '{self.kkt.multipliers.names[side]}'",
                "the constraints let it grow without limit; bound the variables in it",
            )
        return self._slack[side]

    def multiplier(self, side: int) -> float:
        """Largest multiplier of a side, or an error that names its row."""
        low, high = self._net_range(side)
        found = high if self.kkt.multipliers.sign[side] > 0 else -low
        if not math.isfinite(found):
            raise _no_bound(f"the multiplier of '{self.kkt.multipliers.names[side]}'", _NO_PRICE_LIMIT)
        return max(0.0, found)

    def holds_for_every_dual(self, side: int) -> bool:
        """Whether a side's bound is valid for all optimal duals, not just for some."""
        self._net_range(side)
        return self._key(side) not in self._vertex_only

    def price_range(self, row: int) -> tuple[float, float]:
        """Smallest and largest price of a follower row with margins, or an error that names it."""
        multipliers = self.kkt.multipliers
        sides = np.flatnonzero(multipliers.is_row & (multipliers.index == row))
        if sides.size == 0:
            return 0.0, 0.0
        low, high = self._net_range(int(sides[0]))
        if not (math.isfinite(low) and math.isfinite(high)):
            raise _no_bound(f"the price of '{self.kkt.program.follower.row_names[row]}'", _NO_PRICE_LIMIT)
        low, high = (
            low - TUNING.m_margin * abs(low) - TUNING.least_margin,
            high + TUNING.m_margin * abs(high) + TUNING.least_margin,
        )
        # A missing side is a sign that no tolerance can take away.
        signs = multipliers.sign[sides]
        both = bool(multipliers.is_free[sides].any())
        return (low if both or (signs < 0).any() else 0.0), (high if both or (signs > 0).any() else 0.0)

    def variable_range(self, variable: int) -> tuple[float, float]:
        """Range of a leader variable over the relaxation, infinite where there is none."""
        if variable not in self._variable:
            unit = np.zeros(self.kkt.relaxation.shape[1])
            unit[variable] = 1.0
            low, high = -self._largest(self._relaxation, -unit), self._largest(self._relaxation, unit)
            program = self.kkt.program
            # The LP's tolerance must not cut into the bounds as they were given.
            self._variable[variable] = (
                max(low - TUNING.range_margin, float(program.variable_lower[variable])),
                min(high + TUNING.range_margin, float(program.variable_upper[variable])),
            )
        return self._variable[variable]

    def _net_range(self, side: int) -> tuple[float, float]:
        """Range of the net multiplier (price or reduced cost) of the row or column that a side belongs to."""
        key = self._key(side)
        if key not in self._net:
            self._net[key] = self._derive_net_range(key, int(self.kkt.multipliers.twin[key]))
        return self._net[key]

    def _key(self, side: int) -> int:
        """The first of the two sides of a row or column."""
        twin = int(self.kkt.multipliers.twin[side])
        return min(side, twin) if twin >= 0 else side

    def _derive_net_range(self, side: int, twin: int) -> tuple[float, float]:
        multipliers = self.kkt.multipliers
        if self._is_large and not multipliers.is_row[side]:
            low, high = self._reduced_cost_from_prices(int(multipliers.index[side]))
            if math.isfinite(low) and math.isfinite(high):
                return low, high
        direction = self._net_direction(side, twin)
        low, high = self._optimise_both(self._relaxation, direction, -INFINITY, INFINITY)
        if not (math.isfinite(low) and math.isfinite(high)):
            stronger = self._relaxation_with_slater()
            if stronger is not None:
                low, high = self._optimise_both(stronger, direction, low, high)
        if not (math.isfinite(low) and math.isfinite(high)):
            vertices = self._dual_vertex_bounds()
            if vertices is not None:
                self._vertex_only.add(side)
                low = low if math.isfinite(low) else self._net_vertex(vertices, side, twin)[0]
                high = high if math.isfinite(high) else self._net_vertex(vertices, side, twin)[1]
        return low, high

    def _derive_slack(self, side: int) -> float:
        row = self.kkt.slack_matrix[[side], :]
        constant = float(self.kkt.slack_constant[side])
        found = constant + self._largest_in_box(row.indices.astype(np.int64), row.data)
        if math.isfinite(found) and (row.nnz == 1 or self._is_large):
            return found
        direction = row.toarray().ravel()
        found = self._largest(self._relaxation, direction)
        if not math.isfinite(found):
            # Slater's row also limits the follower's cost, hence its answer.
            stronger = self._relaxation_with_slater()
            found = found if stronger is None else self._largest(stronger, direction)
        return constant + found

    def _largest_in_box(self, columns: IntArray, factors: FloatArray) -> float:
        """Largest value of a linear form over the column bounds alone: weaker than an LP, but free."""
        lower, upper = self.kkt.relaxation.column_lower, self.kkt.relaxation.column_upper
        return float(np.sum(factors * np.where(factors > 0, upper[columns], lower[columns])))

    @property
    def _is_large(self) -> bool:
        """Whether there are too many sides to solve an LP for each."""
        return self.kkt.pairs.size > TUNING.many_sides

    def _reduced_cost_from_prices(self, column: int) -> tuple[float, float]:
        """Range of a column's reduced cost ``c - A'p`` from the ranges of the prices in it."""
        if not self.kkt.program.only_moves_right_hand_sides:
            return -INFINITY, INFINITY
        entries = self._follower_columns[:, [column]]
        low = high = float(self.kkt.program.follower.cost[column])
        for row, factor in zip(entries.indices, entries.data, strict=True):
            try:
                ends = [-factor * end for end in self.price_range(int(row))]
            except BoundsOutOfTimeError:
                raise
            except NoValidBoundError:
                return -INFINITY, INFINITY
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _net_direction(self, side: int, twin: int) -> FloatArray:
        direction = np.zeros(self.kkt.relaxation.shape[1])
        for position in (side, twin):
            if position >= 0:
                direction[self.kkt.first_multiplier + position] = self.kkt.multipliers.sign[position]
        return direction

    def _largest(self, lp: PersistentLp, direction: FloatArray) -> float:
        """Maximise a direction; infinite where unbounded, minus infinite over an empty relaxation."""
        if not direction.any():
            return 0.0
        if time.perf_counter() > self._deadline:
            raise BoundsOutOfTimeError(
                "the time limit came while bounds were being proven; allow more time, or use method='sos1' "
                "or 'indicator', which need no bound."
            )
        lp.set_cost(-direction)
        solution = lp.solve()
        if solution.status is Status.INFEASIBLE:
            return -INFINITY
        return float(direction @ solution.columns) if solution.status is Status.PROVEN_OPTIMAL else INFINITY

    def _optimise_both(
        self, lp: PersistentLp, direction: FloatArray, low: float, high: float
    ) -> tuple[float, float]:
        """Tighten the ends that are still infinite."""
        if not math.isfinite(high):
            high = self._largest(lp, direction)
        if not math.isfinite(low):
            low = -self._largest(lp, -direction)
        return low, high

    def _relaxation_with_slater(self) -> PersistentLp | None:
        """The relaxation with Slater's row, or None where there is no such row."""
        if not self._slater_tried:
            self._slater_tried = True
            coupled = np.unique(self.kkt.program.coupling.indices).astype(np.int64)
            box = np.array([self.variable_range(int(variable)) for variable in coupled]).reshape(-1, 2)
            found = slater_row(self.kkt, coupled, box[:, 0], box[:, 1])
            if found is not None:
                row, limit = sp.csr_array(found[0][None, :]), np.array([found[1]])
                extended = self._program.with_rows(row, upper=limit, names=("Slater",))
                self._with_slater = PersistentLp(extended)
        return self._with_slater

    @staticmethod
    def _net_vertex(vertices: tuple[FloatArray, FloatArray], side: int, twin: int) -> tuple[float, float]:
        lows, highs = vertices
        chosen = [position for position in (side, twin) if position >= 0]
        return float(min(lows[chosen])), float(max(highs[chosen]))

    def _dual_vertex_bounds(self) -> tuple[FloatArray, FloatArray] | None:
        """Least and largest signed multiplier over the dual vertices, if they may be used and are few."""
        if not self._vertices_tried:
            self._vertices_tried = True
            program = self.kkt.program
            if program.only_moves_right_hand_sides and not program.leader_sees_prices:
                self._vertex_bounds = _enumerate_dual_vertices(self.kkt)
        return self._vertex_bounds


def _with_cutoff(relaxation: LinearProgram, cutoff: float) -> LinearProgram:
    """The relaxation with the leader's cost at most a little above the cutoff."""
    if not relaxation.cost.any():
        return relaxation
    return relaxation.capped(cutoff + TUNING.cutoff_margin * max(1.0, abs(cutoff)))


def _equilibrated(matrix: FloatArray) -> FloatArray:
    """Rows and columns scaled to size one: units must not make a matrix look singular."""
    for axis in (1, 0, 1):
        largest = np.abs(matrix).max(axis=axis, keepdims=True, initial=0.0)
        matrix = matrix / np.where(largest > 0, largest, 1.0)
    return matrix


def _independent_columns(matrix: FloatArray, candidates: IntArray) -> IntArray:
    """A maximal independent subset of the candidate columns."""
    matrix = _equilibrated(matrix)
    chosen: list[int] = []
    for candidate in candidates.tolist():
        if np.linalg.matrix_rank(matrix[:, [*chosen, candidate]]) > len(chosen):
            chosen.append(candidate)
    return np.array(chosen, dtype=np.int64)


def _enumerate_dual_vertices(kkt: KktSystem) -> tuple[FloatArray, FloatArray] | None:
    """Solve for every basis of ``stationarity m = c``; None where there are too many to look at."""
    multipliers, follower = kkt.multipliers, kkt.program.follower
    width = follower.shape[1]
    first_row = kkt.relaxation.shape[0] - width
    dual = kkt.relaxation.matrix[first_row:, kkt.first_multiplier :].toarray()
    independent = _independent_columns(dual.T, np.arange(width))
    dual, cost = dual[independent], follower.cost[independent]
    # Free multipliers are part of every basis; dependent ones can be zero at an optimal dual.
    free = _independent_columns(dual, np.flatnonzero(multipliers.is_free))
    signed = np.flatnonzero(~multipliers.is_free)
    picks = independent.size - free.size
    if math.comb(signed.size, max(picks, 0)) > TUNING.vertex_bases:
        return None
    lows, highs = np.zeros(multipliers.count), np.zeros(multipliers.count)
    for pick in itertools.combinations(signed.tolist(), picks):
        basis = np.concatenate([free, np.array(pick, dtype=np.int64)])
        square = dual[:, basis]
        condition = float(np.linalg.cond(_equilibrated(square))) if basis.size else 1.0
        if condition > TUNING.singular:
            continue
        if condition > TUNING.ill_conditioned:
            return None  # too close to singular to trust either verdict
        values = np.linalg.solve(square, cost)
        tolerance = TUNING.clearly * max(1.0, float(np.abs(values).max(initial=0.0)))
        if (values[free.size :] < -tolerance).any():
            continue
        signed_values = values * multipliers.sign[basis]
        lows[basis] = np.minimum(lows[basis], signed_values)
        highs[basis] = np.maximum(highs[basis], signed_values)
    return lows, highs
