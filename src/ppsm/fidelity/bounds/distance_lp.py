"""The convex relaxation as an LP that stays alive: squares are replaced by tangents.

A tree over sides asks for thousands of relaxations that differ in a few bounds. From the last basis an LP
answers in a fifth of a millisecond where a QP has to be set up anew. Each square is at least every tangent,
so the LP is a lower bound whatever tangents it has, and tangents hold in every node. A new one is added
where the last optimum showed that a square is underestimated.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.fidelity.bounds.relaxation import DistanceColumns
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class NearPoint:
    """An optimum over tangents: what it proves, its parameter and answer."""

    bound: float
    parameter: FloatArray
    columns: FloatArray


class DistanceLp:
    """The relaxation of one problem, with tangents around a parameter vector to begin with.

    Tangents may miss a share of a relative ``gap``.
    """

    def __init__(self, core: Core, around: FloatArray, gap: float) -> None:
        self.core = core
        self._missed = TUNING.missed * max(gap, TUNING.least_gap)
        self._answers, self._entries = core.follower.program.shape[1], core.reference.size
        distance = DistanceColumns.of(core, self._answers)
        self._distance = distance
        curvature = np.concatenate([np.zeros(self._answers), core.curvature, distance.curvature])
        self._curved = np.flatnonzero(curvature)
        self._curvature = curvature[self._curved]
        self._width = curvature.size
        # The objective is counted in units of its own size, so that tolerances mean the same everywhere.
        reach = self._moves_at(around)
        size = float(self._curvature @ reach**2 + core.weight @ np.abs(around - core.reference))
        self._unit = max(size, TUNING.least_size)
        self._lp = PersistentLp(self._program())
        self._lp.skip_presolve()
        self._rows = np.arange(core.follower.program.shape[0] + 1)
        self._columns = np.arange(self._answers)
        widest = float(np.sqrt(self._unit / self._curvature.min())) if self._curved.size else 0.0
        for share in TUNING.first_tangents:
            self._add_tangents(share * widest * np.ones(self._curved.size))
        self._add_tangents(reach)

    def solve(
        self, tight: IntArray, enough: float = INFINITY, *, rounds: int = TUNING.tangent_rounds
    ) -> NearPoint | None:
        """The optimum with some sides tight; None where nothing is left.

        Tangents are added until they miss little of what is missing to a bound that is ``enough``.
        """
        follower = self.core.follower
        row_lower, row_upper, column_lower, column_upper = follower.bounds(self.core.shift, tight=tight)
        if (column_lower > column_upper).any() or (row_lower > row_upper).any():
            return None  # two sides of one row or column cannot both be tight
        self._lp.set_row_bounds(
            self._rows,
            np.append(row_lower, self.core.value_lower),
            np.append(row_upper, self.core.value_upper),
        )
        self._lp.set_column_bounds(self._columns, column_lower, column_upper)
        for rest in reversed(range(rounds)):
            solution = self._lp.solve()
            if solution.status is Status.INFEASIBLE:
                return None
            if not solution.status.has_answer:
                raise SolverError("the relaxation by tangents has no optimum.")
            bound = self._unit * solution.objective + self.core.constant
            curved = solution.columns[self._curved]
            missed = self._curvature * curved**2 - self._unit * solution.columns[self._width :]
            total = float(np.maximum(0.0, missed).sum())
            least = max(self._missed * abs(bound), self.core.negligible)
            far = TUNING.missed_far * (enough - bound) if enough < INFINITY else 0.0
            if not rest or bound >= enough or total <= max(least, far):
                break
            self._add_tangents(curved, missed > TUNING.missed_by_one * total / max(1, missed.size))
        moves = solution.columns[self._answers : self._answers + self._entries]
        parameter = np.clip(self.core.reference + moves, self.core.lower, self.core.upper)
        return NearPoint(bound, parameter, solution.columns[: self._answers])

    def _moves_at(self, parameter: FloatArray) -> FloatArray:
        """The curved columns at a parameter: moves, and for a measured total how far it is missed."""
        moves = parameter - self.core.reference
        off = 0.0 if self.core.total is None else float(parameter.sum()) - self.core.total.target
        full = np.concatenate([np.zeros(self._answers), moves, np.full(self._distance.cost.size, off)])
        return np.asarray(full[self._curved])

    def _program(self) -> LinearProgram:
        core, distance, curved = self.core, self._distance, self._curved.size
        market = core.follower.free_parameter_matrix
        extra = distance.cost.size
        rows = sp.vstack([sp.hstack([market, sp.csr_array((market.shape[0], extra))]), distance.matrix])
        nothing = np.zeros(market.shape[0])
        return LinearProgram.of(
            np.concatenate([np.zeros(self._answers), core.slope, distance.cost, np.zeros(curved)])
            / self._unit
            + np.concatenate([np.zeros(self._width), np.ones(curved)]),
            sp.csr_array(sp.hstack([rows, sp.csr_array((rows.shape[0], curved))])),
            row_lower=np.concatenate([nothing, distance.row_lower]),
            row_upper=np.concatenate([nothing, distance.row_upper]),
            column_lower=np.concatenate(
                [
                    core.follower.program.column_lower,
                    core.lower - core.reference,
                    distance.column_lower,
                    np.zeros(curved),
                ]
            ),
            column_upper=np.concatenate(
                [
                    core.follower.program.column_upper,
                    core.upper - core.reference,
                    np.full(extra + curved, INFINITY),
                ]
            ),
        )

    def _add_tangents(self, at: FloatArray, wanted: BoolArray | None = None) -> None:
        """``unit t >= k (2 a x - a^2)`` at points a of the curved columns x."""
        for place in range(self._curved.size) if wanted is None else np.flatnonzero(wanted):
            weights = np.zeros(self._width + self._curved.size)
            weights[self._width + place] = 1.0
            scale = self._curvature[place] / self._unit
            weights[self._curved[place]] = -2.0 * scale * at[place]
            self._lp.add_row(weights, -scale * at[place] ** 2, INFINITY)
