"""What commands on the owner's side share: the secret, and a directory for one reader."""

from pathlib import Path

from ppsm.cases import Case, read_demand
from ppsm.errors import InputError
from ppsm.files import sync_directory
from ppsm.privacy import Sensitive


def read_secret(
    case: Case,
    demand: Path | None,
    gas_stress: float | None,
    dataset: str,
    *,
    unit: str | None = None,
    sheet: str | None = None,
) -> Sensitive:
    """The demand of a file or of the case at a gas stress; exactly one of them must be given."""
    if demand is not None and gas_stress is None:
        vector = read_demand(demand, case, plausible=False, unit=unit, sheet=sheet)
    elif gas_stress is not None and demand is None:
        vector = case.demand_mwh(gas_stress)
    else:
        given = "neither" if demand is None else "both"
        raise InputError(
            f"{given} of --gas-stress and --demand was given: say where the demand is from with one of them."
        )
    return Sensitive(vector, dataset=dataset, unit="MWh", entry_names=case.delivery_ids)


def owner_directory(directory: Path) -> Path:
    """A directory below the output that nobody else can enter."""
    path = directory / "owner"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        path.chmod(0o700)
        sync_directory(directory)  # what is kept in there must outlive a power cut
    except OSError as error:
        raise InputError(
            f"cannot keep '{path}' for the owner alone ({error.strerror or error}): choose another directory "
            "with --out."
        ) from None
    return path
