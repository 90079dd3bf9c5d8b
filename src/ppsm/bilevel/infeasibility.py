"""Why a game has no solution, in words that name constraints."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.solution import BilevelSolution
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import PpsmError
from ppsm.program import BilevelProgram, Products
from ppsm.solvers.conflict import find_conflict
from ppsm.status import Status

Solver = Callable[[BilevelProgram], BilevelSolution]


def explain_infeasible(kkt: KktSystem, solve: Solver) -> str:
    """Name a small set of constraints that rule out every solution of the game.

    ``solve`` answers variations of the game; it is asked only where the linear relaxation has a point, so
    that the conflict lies in the follower's optimality or the leader's integers.
    """
    program = kkt.program
    leader_rows, follower_rows = len(program.leader_row_names), program.follower.shape[0]
    primal = kkt.relaxation.part(np.arange(leader_rows + follower_rows))
    dual = kkt.relaxation.part(np.arange(leader_rows + follower_rows, kkt.relaxation.shape[0]))
    if not program.leader_sees_prices:
        conflict = find_conflict(primal)
        if conflict is not None:
            return f"no leader decision leaves the follower an answer: {conflict}"
    unbounded = find_conflict(dual)
    if unbounded is not None:
        columns = ", ".join(name.removeprefix("stationarity of ") for name in unbounded.rows)
        return f"the follower's cost falls without limit along {columns}, whatever the leader does"
    conflict = find_conflict(kkt.relaxation)
    if conflict is not None:
        return f"leader and follower constraints conflict: {conflict}"
    try:
        return _ElasticFilter(program, solve).explanation()
    except _UndecidedError:
        return (
            "the linear relaxation has points, but none at which the leader's integers and constraints agree "
            "with an optimal answer of the follower"
        )


class _UndecidedError(Exception):
    """A variation of the game could not be solved, or too many would be needed."""


@dataclass
class _ElasticFilter:
    """Finds leader constraints that no optimal answer of the follower satisfies together.

    All leader constraints may be violated at unit price; those that are become firm, and so on until the
    firm ones alone rule everything out. Then each is tried without (Chinneck & Dravnieks 1991).
    """

    program: BilevelProgram
    solve: Solver
    solves: int = 0

    def explanation(self) -> str:
        everything = np.arange(len(self.program.leader_row_names))
        firm: IntArray = np.empty(0, dtype=np.int64)
        shortfall = 0.0
        while (violated := self._violated(firm, np.setdiff1d(everything, firm))) is not None:
            rows, amount = violated
            if rows.size == 0:
                raise _UndecidedError
            shortfall = shortfall or amount
            firm = np.union1d(firm, rows)
        if firm.size == 0:
            return "no decision within the leader's bounds and integers leaves the follower an answer"
        for row in firm.tolist():
            rest = firm[firm != row]
            if self._violated(rest, np.empty(0, dtype=np.int64)) is None:
                firm = rest
        names = ", ".join(f"'{self.program.leader_row_names[row]}'" for row in firm)
        several, together = ("s", "together ") if firm.size > 1 else ("", "")
        return (
            f"the leader's constraint{several} {names} cannot hold {together}at any optimal answer of the "
            f"follower (short by {shortfall:.6g})"
        )

    def _violated(self, firm: IntArray, soft: IntArray) -> tuple[IntArray, float] | None:
        """Soft rows that must give way and by how much in total, None where no violation helps."""
        self.solves += 1
        if self.solves > TUNING.explanation_solves:
            raise _UndecidedError
        try:
            found = self.solve(_elastic(self.program, firm, soft))
        except PpsmError:
            raise _UndecidedError from None
        if found.status is Status.INFEASIBLE:
            return None
        if not found.status.has_answer:
            raise _UndecidedError
        slack = found.variables[len(self.program.variable_names) :].reshape(2, -1).sum(axis=0)
        return soft[slack > TUNING.violated], float(slack.sum())


def _elastic(program: BilevelProgram, firm: IntArray, soft: IntArray) -> BilevelProgram:
    """The game with some leader rows firm, some violable at unit price, the others dropped."""
    kept, count = np.concatenate([firm, soft]), soft.size
    give = sp.vstack([sp.csr_array((firm.size, count)), sp.eye_array(count)], format="csr")

    def extended(values: FloatArray, fill: float) -> FloatArray:
        return np.concatenate([values, np.full(2 * count, fill)])

    return replace(
        program,
        leader_cost=extended(np.zeros_like(program.leader_cost), 1.0),
        response_cost=np.zeros_like(program.response_cost),
        price_cost=np.zeros_like(program.price_cost),
        offset=0.0,
        variable_lower=extended(program.variable_lower, 0.0),
        variable_upper=extended(program.variable_upper, INFINITY),
        is_integer=np.concatenate([program.is_integer, np.zeros(2 * count, dtype=np.bool_)]),
        variable_names=(*program.variable_names, *(f"give {k}" for k in range(2 * count))),
        leader_matrix=sp.hstack([program.leader_matrix[kept, :], give, -give], format="csr"),
        response_matrix=program.response_matrix[kept, :],
        price_matrix=program.price_matrix[kept, :],
        leader_lower=program.leader_lower[kept],
        leader_upper=program.leader_upper[kept],
        leader_row_names=tuple(program.leader_row_names[row] for row in kept),
        coupling=_widened(program.coupling, 2 * count),
        cost_coupling=_widened(program.cost_coupling, 2 * count),
        products=Products().checked(*program.follower.shape, len(program.variable_names) + 2 * count),
        leader_sign=1.0,
    )


def _widened(matrix: SparseMatrix, count: int) -> SparseMatrix:
    """A matrix with further columns that are zero."""
    return sp.csr_array(sp.hstack([matrix, sp.csr_array((matrix.shape[0], count))]))
