"""The gas demand that a command works with: a file, or the case's own at a stress."""

from pathlib import Path

from ppsm.arrays import FloatArray
from ppsm.cases import Case, read_demand
from ppsm.errors import InputError


def given_demand(
    case: Case, demand: Path | None, gas_stress: float | None, *, allow_negative: bool = False
) -> FloatArray:
    """The demand of a file or of the case at a gas stress; exactly one of them must be given."""
    if demand is not None and gas_stress is None:
        return read_demand(demand, case, allow_negative=allow_negative)
    if gas_stress is not None and demand is None:
        return case.demand_mwh(gas_stress)
    given = "neither" if demand is None else "both"
    raise InputError(
        f"{given} of --gas-stress and --demand was given: say where the demand is from with one of them."
    )
