"""The states of a private release: order of events, a disk that fails, what is gone on with."""

import errno
import os
from pathlib import Path

import pytest

from ppsm import Ledger, Sensitive, load_case
from ppsm.coordinations import GaucCoordination
from ppsm.errors import BudgetExceededError, FileFormatError, InputError, LedgerError
from ppsm.mechanism import Dossier, Laplace
from ppsm.owner.private_release import KEPT, Granted, cell_name
from ppsm.owner.release_files import DOSSIER, RELEASED

CASE = load_case("two_node")
MECHANISM = Laplace(alpha=300.0)


@pytest.fixture(scope="module")
def game() -> GaucCoordination:
    return GaucCoordination(CASE, 0.0)


def secret_of(demand: float = 812.3456789) -> Sensitive:
    return Sensitive([demand], dataset="gas", unit="MWh", entry_names=CASE.delivery_ids)


def begin(directory: Path, secret: Sensitive | None = None, mechanism: Laplace = MECHANISM) -> Granted:
    owner = directory / "owner"
    owner.mkdir(exist_ok=True)
    data = secret_of() if secret is None else secret
    return Granted.begin(mechanism, data, cell_name(CASE, 0.0), directory=directory, owner=owner)


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
    again = Dossier.from_json((tmp_path / DOSSIER).read_text())
    assert again.evaluation is not None
    assert again.evaluation.leader_cost == outcome.leader_cost
    with pytest.raises(BudgetExceededError):
        begin(tmp_path)


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
    assert events == ["sync", RELEASED, "sync", "sync", DOSSIER, "sync", "forgotten"]


@pytest.mark.parametrize("working", range(4))
def test_a_full_disk_leaves_the_noise_to_go_on_from(
    working: int, tmp_path: Path, game: GaucCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever sync of the two files and their directory fails, the next call goes on without a charge."""
    noisy = begin(tmp_path).draw(game, None)
    (tmp_path / DOSSIER).write_text("old")
    sync, count = os.fsync, iter(range(10))

    def failing(handle: int) -> None:
        if next(count) == working:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="No space left"):
            noisy.restore().write()
    assert (tmp_path / DOSSIER).read_text() == "old" or working == 3
    resumed = begin(tmp_path)
    assert resumed.kept is not None
    written = resumed.draw(game, None).restore().write()
    assert written.release.noisy.values.tolist() == noisy.noisy.values.tolist()
    assert kinds(tmp_path) == ["genesis", "grant", "spend"]
    assert not resumed.noise_is_kept


def test_a_publication_is_made_once(tmp_path: Path, game: GaucCoordination) -> None:
    granted = begin(tmp_path)
    public = granted.publish(game)
    granted.draw(game, public)
    resumed = begin(tmp_path)
    again = resumed.publish(game)
    assert kinds(tmp_path) == ["genesis", "grant", "publication", "spend"]
    assert again.publication.to_dict() == public.publication.to_dict()
    assert again.seed == public.seed


def test_a_release_that_goes_on_neither_hides_nor_adds_a_publication(
    tmp_path: Path, game: GaucCoordination
) -> None:
    open_case, silent_case = tmp_path / "open", tmp_path / "silent"
    for directory in (open_case, silent_case):
        directory.mkdir()
    granted = begin(open_case)
    granted.draw(game, granted.publish(game))
    with pytest.raises(InputError, match="drawn beside published figures of the true data"):
        begin(open_case).draw(game, None)
    begin(silent_case).draw(game, None)
    with pytest.raises(InputError, match="drawn without a publication"):
        begin(silent_case).publish(game)
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
