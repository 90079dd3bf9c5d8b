"""What is known of a day: from public knowledge, and from what was measured of it and of the days before.

Public knowledge is a *profile*: what calendar and temperature say of each entry of a day, up to factors that
nobody has published. The factors drift slowly, each day departs a little from them, and both move partly
together, since weather and business are shared:

    entry_i(t) = profile_i(t) (level_i(t) + departure_i(t)),     level(t + 1) = level(t) + drift(t).

Entries and totals are measured with Laplace noise of known scale. The best linear estimate of all that is a
Kalman filter [K60]_ over levels and departures; before a day is measured it is the forecast, afterwards the
estimate of the day. All of it is computed from releases and public data, so it costs no privacy.

References
----------
.. [K60] R. E. Kalman, A new approach to linear filtering and prediction problems, J. Basic Eng. 82, 1960.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.errors import InputError
from ppsm.privacy.measurements import zone_members


class Measured(Protocol):
    """What the estimator needs of a sample: noisy entries, perhaps noisy totals, and the noise of both."""

    @property
    def values(self) -> FloatArray:
        """The noisy entries."""

    @property
    def totals(self) -> tuple[float, ...]:
        """The noisy totals, if they were measured: of all entries, or of each zone."""

    @property
    def zones(self) -> tuple[int, ...]:
        """The zone of each entry; empty where all are in one."""

    @property
    def scale(self) -> float:
        """The scale of the noise on each entry."""

    @property
    def total_scale(self) -> float | None:
        """That of the noise on each total."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A standard deviation, as a share of the profile, in parts.

    ``own`` is each entry's own, ``zone`` what the entries of a zone share, ``shared`` what all entries do.
    """

    own: float
    shared: float
    zone: float = 0.0

    def __post_init__(self) -> None:
        if not (self.own > 0.0 and self.shared >= 0.0 and self.zone >= 0.0):
            raise InputError(
                f"a spread of {self.own} (own), {self.zone} (zone) and {self.shared} (shared) was given; "
                "expected a share above 0 and two of at least 0."
            )

    def covariance(self, members: FloatArray) -> FloatArray:
        """Of entries whose zones are the rows of a matrix (``zone_members`` of the measurements)."""
        alone = np.eye(members.shape[1])
        return self.own**2 * alone + self.zone**2 * (members.T @ members) + self.shared**2


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """How well the profile is known to tell the entries: public assumptions, not fitted to the secret.

    Attributes
    ----------
    at_first
        How far the levels may be from 1 before anything is measured.
    drift
        How far they move from one day to the next.
    departure
        How far a single day departs from them.
    """

    at_first: Spread = field(default_factory=lambda: Spread(own=0.3, shared=0.3))
    drift: Spread = field(default_factory=lambda: Spread(own=0.002, shared=0.002))
    departure: Spread = field(default_factory=lambda: Spread(own=0.03, shared=0.03))


@dataclass(frozen=True, eq=False)
class Estimate:
    """Mean and standard deviation of each entry of a day, within public bounds."""

    mean: FloatArray
    spread: FloatArray


class Reconstruction:
    """The filter over the days of a stream.

    Parameters
    ----------
    bounds
        Public least and largest value of each entry.
    knowledge
        How well profiles tell entries.
    zones
        The public zone of each entry; empty where all are in one.
    """

    def __init__(
        self,
        bounds: tuple[FloatArray, FloatArray],
        knowledge: Knowledge | None = None,
        zones: tuple[int, ...] = (),
    ) -> None:
        self._lower, self._upper = bounds
        self._size = self._lower.size
        known = Knowledge() if knowledge is None else knowledge
        members = zone_members(zones, self._size)
        self._drift = known.drift.covariance(members)
        self._departure = known.departure.covariance(members)
        self._level = np.ones(self._size)
        self._uncertain = known.at_first.covariance(members)
        self._profile = np.ones(self._size)
        self._begun = False

    def begin(self, profile: ArrayLike) -> Estimate:
        """Go on to the next day and return its forecast."""
        self._profile = frozen_vector(profile, self._size, "the profile of the day")
        if not (self._profile > 0).all():
            raise InputError(
                "the profile of the day has an entry that is not above zero: give what is usual."
            )
        if self._begun:
            self._uncertain = self._uncertain + self._drift
        self._begun = True
        return self._estimate(self._level, self._uncertain + self._departure)

    def add(self, sample: Measured) -> Estimate:
        """Learn from a sample of the day and return the estimate of the day."""
        seen = np.diag(self._profile)
        noise = np.full(self._size, 2.0 * sample.scale**2)
        found = np.asarray(sample.values, dtype=np.float64)
        if sample.totals and sample.total_scale is not None:
            seen = np.vstack([seen, zone_members(sample.zones, self._size) * self._profile])
            noise = np.append(noise, np.full(len(sample.totals), 2.0 * sample.total_scale**2))
            found = np.append(found, sample.totals)
        day = self._uncertain + self._departure
        innovation = found - seen @ self._level
        # One factorisation serves the day (with its departure) and the levels (without).
        whole = seen @ day @ seen.T + np.diag(noise)
        pull = np.linalg.solve(whole, np.column_stack([innovation, seen]))
        of_day, of_levels = day @ seen.T, self._uncertain @ seen.T
        mean, covariance = self._level + of_day @ pull[:, 0], day - of_day @ pull[:, 1:] @ day
        level = self._level + of_levels @ pull[:, 0]
        left = self._uncertain - of_levels @ pull[:, 1:] @ self._uncertain
        self._level, self._uncertain = level, (left + left.T) / 2.0
        return self._estimate(mean, covariance)

    def _estimate(self, level: FloatArray, covariance: FloatArray) -> Estimate:
        mean = np.clip(self._profile * level, self._lower, self._upper)
        spread = self._profile * np.sqrt(np.maximum(np.diag(covariance), 0.0))
        return Estimate(mean, spread)
