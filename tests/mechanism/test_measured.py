"""Where nothing is published, step 1 measures totals too: the default, its split, and what it buys."""

import numpy as np
import pytest

from ppsm import Ledger, Sensitive
from ppsm.coordinations import GameCoordination
from ppsm.errors import InputError
from ppsm.mechanism import PPSM, Dossier, Laplace, ModelBased, PPSM_p, PublicOutcome
from ppsm.owner.distances import distances

from .conftest import TRUTH

WIDE = (np.zeros(41), np.full(41, np.inf))


@pytest.mark.parametrize("mechanism", [PPSM(alpha=5.0, total_share=0.5), PPSM_p(alpha=5.0, total_share=0.5)])
def test_a_total_is_measured_charged_and_said(
    mechanism: PPSM_p, secret: Sensitive, towns: GameCoordination, ledger: Ledger
) -> None:
    release = mechanism.release(secret, towns, ledger=ledger, purpose="test")
    assert len(release.noisy.totals) == 1
    assert release.released.totals == ()
    assert float(ledger.balance(secret.dataset).spent) == pytest.approx(1.0)
    dossier = release.dossier
    assert dossier.steps[0].output["totals"] == list(release.noisy.totals)
    assert dossier.predictor is not None
    assert dossier.predictor.name == "model"
    assert Dossier.from_json(dossier.to_json()).to_json() == dossier.to_json()


def test_the_default_measures_a_total_exactly_where_nothing_is_published(
    secret: Sensitive, towns: GameCoordination, public: PublicOutcome
) -> None:
    """Two towns are few: the default leaves all to the entries; many are not."""
    assert PPSM(alpha=5.0).simulate(secret, towns, seed=1).noisy.totals == ()
    many = _Many()
    measured = PPSM(alpha=5.0)._measurement(many, ModelBased())
    assert measured.total_share == 0.5
    assert PPSM(alpha=5.0)._measurement(many, public).total_share == 0.0
    assert Laplace(alpha=5.0)._measurement(many, None).total_share == 0.0


class _Many(GameCoordination):
    """A game with forty entries, as far as the split looks at it."""

    def __init__(self) -> None:
        self._bounds, self._zones = WIDE, ()


def test_the_distance_theorem_holds_with_a_total(secret: Sensitive, towns: GameCoordination) -> None:
    held = 0
    for seed in range(8):
        release = PPSM(alpha=5.0, eta_p=0.2, eta_d=0.5, total_share=0.6).simulate(secret, towns, seed=seed)
        figures = distances(np.array(TRUTH), release)
        assert figures.l2_bound is not None
        if figures.truth_in_bands:
            held += 1
            assert figures.l2_released <= figures.l2_bound * (1 + 1e-9)
    assert held


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="share of the total"):
        PPSM(alpha=5.0, total_share=1.0)
