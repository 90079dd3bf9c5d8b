"""What the follower answers to a decision: a linear or quadratic program for each turn, first to last."""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.turns import Turn
from ppsm.program import LinearProgram
from ppsm.solvers.highs import LpSolution, solve_lp
from ppsm.status import Status


def answer_to(kkt: KktSystem, variables: FloatArray) -> LpSolution | None:
    """One optimal answer with its prices, None where some follower has none."""
    program = kkt.program
    rows, columns = program.follower.shape
    answer, prices, reduced = np.zeros(columns), np.zeros(rows), np.zeros(columns)
    for turn in kkt.turns:
        here = _part(program.follower_at(variables, answer), turn)
        curvature = program.curvature[turn.columns, :][:, turn.columns]
        found = solve_lp(here) if not curvature.nnz else _solve_curved(here, curvature)
        if found.status is not Status.PROVEN_OPTIMAL:
            return None
        answer[turn.columns], reduced[turn.columns] = found.columns, found.reduced_costs
        prices[turn.rows] = found.prices
    return LpSolution(Status.PROVEN_OPTIMAL, float("nan"), answer, prices, reduced)


def _part(follower: LinearProgram, turn: Turn) -> LinearProgram:
    if turn.columns.size == follower.shape[1]:
        return follower
    return LinearProgram.of(
        follower.cost[turn.columns],
        follower.matrix[turn.rows, :][:, turn.columns],
        row_lower=follower.row_lower[turn.rows],
        row_upper=follower.row_upper[turn.rows],
        column_lower=follower.column_lower[turn.columns],
        column_upper=follower.column_upper[turn.columns],
    )


def _solve_curved(follower: LinearProgram, curvature: sp.csr_array) -> LpSolution:
    """A convex quadratic follower by an interior-point method: a guide, good to 1e-8 or so."""
    from ppsm.solvers.qp import solve_convex  # here, for a quick start

    found = solve_convex(follower, curvature)
    if found.status is not Status.PROVEN_OPTIMAL:
        nothing = np.empty(0)
        return LpSolution(found.status, float("nan"), nothing, nothing, nothing)
    reduced = follower.cost + curvature @ found.columns - follower.matrix.T @ found.prices
    return LpSolution(found.status, found.objective, found.columns, found.prices, np.asarray(reduced))
