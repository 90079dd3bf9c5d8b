"""Publications: an explicit act of the owner, noted in the ledger, which says nothing when it fails."""

import json
import traceback

import numpy as np
import pytest

from ppsm import InputError, Ledger, PrivacyError, Sensitive
from ppsm.arrays import FloatArray
from ppsm.errors import BudgetExceededError
from ppsm.mechanism import GameCoordination
from ppsm.privacy import MarketFigures, Publication, publish_outcome

from .conftest import DATASET, TRUTH


def test_a_publication_is_noted_and_costs_nothing(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    publication = publish_outcome(secret, towns.separate().figures, ledger=ledger, purpose="market report")
    assert publication.recorded
    entry = ledger.entries()[-1]
    assert (entry.kind, entry.hash, entry.dataset) == ("publication", publication.entry_hash, DATASET)
    assert json.loads(entry.detail)["figures"]["value"] == publication.figures.value
    assert ledger.balance(DATASET).spent == 0
    assert ledger.verify([entry.hash]).ok
    assert publication.figures.value == pytest.approx(sum(TRUTH))
    again = Publication.from_dict(json.loads(json.dumps(publication.to_dict())))
    assert again.to_dict() == publication.to_dict()


def test_a_failing_market_does_not_quote_the_data(secret: Sensitive, ledger: Ledger) -> None:
    def clear(values: FloatArray) -> MarketFigures:
        raise InputError(f"the demand is {values[0]}, which is too much.")

    with pytest.raises(PrivacyError, match="could not be cleared") as caught:
        publish_outcome(secret, clear, ledger=ledger, purpose="market report")
    shown = "".join(traceback.format_exception(caught.value))
    assert "50.123457" not in shown
    assert not any(entry.kind == "publication" for entry in ledger.entries())


def test_only_figures_can_be_published(secret: Sensitive, ledger: Ledger) -> None:
    with pytest.raises(PrivacyError, match="expected MarketFigures"):
        publish_outcome(secret, lambda values: values, ledger=ledger, purpose="x")  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="expected Ledger"):
        publish_outcome(secret, lambda values: None, ledger=None, purpose="x")  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="expected Sensitive"):
        publish_outcome(np.ones(2), lambda values: None, ledger=ledger, purpose="x")  # type: ignore[arg-type, return-value]


def test_data_without_a_budget_are_not_published(towns: GameCoordination, ledger: Ledger) -> None:
    stranger = Sensitive(TRUTH, dataset="nobody", unit="MWh", labels=("west", "east"))
    with pytest.raises(InputError, match="knows no data set"):
        publish_outcome(stranger, towns.figures, ledger=ledger, purpose="x")
    with pytest.raises(BudgetExceededError):
        ledger.note_publication("nobody", {})
