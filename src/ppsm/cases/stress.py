"""Which stresses a case was calibrated for."""

from ppsm.cases.schema import Case
from ppsm.errors import InputError


def check_stress(case: Case, power_stress: float, gas_stress: float | None) -> None:
    """Refuse a stress outside the range in which the case was calibrated; no gas stress is no question."""
    for what, stress, grid in (
        ("power", power_stress, case.power_stress),
        ("gas", gas_stress, case.gas_stress),
    ):
        if stress is not None and not min(grid) <= stress <= max(grid):
            raise InputError(
                f"the {what} stress is {stress:g}; expected a number from {min(grid):g} to {max(grid):g}, "
                f"the range in which the case '{case.name}' was calibrated."
            )
