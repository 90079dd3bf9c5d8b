"""A year on the Northeast: 365 daily releases, any 30 days within epsilon = 1, against daily noise.

Run ``python -m benchmarks.stream_year [--alpha 100] [--days 365] [--out DIR]``. The year is ours, made from
assumptions: monthly mean temperatures like those of Boston, to a degree, cold and warm
spells of a few days around them, gas demand that rises with heating degree days below 18 C and falls a
little on weekends. True demands also drift, and depart from that shape from day to day, each by itself and
together.
Public are calendar, temperatures, and the maximum daily quantities of the case: the profile. Which part of
its maximum quantity a delivery takes is secret.

Every variant is released with seeded noise. The game is cleared on every day, without proof, by solvers of
their own for truth and release; the leader's error is of the cost of these commitments.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases import load_case
from ppsm.coordinations import GaucCoordination
from ppsm.errors import SolverError
from ppsm.mechanism import PPSM, Laplace, Outcome
from ppsm.mechanism.predictors import seed_of
from ppsm.privacy import Sensitive
from ppsm.streams.engine import PublicDay
from ppsm.streams.policies import Absorption, Daily, Distribution, Policy, Regular
from ppsm.streams.promise import Promise
from ppsm.streams.stream_run import Settings, StreamDay, StreamRun

# Mean temperature of each month in whole degrees Fahrenheit: an assumption near the normals of Boston,
# not read off their table.
MONTHLY_F = (30, 32, 38, 49, 58, 68, 74, 73, 66, 55, 45, 36)
FIRST = date(2026, 1, 1)
WINDOW, EPSILON, POWER_STRESS = 30, 1.0, 0.48
DATASET = "gas-demand/year"


@dataclass(frozen=True)
class Line:
    """One day of one variant."""

    variant: str
    day: str
    sampled: bool
    loss: float
    l1: float
    total_error: float
    cleared: bool
    leader_error: float | None
    value_error: float | None


def temperatures(days: int) -> FloatArray:
    """Daily means in degrees Celsius: the months, and spells of a few days around them."""
    middles = [date(FIRST.year, month, 15).timetuple().tm_yday for month in range(1, 13)]
    usual = np.interp(np.arange(1, days + 1), middles, (np.array(MONTHLY_F) - 32) / 1.8, period=365)
    generator, spell, found = np.random.default_rng(1), 0.0, []
    for mean in usual:
        spell = 0.7 * spell + 2.8 * generator.standard_normal()
        found.append(mean + spell)
    return np.array(found)


def shape(days: int) -> FloatArray:
    """Public: demand of a day relative to one without heating, by temperature and weekday."""
    heating = np.maximum(18.0 - temperatures(days), 0.0)
    weekend = np.array([(FIRST + timedelta(days=index)).weekday() >= 5 for index in range(days)])
    return (1.0 + heating / 22.0) * np.where(weekend, 0.95, 1.0)


def year(days: int) -> tuple[list[PublicDay], list[FloatArray]]:
    """What everybody knows of each day, and its true demand."""
    case = load_case("northeast")
    usual, most = shape(days), case.mdq_mwh()
    profile = most * case.demand_mwh(0.0).sum() / most.sum()
    generator = np.random.default_rng(2)
    size = most.size
    level, public, truth = case.demand_mwh(0.0).copy(), [], []
    for index in range(days):
        level = level * np.exp(0.002 * generator.standard_normal() + 0.003 * generator.standard_normal(size))
        departure = 0.02 * generator.standard_normal() + 0.03 * generator.standard_normal(size)
        truth.append(np.clip(level * usual[index] * (1.0 + departure), 0.0, most))
        public.append(PublicDay(FIRST + timedelta(days=index), profile * usual[index]))
    return public, truth


def secret(values: FloatArray, day: date, names: tuple[str, ...]) -> Sensitive:
    return Sensitive(values, dataset=DATASET, unit="MWh", entry_names=names, day=day.isoformat())


def game() -> GaucCoordination:
    return GaucCoordination(load_case("northeast"), POWER_STRESS, gap=5e-3, time_limit=200.0, proof=False)


# Whether a day was sampled, what it lost, what was released, and the game cleared with that.
Days = Iterator[tuple[bool, float, FloatArray, Outcome]]
Variant = Callable[[list[PublicDay], list[FloatArray]], Days]


def streamed(policy: Policy, alpha: float, public: list[PublicDay], truth: list[FloatArray]) -> Days:
    market = game()
    settings = Settings(
        promise=Promise(alpha=alpha, epsilon=EPSILON, window=WINDOW),
        policy=policy,
        mechanism=PPSM(alpha=alpha),
    )
    days = [
        StreamDay(known, secret(values, known.day, market.entry_names))
        for known, values in zip(public, truth, strict=True)
    ]
    with tempfile.TemporaryDirectory() as place:
        for each in StreamRun(settings, lambda _: market, directory=Path(place), seed=3).release(days):
            yield each.sampled, each.loss, each.values, each.outcome


def each_day_by_itself(mechanism: Laplace, public: list[PublicDay], truth: list[FloatArray]) -> Days:
    """A release a day that knows nothing of the others, with the same promise for a window."""
    market = game()
    for known, values in zip(public, truth, strict=True):
        data = secret(values, known.day, market.entry_names)
        noisy = mechanism.perturb_with_seed(data, market, seed=seed_of("daily", known.day))
        released = noisy.values
        if isinstance(mechanism, PPSM):
            with suppress(SolverError):  # else it stays as noisy as it is
                released = mechanism.repair(noisy, market).answer.fidelity.parameter
        yield True, mechanism.epsilon, released, market.clear(released)


def percent(found: float | None, true: float | None) -> float | None:
    return None if found is None or not true else 100.0 * abs(found - true) / abs(true)


def lines(variant: str, days: Days, public: list[PublicDay], truth: list[FloatArray]) -> Iterator[Line]:
    market = game()
    for known, values, (sampled, loss, released, outcome) in zip(public, truth, days, strict=True):
        original = market.clear(values)
        yield Line(
            variant,
            known.day.isoformat(),
            sampled,
            loss,
            float(np.abs(released - values).sum()),
            float(released.sum() - values.sum()),
            outcome.feasible,
            percent(outcome.leader_cost, original.leader_cost),
            percent(outcome.values.get("gas"), original.values.get("gas")),
        )


def variants(alpha: float) -> dict[str, Variant]:
    share = EPSILON / WINDOW

    def by(policy: Policy) -> Variant:
        return lambda public, truth: streamed(policy, alpha, public, truth)

    def alone(mechanism: Laplace) -> Variant:
        return lambda public, truth: each_day_by_itself(mechanism, public, truth)

    return {
        "regular": by(Regular()),
        "daily Laplace": alone(Laplace(alpha=alpha, epsilon=share)),
        "budget-blind PPSM": alone(PPSM(alpha=alpha, epsilon=share)),
        "absorption": by(Absorption()),
        "distribution": by(Distribution()),
        "daily, coupled": by(Daily()),
    }


def summary(found: list[Line]) -> str:
    losses = np.array([line.loss for line in found])
    window = max(losses[first : first + WINDOW].sum() for first in range(len(losses)))
    leader = [line.leader_error for line in found if line.leader_error is not None]
    value = [line.value_error for line in found if line.value_error is not None]
    return (
        f"{found[0].variant:18} sampled {sum(line.sampled for line in found):4d}  worst window {window:.4f}  "
        f"L1 {np.mean([line.l1 for line in found]):9,.0f}  "
        f"total off by {np.mean([abs(line.total_error) for line in found]):8,.0f} MWh  "
        f"cleared {100 * np.mean([line.cleared for line in found]):5.1f} %  "
        f"gas value {np.mean(value) if value else np.nan:7.3f} %  "
        f"leader {np.mean(leader) if leader else np.nan:8.5f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alpha", type=float, default=100.0)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    public, truth = year(options.days)
    totals = [values.sum() for values in truth]
    print(
        f"alpha {options.alpha:g} MWh, demand {min(totals):,.0f} to {max(totals):,.0f} MWh a day", flush=True
    )
    kept: list[Line] = []
    for name, build in variants(options.alpha).items():
        begun = time.process_time()
        found = list(lines(name, build(public, truth), public, truth))
        kept += found
        print(f"{summary(found)}  ({time.process_time() - begun:.0f} s of CPU time)", flush=True)
        file = options.out / f"stream_year_{options.alpha:g}.json"
        file.write_text(json.dumps([asdict(line) for line in kept]) + "\n")


if __name__ == "__main__":
    main()
