"""Bilevel instances from an MPS file and an auxiliary file of either form."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests.literature.brute_force import brute_force

from ppsm.bilevel.files.exchange import LowerLevel, read_aux, read_bilevel
from ppsm.bilevel.files.mps import read_mps
from ppsm.errors import FileFormatError, ModelError
from ppsm.program import BilevelProgram

DATA = Path(__file__).parents[2] / "data" / "bilevel"
MODEL = """NAME small
ROWS
 N cost
 L up
 G low1
 E low2
COLUMNS
    x cost 1 up 1
    x low1 2
    y1 cost 3 low1 4
    y1 low2 5
    z cost 6 up 7
    z low2 8
    y2 cost 9 up 10
    y2 low2 11
RHS
    rhs up 20 low1 1
    rhs low2 2 cost -4
BOUNDS
 UP b x 5
 UP b y1 6
ENDATA
"""
INDEXED = "N 2\nM 2\nLC 3\nLC 1\nLR 2\nLR 1\nLO 0.5\nLO -1\nOS 1\n"
NAMED = """@NUMVARS
2
@NUMCONSTRS
2
@VARSBEGIN
y2 0.5
y1 -1
@VARSEND
@CONSTRSBEGIN
low2
low1
@CONSTRSEND
@NAME
small instance
@MPS
small.mps
"""


def paths(tmp_path: Path, aux: str, mps: str = MODEL) -> tuple[Path, Path]:
    (tmp_path / "small.mps").write_text(mps)
    (tmp_path / "small.aux").write_text(aux)
    return tmp_path / "small.mps", tmp_path / "small.aux"


def read(tmp_path: Path, aux: str, mps: str = MODEL) -> BilevelProgram:
    return read_bilevel(*paths(tmp_path, aux, mps))


@pytest.mark.parametrize("aux", [INDEXED, NAMED], ids=["indexed", "named"])
def test_levels_are_split(tmp_path: Path, aux: str) -> None:
    program = read(tmp_path, aux)
    assert program.variable_names == ("x", "z")
    assert program.follower.column_names == ("y2", "y1")
    assert program.follower.cost.tolist() == [0.5, -1]
    assert program.leader_cost.tolist() == [1, 6]
    assert program.response_cost.tolist() == [9, 3]
    assert program.offset == 4
    assert program.follower.row_names == ("low2", "low1")
    assert program.follower.matrix.toarray().tolist() == [[11, 5], [0, 4]]
    assert program.coupling.toarray().tolist() == [[0, 8], [2, 0]]
    assert program.follower.row_lower.tolist() == [2, 1]
    assert program.follower.row_upper.tolist() == [2, np.inf]
    assert program.follower.column_upper.tolist() == [np.inf, 6]
    assert program.leader_row_names == ("up",)
    assert program.leader_matrix.toarray().tolist() == [[1, 7]]
    assert program.response_matrix.toarray().tolist() == [[10, 0]]
    assert program.leader_upper.tolist() == [20]
    assert program.variable_upper.tolist() == [5, np.inf]
    assert (program.leader_sign, program.follower_sign) == (1, 1)


def test_levels_that_maximise_turn_their_costs(tmp_path: Path) -> None:
    program = read(tmp_path, INDEXED.replace("OS 1", "OS -1"), MODEL.replace("ROWS", "OBJSENSE MAX\nROWS"))
    assert (program.leader_sign, program.follower_sign) == (-1, -1)
    assert program.leader_cost.tolist() == [-1, -6]
    assert program.response_cost.tolist() == [-9, -3]
    assert program.offset == -4
    assert program.follower.cost.tolist() == [-0.5, 1]


def test_keys_come_in_any_order(tmp_path: Path) -> None:
    program = read(tmp_path, "OS -1 LO 0.5 LO -1 LR 2 LR 1\tLC 3\nLC 1\nM 2\r\nN 2")
    assert program.follower.cost.tolist() == [-0.5, 1]
    assert program.follower_sign == -1


def test_both_spellings_of_the_named_form(tmp_path: Path) -> None:
    short = NAMED.replace("CONSTRS", "CONSTR").replace("@NUMVARS\n2", "@NUMVARS 2").lower()
    assert read(tmp_path, short).follower.row_names == ("low2", "low1")


def test_follower_without_rows_and_leader_without_columns(tmp_path: Path) -> None:
    program = read(tmp_path, "N 4 M 0 LC 0 LC 1 LC 2 LC 3 LO 1 LO 1 LO 1 LO 1 OS 1")
    assert program.follower.shape == (0, 4)
    assert program.variable_names == ()
    assert len(program.leader_row_names) == 3


def test_lower_level_is_a_plain_value(tmp_path: Path) -> None:
    mps, aux = paths(tmp_path, INDEXED)
    assert read_aux(aux, read_mps(mps)) == LowerLevel((3, 1), (0.5, -1.0), (2, 1), maximise=False)


def test_integer_follower_is_refused(tmp_path: Path) -> None:
    words = r"columns 'y1' are integer, and games with an integer follower.* are not solved by ppsm: relax"
    with pytest.raises(ModelError, match=words):
        read(tmp_path, INDEXED, MODEL.replace(" UP b y1 6", " BV b y1"))


def test_an_interdiction_file_is_called_one_whatever_else_is_in_it(tmp_path: Path) -> None:
    """Its indices count the follower's columns alone, and its columns are mostly integer."""
    aux = "N 9\nM 1\nLC 7\nLR 0\nLO 1\nOS 1\nIC 1\nIB 3\n"
    with pytest.raises(FileFormatError, match="line 7: found the key IC of an interdiction game") as refusal:
        read(tmp_path, aux, MODEL.replace(" UP b y1 6", " BV b y1"))
    assert "are not solved by ppsm: write the leader's columns" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_row_may_be_called_like_a_key(tmp_path: Path) -> None:
    program = read(tmp_path, NAMED.replace("low1", "IC"), MODEL.replace("low1", "IC"))
    assert program.follower.row_names == ("low2", "IC")


def test_integer_leader_is_read(tmp_path: Path) -> None:
    program = read(tmp_path, INDEXED, MODEL.replace(" UP b x 5", " BV b x"))
    assert program.is_integer.tolist() == [True, False]


@pytest.mark.parametrize(
    ("mps", "aux", "objective"),
    [
        ("moore_bard_1990.mps", "moore_bard_1990.aux", -18),
        ("moore_bard_1990_packed.mps.gz", "moore_bard_1990_named.aux", -18),
        ("mersha_dempe_2006.mps", "mersha_dempe_2006.aux", -20),
        ("mersha_dempe_2006.mps", "mersha_dempe_2006_indexed.aux", -20),
        ("wen_yang_1990.mps", "wen_yang_1990.aux", -3035 / 3),
        ("blanks_in_names.mps", "blanks_in_names.aux", None),
    ],
)
def test_samples(mps: str, aux: str, objective: float | None) -> None:
    program = read_bilevel(DATA / mps, DATA / aux)
    if objective is not None:
        assert brute_force(program).objective == pytest.approx(objective)


REFUSED_INDEXED = {
    "unknown key": (INDEXED + "XY 1\n", "line 10: found the key 'XY'"),
    "interdiction costs": (INDEXED + "IC 1\n", "line 10: found the key IC of an interdiction game"),
    "interdiction budget": ("IB 3\n" + INDEXED, "line 1: found the key IB of an interdiction game"),
    "cut short": (INDEXED + "LC", "the file ends after LC"),
    "count": (INDEXED.replace("N 2", "N two"), "line 1: found 'two' after N"),
    "negative count": (INDEXED.replace("M 2", "M -2"), "found '-2' after M"),
    "count twice": (INDEXED + "N 2\n", "N appears a second time"),
    "no count": (INDEXED.replace("M 2\n", ""), "the number of lower-level rows is missing"),
    "too few columns": (
        INDEXED.replace("LC 1\n", ""),
        "found 1 lower-level columns where N or @NUMVARS announces 2",
    ),
    "too many rows": (INDEXED + "LR 0\n", "found 3 lower-level rows where M or @NUMCONSTRS announces 2"),
    "too few costs": (INDEXED.replace("LO -1\n", ""), "found 1 lower-level costs (LO) where"),
    "index too large": (
        INDEXED.replace("LC 3", "LC 4"),
        "line 3: found LC '4'; expected a column's index from 0 to 3",
    ),
    "row too large": (INDEXED.replace("LR 2", "LR 3"), "found LR '3'; expected a row's index from 0 to 2"),
    "negative index": (INDEXED.replace("LC 3", "LC -1"), "found LC '-1'"),
    "index no number": (INDEXED.replace("LC 3", "LC y2"), "found LC 'y2'"),
    "column twice": (INDEXED.replace("LC 3", "LC 1"), "line 4: column 'y1' is listed a second time"),
    "row twice": (INDEXED.replace("LR 2", "LR 1"), "row 'low1' is listed a second time"),
    "cost": (INDEXED.replace("LO 0.5", "LO nan"), "found 'nan' as a lower-level cost"),
    "sense": (INDEXED.replace("OS 1", "OS 0"), "found OS '0'"),
    "sense twice": (INDEXED + "OS 1\n", "OS appears a second time"),
    "sense missing": (INDEXED.replace("OS 1\n", ""), "the objective sense OS is missing"),
    "nothing": ("N 0 M 0 OS 1", "the lower level has no columns"),
    "empty": ("", "the file is empty"),
}

REFUSED_NAMED = {
    "unknown keyword": (NAMED + "@WHAT\n", "found '@WHAT'; expected one of @NUMVARS"),
    "stray word": (NAMED.replace("@NAME", "x"), "line 13: found 'x'"),
    "unknown column": (NAMED.replace("y2", "y9"), "line 6: column 'y9' is not in the MPS file"),
    "unknown row": (NAMED.replace("low2", "low9"), "line 10: row 'low9' is not in the MPS file"),
    "no cost": (NAMED.replace("y2 0.5", "y2"), "line 6: found 'y2' alone"),
    "bad cost": (NAMED.replace("0.5", "half"), "found 'half' as the lower-level cost of column 'y2'"),
    "count": (NAMED.replace("@NUMVARS\n2", "@NUMVARS\n3"), "found 2 lower-level columns where"),
    "row count": (NAMED.replace("@NUMCONSTRS\n2", "@NUMCONSTRS\n1"), "found 2 lower-level rows where"),
    "no value": (NAMED.replace("@NUMVARS\n2\n", "@NUMVARS\n"), "line 1: nothing follows @NUMVARS"),
    "column twice": (NAMED.replace("y1", "y2"), "column 'y2' is listed a second time"),
    "row twice": (NAMED.replace("low1", "low2"), "row 'low2' is listed a second time"),
    "not closed": (NAMED[: NAMED.index("@CONSTRSEND")], "line 9: @CONSTRSBEGIN is not closed"),
    "list missing": (NAMED[: NAMED.index("@CONSTRSBEGIN")], "@CONSTRSBEGIN is missing"),
    "list twice": (NAMED + "@VARSBEGIN\n@VARSEND\n", "@VARSBEGIN appears a second time"),
    "words after a list": (NAMED.replace("@VARSBEGIN", "@VARSBEGIN y2"), "found 'y2' after @VARSBEGIN"),
    "name missing": (NAMED[: NAMED.index("small.mps")], "nothing follows @MPS"),
}


@pytest.mark.parametrize(
    "case", [*REFUSED_INDEXED.values(), *REFUSED_NAMED.values()], ids=lambda case: case[1]
)
def test_refused_in_one_sentence(tmp_path: Path, case: tuple[str, str]) -> None:
    with pytest.raises(FileFormatError, match=re.escape(case[1])) as caught:
        read(tmp_path, case[0])
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "small.aux"))
    assert message.endswith(".")
    assert "\n" not in message


def test_auxiliary_path_is_checked(tmp_path: Path) -> None:
    mps, _ = paths(tmp_path, INDEXED)
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_bilevel(mps, tmp_path / "none.aux")
    with pytest.raises(FileFormatError, match="this is a directory"):
        read_bilevel(mps, tmp_path)
    with pytest.raises(FileFormatError, match="found the key 'NAME'"):
        read_bilevel(mps, mps)
