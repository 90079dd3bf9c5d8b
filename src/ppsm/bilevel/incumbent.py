"""Feasible points of the game: a first one for the search to start from, and the polish of the last one."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import SolverError
from ppsm.program import LinearProgram
from ppsm.solvers.highs import HIGHS, LpSolution, solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.status import Status


def respond(kkt: KktSystem, variables: FloatArray) -> FloatArray | None:
    """The best point for the leader once its decision is fixed, None where there is none.

    One optimal answer with its multipliers tells all others (Goldman & Tucker 1956): what has a multiplier is
    tight in every optimal answer, what has slack has a zero multiplier in every optimal dual, and any answer
    and dual that obey both are optimal together. So the leader's choice among them is one LP.
    """
    answer = answer_to(kkt, variables)
    return None if answer is None else best_of_answers(kkt, answer, variables, np.arange(variables.size))


def best_of_answers(
    kkt: KktSystem, answer: LpSolution, variables: FloatArray, fixed: IntArray
) -> FloatArray | None:
    """The best point among all optimal answers and prices, of which one is given; some variables are fixed.

    The others must not move the follower.
    """
    point = point_of(kkt, answer, variables)
    signed = point[kkt.first_multiplier :]
    tight = signed[kkt.pairs] > TUNING.clearly
    idle = (kkt.slacks(point)[kkt.pairs] > TUNING.clearly) & ~tight
    pattern = _of_this_answer(kkt, pattern_program(kkt, tight, idle), point)
    solution = solve_lp(pattern.with_fixed(fixed, variables[fixed]))
    return solution.columns if solution.status is Status.PROVEN_OPTIMAL else None


def point_of(kkt: KktSystem, answer: LpSolution, variables: FloatArray) -> FloatArray:
    """A decision with an answer and its multipliers, as columns of the relaxation."""
    multipliers = kkt.multipliers
    signed = multipliers.sign * multipliers.net(answer.prices, answer.reduced_costs)
    # Of the two sides of a row only one carries its price.
    signed = np.where(multipliers.is_free, signed, np.maximum(0.0, signed))
    return np.concatenate([variables, answer.columns, signed])


def _of_this_answer(kkt: KktSystem, pattern: LinearProgram, point: FloatArray) -> LinearProgram:
    """A pattern in which what the others depend on stays: what is handed on, and the slopes of curved costs.

    All best answers of a convex follower share their slopes, and with those fixed it is a linear program.
    """
    curvature, answers = kkt.program.curvature, point[kkt.responses]
    if kkt.program.handed_on.nnz:
        handed = np.unique(kkt.program.handed_on.indices)
        pattern = pattern.with_fixed(kkt.responses.start + handed, answers[handed])
    if curvature.nnz:
        slopes = np.asarray(curvature @ answers)
        exact = TUNING.clearly * np.maximum(1.0, np.abs(slopes))
        before = sp.csr_array((answers.size, kkt.responses.start))
        rows = sp.csr_array(sp.hstack([before, curvature]))
        pattern = pattern.with_rows(rows, slopes - exact, slopes + exact)
    return pattern


def tight_sides(kkt: KktSystem, columns: FloatArray) -> BoolArray:
    """Which inequality of each pair a point keeps tight: the one whose multiplier exceeds its slack."""
    multipliers = columns[kkt.first_multiplier + kkt.pairs]
    return np.asarray(multipliers > kkt.slacks(columns)[kkt.pairs])


def pattern_program(kkt: KktSystem, tight: BoolArray, idle: BoolArray | None = None) -> LinearProgram:
    """The relaxation with pairs decided: tight, or idle (without a multiplier); all others, if not given."""
    upper = kkt.relaxation.column_upper.copy()
    upper[kkt.first_multiplier + kkt.pairs[~tight if idle is None else idle]] = 0.0
    fixed = kkt.pairs[tight]
    constant = -kkt.slack_constant[fixed]
    return replace(kkt.relaxation, column_upper=upper).with_rows(
        sp.csr_array(kkt.slack_matrix[fixed, :]),
        constant,
        constant,
        tuple(f"tight {kkt.multipliers.names[side]}" for side in fixed),
    )


def polish(kkt: KktSystem, columns: FloatArray) -> FloatArray | None:
    """Re-solve with integers and complementarity fixed, so that no pair rests on a solver's tolerance.

    The leader's continuous variables stay free, so the point can only improve; None if the LP has no point.
    """
    program = pattern_program(kkt, tight_sides(kkt, columns))
    solution = solve_lp(program.with_fixed(kkt.is_integer, np.round(columns[kkt.is_integer])))
    return solution.columns if solution.status is Status.PROVEN_OPTIMAL else None


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What the relaxation tells before any method runs.

    ``columns`` is a point of the game (unchecked) or None, ``bound`` a lower bound on its cost or None.
    """

    columns: FloatArray | None
    bound: float | None
    is_unbounded: bool
    interrupted: bool


def first_look(kkt: KktSystem, limits: SolveLimits) -> FirstLook:
    """Solve the relaxation, and improve the follower's answer to its decision piece by piece."""
    try:
        relaxed = solve_mip_with_highs(MixedIntegerProgram(kkt.relaxation, kkt.is_integer), limits)
    except SolverError:  # a first look is no reason to give up
        relaxed = MipResult(Status.NO_INCUMBENT, HIGHS, 0.0)
    # A search for integers that ran out of time does not say whether the relaxation is bounded.
    unbounded = relaxed.bound is None and solve_lp(kkt.relaxation).status is Status.UNBOUNDED
    point = relaxed
    if relaxed.status is Status.UNBOUNDED:
        anywhere = kkt.relaxation.with_cost(np.zeros_like(kkt.relaxation.cost))
        point = solve_mip_with_highs(MixedIntegerProgram(anywhere, kkt.is_integer), limits)
    deadline = time.perf_counter() + limits.seconds
    columns = None
    for decision in _decisions(kkt, point.columns):
        columns = descend(kkt, decision, deadline)
        if columns is not None or time.perf_counter() > deadline:
            break
    return FirstLook(columns, relaxed.bound, unbounded, relaxed.interrupted or point.interrupted)


def _decisions(kkt: KktSystem, relaxed: FloatArray | None) -> Iterator[FloatArray]:
    """Decisions to begin from: the relaxation's, then everything at its largest, then at its smallest."""
    program = kkt.program
    if relaxed is not None:
        yield np.where(program.is_integer, np.round(relaxed[kkt.variables]), relaxed[kkt.variables])
    for corner, inwards in ((program.variable_upper, np.floor), (program.variable_lower, np.ceil)):
        if corner.size and np.isfinite(corner).all():
            yield np.where(program.is_integer, inwards(corner), corner)


def descend(kkt: KktSystem, variables: FloatArray, deadline: float) -> FloatArray | None:
    """The follower's answer to a decision, then the best point of its pattern, and so on while it helps."""
    best = respond(kkt, variables)
    for _ in range(TUNING.descent_steps):
        if best is None or time.perf_counter() > deadline:
            break
        moved = polish(kkt, best)
        answered = None if moved is None else respond(kkt, moved[kkt.variables])
        gain = 0.0 if answered is None else _cost(kkt, best) - _cost(kkt, answered)
        if answered is None or gain <= TUNING.rounding * (1 + abs(_cost(kkt, best))):
            break
        best = answered
    return best


def _cost(kkt: KktSystem, columns: FloatArray) -> float:
    return float(kkt.relaxation.cost @ columns)


def answer_to(kkt: KktSystem, variables: FloatArray) -> LpSolution | None:
    """One optimal answer of the follower with its prices, first turn first; None where some turn has none."""
    program = kkt.program
    rows, columns = program.follower.shape
    answer, prices, reduced = np.zeros(columns), np.zeros(rows), np.zeros(columns)
    for turn in kkt.turns:
        here = program.follower_at(variables, answer)
        if len(kkt.turns) > 1:
            here = here.part(turn.rows, turn.columns)
        curvature = program.curvature[turn.columns, :][:, turn.columns]
        found = solve_lp(here) if not curvature.nnz else _solve_curved(here, curvature)
        if found.status is not Status.PROVEN_OPTIMAL:
            return None
        answer[turn.columns], reduced[turn.columns] = found.columns, found.reduced_costs
        prices[turn.rows] = found.prices
    return LpSolution(Status.PROVEN_OPTIMAL, float("nan"), answer, prices, reduced)


def _solve_curved(follower: LinearProgram, curvature: SparseMatrix) -> LpSolution:
    """A convex quadratic follower by an interior-point method: a guide, good to 1e-8 or so."""
    from ppsm.solvers.qp import solve_convex  # here, for a quick start

    found = solve_convex(follower, curvature)
    return LpSolution(found.status, found.objective, found.columns, found.prices, found.reduced_costs)
