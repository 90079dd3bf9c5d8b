"""Random games that are small enough to try everything, yet have all the parts of a large one.

Two or three hours; one to three buses with a line that can be full; coal, oil and two or three gas-fired
fleets of one or two units with up to three blocks; ramps, minimum times, reserve and must-run units in some;
a gas network of two to four junctions with pipes, at times a compressor and line pack. Figures are drawn from
continuous ranges, so that neither EM nor GM has ties except by accident of probability zero.
"""

from itertools import pairwise

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases import Case
from ppsm.cases.checks import check_case
from ppsm.cases.entities import (
    Bid,
    Bus,
    Compressor,
    Delivery,
    Fleet,
    Junction,
    Line,
    Link,
    LoadHour,
    Pipe,
    SupplyBid,
)

MWH_PER_MMBTU = 0.29307107
# Gas prices that the blocks of a bid cover lie around these, $/MWh; supply steps lie between them.
_THRESHOLDS = (14.0, 21.0, 28.0)
_SUPPLY_PRICES = (10.0, 17.0, 24.0, 31.0)


def small_game(seed: int) -> tuple[Case, FloatArray]:
    """A case and a demand vector, the same for the same seed on every machine."""
    draw = np.random.default_rng([4, seed])
    buses, lines = _power_network(draw)
    fleets, bids = _fleets(draw, buses)
    junctions, pipes, compressors = _gas_network(draw)
    plants = [fleet for fleet in fleets if fleet.fuel == "gas"]
    places = [row.junction for row in junctions]
    links = tuple(
        Link(fleet.fleet, str(draw.choice(places[1:])), _heat_rate(bids, fleet.fleet, draw), 1.0)
        for fleet in plants
    )
    burn = sum(
        link.burn_mwh_per_mwh * fleet.unit_size_mw * fleet.unit_count
        for link, fleet in zip(links, plants, strict=True)
    )
    hours = int(draw.integers(2, 4))
    demand = draw.uniform(0.3, 1.0) * burn
    homes = sorted(draw.choice(places[1:], size=min(2, len(places) - 1), replace=False).tolist())
    deliveries = tuple(
        Delivery(f"d{i}", place, demand / len(homes), 10 * demand) for i, place in enumerate(homes)
    )
    case = Case(
        name=f"small{seed}",
        title="a small random game",
        source="drawn at random",
        base_mva=100.0,
        reserve_fraction=float(draw.choice([0.0, 0.0, 0.08])),
        power_stress=(0.0,),
        gas_stress=(0.0,),
        buses=buses,
        lines=lines,
        fleets=fleets,
        bids=bids,
        junctions=junctions,
        pipes=pipes,
        compressors=compressors,
        regulators=(),
        supplies=_supplies(draw, places, demand + hours * burn),
        deliveries=deliveries,
        links=links,
        load_shape=tuple(LoadHour(hour, float(draw.uniform(0.55, 1.0))) for hour in range(hours)),
    )
    check_case(case)
    return case, case.demand_mwh(0.0) * draw.uniform(0.5, 1.5, len(deliveries))


def _power_network(draw: np.random.Generator) -> tuple[tuple[Bus, ...], tuple[Line, ...]]:
    count = int(draw.integers(1, 4))
    buses = tuple(
        Bus(f"b{i}", f"bus {i}", 41.0 + i, -75.0, float(draw.uniform(60, 140)), 0.0) for i in range(count)
    )
    pairs = [*pairwise(range(count)), *([(0, 2)] if count == 3 else [])]
    lines = tuple(
        Line(
            f"l{i}",
            f"b{start}",
            f"b{end}",
            float(draw.uniform(0.05, 0.2)),
            0.0,
            float(draw.uniform(40, 120)) if draw.random() < 0.6 else float("inf"),
        )
        for i, (start, end) in enumerate(pairs)
    )
    return buses, lines


def _fleets(draw: np.random.Generator, buses: tuple[Bus, ...]) -> tuple[tuple[Fleet, ...], tuple[Bid, ...]]:
    kinds = [("coal", "coal", 22.0), ("gas1", "gas", 31.0), ("gas2", "gas", 34.0), ("oil", "oil", 110.0)]
    fleets, bids = [], []
    total = sum(bus.load_mw for bus in buses)
    for name, fuel, price in kinds:
        units = int(draw.integers(1, 3)) if fuel == "oil" else 1
        size = total / units * float(draw.uniform(0.35, 0.6) if fuel != "oil" else draw.uniform(0.5, 0.9))
        slow = draw.random() < 0.3
        fleets.append(
            Fleet(
                fleet=name,
                bus=str(draw.choice([bus.bus for bus in buses])),
                fuel=fuel,
                technology="any",
                unit_count=units,
                unit_size_mw=size,
                unit_min_mw=size * float(draw.uniform(0.1, 0.45)),
                ramp_mw_per_h=size * float(draw.uniform(0.25, 0.6) if slow else 2.0),
                min_up_h=int(draw.integers(0, 3)),
                min_down_h=int(draw.integers(0, 3)),
                no_load_usd_per_h=float(draw.uniform(0, 500)),
                start_usd=float(draw.uniform(0, 800)),
                must_run=int(fuel == "coal" and draw.random() < 0.2),
            )
        )
        bids += _blocks(draw, name, fuel, size, price)
    return tuple(fleets), tuple(bids)


def _blocks(draw: np.random.Generator, name: str, fuel: str, size: float, price: float) -> list[Bid]:
    count = int(draw.integers(1, 4)) if fuel == "gas" else int(draw.integers(1, 3))
    shares = np.sort(draw.uniform(0.25, 0.95, count - 1))
    sizes = size * np.diff(np.concatenate([[0.0], shares, [1.0]]))
    # gas blocks cover thresholds in their order: price_k / price_1 is about threshold_k / threshold_1
    ratios = [threshold / _THRESHOLDS[0] for threshold in _THRESHOLDS] if fuel == "gas" else [1.0, 1.15]
    first = price * float(draw.uniform(0.9, 1.1))
    prices = [first * ratios[block] * float(draw.uniform(0.97, 1.03)) for block in range(count)]
    return [Bid(name, block + 1, float(sizes[block]), prices[block]) for block in range(count)]


def _heat_rate(bids: tuple[Bid, ...], fleet: str, draw: np.random.Generator) -> float:
    """Such that the first block covers gas at about the first threshold."""
    first = next(bid for bid in bids if bid.fleet == fleet)
    return first.price_usd_per_mwh / MWH_PER_MMBTU / (_THRESHOLDS[0] * float(draw.uniform(0.9, 1.1)))


def _gas_network(
    draw: np.random.Generator,
) -> tuple[tuple[Junction, ...], tuple[Pipe, ...], tuple[Compressor, ...]]:
    count = int(draw.integers(2, 5))
    junctions = tuple(
        Junction(f"j{i}", 41.0 + i, -76.0, 30.0, 60.0, float(draw.choice([0.0, 20.0]))) for i in range(count)
    )
    pipes, compressors = [], []
    for i in range(1, count):
        before = f"j{draw.integers(0, i)}"
        if i > 1 and draw.random() < 0.3:
            compressors.append(Compressor(f"c{i}", before, f"j{i}", "forward", 1.0, 1.2, float("inf")))
        else:
            pipes.append(Pipe(f"p{i}", before, f"j{i}", "forward", 50.0, 0.5, float(draw.uniform(8, 40))))
    if count == 4 and draw.random() < 0.5:
        pipes.append(Pipe("p9", "j0", "j3", "forward", 50.0, 0.5, float(draw.uniform(4, 20))))
    return junctions, tuple(pipes), tuple(compressors)


def _supplies(draw: np.random.Generator, places: list[str], need_mwh: float) -> tuple[SupplyBid, ...]:
    """Wells at the first junction, a dear tank at the last; more or less as much as may be needed."""
    shares = draw.uniform(0.1, 0.4, len(_SUPPLY_PRICES))
    wells = [
        SupplyBid("wells", places[0], block + 1, float(share * need_mwh), price)
        for block, (share, price) in enumerate(
            zip(shares, np.array(_SUPPLY_PRICES) * draw.uniform(0.95, 1.05, len(_SUPPLY_PRICES)), strict=True)
        )
    ]
    size, price = float(draw.uniform(0.05, 0.5) * need_mwh), float(draw.uniform(25, 60))
    return (*wells, SupplyBid("tank", places[-1], 1, size, price))
