"""Damaged files never cause anything but an error of ppsm."""

import contextlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases.samples import GAS_PER_UNIT, GAS_SI, GAS_US, LINKS, POWER

from ppsm.cases.calibration.assumptions import Assumptions
from ppsm.cases.calibration.build import build_case
from ppsm.cases.entities import TABLES
from ppsm.cases.links import parse_links
from ppsm.cases.matgas import parse_matgas
from ppsm.cases.matpower import parse_matpower
from ppsm.cases.schema import builtin_directory, load_case
from ppsm.errors import PpsmError

# fmt: off
SNIPPETS = st.sampled_from([
    "", "\n", ";", "]", "[", "{", "}", "'", "%", "=", "NaN", "-Inf", "1e999", "0", "-1", "mpc.bus", "...",
    "\t", ",", '"', "null", "true", "é", "\x00", "1" * 400,
])
# fmt: on


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """Replace up to three slices of a text by something else, and maybe cut it short."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        text = text[:start] + draw(SNIPPETS | st.text(max_size=5)) + text[end:]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


READERS: list[tuple[Callable[[str], object], str]] = [
    (parse_matpower, POWER),
    (parse_matgas, GAS_SI),
    (parse_matgas, GAS_PER_UNIT),
    (parse_matgas, GAS_US),
    (parse_links, LINKS),
]


@pytest.mark.parametrize(("reader", "text"), READERS)
@given(data=st.data())
@settings(max_examples=100)
def test_readers(reader: Callable[[str], object], text: str, data: st.DataObject) -> None:
    with contextlib.suppress(PpsmError):
        reader(data.draw(damaged(text)))


@given(data=st.data())
@settings(max_examples=100)
def test_case_directories(data: st.DataObject) -> None:
    source = builtin_directory("two_node")
    name = data.draw(st.sampled_from([f"{table}.csv" for table in TABLES] + ["case.toml"]))
    content = data.draw(damaged((source / name).read_text(encoding="utf-8")))
    with TemporaryDirectory() as directory:
        copy = Path(shutil.copytree(source, Path(directory) / "case"))
        (copy / name).write_bytes(content.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(PpsmError):
            load_case(copy)


@given(data=st.data())
@settings(max_examples=15)
def test_imports(data: st.DataObject) -> None:
    texts = [POWER, GAS_PER_UNIT, LINKS]
    which = data.draw(st.integers(0, 2))
    numbers = [match.span() for match in re.finditer(r"(?<![\w.])\d+(\.\d+)?", texts[which])]
    start, end = data.draw(st.sampled_from(numbers))
    new = data.draw(st.sampled_from(["0", "-1", "1e9", "1e-9", "NaN", "3", "99"]))
    texts[which] = texts[which][:start] + new + texts[which][end:]
    with contextlib.suppress(PpsmError):
        build_case(
            parse_matpower(texts[0]),
            parse_matgas(texts[1]),
            parse_links(texts[2]),
            Assumptions(gas_share=0.01),
        )
