"""The rows' files: complete or not at all, each key once, whatever was interrupted."""

from pathlib import Path

import pytest

from ppsm.errors import InputError
from ppsm.experiments import RowStore
from ppsm.experiments.row import Row
from tests.experiments.small import a_failed_row as failed
from tests.experiments.small import a_row as row


def test_rows_come_back_in_order_and_once(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([row(repetition=1), failed(repetition=2)])
    store.append([row(repetition=0)])
    store.append([row(repetition=0)])  # the same again is the same file
    assert [each.repetition for each in store.rows()] == [0, 1, 2]
    assert len(list(store.parts.iterdir())) == 2
    assert store.rows()[2].l1_released is None
    before = store.rows()
    store.compact()
    assert not list(store.parts.iterdir())
    assert store.rows() == before


def test_columns_that_begin_empty_keep_their_type(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([failed(repetition=0)])
    store.append([row(repetition=1)])
    store.compact()
    store.append([row(repetition=2)])
    store.compact()
    assert [each.l1_released for each in store.rows()] == [None, 300.0, 300.0]


def test_a_compaction_that_was_killed_doubles_nothing(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([row()])
    (part,) = store.parts.iterdir()
    content = part.read_bytes()
    store.compact()
    part.write_bytes(content)  # killed before the parts were removed
    assert len(store.rows()) == 1


def test_a_write_that_was_killed_is_not_seen(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([row()])
    (part,) = store.parts.iterdir()
    (store.parts / "other.parquet.tmp").write_bytes(part.read_bytes()[:100])
    assert len(store.rows()) == 1


def test_a_row_of_another_try_takes_the_place_of_one_that_failed(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([failed(repetition=0), row(repetition=1)])
    store.compact()
    store.append([row(repetition=0)])
    assert [each.status for each in store.rows()] == ["optimal", "optimal"]
    store.append([failed(repetition=1)])
    assert [each.status for each in store.rows()] == ["optimal", "optimal"]


def test_what_is_missing_of_a_grid(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    ten, thirty = ([row(repetition=number).key for number in range(count)] for count in (10, 30))
    store.note_grid("ten", ten)
    store.append([row(repetition=number) for number in range(4)])
    assert store.missing() == {"ten": (6, 10)}
    store.note_grid("thirty", thirty)
    store.append([row(repetition=number) for number in range(4, 30)])
    assert store.missing() == {}


@pytest.mark.parametrize("file", ["rows.parquet", "originals.json"])
def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path, file: str) -> None:
    (tmp_path / file).mkdir()
    store = RowStore(tmp_path)
    with pytest.raises(IsADirectoryError):
        store.rows() if file == "rows.parquet" else store.originals()


def test_a_foreign_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"no rows")
    with pytest.raises(InputError, match="holds no rows of an experiment"):
        RowStore(tmp_path).rows()


def test_rows_keep_their_types_and_the_files_their_mode(tmp_path: Path) -> None:
    store = RowStore(tmp_path, mode=0o600)
    given = row(gas_stress=None, truth_in_bands=True, fidelity_nodes=7, seed=2**62, decision_note="none")
    store.append([given])
    assert store.rows() == [given]
    (part,) = store.parts.iterdir()
    assert part.stat().st_mode & 0o777 == 0o600
    assert Row.from_dict(given.to_dict()) == given


def test_rows_of_a_grid_come_in_its_order(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([row(repetition=number) for number in range(3)])
    keys = [row(repetition=number).key for number in (2, 5, 0)]
    assert [each.repetition for each in store.rows_of(keys)] == [2, 0]
