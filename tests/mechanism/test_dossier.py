"""Everything that a dossier holds has a type, and comes back from its file as that type, digit for digit."""

import math

import numpy as np
import pytest

from ppsm import Status
from ppsm.errors import FileFormatError
from ppsm.mechanism import Decision, Outcome, PublicPrior
from ppsm.mechanism.dossier import Parameters, Step
from ppsm.mechanism.guarantees import Distance, Guarantees
from ppsm.mechanism.predictors import CrossValidation, PredictorNote
from ppsm.mechanism.theory import CostOfPrivacy

DISTANCE = Distance(likely_l1=3.0, likely_l2=2.0, mean_l1=1.5, premise="all is well")
CLEARED = Outcome(Status.PROVEN_OPTIMAL, 15.0, 14.5, 0.03, {"gas": 7.0}, np.array([1.0, 2.0]))
FAILED = Outcome(Status.INFEASIBLE, None, None, None, {}, None, explanation="no way")


def test_a_decision_comes_back() -> None:
    decision = Decision(np.array([1.5, 0.0]), ("a", "b"), "MWh", 20.0, Status.INCUMBENT, "a note", detail=7)
    fields = decision.to_dict()
    again = Decision.from_dict(fields)
    assert again.to_dict() == fields
    assert (again.leader_cost, again.status, again.detail) == (20.0, Status.INCUMBENT, None)
    assert again.felt.tolist() == [1.5, 0.0]


@pytest.mark.parametrize("outcome", [CLEARED, FAILED], ids=["cleared", "failed"])
def test_an_outcome_comes_back(outcome: Outcome) -> None:
    again = Outcome.from_dict(outcome.to_dict())
    assert again.to_dict() == outcome.to_dict()
    assert again.feasible is outcome.feasible


@pytest.mark.parametrize(
    "change", [{"prices": 3}, {"status": "splendid"}, {"values": [1]}, {"leader_cost": "much"}]
)
def test_an_outcome_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(FileFormatError, match="The outcome cannot be read"):
        Outcome.from_dict({**CLEARED.to_dict(), **change})


def test_what_lacks_a_field_is_refused() -> None:
    with pytest.raises(FileFormatError, match="The outcome has no field 'gap'"):
        Outcome.from_dict({name: value for name, value in CLEARED.to_dict().items() if name != "gap"})
    with pytest.raises(FileFormatError, match="The decision has no field 'names'"):
        Decision.from_dict({})
    with pytest.raises(FileFormatError, match="lacks fields"):
        Step.from_dict({"step": "2a"})


@pytest.mark.parametrize(
    "cost",
    [
        None,
        "no band",
        CostOfPrivacy(9.0, 12.0),
        CostOfPrivacy(-math.inf, 9.0),
    ],
)
def test_guarantees_come_back(cost: CostOfPrivacy | str | None) -> None:
    guarantees = Guarantees(DISTANCE, cost)
    assert Guarantees.from_dict(guarantees.to_dict()) == guarantees


def test_bounds_that_are_not_given_say_so() -> None:
    fields = Distance(premise="a prior").to_dict()
    assert fields["premise"] == "a prior"
    assert {fields[name] for name in ("likely_l1", "likely_l2", "mean_l1", "mean_l2")} == {None}
    assert Guarantees(Distance(premise="a prior")).to_dict() == {"distance": fields}


def test_parameters_come_back() -> None:
    prior = PublicPrior.of([50.0, 60.0], 5.0, source="last year")
    for parameters in (
        Parameters(name="laplace", alpha=5.0, epsilon=1.0),
        Parameters(name="ppsm-p", alpha=5.0, epsilon=1.0, eta_p=0.01, norm="l1"),
        Parameters(name="ppsm", alpha=5.0, epsilon=1.0, eta_p=0.01, norm="l2", prior=prior, eta_d=0.02),
    ):
        again = Parameters.from_dict(parameters.to_dict())
        assert again.to_dict() == parameters.to_dict()
    assert again.prior is not None
    assert again.prior.spread.tolist() == [5.0, 5.0]
    with pytest.raises(FileFormatError, match="The mechanism of the dossier cannot be read"):
        Parameters.from_dict({"name": "ppsm", "alpha": 5.0, "epsilon": 1.0, "delta": 0.0})


def test_a_note_on_a_predictor_comes_back() -> None:
    errors = CrossValidation(days=40.0, value_error_percent=1.0, price_error_percent=2.0)
    for note in (
        PredictorNote(name="model"),
        PredictorNote(name="public", seed=3, noise=0.1),
        PredictorNote(name="learned", cross_validation=errors),
    ):
        assert PredictorNote.from_dict(note.to_dict()) == note
    assert PredictorNote(name="model").to_dict() == {"name": "model"}
