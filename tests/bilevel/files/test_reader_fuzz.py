"""Whatever the bytes are, the readers answer with a program or with one of our errors."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ppsm.bilevel.files.exchange import read_bilevel
from ppsm.errors import InputError
from ppsm.program import BilevelProgram

DATA = Path(__file__).parents[2] / "data" / "bilevel"
PAIRS = [
    ("moore_bard_1990.mps", "moore_bard_1990.aux"),
    ("moore_bard_1990_packed.mps.gz", "moore_bard_1990_named.aux"),
    ("mersha_dempe_2006.mps", "mersha_dempe_2006.aux"),
    ("wen_yang_1990.mps", "wen_yang_1990.aux"),
    ("blanks_in_names.mps", "blanks_in_names.aux"),
]
FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def attempt(tmp_path: Path, mps: bytes, aux: bytes) -> BilevelProgram | None:
    """Read the bytes; anything but a program or an input error fails the test by itself."""
    mps_path, aux_path = tmp_path / "fuzz.mps", tmp_path / "fuzz.aux"
    mps_path.write_bytes(mps)
    aux_path.write_bytes(aux)
    try:
        return read_bilevel(mps_path, aux_path)
    except InputError as error:
        message = str(error)
        assert message.endswith(".")
        assert "\n" not in message
        return None


def whole(pair: tuple[str, str]) -> tuple[bytes, bytes]:
    return (DATA / pair[0]).read_bytes(), (DATA / pair[1]).read_bytes()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0])
def test_truncated_model_is_never_read(tmp_path: Path, pair: tuple[str, str]) -> None:
    mps, aux = whole(pair)
    assert attempt(tmp_path, mps, aux) is not None
    # The line end after ENDATA is the only part of a text file that it can do without.
    last = len(mps) if pair[0].endswith(".gz") else mps.rindex(b"ENDATA") + len(b"ENDATA")
    for length in range(last):
        assert attempt(tmp_path, mps[:length], aux) is None, f"{length} bytes"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
def test_truncated_auxiliary_file_is_refused_or_complete(tmp_path: Path, pair: tuple[str, str]) -> None:
    mps, aux = whole(pair)
    program = attempt(tmp_path, mps, aux)
    assert program is not None
    for length in range(len(aux)):
        rest = attempt(tmp_path, mps, aux[:length])
        if rest is not None:
            assert rest.follower.column_names == program.follower.column_names
            assert rest.follower.row_names == program.follower.row_names
            assert rest.follower.cost.tolist() == program.follower.cost.tolist()
            assert rest.follower_sign == program.follower_sign


@FUZZ
@given(
    pair=st.sampled_from(PAIRS),
    which=st.booleans(),
    flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_flipped_bytes(
    tmp_path: Path, pair: tuple[str, str], which: bool, flips: list[tuple[int, int]]
) -> None:
    files = [bytearray(content) for content in whole(pair)]
    for position, byte in flips:
        files[which][position % len(files[which])] = byte
    attempt(tmp_path, bytes(files[0]), bytes(files[1]))


@FUZZ
@given(mps=st.binary(max_size=200), aux=st.binary(max_size=200))
@example(mps=b"\x1f\x8b", aux=b"")
@example(mps=b"ROWS\n N\xc2\xa0c\nCOLUMNS\n", aux=b"@")
def test_any_bytes(tmp_path: Path, mps: bytes, aux: bytes) -> None:
    attempt(tmp_path, mps, whole(PAIRS[0])[1])
    attempt(tmp_path, whole(PAIRS[0])[0], aux)


MPS_WORDS = [
    "ROWS",
    "COLUMNS",
    "RHS",
    "RANGES",
    "BOUNDS",
    "ENDATA",
    "NAME",
    "OBJSENSE",
    "MAX",
    "N",
    "L",
    "G",
    "E",
    "c",
    "r",
    "x",
    "y",
    "1",
    "-2",
    "1e30",
    "nan",
    "UP",
    "LO",
    "FX",
    "FR",
    "MI",
    "BV",
    "UI",
    "SC",
    "'MARKER'",
    "'INTORG'",
    "'INTEND'",
    "*",
]
LINES = st.lists(st.lists(st.sampled_from(MPS_WORDS), max_size=6), max_size=25)


@FUZZ
@given(lines=LINES, indented=st.lists(st.booleans(), min_size=25, max_size=25))
def test_words_of_the_format_in_any_order(
    tmp_path: Path, lines: list[list[str]], indented: list[bool]
) -> None:
    text = "\n".join(" " * blank + " ".join(words) for words, blank in zip(lines, indented, strict=False))
    attempt(tmp_path, text.encode(), b"N 1 M 0 LC 0 LO 1 OS 1")


AUX_WORDS = [
    "N",
    "M",
    "LC",
    "LR",
    "LO",
    "OS",
    "IC",
    "0",
    "1",
    "2",
    "-1",
    "1.5",
    "x",
    "Y",
    "R1",
    "@NUMVARS",
    "@NUMCONSTRS",
    "@VARSBEGIN",
    "@VARSEND",
    "@CONSTRSBEGIN",
    "@CONSTRSEND",
    "@MPS",
]


@FUZZ
@given(words=st.lists(st.sampled_from([*AUX_WORDS, "\n"]), max_size=30))
def test_words_of_the_auxiliary_file_in_any_order(tmp_path: Path, words: list[str]) -> None:
    attempt(tmp_path, whole(PAIRS[0])[0], " ".join(words).encode())
