"""A year of daily releases, any 30 days within epsilon = 1: streams, daily noise, and no release at all.

Run ``python -m benchmarks.stream_year [northeast|heat] [--days 365] [--variants ...] [--seed 12]
[--noise 13]``. The years are those of :mod:`benchmarks.secret_years`. Every variant goes over all 365 days
with seeded noise; then day after day steps 2a to 3b follow, and the game is cleared with the truth and with
what was released.

Rows are kept in ``--out``: a run that was stopped goes on, truths are cleared once for all variants, and with
fewer ``--days`` the table is of those. Days come in an order of which every beginning is spread over the
year.
``--picture FILE`` draws what the rows of both years say, or of the one that has some.

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
from typing import Any, cast

import numpy as np
from matplotlib.figure import Figure

from benchmarks.secret_years import YEARS, SecretYear
from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.examples.heat import DAYS
from ppsm.figures.colours import BLUE, GREEN, GREY, ORANGE
from ppsm.figures.style import new_figure, save_figure
from ppsm.mechanism import PPSM, Laplace, Outcome, PublicPrior
from ppsm.mechanism.coordination import Coordination
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
    """One cleared day of one variant; ``moved`` is how far step 3b went."""

    variant: str
    day: str
    l1: float
    total_error: float
    moved: float
    pulled: float
    cleared: bool
    leader_error: float | None
    gap: float | None
    cpu_s: float


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


class ClearedOnce:
    """A day's game that clears a vector once: step 3b often leaves what step 2a has cleared already."""

    def __init__(self, game: Coordination) -> None:
        self._game = game
        self._found: dict[bytes, Outcome] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def clear(self, demand: FloatArray) -> Outcome:
        """The game cleared now, or before."""
        key = np.asarray(demand).tobytes()
        if key not in self._found:
            self._found[key] = self._game.clear(demand)
        return self._found[key]


def faithful(told: Told, year: SecretYear, game: Coordination) -> FloatArray:
    """Steps 2a to 3b, where the variant has them."""
    if told.noisy is not None:
        mechanism = PPSM(alpha=year.alpha, epsilon=told.noisy.record.epsilon, prior=told.prior)
        with suppress(SolverError):  # else it stays as noisy as it is
            return mechanism.repair(told.noisy, game).answer.fidelity.parameter
    return told.values


class Rows:
    """Lines of a file by their key, kept as they come; what a kill left of a last one is forgotten."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text() if file.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            file.write_text(whole)
        self._found = {self._key(row): row for row in map(json.loads, whole.splitlines())}

    def get(self, day: str, variant: str = "") -> dict[str, Any] | None:
        """That of a day."""
        return self._found.get((day, variant))

    def put(self, row: dict[str, Any]) -> dict[str, Any]:
        """Keep one."""
        with self._file.open("a") as file:
            file.write(json.dumps(row) + "\n")
        self._found[self._key(row)] = row
        return row

    @staticmethod
    def _key(row: dict[str, Any]) -> tuple[str, str]:
        return row["day"], row.get("variant", "")


@dataclass(frozen=True, eq=False)
class Trial:
    """Variants of one year, their rows, and the true games, which all variants share."""

    year: SecretYear
    told: dict[str, list[Told]]
    rows: Rows
    truths: Rows

    def clear(self, index: int) -> None:
        """What is missing of a day."""
        day = self.year.public[index].day.isoformat()
        missing = [variant for variant in self.told if self.rows.get(day, variant) is None]
        if not missing:
            return
        game = cast(Coordination, ClearedOnce(self.year.game(index)))
        truth = self.truths.get(day)
        if truth is None:
            found = game.clear(self.year.truth[index])
            truth = self.truths.put({"day": day, "cost": found.leader_cost, "gap": found.gap})
        for variant in missing:
            self.rows.put(asdict(self._line(variant, index, game, truth)))

    def _line(self, variant: str, index: int, game: Coordination, truth: dict[str, Any]) -> Line:
        """The day's game, cleared with what was released."""
        began = time.process_time()
        told, known, true = self.told[variant][index], self.year.public[index], self.year.truth[index]
        repaired = faithful(told, self.year, game)
        values, pulled, outcome = played(game, repaired, [known.profile] if told.may_be_pulled else [])
        return Line(
            variant=variant,
            day=known.day.isoformat(),
            l1=float(np.abs(values - true).sum()),
            total_error=float(values.sum() - true.sum()),
            moved=float(np.abs(repaired - told.values).sum()),
            pulled=pulled,
            cleared=outcome.feasible,
            leader_error=percent(outcome.leader_cost, truth["cost"]),
            gap=outcome.gap,
            cpu_s=time.process_time() - began,
        )

    def lines(self, variant: str, days: list[int]) -> list[Line]:
        """The rows of a variant on some days, where they are there."""
        found = (self.rows.get(self.year.public[index].day.isoformat(), variant) for index in days)
        return [Line(**row) for row in found if row is not None]

    def summary(self, variant: str, days: list[int]) -> str:
        """What all days cost, and what the cleared ones came to, with standard errors."""
        found, told = self.lines(variant, days), self.told[variant]
        losses = [each.loss for each in told]
        window = max(sum(losses[first : first + WINDOW]) for first in range(len(losses)))
        errors = [each.leader_error for each in found if each.leader_error is not None]
        winter = [
            each.leader_error
            for each in found
            if each.leader_error is not None and date.fromisoformat(each.day).month in WINTER
        ]
        return (
            f"{variant:18} sampled {sum(each.sampled for each in told):3d}  worst window {window:.6f}; "
            f"on {len(found)} days: L1 {mean([each.l1 for each in found])}  "
            f"total off by {mean([abs(each.total_error) for each in found])}  "
            f"cleared {100 * np.mean([each.cleared for each in found]):5.1f} %  "
            f"leader off by {mean(errors)} %, in {len(winter)} days of winter {mean(winter)} %, "
            f"at most {max(errors, default=np.nan):.2f} %; pulled {sum(each.pulled > 0 for each in found)}, "
            f"moved by 3b {sum(each.moved > 1e-3 for each in found)}, "
            f"largest gap {max(each.gap or 0 for each in found):.2%}, "
            f"{sum(each.cpu_s for each in found):,.0f} s of CPU time"
        )


def percent(found: float | None, true: float | None) -> float | None:
    return None if found is None or not true else 100.0 * abs(found - true) / abs(true)


def mean(found: list[float]) -> str:
    """With its standard error, of days as if they were independent."""
    if len(found) < 2:
        return "none"
    return f"{np.mean(found):,.4g} ({np.std(found, ddof=1) / np.sqrt(len(found)):.2g})"


def spread_out(count: int) -> list[int]:
    """All days, in an order of which every beginning is spread over the year: turns of a golden section."""
    step, whole = 1, 1  # Fibonacci numbers
    while whole < count:
        step, whole = whole, step + whole
    return [day for day in (number * step % whole for number in range(whole)) if day < count]


SHOWN = {
    "profile alone": (GREY, "x"),
    "PPSM with profile": (ORANGE, "+"),
    "regular": (BLUE, "o"),
    "absorption": (GREEN, "^"),
}
TITLES = {"northeast": "gas in the Northeast", "heat": "heat in a city"}
LEAST_SHOWN = 1e-3  # per cent


def picture(trials: dict[str, Trial]) -> Figure:
    """The leader's error on each day, a panel for each year."""
    figure = new_figure(10.0, 0.4 + 3.4 * len(trials))
    panels = figure.subplots(len(trials), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, trial) in zip(panels, trials.items(), strict=True):
        for variant, (colour, marker) in SHOWN.items():
            found = [
                each
                for each in trial.lines(variant, list(range(len(trial.year.public))))
                if each.leader_error is not None
            ]
            if not found:
                continue
            days = [date.fromisoformat(each.day).timetuple().tm_yday for each in found]
            errors = [max(LEAST_SHOWN, each.leader_error or 0.0) for each in found]
            axes.semilogy(days, errors, marker, color=colour, label=variant, markersize=4.5)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylabel(f"{TITLES[name]}:\nleader off by, %")
    panels[0].legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    panels[-1].set_xlabel(f"day of the year (what is below {LEAST_SHOWN} % is shown there)")
    return figure


def trial(name: str, variants: list[str], options: argparse.Namespace) -> Trial:
    """A year with its rows so far."""
    place = options.out / f"{name}-{options.seed}"
    year = YEARS[name](options.seed, place / "commitments")
    told = {variant: list(VARIANTS[variant](year, options.noise)) for variant in variants}
    return Trial(year, told, Rows(place / f"noise-{options.noise}.jsonl"), Rows(place / "truths.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("year", nargs="?", choices=sorted(YEARS), default="northeast")
    parser.add_argument("--days", type=int, default=DAYS, help="how many are cleared, spread over the year")
    parser.add_argument("--skip", type=int, default=0, help="how many of that order another run has cleared")
    parser.add_argument("--seed", type=int, default=12, help="of the year")
    parser.add_argument("--noise", type=int, default=13, help="seed of the noise")
    parser.add_argument("--variants", nargs="*", choices=sorted(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--out", type=Path, default=Path("out/stream_year"))
    parser.add_argument("--picture", type=Path, help="draw the rows that are there, and clear nothing")
    options = parser.parse_args()
    if options.picture is not None:
        there = [name for name in TITLES if (options.out / f"{name}-{options.seed}").exists()]
        save_figure(picture({name: trial(name, [], options) for name in there}), options.picture)
        return
    asked = trial(options.year, options.variants, options)
    totals = [values.sum() for values in asked.year.truth]
    print(f"{options.year}: {min(totals):,.0f} to {max(totals):,.0f} a day, alpha {asked.year.alpha:g}")
    days = spread_out(DAYS)[options.skip : options.skip + options.days]
    for number, index in enumerate(days, 1):
        asked.clear(index)
        print(f"{number} of {len(days)} days, {time.process_time():,.0f} s of CPU time", end="\r", flush=True)
    for variant in options.variants:
        print(asked.summary(variant, days), flush=True)


if __name__ == "__main__":
    main()
