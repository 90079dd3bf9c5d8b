"""When no vector satisfies the bands: the smallest common factor that makes them satisfiable.

Both bands are linear in the factor, so that the least one is a game of its own: its leader chooses vector and
factor, and pays for the factor. The tree over pairs of :mod:`ppsm.bilevel` solves it, with a proof at every
leaf (:func:`factor_by_branching`).

Where that tree is not through in its share of the time, one LP over everything but complementarity gives a
lower bound. From there the factor is raised until the exact search finds a faithful point, and then
bisected. Bands of different factors are nested, so a search that proves one factor infeasible refutes every
smaller one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.bilevel.kkt import build_kkt
from ppsm.bilevel.methods.branching import branch
from ppsm.errors import InputError, ModelError
from ppsm.fidelity.bounds.primal_dual import PrimalDualMatrices
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import SearchOutcome
from ppsm.fidelity.tuning import TUNING
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.conflict import find_conflict
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class Widening:
    """The factor used, and the largest factor that is known to be too small."""

    factor: float
    bound: float
    outcome: SearchOutcome | None


@dataclass(frozen=True, eq=False)
class LeastFactor:
    """The least factor that a tree found, the vector that needs it, and what is proven of the factor."""

    factor: float
    bound: float
    parameter: FloatArray | None
    is_proven: bool


def insist_on_a_value(
    program: LinearProgram,
    parameter_map: SparseMatrix,
    names: tuple[str, ...],
    bounds: PublicBounds,
    lps: FollowerLps,
) -> None:
    """Raise where no bands would help: nothing within the public bounds can be served, or has a value."""
    served = program.with_columns(
        bounds.lower,
        bounds.upper,
        matrix=-parameter_map,
        names=(f"parameter {name}" for name in names),
    )
    feasible = solve_lp(served.with_cost(np.zeros(served.shape[1])))
    if feasible.status is Status.INFEASIBLE:
        raise ModelError(
            f"no vector within the public bounds can be served by the follower: {find_conflict(served)}; "
            "widen the bounds or mend the model."
        )
    at = feasible.columns[program.shape[1] :] / lps.follower.quantity_unit
    lps.set_band(np.full(len(names), -INFINITY), np.full(len(names), INFINITY))
    value = lps.value(np.asarray(lps.follower.parameter_map @ at))
    if value is not None and value[0] == -INFINITY:
        raise ModelError(
            "the follower's cost is unbounded below, so it has neither value nor prices; bound its variables."
        )


def factor_by_branching(asked: Core, wider: Core, deadline: float) -> LeastFactor:
    """Minimise the factor itself until a deadline; ``asked`` and ``wider`` are the problem at 1 and 2."""
    try:
        game = _factor_game(asked, wider)
    except InputError:  # numbers too far apart for one program
        return LeastFactor(INFINITY, 1.0, None, False)
    tree = branch(build_kkt(game), cutoff=None, gap=TUNING.factor_gap, deadline=deadline)
    bound = max(1.0, tree.bound)
    if tree.columns is None:
        return LeastFactor(INFINITY, bound, None, False)
    parameter = tree.columns[: asked.reference.size]
    return LeastFactor(max(1.0, tree.objective), bound, parameter, tree.is_complete and tree.is_certified)


def _factor_game(asked: Core, wider: Core) -> BilevelProgram:
    """The leader chooses vector and factor; value and prices stay within bands that are linear in it."""
    entries, market, goods = asked.reference.size, asked.follower.market, asked.follower.market_map
    rows, columns = market.shape
    value = sp.csr_array(market.cost[None, :])
    parts = []
    for narrow, wide in (
        (np.append(asked.value_lower, asked.price_lower), np.append(wider.value_lower, wider.price_lower)),
        (np.append(asked.value_upper, asked.price_upper), np.append(wider.value_upper, wider.price_upper)),
    ):
        is_limited = np.isfinite(narrow)
        slope = np.where(is_limited, wide, 0.0) - np.where(is_limited, narrow, 0.0)
        parts.append((slope, np.where(is_limited, narrow - slope, narrow)))
    (low_slope, low), (high_slope, high) = parts
    nothing = np.full(entries + 1, INFINITY)
    factor = sp.hstack([sp.csr_array((2 * (entries + 1), entries)), _column(-low_slope, -high_slope)])
    response = sp.vstack([value, sp.csr_array((entries, columns))])
    prices = sp.vstack([sp.csr_array((1, rows)), goods.T])
    weights, least = asked.follower.half_space_rows
    count = least.size
    return BilevelProgram.from_arrays(
        follower=market,
        leader_cost=np.append(np.zeros(entries), 1.0),
        coupling=sp.hstack([-goods, sp.csr_array((rows, 1))]),
        variable_lower=np.append(asked.lower, 1.0),
        variable_upper=np.append(asked.upper, INFINITY),
        leader_matrix=sp.vstack([factor, sp.hstack([weights, sp.csr_array((count, 1))])]),
        response_matrix=sp.vstack([response, response, sp.csr_array((count, columns))]),
        price_matrix=sp.vstack([prices, prices, sp.csr_array((count, rows))]),
        leader_lower=np.concatenate([low, -nothing, least]),
        leader_upper=np.concatenate([nothing, high, np.full(count, INFINITY)]),
    )


def _column(*parts: FloatArray) -> SparseMatrix:
    return sp.csr_array(np.concatenate(parts)[:, None])


def widening_floor(asked: Core, wider: Core, parts: PrimalDualMatrices) -> float:
    """A factor below which no point exists: the least one that value and prices need on their own.

    Limits are linear in the factor; ``asked`` and ``wider`` are the problem at factors 1 and 2. Here the
    second block of columns is the parameter itself: its reference may be far away and plays no part.
    """
    program, width = asked.follower.program, parts.matrix.shape[1]
    anything = np.full(parts.entries, INFINITY)
    dual_lower, dual_upper = parts.dual_limits
    linear = LinearProgram.of(
        np.zeros(width),
        parts.matrix[:-1, :],
        row_lower=np.concatenate([program.row_lower, parts.dual_values]),
        row_upper=np.concatenate([program.row_upper, parts.dual_values]),
        column_lower=np.concatenate([program.column_lower, asked.lower, -anything, dual_lower]),
        column_upper=np.concatenate([program.column_upper, asked.upper, anything, dual_upper]),
    ).with_columns(np.ones(1), np.full(1, INFINITY), cost=np.ones(1))
    prices = sp.eye_array(width, format="csr")[parts.answers + parts.entries : parts.duals, :]
    value = parts.matrix[[-1], :]
    for quantity, narrow, wide, sign in (
        (prices, asked.price_lower, wider.price_lower, 1.0),
        (prices, asked.price_upper, wider.price_upper, -1.0),
        (value, np.array([asked.value_lower]), np.array([wider.value_lower]), 1.0),
        (value, np.array([asked.value_upper]), np.array([wider.value_upper]), -1.0),
    ):
        linear = linear.with_rows(*_in_factor(quantity, narrow, wide, sign))
    solution = solve_lp(linear)
    return max(1.0, solution.objective) if solution.status.has_answer else 1.0


def _in_factor(
    quantity: SparseMatrix, narrow: FloatArray, wide: FloatArray, sign: float
) -> tuple[SparseMatrix, FloatArray]:
    """Rows ``sign (quantity - limit(factor)) >= 0``, the factor being the last column, where limits are.

    A limit is ``narrow`` at factor 1 and ``wide`` at 2, hence ``2 narrow - wide`` at 0.
    """
    limited = np.flatnonzero(np.isfinite(narrow))
    slope = wide[limited] - narrow[limited]
    rows = sp.hstack([quantity[limited, :], -sp.csr_array(slope[:, None])], format="csr")
    return sign * rows, sign * (narrow[limited] - slope)


def least_widening(floor: float, attempt: Callable[[float], SearchOutcome | None]) -> Widening:
    """Find the least factor at which ``attempt`` finds a point, from a lower bound ``floor >= 1``.

    ``attempt`` searches for any faithful point with the bands widened by a factor; None means that time is
    up. An attempt that a limit stopped refutes nothing: the factor found is then still feasible, but
    ``bound`` stays low, and neither is worth many attempts.
    """
    low, refuted, step = floor, floor, max(TUNING.least_step, TUNING.first_step * floor)
    high, found = floor * (1.0 + TUNING.above_floor), None
    unproven: list[tuple[float, float, SearchOutcome]] = []
    for _ in range(TUNING.widening_attempts):
        outcome = attempt(high)
        if outcome is None:
            break
        if outcome.incumbent is not None and outcome.status is Status.PROVEN_OPTIMAL:
            found = outcome
            break
        if outcome.incumbent is not None:
            unproven.append((low, high, outcome))
            if len(unproven) > TUNING.leaps_beyond:
                break
        low = high
        is_refuted = outcome.status is Status.INFEASIBLE
        refuted = high if is_refuted else refuted
        step *= TUNING.stride if is_refuted else TUNING.leap
        high += step
    if found is None and unproven:
        low, high, found = unproven[0]
    while found is not None and low > floor:
        tolerance = TUNING.widening if low == refuted else TUNING.unproven_widening
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
