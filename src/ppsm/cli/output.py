"""Output directories: made and tried before any work is done, so that no budget is spent on a full disk."""

import tempfile
from pathlib import Path

from ppsm.errors import InputError


def writable_directory(path: Path) -> Path:
    """Make a directory if need be and make sure that it can be written to."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write to '{path}' ({error.strerror or error}): choose another directory with --out."
        ) from None
    return path
