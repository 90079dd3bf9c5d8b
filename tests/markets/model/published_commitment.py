"""Published unit-commitment instances of one bus with their stated optimal costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppsm.cases import Case
from ppsm.cases.entities import Bid, Bus, Fleet, LoadHour
from ppsm.markets.model.commitment import Before


@dataclass(frozen=True)
class Unit:
    """One unit: output range in MW, cost ``a + b p + c p^2`` in $/h, start cost, times in hours.

    ``status`` counts hours on (positive) or off (negative) before hour 0.
    """

    most: float
    least: float
    a: float
    b: float
    c: float
    start_usd: float
    min_up: int
    min_down: int
    status: int


def one_bus_case(
    units: Sequence[Unit], load_mw: Sequence[float], *, reserve: float = 0.0, segments: int = 1
) -> tuple[Case, dict[str, Before]]:
    """A case and its past; a quadratic cost becomes chords over equal segments of the output range.

    The first block reaches down to zero with the slope of the first segment; the no-load cost makes the sum
    right from the least output on.
    """
    peak = max(load_mw)
    fleets, bids, past = [], [], {}
    for number, entry in enumerate(units, 1):
        name = f"u{number}"
        points = np.linspace(entry.least, entry.most, segments + 1)
        cost = entry.a + entry.b * points + entry.c * points**2
        slopes = np.diff(cost) / np.diff(points)
        no_load = float(cost[0] - slopes[0] * points[0])
        fleets.append(
            Fleet(
                name, "bus", "other", "thermal", 1, entry.most, entry.least, 1e5,
                entry.min_up, entry.min_down, no_load, entry.start_usd, 0,
            )
        )  # fmt: skip
        sizes = np.diff(points)
        sizes[0] += entry.least
        bids += [
            Bid(name, block, float(size), float(slope))
            for block, (size, slope) in enumerate(zip(sizes, slopes, strict=True), 1)
        ]
        past[name] = (
            Before(on=1, on_h=entry.status) if entry.status > 0 else Before(on=0, off_h=-entry.status)
        )
    shape = tuple(LoadHour(hour, load / peak) for hour, load in enumerate(load_mw))
    case = Case(
        name="published",
        title="a published instance",
        source="see the test",
        base_mva=100.0,
        reserve_fraction=reserve,
        power_stress=(0.0,),
        gas_stress=(0.0,),
        buses=(Bus("bus", "bus", 41.0, -75.0, float(peak), 0.0),),
        lines=(),
        fleets=tuple(fleets),
        bids=tuple(bids),
        junctions=(),
        pipes=(),
        compressors=(),
        regulators=(),
        supplies=(),
        deliveries=(),
        links=(),
        load_shape=shape,
    )
    return case, past


def chord_error_usd_per_h(unit: Unit, segments: int) -> float:
    """How much a chord is above the parabola at most: c w^2 / 4 over a segment of width w."""
    return unit.c * ((unit.most - unit.least) / segments) ** 2 / 4


# A. J. Wood and B. F. Wollenberg, Power Generation, Operation, and Control (Wiley), the example of four units
# and eight hours solved by dynamic programming: incremental heat rates 10440, 9000, 8730, 11900 Btu/kWh at
# 2 $/MBtu; start-up costs cold.
WOOD_WOLLENBERG = (
    Unit(80, 25, 213.00, 20.88, 0.0, 350.0, 4, 2, -5),
    Unit(250, 60, 585.62, 18.00, 0.0, 400.0, 5, 3, 8),
    Unit(300, 75, 684.74, 17.46, 0.0, 1100.0, 5, 4, 8),
    Unit(60, 20, 252.00, 23.80, 0.0, 0.02, 1, 1, -6),
)
WOOD_WOLLENBERG_LOAD_MW = (450, 530, 600, 540, 400, 280, 290, 500)

# S. A. Kazarlis, A. G. Bakirtzis, V. Petridis, "A genetic algorithm solution to the unit commitment
# problem", IEEE Trans. Power Systems 11(1), 1996: ten units, 24 hours, 10 % reserve. Starts cost as given
# here when hot, twice that when cold.
KAZARLIS = (
    Unit(455, 150, 1000, 16.19, 0.00048, 4500, 8, 8, 8),
    Unit(455, 150, 970, 17.26, 0.00031, 5000, 8, 8, 8),
    Unit(130, 20, 700, 16.60, 0.00200, 550, 5, 5, -5),
    Unit(130, 20, 680, 16.50, 0.00211, 560, 5, 5, -5),
    Unit(162, 25, 450, 19.70, 0.00398, 900, 6, 6, -6),
    Unit(80, 20, 370, 22.26, 0.00712, 170, 3, 3, -3),
    Unit(85, 25, 480, 27.74, 0.00079, 260, 3, 3, -3),
    Unit(55, 10, 660, 25.92, 0.00413, 30, 1, 1, -1),
    Unit(55, 10, 665, 27.27, 0.00222, 30, 1, 1, -1),
    Unit(55, 10, 670, 27.79, 0.00173, 30, 1, 1, -1),
)
KAZARLIS_COLD_START_H = (5, 5, 4, 4, 4, 2, 2, 0, 0, 0)
KAZARLIS_LOAD_MW = (
    700, 750, 850, 950, 1000, 1100, 1150, 1200, 1300, 1400, 1450, 1500,
    1400, 1300, 1200, 1050, 1000, 1100, 1200, 1400, 1300, 1100, 900, 800,
)  # fmt: skip
KAZARLIS_BEST_USD = 563_938.0
