"""What the fidelity phase returns: an answer that LP vertices confirm, or the reason why there is none.

An interior-point method leaves residuals near 1e-9; a point on the edge of what the follower can serve may
then be just beyond it. The witness (answer and prices) is taken from LP vertices at the point; where they
do not agree with the bands, the point is moved to the nearest one that keeps its dual's support tight, by
one LP.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.fidelity.certificate import Certificate, Claim, certify
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import Incumbent
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status
from ppsm.views import View, Viewed, entry_rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FidelityResult(Viewed):
    """A faithful vector with its proof, or the reason why there is none.

    ``status`` is ``PROVEN_OPTIMAL`` when ``gap`` (relative to the objective) is within the tolerance asked
    for, ``INCUMBENT`` when a limit stopped the search, and has no answer only if a limit left none.
    ``widening`` is the factor by which both bands were widened (1: as asked); ``widening_bound`` is a
    factor below which nothing exists. ``certificate`` was checked without any part of the search;
    :meth:`recertify` solves everything again.
    """

    labels: tuple[str, ...]
    status: Status
    parameter: FloatArray
    objective: float
    bound: float
    gap: float
    nodes: int
    widening: float
    widening_bound: float
    certificate: Certificate | None = field(repr=False)
    claim: Claim | None = field(repr=False)
    seconds: float
    solvers: tuple[str, ...]
    explanation: str = ""

    @property
    def certified(self) -> bool:
        """Whether the answer is proven optimal and its certificate has no finding."""
        return (
            self.status is Status.PROVEN_OPTIMAL
            and self.certificate is not None
            and self.certificate.faithful
        )

    @property
    def bands_in_words(self) -> str:
        """Whether the bands are those that were asked for."""
        return "bands as asked" if self.widening == 1.0 else f"bands widened by {self.widening:.4g}"

    def _view(self) -> View:
        proof = "certified" if self.certified else f"gap {self.gap:.2g}"
        headline = f"{self.status}, {proof}, {self.bands_in_words} {self.explanation}".strip()
        return View(headline, entry_rows(self.labels, self.parameter), ("entry", "faithful"))

    def to_series(self) -> "pd.Series[float]":
        """The vector as a pandas Series, labelled by the entries."""
        import pandas as pd

        return pd.Series(self.parameter, index=pd.Index(self.labels, name="entry"), name="faithful")

    @property
    def value(self) -> float:
        """The follower's value at the answer, re-solved."""
        return self._there().value

    @property
    def price_distance(self) -> float:
        """How far the prices are outside their band (0: inside), re-solved."""
        return self._there().price_excess

    def recertify(self) -> Certificate:
        """Solve the follower again with SciPy's own build of HiGHS and look again for a dual in the band."""
        if self.claim is None:
            raise SolverError(f"there is no answer to certify: {self.explanation or self.status}.")
        return certify(self.claim)

    def _there(self) -> Certificate:
        if self.certificate is None:
            raise SolverError(f"there is no answer to look at: {self.explanation or self.status}.")
        return self.certificate


@dataclass(frozen=True, eq=False)
class Witness:
    """A parameter, an answer that attains its value, and row prices in the band that prove it.

    In the user's units; prices are those of the minimisation.
    """

    parameter: FloatArray
    columns: FloatArray
    row_prices: FloatArray


def faithful_witness(core: Core, lps: FollowerLps, incumbent: Incumbent) -> Witness | None:
    """A witness at the incumbent, or at the nearest point that has one; None where there is none."""
    lps.set_band(core.price_lower, core.price_upper)
    witness = _witness_at(core, lps, incumbent.parameter)
    if witness is None:
        moved = _nearest_on_support(core, incumbent)
        witness = None if moved is None else _witness_at(core, lps, moved)
    if witness is None:
        return None
    quantity, price = core.follower.quantity_unit, core.follower.price_unit
    return Witness(witness.parameter * quantity, witness.columns * quantity, witness.row_prices * price)


def tidied(parameter: FloatArray, values: FloatArray, bounds: PublicBounds, unit: float) -> FloatArray:
    """A parameter whose entries are exactly what they were, or at a public bound, where they are near it."""
    for exact in (bounds.lower, bounds.upper, values):
        finite = np.where(np.isfinite(exact), exact, 0.0)
        near = np.abs(parameter - finite) <= TUNING.unchanged * np.maximum(unit, np.abs(finite))
        parameter = np.where(near & np.isfinite(exact), finite, parameter)
    return np.clip(parameter, bounds.lower, bounds.upper)


def _witness_at(core: Core, lps: FollowerLps, parameter: FloatArray) -> Witness | None:
    shift = core.rows_at(parameter)
    found = lps.value(shift)
    if found is None or not found[1].size:
        return None
    value, columns = found
    size = max(1.0, abs(value))
    if value > core.value_upper + TUNING.agreed * size or value < core.value_lower - TUNING.agreed * size:
        return None
    dual = lps.dual(shift, probing=True)  # from a basis near the last point that was looked at
    if dual is None or value - dual.value > TUNING.agreed * size:
        return None
    return Witness(parameter, columns, dual.row_prices)


def _nearest_on_support(core: Core, incumbent: Incumbent) -> FloatArray | None:
    """``min sum |d - d_incumbent|`` over answers with the support tight and the value in its band."""
    program = core.follower.program
    entries, answers = core.reference.size, program.shape[1]
    shift = core.rows_at(incumbent.parameter)
    row_lower, row_upper, column_lower, column_upper = core.follower.bounds(shift, tight=incumbent.support)
    if (column_lower > column_upper).any() or np.abs(shift).max(initial=0.0) > TUNING.too_far:
        return None
    goods = core.follower.parameter_map
    moves = LinearProgram.of(
        np.zeros(answers),
        program.matrix,
        row_lower=row_lower,
        row_upper=row_upper,
        column_lower=column_lower,
        column_upper=column_upper,
    ).with_columns(
        np.zeros(2 * entries),
        np.maximum(0.0, np.concatenate([core.upper - incumbent.parameter, incumbent.parameter - core.lower])),
        cost=np.ones(2 * entries),
        matrix=sp.hstack([-goods, goods]),
    )
    value = sp.csr_array(program.cost[None, :])
    nearest = solve_lp(moves.with_rows(value, np.array([core.value_lower]), np.array([core.value_upper])))
    if not nearest.status.has_answer:
        return None
    up, down = nearest.columns[answers : answers + entries], nearest.columns[answers + entries :]
    moved = incumbent.parameter + up - down
    return np.clip(moved, core.lower, core.upper) if np.isfinite(moved).all() else None
