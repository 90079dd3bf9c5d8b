"""Reader for demand vectors: a CSV file ``node,demand_mwh`` with one row per delivery of a case."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.csv_tables import fail, key, number, read_table, write_table
from ppsm.cases.schema import Case


@dataclass(frozen=True)
class DemandRow:
    """The daily demand at one delivery; noise may have made it negative."""

    node: str = key()
    demand_mwh: float = number(-1e8, 1e8, hidden=True)


def read_demand(path: str | Path, case: Case, *, allow_negative: bool = False) -> FloatArray:
    """Read a demand vector in the order of the case's deliveries.

    Negative entries are refused unless ``allow_negative`` is set: a noisy release may hold them, true demand
    cannot. The file may hold a secret, so errors tell of rows and defects and quote nothing.
    """
    file = Path(path)
    rows = read_table(file, DemandRow)
    order = {name: index for index, name in enumerate(case.delivery_ids)}
    demand = np.full(len(order), np.nan)
    for index, row in enumerate(rows):
        if row.node not in order:
            fail(
                file.name,
                index,
                f"its node is no delivery of the case '{case.name}'; correct the name.",
            )
        if not np.isnan(demand[order[row.node]]):
            fail(file.name, index, f"node '{row.node}' occurs twice; keep one row for each delivery.")
        if row.demand_mwh < 0 and not allow_negative:
            fail(
                file.name,
                index,
                f"the demand of '{row.node}' is below zero; expected at least 0 MWh.",
            )
        demand[order[row.node]] = row.demand_mwh
    for name, index in order.items():
        if np.isnan(demand[index]):
            fail(file.name, len(rows), f"node '{name}' of the case '{case.name}' has no row; add it.")
    return demand


def write_demand(
    path: str | Path, case: Case, demand_mwh: FloatArray, *, remarks: Sequence[str] = ()
) -> None:
    """Write a demand vector that :func:`read_demand` reads back, with remarks ahead of it."""
    rows = [
        DemandRow(node=name, demand_mwh=float(value))
        for name, value in zip(case.delivery_ids, demand_mwh, strict=True)
    ]
    write_table(Path(path), DemandRow, rows, remarks=remarks)
