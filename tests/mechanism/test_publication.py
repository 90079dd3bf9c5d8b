"""Publications: an explicit act of the owner, noted in the ledger, which says nothing when it fails."""

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from ppsm import Ledger, Sensitive
from ppsm.arrays import FloatArray
from ppsm.coordinations import GameCoordination
from ppsm.errors import BudgetExceededError, InputError, PrivacyError
from ppsm.privacy import MarketResult, Publication, publish_outcome

from .conftest import DATASET, TRUTH


def test_a_publication_is_noted_and_costs_nothing(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    publication = publish_outcome(secret, towns, ledger=ledger, purpose="market report")
    assert publication.recorded
    entry = ledger.entries()[-1]
    assert (entry.kind, entry.hash, entry.dataset) == ("publication", publication.entry_hash, DATASET)
    assert json.loads(entry.detail)["figures"]["value"] == publication.result.value
    assert ledger.balance(DATASET).spent == 0
    assert ledger.verify([entry.hash]).ok
    assert publication.result.value == pytest.approx(sum(TRUTH))
    again = Publication.from_dict(json.loads(json.dumps(publication.to_dict())))
    assert again.to_dict() == publication.to_dict()


@dataclass
class Market:
    """Clears as it is told, and remembers what it has seen in a way that a traceback would show."""

    clear: Callable[[FloatArray], MarketResult]
    seen: list[float] = field(default_factory=list)

    def market_result(self, demand: FloatArray) -> MarketResult:
        self.seen += demand.tolist()
        return self.clear(demand)

    def separate(self) -> "Market":
        return Market(self.clear)


def two_prices(demand: FloatArray) -> MarketResult:
    return MarketResult(float(demand.sum()), np.ones(2), ("west", "east"), 15.0)


def test_the_coordination_that_is_passed_never_sees_the_data(secret: Sensitive, ledger: Ledger) -> None:
    market = Market(two_prices)
    publication = publish_outcome(secret, market, ledger=ledger, purpose="market report")
    assert publication.result.value == pytest.approx(sum(TRUTH))
    assert market.seen == []


def test_a_failing_market_does_not_quote_the_data(secret: Sensitive, ledger: Ledger) -> None:
    def clear(values: FloatArray) -> MarketResult:
        raise InputError(f"the demand is {values[0]}, which is too much.")

    with pytest.raises(PrivacyError, match="could not be cleared") as caught:
        publish_outcome(secret, Market(clear), ledger=ledger, purpose="market report")
    trace = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert "50.123457" not in "".join(trace.format())
    assert not any(entry.kind == "publication" for entry in ledger.entries())


def test_only_figures_can_be_published(secret: Sensitive, towns: GameCoordination, ledger: Ledger) -> None:
    with pytest.raises(PrivacyError, match="returned ndarray, expected MarketResult") as caught:
        publish_outcome(secret, Market(lambda values: values), ledger=ledger, purpose="x")  # type: ignore[arg-type, return-value]
    trace = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert "50.123457" not in "".join(trace.format())
    with pytest.raises(InputError, match="pass the coordination itself"):
        publish_outcome(secret, towns.market_result, ledger=ledger, purpose="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected Ledger"):
        publish_outcome(secret, towns, ledger=None, purpose="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected Sensitive"):
        publish_outcome(np.ones(2), towns, ledger=ledger, purpose="x")  # type: ignore[arg-type]


def test_data_without_a_budget_are_not_published(towns: GameCoordination, ledger: Ledger) -> None:
    stranger = Sensitive(TRUTH, dataset="nobody", unit="MWh", entry_names=("west", "east"))
    with pytest.raises(InputError, match="knows no data set"):
        publish_outcome(stranger, towns, ledger=ledger, purpose="x")
    with pytest.raises(BudgetExceededError):
        ledger.note_publication("nobody", {})
