"""A year of daily releases, any 30 days within epsilon = 1: streams, daily noise, and no release at all.

Run ``python -m benchmarks.stream_year [northeast|heat] [--every 8] [--seed 12] [--noise 13]``. The years are
those of :mod:`benchmarks.secret_years`. Every variant goes over all 365 days with seeded noise; on one day in
``--every`` (8 shares no factor with the week, and only 2 with the window) steps 2a to 3b follow, and the game
is cleared with the truth and with what was released.

The profile alone is what everybody knows, without a release. Where the parts are known, all is but what the
day itself departs by: no stream that skips days can do better than by luck. The daily rows have the same
promise for a window and know nothing of other days; one has the profile as the prior of step 3b. Only a
stream's vectors may be pulled towards the profile until the leader has an answer; how many were is told.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np

from benchmarks.secret_years import YEARS, SecretYear
from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.mechanism import PPSM, Laplace, Outcome, PublicPrior
from ppsm.mechanism.predictors import seed_of
from ppsm.privacy.released import Released
from ppsm.streams.engine import PublicDay, Stream
from ppsm.streams.meters import SeededMeter
from ppsm.streams.policies import NOTHING, Absorption, Daily, Distribution, Policy, Regular
from ppsm.streams.promise import Promise
from ppsm.streams.stream_run import played

WINDOW, EPSILON = 30, 1.0
WINTER = (12, 1, 2, 3)


@dataclass(frozen=True, eq=False)
class Told:
    """What a variant says of a day before its market is looked at.

    ``noisy`` is what steps 2a to 3b repair, step 3b with ``prior`` if there is one; without it the leader
    plans with ``values`` as they are.
    """

    values: FloatArray
    loss: Decimal = NOTHING
    sampled: bool = False
    noisy: Released | None = None
    prior: PublicPrior | None = None
    may_be_pulled: bool = False


@dataclass(frozen=True)
class Line:
    """One cleared day of one variant."""

    variant: str
    day: str
    l1: float
    total_error: float
    cleared: bool
    pulled: float
    leader_error: float | None
    true_gap: float | None
    gap: float | None


Variant = Callable[[SecretYear, int], Iterator[Told]]


def profile_alone(year: SecretYear, seed: int) -> Iterator[Told]:
    """No release at all."""
    del seed
    yield from (Told(known.profile) for known in year.public)


def parts_known(year: SecretYear, seed: int) -> Iterator[Told]:
    """No mechanism, but the limit of streams that skip days: all is known but what each day departs by."""
    del seed
    yield from (Told(values) for values in year.lasting)


def streamed(policy: Policy) -> Variant:
    """The engine of streams over the year."""

    def told(year: SecretYear, seed: int) -> Iterator[Told]:
        promise = Promise(alpha=year.alpha, epsilon=EPSILON, window=WINDOW)
        game, newest = year.game(0), None  # bounds and zones are those of every day
        stream = Stream(promise, policy, game.public_bounds, year.knowledge, game.public_zones)
        for index, known in enumerate(year.public):
            meter = SeededMeter(
                secret=year.secret(index),
                coordination=game,
                mechanism=PPSM(alpha=year.alpha),
                seed=seed,
            )
            result = stream.run(known, meter)
            newest = result.sample or newest
            asked = NOTHING if result.answer is None else result.begun.plan.question
            taken = NOTHING if result.sample is None else result.begun.plan.sample
            assert newest is not None  # every policy samples the first day
            estimate = result.estimate.mean
            yield Told(
                estimate,
                asked + taken,
                sampled=bool(taken),
                noisy=newest.derive(estimate, "reconstruction"),
                may_be_pulled=True,
            )

    return told


def each_day_by_itself(mechanism: type[Laplace], *, with_profile: bool = False) -> Variant:
    """A release a day that knows nothing of the others, with the same promise for a window."""

    def told(year: SecretYear, seed: int) -> Iterator[Told]:
        step = mechanism(alpha=year.alpha, epsilon=EPSILON / WINDOW)
        for index, known in enumerate(year.public):
            of_day = seed_of("daily", seed, known.day)
            noisy = step.perturb_with_seed(year.secret(index), year.game(0), seed=of_day)
            repaired = noisy if isinstance(step, PPSM) else None
            prior = profile_as_prior(known, year) if with_profile else None
            yield Told(noisy.values, Decimal(repr(step.epsilon)), sampled=True, noisy=repaired, prior=prior)

    return told


def profile_as_prior(known: PublicDay, year: SecretYear) -> PublicPrior:
    """What everybody knows of a day, for step 3b: as far off as the streams take it to be at first."""
    spreads = (year.knowledge.at_first, year.knowledge.departure)
    share = np.sqrt(sum(each.own**2 + each.zone**2 + each.shared**2 for each in spreads))
    least = 1e-3 * known.profile.mean()  # an entry whose profile is nothing may still move
    return PublicPrior.of(known.profile, share * known.profile + least, source="the public profile")


VARIANTS: dict[str, Variant] = {
    "profile alone": profile_alone,
    "parts known": parts_known,
    "regular": streamed(Regular()),
    "PPSM by itself": each_day_by_itself(PPSM),
    "PPSM with profile": each_day_by_itself(PPSM, with_profile=True),
    "daily Laplace": each_day_by_itself(Laplace),
    "absorption": streamed(Absorption()),
    "distribution": streamed(Distribution()),
    "daily": streamed(Daily()),
}


def faithful(told: Told, year: SecretYear, index: int) -> FloatArray:
    """Steps 2a to 3b, where the variant has them."""
    if told.noisy is not None:
        mechanism = PPSM(alpha=year.alpha, epsilon=told.noisy.record.epsilon, prior=told.prior)
        with suppress(SolverError):  # else it stays as noisy as it is
            return mechanism.repair(told.noisy, year.game(index)).answer.fidelity.parameter
    return told.values


def line(variant: str, told: Told, year: SecretYear, index: int, original: Outcome) -> Line:
    """The day's game, cleared with what was released."""
    known, truth = year.public[index], year.truth[index]
    anchors = [known.profile] if told.may_be_pulled else []
    values, pulled, outcome = played(year.game(index), faithful(told, year, index), anchors)
    return Line(
        variant=variant,
        day=known.day.isoformat(),
        l1=float(np.abs(values - truth).sum()),
        total_error=float(values.sum() - truth.sum()),
        cleared=outcome.feasible,
        pulled=pulled,
        leader_error=percent(outcome.leader_cost, original.leader_cost),
        true_gap=original.gap,
        gap=outcome.gap,
    )


def percent(found: float | None, true: float | None) -> float | None:
    return None if found is None or not true else 100.0 * abs(found - true) / abs(true)


def mean(found: list[float]) -> float:
    return float(np.mean(found)) if found else np.nan


def summary(days: list[Told], year: SecretYear, found: list[Line]) -> str:
    """What all days cost, and what the cleared ones came to."""
    losses = [told.loss for told in days]
    window = max(sum(losses[first : first + WINDOW]) for first in range(len(losses)))
    before = [np.abs(told.values - true).sum() for told, true in zip(days, year.truth, strict=True)]
    errors = [each.leader_error for each in found if each.leader_error is not None]
    winter = [
        each.leader_error
        for each in found
        if each.leader_error is not None and date.fromisoformat(each.day).month in WINTER
    ]
    return (
        f"{found[0].variant:18} sampled {sum(told.sampled for told in days):3d}  worst window {window:.6f}  "
        f"L1 before 3b {np.mean(before):9,.0f}; on {len(found)} days: "
        f"L1 {np.mean([each.l1 for each in found]):9,.0f}  "
        f"total off by {np.mean([abs(each.total_error) for each in found]):8,.0f}  "
        f"cleared {100 * np.mean([each.cleared for each in found]):5.1f} % "
        f"(pulled {sum(each.pulled > 0 for each in found)})  "
        f"leader off by {mean(errors):8.4f} %, in {len(winter)} days of winter {mean(winter):8.4f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("year", nargs="?", choices=sorted(YEARS), default="northeast")
    parser.add_argument("--every", type=int, default=8, help="one day in so many is cleared")
    parser.add_argument("--seed", type=int, default=12, help="of the year")
    parser.add_argument("--noise", type=int, default=13, help="seed of the noise")
    parser.add_argument("--variants", nargs="*", choices=sorted(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--rows", type=Path, default=Path("out/stream_year.jsonl"))
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    year = YEARS[options.year](options.seed)
    totals = [values.sum() for values in year.truth]
    print(f"{options.year}: {min(totals):,.0f} to {max(totals):,.0f} a day, alpha {year.alpha:g}", flush=True)
    begun = time.process_time()
    originals = {
        index: year.game(index).clear(year.truth[index]) for index in range(0, len(year.truth), options.every)
    }
    print(f"the true games: {time.process_time() - begun:.0f} s of CPU time", flush=True)
    for name in options.variants:
        begun = time.process_time()
        days = list(VARIANTS[name](year, options.noise))
        found = []
        for index, original in originals.items():
            found.append(line(name, days[index], year, index, original))
            with options.rows.open("a") as file:
                file.write(json.dumps(asdict(found[-1])) + "\n")
        print(f"{summary(days, year, found)}  ({time.process_time() - begun:.0f} s of CPU time)", flush=True)


if __name__ == "__main__":
    main()
