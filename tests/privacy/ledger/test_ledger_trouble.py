"""Broken files, full disks, wrong clocks: a clear error, nothing released, nothing lost."""

import os
import random
import resource
import sqlite3
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.privacy.conftest import DATASET, make_secret

from ppsm.errors import InputError, LedgerError
from ppsm.privacy import LaplaceMechanism, Ledger, LedgerKeeper, Sensitive
from ppsm.privacy.ledger import chain
from ppsm.privacy.ledger.file import LedgerFile
from ppsm.privacy.noise import ExactLaplace


@pytest.fixture(autouse=True)
def no_noise_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn a draw into a test failure; tests that need one undo this."""

    def drawn(self: ExactLaplace, values: object) -> None:
        pytest.fail("noise was drawn although the ledger failed")

    monkeypatch.setattr(ExactLaplace, "add_to", drawn)


def release(ledger: Ledger, secret: Sensitive) -> None:
    LaplaceMechanism(alpha=100.0).release(secret, ledger=ledger, purpose="test")


def release_often(ledger: Ledger, times: int) -> None:
    for _ in range(times):
        release(ledger, make_secret())


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="ppsm ledger init"):
        Ledger(tmp_path / "none.db")


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be made"):
        Ledger.create(tmp_path / "none" / "ledger.db")


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="is no file, expected a ledger"):
        Ledger(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a ledger at all", b"\0" * 8192])
def test_other_files(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"not a ppsm ledger|not a ledger"):
        Ledger(path)
    assert path.read_bytes() == content


def test_another_database(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE entries (x)")
    with pytest.raises(LedgerError, match="not a ppsm ledger"):
        Ledger(path)


def test_damaged_pages(ledger: LedgerKeeper, secret: Sensitive) -> None:
    ledger.close()
    content = bytearray(ledger.path.read_bytes())
    content[4096:] = b"\xaa" * (len(content) - 4096)
    ledger.path.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged"):
        release(ledger, secret)


def test_a_damaged_index_neither_hides_a_spend_nor_passes(
    ledger: LedgerKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExactLaplace, "add_to", lambda _, values: values)
    release_often(ledger, 2)
    ledger.close()
    with closing(sqlite3.connect(ledger.path)) as connection:
        roots = connection.execute("SELECT rootpage FROM sqlite_master WHERE type = 'index'").fetchall()
    content = bytearray(ledger.path.read_bytes())
    for (root,) in roots:
        count = 4096 * (root - 1) + 4  # the low byte of the number of entries on the page
        assert content[count] == 4
        content[count] = 3
    ledger.path.write_bytes(content)
    assert roots
    assert ledger.balance(DATASET).spent == 2
    assert any("damaged" in finding for finding in ledger.verify().findings)


def test_random_damage_is_told_or_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever byte is hit: a clear error or the right balance, and no change that verification overlooks."""
    monkeypatch.setattr(ExactLaplace, "add_to", lambda _, values: values)
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.grant(DATASET, epsilon=9.0, alpha=100.0, unit="MWh")
    release_often(ledger, 6)
    entries = ledger.entries()
    ledger.close()
    content = ledger.path.read_bytes()
    chance = random.Random(5)  # noqa: S311 - damage needs no secrecy
    complaints = 0
    for place in chance.sample([place for place, byte in enumerate(content) if byte], 250):
        damaged = bytearray(content)
        damaged[place] ^= 1 << chance.randrange(8)
        path = tmp_path / f"damaged{place}.db"
        path.write_bytes(damaged)
        try:
            copy = Ledger(path)
            sound = copy.verify().ok
            assert copy.balance(DATASET).spent == 6
            assert not sound or copy.entries() == entries
            complaints += not sound
            copy.close()
        except (LedgerError, InputError):
            complaints += 1
    assert complaints > 100


def test_damaged_text_in_the_schema(ledger: LedgerKeeper) -> None:
    """SQLite's own message cannot be decoded then."""
    ledger.close()
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content.replace(b"CREATE TABLE entries", b"CREATE TABL\xde entries"))
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger(ledger.path)


def test_an_interrupt_at_the_beginning_leaves_no_open_transaction(ledger: LedgerKeeper) -> None:
    class Interrupted(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            cursor = super().execute(statement, *values)
            if statement == "BEGIN IMMEDIATE":
                raise KeyboardInterrupt
            return cursor

    handle = ledger._file._current_handle()
    handle.connection = sqlite3.connect(ledger.path, isolation_level=None, factory=Interrupted)
    with pytest.raises(KeyboardInterrupt):
        ledger.grant(DATASET, epsilon=1.0)
    assert not handle.connection.in_transaction
    assert LedgerKeeper(ledger.path, timeout_s=0.1).grant(DATASET, epsilon=1.0).granted == 4


def test_threads_that_wait_for_a_lock_blame_nothing_else(ledger: LedgerKeeper) -> None:
    """One thread's failure closes the connection that others wait for; they open another."""
    impatient = LedgerKeeper(ledger.path, timeout_s=0.02)

    def grant(_: int) -> str:
        try:
            impatient.grant(DATASET, epsilon=1.0)
        except LedgerError as error:
            return str(error)
        return "granted"

    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other, ThreadPoolExecutor(4) as pool:
        other.execute("BEGIN IMMEDIATE")
        answers = list(pool.map(grant, range(12)))
    assert all("is locked by another process" in answer for answer in answers), answers


def test_a_relative_path_stays_where_it_was(
    ledger: LedgerKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of directory must not lead to another ledger of the same name, with a budget of its own."""
    monkeypatch.chdir(ledger.path.parent)
    relative = Ledger(ledger.path.name)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Ledger.create(ledger.path.name)
    assert relative.balance(DATASET).granted == 3


def test_a_file_cut_in_half(ledger: LedgerKeeper, secret: Sensitive) -> None:
    ledger.close()
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content[: len(content) // 2])
    with pytest.raises(LedgerError, match="damaged"):
        release(ledger, secret)


def test_a_file_that_vanishes(ledger: LedgerKeeper, secret: Sensitive) -> None:
    ledger.path.unlink()
    with pytest.raises(LedgerError, match="There is no privacy ledger"):
        release(ledger, secret)


def test_a_locked_file(ledger: LedgerKeeper, secret: Sensitive) -> None:
    impatient = Ledger(ledger.path, timeout_s=0.1)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked by another process"):
            release(impatient, secret)
    assert ledger.balance(DATASET).spent == 0


def test_a_full_disk(ledger: LedgerKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own limit on pages stands for a disk without space."""
    connect = LedgerFile._connection

    def on_a_full_disk(self: LedgerFile) -> sqlite3.Connection:
        connection = connect(self)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(LedgerFile, "_connection", on_a_full_disk)
    monkeypatch.setattr(ExactLaplace, "add_to", lambda _, values: values)
    ledger.grant(DATASET, epsilon=100.0)
    full = Ledger(ledger.path)
    with pytest.raises(LedgerError, match="disk is full"):
        release_often(full, 90)
    monkeypatch.setattr(LedgerFile, "_connection", connect)
    after = Ledger(ledger.path)
    spends = [entry for entry in after.entries() if entry.kind == "spend"]
    assert after.balance(DATASET).spent == len(spends) < 90
    assert after.verify().ok


def in_child(action: Callable[[], None]) -> str:
    """Run an action in a forked process and return its complaint, or the traceback of anything unexpected."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
            answer = "no complaint"
        except LedgerError as error:
            answer = str(error)
        except BaseException:  # noqa: BLE001 - a child must not return into the test runner
            answer = traceback.format_exc()
        os.write(writer, answer.encode()[:60_000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answers:
        text = answers.read()
    os.waitpid(child, 0)
    return text


def test_a_quota_on_files(ledger: LedgerKeeper, secret: Sensitive) -> None:
    """A limit on file sizes makes every write fail as a full disk does."""
    ledger.close()

    def release_under_quota() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
        release(ledger, secret)

    assert "nothing was released" in in_child(release_under_quota)
    after = Ledger(ledger.path)
    assert after.balance(DATASET).spent == 0
    assert after.verify().ok


def test_a_read_only_file(secret: Sensitive) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        ledger = Ledger.create(directory / "ledger.db")
        ledger.grant(DATASET, epsilon=1.0, alpha=100.0, unit="MWh")
        ledger.close()
        ledger.path.chmod(0o444)
        directory.chmod(0o555)

        def release_without_rights() -> None:
            if os.geteuid() == 0:
                os.setuid(65534)  # rights do not bind the superuser
            release(ledger, secret)

        answer = in_child(release_without_rights)
        directory.chmod(0o755)
        assert "is read-only" in answer or "cannot be opened" in answer
        ledger.path.chmod(0o600)
        assert Ledger(ledger.path).balance(DATASET).spent == 0


def test_a_clock_that_runs_backwards(
    ledger: LedgerKeeper, secret: Sensitive, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = datetime.now(UTC) - timedelta(hours=1)
    monkeypatch.setattr("ppsm.privacy.ledger.roles.now", lambda: earlier)
    with pytest.raises(LedgerError, match="set the clock right"):
        release(ledger, secret)
    with pytest.raises(LedgerError, match="set the clock right"):
        ledger.grant(DATASET, epsilon=1.0)
    balance = ledger.balance(DATASET)
    assert (str(balance.spent), str(balance.granted)) == ("0", "3.0")


def test_a_clock_that_stands_still_is_no_trouble(
    ledger: LedgerKeeper, secret: Sensitive, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    monkeypatch.setattr("ppsm.privacy.ledger.roles.now", lambda: later)
    monkeypatch.setattr(ExactLaplace, "add_to", lambda _, values: values)
    release(ledger, secret)
    release(ledger, secret)
    assert ledger.balance(DATASET).spent == 2
    assert ledger.verify().ok


def test_an_entry_without_numbers(
    ledger: LedgerKeeper, secret: Sensitive, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger._file.transaction(write=True) as connection:
        head = tuple(chain.all_entries(connection))[-1]
        chain.append(
            connection, replace(head, sequence=head.sequence + 1, granted="much", previous=head.hash)
        )
    with pytest.raises(LedgerError, match="holds no numbers"):
        release(ledger, secret)
    assert not ledger.verify().ok


def test_a_connection_from_before_a_fork_is_not_used(ledger: LedgerKeeper) -> None:
    parent = ledger._file._current_handle()

    def look() -> None:
        ledger.balance(DATASET)
        raise LedgerError("same" if ledger._file._current_handle() is parent else "another connection")

    assert in_child(look) == "another connection"
    assert ledger._file._current_handle() is parent
    assert ledger.verify().ok
