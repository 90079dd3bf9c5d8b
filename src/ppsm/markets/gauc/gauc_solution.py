"""The outcome of a solve of gas-aware unit commitment."""

from dataclasses import dataclass

from ppsm.arrays import FloatArray, IntArray
from ppsm.cases.schema import Case
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class GaucSolution:
    """The outcome of a solve in $ and MWh, None where there is no answer.

    ``leader_cost_usd`` is UC's cost, appendix (3a); the values of the followers are their optimal costs.

    ``on`` counts running units (fleets x hours) and ``offers`` those that offer a block (links x blocks x
    hours); ``levels`` are those of the plants (links); ``solved`` is the number of unit commitments it took.

    ``bound_if_free_usd`` is the bound of the price patterns, which holds if pressures bind at no burn that
    better answers can have; where that is proven it is part of ``bound_usd``.
    """

    case: Case
    power_stress: float
    demand_mwh: FloatArray
    status: Status
    leader_cost_usd: float | None
    electricity_value_usd: float | None
    gas_value_usd: float | None
    bound_usd: float | None
    gap: float | None
    gas_prices_usd_per_mwh: FloatArray | None
    on: IntArray | None
    output_mw: FloatArray | None
    burn_mwh: FloatArray | None
    gas_columns: FloatArray | None
    offers: IntArray | None
    levels: IntArray | None
    bound_if_free_usd: float | None
    bound_from: str
    solved: int
    seconds: float
