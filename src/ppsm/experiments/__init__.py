"""Experiments: a grid of instances, run on a machine or a cluster, kept as rows, shown as reports and pages.

::

    row          Instance, Row       the axes of one run, and how it went
    variants     Variant             mechanisms by name, with options
    instance     Workspace           one run: release, clear, compare with the original game
    grid         Experiment, Grid    which runs, in batches; the paper's grids
    run          run_experiment      run what is missing, first the original games
    engines                          where: this process, processes, a Dask cluster
    store        RowStore            the rows, in Parquet; settings and original games
    summaries    Summary, Table      rows summed up; published: the paper's numbers beside them
    panels, charts                   pictures for files, and interactive ones for pages
    report       write_report        ``ppsm report``
    comparison, conclusion           ``ppsm compare``: a grid on one cell, and what it shows
    pages                            what it and a stream show, for everybody and for the owner
    story        Story               a page in one sentence and three numbers
    tuning       Limits              time limits and other tuning numbers

``ppsm tradeoff`` is a grid on one cell too. Data flow one way: grid, run, store, summaries, pictures, pages.
"""

from typing import TYPE_CHECKING

from ppsm.front_door import front_door

if TYPE_CHECKING:
    from ppsm.experiments.grid import Experiment, named, read_experiment
    from ppsm.experiments.report import write_report
    from ppsm.experiments.run import run_experiment
    from ppsm.experiments.store import RowStore

__all__ = ["Experiment", "RowStore", "named", "read_experiment", "run_experiment", "write_report"]

__getattr__, __dir__ = front_door(
    __name__,
    {
        "grid": ("Experiment", "named", "read_experiment"),
        "report": ("write_report",),
        "run": ("run_experiment",),
        "store": ("RowStore",),
    },
)
