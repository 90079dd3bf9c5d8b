"""Tables of days are read as demand files are; wrong ones are refused, and no number of theirs is quoted."""

from datetime import date, datetime
from pathlib import Path

import numpy as np
import pytest
from openpyxl import Workbook

from ppsm.cases import load_case
from ppsm.cases.demand import read_demand_days
from ppsm.errors import InputError

CASE = load_case("medium")
NAMES = CASE.delivery_ids
FIGURES = np.arange(1.0, 1.0 + 2 * len(NAMES)).reshape(2, -1) + 0.25
DAYS = ("2026-01-02", "2026-01-01")


def table(mark: str = ",", unit: str = "_mwh", decimal: str = ".", names: tuple[str, ...] = NAMES) -> str:
    lines = [mark.join(["day", *(f"{name}{unit}" for name in names)])]
    for day, figures in zip(DAYS, FIGURES, strict=True):
        lines.append(mark.join([day, *(f"{each:.2f}".replace(".", decimal) for each in figures)]))
    return "\n".join(lines) + "\n"


def _check(found: dict[date, np.ndarray], factor: float = 1.0) -> None:
    assert list(found) == [date(2026, 1, 1), date(2026, 1, 2)]
    np.testing.assert_allclose(np.array(list(found.values())), factor * FIGURES[::-1])


@pytest.mark.parametrize(
    ("text", "unit", "factor"),
    [
        (table(), None, 1.0),
        (table(";", " [GWh]", ","), None, 1e3),
        (table("\t", "", "."), "kWh", 1e-3),
        (table(unit="").replace("day", "unit,day").replace("2026", "GWh,2026"), None, 1e3),
    ],
)
def test_tables_as_people_have_them(tmp_path: Path, text: str, unit: str | None, factor: float) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "days.csv").write_text(text, encoding=encoding)
        _check(read_demand_days(tmp_path / "days.csv", CASE, unit=unit), factor)


def test_columns_come_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text(table(names=NAMES[::-1]))
    found = read_demand_days(tmp_path / "days.csv", CASE)
    np.testing.assert_allclose(found[date(2026, 1, 2)], FIGURES[0][::-1])


def test_a_workbook(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["day", *(f"{name}_mwh" for name in NAMES)])
    for day, figures in zip(DAYS, FIGURES, strict=True):
        sheet.append([datetime.fromisoformat(day), *map(float, figures)])
    book.save(tmp_path / "days.xlsx")
    _check(read_demand_days(tmp_path / "days.xlsx", CASE))


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("2026-01-01", "2026-01-02", "row 3: 2026-01-02 occurs twice"),
        ("2026-01-01", "20260101", "row 3: its day is something else (withheld); expected YYYY-MM-DD"),
        ("2026-01-01", "31.12.2026", "row 3: its day is something else"),
        ("2026-01-01", "", "row 3: its day is something else"),
        (f"{NAMES[0]}_mwh", "d777_mwh", f"column 2 is no delivery of the case '{CASE.name}'"),
        (f"{NAMES[1]}_mwh", f"{NAMES[0]}_gwh", f"'{NAMES[0]}' has two columns"),
        (f",{NAMES[-1]}_mwh", "", "cells under"),
        (f"{NAMES[0]}_mwh", NAMES[0], "does not say the unit"),
        ("day", "date", "has other columns (withheld"),
        (",1.25,", ",-1.25,", f"row 2: the demand of '{NAMES[0]}' is below zero"),
        (",1.25,", ",nan,", f"row 2: the demand of '{NAMES[0]}' is something else (withheld"),
        (",1.25,", ",,", f"row 2: the demand of '{NAMES[0]}' is blank"),
        (",1.25,", ",x777,", f"row 2: the demand of '{NAMES[0]}' is something else (withheld"),
        (",1.25,", ",", "cells under"),
    ],
)
def test_wrong_tables_are_named_and_not_quoted(tmp_path: Path, old: str, new: str, part: str) -> None:
    text = table()
    assert old in text
    (tmp_path / "days.csv").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_demand_days(tmp_path / "days.csv", CASE)
    said = str(caught.value)
    assert part in said
    assert "\n" not in said
    assert not any(secret in said for secret in ("777", "1.25", "31.12"))


def test_a_delivery_without_a_column_and_a_table_without_days(tmp_path: Path) -> None:
    lines = [line.rsplit(",", 1)[0] for line in table().splitlines()]
    (tmp_path / "days.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=f"'{NAMES[-1]}' of the case 'medium' has no column; add it"):
        read_demand_days(tmp_path / "days.csv", CASE)
    (tmp_path / "days.csv").write_text(table().splitlines()[0])
    with pytest.raises(InputError, match="has no days"):
        read_demand_days(tmp_path / "days.csv", CASE)


def test_two_places_that_differ_on_the_unit(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text(table())
    with pytest.raises(InputError, match="two places say different units"):
        read_demand_days(tmp_path / "days.csv", CASE, unit="GWh")
