"""Tiny games whose answer can be found by trying every commitment, and the trying itself in plain Python.

One bus, two hours, no ramps and no minimum times: EM is a merit order hour by hour. The gas market is the
two-node network: wells behind a pipe of 1800 MWh, then a tank, so that the lowest optimal price is a step
function of the withdrawal. Nothing here uses the package's models.
"""

import itertools
from dataclasses import replace

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases import Case, load_case
from ppsm.cases.entities import Bid, Fleet, Link, LoadHour

MWH_PER_MMBTU = 0.29307107
PIPE_MWH = 1800.0


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
    case: Case, load_mw: float, on: tuple[int, ...], least: tuple[float, ...]
) -> tuple[float, FloatArray] | None:
    """Merit order of one hour: cost and output by fleet; None where the load cannot be met."""
    output = np.array([mw * units for mw, units in zip(least, on, strict=True)])
    rest = load_mw - output.sum()
    if rest < -1e-9:
        return None
    cost, offers = 0.0, []
    for row, fleet in enumerate(case.fleets):
        filled = output[row]
        for bid in (bid for bid in case.bids if bid.fleet == fleet.fleet):
            size = bid.size_mw * on[row]
            taken = min(size, filled)
            filled -= taken
            cost += taken * bid.price_usd_per_mwh
            offers.append((bid.price_usd_per_mwh, size - taken, row))
    for price, room, row in sorted(offers):
        taken = min(room, rest)
        output[row] += taken
        cost += taken * price
        rest -= taken
    return (cost, output) if rest <= 1e-9 else None


def best_by_trying(case: Case, stress: float, demand_mwh: float) -> float | None:
    """The cheapest valid commitment of all, by trying every commitment and every selection of gas blocks."""
    loads = [
        sum(bus.load_mw for bus in case.buses) * (1 + stress) * hour.load_factor for hour in case.load_shape
    ]
    choices = list(itertools.product(*[range(fleet.unit_count + 1) for fleet in case.fleets]))
    names = [fleet.fleet for fleet in case.fleets]
    bids = {name: [bid for bid in case.bids if bid.fleet == name] for name in names}
    best = None
    for levels in itertools.product((0, 1), repeat=len(case.links)):
        level = {link.fleet: k for link, k in zip(case.links, levels, strict=True)}
        least = tuple(
            max(fleet.unit_min_mw, sum(bid.size_mw for bid in bids[fleet.fleet][: level.get(fleet.fleet, 0)]))
            for fleet in case.fleets
        )
        hours = [{on: hour_dispatch(case, load, on, least) for on in choices} for load in loads]
        for first, second in itertools.product(choices, repeat=2):
            answers = hours[0][first], hours[1][second]
            if answers[0] is None or answers[1] is None:
                continue
            cost = answers[0][0] + answers[1][0]
            for row, fleet in enumerate(case.fleets):
                cost += fleet.no_load_usd_per_h * (first[row] + second[row])
                cost += fleet.start_usd * abs(first[row] - second[row])  # the day is cyclic
            if best is not None and cost >= best:
                continue
            output = answers[0][1] + answers[1][1]
            burn = sum(
                output[names.index(link.fleet)] * link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU
                for link in case.links
            )
            price = lowest_gas_price(case, demand_mwh + burn)
            if price is None:
                continue
            valid = all(
                first[names.index(link.fleet)] + second[names.index(link.fleet)] == 0
                or bids[link.fleet][level[link.fleet]].price_usd_per_mwh
                >= price * link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU * (1 - 1e-9)
                for link in case.links
            )
            if valid:
                best = cost
    return best
