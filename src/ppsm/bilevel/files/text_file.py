"""Text files as numbered lines, and the sentences said when they cannot be read."""

import gzip
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from ppsm.errors import FileFormatError

_GZIP_MAGIC = b"\x1f\x8b"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d{1,5})?", re.ASCII)
_INFINITE = {"inf": float("inf"), "infinity": float("inf")}


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
