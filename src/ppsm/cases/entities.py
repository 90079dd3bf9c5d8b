"""The tables of a case: one frozen dataclass per row, units in the names, absurd values refused."""

from dataclasses import dataclass
from math import inf

from ppsm.cases.csv_tables import key, number, text, whole

FUELS = ("gas", "coal", "oil", "nuclear", "hydro", "refuse", "wind", "solar", "other")
DIRECTIONS = ("forward", "reverse")

# 1 MMBtu (thermochemical-table BTU of the International Steam Tables) in MWh.
MWH_PER_MMBTU = 0.29307107


@dataclass(frozen=True)
class Bus:
    """A bus: ``load_mw`` follows the load shape and the stress, ``injection_mw`` is constant (DC links)."""

    bus: str = key()
    name: str = text()
    latitude_deg: float = number(-90, 90)
    longitude_deg: float = number(-180, 180)
    load_mw: float = number(0, 1e6)
    injection_mw: float = number(-1e5, 1e5)


@dataclass(frozen=True)
class Line:
    """A line of the DC power flow: flow = base_mva (angles - shift) / reactance; a blank rating is none."""

    line: str = key()
    from_bus: str = key()
    to_bus: str = key()
    reactance_pu: float = number(-100, 100)
    shift_deg: float = number(-180, 180)
    rating_mw: float = number(0, 1e6, blank=inf)


@dataclass(frozen=True)
class Fleet:
    """``unit_count`` identical units at one bus; numbers are per unit, one unit is a fleet of one."""

    fleet: str = key()
    bus: str = key()
    fuel: str = text(FUELS)
    technology: str = text()
    unit_count: int = whole(1, 10_000)
    unit_size_mw: float = number(0.01, 5000)
    unit_min_mw: float = number(0, 5000)
    ramp_mw_per_h: float = number(0.001, 1e5)
    min_up_h: int = whole(0, 168)
    min_down_h: int = whole(0, 168)
    no_load_usd_per_h: float = number(0, 1e6)
    start_usd: float = number(0, 1e8)
    must_run: int = whole(0, 1)


@dataclass(frozen=True)
class Bid:
    """One block of a unit's bid: so many MW at that price, after the blocks before it."""

    fleet: str = key()
    block: int = whole(1, 100)
    size_mw: float = number(0.0001, 5000)
    price_usd_per_mwh: float = number(-1000, 1e5)


@dataclass(frozen=True)
class Junction:
    """A gas junction; ``pack_mwh`` is the line pack it can take up in a day beyond withdrawals."""

    junction: str = key()
    latitude_deg: float = number(-90, 90)
    longitude_deg: float = number(-180, 180)
    pressure_min_bar: float = number(0, 500)
    pressure_max_bar: float = number(0.001, 500)
    pack_mwh: float = number(0, 1e6)


@dataclass(frozen=True)
class Pipe:
    """A pipe with ``flow_mwh**2 = (weymouth_mwh_per_bar)**2 (p_up**2 - p_down**2)``, flow per day.

    ``flow_direction`` says whether gas goes from ``from_junction`` (forward) or to it (reverse).
    ``capacity_mwh`` is what its owner sells for a day, whatever pressures would allow.
    """

    pipe: str = key()
    from_junction: str = key()
    to_junction: str = key()
    flow_direction: str = text(DIRECTIONS)
    length_km: float = number(0.0001, 1e4)
    diameter_m: float = number(0.001, 5)
    weymouth_mwh_per_bar: float = number(1e-6, 1e9)
    capacity_mwh: float = number(0, 1e8, blank=inf)


@dataclass(frozen=True)
class Compressor:
    """A compressor: ``ratio_min p_up <= p_down <= ratio_max p_up`` along its flow direction."""

    compressor: str = key()
    from_junction: str = key()
    to_junction: str = key()
    flow_direction: str = text(DIRECTIONS)
    ratio_min: float = number(0, 10)
    ratio_max: float = number(0.01, 10)
    capacity_mwh: float = number(0, 1e8, blank=inf)


@dataclass(frozen=True)
class Regulator:
    """A control valve: ``ratio_min p_up <= p_down <= ratio_max p_up`` with ``ratio_max <= 1``."""

    regulator: str = key()
    from_junction: str = key()
    to_junction: str = key()
    flow_direction: str = text(DIRECTIONS)
    ratio_min: float = number(0, 1)
    ratio_max: float = number(0.01, 1)
    capacity_mwh: float = number(0, 1e8, blank=inf)


def upstream_downstream(row: Pipe | Compressor | Regulator) -> tuple[str, str]:
    """Return the junctions that gas leaves and enters through a component."""
    if row.flow_direction == "forward":
        return row.from_junction, row.to_junction
    return row.to_junction, row.from_junction


@dataclass(frozen=True)
class SupplyBid:
    """One block of a gas supplier's daily bid."""

    supply: str = key()
    junction: str = key()
    block: int = whole(1, 100)
    size_mwh: float = number(0.0001, 1e8)
    price_usd_per_mwh: float = number(-1000, 1e5)


@dataclass(frozen=True)
class Delivery:
    """Sensitive daily demand at zero stress, with its public bound: the contracted maximum daily quantity.

    ``zone`` names the part of the network it is in where prices may differ from those of others; all are in
    one where none is named. A release measures the total of each zone (:mod:`ppsm.privacy.measurements`).
    """

    delivery: str = key()
    junction: str = key()
    base_mwh: float = number(0, 1e8, hidden=True)
    mdq_mwh: float = number(0, 1e8)
    zone: str = text(default="")


@dataclass(frozen=True)
class Link:
    """A gas-fired fleet burning at a junction; ``gas_share`` of its fuel comes through these pipelines."""

    fleet: str = key()
    junction: str = key()
    heat_rate_mmbtu_per_mwh: float = number(3, 40)
    gas_share: float = number(0, 1)

    @property
    def burn_mwh_per_mwh(self) -> float:
        """Gas drawn from the modelled network for one MWh of electricity."""
        return self.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU * self.gas_share


@dataclass(frozen=True)
class LoadHour:
    """The load of one hour as a fraction of the daily peak."""

    hour: int = whole(0, 167)
    load_factor: float = number(0, 10)


# Table name -> kind of row; the file is the name with ".csv".
TABLES: dict[str, type] = {
    "buses": Bus,
    "lines": Line,
    "fleets": Fleet,
    "bids": Bid,
    "junctions": Junction,
    "pipes": Pipe,
    "compressors": Compressor,
    "regulators": Regulator,
    "supplies": SupplyBid,
    "deliveries": Delivery,
    "links": Link,
    "load_shape": LoadHour,
}
