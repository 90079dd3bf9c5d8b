"""The report of an experiment: a pure function of its rows, in Markdown, CSV, SVG, PNG and one HTML page."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from matplotlib.figure import Figure

from ppsm.experiments.charts import stress_chart
from ppsm.experiments.pages import render_page
from ppsm.experiments.panels import distributions, stress_heatmaps
from ppsm.experiments.published import CITATION
from ppsm.experiments.row import Row
from ppsm.experiments.story import experiment
from ppsm.experiments.summaries import (
    PAPER,
    Table,
    as_csv,
    as_markdown,
    cell_tables,
    gas_words,
    status_table,
    table1,
    table2,
    time_table,
)
from ppsm.experiments.variants import PRIOR_SPREAD, Variant
from ppsm.figures.embed import embedded
from ppsm.figures.style import save_figure
from ppsm.files import write_atomically

_FIGURES: dict[str, tuple[Callable[[Sequence[Row]], Figure], str]] = {
    "figure3": (
        stress_heatmaps,
        "Figure 3: the leader's error by power and gas stress, for each of the paper's mechanisms and each "
        "alpha; grey where no run could be cleared.",
    ),
    "figure3-gas": (
        partial(stress_heatmaps, whose="gas"),
        "The same for the gas market's error.",
    ),
    "distributions": (
        distributions,
        "Errors, distance, time and gaps by mechanism and alpha; boxes are quartiles, whiskers 1.5 times the "
        "box.",
    ),
}
_WHOSE = {"leader": "the leader's cost", "gas": "the gas market's cost"}
_NOTE = (
    "Errors are means of absolute differences to the original game, over the runs in which the game could be "
    "cleared; distances are over all runs. Runs are paired: all mechanisms see the same noise, and all rows "
    "of a stress cell are compared with the same original. The largest gap is that of the games behind the "
    "errors; errors below it are meaningful as paired differences only, and where it is larger than what "
    "counts as proven, part of the error may be the gap: the last column leaves such runs out."
)
_PAPER_NOTE = f"The paper's columns are those of {CITATION}."
_OPTION_NOTES = {
    "prior": f"'+prior' adds public knowledge of each entry up to {PRIOR_SPREAD:.0%}, or as it says.",
    "l1": "'+l1' restores with the L1 distance in place of the paper's L2.",
    "measured": "'+measured' publishes nothing: a part of epsilon measures totals, the market's public model "
    "predicts.",
    "model": "'+model' predicts with the market's public model in place of published outcomes.",
    "learned": "'+learned' predicts with a regression on an invented public past of the market.",
}


def write_report(
    rows: Sequence[Row], directory: Path, missing: Mapping[str, tuple[int, int]] = MappingProxyType({})
) -> None:
    """Write all tables and figures of some rows; equal rows give equal files.

    ``missing`` says of how many instances of a grid there is no row (:meth:`RowStore.missing`).
    """
    tables = [table1(rows), table2(rows), status_table(rows), time_table(rows)]
    cells = cell_tables(rows)
    for table in tables:
        write_atomically(directory / f"{table.name}.csv", as_csv(table))
    pages = directory / "cells"
    pages.mkdir(exist_ok=True)
    for table in cells:
        write_atomically(pages / f"{table.name}.csv", as_csv(table))
        write_atomically(pages / f"{table.name}.md", as_markdown(table, "# {}".format))
    for name, (draw, _) in _FIGURES.items():
        figure = draw(rows)
        for ending in ("svg", "png"):
            save_figure(figure, directory / f"{name}.{ending}")
    notes = [*_missing_notes(missing), _facts(rows), *notes_on(rows, tables)]
    write_atomically(directory / "report.md", _markdown(rows, notes, tables, cells))
    write_atomically(directory / "report.html", _html(rows, notes, tables, cells))


def _missing_notes(missing: Mapping[str, tuple[int, int]]) -> list[str]:
    return [
        f"Not complete: {count:,} of the {total:,} instances of {grid} have no row yet; the run goes on or "
        "was stopped, and the same command finishes it."
        for grid, (count, total) in missing.items()
    ]


def _title(rows: Sequence[Row]) -> str:
    return f"Experiment on the case '{rows[0].case}'"


def _facts(rows: Sequence[Row]) -> str:
    cells = {row.cell for row in rows}
    cpu = sum(row.cpu_seconds for row in rows if row.cpu_seconds is not None)
    versions = sorted({_version(row) for row in rows})
    return (
        f"{_count(len(rows), 'instance')} in {_count(len(cells), 'stress cell')}, "
        f"{_count(len({row.repetition for row in rows}), 'repetition')}; {_duration(cpu)} of CPU time "
        f"({cpu / len(rows):.2f} s per instance), the original games not counted. "
        f"Made with {'; '.join(versions)}."
    )


def _version(row: Row) -> str:
    """Which code made a row; rows of one number may come from different states of it."""
    return f"ppsm {row.package_version} (source {row.source_digest}), {row.solvers}"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds < 3600 else f"{seconds / 3600:.2f} hours"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def notes_on(rows: Sequence[Row], tables: Sequence[Table]) -> list[str]:
    """What a reader of these tables must know."""
    notes = [_NOTE]
    if any(heading.endswith(PAPER) for table in tables for heading in table.as_read().headings):
        notes.append(_PAPER_NOTE)
    options = {option for name in {row.mechanism for row in rows} for option in Variant.named(name).kinds}
    told = [note for option, note in _OPTION_NOTES.items() if option in options]
    if told:
        notes.append(" ".join([*told, "The paper has no such rows."]))
    return notes


def _failures(rows: Sequence[Row]) -> list[str]:
    return [
        f"+{row.power_stress:.0%} / {gas_words(row.gas_stress)}, {row.mechanism}, alpha {row.alpha:g} "
        f"MWh, eta {row.eta_p:.1%}, repetition {row.repetition}: {row.message}"
        for row in rows
        if row.failed
    ]


def _markdown(
    rows: Sequence[Row], notes: Sequence[str], tables: Sequence[Table], cells: Sequence[Table]
) -> str:
    parts = [f"# {_title(rows)}\n", *(f"{note}\n" for note in notes)]
    parts += [as_markdown(table) for table in tables]
    parts += [f"![{caption}]({name}.svg)\n\n{caption}\n" for name, (_, caption) in _FIGURES.items()]
    parts += [
        "## Stress cells\n",
        "\n".join(f"- [{cell.title}](cells/{cell.name}.md)" for cell in cells) + "\n",
    ]
    if failures := _failures(rows):
        parts += ["## Failed instances\n", "\n".join(f"- {text}" for text in failures) + "\n"]
    return "\n".join(parts)


def _html(
    rows: Sequence[Row],
    notes: Sequence[str],
    tables: Sequence[Table],
    cells: Sequence[Table],
) -> str:
    figures = [
        embedded(stress_chart(rows, whose), f"{whose}-cells", f"Error of {owner} by stress cell, and runs")
        for whose, owner in _WHOSE.items()
    ]
    return render_page(
        "report.html",
        title=_title(rows),
        story=experiment(rows),
        notes=notes,
        tables=[table.as_read() for table in tables],
        figures=list(zip(_WHOSE.values(), figures, strict=True)),
        cells=cells,
        failures=_failures(rows),
    )
