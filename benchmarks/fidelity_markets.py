"""``python -m benchmarks.fidelity_markets``: the fidelity phase on markets of nine structures, against SCIP.

Every structure, size, band, variant and norm, ours and a plain KKT + SOS1 program in SCIP one right after the
other in one process, in CPU seconds. A stopped run goes on where it was left when it is given the same file.
"""

import argparse
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kkt_by_hand import solve_by_hand
from benchmarks.market_structures import FIRST_HELD_OUT, SIZES, STRUCTURES, Market, market
from benchmarks.report import Table
from ppsm.arrays import FloatArray
from ppsm.errors import PpsmError
from ppsm.fidelity import Bands, Restorer, SearchLimits
from ppsm.fidelity.problem import Norm

BANDS = (0.0001, 0.001, 0.01, 0.05)
VARIANTS = ("PPSM", "PPSM_p")
NORMS: tuple[Norm, ...] = ("l2", "l1")
# Noise as a share of the mean entry, by seed.
_NOISE = (0.05, 0.2, 0.6)
_GAP = 1e-4
# Objectives that differ by more than both gaps allow, and by more than what tolerances do to tiny ones.
_DIFFERS, _TINY = 3e-4, 1e-5


@dataclass(frozen=True, eq=False)
class Problem:
    """A noisy vector, its bands and public bounds."""

    market: Market
    released: FloatArray
    bands: Bands
    largest: FloatArray
    norm: Norm


@dataclass(frozen=True)
class Row:
    """One solver on one problem."""

    structure: str
    size: str
    band: float
    variant: str
    norm: str
    seed: int
    solver: str
    proven: bool
    certified: bool
    objective: float | None
    bound: float | None
    widening: float
    seconds: float
    ended: str

    @property
    def problem(self) -> tuple[str, str, float, str, str, int]:
        """Which problem it is."""
        return self.structure, self.size, self.band, self.variant, self.norm, self.seed


def problem_of(structure: str, size: str, band: float, variant: str, norm: Norm, seed: int) -> Problem:
    """The problem of a row: its bands are around what the true vector leads to, so they are not empty."""
    made = market(structure, size, seed)
    outcome = made.follower.solve(made.truth)
    prices = made.follower.parameter_map.T @ outcome.prices if variant == "PPSM" else None
    rng = np.random.default_rng([seed, 1])
    scale = _NOISE[seed % len(_NOISE)] * float(made.truth.mean())
    return Problem(
        made,
        made.truth + scale * rng.laplace(size=made.truth.size),
        Bands.relative(outcome.value, prices, eta_p=band, eta_d=band),
        np.full(made.truth.size, 3.0 * float(made.truth.max())),
        norm,
    )


def ours(problem: Problem, seconds: float) -> dict[str, Any]:
    """What the fidelity phase says; the answer counts as certified when SciPy confirms it."""
    started = time.process_time()
    try:
        found = Restorer(problem.market.follower).restore(
            problem.released,
            problem.bands,
            (0.0, problem.largest),
            norm=problem.norm,
            limits=SearchLimits(gap=_GAP, seconds=seconds),
        )
    except PpsmError as error:
        return _nothing(str(error), time.process_time() - started)
    seconds = time.process_time() - started
    has_answer = found.claim is not None
    return {
        "seconds": seconds,
        "proven": found.certified,
        "certified": has_answer and found.recertify().faithful,
        "objective": float(found.objective) if has_answer else None,
        "bound": float(found.bound),
        "widening": float(found.widening),
        "ended": str(found.status),
    }


def by_hand(problem: Problem, seconds: float) -> dict[str, Any]:
    """What SCIP says of the same problem."""
    started = time.process_time()
    claim = solve_by_hand(
        problem.market.follower, problem.released, problem.bands, problem.largest, problem.norm, seconds, _GAP
    )
    return {
        "seconds": time.process_time() - started,
        "proven": claim.status == "optimal",
        "certified": False,
        "objective": claim.objective,
        "bound": claim.bound,
        "widening": 1.0,
        "ended": claim.status,
    }


def _nothing(reason: str, seconds: float) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "proven": False,
        "certified": False,
        "objective": None,
        "bound": None,
        "widening": 1.0,
        "ended": reason,
    }


OURS, SCIP = "ppsm", "SCIP, SOS1"
SOLVERS: dict[str, Callable[[Problem, float], dict[str, Any]]] = {OURS: ours, SCIP: by_hand}


def rows(
    cells: Iterable[tuple[str, str, float, str, Norm, int]], solvers: Sequence[str], seconds: float
) -> Iterator[Row]:
    """Solve problem after problem by every solver."""
    for cell in cells:
        for solver in solvers:
            yield Row(*cell, solver=solver, **SOLVERS[solver](problem_of(*cell), seconds))


def differs(one: float, other: float) -> bool:
    """Whether two proven objectives contradict each other."""
    return abs(one - other) > _DIFFERS * max(abs(one), abs(other)) + _TINY


def summary(found: Sequence[Row], by: str) -> Table:
    """Shares proven, times and contradictions, by one of the axes."""
    lines: list[tuple[str | float | int | bool, ...]] = []
    for value in dict.fromkeys(getattr(row, by) for row in found):
        mine = {row.problem: row for row in found if getattr(row, by) == value and row.solver == OURS}
        theirs = {row.problem: row for row in found if getattr(row, by) == value and row.solver == SCIP}
        both = [problem for problem in mine if problem in theirs]
        disputed = [
            problem
            for problem in both
            if mine[problem].proven
            and theirs[problem].proven
            and differs(mine[problem].objective or 0.0, theirs[problem].objective or 0.0)
        ]
        lines.append(
            (
                str(value),
                len(mine),
                _share(row.proven for row in mine.values()),
                _share(row.certified for row in mine.values()),
                _median(row.seconds for row in mine.values()),
                _quantile(row.seconds for row in mine.values()),
                _share(row.proven for row in theirs.values()),
                _median(row.seconds for row in theirs.values()),
                _quantile(row.seconds for row in theirs.values()),
                len(disputed),
            )
        )
    columns = (
        by,
        "problems",
        "proven",
        "certified",
        "median s",
        "p95 s",
        "SCIP proven",
        "SCIP median s",
        "SCIP p95 s",
        "objectives differ",
    )
    return Table(f"The fidelity phase by {by}", columns, tuple(lines), "CPU seconds of one core")


def _share(flags: Iterable[bool]) -> float:
    known = list(flags)
    return 100.0 * sum(known) / len(known) if known else float("nan")


def _median(values: Iterable[float]) -> float:
    known = list(values)
    return statistics.median(known) if known else float("nan")


def _quantile(values: Iterable[float]) -> float:
    known = list(values)
    return float(np.quantile(known, 0.95)) if known else float("nan")


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    return [Row(**json.loads(line)) for line in path.read_text().splitlines()]


def main() -> None:
    """Measure, keep the rows, print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity_markets", description=__doc__)
    parser.add_argument("--first-seed", type=int, default=FIRST_HELD_OUT)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--structure", action="append", choices=list(STRUCTURES))
    parser.add_argument("--size", action="append", choices=list(SIZES))
    parser.add_argument("--band", action="append", type=float)
    parser.add_argument("--variant", action="append", choices=VARIANTS)
    parser.add_argument("--norm", action="append", choices=NORMS)
    parser.add_argument("--solver", action="append", choices=list(SOLVERS))
    parser.add_argument("--out", type=Path, default=Path("out/fidelity-markets.jsonl"))
    options = parser.parse_args()
    # Limits count CPU seconds too: a machine that others work on as well must not decide what is proven.
    time.perf_counter = time.process_time
    known = _read(options.out)
    done = {(row.problem, row.solver) for row in known}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    cells = itertools.product(
        options.structure or STRUCTURES,
        options.size or SIZES,
        options.band or BANDS,
        options.variant or VARIANTS,
        options.norm or NORMS,
        range(options.first_seed, options.first_seed + options.seeds),
    )
    with options.out.open("a") as file:
        for cell in cells:
            wanted = [one for one in options.solver or SOLVERS if (cell, one) not in done]
            for row in rows([cell], wanted, options.seconds):
                known.append(row)
                file.write(json.dumps(asdict(row)) + "\n")
                file.flush()
    from benchmarks.__main__ import show

    show(
        {"fidelity_markets": [summary(known, by) for by in ("structure", "size", "band", "variant", "norm")]}
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
