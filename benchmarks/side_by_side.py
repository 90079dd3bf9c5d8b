"""``python -m benchmarks.side_by_side``: games of six families, solved by us and by what users write by hand.

Each game is solved by all, one right after the other in one process, so that ratios come from one run. What
a solver claims is held against the best verified point that anybody found.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.game_families import FAMILIES, FIRST_SEED, Game, games
from benchmarks.report import Table
from benchmarks.rivals import GAP, INFEASIBLE, OPTIMAL, RIVALS, TIME, UNBOUNDED, Claim
from ppsm import BilevelProgram, PpsmError, Status, solve_bilevel
from ppsm.arrays import FloatArray
from ppsm.bilevel.incumbent import polish, respond
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.verify import verify
from ppsm.solvers.scip import need_scip

OURS = "ppsm"
REFERENCE = "SCIP, SOS1"
SOLVERS = (OURS, *RIVALS)
# A claim is wrong when a verified point refutes it by more than this, relative to the objective.
_REFUTED = 1e-4


@dataclass(frozen=True)
class Row:
    """One solver on one game; ``reached`` is the objective of its point once that is verified, if it is.

    ``seconds`` are those of the clock, ``processor`` those that the process was given.
    """

    family: str
    size: str
    seed: int
    limit: float
    solver: str
    status: str
    seconds: float
    objective: float | None
    bound: float | None
    reached: float | None
    method: str = ""
    reason: str = ""
    processor: float = np.nan

    @property
    def game(self) -> tuple[str, str, int]:
        """Which game it is."""
        return self.family, self.size, self.seed

    @property
    def key(self) -> tuple[str, str, int, float, str]:
        """What tells it from all other rows."""
        return *self.game, self.limit, self.solver


def run(
    chosen: Iterable[Game], limit: float, file: Path | None, solvers: Sequence[str] = SOLVERS
) -> list[Row]:
    """Solve what the file has no row for yet, and return the rows of all."""
    need_scip("the comparison")
    _warm_up(solvers)
    known = {row.key: row for row in _read(file)}
    rows = []
    for game in chosen:
        program = None
        for solver in solvers:
            row = known.get((game.family, game.size, game.seed, limit, solver))
            if row is None:
                program = program or game.build()
                row = _solved(game, program, solver, limit)
                _append(file, row)
            rows.append(row)
    return rows


def _warm_up(solvers: Sequence[str]) -> None:
    """A game that does not count: whoever comes first would else pay for the imports of all."""
    first = next(games(next(iter(FAMILIES)), [FIRST_SEED["tuning"]]))
    program = first.build()
    for solver in solvers:
        _solved(first, program, solver, 10.0)


def _read(file: Path | None) -> Iterator[Row]:
    if file is not None and file.exists():
        for line in file.read_text().splitlines():
            yield Row(**json.loads(line))


def _append(file: Path | None, row: Row) -> None:
    sys.stderr.write(
        f"{row.family}, {row.size}, seed {row.seed}, {row.solver}: {row.status}, {row.seconds:.2f} s, "
        f"objective {row.objective}, reached {row.reached} {row.method} {row.reason}\n"
    )
    if file is not None:
        with file.open("a") as stream:
            stream.write(json.dumps(asdict(row)) + "\n")


def _solved(game: Game, program: BilevelProgram, solver: str, limit: float) -> Row:
    place = (game.family, game.size, game.seed, limit, solver)
    if solver == OURS:
        return _ours(place, program)
    started = time.process_time()
    claim = RIVALS[solver](program, limit)
    processor = time.process_time() - started
    reached = _reached(program, claim)
    outcome = claim.status, claim.seconds, claim.objective, claim.bound, reached
    return Row(*place, *outcome, processor=processor)


def _ours(place: tuple[str, str, int, float, str], program: BilevelProgram) -> Row:
    limit = place[3]
    started = time.process_time()
    try:
        found = solve_bilevel(program, gap=GAP, time_limit=limit, threads=1)
    except PpsmError as error:
        return Row(*place, f"failed: {error}", limit, None, None, None)
    processor = time.process_time() - started
    ended = {Status.PROVEN_OPTIMAL: OPTIMAL, Status.INFEASIBLE: INFEASIBLE, Status.UNBOUNDED: UNBOUNDED}
    objective, method, reason = found.leader_objective, found.method.value, found.method_reason
    # A point that we return has passed verification.
    return Row(
        *place,
        ended.get(found.status, TIME),
        found.seconds,
        objective,
        found.leader_bound,
        objective,
        method,
        f"{reason}; {found.explanation}" if found.explanation else reason,
        processor,
    )


def _reached(program: BilevelProgram, claim: Claim) -> float | None:
    """The best objective among verified points near a claimed one, so that tolerances do not matter."""
    if claim.columns is None:
        return None
    kkt = build_kkt(program)
    decision = claim.columns[kkt.variables]
    decision = np.where(program.is_integer, np.round(decision), decision)
    near = (polish(kkt, claim.columns), respond(kkt, decision), claim.columns)
    return min((cost for point in near if (cost := _verified(kkt, point)) is not None), default=None)


def _verified(kkt: KktSystem, columns: FloatArray | None) -> float | None:
    if columns is None:
        return None
    objective = float(kkt.relaxation.cost @ columns) + kkt.relaxation.offset
    parts = columns[kkt.variables], columns[kkt.responses], kkt.prices(columns)
    return objective if verify(kkt.program, *parts, objective).verified else None


class Verdicts:
    """What became of every claim, given all verified points."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._best: dict[tuple[str, str, int], float] = {}
        for row in self.rows:
            if row.reached is not None:
                self._best[row.game] = min(row.reached, self._best.get(row.game, np.inf))

    def is_wrong(self, row: Row) -> bool:
        """Whether a verified point refutes the claim, or its point is none of the game."""
        best = self._best.get(row.game)
        if row.status in (INFEASIBLE, UNBOUNDED):
            return best is not None
        if row.status != OPTIMAL:
            return False
        if row.objective is None or row.reached is None or best is None:
            return True
        margin = _REFUTED * max(1.0, abs(best))
        return row.objective - best > margin or row.reached - row.objective > margin

    def is_proven(self, row: Row) -> bool:
        """Whether the claim is a proof and nothing refutes it."""
        return row.status in (OPTIMAL, INFEASIBLE) and not self.is_wrong(row)

    def seconds(self, row: Row) -> float:
        """How long the proof took; where there is none, the limit or what was taken beyond it."""
        return row.seconds if self.is_proven(row) else max(row.seconds, row.limit)

    def processor(self, row: Row) -> float:
        """The same in seconds of the processor."""
        return row.processor if self.is_proven(row) else max(row.processor, row.limit)


def tables(rows: Iterable[Row]) -> list[Table]:
    """What was measured, by family and for all games."""
    verdicts = Verdicts(rows)
    cells: list[tuple[str | float, ...]] = []
    for name in dict.fromkeys(row.family for row in verdicts.rows):
        cells += _lines(verdicts, name, [row for row in verdicts.rows if row.family == name])
    cells += _lines(verdicts, "all", verdicts.rows)
    note = (
        "Seconds include building; a game without a (right) proof counts with the time limit at least. "
        "Ratios are those of the medians, by the clock and by the processor, which other jobs disturb less; "
        "then the median of the ratios of each game: of few games two medians may be of different sizes. "
        "Wrong: a claim that a verified point refutes, or whose point is none of the game."
    )
    ratios = f"times {REFERENCE}", "times, processor", "each game"
    columns = ("family", "solver", "games", "proven", "wrong", "median, s", "processor, s", *ratios)
    return [Table("Games side by side", columns, tuple(cells), note)]


def _lines(verdicts: Verdicts, name: str, rows: Sequence[Row]) -> list[tuple[str | float, ...]]:
    groups = {solver: [row for row in rows if row.solver == solver] for solver in SOLVERS}
    groups = {solver: group for solver, group in groups.items() if group}
    clock = {solver: statistics.median(map(verdicts.seconds, group)) for solver, group in groups.items()}
    work = {solver: statistics.median(map(verdicts.processor, group)) for solver, group in groups.items()}
    return [
        (
            name,
            solver,
            len(group),
            sum(map(verdicts.is_proven, group)),
            sum(map(verdicts.is_wrong, group)),
            clock[solver],
            work[solver],
            clock[solver] / clock[REFERENCE],
            work[solver] / work[REFERENCE],
            _of_each(verdicts, group, groups[REFERENCE]),
        )
        for solver, group in groups.items()
    ]


def _of_each(verdicts: Verdicts, group: Sequence[Row], reference: Sequence[Row]) -> float:
    """The median of the ratios game by game, in seconds of the processor."""
    theirs = {row.game: verdicts.processor(row) for row in reference}
    return statistics.median(verdicts.processor(row) / theirs[row.game] for row in group)


def measure() -> list[Table]:
    """For ``make bench``: the smallest game of every family that nobody tunes on."""
    seeds = [FIRST_SEED["held-out"]]
    smallest = [next(games(family, seeds)) for family in FAMILIES]
    return tables(run(smallest, 10.0, None))


def main() -> None:
    """Run from the command line."""
    from benchmarks.__main__ import in_fields, show

    parser = argparse.ArgumentParser(prog="python -m benchmarks.side_by_side", description=__doc__)
    parser.add_argument("--family", choices=FAMILIES, action="append", help="default: all of them")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a solver for one game")
    parser.add_argument("--set", choices=FIRST_SEED, default="held-out", dest="seeds")
    parser.add_argument("--each", type=int, default=2, help="games of every size")
    parser.add_argument("--first-seed", type=int, help="of each size, instead of the first of a set")
    parser.add_argument("--sizes", type=int, nargs="+", help="which of a family, from 1 on; default: all")
    parser.add_argument("--rows", type=Path, help="JSON lines to write; a run goes on where they end")
    parser.add_argument("--reference-only", action="store_true", help=f"no other rival than {REFERENCE}")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    options = parser.parse_args()
    first = FIRST_SEED[options.seeds] if options.first_seed is None else options.first_seed
    seeds = range(first, first + options.each)
    chosen = [game for family in options.family or FAMILIES for game in games(family, seeds, options.sizes)]
    solvers = (OURS, REFERENCE) if options.reference_only else SOLVERS
    found = tables(run(chosen, options.seconds, options.rows, solvers))
    if options.json:
        print(json.dumps([in_fields(table) for table in found], indent=2))
    else:
        show({"side_by_side": found})


if __name__ == "__main__":
    main()
