from pathlib import Path

import pytest

from ppsm.cases.matlab import MatlabFile, Scalar, parse_matlab
from ppsm.errors import FileFormatError


def parse(text: str) -> MatlabFile:
    return parse_matlab(text, Path("file.m"))


def test_numbers_strings_and_tables() -> None:
    file = parse("a.x = 1.5e3; a.name = 'it''s'; a.t = [1 -2; +3, Inf];\na.c = {'u', \"v w\"}")
    assert file.number("x") == 1500
    assert file.text("name") == "it's"
    table = file.table("t")
    assert table is not None
    assert [row.cells for row in table.rows] == [(1.0, -2.0), (3.0, float("inf"))]
    cells = file.table("c")
    assert cells is not None
    assert cells.rows[0].cells == ("u", "v w")


def test_rows_end_at_newlines_and_know_their_line() -> None:
    table = parse("m.a = 1;\nm.t = [\n1 2 % first\n\n3 ...\n4\n];").table("t")
    assert table is not None
    assert [(row.line, row.cells) for row in table.rows] == [(3, (1.0, 2.0)), (5, (3.0, 4.0))]


def test_column_names_belong_to_the_next_table_only() -> None:
    file = parse("%column_names% a b\nm.s = [1 2];\n% id name\nm.t = [3 4];")
    first, second = file.table("s"), file.table("t")
    assert first is not None
    assert second is not None
    assert first.columns == ("a", "b")
    assert second.columns == ()
    assert second.heading == ("id", "name")


def test_block_comments_and_the_function_line_are_skipped() -> None:
    file = parse("function m = 'odd.json'\n%{\nm.a = 1;\n%}\nm.b = 2;\nend\n")
    assert file.fields == {"b": Scalar(5, 2.0)}


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("m.a = 1;\nm.t = [\n1 2\n3", 4, "ends inside 'm.t', which opened with '[' on line 2"),
        ("m.t = [1 2\nm.b = 3;", 2, "is the closing ']' missing"),
        ("m.a = ;", 1, "missing or a formula"),
        ("m.a = 2*3;", 1, "cannot read"),
        ("m.t = [5-3];", 1, "cannot read"),
        ("m.a(1) = 2;", 1, "cannot read"),
        ("m.a + 2", 1, "cannot read"),
        ("m.a m.b", 1, "not followed by '='"),
        ("m.a = 1;\nm.a = 2;", 2, "assigned twice"),
        ("m.a = 'open", 1, "cannot read"),
        ("%{\nnever closed", 1, "has no closing"),
        ("", 1, "no assignment"),
        ("% only a comment", 1, "no assignment"),
        ("1 2 3", 1, "expected an assignment"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str, line: int, part: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"file.m, line {line}: ")
    assert part in str(caught.value)


def test_a_value_of_the_wrong_kind_is_refused() -> None:
    file = parse("m.a = 'x'; m.t = [1]; m.n = 1;")
    with pytest.raises(FileFormatError, match="'a' is not a number"):
        file.number("a")
    with pytest.raises(FileFormatError, match="'n' is a single value"):
        file.table("n")
    with pytest.raises(FileFormatError, match="'t' is not a string"):
        file.text("t")
