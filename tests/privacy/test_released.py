"""Released data travel as JSON and do not come back as more than they were."""

import json
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from ppsm.errors import FileFormatError, InputError, PrivacyError
from ppsm.privacy import LaplaceMechanism, Ledger, NoiseSource, Released, ReleaseRecord, Sensitive


@pytest.fixture
def released(secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger) -> Released:
    return mechanism.release(secret, ledger=ledger, purpose="test")


def test_json_round_trip_is_exact(released: Released, ledger: Ledger) -> None:
    again = Released.from_json(released.to_json())
    assert again.values.tolist() == released.values.tolist()
    assert (again.record, again.receipt, again.entry_names, again.unit) == (
        released.record,
        released.receipt,
        released.entry_names,
        released.unit,
    )
    assert ledger.confirm(again)


def test_simulations_travel_as_not_private(
    secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger
) -> None:
    again = Released.from_json(mechanism.simulate(secret, seed=1).to_json())
    assert not again.private
    assert not ledger.confirm(again)


def _forge(text: str, **changes: Any) -> str:
    content = json.loads(text)
    for path, value in changes.items():
        where = content
        *parents, last = path.split("__")
        for parent in parents:
            where = where[parent]
        where[last] = value
    return json.dumps(content)


def test_a_simulation_cannot_claim_to_be_private(secret: Sensitive, mechanism: LaplaceMechanism) -> None:
    text = mechanism.simulate(secret, seed=1).to_json()
    for changes in (
        {"private": True},
        {"record__private": True},
        {"private": True, "record__private": True},
        {"private": True, "record__private": True, "record__source": "secure"},
        {"private": True, "record__private": True, "record__source": "secure", "record__seed": None},
    ):
        with pytest.raises((FileFormatError, PrivacyError)):
            Released.from_json(_forge(text, **changes))


def test_a_forged_receipt_is_not_confirmed(released: Released, ledger: Ledger) -> None:
    text = released.to_json()
    for changes in (
        {"receipt__entry_hash": "0" * 64},
        {"receipt__sequence": 1},
        {"record__purpose": "another"},
        {"record__epsilon": 7.0},
        {"receipt__charged": "0.1"},
        {"receipt__account__alpha": 1.0},
        {"receipt__account__spent": "0.5"},
        {"receipt__ledger": "another"},
    ):
        assert not ledger.confirm(Released.from_json(_forge(text, **changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other/1"},
        {"values": [1.0]},
        {"values": [1.0, 2.0, None]},
        {"values": "abc"},
        {"labels": ["a", "a", "b"]},
        {"labels": 3},
        {"record__unit": ""},
        {"record": None},
        {"record__alpha": 0},
        {"record__alpha": "1"},
        {"record__time": "yesterday"},
        {"record__time": "2026-01-01"},
        {"record__adjacency": "all entries"},
        {"record__dimension": 0},
        {"record__epsilon": 0.01},
        {"receipt__account__alpha": 0.0},
        {"receipt__account": None},
        {"receipt__account__spent": "-1"},
        {"receipt__account__windows": [1]},
        {"record__dataset": "no spaces please"},
        {"receipt": None},
        {"receipt__charged": "a lot"},
        {"receipt__charged": "NaN"},
        {"receipt__charged": "-1"},
        {"receipt__charged": [0, [1], 2]},
        {"receipt__sequence": 10**30},
        {"receipt__sequence": 0},
        {"record__time": "0001-01-01T00:00:00+23:59"},
        {"record__alpha": 10**400},
        {"labels": "abc"},
        {"labels": [1, 2, 3]},
        {"steps": "repair"},
        {"steps": [""]},
    ],
)
def test_bad_files_are_refused(changes: dict[str, Any], released: Released) -> None:
    with pytest.raises((FileFormatError, PrivacyError)):
        Released.from_json(_forge(released.to_json(), **changes))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"format": "ppsm-released/4"}', "not json", "[" * 100_000]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(FileFormatError):
        Released.from_json(text)


def test_a_release_of_an_older_version_is_told_in_one_sentence(released: Released) -> None:
    with pytest.raises(FileFormatError) as caught:
        Released.from_json(_forge(released.to_json(), format="ppsm-released/1"))
    assert str(caught.value) == (
        "The release is of format ppsm-released/1, and this version of ppsm reads ppsm-released/4: use the "
        "version that wrote it, or make it again."
    )


@pytest.mark.parametrize("field", ["private", "labels", "values", "totals", "steps", "record", "receipt"])
def test_missing_fields_are_named(field: str, released: Released) -> None:
    content = json.loads(released.to_json())
    del content[field]
    with pytest.raises(FileFormatError, match=field):
        Released.from_json(json.dumps(content))


def test_post_processing_keeps_the_record_and_names_the_step(released: Released) -> None:
    repaired = released.derive(np.maximum(released.values, 0.0), "fidelity")
    assert repaired.steps == ("fidelity",)
    assert repaired.record == released.record
    assert repaired.private
    assert Released.from_json(repaired.to_json()).steps == ("fidelity",)
    with pytest.raises(InputError):
        released.derive([1.0, float("nan"), 2.0], "fidelity")
    with pytest.raises(InputError):
        released.derive([1.0], "fidelity")


def test_released_data_do_not_change(released: Released) -> None:
    with pytest.raises(ValueError, match="read-only"):
        released.values[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        released.steps = ("none",)  # type: ignore[misc]


def test_receipts_belong_to_their_release(
    released: Released, secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger
) -> None:
    other = mechanism.release(secret, ledger=ledger, purpose="other")
    with pytest.raises(PrivacyError, match="another release"):
        replace(released, receipt=other.receipt)
    with pytest.raises(PrivacyError, match="receipt"):
        replace(released, receipt=None)


def _record(**changes: Any) -> ReleaseRecord:
    fields: dict[str, Any] = {
        "mechanism": "laplace",
        "alpha": 1.0,
        "epsilon": 1.0,
        "scale": 1.0,
        "unit": "MWh",
        "dimension": 1,
        "dataset": "x",
        "purpose": "test",
        "source": NoiseSource.SECURE,
        "time": datetime.now(UTC),
    }
    return ReleaseRecord(**(fields | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"source": NoiseSource.SEEDED},
        {"time": datetime(2026, 1, 1)},
        {"dimension": 0},
        {"scale": float("nan")},
        {"scale": 0.999},
        {"dataset": ""},
        {"dataset": "-starts-with-a-dash"},
        {"dataset": "a b"},
    ],
)
def test_records_refuse_contradictions(changes: dict[str, Any]) -> None:
    assert _record().private
    with pytest.raises(InputError):
        _record(**changes)
