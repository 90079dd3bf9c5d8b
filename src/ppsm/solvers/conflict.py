"""Why an LP has no feasible point: a small set of constraints that cannot hold together."""

from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray, IntArray
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.solvers.tuning import TUNING
from ppsm.status import Status


@dataclass(frozen=True)
class Conflict:
    """Rows that cannot hold together (none can be spared) and the column bounds that take part.

    ``shortfall`` is the least total violation of those rows that would make the rest feasible.
    """

    rows: tuple[str, ...]
    bounds: tuple[str, ...]
    shortfall: float

    def __str__(self) -> str:
        parts = [f"rows {', '.join(self.rows)}"] if self.rows else []
        parts += [f"bounds of {', '.join(self.bounds)}"] if self.bounds else []
        return f"{' with '.join(parts)} cannot hold together (short by {self.shortfall:.6g})"


def find_conflict(program: LinearProgram) -> Conflict | None:
    """Name an irreducible set of conflicting rows of an infeasible LP; None if it is feasible.

    The elastic LP (each row may be violated at unit price) has a positive optimum exactly when the rows and
    bounds conflict, and the support of its duals is a Farkas certificate: an infeasible subset. A deletion
    filter (Chinneck & Dravnieks 1991) then drops every row that the conflict does not need.
    """
    rows = np.arange(program.shape[0])
    amount, prices, _ = _elastic(program, rows)
    if amount <= TUNING.support:
        return None
    rows = np.flatnonzero(np.abs(prices) > TUNING.support)
    for row in rows.tolist():
        if row not in rows:
            continue
        rest = rows[rows != row]
        amount, prices, _ = _elastic(program, rest)
        if amount > TUNING.support:
            rows = rest[np.abs(prices) > TUNING.support]
    amount, _, reduced = _elastic(program, rows)
    columns = np.flatnonzero(np.abs(reduced) > TUNING.support)
    return Conflict(
        rows=tuple(program.row_names[row] for row in rows),
        bounds=tuple(program.column_names[column] for column in columns),
        shortfall=amount,
    )


def _elastic(program: LinearProgram, rows: IntArray) -> tuple[float, FloatArray, FloatArray]:
    """Least total violation of the rows, their duals and the reduced costs of the program's columns."""
    columns = program.shape[1]
    solution = PersistentLp(program.part(rows).elastic()).solve()
    if solution.status is not Status.PROVEN_OPTIMAL:
        return 0.0, np.zeros(rows.size), np.zeros(columns)
    return solution.objective, solution.prices, solution.reduced_costs[:columns]
