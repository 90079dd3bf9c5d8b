"""Rows summed up, and tables of the sums: pure functions of the rows."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace

import numpy as np

from ppsm.experiments.published import PublishedRow, published_row
from ppsm.experiments.row import FAILED, Cell, Row
from ppsm.experiments.variants import LEARNED, MEASURED, Variant

# Smaller numbers are rounding errors of the solvers; files keep them.
_ZERO = 1e-9
# How the headings of the paper's columns end.
PAPER = ", paper"
# What the leader's errors rest on.
_PROOFS = ("mean gap, %", "largest gap, %", "leader error where proven, %")
STATUSES = ("optimal", "incumbent", "infeasible", "no_incumbent", FAILED)
MECHANISM_TITLES = {
    "laplace": "Laplace",
    "ppsm-p": "PPSM_p",
    "ppsm": "PPSM",
    MEASURED: "PPSM measured",
    LEARNED: "PPSM learned",
}
# Of the cells of a summary: long for a page, short for a terminal.
HEADINGS = {
    "alpha, MWh": "alpha",
    "mechanism": "mechanism",
    "draws": "draws",
    "feasible, %": "feasible",
    "L1 distance, MWh": "L1 MWh",
    "leader's error, %": "leader %",
    "electricity market's error, %": "power %",
    "gas market's error, %": "gas %",
    "largest MIP gap, %": "gap %",
}


@dataclass(frozen=True)
class Summary:
    """What one mechanism does at one alpha: means over the runs in which the game could be cleared.

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

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Summary":
        """What rows of one mechanism at one alpha say; one that failed counts as not cleared."""
        cleared = [row for row in rows if row.feasible]
        gaps = [gap for row in cleared for gap in row.gaps]
        return cls(
            mechanism=rows[0].mechanism,
            alpha_mwh=rows[0].alpha,
            runs=len(rows),
            feasible_percent=100.0 * len(cleared) / len(rows),
            l1_distance_mwh=_mean(row.l1_released for row in rows),
            leader_error_percent=_mean(row.absolute_error("leader") for row in cleared),
            electricity_error_percent=_mean(row.absolute_error("electricity") for row in cleared),
            gas_error_percent=_mean(row.absolute_error("gas") for row in cleared),
            gap_percent=100.0 * max(gaps) if gaps else None,
            widened_percent=_percent(row.widening > 1.0 for row in rows if row.widening is not None),
        )

    @property
    def cells(self) -> list[str]:
        """The summary as text, in the order of :data:`HEADINGS`."""

        def text(value: float | None, digits: int = 3) -> str:
            return "-" if value is None else f"{value:,.{digits}f}"

        return [
            f"{self.alpha_mwh:g}",
            MECHANISM_TITLES[self.mechanism],
            str(self.runs),
            text(self.feasible_percent, 0),
            text(self.l1_distance_mwh, 0),
            text(self.leader_error_percent),
            text(self.electricity_error_percent),
            text(self.gas_error_percent),
            text(self.gap_percent),
        ]


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """One summary for each alpha and mechanism, in the order of both."""
    groups: dict[tuple[float, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.alpha, row.mechanism), []).append(row)
    order = sorted(groups, key=lambda key: (key[0], Variant.named(key[1]).rank))
    return [Summary.of(groups[key]) for key in order]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _percent(values: Iterable[bool]) -> float | None:
    known = list(values)
    return 100.0 * float(np.mean(known)) if known else None


@dataclass(frozen=True)
class Table:
    """Headings and lines; None is an empty field."""

    name: str
    title: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str | float | int | None, ...], ...]

    def as_read(self) -> "Table":
        """The table for people: without the paper's columns where the paper has nothing to compare with."""
        kept = [
            k
            for k, heading in enumerate(self.headings)
            if not heading.endswith(PAPER) or any(line[k] is not None for line in self.lines)
        ]
        headings = tuple(self.headings[k] for k in kept)
        lines = tuple(tuple(line[k] for k in kept) for line in self.lines)
        return replace(self, headings=headings, lines=lines)


def grouped(rows: Iterable[Row]) -> dict[tuple[str, float, float | None], list[Row]]:
    """Rows by mechanism, alpha and eta, in that order; Laplace has no eta."""
    groups: dict[tuple[str, float, float | None], list[Row]] = {}
    for row in rows:
        eta = row.eta_p if Variant.named(row.mechanism).has_bands else None
        groups.setdefault((row.mechanism, row.alpha, eta), []).append(row)
    order = sorted(groups, key=lambda key: (Variant.named(key[0]).rank, key[1], key[2] or 0.0))
    return {key: groups[key] for key in order}


def least_eta(rows: Sequence[Row]) -> list[Row]:
    """The rows at the narrowest bands, which Table 1 and Figure 3 show; those without bands stay."""
    banded = [row.eta_p for row in rows if Variant.named(row.mechanism).has_bands]
    least = min(banded, default=None)
    return [row for row in rows if row.eta_p == least or not Variant.named(row.mechanism).has_bands]


def largest_alpha(rows: Sequence[Row]) -> list[Row]:
    """The rows at the largest alpha, which Table 2 shows."""
    largest = max(row.alpha for row in rows)
    return [row for row in rows if row.alpha == largest]


def table1(rows: Sequence[Row]) -> Table:
    """Feasible share, distance and errors by mechanism and alpha, ours beside the paper's."""
    names = ("feasible", "L1", "leader error", "electricity error", "gas error")
    headings = ["mechanism", "alpha, 10² MWh", "runs"]
    for name, unit in zip(names, ("%", "10² MWh", "%", "%", "%"), strict=True):
        headings += [f"{name}, {unit}", f"{name}, paper"]
    lines = []
    for (mechanism, alpha, eta), group in grouped(least_eta(rows)).items():
        ours = Summary.of(group)
        theirs = published_row("table1", group[0].case, mechanism, alpha, eta)
        distance = None if ours.l1_distance_mwh is None else ours.l1_distance_mwh / 100.0
        both = [
            (ours.feasible_percent, None if theirs is None else theirs.feasible_percent),
            (distance, None if theirs is None else theirs.l1_hundred_mwh),
            *_errors_of_both(ours, theirs),
        ]
        line = [number for column in both for number in column]
        lines.append((mechanism, alpha / 100.0, ours.runs, *line, *_proofs(ours, group)))
    return Table(
        "table1",
        "Table 1: feasible instances, distance and errors by alpha",
        (*headings, *_PROOFS),
        tuple(lines),
    )


def table2(rows: Sequence[Row]) -> Table:
    """Errors by mechanism and eta at the largest alpha, ours beside the paper's."""
    lines = []
    for (mechanism, alpha, eta), group in grouped(largest_alpha(rows)).items():
        ours = Summary.of(group)
        theirs = published_row("table2", group[0].case, mechanism, alpha, eta)
        errors = [number for column in _errors_of_both(ours, theirs) for number in column]
        percent = None if eta is None else 100.0 * eta
        lines.append((mechanism, percent, ours.runs, ours.feasible_percent, *errors, *_proofs(ours, group)))
    return Table(
        "table2",
        f"Table 2: errors by eta at alpha = {largest_alpha(rows)[0].alpha / 100.0:g} x 10² MWh",
        (
            *("mechanism", "eta, %", "runs", "feasible, %"),
            *("leader error, %", "leader error, paper", "electricity error, %", "electricity error, paper"),
            *("gas error, %", "gas error, paper", *_PROOFS),
        ),
        tuple(lines),
    )


def _errors_of_both(ours: Summary, theirs: PublishedRow | None) -> list[tuple[float | None, float | None]]:
    names = ("leader_error_percent", "electricity_error_percent", "gas_error_percent")
    return [(getattr(ours, name), getattr(theirs, name, None)) for name in names]


def _proofs(ours: Summary, rows: Sequence[Row]) -> tuple[float | None, ...]:
    return _mean_gap(rows), ours.gap_percent, _proven_error(rows)


def _proven_error(rows: Sequence[Row]) -> float | None:
    """The leader's error over the runs that were proven: what an open gap may add is left out."""
    proven = [row for row in rows if row.status == row.original_status == "optimal"]
    return _mean(row.absolute_error("leader") for row in proven)


def _mean_gap(rows: Sequence[Row]) -> float | None:
    """How far the two costs behind an error may be from their optima, on average, in per cent."""
    cleared = [row for row in rows if row.feasible]
    gap = _mean(gap for row in cleared for gap in row.gaps)
    return None if gap is None else 100.0 * gap


def status_table(rows: Sequence[Row]) -> Table:
    """Every instance by how it ended, and how step 3b did: nothing is left out."""
    lines = []
    for (mechanism, alpha, eta), group in grouped(rows).items():
        counts = Counter(row.status for row in group)
        restored = [row for row in group if row.fidelity_status is not None]
        open_ = sum(row.fidelity_status != "optimal" for row in restored)
        percent = None if eta is None else 100.0 * eta
        line = (mechanism, alpha / 100.0, percent, *(counts[status] for status in STATUSES))
        lines.append((*line, open_ if restored else None, Summary.of(group).widened_percent))
    return Table(
        "status",
        "How the instances ended",
        ("mechanism", "alpha, 10² MWh", "eta, %", "proven", "best found", "infeasible", "none found in time",
         "failed", "step 3b not proven", "bands widened, %"),
        tuple(lines),
    )  # fmt: skip


def time_table(rows: Sequence[Row]) -> Table:
    """CPU seconds by phase, and how often unit commitment had to be solved.

    Step 2b stands with the instance that solved it; the others of its cell and repetition use it again.
    """
    lines = []
    for (mechanism, alpha, eta), group in grouped(rows).items():
        phases = ((row.cpu_2b, row.cpu_3b, row.cpu_release, row.cpu_clear) for row in group)
        means = [_mean(column) for column in zip(*phases, strict=True)]
        total = [row.cpu_seconds for row in group if row.cpu_seconds is not None]
        percent = None if eta is None else 100.0 * eta
        share = _percent(row.commitments_solved == 0 for row in group if row.commitments_solved is not None)
        lines.append((mechanism, alpha / 100.0, percent, *means, max(total, default=None), share))
    return Table(
        "time",
        "CPU seconds per instance, means by phase; step 2b counts where a cell and repetition first needs it",
        ("mechanism", "alpha, 10² MWh", "eta, %", "step 2b, s", "step 3b, s", "steps 1-3, s", "clearing, s",
         "largest total, s", "no commitment solved, %"),
        tuple(lines),
    )  # fmt: skip


def cell_tables(rows: Sequence[Row]) -> list[Table]:
    """One table for each stress cell."""
    cells = sorted({row.cell for row in rows})
    return [_cell_table(cell, [row for row in rows if row.cell == cell]) for cell in cells]


def gas_words(gas_stress: float | None) -> str:
    """A gas stress in words."""
    return "demand of its own" if gas_stress is None else f"+{100 * gas_stress:g}%"


def _cell_table(cell: Cell, rows: Sequence[Row]) -> Table:
    lines = []
    for (mechanism, alpha, eta), group in grouped(rows).items():
        percent = None if eta is None else 100.0 * eta
        # after mechanism and alpha, which stand before eta
        lines.append((mechanism, alpha, percent, *astuple(Summary.of(group))[2:]))
    costs = [row.original_leader_cost for row in rows if row.original_leader_cost is not None]
    cost = f"; original cost {costs[0] / 1e6:,.3f} M$" if costs else ""
    return Table(
        f"cell-p{100 * cell[0]:g}-g{'own' if cell[1] is None else f'{100 * cell[1]:g}'}",
        f"Power +{100 * cell[0]:g}%, gas {gas_words(cell[1])}{cost}",
        ("mechanism", "alpha, MWh", "eta, %", "runs", "feasible, %", "L1, MWh", "leader error, %",
         "electricity error, %", "gas error, %", "largest gap, %", "bands widened, %"),
        tuple(lines),
    )  # fmt: skip


def summary_table(summaries: Sequence[Summary]) -> Table:
    """The summaries under the names of their fields."""
    names = tuple(field.name for field in fields(Summary))
    return Table("summary", "Mechanisms by alpha", names, tuple(map(astuple, summaries)))


def as_csv(table: Table) -> str:
    """The table with all its digits."""
    lines = [_csv_line(table.headings), *map(_csv_line, table.lines)]
    return "\n".join(lines) + "\n"


def _csv_line(values: Sequence[str | float | int | None]) -> str:
    texts = ("" if value is None else str(value) for value in values)
    return ",".join(f'"{text}"' if "," in text else text for text in texts)


def shown(value: str | float | int | None) -> str:
    """A value as people read it: four digits, a dash where there is none."""
    if value is None:
        return "-"
    if isinstance(value, str | int):
        return str(value)
    if abs(value) < _ZERO:
        return "0"
    if abs(value) >= 1e-4:
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:.1e}"


def as_markdown(table: Table, heading: Callable[[str], str] = "## {}".format) -> str:
    """The table as Markdown."""
    table = table.as_read()
    rule = ["---", *["---:"] * (len(table.headings) - 1)]
    body = [[shown(value) for value in line] for line in table.lines]
    text = "\n".join("| " + " | ".join(line) + " |" for line in [list(table.headings), rule, *body])
    return f"{heading(table.title)}\n\n{text}\n"
