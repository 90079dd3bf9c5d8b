"""What published networks do not say and a case needs: commitment data, bids, shapes, bounds, with sources.

The defaults serve any imported network; ``NORTHEAST`` at the end states what it changes, and the page
docs/northeast.md explains each choice.
Sources: [RTS] RTS-GMLC ``SourceData/gen.csv`` (DOE/NREL/Alliance); [NYISO] an 11-zone NYISO model's unit
numbers; [PGLib] PGLib-UC ``ferc/2015-02-01_lw.json`` (CC-BY-4.0); [own] chosen here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Hourly winter loads in MW, hours 0 to 23: NYISO day-ahead forecasts of two cold days, and PJM.
NYISO_2018_01_05_MW = (
    17750, 17227, 16969, 16934, 17221, 18127, 19811, 21135, 21585, 22199, 22354, 22305,
    22154, 22087, 22036, 22091, 22629, 23615, 23609, 23196, 22645, 21883, 20876, 19774,
)  # fmt: skip
NYISO_2019_01_31_MW = (
    18089, 17617, 17354, 17302, 17586, 18474, 20105, 21338, 21796, 22009, 22052, 21901,
    21669, 21523, 21387, 21410, 21836, 22958, 23385, 23093, 22498, 21608, 20360, 19077,
)  # fmt: skip
PJM_2015_02_01_MW = (
    93181, 91117, 90049, 89433, 89346, 90427, 92489, 94917, 97069, 98143, 97678, 96925,
    96324, 95716, 95190, 95686, 98033, 102505, 103659, 101200, 99209, 96646, 93589, 89110,
)  # fmt: skip


def winter_load_shape() -> tuple[float, ...]:
    """Return the mean of the three winter days, each relative to its own peak, peak at 1."""
    days = (NYISO_2018_01_05_MW, NYISO_2019_01_31_MW, PJM_2015_02_01_MW)
    mean = [sum(day[hour] / max(day) for day in days) / len(days) for hour in range(24)]
    return tuple(round(value / max(mean), 4) for value in mean)


@dataclass(frozen=True)
class Technology:
    """Commitment data of one kind of unit, relative to its size; gas bids come from heat rates instead."""

    min_output: float
    ramp_per_h: float
    min_up_h: int
    min_down_h: int
    no_load_usd_per_mw_h: float
    start_usd_per_mw: float
    bid_usd_per_mwh: tuple[float, ...] = ()
    heat_rate_mmbtu_per_mwh: tuple[float, float] = (0.0, 0.0)
    must_run: bool = False


TECHNOLOGIES = {
    # [RTS] gas combined cycle 355 MW: 170/355 MW, 8/4.5 h, 1.17 %/min, warm start, $827/h no-load; its heat
    # rates 5.97 to 7.85 average 7.06 at full load, spread here over the fleets.
    "gas combined cycle": Technology(0.48, 0.70, 8, 5, 2.33, 49.7, heat_rate_mmbtu_per_mwh=(6.4, 7.6)),
    # [RTS] gas combustion turbine 55 MW: 22/55 MW, 2.2/2.2 h, fast ramp, $532/h no-load; 9.71 at full load.
    "gas single cycle": Technology(0.40, 1.0, 3, 3, 9.67, 79.3, heat_rate_mmbtu_per_mwh=(9.0, 11.0)),
    # [RTS] coal 350 MW: 140/350 MW, 24/48 h, 1.14 %/min, $785/h no-load, 2.114 $/MMBtu x 9.45, 10.24, 11.09.
    "coal": Technology(0.40, 0.68, 24, 48, 2.24, 61.1, bid_usd_per_mwh=(19.98, 21.65, 23.44)),
    # [RTS] oil steam 12 MW: 5/12 MW, 4/2 h, $275/h no-load, 10.349 $/MMBtu x 12.03, 12.08, 12.91.
    "oil": Technology(0.42, 1.0, 4, 2, 22.9, 37.9, bid_usd_per_mwh=(124.5, 125.0, 133.6)),
    # [RTS] must-run, 0.81 $/MMBtu x 10; [NYISO] no-load $1500 for about 1000 MW; [PGLib] ramp of large units.
    # [own] least output 0.9 instead of RTS's 0.99, so that a mild night does not force units off.
    "nuclear": Technology(0.90, 0.23, 24, 48, 1.5, 0.0, bid_usd_per_mwh=(8.1,), must_run=True),
    # [own] reservoir hydro without an energy limit: free to move, a token price that orders it first.
    "hydro": Technology(0.0, 1.0, 0, 0, 0.0, 0.0, bid_usd_per_mwh=(3.0,)),
    # [PGLib] medians of small units; [own] price between coal and gas.
    "refuse": Technology(0.48, 1.0, 2, 2, 0.0, 0.0, bid_usd_per_mwh=(25.0,)),
    # [PGLib] medians of units of 50 to 200 MW, for fuels that a file does not name.
    "other": Technology(0.55, 0.35, 5, 4, 2.0, 17.0, bid_usd_per_mwh=(66.65,)),
}


@dataclass(frozen=True)
class SupplyBlock:
    """Gas that a receipt offers in a day (MWh) at a price ($/MMBtu)."""

    size_mwh: float
    price_usd_per_mmbtu: float


@dataclass(frozen=True)
class Assumptions:
    """Every choice by which published networks become a case; the reasons stand beside the defaults."""

    name: str = "imported"
    title: str = "Imported case"
    source: str = "imported from MATPOWER and matgas files"

    # Energy of one per-unit flow in the market's period. None: the energy of a day at 14.7 kWh/kg (higher
    # heating value of pipeline gas, 53 MJ/kg).
    mwh_per_flow_unit: float | None = None
    # Share of the fleets' gas that the modelled pipelines carry.
    gas_share: float = 1.0
    # Published planning limits that stand for fleets are scaled down by this factor.
    gas_capacity_factor: float = 1.0
    # Fleets are clusters of identical units near this size.
    unit_size_mw: float = 600.0
    line_rating_factor: float = 1.0
    # The gas price ($/MMBtu) that plants reckon with when they bid, by bus and elsewhere; each fleet's is
    # shifted by up to the spread.
    gas_price_expected_usd_per_mmbtu: float = 5.0
    gas_price_expected_at: Mapping[str, float] = field(default_factory=dict, hash=False)
    gas_price_spread: float = 0.4
    # The first block of a gas bid is the least output and asks for the fuel at that price; the rest of the
    # unit is offered in equal blocks at these multiples of it.
    bid_multiples: tuple[float, ...] = (1.0, 1.08, 1.17, 1.27)
    # What a published receipt offers where nothing is said of its junction: its flow times the factor, in
    # equal blocks at these prices.
    supply_prices_usd_per_mmbtu: tuple[float, ...] = (3.0, 4.2, 5.6, 7.9, 12.0, 25.0)
    supply_factor: float = 1.0
    # What is offered at a junction, published receipt or not.
    supply_at: Mapping[str, tuple[SupplyBlock, ...]] = field(default_factory=dict, hash=False)
    # What a pipe, compressor or regulator can carry in a day (MWh), by its name in the tables.
    capacity_mwh: Mapping[str, float] = field(default_factory=dict, hash=False)
    # Flow directions are found at the highest stress and the burn that plants have where gas costs this
    # multiple of what they reckon with.
    direction_multiple: float = 1.0
    # Contracted maximum daily quantity: demand at the highest stress with a margin, in round numbers.
    mdq_margin: float = 1.25
    mdq_step_mwh: float = 50.0
    # The zones of deliveries, by junction; all others are in the zone named last. None: all are in one.
    zone_at: Mapping[str, str] = field(default_factory=dict, hash=False)
    zone_elsewhere: str = ""
    # Line pack that a delivery's junction can take up: what this pressure rise stores in half of its pipes.
    pack_swing_bar: float = 0.0
    load_shape: tuple[float, ...] = field(default_factory=winter_load_shape)
    power_stress: tuple[float, ...] = (0.0,)
    gas_stress: tuple[float, ...] = (0.0,)

    def zone_of(self, junction: str) -> str:
        """Return the zone of deliveries at a junction."""
        return self.zone_at.get(junction, self.zone_elsewhere)


def spread_factor(index: int, spread: float) -> float:
    """Return a factor in 1 +- spread: multiples of the golden ratio, which never repeat and need no seed."""
    golden = 0.6180339887498949
    return 1.0 + spread * (2.0 * ((index * golden) % 1.0) - 1.0)


# Load that no fleet can serve costs the approximate dispatch this much, more than any bid.
UNSERVED_USD_PER_MWH = 10_000.0


@dataclass(frozen=True)
class Routing:
    """How flow directions are found: numbers of one small MILP, which no market sees."""

    # Tangents of the Weymouth equation, as in the market.
    tangents: int = 8
    # A token cost of moving gas makes the cheapest routing, and so the directions, unique;
    transport_usd_per_mwh_km: float = 1e-4
    # a station counts as a pipe of this length.
    station_km: float = 1.0
    # A component that carries nothing is worth this much in its published orientation.
    published_usd: float = 0.01
    # The MILP is solved to this relative gap.
    gap: float = 1e-6


ROUTING = Routing()

# The paper's demand at +130 % peaks at 98.31e2 MWh; the largest published delivery is 1.3926 per unit.
MWH_PER_FLOW_UNIT = 3069.33

# What each kind of source offers in a day and at which price, in the manner of January 2014: production was
# cheap, storage and imports were dear, and what could still be had then was many times its usual price
# (day-ahead gas in New York and New England passed 70 $/MMBtu). Within a kind all bid alike, as at a hub.
# [own] sizes: the mildest cell takes 26 GWh, the harshest 50 GWh if nobody holds back.
APPALACHIA = (
    SupplyBlock(1700.0, 3.2),  # production under contract
    SupplyBlock(900.0, 4.3),  # production beyond it
    SupplyBlock(700.0, 5.9),  # storage fields
    SupplyBlock(850.0, 8.2),  # storage that is wanted later in the winter
    SupplyBlock(600.0, 12.5),  # gas that others give up
    SupplyBlock(900.0, 25.0),  # scarcity
)
CANADA = (
    SupplyBlock(1500.0, 3.9),  # imports under contract
    SupplyBlock(800.0, 5.2),
    SupplyBlock(600.0, 7.2),
    SupplyBlock(700.0, 10.5),
    SupplyBlock(300.0, 16.0),  # gas that homes in Ontario and Quebec give up
    SupplyBlock(600.0, 25.0),  # scarcity
)
# The line from Canada to Portland is small, and its neighbours want the gas as well.
PORTLAND = (
    SupplyBlock(700.0, 3.9),
    SupplyBlock(400.0, 5.2),
    SupplyBlock(200.0, 7.2),
    SupplyBlock(150.0, 10.5),
    SupplyBlock(50.0, 16.0),
)
# Liquefied gas at Boston: a contracted cargo, and what must be bid away from other ports.
LIQUEFIED = (SupplyBlock(900.0, 15.0), SupplyBlock(1500.0, 22.0))

# Plants near the cities reckon with the dearer hubs.
NEW_YORK_CITY_BUSES = ("74316", "74327", "74341", "74347", "75050", "75405", "5028")
NEW_ENGLAND_BUSES = ("70002", "71786", "71797", "72926", "73106", "73110", "73171", "73663", "87004")
# Deliveries on the coast from New York to Philadelphia, and in New England.
COAST_JUNCTIONS = ("7", "13", "14", "15", "18", "19", "20", "21")
NEW_ENGLAND_JUNCTIONS = ("55", "57", "58", "61", "62", "63", "64", "66", "67", "68", "70", "71")

NORTHEAST = Assumptions(
    name="northeast",
    title="Northeastern US: 36-bus power system and 146-junction gas network",
    source=(
        "Networks from GasPowerModels.jl (Los Alamos National Laboratory), after Bent, Blumsack, "
        "Van Hentenryck, Borraz-Sanchez, Shahriari, IEEE Trans. Power Systems 33(6), 2018; see SOURCE.md for "
        "licence and changes"
    ),
    mwh_per_flow_unit=MWH_PER_FLOW_UNIT,
    # The modelled single-line pipelines carry a twentieth of the fleets' gas; and 3069 MWh per unit of flow
    # is about what 44.48 kg/s carry in one hour, so a day's burn enters on the scale of an hour.
    gas_share=round(1 / 20 / 24, 6),
    # 365 GW of gas capacity are planning limits for 138 GW of load; 0.55 leaves about 1.4 times the peak.
    gas_capacity_factor=0.55,
    unit_size_mw=600.0,
    # Loads rise by up to 60 % and plants are fleets; at 3 times the ratings one bus cannot be served.
    line_rating_factor=4.0,
    gas_price_expected_usd_per_mmbtu=10.0,
    gas_price_expected_at={
        **dict.fromkeys(NEW_YORK_CITY_BUSES, 14.5),
        **dict.fromkeys(NEW_ENGLAND_BUSES, 16.0),
    },
    supply_at={
        **dict.fromkeys(("1", "2", "5", "8", "28", "39", "40", "41", "45"), APPALACHIA),
        **dict.fromkeys(("74", "101"), CANADA),
        "72": PORTLAND,
        "64": LIQUEFIED,
    },
    capacity_mwh={
        # The ways into New England are full before those in Pennsylvania are: the station at Cromwell, and
        # the two pipes to Agawam.
        "c69": 2100.0,
        "p121": 500.0,
        "p67": 100.0,
        # What is sold on the lines to the west is what pressures can carry on any day.
        "c32": 9500.0,
        "p38": 1000.0,
    },
    # What these ways divide has prices of its own in winter, as the hubs of the two coasts have: New England
    # behind the station and the pipes above, the coast from New York to Philadelphia behind the lines to it.
    zone_at={
        **dict.fromkeys(COAST_JUNCTIONS, "coast"),
        **dict.fromkeys(NEW_ENGLAND_JUNCTIONS, "new-england"),
    },
    zone_elsewhere="inland",
    # Half a bar of daily pressure swing: small noise at a dead end is taken up, large noise is not.
    pack_swing_bar=0.5,
    # The paper's stress factors: 6 x 7 cells of 30 repetitions are its 1260 instances.
    power_stress=(0.30, 0.36, 0.42, 0.48, 0.54, 0.60),
    gas_stress=(0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3),
)
