"""Writing files that matter: each appears complete or not at all, also after a power cut."""

import os
from pathlib import Path


def write_atomically(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a text in place of what the file held; nobody sees a part of it."""
    write_bytes_atomically(path, text.encode("utf-8"), mode=mode)


def write_bytes_atomically(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """The same for bytes; ``mode`` is that of the file from its first moment on, less the process's umask."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
