"""Exact Laplace noise: a thin layer over OpenDP's sampler and its privacy map.

OpenDP samples a discrete Laplace distribution on the grid of multiples of 2**k in exact rational arithmetic
[CKS20]_ and rounds once, at the end, to a float. At ``k = -1074`` the grid holds every float, so

* no input is rounded, and the loss over a distance ``d`` is exactly ``d / scale`` whatever the dimension
  (a coarser grid is twice as fast but adds ``2**k * size / scale`` to the loss);
* the last rounding is post-processing. The gaps between floats that make textbook samplers leak [M12]_
  depend on the noisy output alone.

Random bits come from OpenSSL's generator, which the operating system seeds and which reseeds after a fork.

OpenDP 0.16 reads NaN as zero, saturates infinities and accepts a vector of any length in spite of its domain,
so everything is checked here before.

References
----------
.. [CKS20] C. Canonne, G. Kamath, T. Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020,
   section 5.
.. [M12] I. Mironov, On significance of the least significant bits for differential privacy, CCS 2012.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import InputError, PrivacyError

_FEATURE = "contrib"
_FINEST_GRID = -1074
_LARGEST = float(np.finfo(np.float64).max)
_features_lock = threading.Lock()


@contextmanager
def _contributed_code() -> Iterator[None]:
    """Enable OpenDP's ``contrib`` feature, which all its measurements need, for one construction only."""
    import opendp.mod as opendp_features  # here and below: OpenDP takes a second to load
    import opendp.prelude as dp

    with _features_lock:
        already = _FEATURE in opendp_features.GLOBAL_FEATURES
        dp.enable_features(_FEATURE)
        try:
            yield
        finally:
            if not already:
                dp.disable_features(_FEATURE)


@lru_cache(maxsize=256)
def _opendp_laplace(size: int, scale: float) -> Any:
    """OpenDP's measurement, which has no state: every call of it draws fresh bits."""
    import opendp.prelude as dp

    with _contributed_code():
        space = (dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size), dp.l1_distance(T=float))
        return dp.m.make_laplace(*space, scale=scale, k=_FINEST_GRID)


class ExactLaplace:
    """Laplace noise of one scale for vectors of one size.

    Parameters
    ----------
    size
        The number of entries of a vector.
    scale
        The scale of the noise on each entry.
    """

    def __init__(self, *, size: int, scale: float) -> None:
        self.size = size
        self.scale = scale
        self._measurement = _opendp_laplace(size, scale)

    def loss(self, distance: float) -> float:
        """Return the privacy loss over an L1 distance, as OpenDP's map rounds it (never down)."""
        return float(self._measurement.map(distance))

    def add_to(self, values: FloatArray) -> FloatArray:
        """Return the values with fresh noise on every entry."""
        if values.shape != (self.size,) or not np.isfinite(values).all():
            raise InputError(
                f"Noise for {self.size} entries was asked for values that are not {self.size} finite "
                "numbers: pass a vector of that length."
            )
        noisy = np.array(self._measurement(values.tolist()), dtype=np.float64)
        # A sum beyond all floats comes as an infinity; the largest float for it is post-processing.
        return np.clip(noisy, -_LARGEST, _LARGEST)


def insist_on_random_bits() -> None:
    """Fail where no noise can be drawn; asked before a charge, which would be lost. The draw is not used.

    OpenSSL heeds ``OPENSSL_CONF``, which may name a generator that gives nothing.
    """
    from opendp.mod import OpenDPException

    try:
        _opendp_laplace(1, 1.0)([0.0])
    except OpenDPException as error:
        raise PrivacyError(
            f"No noise can be drawn ({error.variant}), expected random bits from OpenSSL: see what "
            "OPENSSL_CONF says, or leave it unset; nothing was charged or released."
        ) from None


@lru_cache(maxsize=256)
def scale_for(alpha: float, epsilon: float) -> float:
    """Return the least float scale whose loss over ``alpha`` is at most ``epsilon``.

    The quotient of two floats may round down and so lose more than was claimed by one part in 1e16; then the
    scale is moved up. Epsilon counts as the decimal that it prints as: ten releases at 0.1 are to fit a
    budget of 1.
    """
    scale = alpha / epsilon if epsilon > 0 else math.inf
    if not (0 < scale < math.inf):
        raise InputError(
            f"alpha = {alpha} and epsilon = {epsilon} give the noise scale {scale}, expected a finite number "
            "above zero: choose values of moderate size."
        )
    limit = Fraction(repr(epsilon))
    while (
        Fraction(alpha) / Fraction(scale) > limit or ExactLaplace(size=1, scale=scale).loss(alpha) > epsilon
    ):
        scale = math.nextafter(scale, math.inf)
    return scale


def charged_loss(scale: float, distance: float, dimension: int) -> Decimal:
    """Return what a release costs over a distance: OpenDP's map, as an exact decimal.

    The map's float is charged as the shortest decimal that prints it if that still covers the exact quotient,
    otherwise with all its digits.
    """
    mapped = ExactLaplace(size=dimension, scale=scale).loss(distance)
    if not math.isfinite(mapped):
        raise InputError(
            f"Noise of scale {scale} over a distance of {distance} has no finite privacy loss: choose a "
            "larger scale."
        )
    shortest = Decimal(repr(mapped))
    covers = Fraction(shortest) >= Fraction(distance) / Fraction(scale)
    return shortest if covers else Decimal(mapped)
