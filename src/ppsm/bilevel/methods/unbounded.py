"""Games whose linear relaxation is unbounded, where solvers that branch on pairs cannot be trusted.

A game is a finite union of polyhedra, one for each choice of what is tight (a pattern). It is unbounded
exactly when some pattern has both a point and a direction along which the leader's cost falls for ever.
Solvers that branch on SOS1 sets or indicators over an unbounded relaxation can miss that direction and call
the best point they saw optimal. Here the question is put without a cost, so that nothing is unbounded: find a
point ``z`` and a direction ``d`` with ``cost'd = -1`` that share a pattern. Where there is none, the optimum
found is proven by asking, again without a cost, for a point that is better.
"""

import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.bilevel.incumbent import pattern_program, polish
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.scip_forms import indicator
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import SolverError
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.solvers.mip import Indicators, MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import solve_mip_with_scip
from ppsm.status import Status


def solve_over_unbounded_relaxation(
    kkt: KktSystem, problem: MixedIntegerProgram, limits: SolveLimits
) -> MipResult:
    """Solve one of SCIP's forms of a game whose relaxation is unbounded."""
    deadline = time.perf_counter() + limits.seconds
    ray = solve_mip_with_scip(_ray_problem(kkt), limits)
    if ray.columns is not None:
        # The pattern is the solver's, the verdict is that of an LP.
        tight = ray.columns[2 * kkt.relaxation.shape[1] :] > 0.5
        confirmed = solve_lp(pattern_program(kkt, tight)).status
        status = Status.UNBOUNDED if confirmed is Status.UNBOUNDED else Status.NO_INCUMBENT
        return MipResult(status, ray.solver, ray.seconds, interrupted=ray.interrupted)
    if ray.status is not Status.INFEASIBLE:
        return replace(ray, bound=None, objective=None)
    result = solve_mip_with_scip(problem, _until(deadline, limits))
    return _proven(kkt, problem, result, deadline, limits)


def _until(deadline: float, limits: SolveLimits) -> SolveLimits:
    return replace(limits, seconds=max(0.01, deadline - time.perf_counter()))


def _proven(
    kkt: KktSystem, problem: MixedIntegerProgram, result: MipResult, deadline: float, limits: SolveLimits
) -> MipResult:
    """Improve a solution until no better point exists; only then is it called optimal."""
    width = kkt.relaxation.shape[1]
    for _ in range(TUNING.improvements):
        if result.columns is None or result.interrupted:
            # Infeasible is a verdict of its own, as it does not look at the cost.
            return replace(result, bound=None)
        polished = polish(kkt, result.columns[:width])
        columns = result.columns[:width] if polished is None else polished
        objective = float(kkt.relaxation.cost @ columns) + kkt.relaxation.offset
        limit = objective - TUNING.better * max(1.0, abs(objective))
        better = _below(kkt, problem, limit, deadline, limits)
        if better.status is Status.INFEASIBLE:
            return replace(
                result, status=Status.PROVEN_OPTIMAL, columns=columns, objective=objective, bound=limit
            )
        if better.columns is None:
            return replace(
                result,
                status=Status.INCUMBENT,
                columns=columns,
                objective=objective,
                bound=None,
                interrupted=better.interrupted,
            )
        result = replace(better, columns=better.columns[:width], bound=None)
    return replace(result, status=Status.INCUMBENT, bound=None)


def _below(
    kkt: KktSystem, problem: MixedIntegerProgram, limit: float, deadline: float, limits: SolveLimits
) -> MipResult:
    """Look for a point of less cost, in another form where SCIP's LP solver gives up on the first."""
    try:
        return solve_mip_with_scip(question(problem, limit), _until(deadline, limits))
    except SolverError:
        other = question(indicator(kkt).problem, limit)
        return solve_mip_with_scip(other, _until(deadline, limits))


def question(problem: MixedIntegerProgram, limit: float | None) -> MixedIntegerProgram:
    """Whether a point with at most a given cost (or any) exists, asked without a cost."""
    asked = problem.linear if limit is None else problem.linear.capped(limit)
    return replace(problem, linear=asked.with_cost(np.zeros_like(asked.cost)), start=None)


def _ray_problem(kkt: KktSystem) -> MixedIntegerProgram:
    """Columns: a point z, a direction d, and a binary for each pair that both must obey."""
    linear, sides = kkt.relaxation, kkt.pairs
    width, count = linear.shape[1], sides.size
    direction = _directions(linear)
    falls = sp.csr_array(linear.cost[None, :])
    moves = direction.with_rows(falls, -np.ones(1), -np.ones(1))
    both = linear.stacked(moves).with_cost(np.zeros(2 * width)).with_columns(np.zeros(count), np.ones(count))
    slack = kkt.slack_matrix[sides, :]
    entries = (np.ones(count), (np.arange(count), kkt.first_multiplier + sides))
    pick = sp.csr_array(entries, shape=(count, width))
    nothing = sp.csr_array((count, width))
    rows = [
        sp.hstack(pair) for pair in ((slack, nothing), (nothing, slack), (pick, nothing), (nothing, pick))
    ]
    binaries = 2 * width + np.arange(count)
    zero = np.zeros(count)
    indicators = Indicators(
        columns=np.tile(binaries, 4),
        values=np.arange(4 * count) < 2 * count,
        matrix=sp.hstack([sp.vstack(rows), sp.csr_array((4 * count, count))], format="csr"),
        upper=np.concatenate([-kkt.slack_constant[sides], zero, zero, zero]),
    )
    integer = np.concatenate(
        [kkt.is_integer, np.zeros(width, dtype=np.bool_), np.ones(count, dtype=np.bool_)]
    )
    return MixedIntegerProgram(both, integer, indicators=indicators)


def _directions(linear: LinearProgram) -> LinearProgram:
    """The recession cone of a linear program: every finite bound becomes zero."""

    def cone(bound: FloatArray) -> FloatArray:
        return np.where(np.isfinite(bound), 0.0, bound)

    return replace(
        linear,
        row_lower=cone(linear.row_lower),
        row_upper=cone(linear.row_upper),
        column_lower=cone(linear.column_lower),
        column_upper=cone(linear.column_upper),
    )
