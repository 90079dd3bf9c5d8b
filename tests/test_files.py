"""A file that matters is on the disk, complete, under its name; or the old one is still there."""

import errno
import os
from pathlib import Path

import pytest

from ppsm.files import write_atomically


def full_disk(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_text_is_written_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    write_atomically(file, "grün\r\nblau\n")
    assert file.read_bytes() == "grün\r\nblau\n".encode()
    write_atomically(file, "neu\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert file.read_text() == "neu\n"


def test_content_is_synced_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, replace = os.fsync, Path.replace

    def noted_sync(handle: int) -> None:
        kind = "directory" if Path(f"/proc/self/fd/{handle}").resolve() == tmp_path.resolve() else "file"
        sync(handle)
        events.append(f"sync {kind}")

    def noted_replace(self: Path, target: Path) -> Path:
        events.append(f"rename to {target.name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    write_atomically(tmp_path / "a.txt", "text")
    assert events == ["sync file", "rename to a.txt", "sync directory"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(file, "new")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_nobody_else_reads_a_private_file_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    sync = os.fsync

    def noted(handle: int) -> None:
        modes.append(os.fstat(handle).st_mode & 0o777)
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    file = tmp_path / "mine.txt"
    file.write_text("readable by all")
    write_atomically(file, "secret", mode=0o600)
    assert modes[0] == 0o600
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_a_dead_writer_left_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.txt"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", lambda *_: full_disk(0))
        patched.setattr(Path, "unlink", lambda *_, **__: None)  # killed before it could tidy up
        with pytest.raises(OSError, match="No space left"):
            write_atomically(file, "new")
    assert len(list(tmp_path.iterdir())) == 1
    write_atomically(file, "newer")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
