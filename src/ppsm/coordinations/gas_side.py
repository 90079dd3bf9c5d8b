"""The gas market of a case as everybody knows it: all that its operator needs of the coordination.

No unit, bid or load of the power system is in it: what the gas market feels of the power operator is the
daily burn of each plant.
"""

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.schema import Case
from ppsm.games.follower import Follower
from ppsm.markets.model.gas import GasMarket, build_gas_market
from ppsm.mechanism.coordination import Decision

BURN_UNIT = "MWh of gas a day"


class GasSide:
    """The side of the gas operator, whose demand is sensitive.

    Parameters
    ----------
    case
        Of its tables those of the gas network, and which plants burn where.
    market
        Saves building the market where there is one already.
    """

    def __init__(self, case: Case, market: GasMarket | None = None) -> None:
        self.case = case
        self.market = build_gas_market(case) if market is None else market

    @property
    def entry_names(self) -> tuple[str, ...]:
        """The deliveries of the case."""
        return self.case.delivery_ids

    @property
    def unit(self) -> str:
        """Daily demand in MWh."""
        return "MWh"

    @property
    def price_names(self) -> tuple[str, ...]:
        """The junctions of the gas network."""
        return tuple(row.junction for row in self.case.junctions)

    @property
    def felt_names(self) -> tuple[str, ...]:
        """The plants that burn gas."""
        return tuple(link.fleet for link in self.case.links)

    @property
    def felt_unit(self) -> str:
        """Their daily burn."""
        return BURN_UNIT

    @property
    def public_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Zero and the maximum daily quantities of the case."""
        return np.zeros(len(self.case.deliveries)), self.case.mdq_mwh()

    @property
    def public_zones(self) -> tuple[int, ...]:
        """Those that the case names, in the order in which its deliveries do."""
        return self.case.delivery_zones()

    def row_prices(self, follower_prices: FloatArray) -> FloatArray:
        """Those of the junctions' balances."""
        return follower_prices[self.market.balance_rows]

    def entry_prices(self, prices: FloatArray) -> FloatArray:
        """Gas prices at the deliveries."""
        return np.asarray(self.market.demand_to_balance.T @ prices)

    def follower_at(self, decision: Decision) -> Follower:
        """The gas market beside the burn of the plants."""
        nothing = np.zeros(len(self.entry_names))
        return self.market.follower(nothing, decision.felt)
