"""What each party has of a case: the power operator no demand, the gas operator no unit, bid or load.

Both sides are cases that load and check like any other. :func:`market_digest` is what they have in common,
so that two parties can tell whether they talk about the same market.
"""

import hashlib
import json
from dataclasses import asdict, replace
from typing import Any

from ppsm.cases.entities import Bid, Bus, Fleet, LoadHour
from ppsm.cases.schema import Case

_PUBLIC_TABLES = ("junctions", "pipes", "compressors", "regulators", "supplies")
_PLACE = "not ours"
_HEAT_RATE = 10.0


def leader_side(case: Case) -> Case:
    """The case of the power operator: every demand is zero, its public maximum stays."""
    return replace(case, deliveries=tuple(replace(row, base_mwh=0.0) for row in case.deliveries))


def follower_side(case: Case) -> Case:
    """The case of the gas operator: of the power system the names of plants that burn gas, and where.

    A stand-in of one bus without load, and plants that are all alike, keeps the tables complete.
    """
    here = case.junctions[0]
    bus = Bus(_PLACE, _PLACE, here.latitude_deg, here.longitude_deg, load_mw=0.0, injection_mw=0.0)
    return replace(
        case,
        reserve_fraction=0.0,
        power_stress=(0.0,),
        buses=(bus,),
        lines=(),
        fleets=tuple(_stand_in(link.fleet) for link in case.links),
        bids=tuple(Bid(link.fleet, 1, size_mw=1.0, price_usd_per_mwh=0.0) for link in case.links),
        links=tuple(replace(link, heat_rate_mmbtu_per_mwh=_HEAT_RATE, gas_share=1.0) for link in case.links),
        load_shape=(LoadHour(hour=0, load_factor=0.0),),
    )


def _stand_in(name: str) -> Fleet:
    return Fleet(
        fleet=name,
        bus=_PLACE,
        fuel="gas",
        technology=_PLACE,
        unit_count=1,
        unit_size_mw=1.0,
        unit_min_mw=0.0,
        ramp_mw_per_h=1.0,
        min_up_h=0,
        min_down_h=0,
        no_load_usd_per_h=0.0,
        start_usd=0.0,
        must_run=0,
    )


def market_digest(case: Case) -> str:
    """The SHA-256 of the gas market as everybody knows it; both sides of a case have the same."""
    content: dict[str, Any] = {
        table: [asdict(row) for row in getattr(case, table)] for table in _PUBLIC_TABLES
    }
    content["deliveries"] = [[row.delivery, row.junction, row.mdq_mwh, row.zone] for row in case.deliveries]
    content["plants"] = [[row.fleet, row.junction] for row in case.links]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
