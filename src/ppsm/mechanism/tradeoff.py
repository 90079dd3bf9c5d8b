"""Privacy against fidelity: all mechanisms over several alphas on one stress cell, to help choose alpha.

Records are appended to a file as they come, so a run that is stopped leaves a valid file, and the same call
goes on where it stopped.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ppsm.errors import FileFormatError
from ppsm.interrupts import watched
from ppsm.mechanism.instance import Instance, Record, Workspace, record_key
from ppsm.mechanism.mechanisms import MECHANISMS
from ppsm.mechanism.variants import Variant, VariantRunner

RECORDS, TABLE, FIGURE = "records.jsonl", "tradeoff.csv", "tradeoff.svg"


@dataclass(frozen=True)
class TradeoffRow:
    """What one mechanism does at one alpha: means over the repetitions in which the game could be cleared.

    Errors are mean absolute ones in per cent; ``gap_percent`` is the largest MIP gap among them, beside which
    errors must be read. None where nothing could be cleared.
    """

    mechanism: str
    alpha_mwh: float
    runs: int
    feasible_percent: float
    l1_distance_mwh: float | None
    leader_error_percent: float | None
    electricity_error_percent: float | None
    gas_error_percent: float | None
    gap_percent: float | None
    widened_percent: float | None


def grid(
    *,
    power_stress: float,
    gas_stress: float | None,
    alphas: Sequence[float],
    repetitions: int,
    eta_p: float,
    eta_d: float,
    epsilon: float = 1.0,
    first: int = 0,
) -> list[Instance]:
    """The instances of a trade-off; repetitions are outermost, so a part of a run is a fair sample.

    Repetitions are numbered from ``first``; each number has noise of its own.
    """
    return [
        Instance(
            power_stress=power_stress,
            gas_stress=gas_stress,
            alpha=alpha,
            mechanism=mechanism,
            repetition=repetition,
            eta_p=eta_p,
            eta_d=eta_d,
            epsilon=epsilon,
        )
        for repetition in range(first, first + repetitions)
        for alpha in alphas
        for mechanism in MECHANISMS
    ]


def run_grid(
    workspace: Workspace,
    instances: Iterable[Instance],
    file: Path,
    progress: Callable[[Record], None] | None = None,
) -> list[Record]:
    """Run what the file does not hold yet, and return the records of these instances in their order."""
    wanted = list(instances)
    done = {record_key(record): record for record in read_records(file)}
    _drop_cut_off_line(file)
    name, runner = workspace.name, VariantRunner(workspace)
    with file.open("a", encoding="utf-8") as stream, watched() as watch:
        for instance in wanted:
            key = record_key({"case": name, **asdict(instance)})
            if key not in done:
                record = runner.run(instance)
                watch.check()
                done[key] = record
                stream.write(json.dumps(record, allow_nan=False) + "\n")
                stream.flush()
            if progress is not None:
                progress(done[key])
    return [done[record_key({"case": name, **asdict(instance)})] for instance in wanted]


def read_records(file: Path) -> list[Record]:
    """Read the records of a file, which stays as it is; a last line that was cut off does not count."""
    if not file.exists():
        return []
    try:
        records = [json.loads(line) for line in _whole_lines(file).splitlines()]
        for record in records:
            record_key(record)
    except (ValueError, KeyError, TypeError):
        raise FileFormatError(
            f"{file} holds lines that are no records: choose another directory or remove it."
        ) from None
    return records


def _whole_lines(file: Path) -> bytes:
    content = file.read_bytes()
    return content[: content.rfind(b"\n") + 1]


def _drop_cut_off_line(file: Path) -> None:
    """Make the file end with a whole line, so that the next record begins a new one; nothing is rewritten."""
    if file.exists():
        os.truncate(file, len(_whole_lines(file)))


def summarise(records: Iterable[Record]) -> list[TradeoffRow]:
    """One row for each alpha and mechanism, in the order of both."""
    groups: dict[tuple[float, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["alpha"], record["mechanism"]), []).append(record)
    return [
        row_of(mechanism, alpha, groups[alpha, mechanism])
        for alpha, mechanism in sorted(groups, key=lambda key: (key[0], Variant.named(key[1]).rank))
    ]


def row_of(mechanism: str, alpha: float, group: list[Record]) -> TradeoffRow:
    """What the records of one mechanism at one alpha say; one that failed counts as not cleared."""
    cleared = [record for record in group if record["feasible"]]

    def error(name: str) -> float | None:
        values = [abs(record[f"error_{name}_percent"]) for record in cleared]
        return float(np.mean(values)) if values else None

    found = [record[f"{which}_gap"] for record in cleared for which in ("original", "released")]
    gaps = [gap for gap in found if gap is not None]
    widenings = [record["widening"] for record in group if record["widening"] is not None]
    distances = [record["l1_released"] for record in group if record["l1_released"] is not None]
    return TradeoffRow(
        mechanism=mechanism,
        alpha_mwh=alpha,
        runs=len(group),
        feasible_percent=100.0 * len(cleared) / len(group),
        l1_distance_mwh=float(np.mean(distances)) if distances else None,
        leader_error_percent=error("leader"),
        electricity_error_percent=error("electricity"),
        gas_error_percent=error("gas"),
        gap_percent=100.0 * max(gaps) if gaps else None,
        widened_percent=100.0 * float(np.mean([w > 1.0 for w in widenings])) if widenings else None,
    )


def write_table(rows: Sequence[TradeoffRow], file: Path) -> None:
    """Write the rows as CSV; blank where there is no figure."""
    names = list(TradeoffRow.__dataclass_fields__)
    lines = [",".join(names)]
    for row in rows:
        values = [getattr(row, name) for name in names]
        lines.append(",".join("" if value is None else str(value) for value in values))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
