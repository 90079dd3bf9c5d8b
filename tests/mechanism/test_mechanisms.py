"""One contract for all mechanisms: order of events, types, dossier, bad input."""

import json
import logging
import pickle
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppsm import Follower, Ledger, Released, Sensitive, Status
from ppsm.coordinations import GameCoordination
from ppsm.errors import (
    BudgetExceededError,
    FileFormatError,
    InputError,
    PrivacyError,
    SecretExposureError,
    SolverError,
)
from ppsm.fidelity import Bands, FidelityResult, Restorer, SearchLimits
from ppsm.mechanism import (
    MECHANISMS,
    PPSM,
    Coordination,
    Decision,
    Dossier,
    FollowerSide,
    Laplace,
    ModelBased,
    PPSM_p,
    PublicOutcome,
    PublicPrior,
    Release,
    steps,
)
from ppsm.mechanism.theory import CostOfPrivacy
from ppsm.owner.distances import distances_for_owner
from ppsm.privacy import LaplaceMechanism

from . import conftest
from .conftest import DATASET, TRUTH

ALL = [Laplace(alpha=5.0), PPSM_p(alpha=5.0), PPSM(alpha=5.0)]


def published(towns: GameCoordination, ledger: Ledger) -> PublicOutcome:
    return PublicOutcome(conftest.published(towns, ledger), seed=1)


@pytest.fixture(params=ALL, ids=lambda each: each.name)
def mechanism(request: pytest.FixtureRequest) -> Iterator[Laplace]:
    return request.param  # type: ignore[no-any-return]


def test_a_private_release_is_charged_and_says_so(
    mechanism: Laplace, secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    predictor = published(towns, ledger)
    release = mechanism.release(secret, towns, predictor, ledger=ledger, purpose="coordination")
    assert release.released.private
    assert release.dossier.private
    assert ledger.confirm(release.noisy)
    assert ledger.confirm(release.released)
    assert float(ledger.balance(DATASET).spent) == 1.0
    assert ledger.verify().ok


def test_the_ledger_comes_before_the_noise(
    mechanism: Laplace, secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    predictor = published(towns, ledger)
    for _ in range(2):
        mechanism.release(secret, towns, predictor, ledger=ledger, purpose="coordination")
    with pytest.raises(BudgetExceededError, match="spent 2"):
        mechanism.release(secret, towns, predictor, ledger=ledger, purpose="coordination")


def test_what_would_fail_later_fails_before_it_is_charged(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome, ledger: Ledger
) -> None:
    other = Sensitive(TRUTH, dataset=DATASET, unit="kWh", entry_names=("west", "east"))
    wrong = Sensitive(TRUTH, dataset=DATASET, unit="MWh", entry_names=("north", "south"))
    short = PublicPrior.of([1.0], 1.0, source="a guess")
    attempts: list[tuple[Laplace, Any, Any, str]] = [
        (PPSM(alpha=5.0), other, public, "in kWh"),
        (PPSM(alpha=5.0), wrong, public, "name the data"),
        (PPSM(alpha=5.0), secret, public, "no ledger knows as published"),
        (PPSM(alpha=5.0, prior=short), secret, public, "the prior has 1 entries"),
    ]
    for mechanism, data, predictor, message in attempts:
        with pytest.raises((InputError, PrivacyError), match=message):
            mechanism.release(data, towns, predictor, ledger=ledger, purpose="coordination")
    assert ledger.balance(DATASET).spent == 0


class _Without:
    """Something without one of its members, as a class of one's own may be from before there was that one."""

    def __init__(self, whole: object, missing: str) -> None:
        self._whole, self._missing = whole, missing

    def __getattr__(self, name: str) -> Any:
        if name == self._missing:
            raise AttributeError(name)
        return getattr(self._whole, name)


class _Inheriting(Coordination):
    """A coordination that has only what it inherits, where nothing has a body."""


@pytest.mark.parametrize(
    ("game", "predictor", "missing"),
    [
        ("repaired_for_leader", None, "repaired_for_leader"),
        ("cost_of_privacy", None, "cost_of_privacy"),
        ("follower_at", None, "follower_at"),
        (None, "predict_outcome", "predict_outcome"),
        (_Inheriting(), None, "entry_names"),  # type: ignore[abstract]
    ],
)
def test_what_lacks_a_member_is_refused_before_the_charge(
    game: Any, predictor: Any, missing: str, secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    asked: Any = _Without(towns, game) if isinstance(game, str) else game or towns
    model: Any = _Without(ModelBased(), predictor) if predictor else None
    for mechanism in ALL[1:]:
        with pytest.raises(InputError, match=f"has no '{missing}'.*add what is missing"):
            mechanism.release(secret, asked, model, ledger=ledger, purpose="coordination")
        with pytest.raises(InputError, match=f"has no '{missing}'"):
            mechanism.simulate(secret, asked, model, seed=1)
    assert ledger.balance(DATASET).spent == 0


def test_the_follower_of_two_parties_needs_no_member_of_the_leaders(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    side: Any = _Without(towns, "decide")
    assert PPSM(alpha=5.0).perturb(secret, side, ledger=ledger, purpose="coordination").private
    broken: Any = _Without(towns, "follower_at")
    with pytest.raises(InputError, match="has no 'follower_at'"):
        PPSM(alpha=5.0).perturb(secret, broken, ledger=ledger, purpose="coordination")
    assert ledger.balance(DATASET).spent == 1


def test_no_step_after_the_noise_takes_a_secret(
    mechanism: Laplace, secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    with pytest.raises(SecretExposureError, match="still secret"):
        mechanism.process(secret, towns, public)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected Released"):
        mechanism.process(np.array(TRUTH), towns, public)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected Sensitive"):
        mechanism.simulate(np.array(TRUTH), towns, public, seed=1)  # type: ignore[arg-type]


def test_each_step_has_its_own_guard(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    release = PPSM(alpha=5.0).simulate(secret, towns, public, seed=1)
    hidden: Any = secret
    prices, decision = public.publication.result.prices, release.decision
    assert decision is not None
    options: Any = {"norm": "l2", "prior": None, "limits": SearchLimits()}
    attempts: dict[str, Callable[[], object]] = {
        "2a": lambda: steps.predict_prices(steps.StepLog(), hidden, towns, public),
        "2b": lambda: steps.decide(steps.StepLog(), hidden, towns, prices, None),
        "3a": lambda: steps.predict_outcome(steps.StepLog(), hidden, towns, public, decision),
        "3b": lambda: steps.restore_fidelity(steps.StepLog(), hidden, towns, decision, Bands(), **options),
        "3c": lambda: steps.repair_for_leader(steps.StepLog(), hidden, prices, towns, prior=None),
    }
    for step, attempt in attempts.items():
        with pytest.raises(SecretExposureError, match=f"demand of step {step} are still secret"):
            attempt()


def test_predictors_take_no_secret(secret: Sensitive, towns: GameCoordination, public: PublicOutcome) -> None:
    with pytest.raises(SecretExposureError, match="step 2a"):
        public.predict_prices(secret, towns)  # type: ignore[arg-type]


def simulated(mechanism: Laplace, secret: Sensitive, towns: Any, public: Any, seed: int = 1) -> Release:
    return mechanism.simulate(secret, towns, public, seed=seed)


def test_mechanisms_share_the_noise_of_a_seed(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    noisy = [simulated(each, secret, towns, public).noisy.values for each in ALL]
    assert noisy[0].tolist() == noisy[1].tolist() == noisy[2].tolist()


def test_bands_hold_where_they_are_asked(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    figures = public.publication.result
    for seed in range(8):
        release = simulated(PPSM(alpha=5.0), secret, towns, public, seed)
        assert release.fidelity is not None
        assert release.decision is not None
        outcome = towns.follower_at(release.decision).solve(release.released.values)
        width = 0.001 * release.fidelity.widening
        assert outcome.value == pytest.approx(figures.value, rel=width * 1.001)


def test_every_step_is_in_the_dossier(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    assert [each.step for each in simulated(ALL[0], secret, towns, public).dossier.steps] == ["1"]
    steps = simulated(ALL[2], secret, towns, public).dossier.steps
    assert [each.step for each in steps] == ["1", "2a", "2b", "2c", "3a", "3b"]
    assert [each.party for each in steps] == ["follower", *["leader"] * 3, "follower", "follower"]
    assert "secret demand" in steps[0].inputs
    assert not any("secret demand" in each.inputs for each in steps[1:])


def test_a_dossier_survives_its_journey(
    mechanism: Laplace, secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    release = simulated(mechanism, secret, towns, public)
    dossier = release.dossier.with_evaluation(towns.clear(release.released.values))
    text = dossier.to_json()
    again = Dossier.from_json(text)
    assert again.to_json() == text
    assert again.released.values.tolist() == release.released.values.tolist()
    assert "NOT PRIVATE" in again.statement


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "ppsm-dossier/1"}, "is of format ppsm-dossier/1, and this version of ppsm reads"),
        ({"private": True}, "contradicts its release"),
        ({"steps": [{"step": "1"}]}, "lacks fields"),
        ({"theory": 1}, "'theory' is no mapping"),
        ({"released": {}}, "The release is not of format"),
        ({"publication": {"figures": 1}}, "cannot be read|no field"),
    ],
)
def test_altered_dossiers_are_refused(
    change: dict[str, Any],
    message: str,
    secret: Sensitive,
    towns: GameCoordination,
    public: PublicOutcome,
) -> None:
    content = json.loads(simulated(ALL[2], secret, towns, public).dossier.to_json())
    with pytest.raises(FileFormatError, match=message):
        Dossier.from_json(json.dumps({**content, **change}))
    with pytest.raises(FileFormatError, match="not JSON"):
        Dossier.from_json("{")


def secret_digits() -> list[str]:
    return [repr(value)[:8] for value in TRUTH]


def test_nothing_that_travels_shows_the_secret(
    mechanism: Laplace,
    secret: Sensitive,
    towns: GameCoordination,
    ledger: Ledger,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    predictor = published(towns, ledger)
    release = mechanism.release(secret, towns, predictor, ledger=ledger, purpose="coordination")
    dossier = release.dossier.with_evaluation(towns.clear(release.released.values))
    texts = [
        dossier.to_json(),
        repr(release),
        repr(release.dossier),
        caplog.text,
        str(distances_for_owner(secret, release)),
        pickle.dumps(dossier.to_json()).decode("latin1"),
    ]
    texts.append(Path(ledger.path).read_bytes().decode("latin1"))
    for text in texts:
        assert not any(digits in text for digits in secret_digits())


def test_theory_speaks_of_every_release(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    theory = simulated(ALL[2], secret, towns, public).dossier.theory
    # twice what two Laplace numbers of scale 5 stay below in 95 % of draws, in sum: 4.74 scales
    assert theory.distance.likely_l2 == pytest.approx(2 * 5 * 4.744, rel=1e-3)
    assert theory.distance.mean_l2 is None
    cost = theory.cost_of_privacy
    assert isinstance(cost, CostOfPrivacy)
    # the line costs 15 a unit, and one is needed
    assert cost.lowest <= 15.0 <= cost.highest
    noise_only = simulated(ALL[0], secret, towns, public).dossier.theory.distance
    assert noise_only.mean_l1 == pytest.approx(10.0)
    with_prior = PPSM(alpha=5.0, prior=PublicPrior.of([50.0, 60.0], 5.0, source="last year's mean"))
    assert simulated(with_prior, secret, towns, public).dossier.theory.distance.likely_l2 is None


def test_realised_bounds_are_for_the_owner(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    held = 0
    for seed in range(10):
        release = simulated(PPSM(alpha=5.0), secret, towns, public, seed)
        hidden = distances_for_owner(secret, release)
        with pytest.raises(SecretExposureError):
            pickle.dumps(hidden)
        with pytest.raises(TypeError):
            json.dumps(hidden)
        figures = hidden.reveal()
        if figures.truth_in_bands:
            held += 1
            assert figures.l2_bound is not None
            assert figures.l2_released <= figures.l2_bound * (1 + 1e-9)
        assert figures.l1_noisy == pytest.approx(np.abs(release.noisy.values - TRUTH).sum())
    assert held >= 3


def test_a_public_prior_brings_the_release_closer(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    prior = PublicPrior.of([50.0, 60.0], 3.0, source="last year's mean")
    plain, helped = 0.0, 0.0
    for seed in range(12):
        for mechanism, with_prior in ((PPSM(alpha=20.0), False), (PPSM(alpha=20.0, prior=prior), True)):
            release = simulated(mechanism, secret, towns, public, seed)
            distance = distances_for_owner(secret, release).reveal().l1_released
            plain, helped = (plain, helped + distance) if with_prior else (plain + distance, helped)
    assert helped < 0.6 * plain


def test_a_prior_comes_from_released_data(secret: Sensitive) -> None:
    noise = LaplaceMechanism(alpha=0.1)
    history = [noise.simulate(secret, seed=seed) for seed in range(30)]
    prior = PublicPrior.from_releases(history)
    assert prior.mean == pytest.approx(TRUTH, abs=0.2)
    assert (prior.spread < 1.0).all()
    with pytest.raises(SecretExposureError, match="secret data"):
        PublicPrior.of(secret, 1.0, source="the data")  # type: ignore[arg-type]
    with pytest.raises(SecretExposureError):
        PublicPrior.from_releases([secret, secret])  # type: ignore[list-item]


class Wrong:
    """A predictor that returns what it is told to."""

    name = "wrong"
    publication = None

    def __init__(self, prices: Any, outcome: Any) -> None:
        self.prices, self.outcome = prices, outcome

    def predict_prices(self, noisy: Released, coordination: Coordination) -> Any:
        return self.prices

    def predict_outcome(self, noisy: Released, decision: Decision, coordination: FollowerSide) -> Any:
        return self.outcome


GOOD = [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("prices", "outcome", "message"),
    [
        ([1.0], (1.0, GOOD), r"returned prices of shape \(1,\), expected \(3,\)"),
        ([1.0, np.nan, 0.0], (1.0, GOOD), "of 'east' is nan"),
        (["a", "b", "c"], (1.0, GOOD), "must be numbers"),
        (GOOD, (np.nan, GOOD), "returned the value nan"),
        (GOOD, (100.0, [1.0, 1.0]), r"shape \(2,\)"),
        (GOOD, 100.0, "expected the pair"),
    ],
)
def test_a_wrong_prediction_is_one_sentence(
    prices: Any, outcome: Any, message: str, secret: Sensitive, towns: GameCoordination
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        PPSM(alpha=5.0).simulate(secret, towns, Wrong(prices, outcome), seed=1)
    assert "\n" not in str(caught.value)


def test_bad_parameters_are_one_sentence(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    with pytest.raises(InputError, match="eta_p is -1"):
        PPSM_p(alpha=1.0, eta_p=-1.0)
    with pytest.raises(InputError, match="eta_d is nan"):
        PPSM(alpha=1.0, eta_d=float("nan"))
    with pytest.raises(InputError, match="eta_p is 10, which is 1000 %; expected a fraction of at most 1,"):
        PPSM_p(alpha=1.0, eta_p=10)
    with pytest.raises(InputError, match="eta_d is 10, which is 1000 %; expected a fraction of at most 1,"):
        PPSM(alpha=1.0, eta_d=10)
    assert PPSM(alpha=1.0, eta_p=1.0, eta_d=1.0).eta_p == 1.0
    with pytest.raises(InputError, match="norm is 'l3'"):
        PPSM(alpha=1.0, norm="l3")  # type: ignore[arg-type]
    noisy = LaplaceMechanism(alpha=1.0).simulate(secret, seed=1)
    with pytest.raises(InputError, match="made for alpha = 1"):
        PPSM(alpha=5.0).process(noisy, towns, public)


def test_impossible_predictions_widen_the_bands(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    """Nobody pays 9 in the west: the bands open until something fits, and the dossier says how far."""
    wrong = Wrong(GOOD, (100.0, [9.0, 1.0, 0.0]))
    quick = PPSM(alpha=5.0, limits=SearchLimits(seconds=3.0))
    release = quick.simulate(secret, towns, wrong, seed=1)
    assert release.fidelity is not None
    assert release.fidelity.widening > 10
    widening = release.dossier.steps[-1].output["widening"]
    assert widening == pytest.approx(release.fidelity.widening)
    assert "widened" in release.dossier.theory.distance.premise


@pytest.mark.parametrize("value", [9e19, 2e20, -1e22, 1e25, 1e300])
@pytest.mark.parametrize("kind", [PPSM_p, PPSM])
def test_no_predicted_value_is_so_large_that_a_charged_release_is_lost(
    kind: type[PPSM_p], value: float, secret: Sensitive, towns: GameCoordination
) -> None:
    quick = kind(alpha=5.0, limits=SearchLimits(seconds=2.0))
    release = quick.simulate(secret, towns, Wrong(GOOD, (value, GOOD)), seed=1)
    assert release.fidelity is not None
    assert release.fidelity.status.has_answer
    assert Dossier.from_json(release.dossier.to_json()).statement == release.dossier.statement


def test_bands_whose_numbers_solvers_refuse_leave_the_noise_its_release(
    secret: Sensitive, towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Restorer.restore

    def refuses(self: Restorer, released: Any, bands: Bands, *rest: Any, **options: Any) -> FidelityResult:
        if bands.value is not None:
            raise SolverError("the solver refused a model.")
        return honest(self, released, bands, *rest, **options)

    monkeypatch.setattr(Restorer, "restore", refuses)
    release = PPSM(alpha=5.0).simulate(secret, towns, Wrong(GOOD, (110.0, GOOD)), seed=1)
    assert release.fidelity is not None
    assert release.fidelity.claim is not None
    assert release.fidelity.claim.value == 110.0
    assert "as wide as this vector needs" in release.fidelity.explanation


def test_no_time_for_the_least_widening_is_no_reason_to_fail(
    secret: Sensitive, towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that gives up on both bands: the value band stays, the price band opens as far as needed."""
    honest = Restorer.restore

    def gives_up(self: Restorer, released: Any, bands: Bands, *rest: Any, **options: Any) -> FidelityResult:
        if bands.prices is None:
            return honest(self, released, bands, *rest, **options)
        return replace(honest(self, released, Bands(), *rest, **options), status=Status.NO_INCUMBENT)

    monkeypatch.setattr(Restorer, "restore", gives_up)
    release = PPSM(alpha=5.0).simulate(secret, towns, Wrong(GOOD, (110.0, [0.5, 2.0, 0.0])), seed=1)
    result = release.fidelity
    assert result is not None
    assert result.certificate is not None
    assert result.certificate.faithful
    assert result.value == pytest.approx(110.0, rel=0.00101)
    # the price of 1 in the west is 0.5 off, a thousand times the band of 0.1 % of 0.5
    assert 999.0 <= result.widening <= 1011.0
    assert "as wide as this vector needs" in release.dossier.steps[-1].output["explanation"]


def test_names_of_mechanisms() -> None:
    assert list(MECHANISMS) == ["laplace", "ppsm-p", "ppsm"]
    assert replace(ALL[2], alpha=1.0).name == "ppsm"


def test_the_leaders_prices_are_off_by_a_tenth_of_their_average(
    secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    """The same noise on cheap and dear prices, as in section 7 of the paper."""
    publication = published(towns, ledger).publication
    noisy = Laplace(alpha=5.0).simulate(secret, towns, PublicOutcome(publication, seed=1), seed=1).released
    prices = publication.result.prices
    drawn = np.array(
        [PublicOutcome(publication, seed=seed).predict_prices(noisy, towns) for seed in range(2000)]
    )
    expected = 0.1 * np.abs(prices).mean()
    assert drawn.mean(axis=0) == pytest.approx(prices, abs=0.1 * expected)
    assert drawn.std(axis=0) == pytest.approx(np.full(prices.size, expected), rel=0.1)


def test_a_private_release_plays_the_game_without_memory(
    secret: Sensitive,
    towns: GameCoordination,
    ledger: Ledger,
    public: PublicOutcome,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[GameCoordination] = []

    def noted(game: GameCoordination) -> GameCoordination:
        asked.append(game)
        return game

    monkeypatch.setattr(GameCoordination, "without_memory", noted)
    simulated(PPSM(alpha=5.0), secret, towns, public)
    assert not asked
    PPSM(alpha=5.0).release(secret, towns, ledger=ledger, purpose="test")
    assert asked == [towns, towns]  # for step 3c, and for 2a to 2c


@pytest.mark.parametrize("has_played", [False, True])
def test_no_step_has_a_game_of_its_own_made_for_it(
    has_played: bool,
    secret: Sensitive,
    towns: GameCoordination,
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As unit commitment does it: the game itself until it has played, and then one other."""
    other, played, predictor = copy(towns), [has_played], published(towns, ledger)
    follower_at = GameCoordination.follower_at

    def without_memory(game: GameCoordination) -> GameCoordination:
        return other if played[0] else game

    def playing(game: GameCoordination, decision: Decision) -> Follower:
        played[0] = True
        return follower_at(game, decision)

    used: list[GameCoordination] = []
    monkeypatch.setattr(GameCoordination, "without_memory", without_memory)
    monkeypatch.setattr(GameCoordination, "follower_at", playing)
    monkeypatch.setattr(GameCoordination, "repaired_for_leader", lambda game, near: used.append(game))
    PPSM(alpha=5.0).release(secret, towns, predictor, ledger=ledger, purpose="test")
    assert used == [other if has_played else towns]
