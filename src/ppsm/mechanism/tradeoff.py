"""Privacy against fidelity: all mechanisms over several alphas on one stress cell, to help choose alpha.

Records are appended to a file as they come, so a run that is stopped leaves a valid file, and the same call
goes on where it stopped.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ppsm.errors import FileFormatError
from ppsm.mechanism.instance import Instance, Record, Workspace, record_key
from ppsm.mechanism.interrupts import watched
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
    """Read the records of a file; a last line that was cut off is taken out of it."""
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    try:
        records = [json.loads(line) for line in whole.splitlines()]
        for record in records:
            record_key(record)
    except (ValueError, KeyError, TypeError):
        raise FileFormatError(
            f"{file} holds lines that are no records: choose another directory or remove it."
        ) from None
    return records


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


def draw(rows: Sequence[TradeoffRow], file: Path) -> None:
    """Draw feasibility, errors and distance against alpha, one line for each mechanism, as SVG."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    panels = {
        "feasible_percent": "share feasible, %",
        "leader_error_percent": "leader's error, %",
        "gas_error_percent": "gas market's error, %",
        "l1_distance_mwh": "L1 distance to the truth, MWh",
    }
    # The last two often lie on each other: the one beneath is broad.
    styles = {
        "laplace": ("#b4464b", "o", 1.5),
        "ppsm-p": ("#e5b567", "s", 5.0),
        "ppsm": ("#1f6fb2", "D", 1.5),
    }
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    FigureCanvasSVG(figure)
    for axes, (name, title) in zip(figure.subplots(2, 2).ravel(), panels.items(), strict=True):
        for mechanism, (colour, marker, width) in styles.items():
            points = [
                (row.alpha_mwh, getattr(row, name))
                for row in rows
                if row.mechanism == mechanism and getattr(row, name) is not None
            ]
            if points:
                axes.plot(
                    *zip(*points, strict=True),
                    color=colour,
                    marker=marker,
                    linewidth=width,
                    markersize=4.0 + width,
                    label=mechanism,
                )
        axes.set(xscale="log", xlabel="alpha, MWh", title=title)
        if name == "l1_distance_mwh":
            axes.set_yscale("log")
        axes.grid(alpha=0.3)
    figure.axes[0].legend()
    # Fixed ids and no date: equal rows give equal bytes.
    with mpl.rc_context({"svg.hashsalt": "ppsm"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
