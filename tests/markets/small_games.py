"""Random games that are small enough to try everything, yet have all the parts of a large one.

Two or three hours; one to three buses with a line that can be full; coal, oil and two or three gas-fired
fleets of one or two units with up to three blocks; ramps, minimum times, reserve and must-run units in some;
a gas network of two to four junctions with pipes, at times a compressor and line pack. Figures are drawn from
continuous ranges, so that neither EM nor GM has ties except by accident of probability zero.

:func:`steep_game` draws games of the same parts whose supply of gas has steps so steep that it is often best
to keep blocks back: gas-fired fleets of two units, blocks between those of coal, pipes that are full.
"""

import math
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
# Pressures at every junction, and what prices of two bids differ by at least in a steep game, $/MWh.
_PRESSURES_BAR = (30.0, 60.0)
_LEAST_DIFFERENCE = 0.4


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


def steep_game(seed: int) -> tuple[Case, FloatArray]:
    """A game in which keeping blocks of gas back is often best; the same for the same seed."""
    draw = np.random.default_rng([18, seed])
    hours = int(draw.choice([2, 2, 3]))
    buses, lines = _power_network(draw)
    fleets, bids = _steep_fleets(draw, buses, hours)
    while _closest_prices(bids) < _LEAST_DIFFERENCE:
        fleets, bids = _steep_fleets(draw, buses, hours)
    plants = [fleet for fleet in fleets if fleet.fuel == "gas"]
    junctions, _, compressors = _gas_network(draw)
    places = [row.junction for row in junctions]
    links = tuple(
        Link(fleet.fleet, str(draw.choice(places[1:])), _heat_rate(bids, fleet.fleet, draw), 1.0)
        for fleet in plants
    )
    burns = dict.fromkeys(places, 0.0)
    for link, fleet in zip(links, plants, strict=True):
        burns[link.junction] += hours * link.burn_mwh_per_mwh * fleet.unit_size_mw * fleet.unit_count
    burn = sum(burns.values())
    demand = float(draw.uniform(0.2, 0.8)) * burn
    homes = sorted(draw.choice(places[1:], size=min(2, len(places) - 1), replace=False).tolist())
    shares = demand * draw.dirichlet(np.full(len(homes), 3.0))
    delivered = dict.fromkeys(places, 0.0) | dict(zip(homes, shares.tolist(), strict=True))
    tank = links[0].junction if draw.random() < 0.7 else places[-1]
    case = Case(
        name=f"steep{seed}",
        title="a small random game with steep supply",
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
        pipes=_steep_pipes(draw, places, compressors, delivered, burns),
        compressors=compressors,
        regulators=(),
        supplies=_steep_supplies(draw, (places[0], tank), demand, burn),
        deliveries=tuple(
            Delivery(f"d{i}", place, delivered[place], 10 * demand) for i, place in enumerate(homes)
        ),
        links=links,
        load_shape=tuple(LoadHour(hour, float(draw.uniform(0.6, 1.0))) for hour in range(hours)),
    )
    check_case(case)
    # now and then more than the wells and pipes can give
    strain = float(draw.choice([1.0, 3.0], p=[0.94, 0.06]))
    return case, case.demand_mwh(0.0) * strain * draw.uniform(0.9, 1.1, len(homes))


def _closest_prices(bids: tuple[Bid, ...]) -> float:
    return float(np.diff(np.sort([bid.price_usd_per_mwh for bid in bids])).min())


def _steep_fleets(
    draw: np.random.Generator, buses: tuple[Bus, ...], hours: int
) -> tuple[tuple[Fleet, ...], tuple[Bid, ...]]:
    """Coal, one or two gas-fired fleets whose blocks lie between those of coal, and oil for all else."""
    total = sum(bus.load_mw for bus in buses)
    fleets: list[Fleet] = []
    bids: list[Bid] = []
    units = int(draw.integers(1, 3))
    kinds = [("coal", "coal", 1, 2, 22.0, 0.6), ("oil", "oil", 1, 2, 115.0, 0.95)]
    # as many blocks as leave few enough selections to try them all
    kinds.append(("gas1", "gas", units, 2 if units * hours > 4 else int(draw.integers(2, 4)), 30.0, 0.55))
    if draw.random() < 0.6:
        kinds.append(("gas2", "gas", 1, int(draw.integers(1, 3)), 33.0, 0.35))
    for name, fuel, count, blocks, price, share in kinds:
        size = total * share / count * float(draw.uniform(0.8, 1.15))
        slow = draw.random() < 0.35
        fleets.append(
            Fleet(
                fleet=name,
                bus=str(draw.choice([bus.bus for bus in buses])),
                fuel=fuel,
                technology="any",
                unit_count=count,
                unit_size_mw=size,
                unit_min_mw=size * float(draw.uniform(0.05, 0.25)),
                ramp_mw_per_h=size * float(draw.uniform(0.15, 0.6) if slow else 2.0),
                min_up_h=int(draw.integers(0, 3)),
                min_down_h=int(draw.integers(0, 3)),
                no_load_usd_per_h=float(draw.uniform(0, 300)),
                start_usd=float(draw.uniform(0, 500)),
                must_run=int(fuel == "coal" and draw.random() < 0.4),
            )
        )
        shares = np.sort(draw.uniform(0.3, 0.85, blocks - 1))
        sizes = size * np.diff(np.concatenate([[0.0], shares, [1.0]]))
        step = {"coal": (1.7, 2.6), "oil": (1.02, 1.1), "gas": (1.08, 1.5)}[fuel]
        prices = price * float(draw.uniform(0.9, 1.1)) * np.cumprod([1.0, *draw.uniform(*step, blocks - 1)])
        bids += [Bid(name, b + 1, float(sizes[b]), float(prices[b])) for b in range(blocks)]
    return tuple(fleets), tuple(bids)


def _steep_pipes(
    draw: np.random.Generator,
    places: list[str],
    stations: tuple[Compressor, ...],
    homes_mwh: dict[str, float],
    burn_mwh: dict[str, float],
) -> tuple[Pipe, ...]:
    """A pipe to every place without a compressor; some are full before all plants behind them burn."""
    parents = {row.to_junction: row.from_junction for row in stations}
    piped = [place for place in places[1:] if place not in parents]
    for place in piped:
        parents[place] = places[int(draw.integers(0, places.index(place)))]
    behind = {place: [each for each in places if place in _way(each, parents)] for place in places}
    largest_drop = math.sqrt(_PRESSURES_BAR[1] ** 2 - _PRESSURES_BAR[0] ** 2)
    pipes = []
    for place in piped:
        homes, burn = (sum(need[each] for each in behind[place]) for need in (homes_mwh, burn_mwh))
        narrow = draw.random() < 0.6
        most = 1.1 * homes + burn * float(draw.uniform(0.05, 0.5) if narrow else 1.5) + 1.0
        # of narrow pipes one half is limited by its pressures, the other by its capacity
        is_sold = narrow and places.index(place) % 2 == 0
        weymouth = (3.0 if is_sold else 1.0) * most / largest_drop
        capacity = most if is_sold else math.inf
        pipes.append(Pipe(f"to {place}", parents[place], place, "forward", 50.0, 0.5, weymouth, capacity))
    return tuple(pipes)


def _way(place: str, parents: dict[str, str]) -> list[str]:
    """A place and all places on the way of its gas."""
    return [place, *(_way(parents[place], parents) if place in parents else [])]


def _steep_supplies(
    draw: np.random.Generator, places: tuple[str, str], demand_mwh: float, burn_mwh: float
) -> tuple[SupplyBid, ...]:
    """Wells with cheap gas for the homes and some of the burn, then steps that few blocks cover; a tank."""
    sizes = (
        demand_mwh + burn_mwh * float(draw.uniform(0.08, 0.4)),
        burn_mwh * float(draw.uniform(0.03, 0.15)),
        burn_mwh * float(draw.uniform(0.2, 1.0)),
    )
    prices = (float(draw.uniform(8, 12.5)), float(draw.uniform(15, 30)), float(draw.uniform(32, 80)))
    wells = [
        SupplyBid("wells", places[0], number, size, price)
        for number, (size, price) in enumerate(zip(sizes, prices, strict=True), start=1)
    ]
    tank = SupplyBid(
        "tank", places[1], 1, burn_mwh * float(draw.uniform(0.1, 0.6)), float(draw.uniform(12, 60))
    )
    return (*wells, tank)


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
        Junction(f"j{i}", 41.0 + i, -76.0, *_PRESSURES_BAR, float(draw.choice([0.0, 20.0])))
        for i in range(count)
    )
    pipes, compressors = [], []
    for i in range(1, count):
        before = f"j{draw.integers(0, i)}"
        if i > 1 and draw.random() < 0.3:
            compressors.append(Compressor(f"c{i}", before, f"j{i}", "forward", 1.0, 1.2, float("inf")))
        else:
            pipes.append(
                Pipe(f"p{i}", before, f"j{i}", "forward", 50.0, 0.5, float(draw.uniform(8, 40)), math.inf)
            )
    if count == 4 and draw.random() < 0.5:
        pipes.append(Pipe("p9", "j0", "j3", "forward", 50.0, 0.5, float(draw.uniform(4, 20)), math.inf))
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
