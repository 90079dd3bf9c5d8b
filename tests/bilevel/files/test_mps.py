"""The MPS reader: what it reads, which conventions it follows, and what it refuses in one sentence."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from ppsm.bilevel.files.mps import MpsModel, read_mps
from ppsm.errors import FileFormatError

INF = float("inf")
INTEGER_X = "    M1 'MARKER' 'INTORG'\n    x cost 1 r1 1\n    M2 'MARKER' 'INTEND'\n    y cost 2 r1 1\n"


def text(
    *,
    head: str = "NAME test\n",
    rows: str = " N cost\n L r1\n",
    columns: str = "    x cost 1 r1 1\n    y cost 2 r1 1\n",
    rhs: str = "",
    ranges: str | None = None,
    bounds: str | None = None,
    tail: str = "ENDATA\n",
) -> str:
    parts = [head, "ROWS\n", rows, "COLUMNS\n", columns, "RHS\n", rhs]
    if ranges is not None:
        parts += ["RANGES\n", ranges]
    if bounds is not None:
        parts += ["BOUNDS\n", bounds]
    return "".join([*parts, tail])


def read(tmp_path: Path, content: str | bytes) -> MpsModel:
    path = tmp_path / "model.mps"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_mps(path)


def test_small_model(tmp_path: Path) -> None:
    model = read(tmp_path, text(rhs="    rhs r1 4 cost -3\n", bounds=" UP b x 2\n"))
    assert (model.name, model.maximise, model.offset) == ("test", False, 3.0)
    assert model.row_names == ("r1",)
    assert model.column_names == ("x", "y")
    assert model.cost.tolist() == [1, 2]
    assert model.matrix.toarray().tolist() == [[1, 1]]
    assert (model.row_lower.tolist(), model.row_upper.tolist()) == ([-INF], [4])
    assert (model.column_lower.tolist(), model.column_upper.tolist()) == ([0, 0], [2, INF])
    assert not model.is_integer.any()


@pytest.mark.parametrize(
    ("head", "maximise"),
    [
        ("NAME\n", False),
        ("", False),
        ("NAME t\nOBJSENSE\n    MAX\n", True),
        ("NAME t\nOBJSENSE MAX\n", True),
        ("NAME t\nobjsense maximize\n", True),
        ("NAME t\nOBJSENSE\n  MAXIMISE\n", True),
        ("NAME t\nOBJSENSE MIN\n", False),
        ("OBJSENSE\n MIN\nNAME late\n", False),
    ],
)
def test_objective_sense(tmp_path: Path, head: str, maximise: bool) -> None:
    assert read(tmp_path, text(head=head)).maximise is maximise


@pytest.mark.parametrize(
    ("kind", "spread", "expected"),
    [
        ("L", None, (-INF, 5)),
        ("G", None, (5, INF)),
        ("E", None, (5, 5)),
        ("L", "3", (2, 5)),
        ("L", "-3", (2, 5)),
        ("G", "3", (5, 8)),
        ("G", "-3", (5, 8)),
        ("E", "3", (5, 8)),
        ("E", "-3", (2, 5)),
        ("E", "0", (5, 5)),
    ],
)
def test_ranges(tmp_path: Path, kind: str, spread: str | None, expected: tuple[float, float]) -> None:
    ranges = None if spread is None else f"    rng r1 {spread}\n"
    model = read(tmp_path, text(rows=f" N cost\n {kind} r1\n", rhs="    rhs r1 5\n", ranges=ranges))
    assert (model.row_lower[0], model.row_upper[0]) == expected


@pytest.mark.parametrize(
    ("lines", "interval", "integer"),
    [
        ("", (0, INF), False),
        (" UP b x 4\n", (0, 4), False),
        (" UP b x 0\n", (0, 0), False),
        (" LO b x -4\n", (-4, INF), False),
        (" UP b x -1\n LO b x -4\n", (-4, -1), False),
        (" MI b x\n UP b x -1\n", (-INF, -1), False),
        (" FX b x 3\n", (3, 3), False),
        (" FR b x\n", (-INF, INF), False),
        (" MI b x\n", (-INF, INF), False),
        (" PL b x\n", (0, INF), False),
        (" BV b x\n", (0, 1), True),
        (" BV b x 1\n", (0, 1), True),
        (" BV x 1\n", (0, 1), True),
        (" LI b x 2\n UI b x 7\n", (2, 7), True),
        (" UI b x 7\n", (0, 7), True),
        (" UP b x 1e30\n", (0, INF), False),
        (" LO b x -Infinity\n", (-INF, INF), False),
        (" up x 4\n fr y\n", (0, 4), False),
    ],
)
def test_bounds(tmp_path: Path, lines: str, interval: tuple[float, float], integer: bool) -> None:
    model = read(tmp_path, text(bounds=lines))
    assert (model.column_lower[0], model.column_upper[0]) == interval
    assert model.is_integer.tolist() == [integer, False]


@pytest.mark.parametrize(
    ("lines", "interval"),
    [
        ("", (0, 1)),
        (" LO b x 2\n", (2, INF)),
        (" UP b x 5\n", (0, 5)),
        (" PL b x\n", (0, INF)),
        (" MI b x\n", (-INF, INF)),
    ],
)
def test_integer_columns_between_markers(tmp_path: Path, lines: str, interval: tuple[float, float]) -> None:
    """Without a bound line they are binary, with one they have the continuous defaults, as in HiGHS."""
    model = read(tmp_path, text(columns=INTEGER_X, bounds=lines))
    assert model.is_integer.tolist() == [True, False]
    assert (model.column_lower[0], model.column_upper[0]) == interval


def test_other_free_rows_are_dropped(tmp_path: Path) -> None:
    model = read(
        tmp_path,
        text(
            rows=" N cost\n N other\n L r1\n",
            columns="    x cost 1 other 7\n    x r1 2\n",
            rhs="    rhs other 3 r1 4\n",
            ranges="    rng other 1\n",
        ),
    )
    assert model.row_names == ("r1",)
    assert model.cost.tolist() == [1]
    assert model.matrix.toarray().tolist() == [[2]]


def test_layout_does_not_matter(tmp_path: Path) -> None:
    plain = text(rhs="    rhs r1 4\n", bounds=" UP b x 2\n")
    loose = "* a comment\r\n\r\n" + plain.replace("ROWS", "rows").replace("BOUNDS", "Bounds")
    loose = loose.replace("    x cost 1", "\tx\tcost  1.0D+00").replace("\n", "\r\n") + "anything\r\n"
    one, other = read(tmp_path, plain), read(tmp_path, "\ufeff" + loose)
    assert other.cost.tolist() == one.cost.tolist()
    assert other.column_upper.tolist() == one.column_upper.tolist()


def test_sections_after_columns_come_in_any_order(tmp_path: Path) -> None:
    shuffled = text().replace("RHS\n", "BOUNDS\n UP b x 2\nRANGES\n    rng r1 3\nRHS\n    rhs r1 5\n")
    model = read(tmp_path, shuffled)
    assert (model.row_lower[0], model.row_upper[0], model.column_upper[0]) == (2, 5, 2)


def test_gzip(tmp_path: Path) -> None:
    assert read(tmp_path, gzip.compress(text().encode())).column_names == ("x", "y")


def test_fixed_form_with_blanks_in_names() -> None:
    model = read_mps(Path(__file__).parents[2] / "data" / "bilevel" / "blanks_in_names.mps")
    assert model.row_names == ("ROW ONE", "ROW TWO")
    assert model.column_names == ("THE X", "THE Y")
    assert model.matrix.toarray().tolist() == [[1, 1], [1, -1]]
    assert (model.row_lower.tolist(), model.row_upper.tolist()) == ([4, 1], [10, 2])
    assert (model.column_lower.tolist(), model.column_upper.tolist()) == ([0, -INF], [9, INF])
    assert model.offset == 5


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "the file is empty"),
    "blank": (" \n\n", "the file is empty"),
    "binary": (b"NAME\x00\x01\x02", "line 1: found the control character 0x00"),
    "not UTF-8": (b"NAME\nROWS\n\xff\xfe", "line 3: found byte 0xff"),
    "damaged gzip": (gzip.compress(text().encode())[:-12], "gzip data are damaged"),
    "no ENDATA": (text(tail=""), "ends without ENDATA"),
    "unknown section": (text(head="NAME\nHELLO\n"), "line 2: found 'HELLO' in the first column"),
    "unindented data": (text(columns="x cost 1\n"), "line 6: found 'x' in the first column"),
    "words after a section": (
        text(tail="BOUNDS UP b x 1\nENDATA\n"),
        "found 'UP' on the line of section BOUNDS",
    ),
    "quadratic": (
        text(tail="QUADOBJ\n    x x 1\nENDATA\n"),
        "section QUADOBJ stands for a quadratic objective",
    ),
    "sets": (text(tail="SOS\n S1 s\nENDATA\n"), "section SOS stands for special ordered sets"),
    "indicators": (text(tail="INDICATORS\nENDATA\n"), "section INDICATORS stands for"),
    "section twice": (text(tail="RHS\nENDATA\n"), "section RHS appears a second time"),
    "columns first": ("COLUMNS\n    x cost 1\nENDATA\n", "section COLUMNS comes before ROWS"),
    "rows late": ("NAME\nRHS\nENDATA\n", "section RHS comes before COLUMNS"),
    "no rows": ("NAME t\nENDATA\n", "no section ROWS"),
    "no columns": (text(columns=""), "section COLUMNS is empty"),
    "no objective": (text(rows=" L r1\n", columns="    x r1 1\n"), "no row of type N"),
    "data first": ("    x cost 1\n" + text(), "line 1: found data before the first section"),
    "data in NAME": (text(head="NAME t\n more\n"), "found data in section NAME"),
    "sense": (text(head="OBJSENSE up\n"), "found the objective sense 'up'"),
    "no sense": (text(head="OBJSENSE\n"), "section OBJSENSE is empty"),
    "two senses": (text(head="OBJSENSE MAX\n MIN\n"), "second objective sense"),
    "row words": (text(rows=" N cost\n L r1 r2\n"), "line 4: found 3 words in section ROWS"),
    "row type": (text(rows=" N cost\n K r1\n"), "row 'r1' has type 'K'"),
    "row twice": (text(rows=" N cost\n L r1\n G r1\n"), "line 5: row 'r1' appears a second time"),
    "objective twice": (text(rows=" N cost\n L cost\n"), "row 'cost' appears a second time"),
    "unknown row": (text(columns="    x cost 1 r9 1\n"), "line 6: row 'r9' is not in section ROWS"),
    "column words": (text(columns="    x cost\n"), "found 2 words in section COLUMNS"),
    "not a number": (text(columns="    x cost one\n"), "found 'one' for row 'cost'"),
    "NaN": (text(columns="    x cost nan\n"), "found 'nan' for row 'cost'"),
    "infinite": (text(columns="    x cost inf\n"), "found 'inf' for row 'cost'"),
    "overflow": (text(columns="    x cost 1e999\n"), "found '1e999' for row 'cost'"),
    "underscore": (text(columns="    x cost 1_0\n"), "found '1_0' for row 'cost'"),
    "entry twice": (text(columns="    x r1 1 r1 2\n"), "column 'x' has a second entry in row 'r1'"),
    "column twice": (
        text(columns="    x r1 1\n    y r1 1\n    x cost 1\n"),
        "line 8: column 'x' appears again after another one",
    ),
    "unknown row in RHS": (text(rhs="    rhs r9 1\n"), "row 'r9' is not in section ROWS"),
    "RHS twice": (text(rhs="    rhs r1 1\n    rhs r1 2\n"), "row 'r1' has a second right-hand side"),
    "two vectors": (text(rhs="    one r1 1\n    two r1 2\n"), "holds a second vector 'two'"),
    "RHS NaN": (text(rhs="    rhs r1 nan\n"), "found 'nan' for row 'r1'"),
    "RHS of no sense": (text(rhs="    rhs r1 -1e30\n"), "row 'r1' of type L has the right-hand side -inf"),
    "infinite constant": (text(rhs="    rhs cost 1e30\n"), "the objective's constant is inf"),
    "range twice": (text(ranges="    r r1 1\n    r r1 2\n"), "row 'r1' has a second range"),
    "infinite range": (text(ranges="    r r1 inf\n"), "found 'inf' for row 'r1'"),
    "bound type": (text(bounds=" XX b x 1\n"), "found the bound type 'XX'"),
    "semi-continuous": (text(bounds=" SC b x 1\n"), "found the semi-continuous bound SC"),
    "unknown column": (text(bounds=" UP b z 1\n"), "column 'z' is not in section COLUMNS"),
    "bound words": (text(bounds=" UP x\n"), "found 2 words for a bound UP"),
    "bound NaN": (text(bounds=" UP b x nan\n"), "found the bound 'nan' of column 'x'"),
    "bound twice": (text(bounds=" UP b x 1\n UP b x 2\n"), "column 'x' has a second upper bound (UP)"),
    "free and lower": (text(bounds=" LO b x 1\n FR b x\n"), "column 'x' has a second lower bound (FR)"),
    "two bound vectors": (text(bounds=" UP b x 1\n LO c x 0\n"), "holds a second vector 'c'"),
    "fixed at infinity": (text(bounds=" FX b x inf\n"), "column 'x' has the bound FX inf"),
    "no upper": (text(bounds=" UP b x -inf\n"), "column 'x' has the bound UP -inf"),
    "crossed": (text(bounds=" LO b x 2\n UP b x 1\n"), "column 'x' has the lower bound 2 above"),
    "negative upper": (text(bounds=" UP b x -3\n"), "column 'x' has the upper bound -3 and no lower one"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refused_in_one_sentence(tmp_path: Path, case: str) -> None:
    content, sentence = REFUSED[case]
    with pytest.raises(FileFormatError, match=re.escape(sentence)) as caught:
        read(tmp_path, content)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "model.mps"))
    assert message.endswith(".")
    assert "\n" not in message


def test_no_such_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_mps(tmp_path / "nowhere.mps")
    with pytest.raises(FileFormatError, match="this is a directory"):
        read_mps(tmp_path)


def test_name_that_no_file_can_have() -> None:
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_mps("a\0b")


def test_minus_zero_is_not_invented(tmp_path: Path) -> None:
    assert not np.signbit(read(tmp_path, text()).offset)
