"""The ledger: what it keeps, and how tampering shows."""

import json
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from tests.privacy.conftest import DATASET

from ppsm.errors import BudgetExceededError, InputError, LedgerError
from ppsm.privacy import LaplaceMechanism, Ledger, LedgerKeeper, Released, Sensitive


def releases(ledger: Ledger, secret: Sensitive, count: int) -> list[Released]:
    mechanism = LaplaceMechanism(alpha=100.0, epsilon=0.5)
    return [mechanism.release(secret, ledger=ledger, purpose=f"release {n}") for n in range(count)]


def tamper(ledger: Ledger, *statements: str, triggers: bool = False) -> None:
    """Change the file behind the ledger's back, without the triggers that would refuse."""
    ledger.close()
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        kept = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in kept if not triggers else []:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in kept if not triggers else []:
            connection.execute(sql)


def test_a_new_ledger_verifies(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "new.db")
    verification = ledger.verify()
    assert verification.ok
    assert verification.entries == 1
    assert len(verification.head) == 64
    assert ledger.balances() == ()


def test_the_file_is_private_and_durable(ledger: Ledger) -> None:
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    with ledger._file.transaction(write=False) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("persist",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)


def test_a_ledger_is_never_overwritten(ledger: Ledger) -> None:
    head = ledger.verify().head
    with pytest.raises(InputError, match="never overwritten"):
        Ledger.create(ledger.path)
    assert ledger.verify([head]).ok
    assert [path.name for path in ledger.path.parent.iterdir() if path.name.startswith(".")] == []


def test_two_ledgers_have_different_identities(tmp_path: Path) -> None:
    heads = {Ledger.create(tmp_path / name).verify().head for name in ("a.db", "b.db")}
    assert len(heads) == 2


def test_entries_record_what_was_released(ledger: Ledger, secret: Sensitive) -> None:
    released = releases(ledger, secret, 2)
    last = ledger.entries()[-1]
    assert json.loads(last.detail) == released[1].record.to_dict()
    assert (last.kind, last.amount, last.granted, last.spent) == ("spend", "0.5", "3.0", "1.0")
    assert released[1].receipt is not None
    assert (last.sequence, last.hash) == (released[1].receipt.sequence, released[1].receipt.entry_hash)


def test_no_secret_value_reaches_the_file(ledger: Ledger, secret: Sensitive) -> None:
    released = releases(ledger, secret, 2)
    ledger.close()
    content = ledger.path.read_bytes()
    for value in (*released[0].values, 4321.987654, 1234.567891):
        assert repr(float(value)).encode() not in content


def test_a_ledger_opened_again_goes_on_where_it_was(ledger: Ledger, secret: Sensitive) -> None:
    releases(ledger, secret, 2)
    again = Ledger(ledger.path)
    releases(again, secret, 1)
    assert again.balance(DATASET) == ledger.balance(DATASET)
    assert str(again.balance(DATASET).spent) == "1.5"


def test_a_replaced_file_is_noticed(ledger: Ledger, tmp_path: Path, secret: Sensitive) -> None:
    other = Ledger.create(tmp_path / "other.db")
    other.close()
    ledger.close()
    ledger.balances()
    other.path.replace(ledger.path)
    with pytest.raises(BudgetExceededError, match="no privacy budget"):
        releases(ledger, secret, 1)


def test_threads_share_a_ledger(ledger: Ledger, secret: Sensitive) -> None:
    barrier = threading.Barrier(4)

    def spend(_: int) -> int:
        barrier.wait()
        done = 0
        for _ in range(4):
            try:
                releases(ledger, secret, 1)
                done += 1
            except BudgetExceededError:
                break
        return done

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(4))) == 6
    assert ledger.balance(DATASET).left == 0
    assert ledger.verify().ok


@pytest.mark.parametrize("statement", ["UPDATE entries SET amount = '0'", "DELETE FROM entries"])
def test_triggers_refuse_changes(statement: str, ledger: Ledger) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        tamper(ledger, statement, triggers=True)


TAMPERING: dict[str, tuple[str, ...]] = {
    "a changed amount": ("UPDATE entries SET amount = '0.1' WHERE sequence = 3",),
    "changed totals": ("UPDATE entries SET spent = '0.1' WHERE sequence = 4",),
    "a changed purpose": (
        "UPDATE entries SET detail = replace(detail, 'release 0', 'other') WHERE sequence = 3",
    ),
    "a raised budget": ("UPDATE entries SET amount = '9', granted = '9' WHERE sequence = 2",),
    "a removed entry": ("DELETE FROM entries WHERE sequence = 3",),
    "a removed tail": ("DELETE FROM entries WHERE sequence = 5",),
    "swapped entries": (
        "UPDATE entries SET sequence = 99 WHERE sequence = 3",
        "UPDATE entries SET sequence = 3 WHERE sequence = 4",
        "UPDATE entries SET sequence = 4 WHERE sequence = 99",
    ),
    "a copied entry": (
        "INSERT INTO entries SELECT 6, kind, dataset, recipient, day, alpha, unit, days, amount, granted, "
        "spent, most_per_release, who, time, detail, hash, 'x' FROM entries WHERE sequence = 5",
    ),
    "an entry that is no text": ("UPDATE entries SET detail = x'00ff' WHERE sequence = 3",),
    "a missing genesis": ("DELETE FROM entries WHERE sequence = 1",),
    "no entries at all": ("DELETE FROM entries",),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_shows(name: str, ledger: Ledger, secret: Sensitive) -> None:
    releases(ledger, secret, 3)
    assert ledger.verify().ok
    tamper(ledger, *TAMPERING[name])
    assert not ledger.verify().ok


@pytest.mark.parametrize("name", ["a changed amount in the head", "a removed tail", "changed totals"])
def test_a_tampered_end_stops_releases(name: str, ledger: Ledger, secret: Sensitive) -> None:
    releases(ledger, secret, 3)
    statements = TAMPERING | {
        "a changed amount in the head": ("UPDATE entries SET amount = '0' WHERE sequence = 5",)
    }
    tamper(ledger, *[text.replace("sequence = 4", "sequence = 5") for text in statements[name]])
    with pytest.raises(LedgerError, match="published hash"):
        releases(ledger, secret, 1)


def test_missing_triggers_show(ledger: Ledger) -> None:
    tamper(ledger, "DROP TRIGGER entries_are_not_deleted", triggers=True)
    assert any("triggers" in finding for finding in ledger.verify().findings)


def rewrite(ledger: Ledger, secret: Sensitive) -> None:
    """Cut off the tail consistently: entries and counter."""
    tamper(
        ledger,
        "DELETE FROM entries WHERE sequence = 5",
        "UPDATE sqlite_sequence SET seq = 4 WHERE name = 'entries'",
    )


def put_back(ledger: Ledger, secret: Sensitive) -> None:
    """Put back the copy that was made before the last release."""
    ledger.path.with_suffix(".copy").replace(ledger.path)


@pytest.mark.parametrize("attack", [rewrite, put_back])
def test_a_published_hash_reveals_what_the_chain_cannot(
    attack: Callable[[Ledger, Sensitive], None], ledger: Ledger, secret: Sensitive
) -> None:
    releases(ledger, secret, 2)
    ledger.close()
    ledger.path.with_suffix(".copy").write_bytes(ledger.path.read_bytes())
    receipt = releases(ledger, secret, 1)[0].receipt
    assert receipt is not None
    ledger.close()
    attack(ledger, secret)
    assert ledger.verify().ok, "a consistent forgery looks right from inside"
    assert not ledger.verify([receipt.entry_hash]).ok


def test_an_undercharged_release_shows(
    ledger: Ledger, secret: Sensitive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppsm.privacy.ledger.balance.price", lambda *_: Decimal("0.4"))
    releases(ledger, secret, 1)
    assert any("less than the loss" in finding for finding in ledger.verify().findings)


def test_an_unknown_data_set_is_named(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="no data set 'other'"):
        ledger.balance("other")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_grants_must_be_positive(epsilon: float, ledger: LedgerKeeper) -> None:
    with pytest.raises(InputError, match="epsilon"):
        ledger.grant(DATASET, epsilon=epsilon)
    assert str(ledger.balance(DATASET).granted) == "3.0"


@pytest.fixture
def budget_of_one(tmp_path: Path) -> LedgerKeeper:
    ledger = Ledger.create(tmp_path / "one.db")
    ledger.grant(DATASET, epsilon=1.0, alpha=100.0, unit="MWh")
    return ledger


ELSEWHERE = f"""
import sys
from ppsm.privacy import LaplaceMechanism, Ledger, Sensitive
secret = Sensitive([1.0], dataset="{DATASET}", unit="MWh")
LaplaceMechanism(alpha=100.0).release(secret, ledger=Ledger(sys.argv[1]), purpose="race")
"""


def went_through(secret: Sensitive, ledger: Ledger) -> bool:
    """Whether a release by this process goes through, whose ledger stays open."""
    try:
        LaplaceMechanism(alpha=100.0).release(secret, ledger=ledger, purpose="race")
    except (LedgerError, BudgetExceededError):
        return False
    return True


def goes_through_elsewhere(path: Path) -> bool:
    """The same by another process: within one, SQLite knows a file by more than its name."""
    command = [sys.executable, "-c", ELSEWHERE, str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603


def test_a_hard_link_lets_nothing_through_twice(
    budget_of_one: LedgerKeeper, tmp_path: Path, secret: Sensitive
) -> None:
    link = tmp_path / "link.db"
    link.hardlink_to(budget_of_one.path)
    assert not went_through(secret, budget_of_one)
    assert not goes_through_elsewhere(link)
    link.unlink()
    assert goes_through_elsewhere(budget_of_one.path)
    assert not went_through(secret, budget_of_one)


def test_a_rename_while_open_lets_nothing_through_twice(
    budget_of_one: LedgerKeeper, tmp_path: Path, secret: Sensitive
) -> None:
    """The first release is charged by a ledger that stays open; the file then goes by another name."""
    budget_of_one.close()  # what follows is all that the open ledger has written
    assert went_through(secret, budget_of_one)
    moved = budget_of_one.path.rename(tmp_path / "moved.db")
    assert not goes_through_elsewhere(moved)
    assert not went_through(secret, budget_of_one)


def test_a_file_that_is_replaced_in_the_middle_of_a_charge_gets_none(
    budget_of_one: LedgerKeeper, tmp_path: Path
) -> None:
    def replaced() -> None:
        with budget_of_one._file.transaction(write=True):
            budget_of_one.path.rename(tmp_path / "moved.db")
            Ledger.create(budget_of_one.path)

    with pytest.raises(LedgerError, match="was replaced while it was written"):
        replaced()


def test_a_ledger_is_one_file(budget_of_one: LedgerKeeper, tmp_path: Path, secret: Sensitive) -> None:
    """Also after another program has switched it to a write-ahead log; its journal holds nothing."""
    budget_of_one.close()
    with closing(sqlite3.connect(budget_of_one.path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert went_through(secret, budget_of_one)
    assert {path.name for path in tmp_path.iterdir()} == {"one.db", "one.db-journal"}
    assert not any((tmp_path / "one.db-journal").read_bytes()[:28])
    alone = tmp_path / "copy" / "one.db"
    alone.parent.mkdir()
    alone.write_bytes(budget_of_one.path.read_bytes())
    assert not went_through(secret, Ledger(alone))  # what was charged is in the file itself


def test_charges_leave_the_directory_alone(ledger: LedgerKeeper, secret: Sensitive) -> None:
    """A journal that is made and removed for each charge costs two waits for the disk."""
    releases(ledger, secret, 1)
    journal = ledger.path.with_name(ledger.path.name + "-journal")
    before = journal.stat().st_ino, ledger.path.parent.stat().st_mtime_ns
    releases(ledger, secret, 3)
    assert (journal.stat().st_ino, ledger.path.parent.stat().st_mtime_ns) == before


def test_the_journal_of_another_ledger_of_that_name_changes_nothing(
    budget_of_one: LedgerKeeper, tmp_path: Path, secret: Sensitive
) -> None:
    assert went_through(secret, budget_of_one)
    budget_of_one.close()
    budget_of_one.path.rename(tmp_path / "moved.db")
    other = Ledger.create(budget_of_one.path)
    assert other.verify().entries == 1
    assert not went_through(secret, Ledger(tmp_path / "moved.db"))


def test_a_symbolic_link_leads_to_the_same_ledger(
    budget_of_one: LedgerKeeper, tmp_path: Path, secret: Sensitive
) -> None:
    link = tmp_path / "symbolic.db"
    link.symlink_to(budget_of_one.path)
    assert Ledger(link).path == budget_of_one.path
    assert went_through(secret, Ledger(link))
    assert not went_through(secret, budget_of_one)


def test_a_fingerprint_needs_the_key_of_the_ledger(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.create(tmp_path / "other.db")
    assert ledger.fingerprint(b"demand") == ledger.fingerprint(b"demand")
    assert ledger.fingerprint(b"demand") != other.fingerprint(b"demand")
    assert ledger.name != other.name
