"""What releases lose together, counted more closely than by their sum: at a small delta.

Plain addition is the promise: it holds whatever happens. With a probability of at most ``delta`` of being
wrong much less is lost, because losses of independent noise rarely all point the same way; privacy loss
distributions [KJH20]_ say how much less, and ``dp-accounting`` computes them, rounding up. The figure holds
for amounts that were fixed before the first release. Where what is spent next depends on what earlier
releases said, as in streams that skip days, it is an indication, and the sum is the promise.

References
----------
.. [KJH20] A. Koskela, J. Jaelkoe, A. Honkela, Computing tight differential privacy guarantees using FFT,
   AISTATS 2020.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import floor, log10

from ppsm.privacy.ledger.units import converted
from ppsm.privacy.measurements import on_grid
from ppsm.privacy.record import Asked, ReleaseRecord

DELTA = 1e-6
_INTERVAL = 1e-3


def composed_loss(records: Iterable[ReleaseRecord], alpha: float, unit: str, delta: float = DELTA) -> float:
    """The loss of releases together, except with probability delta, over a movement of ``alpha``."""
    counts: Counter[float] = Counter()
    summed = Fraction(0)
    for record in records:
        distance = converted(alpha, unit, record.unit)
        if distance is not None:
            counts.update(_relative_scales(record, distance))
            summed += record.loss_over(distance)
    return min(_composed(tuple(sorted(counts.items())), delta), float(summed))


def _relative_scales(record: ReleaseRecord, distance: float) -> Iterable[float]:
    """The scales of a release's noise over the movement of what it is on; one entry moves at a time."""
    on_sums = float(on_grid(distance, record.alpha))
    yield _coarse(record.scale / (distance if record.asked is Asked.ENTRIES else on_sums))
    if record.total_scale is not None:
        yield _coarse(record.total_scale / on_sums)


def _coarse(scale: float) -> float:
    """Three digits, never rounded up: less noise loses more, and few different scales compose quickly."""
    step = 10.0 ** (floor(log10(scale)) - 2)
    return floor(scale / step) * step


@lru_cache(maxsize=64)
def _composed(counts: tuple[tuple[float, int], ...], delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld  # here, for a quick start

    total = None
    for scale, count in counts:
        one = pld.from_laplace_mechanism(scale, value_discretization_interval=_INTERVAL)
        many = one.self_compose(count)
        total = many if total is None else total.compose(many)
    return 0.0 if total is None else float(total.get_epsilon_for_delta(delta))
