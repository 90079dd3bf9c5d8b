"""A grid that runs in seconds, and what of its rows must not depend on when, where or after what they ran."""

from pathlib import Path
from typing import Any

from ppsm.experiments import Experiment, RowStore
from ppsm.mechanism.instance import Record

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
# Time, and how much was remembered when an instance came.
_CIRCUMSTANCES = ("cpu_", "seconds_", "commitments_", "decisions_")


def lasting(row: Record) -> dict[str, Any]:
    """What a row says of its instance; rounded, since a warm-started solver ends in other last digits."""
    return {
        name: float(f"{value:.7g}") if isinstance(value, float) else value
        for name, value in row.items()
        if not name.startswith(_CIRCUMSTANCES) and name != "fidelity_gap"
    }


def lasting_rows(directory: Path) -> list[dict[str, Any]]:
    return [lasting(row) for row in RowStore(directory).rows()]
