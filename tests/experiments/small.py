"""A grid that runs in seconds, and what of its rows must not depend on when, where or after what they ran."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ppsm.experiments import Experiment, RowStore
from ppsm.experiments.instance import failed_row
from ppsm.experiments.row import Instance, Row

TOML = """
case = "medium"
alphas = [3, 10]
mechanisms = ["laplace", "ppsm-p", "ppsm", "ppsm+prior"]
repetitions = 3
power_stress = [0.2]
gas_stress = [0.0, 0.5]
gap = 1e-4
clear_seconds = 20
"""
SMALL = Experiment(
    name="small",
    case="medium",
    power_stress=(0.2,),
    gas_stress=(0.0, 0.5),
    alphas=(3.0, 10.0),
    etas=(0.001,),
    mechanisms=("laplace", "ppsm-p", "ppsm", "ppsm+prior"),
    repetitions=3,
    gap=1e-4,
    clear_seconds=20.0,
)
# A run of PPSM whose numbers are easy to add up.
_ROW = Row(
    case="northeast", power_stress=0.3, gas_stress=0.1, alpha=10.0, mechanism="ppsm", repetition=0,
    feasible=True, status="optimal", original_status="optimal", original_leader_cost=1e6, original_gap=1e-4,
    released_gap=2e-4, error_leader_percent=0.02, error_electricity_percent=-0.04, error_gas_percent=0.06,
    l1_released=300.0, widening=1.0, fidelity_status="optimal", fidelity_gap=0.0, cpu_2b=0.1, cpu_3b=0.2,
    cpu_release=0.4, cpu_clear=0.1, commitments_solved=0, seed=1, solvers="none", package_version="0",
    source_digest="0",
)  # fmt: skip


def a_row(**given: Any) -> Row:
    """That row with other values."""
    return replace(_ROW, **given)


def a_failed_row(**given: Any) -> Row:
    """That instance, which failed."""
    return failed_row("northeast", Instance(**a_row(**given).axes), "out of <memory>")


# Time, and how much was remembered when an instance came.
_CIRCUMSTANCES = ("cpu_", "seconds_", "commitments_", "decisions_")


def lasting(row: Row) -> dict[str, Any]:
    """What a row says of its instance; rounded, since a warm-started solver ends in other last digits."""
    return {
        name: float(f"{value:.7g}") if isinstance(value, float) else value
        for name, value in row.to_dict().items()
        if not name.startswith(_CIRCUMSTANCES) and name != "fidelity_gap"
    }


def lasting_rows(directory: Path) -> list[dict[str, Any]]:
    return [lasting(row) for row in RowStore(directory).rows()]
