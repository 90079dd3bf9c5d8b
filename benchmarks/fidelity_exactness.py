"""``python -m benchmarks.fidelity_exactness``: the fidelity phase against enumeration on small markets.

Every market has one to three places. Each is asked for in one of fifteen modes: bands on value and prices, on
the value, on the prices; both norms; with and without a prior; and bands that are off, which are mostly empty
and have to be widened. The reference looks at every complementarity pattern (``tests/fidelity/oracle.py``)
and shares nothing with the package. Objectives must agree to 1e-5, factors be the least to 1e-4; what differs
is printed and the exit code is 1.
"""

import argparse
import itertools
import sys
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
from rich.progress import track
from tests.fidelity.markets import Instance
from tests.fidelity.oracle import Distance, brute_force, least_factor

from ppsm.fidelity import Bands, FidelityResult, Prior, Restorer, SearchLimits
from ppsm.fidelity.problem import Norm

# From here on nobody looked at single markets while the search was tuned.
FIRST_HELD_OUT = 100_000
_OBJECTIVE, _FACTOR, _TINY = 1e-5, 1e-4, 1e-6
# Of the prior and of the noise that it is weighed against.
_SPREAD, _SCALE = 0.5, 0.4
_LIMITS = SearchLimits(gap=1e-6, seconds=30.0)
_KINDS = ("both", "value", "prices")
_NORMS: tuple[Norm, ...] = ("l2", "l1")


@dataclass(frozen=True)
class Mode:
    """What is asked for: bands of a kind around the truth, or off; a norm; with a prior or without."""

    kind: int
    norm: Norm
    prior: bool = False
    off: bool = False

    def __str__(self) -> str:
        extras = (" with prior" if self.prior else "") + (", bands off" if self.off else "")
        return f"{_KINDS[self.kind]}, {self.norm}{extras}"


MODES = (
    *itertools.starmap(Mode, itertools.product(range(3), _NORMS, (False, True))),
    *(Mode(kind, "l2", off=True) for kind in range(3)),
)


@dataclass(frozen=True)
class Verdict:
    """One market: what differs (empty: nothing), and how it ended."""

    fault: str
    ended: str


def compare(number: int) -> Verdict:
    """Restore one market and look at every pattern of it."""
    mode = MODES[number % len(MODES)]
    instance = Instance(number, kind=mode.kind)
    rng = np.random.default_rng([number, 1])
    bands = _off(instance.bands, rng) if mode.off else instance.bands
    count = instance.released.size
    prior = None
    distance = Distance(mode.norm, np.zeros(count), np.zeros(count))
    if mode.prior:
        mean = np.round(rng.uniform(0, 4, count), 1)
        prior = Prior(mean, _SPREAD, _SCALE)
        # likelihoods of Laplace noise, as a square in l2, and of a normal prior
        strength = (2.0 * _SCALE**2 if mode.norm == "l2" else 0.5 * _SCALE) / _SPREAD**2
        distance = Distance(mode.norm, mean, np.full(count, strength))
    found = Restorer(instance.follower).restore(
        instance.released,
        bands,
        (instance.lower, instance.upper),
        norm=mode.norm,
        prior=prior,
        elastic=mode.off,
        limits=_LIMITS,
    )
    return Verdict(_fault(instance, bands, distance, found, elastic=mode.off), str(found.status))


def _off(bands: Bands, rng: np.random.Generator) -> Bands:
    """Targets that are wrong by half and more, with the widths as they were."""
    return Bands(
        None if bands.value is None else 1.5 * bands.value + 10.0,
        bands.value_width,
        None if bands.prices is None else bands.prices + rng.normal(scale=3.0, size=bands.prices.size),
        bands.price_width,
    )


def _fault(
    instance: Instance, bands: Bands, distance: Distance, found: FidelityResult, *, elastic: bool
) -> str:
    """What is wrong with a result; empty where nothing is."""
    if elastic:
        least = least_factor(instance.follower, bands, instance.lower, instance.upper)
        if not abs(found.widening - least) <= _FACTOR * least:
            return f"widened by {found.widening:.8g}, least {least:.8g}"
    truth = brute_force(
        instance.follower,
        instance.released,
        bands.widened(found.widening),
        instance.lower,
        instance.upper,
        distance,
    )
    if not np.isfinite(truth):
        return "" if found.claim is None else "an answer where there is none"
    if not found.certified or not found.recertify().faithful:
        return f"not proven: {found.status}"
    if abs(found.objective - truth) > _OBJECTIVE * abs(truth) + _TINY:
        return f"objective {found.objective:.9g}, enumeration {truth:.9g}"
    return ""


def main() -> None:
    """Compare markets and print what differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity_exactness", description=__doc__)
    parser.add_argument("--first", type=int, default=FIRST_HELD_OUT, help="number of the first market")
    parser.add_argument("--count", type=int, default=400, help="how many markets")
    options = parser.parse_args()
    started = time.process_time()
    faults: list[str] = []
    ends: Counter[str] = Counter()
    for number in track(range(options.first, options.first + options.count), "small markets"):
        verdict = compare(number)
        ends[verdict.ended] += 1
        if verdict.fault:
            faults.append(f"market {number} ({MODES[number % len(MODES)]}): {verdict.fault}")
            print(faults[-1])
    ended = ", ".join(f"{count} {how}" for how, count in ends.most_common())
    print(
        f"{options.count} markets in {len(MODES)} modes ({ended}): {len(faults)} differ from enumeration; "
        f"{time.process_time() - started:.0f} s"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
