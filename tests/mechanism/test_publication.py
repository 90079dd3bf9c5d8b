"""Publications: figures that the owner hands in, noted in the ledger; nothing here clears a market."""

import json
from pathlib import Path

import numpy as np
import pytest

from ppsm import Ledger, Sensitive
from ppsm.coordinations import GameCoordination
from ppsm.errors import BudgetExceededError, FileFormatError, InputError, PrivacyError
from ppsm.mechanism import PPSM, PublicOutcome
from ppsm.mechanism.coordination import published_decision
from ppsm.privacy import MarketResult, Publication, PublishedFigures, note_publication

from .conftest import DATASET, TRUTH, published

RESULT = MarketResult(1234.0, np.array([1.25, 3.0]), ("west", "east"), 15.0)


def figures(**changes: object) -> PublishedFigures:
    given = {
        "result": RESULT,
        "day": "2026-01-15",
        "source": "market report",
        "value_step": 1.0,
        "price_step": 0.01,
    }
    return PublishedFigures(**{**given, **changes})  # type: ignore[arg-type]


def test_a_publication_is_noted_and_costs_nothing(ledger: Ledger) -> None:
    publication = note_publication(figures(), dataset=DATASET, ledger=ledger)
    entry = ledger.entries()[-1]
    assert (entry.kind, entry.hash, entry.dataset) == ("publication", publication.entry_hash, DATASET)
    assert json.loads(entry.detail)["figures"]["value"] == 1234.0
    assert ledger.balance(DATASET).spent == 0
    assert ledger.verify([entry.hash]).ok
    assert publication.noted_by(ledger)
    again = Publication.from_dict(json.loads(json.dumps(publication.to_dict())))
    assert again.to_dict() == publication.to_dict()
    assert again.noted_by(ledger)


def test_figures_travel_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "published.json"
    file.write_text(json.dumps(figures().to_dict()))
    again = PublishedFigures.read(file)
    assert again.to_dict() == figures().to_dict()
    file.write_text("{")
    with pytest.raises(FileFormatError, match="is not JSON"):
        PublishedFigures.read(file)
    file.write_text('{"format": "ppsm-published/1"}')
    with pytest.raises(FileFormatError, match="have no field 'prices'"):
        PublishedFigures.read(file)
    with pytest.raises(FileFormatError, match="cannot be read"):
        PublishedFigures.read(tmp_path / "none.json")
    file.write_text(json.dumps({**figures().to_dict(), "decison": {"built": 1.0}}))
    with pytest.raises(FileFormatError, match="have a field 'decison', expected some of"):
        PublishedFigures.read(file)
    file.write_text(json.dumps({**figures().to_dict(), "prices": [1.25, 3.0]}))
    with pytest.raises(FileFormatError, match="'prices' are no object of names and numbers"):
        PublishedFigures.read(file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"day": "yesterday"}, "is no date"),
        ({"source": ""}, "source is not usable"),
        ({"value_step": 100.0}, "no multiple of value_step = 100"),
        ({"price_step": 0.1}, "no multiple of price_step"),
        ({"price_step": 0.0}, "price_step is 0"),
    ],
)
def test_figures_say_of_which_day_from_where_and_how_rounded(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        figures(**changes)


def test_a_computed_result_is_rounded_before_it_is_published(towns: GameCoordination) -> None:
    exact = towns.market_result(np.array(TRUTH))
    rounded = PublishedFigures.rounded(exact, day="2026-01-15", source="x", value_step=1.0, price_step=0.01)
    assert rounded.result.value == round(exact.value)
    assert rounded.result.felt is None  # a decision is public only where somebody says how it is rounded
    with pytest.raises(InputError, match="no multiple"):
        figures(result=exact, decision_step=1.0)
    with pytest.raises(InputError, match="without decision_step"):
        figures(result=exact)


def test_a_published_decision_takes_the_place_of_step_2b(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger, tmp_path: Path
) -> None:
    exact = towns.market_result(np.array(TRUTH))
    steps = {"value_step": 1e-6, "price_step": 1e-6, "decision_step": 1e-3}
    handed_in = PublishedFigures.rounded(exact, day="2026-01-15", source="report", **steps)
    file = tmp_path / "figures.json"
    file.write_text(json.dumps(handed_in.to_dict()))
    read = PublishedFigures.read(file)
    assert read.to_dict() == handed_in.to_dict()
    publication = note_publication(read, dataset=DATASET, ledger=ledger)
    assert publication.noted_by(ledger)
    assert "decision to 0.001" in publication.rounding
    release = PPSM(alpha=5.0).release(
        secret, towns, PublicOutcome(publication, seed=1), ledger=ledger, purpose="x"
    )
    assert release.decision is not None
    assert exact.felt is not None
    np.testing.assert_allclose(release.decision.felt, exact.felt, atol=5e-4)
    assert release.dossier.steps[2].inputs == ("published decision",)


def test_the_decision_of_another_game_is_not_taken(towns: GameCoordination, ledger: Ledger) -> None:
    foreign = MarketResult(
        1234.0, np.zeros(len(towns.price_names)), towns.price_names, 15.0, np.array([1.0]), ("other",)
    )
    with pytest.raises(InputError, match="the decision of the published figures have no figure for"):
        published_decision(foreign, towns)


def test_the_statement_begins_with_what_published_figures_allow(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    predictor = PublicOutcome(published(towns, ledger), seed=1)
    release = PPSM(alpha=5.0).release(secret, towns, predictor, ledger=ledger, purpose="x")
    first = release.dossier.statement.split(". ")[0]
    assert first.startswith("This promise is conditional, because figures of the true data of 2026-01-15")
    assert "whoever knows all entries but one can compute that one" in first
    assert "data that would have led to the same published figures" in first


def test_figures_of_another_ledger_are_not_taken(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger, tmp_path: Path
) -> None:
    other = Ledger.create(tmp_path / "other.db")
    other.grant(DATASET, epsilon=1.0, alpha=5.0, unit="MWh")
    predictor = PublicOutcome(published(towns, other), seed=1)
    with pytest.raises(PrivacyError, match="does not know"):
        PPSM(alpha=5.0).release(secret, towns, predictor, ledger=ledger, purpose="x")
    assert ledger.balance(DATASET).spent == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"price_names": ("west", "line")}, "have no figure for 'east' \\(1 missing\\)"),
        ({"price_names": ("east", "west", "line")}, "are in another order, beginning with 'east'"),
        ({"price_names": ("west", "east", "line", "moon")}, "have 'moon', which the market has not"),
        ({"value": 1e31}, "the value target is"),
    ],
)
def test_figures_that_later_steps_cannot_use_are_refused_before_the_charge(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger, changes: dict[str, object], message: str
) -> None:
    assert towns.price_names == ("west", "east", "line")
    given = {"value": 1234.0, "price_names": towns.price_names, "leader_cost": 15.0, **changes}
    prices = np.ones(len(given["price_names"]))  # type: ignore[arg-type]
    noted = note_publication(
        figures(result=MarketResult(prices=prices, **given)),  # type: ignore[arg-type]
        dataset=DATASET,
        ledger=ledger,
    )
    with pytest.raises(InputError, match=message):
        PPSM(alpha=5.0).release(secret, towns, PublicOutcome(noted, seed=1), ledger=ledger, purpose="x")
    assert ledger.balance(DATASET).spent == 0


def test_figures_that_were_changed_after_the_ledger_noted_them_are_not_taken(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    fields = published(towns, ledger).to_dict()
    fields["figures"]["value"] += 1.0
    predictor = PublicOutcome(Publication.from_dict(fields), seed=1)
    with pytest.raises(PrivacyError, match="has not noted as they are"):
        PPSM(alpha=5.0).release(secret, towns, predictor, ledger=ledger, purpose="x")
    assert ledger.balance(DATASET).spent == 0


def test_data_without_a_budget_are_not_noted(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceededError):
        note_publication(figures(), dataset="nobody", ledger=ledger)
    with pytest.raises(InputError, match="expected Ledger"):
        note_publication(figures(), dataset=DATASET, ledger=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected PublishedFigures"):
        note_publication(RESULT, dataset=DATASET, ledger=ledger)  # type: ignore[arg-type]
