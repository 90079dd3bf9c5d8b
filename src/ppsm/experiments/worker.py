"""What runs in a worker process: the originals of a power stress, and a batch of instances.

A process keeps its workspace (models, solvers, remembered commitments) from one task to the next. Processes
that see the same cache directory also share the commitments that others have solved since.
"""

import hashlib
import threading
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ppsm
from ppsm import __version__
from ppsm.cases import load_case
from ppsm.cases.schema import builtin_cases
from ppsm.coordinations.unit_commitment import outcome_of
from ppsm.experiments.grid import Cell, Experiment
from ppsm.experiments.store import FAILED
from ppsm.mechanism.coordination import Outcome
from ppsm.mechanism.instance import RESULTS, Instance, Record, Workspace, noise_seed
from ppsm.mechanism.variants import VariantRunner
from ppsm.solvers.highs import HIGHS
from ppsm.solvers.qp import CLARABEL, PIQP

_QUICK_SECONDS = 1.0

# A cluster's worker may have several threads; the solvers of a workspace serve one at a time.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Setup:
    """What a worker needs to make its workspace."""

    case: str
    cache: str | None
    gap: float
    clear_seconds: float
    original_seconds: float
    fidelity_seconds: float

    @classmethod
    def of(cls, experiment: Experiment, cache: Path | None) -> "Setup":
        """The set-up of an experiment."""
        # Workers may start elsewhere: a case directory is given to them as a whole path.
        case = experiment.case
        where = None if cache is None else str(cache.resolve())
        return cls(
            case if case in builtin_cases() else str(Path(case).resolve()),
            where,
            experiment.gap,
            experiment.clear_seconds,
            experiment.original_seconds,
            experiment.fidelity_seconds,
        )


@dataclass(frozen=True)
class OriginalsTask:
    """Clear the original games of one power stress."""

    setup: Setup
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class BatchTask:
    """Run the instances of one cell and repetition against its original game."""

    setup: Setup
    original: Outcome
    instances: tuple[Instance, ...]


@lru_cache(maxsize=1)
def _runner(setup: Setup) -> VariantRunner:
    cache = None if setup.cache is None else Path(setup.cache)
    workspace = Workspace(
        load_case(setup.case),
        cache,
        gap=setup.gap,
        clear_seconds=setup.clear_seconds,
        fidelity_seconds=setup.fidelity_seconds,
    )
    return VariantRunner(workspace)


def solve_originals(task: OriginalsTask) -> list[tuple[Cell, Outcome]]:
    """The original games of some cells; one is cleared again where another cell's commitment is cheaper."""
    with _ONE_AT_A_TIME:
        workspace = _runner(task.setup).workspace
        seconds = task.setup.original_seconds
        found = {cell: _clear(workspace, cell, seconds) for cell in task.cells}
        for cell, outcome in found.items():
            if _remembers_better(workspace, cell, outcome):
                found[cell] = _clear(workspace, cell, seconds)
        return list(found.items())


def _clear(workspace: Workspace, cell: Cell, seconds: float) -> Outcome:
    demand = workspace.case.demand_mwh(cell[1])
    return outcome_of(workspace.solver.solve(cell[0], demand, gap=workspace.gap, time_limit=seconds))


def _remembers_better(workspace: Workspace, cell: Cell, outcome: Outcome) -> bool:
    """Whether a commitment that was solved since is valid in this cell and cheaper; no proof is sought."""
    cost = _clear(workspace, cell, _QUICK_SECONDS).leader_cost
    return cost is not None and (outcome.leader_cost is None or cost < outcome.leader_cost * (1 - 1e-9))


def run_batch(task: BatchTask) -> list[Record]:
    """One row per instance, also where it fails."""
    with _ONE_AT_A_TIME:
        runner = _runner(task.setup)
        runner.workspace.solver.memory.refresh()
        runner.workspace.adopt_original(*task.instances[0].cell, task.original)
        return [_row(runner, instance) for instance in task.instances]


def _row(runner: VariantRunner, instance: Instance) -> Record:
    case = runner.workspace.case
    try:
        record = runner.run(instance)
    except OSError:  # a full disk is no property of the instance: the run stops, and goes on later
        raise
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the other rows of the grid are wanted
        return failed_row(case.name, instance, f"{type(error).__name__}: {error}")
    return {**record, "message": "", **_provenance(case.name, instance)}


def failed_row(case_name: str, instance: Instance, message: str) -> Record:
    """The row of an instance that has no result."""
    axes = {name: getattr(instance, name) for name in Instance.__dataclass_fields__}
    return {
        "case": case_name,
        **axes,
        **dict.fromkeys(RESULTS),
        "feasible": False,
        "status": FAILED,
        "message": " ".join(message.split())[:500],
        **_provenance(case_name, instance),
    }


def _provenance(case_name: str, instance: Instance) -> dict[str, Any]:
    solvers = ", ".join((HIGHS, PIQP, CLARABEL, f"OpenDP {version('opendp')}"))
    return {
        "seed": noise_seed(case_name, instance),
        "solvers": solvers,
        "package_version": __version__,
        "source_digest": _source_digest(),
    }


@cache
def _source_digest() -> str:
    """A digest of the package's own code: versions of one number may differ while it is being worked on."""
    root = Path(ppsm.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
