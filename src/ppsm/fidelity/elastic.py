"""When no vector satisfies the bands: the smallest common factor that makes them satisfiable.

One LP over everything but complementarity gives a lower bound. From there the factor is raised until the
exact search finds a faithful point, and then bisected. Bands of different factors are nested, so a search
that proves one factor infeasible refutes every smaller one, and the answer is exact to the tolerance.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.fidelity.branching import SearchOutcome
from ppsm.fidelity.core import Core
from ppsm.fidelity.joint import JointMatrices
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status

TOLERANCE = 1e-3
# Where attempts end without a verdict the least factor cannot be proven; this close is then enough.
_UNPROVEN_TOLERANCE = 0.2
_ATTEMPTS = 120
# How much longer the next step is, after a factor that is refuted and after one without a verdict.
_STRIDE, _LEAP = 3.0, 10.0
# So many leaps beyond a vector that nothing is proven about: wider bands may give a proof, or a nearer one.
_LEAPS_BEYOND = 2


@dataclass(frozen=True, eq=False)
class Widening:
    """The factor used, and the largest factor that is known to be too small."""

    factor: float
    bound: float
    outcome: SearchOutcome | None


def widening_floor(asked: Core, wider: Core, parts: JointMatrices) -> float:
    """A factor below which no point exists: the least one that value and prices need on their own.

    Limits are linear in the factor; ``asked`` and ``wider`` are the problem at factors 1 and 2. Here the
    second block of columns is the parameter itself: its reference may be far away and plays no part.
    """
    program, sides = asked.follower.program, asked.follower.sides
    middle = np.concatenate([program.cost, np.zeros(parts.entries)])
    rows = parts.matrix.shape[0] - 1
    limits = [
        _in_factor(asked.price_lower, wider.price_lower, parts.answers + parts.entries, parts, 1.0),
        _in_factor(asked.price_upper, wider.price_upper, parts.answers + parts.entries, parts, -1.0),
    ]
    for narrow, wide, sign in (
        (asked.value_lower, wider.value_lower, 1.0),
        (asked.value_upper, wider.value_upper, -1.0),
    ):
        if np.isfinite(narrow):
            row = np.append(sign * parts.matrix[[rows], :].toarray().ravel(), -sign * (wide - narrow))
            limits.append((sp.csr_array(row[None, :]), np.array([sign * (2.0 * narrow - wide)])))
    base = sp.hstack([parts.matrix[:rows, :], sp.csr_array((rows, 1))])
    extra = sum(limit[1].size for limit in limits)
    columns = parts.matrix.shape[1] + 1
    free = np.full(parts.entries, INFINITY)
    solution = solve_lp(
        LinearProgram(
            cost=np.append(np.zeros(columns - 1), 1.0),
            matrix=sp.vstack([base, *(limit[0] for limit in limits)], format="csr"),
            row_lower=np.concatenate([program.row_lower, middle, *(limit[1] for limit in limits)]),
            row_upper=np.concatenate([program.row_upper, middle, np.full(extra, INFINITY)]),
            column_lower=np.concatenate(
                [
                    program.column_lower,
                    asked.lower,
                    -free,
                    np.where(sides.is_free, -INFINITY, 0.0),
                    [1.0],
                ]
            ),
            column_upper=np.concatenate(
                [
                    program.column_upper,
                    asked.upper,
                    free,
                    np.full(sides.count + 1, INFINITY),
                ]
            ),
            row_names=tuple(f"r{k}" for k in range(rows + extra)),
            column_names=tuple(f"c{k}" for k in range(columns)),
        )
    )
    return max(1.0, solution.objective) if solution.status.has_answer else 1.0


def _in_factor(
    narrow: FloatArray, wide: FloatArray, first: int, parts: JointMatrices, sign: float
) -> tuple[SparseMatrix, FloatArray]:
    """Rows ``sign (y - limit(factor)) >= 0`` for the entries that have a limit."""
    entries = np.flatnonzero(np.isfinite(narrow))
    slope = wide[entries] - narrow[entries]
    positions = np.arange(entries.size)
    width = parts.matrix.shape[1] + 1
    matrix = sp.csr_array(
        (
            np.concatenate([np.full(entries.size, sign), -sign * slope]),
            (np.tile(positions, 2), np.concatenate([first + entries, np.full(entries.size, width - 1)])),
        ),
        shape=(entries.size, width),
    )
    return matrix, sign * (narrow[entries] - slope)


def least_widening(floor: float, attempt: Callable[[float], SearchOutcome | None]) -> Widening:
    """Find the least factor at which ``attempt`` finds a point, from a lower bound ``floor >= 1``.

    ``attempt`` searches for any faithful point with the bands widened by a factor; None means that time is
    up. An attempt that a limit stopped refutes nothing: the factor found is then still feasible, but
    ``bound`` stays low, and neither is worth many attempts.
    """
    low, refuted, step = floor, floor, max(10.0 * TOLERANCE, 0.01 * floor)
    high, found = floor * (1.0 + 0.1 * TOLERANCE), None
    unproven: list[tuple[float, float, SearchOutcome]] = []
    for _ in range(_ATTEMPTS):
        outcome = attempt(high)
        if outcome is None:
            break
        if outcome.incumbent is not None and outcome.status is Status.PROVEN_OPTIMAL:
            found = outcome
            break
        if outcome.incumbent is not None:
            unproven.append((low, high, outcome))
            if len(unproven) > _LEAPS_BEYOND:
                break
        low = high
        is_refuted = outcome.status is Status.INFEASIBLE
        refuted = high if is_refuted else refuted
        step *= _STRIDE if is_refuted else _LEAP
        high += step
    if found is None and unproven:
        low, high, found = unproven[0]
    while found is not None and low > floor:
        tolerance = TOLERANCE if low == refuted else _UNPROVEN_TOLERANCE
        if high - low <= tolerance * high:
            break
        middle = float(np.sqrt(low * high))
        outcome = attempt(middle)
        if outcome is None:
            break
        # Where nothing is refuted, narrower bands are no gain if the point in them may be far away and the
        # one in the wider is near.
        is_near = outcome.status is Status.PROVEN_OPTIMAL or found.status is not Status.PROVEN_OPTIMAL
        if outcome.incumbent is not None and (is_near or low == refuted):
            high, found = middle, outcome
            continue
        low = middle
        refuted = max(refuted, middle) if outcome.status is Status.INFEASIBLE else refuted
    return Widening(high, min(refuted, high), found)
