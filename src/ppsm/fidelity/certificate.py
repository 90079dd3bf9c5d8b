"""The proof that a released vector is faithful, checked by code that shares nothing with the search.

:func:`check_witness` needs no solver at all: an answer that is feasible and dual prices that are feasible,
in the band and worth as much prove by weak duality that both are optimal. :func:`certify` trusts no witness
either: it solves the follower again from the raw arrays with SciPy's ``linprog``, which has a HiGHS of its
own, and looks for the optimal dual nearest to the band.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.bilevel.verify import Finding
from ppsm.fidelity.problem import HalfSpaces
from ppsm.program import LinearProgram

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Certificate:
    """What was found at a released vector, in the sense and units of the user's model.

    ``value_excess`` and ``price_excess`` say how far value and prices are outside their bands (0 inside),
    and ``bound_excess`` how far the vector is outside its public bounds. Faithful exactly when there is no
    finding.
    """

    value: float
    value_excess: float
    price_excess: float
    bound_excess: float
    findings: tuple[Finding, ...]

    @property
    def faithful(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


@dataclass(frozen=True, eq=False)
class Claim:
    """A released vector and what it is claimed to satisfy, in the user's sense (``sign``)."""

    program: LinearProgram
    parameter_map: SparseMatrix
    names: tuple[str, ...]
    sign: float
    parameter: FloatArray
    lower: FloatArray
    upper: FloatArray
    value: float | None
    value_width: float
    prices: FloatArray | None
    price_width: FloatArray | None
    half_spaces: HalfSpaces | None = None

    @cached_property
    def typical_quantity(self) -> float:
        """What counts as one unit: half of the follower's bounds are larger.

        Where it has none, nothing tells what is small: 1, or the largest entry of the vector if that is more.
        """
        program = self.program
        parts = [program.row_lower, program.row_upper, program.column_lower, program.column_upper]
        numbers = np.abs(np.concatenate(parts))
        sizes = numbers[np.isfinite(numbers) & (numbers > 0)]
        if sizes.size:
            return float(np.median(sizes))
        return max(1.0, float(np.abs(self.parameter).max(initial=0.0)))

    @property
    def typical_price(self) -> float:
        """The largest cost in the follower; 1 where it has none."""
        return float(np.abs(self.program.cost).max(initial=0.0)) or 1.0

    @property
    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Row bounds at the vector."""
        shift = self.parameter_map @ self.parameter
        return self.program.row_lower + shift, self.program.row_upper + shift


def check_witness(claim: Claim, answer: FloatArray, row_prices: FloatArray) -> Certificate:
    """Check a claim by an answer and row prices (of the minimisation) with matrix-vector products alone."""
    program = claim.program
    found: list[Finding] = []
    row_lower, row_upper = claim.rows
    activity = program.matrix @ answer
    size = abs(program.matrix) @ np.abs(answer) + np.abs(claim.parameter_map @ claim.parameter)
    size = np.maximum(size, claim.typical_quantity)
    _outside(found, "follower row violated", program.row_names, activity, row_lower, row_upper, size)
    bounds = program.column_lower, program.column_upper
    size = np.maximum(np.abs(answer), claim.typical_quantity)
    _outside(found, "follower column out of bounds", program.column_names, answer, *bounds, size)
    reduced = program.cost - program.matrix.T @ row_prices
    largest = claim.typical_price
    worth, magnitude = 0.0, 0.0
    for what, names, duals, lower, upper in (
        ("price without a bound to support it", program.row_names, row_prices, row_lower, row_upper),
        ("reduced cost without a bound to support it", program.column_names, reduced, *bounds),
    ):
        side = np.where(duals > 0, lower, upper)
        supported = np.isfinite(side)
        stray = np.where(supported, 0.0, np.abs(duals))
        wrong = np.flatnonzero(stray > TOLERANCE * largest)
        found.extend(Finding(what, names[index], int(index), float(stray[index])) for index in wrong)
        earned = np.where(supported, duals * np.where(supported, side, 0.0), 0.0)
        worth, magnitude = worth + float(earned.sum()), magnitude + float(np.abs(earned).sum())
    cost = float(program.cost @ answer)
    if abs(cost - worth) > TOLERANCE * max(magnitude, largest * claim.typical_quantity):
        found.append(Finding("answer and prices differ in worth at", "follower", 0, abs(cost - worth)))
    entry_prices = claim.sign * (claim.parameter_map.T @ row_prices)
    return _verdict(claim, claim.sign * (cost + program.offset), _price_excess(claim, entry_prices), found)


def certify(claim: Claim) -> Certificate:
    """Solve the follower again, and look for the optimal dual whose prices are nearest to the band."""
    value = _solve_again(claim)
    if value is None:
        nothing = Finding("the follower has no optimal answer at", "the released vector", 0, np.inf)
        return _verdict(claim, np.nan, np.nan, [nothing])
    return _verdict(claim, claim.sign * (value + claim.program.offset), _nearest_prices(claim, value), [])


def _verdict(claim: Claim, value: float, price_excess: float, found: list[Finding]) -> Certificate:
    value_excess = 0.0
    if claim.value is not None:
        value_excess = max(0.0, abs(value - claim.value) - claim.value_width)
        floor = claim.typical_price * claim.typical_quantity
        if not value_excess <= TOLERANCE * max(abs(claim.value), floor):
            found.append(Finding("value outside its band at", "follower", 0, value_excess))
    if claim.prices is not None:
        largest = float(np.abs(claim.prices).max(initial=0.0))
        if not price_excess <= TOLERANCE * max(largest, claim.typical_price):
            found.append(Finding("no optimal dual in the price band at", "prices", 0, price_excess))
    outside = np.maximum(claim.lower - claim.parameter, claim.parameter - claim.upper)
    found.extend(
        Finding("outside its public bounds", claim.names[index], int(index), float(outside[index]))
        for index in np.flatnonzero(outside > 0.0)
    )
    missed = 0.0 if claim.half_spaces is None else claim.half_spaces.missed(claim.parameter)
    if missed > TOLERANCE * max(claim.typical_quantity, float(np.abs(claim.parameter).sum())):
        found.append(Finding("outside a half-space", "the released vector", 0, missed))
    return Certificate(
        value, value_excess, price_excess, max(0.0, float(outside.max(initial=0.0))), tuple(found)
    )


def _price_excess(claim: Claim, prices: FloatArray) -> float:
    if claim.prices is None or claim.price_width is None:
        return 0.0
    return float(np.max(np.abs(prices - claim.prices) - claim.price_width, initial=0.0))


def _outside(
    found: list[Finding],
    what: str,
    names: tuple[str, ...],
    values: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    size: FloatArray,
) -> None:
    amount = np.maximum(lower - values, values - upper)
    wrong = np.flatnonzero(amount > TOLERANCE * size)
    found.extend(Finding(what, names[index], int(index), float(amount[index])) for index in wrong)


def _solve_again(claim: Claim) -> float | None:
    program = claim.program
    row_lower, row_upper = claim.rows
    equal = program.row_lower == program.row_upper
    above, below = np.isfinite(row_upper) & ~equal, np.isfinite(row_lower) & ~equal
    inequality = sp.vstack([program.matrix[above, :], -program.matrix[below, :]], format="csr")
    limits = np.concatenate([row_upper[above], -row_lower[below]])
    # The stubs know only dense matrices and lists of bounds.
    solve: Any = linprog
    answer = solve(
        program.cost,
        A_ub=inequality if limits.size else None,
        b_ub=limits if limits.size else None,
        A_eq=program.matrix[equal, :] if equal.any() else None,
        b_eq=row_upper[equal] if equal.any() else None,
        bounds=np.column_stack([program.column_lower, program.column_upper]),
        method="highs",
    )
    return float(answer.fun) if answer.status == 0 else None


def _nearest_prices(claim: Claim, value: float) -> float:
    """How far the optimal dual nearest to the band is outside it: one LP over the optimal duals.

    Duals count as optimal within 1e-7 of the value: at the edge of a cell, where solutions tend to lie, an
    exact test would depend on the last digit.
    """
    if claim.prices is None or claim.price_width is None:
        return 0.0
    program = claim.program
    row_lower, row_upper = claim.rows
    parts, worth = [], []
    identity = sp.eye_array(program.shape[1], format="csr")
    for matrix, lower, upper in (
        (program.matrix.T.tocsr(), row_lower, row_upper),
        (identity, program.column_lower, program.column_upper),
    ):
        for side, direction in ((lower, 1.0), (upper, -1.0)):
            keep = np.flatnonzero(np.isfinite(side))
            parts.append(direction * matrix[:, keep])
            worth.append(direction * side[keep])
    row_parts = sum(part.shape[1] for part in parts[:2])
    stationarity = sp.hstack([*parts, sp.csr_array((program.shape[1], 1))], format="csr")
    dual_worth = np.concatenate([*worth, [0.0]])
    signs = [(np.flatnonzero(np.isfinite(row_lower)), 1.0), (np.flatnonzero(np.isfinite(row_upper)), -1.0)]
    to_prices = sp.hstack([s * claim.parameter_map.T.tocsr()[:, keep] for keep, s in signs], format="csr")
    limited = np.flatnonzero(np.isfinite(claim.price_width))
    rest = sp.csr_array((limited.size, stationarity.shape[1] - row_parts - 1))
    unit = sp.csr_array(np.ones((limited.size, 1)))
    prices = to_prices[limited, :]
    centre, width = claim.sign * claim.prices[limited], claim.price_width[limited]
    slack = 1e-7 * max(abs(value), claim.typical_price * claim.typical_quantity)
    upper_rows = sp.vstack(
        [
            sp.hstack([prices, rest, -unit]),
            sp.hstack([-prices, rest, -unit]),
            sp.csr_array(-dual_worth[None, :]),
        ],
        format="csr",
    )
    solve: Any = linprog
    answer = solve(
        np.append(np.zeros(stationarity.shape[1] - 1), 1.0),
        A_ub=upper_rows,
        b_ub=np.concatenate([centre + width, width - centre, [slack - value]]),
        A_eq=stationarity,
        b_eq=program.cost,
        bounds=(0, None),
        method="highs",
    )
    return float(answer.fun) if answer.status == 0 else np.inf
