"""The files of a release: the vector as CSV, the dossier as JSON, a public prior as CSV."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ppsm.cases.csv_tables import fail, key, number, read_table
from ppsm.cases.demand import write_demand
from ppsm.cases.schema import Case
from ppsm.files import write_atomically
from ppsm.mechanism.dossier import Dossier
from ppsm.mechanism.prior import PublicPrior

RELEASED, DOSSIER = "released.csv", "dossier.json"
# Files that the owner alone can read.
OWNER_MODE = 0o600


@dataclass(frozen=True)
class PriorRow:
    """What is publicly known about the demand at one delivery."""

    node: str = key()
    mean_mwh: float = number(0.0, 1e8)
    spread_mwh: float = number(1e-6, 1e8)


def write_release(directory: Path, case: Case, dossier: Dossier) -> None:
    """Write the released vector and its dossier; when this returns both are on the disk."""
    write_demand(directory / RELEASED, case, dossier.released.values)
    write_atomically(directory / DOSSIER, dossier.to_json() + "\n")


def read_prior(path: Path, case: Case) -> PublicPrior:
    """Read a CSV file ``node,mean_mwh,spread_mwh`` with one row per delivery of a case."""
    order = {name: index for index, name in enumerate(case.delivery_ids)}
    mean, spread = np.full(len(order), np.nan), np.full(len(order), np.nan)
    rows = read_table(path, PriorRow)
    for index, row in enumerate(rows):
        if row.node not in order:
            fail(
                path.name,
                index,
                f"node '{row.node}' is no delivery of the case '{case.name}'; correct the name.",
            )
        mean[order[row.node]], spread[order[row.node]] = row.mean_mwh, row.spread_mwh
    for name, index in order.items():
        if np.isnan(mean[index]):
            fail(path.name, len(rows), f"node '{name}' of the case '{case.name}' has no row; add it.")
    return PublicPrior.of(mean, spread, source=f"the file {path.name}")
