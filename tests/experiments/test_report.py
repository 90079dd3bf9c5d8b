"""Reports: every figure from the rows alone, checked on rows whose means are known."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ppsm.cli import app
from ppsm.experiments import RowStore, write_report
from ppsm.experiments.charts import stress_chart
from ppsm.experiments.panels import distributions, stress_heatmaps
from ppsm.experiments.report import notes_on
from ppsm.experiments.summaries import (
    as_csv,
    as_markdown,
    cell_tables,
    least_eta,
    status_table,
    table1,
    table2,
)
from tests.experiments.small import a_failed_row as failed
from tests.experiments.small import a_row as row

ROWS = [
    row(),
    row(repetition=1, error_leader_percent=-0.04, l1_released=500.0, widening=2.0),
    row(repetition=2, feasible=False, status="infeasible", error_leader_percent=None),
    failed(repetition=3),
    row(mechanism="laplace", feasible=False, status="no_incumbent", widening=None, fidelity_status=None),
    row(mechanism="laplace", gas_stress=0.3, error_leader_percent=5.0, widening=None, fidelity_status=None),
    row(mechanism="ppsm", alpha=1000.0, eta_p=0.1),
]


def line(table: Any, *start: object) -> dict[str, Any]:
    (found,) = (each for each in table.lines if each[: len(start)] == start)
    return dict(zip(table.headings, found, strict=True))


def test_table_1_has_our_means_beside_the_papers_figures() -> None:
    ours = line(table1(ROWS), "ppsm", 0.1)
    assert ours["runs"] == 4
    assert ours["feasible, %"] == 50.0
    assert ours["feasible, paper"] == 99.10
    assert ours["leader error, %"] == pytest.approx(0.03)
    assert ours["leader error, paper"] == 0.0192
    assert ours["L1, 10² MWh"] == pytest.approx((3 + 5 + 3) / 3)
    assert ours["L1, paper"] == 3.89
    assert ours["largest gap, %"] == pytest.approx(0.02)


def test_what_an_open_gap_adds_is_left_out_of_the_proven_error() -> None:
    unproven = row(repetition=4, status="incumbent", error_leader_percent=0.9, released_gap=0.01)
    ours = line(table1([*ROWS, unproven]), "ppsm", 0.1)
    assert ours["leader error, %"] == pytest.approx(0.32)
    assert ours["leader error where proven, %"] == pytest.approx(0.03)


def test_the_papers_figures_stand_beside_its_case_and_mechanisms_only() -> None:
    assert line(table1([row(case="medium")]), "ppsm")["L1, paper"] is None
    assert line(table1([row(mechanism="ppsm+prior")]), "ppsm+prior")["L1, paper"] is None
    assert line(table1([row(eta_p=0.01)]), "ppsm")["L1, paper"] is None


def test_people_do_not_read_empty_columns() -> None:
    elsewhere, here = (as_markdown(table1([row(case=case)])) for case in ("medium", "northeast"))
    assert "paper" in here
    assert "paper" not in elsewhere
    assert "leader error, %" in elsewhere


def test_table_2_is_at_the_largest_alpha() -> None:
    table = table2(ROWS)
    assert len(table.lines) == 1
    assert line(table, "ppsm", 10.0)["leader error, paper"] == 0.2086


def test_every_instance_is_accounted_for() -> None:
    table = status_table(ROWS)
    counts = ("proven", "best found", "infeasible", "none found in time", "failed")
    places = [table.headings.index(name) for name in counts]
    total = sum(int(each[place] or 0) for each in table.lines for place in places)
    assert total == len(ROWS)
    assert line(table, "ppsm", 0.1)["failed"] == 1
    assert line(table, "ppsm", 0.1)["bands widened, %"] == pytest.approx(100 / 3)


def test_a_cell_without_a_cleared_run_is_grey() -> None:
    figure = stress_heatmaps(ROWS)
    panel = next(axes for axes in figure.axes if axes.get_title().startswith("laplace, alpha = 0.1"))
    shown: Any = panel.images[0].get_array()
    assert np.ma.getmaskarray(shown).tolist() == [[True, False]]
    assert shown[0, 1] == pytest.approx(5.0)
    assert len(distributions(ROWS).axes) == 6


def test_heatmaps_show_whose_error_they_say() -> None:
    cleared = [each for each in ROWS if each.mechanism == "laplace" and each.feasible]
    for whose in ("leader", "gas"):
        panel = next(
            axes for axes in stress_heatmaps(ROWS, whose).axes if axes.get_title().startswith("laplace")
        )
        shown: Any = panel.images[0].get_array()
        assert shown.compressed()[0] == pytest.approx(cleared[0].absolute_error(whose))


def test_colours_are_for_the_range_that_errors_are_in() -> None:
    image = next(axes.images[0] for axes in stress_heatmaps(ROWS, "gas").axes if axes.images)
    scale: Any = image.norm
    assert scale.linthresh == pytest.approx(0.01)  # all gas errors are 0.06
    assert scale.vmin == 0.0


def test_tables_in_csv_keep_all_digits() -> None:
    text = as_csv(table1(ROWS))
    assert repr((3 + 5 + 3) / 3 * 100 / 100)[:12] in text
    assert "| ppsm | 0.1 | 4 | 50 | 99.1 |" in as_markdown(table1(ROWS))


def test_a_report_is_complete_and_a_function_of_the_rows(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        directory.mkdir()
        write_report(ROWS, directory)
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    for name in names:
        if not name.endswith(".png"):
            assert (one / name).read_bytes() == (two / name).read_bytes(), name
    assert {"report.html", "report.md", "figure3.svg", "figure3.png", "table1.csv", "table2.csv"} <= set(
        names
    )
    page = (one / "report.html").read_text()
    ours = re.sub(r"<script>.*?</script>", "", page, count=1, flags=re.DOTALL)  # the drawing library
    assert "http" not in ours  # self-contained
    assert "out of &lt;memory&gt;" in page
    assert page.count('<details id="cell-') == len(cell_tables(ROWS)) == 2
    assert "cells/cell-p30-g10.md" in (one / "report.md").read_text()


def test_options_of_mechanisms_are_explained() -> None:
    rows = [row(), row(mechanism="ppsm+l1"), row(mechanism="ppsm+prior5")]
    (told,) = (note for note in notes_on(rows, [table1(rows)]) if "'+l1'" in note)
    assert "'+prior'" in told
    assert "'+learned'" not in told


def test_rows_that_failed_spoil_nothing(tmp_path: Path) -> None:
    alone, mixed = RowStore(tmp_path / "alone"), RowStore(tmp_path / "mixed")
    for store, rows in ((alone, [failed()]), (mixed, [failed(), row(repetition=1)])):
        store.directory.mkdir()
        store.append(rows)
        assert CliRunner().invoke(app, ["report", str(store.directory)]).exit_code == 0
    assert mixed.rows() == [failed(), row(repetition=1)]
    assert alone.rows()[0].seed == failed().seed  # to be run again by hand


def test_rows_without_bands_do_not_say_which_are_narrow() -> None:
    plain = row(mechanism="laplace", eta_p=0.001)
    assert {each.mechanism for each in least_eta([plain, row(eta_p=0.01)])} == {"laplace", "ppsm"}


def test_every_column_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "experiments.md"
    names = re.findall(r"`([a-z0-9_*]+)`", page.read_text().split("## Rows")[1].split("Seeds derive")[0])
    missing = [name for name in failed().to_dict() if not any(fnmatch(name, each) for each in names)]
    assert not missing


def test_the_command_reads_a_directory(tmp_path: Path) -> None:
    RowStore(tmp_path).append(ROWS)
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert f"making tables and figures of {len(ROWS)} rows" in done.stderr
    assert (tmp_path / "report" / "report.html").exists()
    keys = [each.key for each in ROWS]
    RowStore(tmp_path).note_grid("table9", [*keys, (*keys[0][:-1], 7.0)])
    RowStore(tmp_path).note_grid("table8", keys)
    stopped = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert "1 of table9 missing" in stopped.output
    for name in ("report.md", "report.html"):
        page = (tmp_path / "report" / name).read_text()
        assert f"Not complete: 1 of the {len(keys) + 1} instances of table9" in page
        assert "table8" not in page
    empty = CliRunner().invoke(app, ["report", str(tmp_path / "none")])
    assert "there are no rows" in str(empty.exception)


@pytest.mark.parametrize(
    ("error", "ticks"), [(0.0, [0.0, 0.01]), (0.05, [0.0, 0.01]), (5.0, [0.0, 0.01, 0.1, 1.0])]
)
def test_the_scale_of_a_chart_has_no_labels_beside_it(error: float, ticks: list[float]) -> None:
    cells, runs = stress_chart([row(error_leader_percent=error)]).to_dict()["vconcat"]
    colour = cells["spec"]["encoding"]["color"]["condition"]
    assert colour["legend"]["values"] == runs["encoding"]["x"]["axis"]["values"] == ticks
    assert colour["scale"]["domain"] == runs["encoding"]["x"]["scale"]["domain"] == [0.0, max(error, 0.01)]
