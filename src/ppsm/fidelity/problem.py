"""What the fidelity phase is asked for: bands, public bounds, prior, limits, and the released vector.

Conventions. Bands are **absolute** half-widths around targets, in the sense and units of the user's model;
:meth:`Bands.relative` makes them from fractions of the targets, as the paper states them (0.001 is 0.1 %).
The price of an entry is the rate at which the follower's value rises with it (``F' prices`` of the rows it
enters; signs: see :mod:`ppsm.program`). Prices need not be unique: a point is faithful when **some**
optimal dual has all its prices in the band (the optimistic convention of the paper; one LP decides it).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import INFINITY, LARGEST_ENTRY, LARGEST_VALUE, FloatArray, frozen_vector, one_or_each
from ppsm.errors import InputError, SecretExposureError
from ppsm.fidelity.tuning import TUNING
from ppsm.labels import unlabelled
from ppsm.privacy.measurements import zone_members
from ppsm.privacy.released import Released
from ppsm.privacy.sensitive import Sensitive

Norm = Literal["l2", "l1"]
# The textbook forms of the optimality conditions, and the search that replaces them.
Form = Literal["big-m", "indicator", "sos1"]
Method = Literal["search", "big-m", "indicator", "sos1"]


@runtime_checkable
class PublicVector(Protocol):
    """A vector that may be looked at: a release, or public data."""

    @property
    def values(self) -> Any:
        """The numbers."""

    @property
    def entry_names(self) -> Sequence[str]:
        """One name for each."""


def public_values(released: PublicVector | ArrayLike, names: tuple[str, ...]) -> FloatArray:
    """The numbers of a released or public vector; a secret is refused before anything is read from it."""
    if isinstance(released, Sensitive):
        raise SecretExposureError(
            "a secret vector was passed to the fidelity phase, which may only see released or public "
            "data; release it first."
        )
    if isinstance(released, Released):
        # A secret keeps to the limit; noise may have carried it beyond.
        held = np.clip(released.values, -LARGEST_ENTRY, LARGEST_ENTRY)
        released = replace(released, values=held)
    return _moderate(released, names, "the released vector")


def _moderate(given: Any, names: tuple[str, ...], what: str) -> FloatArray:
    """A frozen vector of numbers that solvers can work with."""
    vector = frozen_vector(given, len(names), what, names=names)
    for index in np.flatnonzero(np.abs(vector) > LARGEST_ENTRY)[:1]:
        raise InputError(
            f"{what} of '{names[index]}' is {vector[index]:g}; expected at most "
            f"{LARGEST_ENTRY:g} in size: use larger units."
        )
    return vector


@dataclass(frozen=True, eq=False)
class Bands:
    """Absolute bands: ``|value - value_target| <= value_width`` and the same for each price.

    A target of None asks nothing: both None is feasibility only, no prices is PPSM_p. An infinite width asks
    nothing of that entry.
    """

    value: float | None = None
    value_width: float = 0.0
    prices: FloatArray | None = None
    price_width: FloatArray | None = None

    @classmethod
    def relative(
        cls,
        value: float | None,
        prices: ArrayLike | None,
        *,
        eta_p: float = 0.001,
        eta_d: ArrayLike = 0.001,
    ) -> Self:
        """Bands of a fraction ``eta_p`` of the value and ``eta_d`` of each price.

        A price target smaller than 1 % of the largest one gets the width of that 1 %.
        """
        value_width = 0.0
        if value is not None:
            value = float(_numbers(value, "the value target"))
            value_width = _checked_width(eta_p, "eta_p") * abs(value)
        if prices is None:
            return cls(value, value_width)
        target = np.atleast_1d(_numbers(prices, "the target price"))
        fractions = _numbers(eta_d, "eta_d")
        if fractions.ndim and fractions.shape != target.shape:
            raise InputError(
                f"eta_d has shape {fractions.shape} for {target.size} prices; pass one number, or one each."
            )
        for number in np.unique(fractions):
            _checked_width(float(number), "eta_d")
        size = np.abs(target)
        width = fractions * np.maximum(size, TUNING.price_floor * size.max(initial=0.0))
        return cls(value, value_width, target, width)

    def checked(self, names: tuple[str, ...]) -> Self:
        """The same bands with every number checked and frozen."""
        if self.value is not None and not abs(self.value) <= LARGEST_VALUE:
            raise InputError(
                f"the value target is {self.value}; expected a number of at most {LARGEST_VALUE:g} in size, "
                "or None for no band: use larger units."
            )
        _checked_width(self.value_width, "the width of the value band")
        if self.prices is None:
            return type(self)(self.value, float(self.value_width))
        prices = _moderate(self.prices, names, "the target price")
        width = np.broadcast_to(np.asarray(self.price_width, dtype=np.float64), prices.shape)
        width = frozen_vector(width, len(names), "the width of the price band", infinite=True, names=names)
        if (width < 0).any():
            name = names[int(np.flatnonzero(width < 0)[0])]
            raise InputError(
                f"the price band of '{name}' has width {width.min()}; expected a number of at least 0."
            )
        return type(self)(self.value, float(self.value_width), prices, width)

    def widened(self, factor: float) -> Self:
        """Bands with widths multiplied by a factor; a width of zero grows from 0.1 % of its target."""
        if factor == 1.0:
            return self
        value_width = self.value_width
        if self.value is not None:
            value_width = _grown(value_width, abs(self.value), factor)
        if self.prices is None or self.price_width is None:
            return type(self)(self.value, float(value_width))
        largest = float(np.abs(self.prices).max(initial=0.0)) or 1.0
        sizes = np.maximum(np.abs(self.prices), TUNING.price_floor * largest)
        return type(self)(
            self.value, float(value_width), self.prices, _grown(self.price_width, sizes, factor)
        )


def _grown(width: Any, size: Any, factor: float) -> Any:
    step = TUNING.zero_width_step * np.where(np.asarray(size) > 0, size, 1.0)
    return np.where(np.asarray(width) > 0, width * factor, step * (factor - 1.0))


def _numbers(given: ArrayLike, what: str) -> FloatArray:
    try:
        return np.array(unlabelled(given, what), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is {given!r}; expected numbers.") from None


def _checked_width(width: float, what: str) -> float:
    if not width >= 0.0:
        raise InputError(f"{what} is {width}; expected a number of at least 0.")
    return float(width)


@dataclass(frozen=True, eq=False)
class Prior:
    """What public or already released history says: a mean and a spread (standard deviation) for each entry.

    With Laplace noise of scale b = alpha / epsilon (variance 2 b^2) the distance becomes the Bayesian

        l2:  sum (d - d~)^2 + (2 b^2 / spread^2) (d - mean)^2
        l1:  sum |d - d~|   + (b / (2 spread^2)) (d - mean)^2

    The l1 form is the exact negative log-posterior of a Gaussian prior times b; the l2 form replaces the
    noise by a Gaussian of the same variance. An infinite spread says nothing about its entry.
    """

    mean: ArrayLike
    spread: ArrayLike
    noise_scale: float

    def strengths(self, names: tuple[str, ...], norm: Norm) -> tuple[FloatArray, FloatArray]:
        """Mean and weight of each entry's prior term."""
        mean = frozen_vector(self.mean, len(names), "the prior mean", names=names)
        spread = one_or_each(self.spread, names, "the prior spread")
        spread = frozen_vector(spread, len(names), "the prior spread", infinite=True, names=names)
        if not (spread > 0).all():
            name = names[int(np.flatnonzero(~(spread > 0))[0])]
            raise InputError(f"the prior spread of '{name}' is {spread.min()}; expected a positive number.")
        if not (np.isfinite(self.noise_scale) and self.noise_scale > 0):
            raise InputError(
                f"the prior's noise scale is {self.noise_scale}; expected alpha / epsilon, a positive number."
            )
        factor = 2.0 * self.noise_scale**2 if norm == "l2" else 0.5 * self.noise_scale
        return mean, factor / spread**2


@dataclass(frozen=True, eq=False)
class MeasuredTotals:
    """Noisy totals beside noisy entries, of all of them or of each zone, which weigh in by their likelihood.

    With noise of scale b on entries and b' on totals the distance becomes, with one term for each zone,

        l2:  sum (d - d~)^2 + (b / b')^2 (sum of its d - total)^2
        l1:  sum |d - d~|   + (b / b')   |sum of its d - total|

    Attributes
    ----------
    values
        The noisy totals.
    members
        A row for each: 1 for the entries of its zone, 0 for others.
    scale, entry_scale
        The scales of the noise, b' and b.
    """

    values: FloatArray
    members: FloatArray
    scale: float
    entry_scale: float

    @classmethod
    def of(cls, released: object) -> Self | None:
        """The totals that were measured with a release; None without any, and for anything else."""
        if not isinstance(released, Released) or released.total_scale is None or not released.totals:
            return None
        members = zone_members(released.zones, released.values.size)
        return cls(np.array(released.totals), members, released.total_scale, released.scale)

    @property
    def ratio(self) -> float:
        """How many times as exact as an entry a total is."""
        return self.entry_scale / self.scale

    def missed(self, values: FloatArray) -> FloatArray:
        """By how much the sums of entries are off each total, in units in which an entry's noise counts."""
        return np.asarray(self.ratio * (self.members @ values - self.values))

    def spread_over(self, values: FloatArray) -> FloatArray:
        """The entries that are nearest to all measurements, whatever bounds and the market say."""
        pull = self.ratio / (1.0 + self.members.sum(axis=1) * self.ratio**2)
        return np.asarray(values - (pull * self.missed(values)) @ self.members)


def measured_entries(released: Released) -> FloatArray:
    """The entries by all that was measured: corrected by totals where there are some."""
    totals = MeasuredTotals.of(released)
    return released.values if totals is None else totals.spread_over(released.values)


@dataclass(frozen=True, eq=False)
class Nearness:
    """How near vectors are to one that was made of measurements, in their metric.

    Around the nearest vector ``c`` to all that was measured the squared distance grows by

        sum weights (d - c)^2 + ratio^2 (members (d - c))^2

    so what is nearest to ``c`` in this metric is nearest to the measurements, as far as no bound was reached.

    Attributes
    ----------
    center
        The vector.
    weights
        1 for the noise of an entry, and what a prior adds.
    members, ratio
        A row for each total that was measured, and how many times as exact as an entry it is.
    scale
        That of an entry's noise.
    """

    center: FloatArray
    weights: FloatArray
    members: FloatArray
    ratio: float
    scale: float

    @classmethod
    def to(cls, center: FloatArray, noisy: Released, prior: "Prior | None") -> Self:
        """Nearness to a vector that was made of a noisy one, and perhaps of a prior."""
        totals, size = MeasuredTotals.of(noisy), center.size
        weights = np.ones(size)
        if prior is not None:
            weights += prior.strengths(noisy.entry_names, "l2")[1]
        members = np.empty((0, size)) if totals is None else totals.members
        return cls(center, weights, members, 0.0 if totals is None else totals.ratio, noisy.scale)

    @property
    def hessian(self) -> FloatArray:
        """That of half the squared distance."""
        return np.asarray(np.diag(self.weights) + self.ratio**2 * self.members.T @ self.members)

    def squared(self, vector: FloatArray) -> float:
        """The squared distance of a vector."""
        moved = vector - self.center
        return float(moved @ self.hessian @ moved)


@dataclass(frozen=True, eq=False)
class PublicBounds:
    """What everybody knows about each entry: ``lower <= d <= upper``; by default only ``d >= 0``."""

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, bounds: tuple[ArrayLike, ArrayLike] | None, names: tuple[str, ...]) -> Self:
        """Check a pair (lower, upper) of numbers or vectors."""
        try:
            lower, upper = (0.0, INFINITY) if bounds is None else bounds
        except (TypeError, ValueError):
            raise InputError(f"the public bounds are {bounds!r}; expected a pair (lower, upper).") from None
        parts = []
        for what, side in (("lower", lower), ("upper", upper)):
            filled = one_or_each(side, names, f"the {what} bound")
            parts.append(frozen_vector(filled, len(names), f"the {what} bound", infinite=True, names=names))
        for index in np.flatnonzero((parts[0] > parts[1]) | (parts[0] == INFINITY) | (parts[1] == -INFINITY))[
            :1
        ]:
            raise InputError(
                f"the public bounds of '{names[index]}' are [{parts[0][index]}, {parts[1][index]}], "
                "which hold no number; expected lower <= upper."
            )
        return cls(parts[0], parts[1])


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """What everybody knows about weighted sums of the entries: ``weights d >= least``, one row each."""

    weights: FloatArray
    least: FloatArray

    def __post_init__(self) -> None:
        weights = np.atleast_2d(np.array(self.weights, dtype=np.float64))
        least = np.atleast_1d(np.array(self.least, dtype=np.float64))
        if weights.shape[0] != least.size or not np.isfinite(weights).all() or not np.isfinite(least).all():
            raise InputError(
                f"the half-spaces have weights of shape {weights.shape} and {least.size} limits; expected "
                "finite numbers, one row of weights for each limit."
            )
        # Rows of one size, so that tolerances mean the same in each.
        size = np.abs(weights).max(axis=1, initial=0.0)
        if not (size > 0.0).all():
            raise InputError("a half-space has no weight that is not zero: leave it out.")
        for name, value in (("weights", weights / size[:, None]), ("least", least / size)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def missed(self, vector: FloatArray) -> float:
        """By how much a vector misses the worst of them; 0 inside all."""
        return float(np.max(self.least - self.weights @ vector, initial=0.0))

    def and_also(self, other: "HalfSpaces | None") -> "HalfSpaces":
        """These and others."""
        if other is None:
            return self
        return HalfSpaces(np.vstack([self.weights, other.weights]), np.append(self.least, other.least))


@dataclass(frozen=True)
class SearchLimits:
    """When a search may stop: relative gap, nodes, wall-clock seconds; fewer if nothing faithful is found.

    Several searches take turns; ``searches`` leaves out all but so many, the most promising first; one that
    an LP without a verdict has ended may still be gone on with in a plainer form, within the same limits.
    Without any the answer is what they would begin with.
    """

    gap: float = 1e-4
    nodes: int = 100_000
    seconds: float = 60.0
    barren_seconds: float = INFINITY
    searches: int = 10

    def __post_init__(self) -> None:
        least_of = {"gap": 0.0, "nodes": 1, "seconds": 0.0, "barren_seconds": 0.0, "searches": 0}
        for name, least in least_of.items():
            if not getattr(self, name) >= least:
                raise InputError(f"the limit '{name}' is {getattr(self, name)}; expected at least {least:g}.")
