"""What commands on the owner's side share: the secret, and a directory for one reader."""

from pathlib import Path

from ppsm.cases import Case
from ppsm.cli.demand import given_demand
from ppsm.errors import InputError
from ppsm.privacy import Sensitive


def read_secret(case: Case, demand: Path | None, gas_stress: float | None, dataset: str) -> Sensitive:
    """The demand of a file or of the case at a gas stress; exactly one of them must be given."""
    vector = given_demand(case, demand, gas_stress)
    return Sensitive(vector, dataset=dataset, unit="MWh", labels=case.delivery_ids)


def owner_directory(directory: Path) -> Path:
    """A directory below the output that nobody else can enter."""
    path = directory / "owner"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"cannot keep '{path}' for the owner alone ({error.strerror or error}): choose another directory "
            "with --out."
        ) from None
    return path
