"""Text files as numbered lines, and the sentences said when they cannot be read.

The lines of an MPS file are cut into words, by blanks (free form) or by columns (fixed form).
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ppsm.errors import FileFormatError

_GZIP_MAGIC = b"\x1f\x8b"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d{1,5})?", re.ASCII)
_INFINITE = {"inf": float("inf"), "infinity": float("inf")}
_SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
# What other sections would add to a linear program; leaving it out silently would change the problem.
_REFUSED = {
    **dict.fromkeys(("QUADOBJ", "QMATRIX", "QSECTION"), "a quadratic objective"),
    **dict.fromkeys(("QCMATRIX", "CSECTION"), "quadratic or conic constraints"),
    **dict.fromkeys(("SOS", "SOS1", "SOS2", "SETS"), "special ordered sets"),
    **dict.fromkeys(("INDICATORS", "GENCONS"), "indicator or general constraints"),
    **dict.fromkeys(("PWLOBJ", "PWLNAM", "PWLCON"), "piecewise-linear functions"),
    **dict.fromkeys(("LAZYCONS", "USERCUTS"), "lazy constraints or cuts"),
    **dict.fromkeys(("MULTIOBJ", "OBJNAME", "OBJECT", "REFROW"), "another choice of objective"),
    **dict.fromkeys(("SCENARIOS", "PERIODS", "TIME", "STOCH"), "a stochastic program"),
}
# First and last column of the six fields, counted from zero, the end excluded.
_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))


@dataclass(frozen=True)
class TextFile:
    """A file's lines; line numbers in messages start at one."""

    path: Path
    lines: tuple[str, ...]

    def problem(self, line: int | None, sentence: str) -> FileFormatError:
        """Return an error whose sentence begins with the file and, where known, the line."""
        where = f"{self.path}" if line is None else f"{self.path}, line {line}"
        return FileFormatError(f"{where}: {sentence}")


def read_text(path: str | Path, what: str) -> TextFile:
    """Read a plain or gzipped UTF-8 text file, or say why it cannot be one."""
    path = Path(path)
    raw = _unpacked(path, _bytes_of(path, what), what)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise FileFormatError(
            f"{path}, line {line}: found byte 0x{raw[error.start]:02x}, which is not UTF-8 text; "
            f"expected {what}: check that the file is not binary or save it as UTF-8."
        ) from None
    # Not str.splitlines, which also breaks at characters that may stand in a name.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise FileFormatError(f"{path}: the file is empty; expected {what}.")
    control = _CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        raise FileFormatError(
            f"{path}, line {line}: found the control character 0x{ord(control.group()):02x}; "
            f"expected {what}: check that the file is not binary or damaged."
        )
    return TextFile(path, tuple(text.split("\n")))


def _bytes_of(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        reason = "there is no such file"
    except IsADirectoryError:
        reason = "this is a directory"
    except PermissionError:
        # Windows says this of directories, too.
        reason = "this is a directory" if path.is_dir() else "reading it is not permitted"
    except (OSError, ValueError) as error:
        reason = f"it cannot be read ({error})"
    raise FileFormatError(f"{path}: {reason}; expected {what}: check the path.")


def _unpacked(path: Path, raw: bytes, what: str) -> bytes:
    if not raw.startswith(_GZIP_MAGIC):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        raise FileFormatError(
            f"{path}: the gzip data are damaged or cut short; expected {what}: fetch the file again."
        ) from None


def number(word: str, *, infinite: bool = False) -> float | None:
    """Return the number a word spells (also with a Fortran ``D`` exponent), or None if it spells none."""
    if _NUMBER.fullmatch(word):
        value = float(word.replace("d", "e").replace("D", "e"))
    else:
        sign = -1.0 if word.startswith("-") else 1.0
        magnitude = (
            _INFINITE.get(word.lstrip("+-").lower()) if word.count("-") + word.count("+") < 2 else None
        )
        if magnitude is None:
            return None
        value = sign * magnitude
    return value if infinite or abs(value) != float("inf") else None


def whole_number(word: str) -> int | None:
    """Return the integer a word spells in plain digits, or None if it spells none."""
    return int(word) if re.fullmatch(r"[+-]?\d{1,9}", word, re.ASCII) else None


@dataclass(frozen=True)
class MpsLine:
    """A line with its file and number, the section it stands in and its words; a header opens the section."""

    source: TextFile
    number: int
    section: str
    words: tuple[str, ...]
    is_header: bool = False

    def wrong(self, sentence: str) -> FileFormatError:
        """Return an error whose sentence begins with the file and the line."""
        return self.source.problem(self.number, sentence)

    @property
    def is_marker(self) -> bool:
        """Whether the line opens or closes a block of integer columns."""
        return (
            len(self.words) == 3
            and self.words[1].strip("'\"").upper() == "MARKER"
            and self.words[1][0] in "'\""
            and self.words[2].strip("'\"").upper() in ("INTORG", "INTEND")
        )


def free_lines(source: TextFile) -> Iterator[MpsLine]:
    """Cut the lines at blanks and tabs."""
    return _lines(source, lambda _number, _section, text: tuple(text.split()))


def fixed_lines(source: TextFile) -> Iterator[MpsLine]:
    """Cut the lines at the columns of the fixed form, so that names may hold blanks."""

    def cut(number: int, section: str, text: str) -> tuple[str, ...]:
        gaps = [text[end:start] for (_, end), (start, _) in pairwise(_FIELDS)]
        if "\t" in text or text[0] != " " or text[61:].strip() or any(gap.strip() for gap in gaps):
            raise source.problem(
                number, "text stands between the fields of the fixed form; expected blanks there."
            )
        fields = [text[start:end].strip() for start, end in _FIELDS]
        if section == "COLUMNS" and fields[2].strip("'").upper() == "MARKER":
            return tuple(field for field in fields if field)
        while fields and not fields[-1]:
            fields.pop()
        return tuple(fields if section in ("ROWS", "BOUNDS") else fields[1:])

    return _lines(source, cut)


def _lines(source: TextFile, cut: Callable[[int, str, str], tuple[str, ...]]) -> Iterator[MpsLine]:
    section = ""
    for number, text in enumerate(source.lines, start=1):
        if not text.strip() or text.startswith("*"):
            continue
        if text[0] in " \t":
            yield MpsLine(source, number, section, cut(number, section, text))
            continue
        words = text.split()
        section = words[0].upper()
        if section in _REFUSED:
            raise source.problem(
                number, f"section {section} stands for {_REFUSED[section]}; expected a linear program."
            )
        if section not in _SECTIONS:
            raise source.problem(
                number,
                f"found '{words[0][:40]}' in the first column; "
                f"expected a section such as {' '.join(_SECTIONS[2:])}: start data lines with a blank.",
            )
        yield MpsLine(source, number, section, tuple(words[1:]), is_header=True)
