"""The Laplace mechanism for alpha-indistinguishability (step 1 of the paper's mechanism).

Two data sets are adjacent when one entry differs by at most ``alpha``, so they are at most ``alpha`` apart in
the L1 norm. Independent Laplace noise of scale ``alpha / epsilon`` on every entry then bounds the log-ratio
of output probabilities by ``epsilon`` [CABP13]_ [DMNS06]_. Nothing is said about larger movements except that
the bound grows in proportion.

References
----------
.. [CABP13] K. Chatzikokolakis, M. Andres, N. Bordenabe, C. Palamidessi, Broadening the scope of differential
   privacy using metrics, PETS 2013.
.. [DMNS06] C. Dwork, F. McSherry, K. Nissim, A. Smith, Calibrating noise to sensitivity in private data
   analysis, TCC 2006.
"""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import LARGEST_ENTRY, FloatArray
from ppsm.errors import InputError, PrivacyError
from ppsm.privacy.ledger.balance import price
from ppsm.privacy.ledger.roles import Ledger, now
from ppsm.privacy.measurements import Split, checked_zones, exact_totals, float_above, on_grid, zone_count
from ppsm.privacy.noise import ExactLaplace, insist_on_random_bits, scale_for
from ppsm.privacy.record import NoiseSource, ReleaseRecord, integer, positive_number
from ppsm.privacy.released import Released
from ppsm.privacy.sensitive import Sensitive, apply_sealed, refusal_of


@dataclass(frozen=True, kw_only=True)
class LaplaceMechanism:
    """Independent Laplace noise on every entry; frozen, so that noise and claim cannot drift apart.

    Parameters
    ----------
    alpha
        The distance within which one entry is hidden, in the unit of the data.
    epsilon
        The privacy loss allowed between adjacent data sets.
    total_share
        What of epsilon goes to a measurement of the total (:mod:`ppsm.privacy.measurements`); at 0, the
        default, only entries are measured.
    zones
        For each entry the number of its zone, counted from 0: the total of each zone is measured instead, for
        the same loss. By default all entries are in one.

    Attributes
    ----------
    scale
        The scale of the noise on every entry: ``alpha / epsilon``, moved up where the quotient of floats
        falls short of it; with what of epsilon the total leaves.
    total_scale
        That of the noise on each total, ``None`` where none is measured.
    """

    name: ClassVar[str] = "laplace"

    alpha: float
    epsilon: float = 1.0
    total_share: float = 0.0
    zones: tuple[int, ...] = ()
    scale: float = field(init=False, repr=False)
    total_scale: float | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        store = object.__setattr__
        store(self, "alpha", positive_number(self.alpha, "alpha"))
        store(self, "epsilon", positive_number(self.epsilon, "epsilon"))
        split = Split.of(self.epsilon, self.total_share)
        store(self, "scale", scale_for(self.alpha, split.entries))
        # Without totals zones say nothing.
        store(self, "zones", () if split.total is None else checked_zones(self.zones))
        if split.total is None:
            store(self, "total_scale", None)
        else:
            moved = float_above(on_grid(self.alpha, self.alpha))
            store(self, "total_scale", scale_for(moved, split.total))

    @classmethod
    def of_scale(cls, scale: float) -> "LaplaceMechanism":
        """Noise of a given scale, for what is known of its size, whatever it was made for."""
        return cls(alpha=scale, epsilon=1.0)

    def release(
        self,
        secret: Sensitive,
        *,
        ledger: Ledger,
        purpose: str,
        recipient: str | None = None,
        keep: Callable[[Released], None] | None = None,
    ) -> Released:
        """Charge the ledger, then add secure noise to a secret: the only way to a private release.

        What is kept, and data of a day, are charged once, however often this is interrupted: see
        :meth:`Ledger.note_draw`.

        Parameters
        ----------
        secret
            The data; its data set is the one that is charged.
        ledger
            Where the budget is kept. It is charged, on disk, before any noise is drawn.
        purpose
            One line on why. It travels with the values and must not speak of them.
        recipient
            To whom it goes, where recipients have budgets of their own.
        keep
            Called with the release before the ledger notes that its noise is drawn; what it keeps is what to
            go on from after an interruption. The purpose then is that of this release and of no other.
        """
        if refusal := refusal_of(secret):
            del secret
            raise refusal
        draft = replace(self._draft(secret, purpose, seed=None), recipient=recipient)
        if not isinstance(ledger, Ledger):
            raise InputError(
                f"The ledger is of type {type(ledger).__name__}, expected Ledger: open one with Ledger(path)."
            )
        if price(draft, self.alpha) > Decimal(repr(self.epsilon)):
            raise PrivacyError(
                f"The sampler's privacy map says {price(draft, self.alpha)} where epsilon = {self.epsilon} "
                "is claimed: install the version of OpenDP that ppsm pins; nothing was charged or released."
            )
        noise = ExactLaplace(size=secret.dimension, scale=self.scale)
        count, scale = zone_count(self.zones), self.total_scale
        on_totals = None if scale is None else ExactLaplace(size=count, scale=scale)
        noted = keep is not None or secret.day is not None
        insist_on_random_bits()
        receipt = ledger.spend(draft, noted=noted)
        values = apply_sealed(secret, noise.add_to)
        totals = () if on_totals is None else self._measured_totals(secret, on_totals.add_to)
        released = Released(
            values=values,
            entry_names=secret.entry_names,
            record=receipt.record,
            receipt=receipt,
            totals=totals,
        )
        if keep is not None:
            keep(released)
        if noted:
            ledger.note_draw(receipt, released.noise_content)
        return released

    def _measured_totals(
        self, secret: Sensitive, add_noise: Callable[[FloatArray], FloatArray]
    ) -> tuple[float, ...]:
        """The total of each zone with noise of its own."""
        alpha, zones = self.alpha, self.zones
        noisy = apply_sealed(secret, lambda array: add_noise(exact_totals(array, alpha, zones)))
        return tuple(noisy.tolist())

    def check_budget(self, secret: Sensitive, ledger: Ledger) -> None:
        """Refuse what :meth:`release` would refuse for its cost, and charge nothing; for work done before."""
        if refusal := refusal_of(secret):
            del secret
            raise refusal
        ledger.check(self._draft(secret, "a check that nothing is charged for", seed=None))

    def simulate(self, secret: Sensitive, *, seed: int, purpose: str = "simulation") -> Released:
        """Add reproducible noise for research; the result is stamped ``private=False``.

        Whoever knows the seed can subtract the noise, and so the result must stay where the secret may be. No
        ledger is charged because no budget would cover it.
        """
        if refusal := refusal_of(secret):
            del secret
            raise refusal
        seed = integer(seed, "seed")
        if seed < 0:
            raise InputError(f"seed is {seed}, expected zero or more: pass such an integer.")
        record = self._draft(secret, purpose, seed=seed)
        generator = np.random.default_rng(seed)
        values = apply_sealed(
            secret, lambda array: array + generator.laplace(scale=self.scale, size=array.shape)
        )
        totals: tuple[float, ...] = ()
        if (scale := self.total_scale) is not None:
            totals = self._measured_totals(
                secret, lambda sums: sums + generator.laplace(scale=scale, size=sums.shape)
            )
        return Released(
            values=values, entry_names=secret.entry_names, record=record, receipt=None, totals=totals
        )

    def perturb_public(self, values: ArrayLike) -> FloatArray:
        """Add secure noise to public values, as audits need; this is no release and charges nothing.

        The noise comes from the same code as that of :meth:`release`.
        """
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"The public values ({type(values).__name__}) are not all numbers: pass an array of numbers."
            ) from None
        noise = ExactLaplace(size=array.size, scale=self.scale)
        return noise.add_to(array.ravel()).reshape(array.shape)

    def _draft(self, secret: Sensitive, purpose: str, seed: int | None) -> ReleaseRecord:
        """The record of a release; noise that leaves nothing of any entry is refused before a charge."""
        largest = max(self.scale, self.total_scale or 0.0)
        if largest > LARGEST_ENTRY:
            raise InputError(
                f"The noise for alpha = {self.alpha:g} and epsilon = {self.epsilon:g} has a scale of "
                f"{largest:g}, expected at most {LARGEST_ENTRY:g}: nothing would be left of the data."
            )
        return ReleaseRecord(
            mechanism=self.name,
            alpha=self.alpha,
            epsilon=self.epsilon,
            scale=self.scale,
            total_scale=self.total_scale,
            zones=self.zones,
            unit=secret.unit,
            dimension=secret.dimension,
            dataset=secret.dataset,
            day=secret.day,
            purpose=purpose,
            source=NoiseSource.SECURE if seed is None else NoiseSource.SEEDED,
            time=now(),
            seed=seed,
        )

    @property
    def variance(self) -> float:
        """The variance of the noise on one entry, ``2 scale**2``."""
        return 2.0 * self.scale * self.scale

    def quantile(self, probability: float) -> float:
        """Return the value that the noise on one entry stays below with the given probability."""
        _inside_unit_interval(probability)
        if probability < 0.5:
            return self.scale * math.log(2.0 * probability)
        return -self.scale * math.log(2.0 * (1.0 - probability))

    def error_within(self, probability: float) -> float:
        """Return the size that the error of one entry does not exceed with the given probability."""
        _inside_unit_interval(probability)
        return -self.scale * math.log1p(-probability)

    def total_within(self, probability: float, dimension: int) -> float:
        """Return the size that the error of the total of all entries does not exceed with the probability."""
        _inside_unit_interval(probability)
        return self.scale * _standard_total_within(float(probability), _checked_dimension(dimension))

    def expected_l1_error(self, dimension: int) -> float:
        """Return the mean L1 distance between a vector and its release, ``dimension * scale``."""
        return _checked_dimension(dimension) * self.scale

    def expected_l2_error(self, dimension: int) -> float:
        r"""Return the mean L2 distance, which lies below ``scale * sqrt(2 * dimension)``.

        From :math:`E\sqrt S = \frac{1}{2\sqrt\pi}\int_0^\infty (1 - E e^{-tS})\, t^{-3/2}\, dt` and the
        Laplace transform of a squared Laplace variable, with :math:`t = 1/(4u^2)`:
        :math:`\frac{2}{\sqrt\pi}\int_0^\infty 1 - (\sqrt\pi\, u\, \mathrm{erfcx}(u))^n\, du` scales.
        """
        from scipy.integrate import quad  # here, for a quick start
        from scipy.special import erfcx

        root_pi, dimension = math.sqrt(math.pi), _checked_dimension(dimension)

        def integrand(u: float) -> float:
            return 1.0 - float(root_pi * u * erfcx(u)) ** dimension

        break_point = math.sqrt(dimension)
        body = quad(integrand, 0.0, break_point)[0]
        tail = quad(integrand, break_point, math.inf)[0]
        return self.scale * 2.0 / root_pi * (body + tail)


@lru_cache(maxsize=64)
def _standard_total_within(probability: float, dimension: int) -> float:
    """The same for scale 1: the sum of n Laplace variables is the difference of two Gamma(n) variables."""
    from scipy.integrate import quad  # here, for a quick start
    from scipy.optimize import brentq
    from scipy.stats import gamma

    reach = 12.0 * math.sqrt(dimension)
    least, most = max(0.0, dimension - reach), dimension + reach + 40.0

    def beyond(width: float) -> float:
        """The probability that the sum is above a width, which is the same below its negative."""

        def joint(second: float) -> float:
            return float(gamma.pdf(second, dimension) * gamma.sf(width + second, dimension))

        return float(quad(joint, least, most, limit=200)[0])

    allowed = (1.0 - probability) / 2.0
    highest = math.sqrt(2.0 * dimension)
    while beyond(highest) > allowed:
        highest *= 2.0
    return float(brentq(lambda width: beyond(width) - allowed, 0.0, highest, xtol=1e-9 * highest))


def _checked_dimension(dimension: int) -> int:
    if integer(dimension, "dimension") < 1:
        raise InputError(f"dimension is {dimension}, expected at least one entry: pass a larger one.")
    return int(dimension)


def _inside_unit_interval(probability: float) -> None:
    if not isinstance(probability, numbers.Real) or not 0.0 < probability < 1.0:
        raise InputError(f"probability is {probability}, expected a number between 0 and 1: pass one.")
