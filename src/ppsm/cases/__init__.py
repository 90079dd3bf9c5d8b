"""Cases: what a gas-and-power market is made of, as tables with units in their column names.

``schema`` loads and saves a case, whose tables are the rows of ``entities``, read as ``csv_tables`` and held
together by ``checks``; ``demand`` is a demand vector in a file, ``stress`` the range of a case. Published
networks come through ``matlab``, ``matlab_rows``, ``matpower``, ``matgas`` and ``links``, and ``calibration``
makes a case of them.
"""

from ppsm.cases.demand import read_demand
from ppsm.cases.schema import Case, load_case

__all__ = ["Case", "load_case", "read_demand"]
