"""Tiny games whose answer can be found by trying everything, and the trying itself in plain Python.

One bus, two hours, no ramps and no minimum times: EM is a merit order hour by hour. Gas-fired fleets have one
unit that selects its first block or both. The gas market is the two-node network: wells behind a pipe of 1800
MWh, then a tank, so that the lowest optimal price is a step function of the withdrawal. Nothing here uses the
package's models.
"""

import itertools
from dataclasses import replace

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases import Case, load_case
from ppsm.cases.entities import Bid, Fleet, Link, LoadHour, SupplyBid

MWH_PER_MMBTU = 0.29307107
PIPE_MWH = 1800.0
# What the homes of the toy game use, and what its best answer costs.
TOY_DEMAND_MWH = 800.0
TOY_OPTIMUM_USD = 7700.0


def tiny_case(seed: int) -> Case:
    """A random case on the two-node network with two gas plants, coal and oil."""
    generator = np.random.default_rng(seed)
    base = load_case("two_node")
    fleets, bids, links = [], [], []
    for name, fuel, price in (
        ("coal", "coal", 20),
        ("gas1", "gas", 30),
        ("gas2", "gas", 34),
        ("oil", "oil", 120),
    ):
        size = float(generator.integers(60, 120))
        least = round(size * float(generator.uniform(0.1, 0.5)), 1)
        count = 2 if name == "oil" else 1
        no_load, start = (round(float(generator.uniform(0, 400)), 2) for _ in range(2))
        fleets.append(Fleet(name, "east", fuel, "any", count, size, least, 1000.0, 0, 0, no_load, start, 0))
        first = round(size * float(generator.uniform(0.5, 0.8)), 1)
        step = float(generator.uniform(1.2, 2.2))
        spread = float(generator.uniform(0.9, 1.1))
        bids.append(Bid(name, 1, first, round(price * spread, 2)))
        bids.append(Bid(name, 2, round(size - first, 1), round(price * spread * step, 2)))
        if fuel == "gas":
            links.append(Link(name, "city", round(float(generator.uniform(6.5, 8.5)), 2), 1.0))
    shape = tuple(LoadHour(hour, round(float(generator.uniform(0.6, 1.0)), 3)) for hour in range(2))
    lines = tuple(replace(line, rating_mw=np.inf) for line in base.lines)
    return replace(
        base, name=f"tiny{seed}", fleets=tuple(fleets), bids=tuple(bids), links=tuple(links), lines=lines,
        load_shape=shape,
    )  # fmt: skip


def toy_case() -> Case:
    """Two hours of 130 MW in which it is best to keep the second block of the gas-fired plant back.

    Gas costs 10 $/MWh up to what two hours of its first block burn, 2 x 50 MW x 2.49, and 100 $/MWh beyond,
    which no block covers. With everything offered EM takes 80 MW of gas in an hour, so that the plant can run
    in one hour only: 3550 + 6850 $. With the first block alone coal gives the other 80 MW: 3850 $ twice.
    """
    base = load_case("two_node")
    blocks = {"coal": (20.0, 45.0), "gas": (30.0, 35.0), "oil": (120.0, 121.0)}
    return replace(
        base,
        name="toy",
        buses=tuple(replace(bus, load_mw=130.0 if bus.bus == "east" else 0.0) for bus in base.buses),
        lines=tuple(replace(line, rating_mw=np.inf) for line in base.lines),
        fleets=tuple(
            Fleet(name, "east", name, "any", 1, 100.0, 0.0, 1000.0, 0, 0, 0.0, 0.0, 0) for name in blocks
        ),
        bids=tuple(
            Bid(name, number, 50.0, price)
            for name, prices in blocks.items()
            for number, price in enumerate(prices, start=1)
        ),
        supplies=(
            SupplyBid("wells", "field", 1, TOY_DEMAND_MWH + 250.0, 10.0),
            SupplyBid("wells", "field", 2, 1000.0, 100.0),
            SupplyBid("tank", "city", 1, 500.0, 110.0),
        ),
        links=(Link("gas", "city", 8.5, 1.0),),
        load_shape=tuple(LoadHour(hour, 1.0) for hour in range(2)),
    )


def lowest_gas_price(case: Case, withdrawal_mwh: float) -> float | None:
    """The lowest optimal price in the city, $/MWh; None where the withdrawal cannot be served."""
    wells1, wells2, tank = case.supplies
    for limit, price in (
        (wells1.size_mwh, wells1.price_usd_per_mwh),
        (min(PIPE_MWH, wells1.size_mwh + wells2.size_mwh), wells2.price_usd_per_mwh),
        (PIPE_MWH + tank.size_mwh, tank.price_usd_per_mwh),
    ):
        if withdrawal_mwh <= limit + 1e-9:
            return price
    return None


def hour_dispatch(
    case: Case, load_mw: float, on: tuple[int, ...], offered: tuple[int, ...]
) -> tuple[float, FloatArray] | None:
    """Merit order of one hour: cost and output by fleet; None where the load cannot be met.

    ``offered`` blocks of every running unit; of a plant's blocks all but the last of them are full.
    """
    output = np.zeros(len(on))
    cost, offers = 0.0, []
    for row, (fleet, blocks) in enumerate(zip(case.fleets, offered, strict=True)):
        bids = [bid for bid in case.bids if bid.fleet == fleet.fleet][:blocks]
        full = sum(bid.size_mw for bid in bids[:-1]) if fleet.fuel == "gas" else 0.0
        least = max(fleet.unit_min_mw, full) * on[row]
        for bid in bids:
            size = bid.size_mw * on[row]
            taken = min(size, least - output[row])
            output[row] += taken
            cost += taken * bid.price_usd_per_mwh
            offers.append((bid.price_usd_per_mwh, size - taken, row))
        if output[row] < least - 1e-9:
            return None
    rest = load_mw - output.sum()
    if rest < -1e-9:
        return None
    for price, room, row in sorted(offers):
        taken = min(room, rest)
        output[row] += taken
        cost += taken * price
        rest -= taken
    return (cost, output) if rest <= 1e-9 else None


def _choices(case: Case) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Units on and blocks offered, by fleet: one hour of the leader."""
    by_fleet = []
    for fleet in case.fleets:
        blocks = sum(bid.fleet == fleet.fleet for bid in case.bids)
        selects = fleet.fuel == "gas"
        assert fleet.unit_count == 1 or not selects
        by_fleet.append(
            [(0, blocks)]
            + [
                (on, offered)
                for on in range(1, fleet.unit_count + 1)
                for offered in (range(1, blocks + 1) if selects else (blocks,))
            ]
        )
    pairs = itertools.product(*by_fleet)
    return [(tuple(on for on, _ in each), tuple(offered for _, offered in each)) for each in pairs]


def best_by_trying(case: Case, stress: float, demand_mwh: float) -> float | None:
    """The cheapest valid commitment of all, by trying every commitment and every selection of gas blocks."""
    loads = [
        sum(bus.load_mw for bus in case.buses) * (1 + stress) * hour.load_factor for hour in case.load_shape
    ]
    names = [fleet.fleet for fleet in case.fleets]
    bids = {name: [bid for bid in case.bids if bid.fleet == name] for name in names}
    hours = [
        [(on, offered, hour_dispatch(case, load, on, offered)) for on, offered in _choices(case)]
        for load in loads
    ]
    best = None
    for (first, offers, one), (second, later, two) in itertools.product(*hours):
        if one is None or two is None:
            continue
        cost = one[0] + two[0]
        for row, fleet in enumerate(case.fleets):
            cost += fleet.no_load_usd_per_h * (first[row] + second[row])
            cost += fleet.start_usd * abs(first[row] - second[row])  # the day is cyclic
        if best is not None and cost >= best:
            continue
        output = one[1] + two[1]
        rows = {link.fleet: names.index(link.fleet) for link in case.links}
        burn = sum(
            output[rows[link.fleet]] * link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU for link in case.links
        )
        price = lowest_gas_price(case, demand_mwh + burn)
        if price is not None and all(
            bids[link.fleet][blocks[rows[link.fleet]] - 1].price_usd_per_mwh
            >= price * link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU * (1 - 1e-9)
            for link in case.links
            for on, blocks in ((first, offers), (second, later))
            if on[rows[link.fleet]] > 0
        ):
            best = cost
    return best
