"""The states of a private release: order of events, a disk that fails, what is gone on with."""

import errno
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ppsm import Ledger, Sensitive, load_case
from ppsm.cases import read_demand
from ppsm.cli import app
from ppsm.coordinations import GaucCoordination
from ppsm.errors import BudgetExceededError, FileFormatError, InputError, LedgerError
from ppsm.mechanism import PPSM, Dossier, Laplace
from ppsm.owner.private_release import KEPT, Granted, Written, cell_name, one_at_a_time
from ppsm.owner.release_files import DOSSIER, EVALUATION, RELEASED, read_release
from ppsm.privacy import LedgerKeeper, PublishedFigures

CASE = load_case("two_node")
MECHANISM = Laplace(alpha=300.0)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A directory with nothing beside it: releases of other tests are charged to other ledgers."""
    alone = tmp_path / "alone"
    alone.mkdir()
    return alone


@pytest.fixture(scope="module")
def game() -> GaucCoordination:
    return GaucCoordination(CASE, 0.0, time_limit=1.0)


def secret_of(demand: float = 812.3456789) -> Sensitive:
    return Sensitive([demand], dataset="gas", unit="MWh", entry_names=CASE.delivery_ids)


def begin(
    directory: Path,
    secret: Sensitive | None = None,
    mechanism: Laplace = MECHANISM,
    *,
    book: Path | None = None,
    after: Sequence[Path] = (),
) -> Granted:
    owner = directory / "owner"
    owner.mkdir(exist_ok=True)
    data = secret_of() if secret is None else secret
    ledger = book or directory / "ledger.db"
    if not ledger.exists():
        Ledger.create(ledger).grant("gas", epsilon=1.0, alpha=300.0, unit="MWh")
    return Granted.begin(
        mechanism, data, cell_name(CASE, 0.0), directory=directory, owner=owner, ledger=ledger, after=after
    )


def kinds(directory: Path) -> list[str]:
    return [entry.kind for entry in Ledger(directory / "ledger.db").entries()]


def test_each_state_leaves_on_the_disk_what_it_says(tmp_path: Path, game: GaucCoordination) -> None:
    granted = begin(tmp_path)
    assert kinds(tmp_path) == ["genesis", "grant"]
    assert not granted.noise_is_kept
    noisy = granted.draw(game, None)
    assert kinds(tmp_path) == ["genesis", "grant", "spend"]
    assert (tmp_path / "owner" / KEPT).stat().st_mode & 0o077 == 0
    restored = noisy.restore()
    assert granted.noise_is_kept
    assert not (tmp_path / RELEASED).exists()
    written = restored.write()
    assert not granted.noise_is_kept
    dossier = Dossier.from_json((tmp_path / DOSSIER).read_text())
    assert dossier.released.values == pytest.approx(written.release.released.values)
    assert dossier.evaluation is None
    outcome = game.clear(dossier.released.values)
    written.evaluated(outcome)
    again = read_release(tmp_path)
    assert again is not None
    assert again.evaluation is not None
    assert again.evaluation.leader_cost == outcome.leader_cost
    with pytest.raises(InputError, match=r"no release replaces another: choose another directory, such as"):
        begin(tmp_path)
    for name in (RELEASED, DOSSIER, EVALUATION):
        (tmp_path / name).unlink()
    with pytest.raises(BudgetExceededError):
        begin(tmp_path)


def test_a_file_that_is_called_like_an_evaluation_is_no_release_s_to_remove(
    tmp_path: Path, game: GaucCoordination
) -> None:
    (tmp_path / EVALUATION).write_text("node,demand_mwh\nhomes,812.3456789\n")
    with pytest.raises(InputError, match=r"holds something else in evaluation\.json, and"):
        begin(tmp_path)
    with pytest.raises(InputError, match=r"evaluation\.json"):
        Written.to(tmp_path, CASE, MECHANISM.simulate(secret_of(), game, seed=1))
    assert "812.3456789" in (tmp_path / EVALUATION).read_text()
    assert kinds(tmp_path) == ["genesis", "grant"]


def test_a_second_release_or_a_seeded_one_never_replaces_the_first(
    tmp_path: Path, game: GaucCoordination
) -> None:
    begin(tmp_path).draw(game, None).restore().write()
    before = {name: (tmp_path / name).read_bytes() for name in (RELEASED, DOSSIER)}
    LedgerKeeper(tmp_path / "ledger.db").grant("gas", epsilon=5.0)
    with pytest.raises(InputError, match="PRIVATE, epsilon = 1 at alpha = 300 MWh"):
        begin(tmp_path)
    seeded = MECHANISM.simulate(secret_of(), game, seed=1)
    with pytest.raises(InputError, match="no release replaces another"):
        Written.to(tmp_path, CASE, seeded)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert kinds(tmp_path) == ["genesis", "grant", "spend", "grant"]
    # research may repeat itself, and is not taken for a private release
    (tmp_path / "research").mkdir()
    for _ in range(2):
        Written.to(tmp_path / "research", CASE, seeded)
    with pytest.raises(InputError, match="NOT PRIVATE"):
        begin(tmp_path / "research")


def test_the_released_file_says_what_it_is(tmp_path: Path, game: GaucCoordination) -> None:
    written = begin(tmp_path).draw(game, None).restore().write()
    lines = (tmp_path / RELEASED).read_text().splitlines()
    digest = hashlib.sha256((tmp_path / DOSSIER).read_bytes()).hexdigest()
    day = written.release.noisy.record.time.strftime("%Y-%m-%d")
    assert lines[0].startswith("# ppsm release of 'gas': PRIVATE, epsilon = 1 at alpha = 300 MWh; all")
    assert lines[1:4] == [f"# day {day} (UTC)", f"# dossier.json has the SHA-256 {digest}", "node,demand_mwh"]
    read = read_demand(tmp_path / RELEASED, CASE, allow_negative=True)
    assert read == pytest.approx(written.release.released.values)
    written.evaluated(game.clear(read))
    assert digest == hashlib.sha256((tmp_path / DOSSIER).read_bytes()).hexdigest()


def test_a_ledger_that_has_forgotten_its_release_is_refused(tmp_path: Path, game: GaucCoordination) -> None:
    """The tail is cut off and the counter repaired: inside, all is well."""
    first, second, path = tmp_path / "first", tmp_path / "second", tmp_path / "ledger.db"
    for directory in (first, second):
        directory.mkdir()
    begin(first, book=path).draw(game, None).restore().write()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        trigger = connection.execute("SELECT sql FROM sqlite_master WHERE name LIKE '%deleted'").fetchone()[0]
        connection.execute("DROP TRIGGER entries_are_not_deleted")
        connection.execute("DELETE FROM entries WHERE sequence = 3")
        connection.execute("UPDATE sqlite_sequence SET seq = 2 WHERE name = 'entries'")
        connection.execute(trigger)
    assert Ledger(path).verify().ok
    for directory in (first, second):
        with pytest.raises(LedgerError, match=r"first and has forgotten it"):
            begin(directory, book=path)
    verified = CliRunner().invoke(
        app, ["ledger", "verify", "--ledger", str(path), "--dossier", str(tmp_path)]
    )
    assert isinstance(verified.exception, LedgerError)
    assert "is not in the chain" in str(verified.exception)


def test_a_second_ledger_beside_an_earlier_release_is_refused(tmp_path: Path, game: GaucCoordination) -> None:
    """What two ledgers let through adds up, and neither knows of the other."""
    first, second = tmp_path / "shared" / "first", tmp_path / "shared" / "second"
    elsewhere = tmp_path / "elsewhere" / "third"
    for directory in (first, second, elsewhere):
        directory.mkdir(parents=True)
    begin(first, book=tmp_path / "one.db").draw(game, None).restore().write()
    other = tmp_path / "other.db"
    for directory in (first, second):
        with pytest.raises(
            LedgerError, match=r"Another ledger than .*other\.db charged the release of 'gas'"
        ):
            begin(directory, book=other)
    assert [entry.kind for entry in Ledger(other).entries()] == ["genesis", "grant"]
    assert begin(elsewhere, book=other).kept is None
    LedgerKeeper(other).grant("power", epsilon=1.0, alpha=300.0, unit="MWh")
    apart = Sensitive([800.0], dataset="power", unit="MWh", entry_names=CASE.delivery_ids)
    assert begin(second, apart, book=other).kept is None


def test_a_directory_that_is_not_there_yet_has_a_past_beside_it(
    tmp_path: Path, game: GaucCoordination
) -> None:
    first, book, owner = tmp_path / "first", tmp_path / "ledger.db", tmp_path / "owner"
    for directory in (first, owner):
        directory.mkdir()
    begin(first, book=book).draw(game, None).restore().write()
    LedgerKeeper(book).grant("gas", epsilon=1.0)
    Ledger.create(tmp_path / "other.db").grant("gas", epsilon=1.0, alpha=300.0, unit="MWh")

    def begun(ledger: Path) -> Granted:
        there = tmp_path / "second"
        cell = cell_name(CASE, 0.0)
        return Granted.begin(MECHANISM, secret_of(), cell, directory=there, owner=owner, ledger=ledger)

    assert begun(book).kept is None
    with pytest.raises(LedgerError, match=r"Another ledger than .*other\.db charged"):
        begun(tmp_path / "other.db")


def test_without_a_place_for_charged_noise_nothing_begins(tmp_path: Path) -> None:
    begin(tmp_path)
    nowhere, cell, book = tmp_path / "nowhere", cell_name(CASE, 0.0), tmp_path / "ledger.db"
    with pytest.raises(InputError, match=r"There is no directory .*nowhere, where noise is kept"):
        Granted.begin(MECHANISM, secret_of(), cell, directory=tmp_path, owner=nowhere, ledger=book)
    assert kinds(tmp_path) == ["genesis", "grant"]


def test_an_old_copy_of_a_ledger_does_not_go_on_from_a_release_that_it_does_not_know(
    tmp_path: Path, game: GaucCoordination
) -> None:
    """A new directory tells nothing of the past; the owner does."""
    first, second, book = tmp_path / "a" / "first", tmp_path / "b" / "second", tmp_path / "ledger.db"
    for directory in (first, second):
        directory.mkdir(parents=True)
    begin(first, book=book)
    old = book.read_bytes()
    begin(first, book=book).draw(game, None).restore().write()
    LedgerKeeper(book).grant("gas", epsilon=1.0)
    assert begin(second, book=book, after=[first / DOSSIER]).kept is None
    assert begin(second, book=book, after=[first.parent]).kept is None
    book.write_bytes(old)
    assert begin(second, book=book).kept is None
    for after in (first, first / DOSSIER):
        with pytest.raises(LedgerError, match=r"first/dossier\.json, after which this one was to come"):
            begin(second, book=book, after=[after])
    for empty in ([second], [first, second], [second, first]):
        with pytest.raises(FileFormatError, match=r"there is no dossier\.json below .*second; give"):
            begin(second, book=book, after=empty)
    seeded = MECHANISM.simulate(secret_of(), game, seed=1)
    (tmp_path / "c").mkdir()
    Written.to(tmp_path / "c", CASE, seeded)
    with pytest.raises(LedgerError, match="or that release is not private"):
        begin(second, book=book, after=[tmp_path / "c"])
    assert kinds(tmp_path) == ["genesis", "grant"]


def test_copies_of_an_interrupted_release_have_one_noise(tmp_path: Path, game: GaucCoordination) -> None:
    """Each goes on by itself, after the one charge; a link that lies in wait there is not followed."""
    first, copy, book = tmp_path / "first", tmp_path / "copy", tmp_path / "ledger.db"
    first.mkdir()
    begin(first, book=book).draw(game, None)
    shutil.copytree(first, copy)
    (copy / RELEASED).symlink_to(tmp_path / "elsewhere.csv")
    written = [begin(each, book=book).draw(game, None).restore().write() for each in (first, copy)]
    values = [each.release.noisy.values.tolist() for each in written]
    assert values[0] == values[1]
    assert kinds(tmp_path) == ["genesis", "grant", "spend"]
    assert not (tmp_path / "elsewhere.csv").exists()
    assert not (copy / RELEASED).is_symlink()


def test_a_damaged_dossier_beside_a_release_does_not_stop_it(tmp_path: Path, game: GaucCoordination) -> None:
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "other" / DOSSIER).write_bytes(b"\xff\xfe\xb1")
    begin(tmp_path / "mine", book=tmp_path / "ledger.db").draw(game, None).restore().write()
    with pytest.raises(InputError, match=r"dossier\.json is no text"):
        read_release(tmp_path / "other")


def test_two_releases_do_not_share_a_directory_at_the_same_time(tmp_path: Path) -> None:
    with one_at_a_time(tmp_path), pytest.raises(InputError, match="at work"), one_at_a_time(tmp_path):
        pass


def test_kept_noise_does_not_tell_the_demand_to_who_guesses_it(
    tmp_path: Path, game: GaucCoordination
) -> None:
    """Its mark is keyed by the ledger: no hash of the demand alone appears anywhere."""
    begin(tmp_path).draw(game, None)
    kept = (tmp_path / "owner" / KEPT).read_text()
    values = np.array([812.3456789])
    for content in (values.tobytes(), repr(values.tolist()).encode(), b"812.3456789"):
        for name in ("md5", "sha1", "sha256", "sha512", "blake2b"):
            assert hashlib.new(name, content).hexdigest()[:12] not in kept


def test_the_noise_is_forgotten_once_the_files_are_synced(
    tmp_path: Path, game: GaucCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored = begin(tmp_path).draw(game, None).restore()
    events: list[str] = []
    sync, replace, unlink = os.fsync, Path.replace, Path.unlink

    def noted_sync(handle: int) -> None:
        sync(handle)
        events.append("sync")

    def noted_replace(self: Path, target: Path) -> Path:
        events.append(target.name)
        return replace(self, target)

    def noted_unlink(self: Path, missing_ok: bool = False) -> None:
        if self.name == KEPT:
            events.append("forgotten")
        unlink(self, missing_ok=missing_ok)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    monkeypatch.setattr(Path, "unlink", noted_unlink)
    restored.write()
    assert events == ["sync", DOSSIER, "sync", "sync", RELEASED, "sync", "forgotten"]


@pytest.mark.parametrize("working", range(4))
def test_a_full_disk_leaves_the_noise_to_go_on_from(
    working: int, tmp_path: Path, game: GaucCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever sync of the two files and their directory fails, the next call goes on without a charge."""
    noisy = begin(tmp_path).draw(game, None)
    sync, count = os.fsync, iter(range(10))

    def failing(handle: int) -> None:
        if next(count) == working:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="No space left"):
            noisy.restore().write()
    assert not (tmp_path / RELEASED).exists() or working == 3
    resumed = begin(tmp_path)
    assert resumed.kept is not None
    written = resumed.draw(game, None).restore().write()
    assert written.release.noisy.values.tolist() == noisy.noisy.values.tolist()
    assert kinds(tmp_path) == ["genesis", "grant", "spend"]
    assert not resumed.noise_is_kept


@pytest.fixture(scope="module")
def published(game: GaucCoordination) -> PublishedFigures:
    result = game.market_result(CASE.demand_mwh(0.0))
    return PublishedFigures.rounded(
        result, day="2026-01-15", source="market report", value_step=1.0, price_step=0.01
    )


def test_a_publication_is_noted_once(
    tmp_path: Path, game: GaucCoordination, published: PublishedFigures
) -> None:
    granted = begin(tmp_path)
    public = granted.rest_on(published)
    granted.draw(game, public)
    resumed = begin(tmp_path)
    again = resumed.rest_on(published)
    assert kinds(tmp_path) == ["genesis", "grant", "publication", "spend"]
    assert again.publication.to_dict() == public.publication.to_dict()
    assert again.seed == public.seed


def test_a_release_that_goes_on_neither_hides_nor_adds_a_publication(
    tmp_path: Path, game: GaucCoordination, published: PublishedFigures
) -> None:
    open_case, silent_case = tmp_path / "open", tmp_path / "silent"
    for directory in (open_case, silent_case):
        directory.mkdir()
    granted = begin(open_case)
    granted.draw(game, granted.rest_on(published))
    with pytest.raises(InputError, match="drawn beside published figures of the true data"):
        begin(open_case).draw(game, None)
    result = replace(published.result, value=published.result.value + 1.0)
    with pytest.raises(InputError, match="drawn beside other published figures than these"):
        begin(open_case).rest_on(replace(published, result=result))
    begin(silent_case).draw(game, None)
    with pytest.raises(InputError, match="drawn without a publication"):
        begin(silent_case).rest_on(published)
    assert kinds(silent_case) == ["genesis", "grant", "spend"]


def test_noise_of_another_release_is_refused(tmp_path: Path, game: GaucCoordination) -> None:
    begin(tmp_path).draw(game, None)
    with pytest.raises(InputError, match="another demand or setting"):
        begin(tmp_path, secret_of(700.0))
    with pytest.raises(InputError, match="made for alpha = 300"):
        begin(tmp_path, mechanism=Laplace(alpha=200.0))
    file = tmp_path / "owner" / KEPT
    text = file.read_text()
    file.write_text(text.replace('"entry_hash": "', '"entry_hash": "0'))
    with pytest.raises(LedgerError, match="has not charged the noisy vector"):
        begin(tmp_path)
    file.write_text(text[:100])
    with pytest.raises(FileFormatError, match="cannot be read"):
        begin(tmp_path)


def test_a_budget_for_the_entries_alone_is_refused_before_any_work(tmp_path: Path) -> None:
    """A total beside the entries may cost a last digit more than they would alone."""
    mechanism, data = PPSM(alpha=300.0), secret_of()
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.grant("gas", epsilon=0.1 / 300.0, alpha=0.1, unit="MWh")
    mechanism.noise.check_budget(data, ledger)
    with pytest.raises(BudgetExceededError):
        begin(tmp_path, data, mechanism)
    assert kinds(tmp_path) == ["genesis", "grant"]
