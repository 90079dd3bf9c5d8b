"""An independent check of a claimed solution of a game.

Nothing here is shared with the code that builds or solves the single-level problem: the follower is solved
again from the raw arrays of the bilevel program with SciPy's ``milp``, which has a HiGHS of its own, or
with Clarabel where its cost is quadratic.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.silence import silenced
from ppsm.status import Status

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: what, where, and by how much."""

    what: str
    name: str
    index: int
    amount: float
    unit: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.what} '{self.name}' (index {self.index}) by {self.amount:.6g}{unit}"


@dataclass(frozen=True)
class Verification:
    """The verdict: verified exactly when there is no finding.

    ``bilevel_gap`` is how much more the claimed answer costs the follower than its best answer.
    """

    findings: tuple[Finding, ...]
    follower_value: float
    bilevel_gap: float

    @property
    def verified(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def verify(
    program: BilevelProgram,
    variables: ArrayLike,
    responses: ArrayLike,
    prices: ArrayLike,
    objective: float,
    *,
    units: Mapping[str, str] | None = None,
) -> Verification:
    """Check a claimed leader decision, follower answer, price vector and (minimised) leader objective.

    ``units`` maps a variable's or constraint's name (without its index in brackets) to its unit.
    """
    lengths = (len(program.variable_names), program.follower.shape[1], program.follower.shape[0])
    found = _Findings(units or {})
    x, y, p = (np.asarray(claimed, dtype=np.float64) for claimed in (variables, responses, prices))
    for what, claimed, size in zip(
        ("leader's decision", "follower's answer", "prices"), (x, y, p), lengths, strict=True
    ):
        if claimed.shape != (size,) or not np.isfinite(claimed).all():
            found.always("incomplete", what, 0, float(size))
            return found.verdict(np.nan, np.nan)
    _check_leader(program, x, y, p, objective, found)
    shift = program.coupling @ x + program.handed_on @ y
    follower = replace(program.follower, cost=program.follower.cost + program.cost_coupling @ x)
    _check_answer(follower, y, shift, found)
    curve: FloatArray = np.asarray(program.curvature @ y)
    value = _solve_again(follower, shift, program.curvature)
    if value is None:
        found.always("the follower has no optimal answer at", "the leader's decision", 0, INFINITY)
        return found.verdict(np.nan, np.nan)
    cost = float(follower.cost @ y + 0.5 * curve @ y)
    terms = float((np.abs(follower.cost) + np.abs(curve)) @ np.abs(y))
    scale = max(_cost_floor(follower), abs(value), terms)
    found.excess(
        "the follower can do better than its claimed answer at", "follower cost", 0, cost - value, scale
    )
    _check_prices(follower, p, shift, y, curve, value, found)
    return found.verdict(value + follower.offset, cost - value)


class _Findings:
    """Collects what exceeds the tolerance, relative to the scale of the quantity."""

    def __init__(self, units: Mapping[str, str]) -> None:
        self._units = units
        self._found: list[Finding] = []

    def always(self, what: str, name: str, index: int, amount: float) -> None:
        self._found.append(Finding(what, name, index, amount, self._units.get(name.split("[")[0], "")))

    def excess(self, what: str, name: str, index: int, amount: float, scale: float) -> None:
        if not amount <= TOLERANCE * scale:
            self.always(what, name, index, amount)

    def outside(
        self,
        what: str,
        names: tuple[str, ...],
        values: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        scale: FloatArray,
    ) -> None:
        amount = np.maximum(lower - values, values - upper)
        for index in np.flatnonzero(amount > TOLERANCE * scale):
            self.always(what, names[index], int(index), float(amount[index]))

    def verdict(self, value: float, gap: float) -> Verification:
        return Verification(tuple(self._found), value, gap)


def _at_least_one(values: FloatArray) -> FloatArray:
    return np.maximum(1.0, np.abs(values))


def _cost_floor(follower: LinearProgram) -> float:
    """The least scale of costs and prices: 1, or less where all of the follower's costs are smaller.

    With costs of 1e-6 an answer that wastes everything would otherwise be within the tolerance.
    """
    largest = float(np.abs(follower.cost).max(initial=0.0))
    return min(1.0, largest) if largest > 0 else 1.0


def _check_leader(
    program: BilevelProgram,
    x: FloatArray,
    y: FloatArray,
    prices: FloatArray,
    objective: float,
    found: _Findings,
) -> None:
    names = program.variable_names
    found.outside(
        "leader variable out of bounds",
        names,
        x,
        program.variable_lower,
        program.variable_upper,
        _at_least_one(x),
    )
    rounding = np.where(program.is_integer, np.abs(x - np.round(x)), 0.0)
    nowhere = np.full(x.size, -INFINITY)
    found.outside("leader variable not integer", names, rounding, nowhere, np.zeros(x.size), np.ones(x.size))
    parts = ((program.leader_matrix, x), (program.response_matrix, y), (program.price_matrix, prices))
    activity = sum((matrix @ values for matrix, values in parts), np.zeros(len(program.leader_row_names)))
    scale = sum((abs(matrix) @ np.abs(values) for matrix, values in parts), np.zeros(activity.size))
    found.outside(
        "leader constraint violated",
        program.leader_row_names,
        activity,
        program.leader_lower,
        program.leader_upper,
        _at_least_one(scale),
    )
    costs = ((program.leader_cost, x), (program.response_cost, y), (program.price_cost, prices))
    recomputed = program.leader_objective(x, y, prices)
    magnitude = abs(program.offset) + sum(float(np.abs(cost) @ np.abs(values)) for cost, values in costs)
    magnitude += program.products.size(x, y, prices)
    found.excess("misstated", "leader objective", 0, abs(recomputed - objective), max(1.0, magnitude))


def _check_answer(follower: LinearProgram, y: FloatArray, shift: FloatArray, found: _Findings) -> None:
    found.outside(
        "follower variable out of bounds",
        follower.column_names,
        y,
        follower.column_lower,
        follower.column_upper,
        _at_least_one(y),
    )
    activity = follower.matrix @ y + shift
    scale = abs(follower.matrix) @ np.abs(y) + np.abs(shift)
    found.outside(
        "follower constraint violated",
        follower.row_names,
        activity,
        follower.row_lower,
        follower.row_upper,
        _at_least_one(scale),
    )


def _solve_again(follower: LinearProgram, shift: FloatArray, curvature: SparseMatrix) -> float | None:
    """The follower's optimal cost with the leader's decision moved to the right-hand sides."""
    if curvature.nnz:
        return _solve_curved_again(follower, shift, curvature)
    from scipy.optimize import Bounds, LinearConstraint, milp  # here, for a quick start

    # Without integers it is an LP, with half of what ``linprog`` adds; the stubs know only dense matrices.
    matrix: Any = follower.matrix
    rows = LinearConstraint(matrix, follower.row_lower - shift, follower.row_upper - shift)
    with silenced():
        answer = milp(
            follower.cost,
            constraints=rows if follower.shape[0] else (),
            bounds=Bounds(follower.column_lower, follower.column_upper),
        )
    return float(answer.fun) if answer.status == 0 else None


def _solve_curved_again(follower: LinearProgram, shift: FloatArray, curvature: SparseMatrix) -> float | None:
    """The same for a quadratic follower, by Clarabel."""
    from ppsm.solvers.qp import solve_convex, solve_qp_with_clarabel  # here, for a quick start

    answer = solve_convex(follower.shifted(-shift), curvature, solve_qp_with_clarabel)
    return answer.objective if answer.status is Status.PROVEN_OPTIMAL else None


def _check_prices(
    follower: LinearProgram,
    prices: FloatArray,
    shift: FloatArray,
    y: FloatArray,
    curve: FloatArray,
    value: float,
    found: _Findings,
) -> None:
    """Signs of prices and reduced costs, and the dual objective against the re-solved value.

    ``curve`` is the slope of the quadratic cost at the answer y.
    """
    reduced = follower.cost + curve - follower.matrix.T @ prices
    terms = np.abs(follower.cost) + np.abs(curve) + abs(follower.matrix).T @ np.abs(prices)
    floor = _cost_floor(follower)
    curved = 0.5 * float(curve @ y)
    dual_objective, magnitude = -curved, floor + abs(curved)
    for what, names, values, lower, upper, scale in (
        (
            "price of the wrong sign at",
            follower.row_names,
            prices,
            follower.row_lower - shift,
            follower.row_upper - shift,
            # A price with no bound to support it is wrong whatever its size, so its size does not excuse it.
            np.full(prices.size, floor),
        ),
        (
            "reduced cost of the wrong sign at",
            follower.column_names,
            reduced,
            follower.column_lower,
            follower.column_upper,
            np.maximum(floor, terms),
        ),
    ):
        allowed_high = np.where(np.isfinite(lower), INFINITY, 0.0)
        allowed_low = np.where(np.isfinite(upper), -INFINITY, 0.0)
        found.outside(what, names, values, allowed_low, allowed_high, scale)
        earned = np.where(values > 0, lower, upper)
        contribution = np.where(np.isfinite(earned), values * np.where(np.isfinite(earned), earned, 0.0), 0.0)
        dual_objective += float(contribution.sum())
        magnitude += float(np.abs(contribution).sum())
    difference = abs(dual_objective - value)
    found.excess("dual objective differs from the follower's value at", "prices", 0, difference, magnitude)
