"""M_L and M_F, the public models of steps 2a and 3a, behind one small interface.

A predictor sees a :class:`~ppsm.privacy.Released` vector and public data. What it returns is checked here, in
one place, so that any object with these two methods can be passed to a mechanism.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, as_numbers, frozen_vector
from ppsm.errors import InputError, SolverError
from ppsm.fidelity.problem import SearchLimits, measured_entries
from ppsm.fidelity.restore import restore
from ppsm.games.follower import Follower
from ppsm.labels import aligned
from ppsm.mechanism.coordination import Coordination, Decision, FollowerSide, insist_on_market, reading
from ppsm.privacy.provenance import Provenance
from ppsm.privacy.publication import Publication
from ppsm.privacy.record import integer
from ppsm.privacy.released import Released, require_released

# Standard deviation of the noise on the leader's prices, as a share of the average price (section 7).
PRICE_NOISE = 0.1


def seed_of(*axes: object) -> int:
    """A seed that depends on the axes of an experiment and on nothing else, on every machine."""
    text = "|".join(repr(axis) for axis in axes)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


@dataclass(frozen=True, eq=False)
class Prediction:
    """What M_F says: the follower's value and its prices, by the coordination's ``price_names``."""

    value: float
    prices: FloatArray


class Predictor(Protocol):
    """Both models; either may be a constant.

    One that was made from data may say from which (``provenance``, a :class:`~ppsm.privacy.Provenance`): a
    private release refuses what is tainted.
    """

    @property
    def name(self) -> str:
        """A short name for the dossier."""

    @property
    def publication(self) -> Publication | None:
        """The published market result that the predictions rest on, if there is one."""

    def predict_prices(self, noisy: Released, coordination: Coordination) -> ArrayLike:
        """M_L, step 2a: the prices that the leader should expect."""

    def predict_outcome(
        self, noisy: Released, decision: Decision, coordination: FollowerSide
    ) -> tuple[float, ArrayLike]:
        """M_F, step 3a: the follower's value and prices, once the leader has decided."""


def checked_prices(predictor: Predictor, prices: ArrayLike, coordination: FollowerSide) -> FloatArray:
    """Prices of a predictor, or one sentence on what is wrong with them."""
    names = coordination.price_names
    what = f"the price that the predictor '{predictor.name}' predicts"
    vector = as_numbers(aligned(prices, names, what), what)
    if vector.shape != (len(names),):
        raise InputError(
            f"the predictor '{predictor.name}' returned prices of shape {vector.shape}, expected "
            f"({len(names)},): one for each of '{names[0]}', ..."
        )
    return frozen_vector(vector, len(names), what, names=names)


def checked_outcome(
    predictor: Predictor, predicted: tuple[float, ArrayLike], coordination: FollowerSide
) -> Prediction:
    """Value and prices of a predictor, or one sentence on what is wrong with them."""
    try:
        value, prices = predicted
    except (TypeError, ValueError):
        raise InputError(
            f"the predictor '{predictor.name}' returned {type(predicted).__name__}, expected the pair "
            "(value, prices)."
        ) from None
    number = as_numbers(value, f"the value that the predictor '{predictor.name}' predicts")
    if number.size != 1 or not np.isfinite(number).all():
        raise InputError(
            f"the predictor '{predictor.name}' returned the value {value}, expected one finite number."
        )
    return Prediction(float(number.ravel()[0]), checked_prices(predictor, prices, coordination))


@dataclass(frozen=True, eq=False)
class PublicOutcome:
    """The paper's setting: the market publishes its value and prices; the leader works with noisy prices.

    Parameters
    ----------
    publication
        What was published, noted by :func:`ppsm.privacy.note_publication`.
    seed
        Of the Gaussian noise on the prices of step 2a. It is no privacy noise: the prices are public.
    noise
        Its standard deviation as a share of the average price (in absolute value).
    """

    publication: Publication
    seed: int
    noise: float = PRICE_NOISE
    name: str = "public"

    @property
    def provenance(self) -> Provenance:
        """That of the published figures."""
        return self.publication.provenance

    def predict_prices(self, noisy: Released, coordination: Coordination) -> FloatArray:
        """The published prices, each off by about 10 % of their average."""
        require_released(noisy, "demand of step 2a")
        prices = self._published(coordination)
        generator = np.random.default_rng(integer(self.seed, "seed"))
        spread = self.noise * float(np.abs(prices).mean())
        return prices + spread * generator.standard_normal(prices.size)

    def predict_outcome(
        self, noisy: Released, decision: Decision, coordination: FollowerSide
    ) -> tuple[float, FloatArray]:
        """The published value and prices."""
        del decision
        require_released(noisy, "demand of step 3a")
        return self.publication.result.value, self._published(coordination)

    def _published(self, coordination: FollowerSide) -> FloatArray:
        result = self.publication.result
        insist_on_market(result, coordination)
        return result.prices


@dataclass(frozen=True, eq=False)
class ModelBased:
    """No publication at all: the public model of the market, solved on the noisy vector made feasible."""

    seconds: float = 20.0
    name: str = "model"
    publication: Publication | None = None

    def predict_prices(self, noisy: Released, coordination: Coordination) -> FloatArray:
        """The game cleared with the nearest vector that can be served; the follower alone where it cannot."""
        require_released(noisy, "demand of step 2a")
        unaware = coordination.decide(measured_entries(noisy), None)
        follower = coordination.follower_at(unaware)
        served = self._feasible(follower, noisy, coordination)
        cleared = coordination.clear(served).prices
        return self._solved(follower, served, coordination)[1] if cleared is None else cleared

    def predict_outcome(
        self, noisy: Released, decision: Decision, coordination: FollowerSide
    ) -> tuple[float, FloatArray]:
        """The follower at the leader's decision and the nearest vector that it can serve."""
        require_released(noisy, "demand of step 3a")
        follower = coordination.follower_at(decision)
        return self._solved(follower, self._feasible(follower, noisy, coordination), coordination)

    def _feasible(self, follower: Follower, noisy: Released, coordination: FollowerSide) -> FloatArray:
        """The vector nearest to all that was measured, totals too, that the market can serve."""
        limits = SearchLimits(seconds=self.seconds)
        found = restore(follower, noisy, bounds=coordination.public_bounds, limits=limits)
        if not found.status.has_answer:
            raise SolverError(
                f"no demand that the market can serve was found near the noisy one in {self.seconds:g} s: "
                "give more time."
            )
        return found.parameter

    def _solved(
        self, follower: Follower, demand: FloatArray, coordination: FollowerSide
    ) -> tuple[float, FloatArray]:
        outcome = follower.solve(demand)
        if not outcome.status.has_answer:
            raise SolverError("the market's model cannot serve a demand that was made feasible for it.")
        return outcome.value, coordination.row_prices(outcome.prices)


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """How far a trained model was off on days that it was not trained on.

    The errors are mean relative ones, in per cent of the mean size of value and prices.
    """

    days: float
    value_error_percent: float
    price_error_percent: float

    def to_dict(self) -> dict[str, float]:
        """Return the errors as plain JSON types."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "CrossValidation":
        """Read what :meth:`to_dict` returned."""
        return cls(**{str(name): float(value) for name, value in fields.items()})


@dataclass(frozen=True, kw_only=True)
class PredictorNote:
    """What a dossier says about a predictor; None for what it does not have."""

    name: str
    seed: int | None = None
    noise: float | None = None
    cross_validation: CrossValidation | None = None

    @classmethod
    def of(cls, predictor: Predictor) -> "PredictorNote":
        """A note on a predictor, which may be anything with its two methods."""
        known = ("seed", "noise", "cross_validation")
        return cls(name=predictor.name, **{name: getattr(predictor, name, None) for name in known})

    def to_dict(self) -> dict[str, Any]:
        """Return the note as plain JSON types."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "PredictorNote":
        """Read what :meth:`to_dict` returned."""
        with reading("predictor of the dossier"):
            errors = fields.get("cross_validation")
            known = None if errors is None else CrossValidation.from_dict(errors)
            return cls(**{**fields, "cross_validation": known})
