"""Further demands for :mod:`benchmarks.gauc`: with Laplace noise, and as the mechanisms release them.

Noise and releases are those of experiments (:mod:`ppsm.experiments`), whose repetitions number the draws. All
are cleared by the solver that has cleared the cells, so that each is what the issue calls a further demand.
Seconds are of the processor. A draw of raw noise that nobody can serve is counted and not timed.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.experiments.instance import Workspace, simulate_instance
from ppsm.experiments.row import Cell, Instance
from ppsm.status import Status

MECHANISMS = ("laplace", "ppsm", "ppsm-p")


@dataclass
class Cleared:
    """How demands of one kind were cleared: seconds of the processor, and those that are not proven."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    undecided: list[str] = field(default_factory=list)

    def line(self, kind: str) -> str:
        """In words."""
        if not self.seconds:
            return f"{kind}: none can be served of {self.statuses.total()}"
        median, most_of, most = np.percentile(self.seconds, [50, 95, 100])
        return (
            f"{kind}: {len(self.seconds)} of {self.statuses.total()} can be served, median {median:.2f} s, "
            f"95 % within {most_of:.2f} s, at most {most:.2f} s; {dict(self.statuses)}; "
            f"undecided: {', '.join(self.undecided) or 'none'}"
        )


def demands(
    workspace: Workspace, cell: Cell, alpha: float, repetitions: Sequence[int]
) -> Iterator[tuple[str, int, FloatArray]]:
    """Mechanism, repetition and demand of further draws at a cell."""
    for repetition in repetitions:
        for mechanism in MECHANISMS:
            instance = Instance(
                power_stress=cell[0],
                gas_stress=cell[1],
                alpha=alpha,
                mechanism=mechanism,
                repetition=repetition,
            )
            yield mechanism, repetition, simulate_instance(workspace, instance).released.values


def clear_further(
    workspace: Workspace,
    cells: Sequence[Cell],
    alphas: Sequence[float],
    repetitions: Sequence[int],
    limit: float,
) -> None:
    """Clear further demands of all cells, and print how long each kind took."""
    kinds: dict[tuple[str, float], Cleared] = {}
    for cell in cells:
        for alpha in alphas:
            for mechanism, repetition, demand in demands(workspace, cell, alpha, repetitions):
                mine = kinds.setdefault((mechanism, alpha), Cleared())
                started = time.process_time()
                solution = workspace.solver.solve(cell[0], demand, gap=workspace.limits.gap, time_limit=limit)
                seconds = time.process_time() - started
                mine.statuses[solution.status.value] += 1
                is_served = solution.status is not Status.INFEASIBLE
                if is_served:
                    mine.seconds.append(seconds)
                if is_served and solution.status is not Status.PROVEN_OPTIMAL:
                    gap = "no answer" if solution.gap is None else f"{solution.gap:.3%}"
                    mine.undecided.append(f"+{cell[0]:.0%} / +{cell[1]:.0%} draw {repetition} ({gap})")
                print(
                    f"+{cell[0]:.0%} / +{cell[1]:.0%} {mechanism} {alpha:g} MWh, draw {repetition}: "
                    f"{solution.status.value} in {seconds:.2f} s",
                    flush=True,
                )
    for (mechanism, alpha), mine in kinds.items():
        print(mine.line(f"{mechanism} at {alpha:g} MWh"))
    for name, chosen in (("all", MECHANISMS), ("all releases", MECHANISMS[1:])):
        every = Cleared()
        for (mechanism, _), mine in kinds.items():
            if mechanism in chosen:
                every.seconds += mine.seconds
                every.statuses += mine.statuses
                every.undecided += mine.undecided
        print(every.line(name), flush=True)
