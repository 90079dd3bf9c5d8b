"""What a commitment without regard to gas prices comes to: invalid bids, and what their owners lose.

UC commits by bids alone, EM dispatches, GM clears. Where gas is dearer than a bid assumed, its owner pays
more for fuel than the bid asks for.
"""

from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.markets.model.followers import Followers, GameAnswer, PowerAnswer
from ppsm.status import Status


@dataclass(frozen=True)
class InvalidBid:
    """A running fleet whose last selected block does not cover its fuel; gas prices in $/MWh.

    ``loss_usd`` is the day's fuel less what its accepted blocks ask for, zero where some ask for enough more.
    """

    fleet: str
    gas_price_usd_per_mwh: float
    covered_usd_per_mwh: float
    loss_usd: float


@dataclass(frozen=True, eq=False)
class UnawareSolution:
    """Both markets at a commitment by bids alone; None where the gas market cannot serve what it burns."""

    status: Status
    power: PowerAnswer | None
    game: GameAnswer | None
    invalid: tuple[InvalidBid, ...] = ()

    @property
    def loss_usd(self) -> float:
        """What the owners of invalid bids lose together."""
        return sum(bid.loss_usd for bid in self.invalid)


def invalid_bids(followers: Followers, answer: GameAnswer) -> tuple[InvalidBid, ...]:
    """The invalid bids of an answer, the largest loss first."""
    prices = answer.gas.prices_usd_per_mwh[followers.gas.plants]
    caps = followers.levels.caps_at(answer.power.levels)
    losses = _losses_usd(followers, answer.power, prices)
    found = [
        InvalidBid(link.fleet, float(price), float(cap), float(loss))
        for link, price, cap, loss in zip(followers.case.links, prices, caps, losses, strict=True)
        if link.fleet in answer.invalid
    ]
    return tuple(sorted(found, key=lambda bid: -bid.loss_usd))


def _losses_usd(followers: Followers, power: PowerAnswer, prices_usd_per_mwh: FloatArray) -> FloatArray:
    """Fuel of the day less what accepted blocks ask for, by link, where that is positive."""
    fleets = followers.commitment.link_fleets
    heat = np.array([link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU for link in followers.case.links])
    output = power.dispatch.output_mw[fleets]
    asked = power.dispatch.asked_usd[fleets]
    losses: FloatArray = np.maximum(output.sum(axis=1) * heat * prices_usd_per_mwh - asked, 0.0)
    return losses
