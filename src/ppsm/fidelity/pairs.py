"""One more LP that stays alive: answers and parameters together, within public bounds and value band.

Its optimum bounds what a node of the search can still reach, and its feasibility settles in a millisecond
what an interior-point method needs many iterations to find out.
"""

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.fidelity.arrays import ScaledFollower
from ppsm.fidelity.core import Core
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


class PairLp:
    """Costs of answers ``x`` and parameters ``d``, minimised over what some tight sides allow."""

    def __init__(self, follower: ScaledFollower) -> None:
        self.follower = follower
        program = follower.program
        rows, answers = program.shape
        self._entries = follower.parameter_map.shape[1]
        width = answers + self._entries
        anything = np.full(self._entries, INFINITY)
        self._rows, self._columns = np.arange(rows + 1), np.arange(width)
        self._lp = PersistentLp(
            LinearProgram(
                cost=np.zeros(width),
                matrix=follower.pair_matrix,
                row_lower=np.append(program.row_lower, -INFINITY),
                row_upper=np.append(program.row_upper, INFINITY),
                column_lower=np.concatenate([program.column_lower, -anything]),
                column_upper=np.concatenate([program.column_upper, anything]),
                row_names=(*program.row_names, "value"),
                column_names=tuple(f"c{k}" for k in range(width)),
            )
        )

    def least(self, core: Core, tight: IntArray, cost: FloatArray | None = None) -> float:
        """The least cost of (x, d) with some sides tight; without a cost any pair will do.

        Infinite where nothing is left, minus infinity where the LP leaves it open.
        """
        self._lp.set_cost(np.zeros(self._columns.size) if cost is None else cost)
        nothing = np.zeros(self._rows.size - 1)
        row_lower, row_upper, column_lower, column_upper = self.follower.bounds(nothing, tight=tight)
        self._lp.set_row_bounds(
            self._rows, np.append(row_lower, core.value_lower), np.append(row_upper, core.value_upper)
        )
        self._lp.set_column_bounds(
            self._columns,
            np.concatenate([column_lower, core.lower]),
            np.concatenate([column_upper, core.upper]),
        )
        try:
            solution = self._lp.solve()
        except SolverError:
            return -INFINITY
        if solution.status is Status.INFEASIBLE:
            return INFINITY
        return solution.objective if solution.status.has_answer else -INFINITY

    def is_feasible(self, core: Core, tight: IntArray) -> bool:
        """Whether any answer and parameter hold these sides tight; True where the LP leaves it open."""
        return self.least(core, tight) < INFINITY
