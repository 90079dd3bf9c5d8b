"""Experiments: a declared grid of instances, run on a machine or a cluster, kept as rows, shown as a report.

::

    Experiment, named, read_experiment    the grid
    run_experiment                        run what is missing of it
    RowStore                              its rows, in Parquet
    write_report                          tables and figures, functions of the rows alone
"""

from ppsm.experiments.grid import Experiment, named, read_experiment
from ppsm.experiments.report import write_report
from ppsm.experiments.run import run_experiment
from ppsm.experiments.store import RowStore

__all__ = ["Experiment", "RowStore", "named", "read_experiment", "run_experiment", "write_report"]
