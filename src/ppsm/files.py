"""One way to write a file that matters: complete and on the disk, or not at all; and by one process.

And one way to tell what a file says that it is: of our format, of another version, or something else.
"""

import fcntl
import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ppsm.errors import FileFormatError, InputError

LOG = logging.getLogger(__name__)

# The mode of a file that its owner alone may read.
OWNER_MODE = 0o600


def write_atomically(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Replace a file by a text such that neither a failure nor a power cut leaves half of it.

    The text goes to a file beside the target, which is on the disk before it takes the target's name, and the
    name is on the disk before this returns: what must outlive a power cut may be forgotten elsewhere then.
    Where writing fails the old file stays as it was.

    Parameters
    ----------
    path
        The file.
    text
        All of its content, written as UTF-8.
    mode
        Who may read it, at every moment (the umask takes its share, as everywhere).
    """
    write_bytes_atomically(path, text.encode("utf-8"), mode=mode)


def write_bytes_atomically(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """The same for bytes."""
    # No two writers at work have the same number.
    part = path.with_name(f".{path.name}.{threading.get_native_id()}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
    LOG.debug("wrote %s", path)


def strict_json(text: str | bytes) -> Any:
    """JSON without the extras that Python's parser takes: no NaN, no key that occurs twice; else ValueError.

    Of a key that occurs twice some readers take the first value and others the last.
    """
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key occurs twice")
    return content


def of_format(content: object, expected: str, what: str) -> dict[str, Any]:
    """Return the fields of a JSON document whose field ``format`` is the expected one; refuse any other.

    A format is a name and the number of its version, such as ``ppsm-dossier/3``.
    """
    found = content.get("format") if isinstance(content, dict) else None
    if isinstance(content, dict) and found == expected:
        return content
    if isinstance(found, str) and found.split("/")[0] == expected.split("/")[0]:
        raise FileFormatError(
            f"{what} is of format {found}, and this version of ppsm reads {expected}: use the version that "
            "wrote it, or make it again."
        )
    raise FileFormatError(f"{what} is not of format {expected}: use one that ppsm wrote.")


@contextmanager
def alone(file: Path, busy: str) -> Iterator[None]:
    """Keep other processes out while a lock file is held; the system drops it however this process ends.

    ``busy`` is what a second one is told.
    """
    with file.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(busy) from None
        yield


def sync_directory(directory: Path) -> None:
    """Make sure that the names in a directory survive a power cut as the files' contents do."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
