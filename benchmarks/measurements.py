"""``python -m benchmarks.measurements``: what epsilon = 1 buys, by what it is spent on.

The gas market of the Northeast at a few stress cells, beside the burn of a commitment; nothing is published.
Noisy measurements become the nearest demand that can be served; the table says how far the market's value and
the entries are then off. Measured are the entries alone; entries and total, or totals of the zones,
over all splits; entries and the market's value, whose sensitivity is the price cap times alpha; entries and
what they cost at the prices that the noisy entries lead to. Beside them stands what no release with this
promise can do better (:mod:`benchmarks.least_error`).
``--figure FILE`` draws the effect of the split.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.least_error import least_mean_error
from ppsm.arrays import FloatArray
from ppsm.cases import load_case
from ppsm.coordinations import GaucCoordination
from ppsm.fidelity import Bands, Restorer, SearchLimits
from ppsm.figures import save_figure
from ppsm.figures.colours import BLUE, GREEN, VERMILION
from ppsm.figures.style import new_figure
from ppsm.games.follower import Follower
from ppsm.privacy import LaplaceMechanism, Sensitive
from ppsm.privacy.measurements import best_share

CELLS = ((0.30, 0.1), (0.36, 0.5), (0.48, 0.7), (0.48, 1.1), (0.60, 1.3))
ALPHAS = (10.0, 100.0, 1000.0)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TOTAL, ZONES = "total", "zones"
# Steps of alpha to either side in which somebody may want to tell demands apart.
CHAIN = 8
Errors = tuple[float, float]


class Market:
    """The gas market of one cell, with the true demand and what it is worth."""

    def __init__(self, power_stress: float, gas_stress: float) -> None:
        case = load_case("northeast")
        self.power_stress = power_stress
        game = GaucCoordination(case, power_stress)
        self.demand = case.demand_mwh(gas_stress)
        self.bounds, self.zones = game.public_bounds, game.public_zones
        self.follower: Follower = game.follower_at(game.decide(self.demand, None))
        self.restorer = Restorer(self.follower)
        self.value = self.follower.solve(self.demand).value
        # The dearest supply: no price that the market publishes is above it.
        self.cap = float(self.follower.program.cost.max())
        self.secret = Sensitive(
            self.demand, dataset="study", unit="MWh", entry_names=self.follower.parameter_names
        )

    def errors(self, found: FloatArray) -> Errors:
        """How far the value (per cent) and the entries (L1, MWh) are off."""
        value = self.follower.solve(found).value
        return 100.0 * abs(value / self.value - 1.0), float(np.abs(found - self.demand).sum())

    def with_totals(self, alpha: float, share: float, seed: int, *, zoned: bool) -> Errors:
        """Entries and, with a share of epsilon, the total or those of the zones."""
        zones = self.zones if zoned else ()
        mechanism = LaplaceMechanism(alpha=alpha, total_share=share, zones=zones)
        noisy = mechanism.simulate(self.secret, seed=seed)
        return self.errors(self.restorer.restore(noisy, Bands(), self.bounds).parameter)

    def with_value(self, alpha: float, seed: int) -> Errors:
        """Half of epsilon on the market's value, which one entry moves by at most the cap times alpha."""
        rng = np.random.default_rng(seed)
        entries = self.demand + rng.laplace(scale=2.0 * alpha, size=self.demand.size)
        value = self.value + rng.laplace(scale=2.0 * self.cap * alpha)
        bands, limits = Bands(value, 0.001 * abs(value)), SearchLimits(seconds=5.0)
        return self.errors(self.restorer.restore(entries, bands, self.bounds, limits=limits).parameter)

    def with_priced_total(self, alpha: float, seed: int) -> Errors:
        """Half of epsilon on the entries, half on their sum weighted by the prices that these lead to.

        One entry moves that sum by at most the dearest weight, here 1, times alpha.
        """
        scale = 2.0 * alpha
        rng = np.random.default_rng(seed)
        noisy = self.demand + rng.laplace(scale=scale, size=self.demand.size)
        first = self.follower.solve(self.restorer.restore(noisy, Bands(), self.bounds).parameter)
        prices = self.follower.parameter_map.T @ first.prices
        weights = prices / np.abs(prices).max()
        missed = weights @ (noisy - self.demand) - rng.laplace(scale=scale)
        # The nearest to both measurements, which are equally exact.
        nearest = noisy - missed / (1.0 + weights @ weights) * weights
        return self.errors(self.restorer.restore(nearest, Bands(), self.bounds).parameter)

    def least_error(self, alpha: float) -> float:
        """Per cent of the value that any release is off by in the mean on the worst of some demands."""
        return 100.0 * least_mean_error(self._values_along(alpha), 1.0) / self.value

    def _value(self, demand: FloatArray) -> float | None:
        found = self.follower.solve(demand)
        return found.value if found.status.has_answer else None

    def _values_along(self, alpha: float) -> FloatArray:
        """The value at demands of which each differs from the next in one entry by alpha.

        The true demand is in the middle; to either side it goes on as long as there is a value.
        """
        below, above = (list(self._values(self.moved(step))) for step in (-alpha, alpha))
        return np.array([*below[::-1], self.value, *above])

    def _values(self, demands: Iterable[FloatArray]) -> Iterator[float]:
        for demand in demands:
            found = self._value(demand)
            if found is None:
                return
            yield found

    def moved(self, step: float) -> Iterator[FloatArray]:
        """One entry after the other moves, always that which matters most to the market's value."""
        demand = self.demand
        for _ in range(CHAIN):
            moved = demand + step * np.eye(demand.size)
            within = ((moved >= self.bounds[0]) & (moved <= self.bounds[1])).all(axis=1)
            values = [(value, each) for each in moved[within] if (value := self._value(each)) is not None]
            if not values:
                return
            _, demand = max(values, key=lambda pair: np.sign(step) * pair[0])
            yield demand


def means(markets: list[Market], draws: int, run: Callable[..., Errors]) -> Errors:
    """Mean errors over markets and draws."""
    found = np.array([run(market, seed=seed) for market in markets for seed in range(draws)])
    value, l1 = found.mean(axis=0)
    return float(value), float(l1)


def table(markets: list[Market], draws: int) -> Iterator[tuple[float, str, Errors]]:
    """Rows of alpha, what was measured, mean errors."""
    for alpha in ALPHAS:
        runs: dict[str, Callable[..., Errors]] = {
            f"{name} {share:g}": partial(Market.with_totals, alpha=alpha, share=share, zoned=name == ZONES)
            for name in (TOTAL, ZONES)
            for share in SHARES
        }
        runs["value 0.5"] = partial(Market.with_value, alpha=alpha)
        runs["priced total 0.5"] = partial(Market.with_priced_total, alpha=alpha)
        for name, run in runs.items():
            yield alpha, name, means(markets, draws, run)


def draw(rows: list[tuple[float, str, Errors]], chosen: dict[float, float], path: Path) -> None:
    """Both errors over the share of epsilon on totals, relative to spending all on the entries."""
    figure = new_figure(7.0, 2.8)
    panels = figure.subplots(1, 2, sharex=True)
    for alpha, colour in zip(ALPHAS, (BLUE, GREEN, VERMILION), strict=True):
        for measured, style in ((TOTAL, ":"), (ZONES, "-")):
            lines = np.array(
                [errors for each, name, errors in rows if each == alpha and name.startswith(measured)]
            )
            label = f"{alpha:g} MWh, {measured}"
            for panel, line in zip(panels, (lines / lines[0]).T, strict=True):
                panel.plot(SHARES, line, color=colour, linestyle=style, marker="o", markersize=3, label=label)
                at = np.interp(chosen[alpha], SHARES, line)
                panel.plot([chosen[alpha]], [at], color=colour, marker="D", markersize=6)
    for panel, title in zip(panels, ("error of the market's value", "L1 error of the entries"), strict=True):
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("share of epsilon on totals", fontsize=8)
        panel.set_yscale("log")
        panel.tick_params(labelsize=8)
        panel.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("times that of entries alone", fontsize=8)
    panels[1].legend(fontsize=6)
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--figure", type=Path, default=None)
    options = parser.parse_args()
    markets = [Market(*cell) for cell in CELLS]
    chosen = {alpha: best_share(alpha, *markets[0].bounds) for alpha in ALPHAS}
    rows = []
    for alpha, name, errors in table(markets, options.draws):
        rows.append((alpha, name, errors))
        mark = " <- default" if name == f"{ZONES} {chosen[alpha]:g}" else ""
        print(
            f"{alpha:>6g} MWh  {name:<16} value {errors[0]:6.3f} %, L1 {errors[1]:8.0f} MWh{mark}", flush=True
        )
    for alpha in ALPHAS:
        least = float(np.mean([market.least_error(alpha) for market in markets]))
        print(f"{alpha:>6g} MWh  {'any release':<16} value {least:6.3f} % at the least")
    if options.figure is not None:
        draw(rows, chosen, options.figure)


if __name__ == "__main__":
    main()
