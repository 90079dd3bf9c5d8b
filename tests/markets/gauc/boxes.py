"""What proofs are tried on: regions of burns that are boxes, and games of one hour."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from tests.markets.small_games import small_game

from ppsm.arrays import FloatArray, IntArray
from ppsm.cases import load_case
from ppsm.cases.entities import MWH_PER_MMBTU, Bid, Fleet, Link, LoadHour
from ppsm.markets.gauc.region import BurnRegion, Extents
from ppsm.markets.model.followers import Followers


class BoxRegion(BurnRegion):
    """A box of burns by place and an interval for their sum: nothing else is known, and asking is in vain."""

    def __init__(
        self, lower_mwh: FloatArray, upper_mwh: FloatArray, total_mwh: tuple[float, float] | None = None
    ) -> None:
        self.lower_mwh, self.upper_mwh = lower_mwh, upper_mwh
        self.total_mwh = total_mwh or (float(lower_mwh.sum()), float(upper_mwh.sum()))
        self.empty = False
        self._known, self._asked, self._extents = {}, set(), Extents(lower_mwh.size)

    def _ask(self, weights: FloatArray) -> float:
        del weights
        return np.inf

    def burns(self, generator: np.random.Generator, count: int) -> Iterator[FloatArray]:
        """Burns all over the region, its corners among them."""
        for number in range(count):
            share = generator.uniform(size=self.lower_mwh.size)
            share = np.rint(share) if number % 2 else share
            burn = self.lower_mwh + share * (self.upper_mwh - self.lower_mwh)
            # a total outside of its interval is moved to the next end of it
            for total, limit in zip(self.total_mwh, (self.lower_mwh, self.upper_mwh), strict=True):
                beyond = burn.sum() - total if limit is self.upper_mwh else total - burn.sum()
                far = self.lower_mwh if limit is self.upper_mwh else self.upper_mwh
                if beyond > 0:
                    burn = burn + (far - burn) * min(1.0, beyond / np.abs(far - burn).sum())
            yield burn


def some_offers(
    followers: Followers, on: IntArray, levels: IntArray, generator: np.random.Generator
) -> IntArray:
    """Offers at random (links x blocks x hours) of running plants at the given levels or above."""
    running = on[followers.commitment.link_fleets]
    width = followers.levels.size_mw.shape[1]
    drawn = generator.integers(0, running[:, None, :] + 1, size=(running.shape[0], width, running.shape[1]))
    block = np.arange(width)[None, :]
    drawn = np.where((block <= levels[:, None])[:, :, None], running[:, None, :], drawn)
    drawn = np.where((block < followers.levels.blocks[:, None])[:, :, None], drawn, 0)
    offers: IntArray = np.minimum.accumulate(drawn, axis=1)
    return offers


def random_box(followers: Followers, generator: np.random.Generator) -> BoxRegion:
    """A box around some burn that the plants of a case can have, at times with a narrower total."""
    case = followers.case
    units = {fleet.fleet: fleet.unit_count * fleet.unit_size_mw for fleet in case.fleets}
    places, position = np.unique(followers.gas.plants, return_inverse=True)
    most = np.zeros(places.size)
    np.add.at(most, position, [units[link.fleet] * link.burn_mwh_per_mwh for link in case.links])
    centre = most * len(case.load_shape) * generator.uniform(0.05, 0.9, places.size)
    half = centre * generator.uniform(0.0, 0.3)
    lower, upper = centre - half, centre + half
    narrow = generator.uniform(0.2, 1.0)
    total = (float((centre - narrow * half).sum()), float((centre + narrow * half).sum()))
    return BoxRegion(lower, upper, total)


@cache
def followers_of(seed: int) -> Followers:
    """The markets of a small random game, built once."""
    return Followers(small_game(seed)[0])


def one_hour_game(
    load_mw: float, blocks: Mapping[str, Sequence[tuple[float, float]]], places: Mapping[str, str]
) -> Followers:
    """One hour on the two-node network: fleets of one unit that costs nothing but its blocks (MW, $/MWh).

    Fleets with a place in the gas network burn 2 MWh there for each MWh.
    """
    case = load_case("two_node")
    fleets = [
        Fleet(
            name, "east", "gas" if name in places else "oil", "any", 1, size, 0.0, 1000.0, 0, 0, 0.0, 0.0, 0
        )
        for name, size in ((name, sum(size for size, _ in mine)) for name, mine in blocks.items())
    ]
    bids = [
        Bid(name, number, size, price)
        for name, mine in blocks.items()
        for number, (size, price) in enumerate(mine, start=1)
    ]
    links = [Link(name, place, 2.0 / MWH_PER_MMBTU, 1.0) for name, place in places.items()]
    return Followers(
        replace(
            case,
            buses=tuple(replace(bus, load_mw=load_mw if bus.bus == "east" else 0.0) for bus in case.buses),
            fleets=tuple(fleets),
            bids=tuple(bids),
            links=tuple(links),
            load_shape=(LoadHour(0, 1.0),),
        )
    )
