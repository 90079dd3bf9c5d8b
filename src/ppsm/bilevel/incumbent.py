"""Feasible points of the game: a first one for the search to start from, and the polish of the last one."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray
from ppsm.bilevel.assembly import with_rows
from ppsm.bilevel.kkt import KktSystem
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status

_MOST_STEPS = 30


def respond(kkt: KktSystem, variables: FloatArray) -> FloatArray | None:
    """The best point for the leader once its decision is fixed: an LP, as the duality row is then linear."""
    program, multipliers = kkt.program, kkt.multipliers
    lower, upper = kkt.relaxation.column_lower.copy(), kkt.relaxation.column_upper.copy()
    lower[kkt.variables] = upper[kkt.variables] = variables
    duality = np.zeros(kkt.relaxation.shape[1])
    duality[kkt.responses] = program.follower.cost
    earned = -multipliers.sign * multipliers.bound + (program.coupling @ variables) @ kkt.price_map
    duality[kkt.first_multiplier :] = earned
    fixed = replace(kkt.relaxation, column_lower=lower, column_upper=upper)
    row = sp.csr_array(duality[None, :])
    solution = solve_lp(with_rows(fixed, row, np.array([-INFINITY]), np.zeros(1), ("strong duality",)))
    return solution.columns if solution.status is Status.PROVEN_OPTIMAL else None


def polish(kkt: KktSystem, columns: FloatArray) -> FloatArray | None:
    """Re-solve with integers and complementarity fixed, so that no pair rests on a solver's tolerance.

    The leader's continuous variables stay free, so the point can only improve; None if the LP has no point.
    """
    solution = solve_lp(_with_fixed_pattern(kkt, columns))
    return solution.columns if solution.status is Status.PROVEN_OPTIMAL else None


def _with_fixed_pattern(kkt: KktSystem, columns: FloatArray) -> LinearProgram:
    integer = np.flatnonzero(kkt.is_integer)
    lower, upper = kkt.relaxation.column_lower.copy(), kkt.relaxation.column_upper.copy()
    lower[integer] = upper[integer] = np.round(columns[integer])
    tight = columns[kkt.first_multiplier + kkt.pairs] > kkt.slacks(columns)[kkt.pairs]
    upper[kkt.first_multiplier + kkt.pairs[~tight]] = 0.0
    fixed = kkt.pairs[tight]
    constant = -kkt.slack_constant[fixed]
    return with_rows(
        replace(kkt.relaxation, column_lower=lower, column_upper=upper),
        sp.csr_array(kkt.slack_matrix[fixed, :]),
        constant,
        constant,
        tuple(f"tight {kkt.multipliers.names[side]}" for side in fixed),
    )


def first_incumbent(kkt: KktSystem, limits: SolveLimits) -> FloatArray | None:
    """A feasible point: the follower's answer to the relaxation's decision, improved piece by piece."""
    relaxed = solve_mip_with_highs(MixedIntegerProgram(kkt.relaxation, kkt.is_integer), limits)
    if relaxed.columns is None:
        return None
    variables = relaxed.columns[kkt.variables].copy()
    integer = kkt.program.is_integer
    variables[integer] = np.round(variables[integer])
    best = respond(kkt, variables)
    for _ in range(_MOST_STEPS):
        if best is None:
            break
        moved = polish(kkt, best)
        answered = None if moved is None else respond(kkt, moved[kkt.variables])
        if answered is None or _cost(kkt, answered) >= _cost(kkt, best) - 1e-9 * (1 + abs(_cost(kkt, best))):
            break
        best = answered
    return best


def _cost(kkt: KktSystem, columns: FloatArray) -> float:
    return float(kkt.relaxation.cost @ columns)
