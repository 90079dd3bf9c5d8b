"""Demand files as people have them are read; wrong ones are refused, and no number of theirs is quoted."""

import re
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from openpyxl import Workbook

from ppsm.cases import load_case, read_demand
from ppsm.cases.demand import demand_template
from ppsm.errors import FileFormatError, InputError

CASE = load_case("medium")
NAMES = CASE.delivery_ids
# Odd numbers, which no sentence holds by chance.
DEMAND = np.array([71.25, 72.5, 73.25, 74.5, 75.25, 76.5, 77.25][: len(NAMES)])


def table(*, head: str = "node,demand_mwh", factor: float = 1.0, unit: str = "") -> str:
    lines = [f"{name},{value * factor!r}{unit}" for name, value in zip(NAMES, DEMAND.tolist(), strict=True)]
    return "\n".join([head, *lines]) + "\n"


def european(text: str) -> str:
    return text.replace(",", ";").replace(".", ",")


GOOD = {
    "plain": table().encode(),
    "byte order mark": table().encode("utf-8-sig"),
    "UTF-16": table().encode("utf-16"),
    "semicolon and decimal comma": european(table()).encode(),
    "tabs": table().replace(",", "\t").encode(),
    "tabs and decimal comma": table().replace(",", "\t").replace(".", ",").encode(),
    "windows line ends": table().replace("\n", "\r\n").encode(),
    "GWh in the heading": table(head="Node,Demand [GWh]", factor=1e-3).encode(),
    "kWh in a column": table(head="node,demand,unit", factor=1e3, unit=",kWh").encode(),
    "remarks ahead": b"# of yesterday\n" + table().encode(),
    "empty lines ahead": b"\n,\n" + table().encode(),
    "empty columns": table().replace("\n", ",,\n").encode(),
    "empty columns beside semicolons": european(table()).replace("\n", ";;\n").encode(),
    "an empty column ahead": f",{table().rstrip()}".replace("\n", "\n,").encode(),
    "an empty column ahead of semicolons": european(f",{table().rstrip()}".replace("\n", "\n,")).encode(),
    "quotation marks": table(head='"node","demand_mwh"').replace("d1,", '"d1",').encode(),
    "quotation marks and semicolons": european(table(head='"node","demand_mwh"')).encode(),
    "old line ends": table().replace("\n", "\r").encode(),
}


@pytest.mark.parametrize("kind", list(GOOD))
def test_files_as_people_have_them_are_read(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "demand.csv"
    file.write_bytes(GOOD[kind])
    assert read_demand(file, CASE) == pytest.approx(DEMAND)


def test_a_unit_that_no_column_says_is_said_by_the_caller(tmp_path: Path) -> None:
    file = tmp_path / "demand.csv"
    file.write_text(table(head="node,demand", factor=1e-3))
    assert read_demand(file, CASE, unit="GWh") == pytest.approx(DEMAND)


def workbook(path: Path, *sheets: str) -> Path:
    book = Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        sheet.append(["node", "demand_mwh"])
        for node, value in zip(NAMES, DEMAND.tolist(), strict=True):
            sheet.append([node, value])
    book.save(path)
    return path


def test_sheets_of_workbooks_are_read(tmp_path: Path) -> None:
    assert read_demand(workbook(tmp_path / "one.xlsx", "today"), CASE) == pytest.approx(DEMAND)
    two = workbook(tmp_path / "two.xlsx", "today", "tomorrow")
    assert read_demand(two, CASE, sheet="tomorrow") == pytest.approx(DEMAND)
    with pytest.raises(InputError, match="has 2 sheets; expected one: say which"):
        read_demand(two, CASE)
    with pytest.raises(InputError, match="no sheet 'never'"):
        read_demand(two, CASE, sheet="never")


def test_a_missing_file_says_how_to_begin_one(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"there is no file .* fill in what 'ppsm case template medium' prints"
    ):
        read_demand(tmp_path / "none.csv", CASE)


def changed(old: str, new: str) -> bytes:
    assert old in table()
    return table().replace(old, new, 1).encode()


WRONG = {
    "is empty": b"",
    "has other columns": table(head="node,demand_gj").encode(),
    "expected a header with node and demand_mwh": "\n".join(table().splitlines()[1:]).encode(),
    "its node is no delivery of the case 'medium'": changed(NAMES[0] + ",", "d99,"),
    f"node '{NAMES[1]}' occurs twice": changed(NAMES[0] + ",", NAMES[1] + ","),
    f"node '{NAMES[0]}' of the case 'medium' has no row": changed(f"{NAMES[0]},71.25\n", ""),
    "is blank; expected a number": changed("71.25", ""),
    "is something else (withheld": changed("71.25", "n.a."),
    "expected a finite demand": changed("71.25", "nan"),
    "is below zero": changed("71.25", "-71.25"),
    "is above its public maximum": table(factor=1e3).encode(),
    "looks like another unit": table(factor=1e-3).encode(),
    "does not say the unit": table(head="node,demand").encode(),
    "its unit is something else": table(head="node,demand,unit", unit=",GJ").encode(),
    "two places say different units": table(head="node,demand_mwh,unit", unit=",kWh").encode(),
    "both a comma and a point": european(table()).replace("71,25", "1.071,25").encode(),
    "may mean 1.234 or 1234": b"node;demand_mwh\n" + "".join(f"{n};1,171\n" for n in NAMES).encode(),
    "cells under 2 headings; take out what is too much": changed("71.25", "71.25,7"),
    "1 cells under 2 headings; complete the row": changed(",71.25", ""),
    "not a table in UTF-8": table().replace("node", "nöde").encode("latin-1"),
    "is a workbook or archive": b"PK\x03\x04",
    "quotation marks that do not end": changed("71.25", '"71.25'),
    "node is empty": changed(NAMES[0] + ",", ","),
    "row 9: its node is no delivery": f"{table()}Total,520.25\n".encode(),
    "take out titles": b"Demand of today,\n" + table().encode(),
    "and further columns": table(head="node,demand_mwh,remark", unit=",71").encode(),
    "name them so in the first row": table(head=",0").encode(),
    "has other columns (withheld, they": f"node,{','.join(NAMES)}\nx,71,72,73,74,75,76,77\n".encode(),
    "save it as one ('CSV UTF-8' in Excel)": table().encode("utf-16-le"),
    "there are 0 cells under 2 headings; complete the row or remove it": table()
    .replace("\n", "\n\n")
    .encode(),
    "row 2: demand is something else": ("node,demand\n,MWh\n" + table().partition("\n")[2]).encode(),
    "row 2: demand_mwh is something else": "\n".join(
        ["node,demand_mwh", *(",".join(reversed(row.split(","))) for row in table().splitlines()[1:])]
    ).encode(),
    "row 9: node": (table() + table().splitlines()[1]).encode(),
}
WRONG_SHEETS: dict[str, list[list[object]]] = {
    "take out titles": [["Demand", None], ["node", "demand_mwh"], [NAMES[0], 71.25]],
    "row 2: demand is something else": [["node", "demand"], [None, "MWh"], [NAMES[0], 71.25]],
    "row 3: its node is no delivery": [["node", "demand_mwh"], [NAMES[0], 71.25], ["Total", 71.25]],
    "row 2: demand_mwh is something else": [["node", "demand_mwh"], [NAMES[0], True]],
    "blank; expected a number; for a formula, open and save the workbook in Excel first.": [
        ["node", "demand_mwh"],
        [NAMES[0], "=71+1"],
    ],
    "and further columns": [[None, "node", "demand_mwh"], [1, NAMES[0], 71.25]],
}
# More of what people put into cells; none is a number.
NO_NUMBERS = (
    "71.25 MWh",
    "(71.25)",
    "71.25%",
    "1 071.25",
    "0x47",
    "7_1.25",
    "True",
    "=70+1.25",
    "1.#QNAN",
    "'71.25",
)


@pytest.mark.parametrize("cell", NO_NUMBERS)
def test_cells_that_only_look_like_numbers_are_refused(cell: str, tmp_path: Path) -> None:
    file = tmp_path / "demand.csv"
    file.write_bytes(changed("71.25", cell))
    with pytest.raises(
        InputError, match=r"row 2: demand_mwh is something else .*expected a number"
    ) as refusal:
        read_demand(file, CASE)
    assert cell not in str(refusal.value)


@pytest.mark.parametrize("sentence", list(WRONG))
def test_wrong_files_are_refused_in_one_sentence_that_quotes_none_of_their_numbers(
    sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "demand.csv"
    file.write_bytes(WRONG[sentence])
    with pytest.raises(InputError) as refusal:
        read_demand(file, CASE)
    said = str(refusal.value).replace(str(tmp_path), "")
    assert sentence in said
    assert said.endswith(".")
    assert not any(text in said for text in ("71", "72.5", "73.25", "n.a.", "d99", "GJ", "nan"))


@pytest.mark.parametrize("sentence", list(WRONG_SHEETS))
def test_wrong_sheets_are_refused_in_one_sentence(sentence: str, tmp_path: Path) -> None:
    book = Workbook()
    for row in WRONG_SHEETS[sentence]:
        book.active.append(row)
    book.save(tmp_path / "demand.xlsx")
    with pytest.raises(InputError) as refusal:
        read_demand(tmp_path / "demand.xlsx", CASE)
    assert sentence in str(refusal.value)
    assert "71" not in str(refusal.value)


def hurt(path: Path, damage: Callable[[bytes], bytes]) -> Path:
    """A workbook whose only sheet is not as a spreadsheet program writes it."""
    whole = workbook(path.with_name(f"whole-{path.name}"), "today")
    with zipfile.ZipFile(whole) as read, zipfile.ZipFile(path, "w") as written:
        for name in read.namelist():
            content = read.read(name)
            written.writestr(name, damage(content) if name.endswith("sheet1.xml") else content)
    return path


@pytest.mark.parametrize(
    "damage",
    [
        lambda sheet: re.sub(rb'(<c r="B2"[^>]*><v>[^<]*)', rb"\1,7", sheet),
        lambda sheet: sheet.replace(b't="n"', b't="s"'),
        lambda sheet: sheet.replace(b't="n"', b't="d"'),
        lambda sheet: sheet[: len(sheet) // 2],
    ],
    ids=["no number", "no such text", "no day", "cut"],
)
def test_a_damaged_workbook_quotes_no_cell(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as refusal:
        read_demand(hurt(tmp_path / "hurt.xlsx", damage), CASE)
    assert "hurt.xlsx" in str(refusal.value)
    assert not any(text in str(refusal.value) for text in map(str, DEMAND.tolist()))


def test_numbers_that_look_like_dates_are_not_quoted(tmp_path: Path) -> None:
    """The reader warns of days beyond the calendar, and quotes them; warnings end up in logs."""
    book = Workbook()
    book.active.append(["node", "demand_kwh"])
    for node in NAMES:
        book.active.append([node, 41234567.0])
        book.active.cell(book.active.max_row, 2).number_format = "yyyy-mm-dd"
    book.save(tmp_path / "days.xlsx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FileFormatError, match="withheld, it may be a secret") as refusal:
            read_demand(tmp_path / "days.xlsx", CASE)
    assert "41234567" not in str(refusal.value)


@pytest.mark.parametrize("text", ["node,demand_mwh," + "7" * 140_000, "node,demand_mwh\nd1," + "7" * 140_000])
def test_a_cell_too_long_for_the_reader_ends_in_a_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(text)
    with pytest.raises(FileFormatError, match="a cell that is too long") as refusal:
        read_demand(tmp_path / "long.csv", CASE)
    assert "77" not in str(refusal.value)


def test_a_missing_file_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*demand.csv"):
        read_demand(tmp_path / "demand.csv", CASE)
    with pytest.raises(InputError, match=r"there is no file .*demand.xlsx"):
        read_demand(tmp_path / "demand.xlsx", CASE)


def test_a_template_lists_all_names_and_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    file = tmp_path / "demand.csv"
    file.write_text(demand_template(CASE))
    with pytest.raises(InputError, match="row 2: demand_mwh is blank"):
        read_demand(file, CASE)
    file.write_text(demand_template(CASE).replace(",\n", ",100\n"))
    assert read_demand(file, CASE).tolist() == [100.0] * len(NAMES)
