"""Which stresses a case was calibrated for."""

from ppsm.cases.schema import Case
from ppsm.errors import InputError


def outside_calibration(case: Case, power_stress: float, gas_stress: float | None) -> list[str]:
    """A sentence for each stress outside the range in which the case was calibrated; None is no question."""
    return [
        f"the {what} stress is {stress:g}; expected a number from {min(grid):g} to {max(grid):g}, "
        f"the range in which the case '{case.name}' was calibrated."
        for what, stress, grid in (
            ("power", power_stress, case.power_stress),
            ("gas", gas_stress, case.gas_stress),
        )
        if stress is not None and not min(grid) <= stress <= max(grid)
    ]


def check_stress(case: Case, power_stress: float, gas_stress: float | None) -> None:
    """Refuse a stress outside the range in which the case was calibrated."""
    for found in outside_calibration(case, power_stress, gas_stress):
        raise InputError(found)
