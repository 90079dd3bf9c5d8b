"""Demand and burn gathered by junction."""

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray
from ppsm.cases.schema import Case


def withdrawals_mwh(case: Case, demand_mwh: ArrayLike, burn_mwh: ArrayLike) -> FloatArray:
    """Return what leaves the network at each junction: demand per delivery plus burn per link."""
    index = {row.junction: position for position, row in enumerate(case.junctions)}
    total = np.zeros(len(index))
    np.add.at(total, [index[row.junction] for row in case.deliveries], np.asarray(demand_mwh))
    np.add.at(total, [index[row.junction] for row in case.links], np.asarray(burn_mwh))
    return total
