"""Provenance: what touched seeded noise or unpublished figures taints what is made from it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ppsm import LaplaceMechanism, Ledger, Released, Sensitive
from ppsm.coordinations import GameCoordination
from ppsm.errors import FileFormatError, PrivacyError
from ppsm.mechanism import PPSM, Dossier, History, Learned, ModelBased, PublicPrior, invent_days
from ppsm.privacy import LedgerKeeper, MarketResult, Provenance, Taint

from .conftest import DATASET, TRUTH, published

DAYS = 20


def refused(
    mechanism: PPSM,
    predictor: Learned | ModelBased,
    secret: Sensitive,
    towns: GameCoordination,
    ledger: Ledger,
) -> str:
    """Why a private release refuses; nothing is charged then, and no step after the noise takes it either."""
    before = ledger.balance(DATASET).spent
    with pytest.raises(PrivacyError) as caught:
        mechanism.release(secret, towns, predictor, ledger=ledger, purpose="x")
    assert ledger.balance(DATASET).spent == before
    return str(caught.value)


def test_a_prior_from_seeded_noise_is_refused(
    secret: Sensitive, towns: GameCoordination, ledger: LedgerKeeper
) -> None:
    """Tiny seeded noise on the secret itself, called a past release: its mean is the secret."""
    past = [LaplaceMechanism(alpha=1e-6).simulate(secret, seed=seed) for seed in range(3)]
    mechanism = PPSM(alpha=5.0, prior=PublicPrior.from_releases(past))
    assert "drawn from a seed" in refused(mechanism, ModelBased(), secret, towns, ledger)
    noisy = LaplaceMechanism(alpha=5.0).release(secret, ledger=ledger, purpose="x")
    with pytest.raises(PrivacyError, match="drawn from a seed"):
        mechanism.process(noisy, towns, ModelBased())


def test_a_prior_keeps_its_taint_in_a_dossier(secret: Sensitive, towns: GameCoordination) -> None:
    past = [LaplaceMechanism(alpha=1.0).simulate(secret, seed=seed) for seed in range(3)]
    seeded = PPSM(alpha=5.0, prior=PublicPrior.from_releases(past)).simulate(
        secret, towns, ModelBased(), seed=1
    )
    again = Dossier.from_json(seeded.dossier.to_json()).mechanism.prior
    assert again is not None
    assert again.provenance.taints == {Taint.SEEDED}


def test_a_prior_from_releases_of_another_ledger_is_refused(
    secret: Sensitive, towns: GameCoordination, ledger: LedgerKeeper, tmp_path: Path
) -> None:
    """A receipt in a file is a claim; the ledger that is charged must know it."""
    other = Ledger.create(tmp_path / "other.db")
    other.grant(DATASET, epsilon=1e6, alpha=5.0, unit="MWh", most_per_release=1e6)
    past = [LaplaceMechanism(alpha=5.0).release(secret, ledger=other, purpose="x") for _ in range(2)]
    mechanism = PPSM(alpha=5.0, prior=PublicPrior.from_releases(past))
    assert "2 entries that the ledger" in refused(mechanism, ModelBased(), secret, towns, ledger)


def test_a_prior_from_releases_of_this_ledger_or_from_public_data_is_taken(
    secret: Sensitive, towns: GameCoordination, ledger: LedgerKeeper
) -> None:
    ledger.grant(DATASET, epsilon=5.0)
    past = [LaplaceMechanism(alpha=5.0).release(secret, ledger=ledger, purpose="x") for _ in range(2)]
    for prior in (PublicPrior.from_releases(past), PublicPrior.of(TRUTH, 9.0, source="last year")):
        release = PPSM(alpha=5.0, prior=prior).release(
            secret, towns, ModelBased(), ledger=ledger, purpose="x"
        )
        assert release.released.private


def results(towns: GameCoordination, count: int) -> tuple[MarketResult, ...]:
    return (towns.market_result(np.array(TRUTH)),) * count


@pytest.mark.parametrize(
    ("days", "why"),
    [
        (lambda secret, _: LaplaceMechanism(alpha=5.0).simulate(secret, seed=1), "drawn from a seed"),
        (
            lambda secret, book: LaplaceMechanism(alpha=5.0).release(secret, ledger=book, purpose="x"),
            "no ledger knows",
        ),
    ],
)
def test_a_model_of_seeded_days_or_of_unpublished_figures_is_refused(
    days: Callable[[Sensitive, Ledger], Released],
    why: str,
    secret: Sensitive,
    towns: GameCoordination,
    ledger: LedgerKeeper,
    tmp_path: Path,
) -> None:
    ledger.grant(DATASET, epsilon=100.0)
    history = History(tuple(days(secret, ledger) for _ in range(DAYS)), results(towns, DAYS))
    learned = Learned.train(history)
    assert why in refused(PPSM(alpha=5.0), learned, secret, towns, ledger)
    learned.save(tmp_path / "model.json")  # the taint is in the file
    assert why in refused(PPSM(alpha=5.0), Learned.load(tmp_path / "model.json"), secret, towns, ledger)


def test_a_model_of_noted_days_or_of_invented_ones_is_taken(
    secret: Sensitive, towns: GameCoordination, ledger: LedgerKeeper
) -> None:
    ledger.grant(DATASET, epsilon=100.0)
    past = [LaplaceMechanism(alpha=5.0).release(secret, ledger=ledger, purpose="x") for _ in range(DAYS)]
    noted = History.of_days(past, [published(towns, ledger)] * DAYS)
    assert len(noted.provenance.entries) == 2 * DAYS
    invented = invent_days(towns, TRUTH, days=DAYS, stress=(-0.1, 0.0), spread=0.02).released(alpha=5.0)
    for history in (noted, invented):
        learned = Learned.train(history)
        release = PPSM(alpha=5.0).release(secret, towns, learned, ledger=ledger, purpose="x")
        assert release.released.private


def test_a_model_that_does_not_say_where_it_is_from_is_refused(
    towns: GameCoordination, tmp_path: Path
) -> None:
    invented = invent_days(towns, TRUTH, days=DAYS, stress=(-0.1, 0.0), spread=0.02).released(alpha=5.0)
    Learned.train(invented).save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    del content["provenance"]
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="provenance"):
        Learned.load(tmp_path / "model.json")


def test_taints_add_up_and_travel() -> None:
    seeded = Provenance(source="a").with_taint(Taint.SEEDED)
    both = seeded.joined(Provenance(source="b", entries=("1",)).with_taint(Taint.UNPUBLISHED))
    assert both.taints == {Taint.SEEDED, Taint.UNPUBLISHED}
    assert both.entries == ("1",)
    assert Provenance.from_dict(both.to_dict()) == both
    with pytest.raises(FileFormatError, match="NEW"):
        Provenance.from_dict({**both.to_dict(), "taints": ["NEW"]})
