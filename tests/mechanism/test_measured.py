"""Where nothing is published, step 1 measures totals too: the default, its split, and what it buys."""

import numpy as np
import pytest

from ppsm import Ledger, Sensitive
from ppsm.coordinations import GameCoordination
from ppsm.errors import InputError
from ppsm.mechanism import PPSM, Dossier, Laplace, ModelBased, PPSM_p, PublicOutcome
from ppsm.owner.distances import distances
from ppsm.privacy.measurements import best_share
from ppsm.privacy.tuning import TUNING

from .conftest import TRUTH

WIDE = (np.zeros(41), np.full(41, np.inf))


def test_many_entries_share_equally_with_their_total() -> None:
    assert best_share(10.0, *WIDE) == 0.5
    assert best_share(1e-6, *WIDE) == 0.5


def test_of_few_entries_the_noisy_sum_is_good_enough() -> None:
    for entries in (1, 2, 8):
        assert best_share(10.0, np.zeros(entries), np.full(entries, np.inf)) == 0.0


def test_bounds_that_know_the_entries_leave_epsilon_to_the_total() -> None:
    shares = [best_share(scale, np.zeros(41), np.full(41, 100.0)) for scale in (1.0, 100.0, 1e4)]
    assert shares == sorted(shares)
    assert shares[-1] == max(TUNING.shares)
    assert best_share(1.0, np.ones(41), np.ones(41)) == max(TUNING.shares)


def test_the_split_is_no_worse_than_its_neighbours() -> None:
    """By simulation, on entries that are uniform between their bounds: the product of both mean errors."""
    rng = np.random.default_rng(3)
    upper, scale = np.full(41, 40.0), 1.0

    def product(share: float) -> float:
        truth = rng.uniform(0.0, upper, (1500, 41))
        entries = truth + rng.laplace(scale=scale / (1 - share), size=truth.shape)
        total = truth.sum(axis=1) + rng.laplace(scale=scale / share, size=len(truth))
        ratio = (share / (1 - share)) ** 2
        off = (total - entries.sum(axis=1)) * ratio / (1 + 41 * ratio)
        found = np.clip(entries + off[:, None], 0.0, upper)
        return float(np.square(found - truth).mean() * np.square(total - truth.sum(axis=1)).mean())

    best = best_share(scale, np.zeros(41), upper)
    assert product(best) < 0.8 * min(product(0.25), product(0.75))


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
