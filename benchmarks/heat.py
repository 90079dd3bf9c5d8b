"""``python -m benchmarks.heat``: a year of heat and electricity, Laplace against PPSM, and a picture.

Draws go round the days of the year; in each the operator's cost with the released loads is compared with that
of the true ones. PPSM knows what heat markets publish (value and prices of the day) and the day's forecast.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ppsm import PPSM, Laplace, PublicOutcome, Sensitive
from ppsm.arrays import FloatArray
from ppsm.examples.heat import DAYS, HeatDay, heat_day, heat_year
from ppsm.figures.colours import BLUE, GREY, VERMILION
from ppsm.figures.style import new_figure, save_figure
from ppsm.mechanism.coordination import Outcome, published
from ppsm.privacy import simulated_publication

Row = dict[str, float | int | str | None]
_SPACING = 37  # coprime to 365: draws go round the seasons
FIRST_SEED = 5000  # not used before


def draws(alpha: float, count: int, rows: Path) -> None:
    """Append one row for each draw and way: the forecast alone, Laplace, PPSM."""
    for number in range(count):
        day = (number * _SPACING) % DAYS
        today, began = heat_day(day), time.process_time()
        truth = today.market.clear(today.loads)
        game_seconds = time.process_time() - began
        if truth.leader_cost is None:
            raise SystemExit(f"day {day} of the true loads ended '{truth.status.value}': give it more time.")
        for way, values, seconds in _ways(alpha, number, today, truth):
            outcome = today.market.clear(values)
            cost = outcome.leader_cost
            row: Row = {
                "day": day,
                "alpha": alpha,
                "mechanism": way,
                "status": outcome.status.value,
                "error": None if cost is None else abs(cost / truth.leader_cost - 1),
                "l1_mwh": float(np.abs(values - today.loads).sum()),
                "true_status": truth.status.value,
                "game_cpu_s": game_seconds,
                "release_cpu_s": seconds,
            }
            with rows.open("a") as file:
                file.write(json.dumps(row) + "\n")


def _ways(
    alpha: float, number: int, today: HeatDay, truth: Outcome
) -> Iterator[tuple[str, FloatArray, float]]:
    """What the operator could plan with, and the CPU seconds it took."""
    market = today.market
    # The control: what everybody knows, without any release.
    yield "forecast", today.forecast.mean, 0.0
    figures = published(truth, market.sensitive_follower, market.price_names, market.felt_names)
    public = PublicOutcome(simulated_publication(figures, dataset="heat"), seed=number)
    secret = Sensitive(today.loads, dataset="heat", unit=market.unit, entry_names=market.entry_names)
    for mechanism in (Laplace(alpha=alpha), PPSM(alpha=alpha, prior=today.forecast)):
        began = time.process_time()
        release = mechanism.simulate(secret, market, public, seed=FIRST_SEED + number)
        yield mechanism.name, release.released.values, time.process_time() - began


def read_rows(path: Path) -> list[Row]:
    """The rows measured so far."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def table(rows: list[Row]) -> str:
    """One line for each alpha and mechanism."""
    lines = ["alpha  mechanism  draws  cleared  mean error  median error  mean L1, MWh  CPU s game / release"]
    for alpha, name in sorted({(row["alpha"], row["mechanism"]) for row in rows}):
        own = [row for row in rows if (row["alpha"], row["mechanism"]) == (alpha, name)]
        errors = np.array([row["error"] for row in own if row["error"] is not None], dtype=float)
        distance = np.mean([row["l1_mwh"] for row in own])
        seconds = [np.median([row[key] for row in own]) for key in ("game_cpu_s", "release_cpu_s")]
        lines.append(
            f"{alpha:<6g} {name:<10} {len(own):<6} {errors.size / len(own):<8.0%} {errors.mean():<11.3%} "
            f"{np.median(errors):<13.4%} {distance:<13,.0f} {seconds[0]:.2f} / {seconds[1]:.2f}"
        )
    return "\n".join(lines)


def picture(rows: list[Row]) -> Figure:
    """The year's loads, and what each draw costs the operator."""
    figure = new_figure(10.0, 6.4)
    above, below = figure.subplots(2, 1, sharex=True)
    year = heat_year()
    city = year.heat_mwh.sum(axis=2)
    above.fill_between(np.arange(DAYS), city.min(axis=1), city.max(axis=1), color=GREY, alpha=0.5, lw=0)
    above.plot(city.mean(axis=1), color="black", lw=1)
    above.set_ylabel("heat load of the city, MW\n(mean, least and largest hour)")
    _errors(below, [row for row in rows if row["alpha"] == 30])
    return figure


def _errors(axes: Axes, rows: list[Row]) -> None:
    for name, label, colour, marker in (
        ("laplace", "Laplace", VERMILION, "x"),
        ("ppsm", "PPSM", BLUE, "o"),
    ):
        own = [row for row in rows if row["mechanism"] == name]
        cleared = [row for row in own if row["error"] is not None]
        errors = [max(1e-4, 100 * float(row["error"] or 0)) for row in cleared]
        axes.semilogy([row["day"] for row in cleared], errors, marker, color=colour, label=label)
        lost = [row["day"] for row in own if row["error"] is None]
        if lost:
            axes.semilogy(lost, [40] * len(lost), "v", color=colour, label=f"{label}: cannot be cleared")
    axes.set_ylabel("error of the operator's cost, %\n(alpha = 30 MWh, below 0.0001: there)")
    axes.set_xlabel("day of the year")
    axes.legend(ncols=3, loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small")


def main() -> None:
    """Measure, print the table, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--alphas", type=float, nargs="*", default=[10.0, 30.0, 100.0])
    parser.add_argument("--rows", type=Path, default=Path("out/heat.jsonl"))
    parser.add_argument("--picture", type=Path, default=Path("docs/assets/heat.svg"))
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    for alpha in options.alphas:
        draws(alpha, options.draws, options.rows)
    rows = read_rows(options.rows)
    print(table(rows))
    save_figure(picture(rows), options.picture)


if __name__ == "__main__":
    main()
