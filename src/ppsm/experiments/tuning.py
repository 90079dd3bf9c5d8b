"""The tuning numbers of the harness: how long solvers may take, and how patient engines are."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class HarnessTuning:
    """What no grid says for itself.

    Attributes
    ----------
    single_cell_original_seconds
        For the original game of a command on one cell: all its errors are relative to it, so it is proven if
        that is possible in five minutes.
    single_cell_fidelity_nodes
        Of step 3b of a command on one cell, which has few instances.
    recheck_seconds
        For a look whether another cell's commitment is cheaper in an original game; no proof is sought.
    attempts
        So often a task may kill its worker before it is given up.
    watch_seconds
        Between two looks of a worker whether the run that started it lives.
    worker_bytes
        By which a worker may grow before it is taken for a leak: it keeps what it has built and learned.
    connect_seconds
        For a Dask scheduler to answer.
    history_fleets
        A past is invented for cases of up to so many fleets: a year of large games would take an hour.
    """

    single_cell_original_seconds: float = 300.0
    single_cell_fidelity_nodes: int = 400
    recheck_seconds: float = 1.0
    attempts: int = 3
    watch_seconds: float = 0.5
    worker_bytes: int = 2 * 1024**3
    connect_seconds: int = 20
    history_fleets: int = 20


HARNESS = HarnessTuning()


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What instances are solved with. Rows that are kept together share it.

    Attributes
    ----------
    gap
        The relative gap at which a cleared game counts as proven.
    clear_seconds
        For clearing the game with a release.
    original_seconds
        For clearing it with the true demand, once per cell: all errors are relative to it.
    fidelity_nodes, fidelity_seconds
        For step 3b. Nodes end its search, so that a busy machine finds the same; seconds are far more than
        those take.
    """

    gap: float = 1e-3
    clear_seconds: float = 20.0
    original_seconds: float = 120.0
    fidelity_nodes: int = 200
    fidelity_seconds: float = 60.0

    @classmethod
    def of_single_cell(cls, clear_seconds: float) -> "Limits":
        """Those of a command that runs a few instances on one cell."""
        return cls(
            clear_seconds=clear_seconds,
            original_seconds=max(HARNESS.single_cell_original_seconds, clear_seconds),
            fidelity_nodes=HARNESS.single_cell_fidelity_nodes,
        )
