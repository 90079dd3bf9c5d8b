"""Cases: what a gas-and-power market is made of, as tables with units in their column names."""

from ppsm.cases.demand import read_demand
from ppsm.cases.schema import Case, load_case

__all__ = ["Case", "load_case", "read_demand"]
