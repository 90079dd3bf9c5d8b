"""Measured totals weigh in by their likelihood, whatever else step 3b is asked for."""

import numpy as np
import pytest

from ppsm import Follower, LinearProgram, Sensitive
from ppsm.arrays import FloatArray
from ppsm.errors import InputError
from ppsm.fidelity import Bands, Restorer
from ppsm.fidelity.problem import MeasuredTotals, Norm, measured_entries
from ppsm.privacy import LaplaceMechanism, Released

TRUTH = np.array([4.0, 2.0, 6.0])


def market() -> Follower:
    """Three towns that share 8 of cheap supply (1) and have dear supply (3) each."""
    return Follower.from_program(
        LinearProgram.from_arrays(
            cost=[1.0, 1.0, 1.0, 3.0, 3.0, 3.0],
            matrix=np.vstack([np.hstack([np.eye(3), np.eye(3)]), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]]),
            row_lower=[0.0, 0.0, 0.0, -np.inf],
            row_upper=[0.0, 0.0, 0.0, 8.0],
        ),
        parameter_map=np.vstack([np.eye(3), np.zeros(3)]),
        nominal=TRUTH,
    )


def noisy(share: float = 0.5, seed: int = 1, zones: tuple[int, ...] = ()) -> Released:
    secret = Sensitive(TRUTH, dataset="d", unit="MWh", entry_names=market().parameter_names)
    return LaplaceMechanism(alpha=1.0, total_share=share, zones=zones).simulate(secret, seed=seed)


def distance(vector: FloatArray, released: Released, norm: Norm) -> float:
    """Written out by hand, zone by zone."""
    assert released.total_scale is not None
    off, ratio = vector - released.values, released.scale / released.total_scale
    zones = np.array(released.zones or [0] * vector.size)
    beside = [ratio * (vector[zones == zone].sum() - total) for zone, total in enumerate(released.totals)]
    moves = np.concatenate([off, beside])
    return float((moves**2).sum() if norm == "l2" else np.abs(moves).sum())


@pytest.mark.parametrize("zones", [(), (0, 1, 1)])
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("seed", range(6))
def test_nothing_nearer_is_found_by_chance(norm: Norm, seed: int, zones: tuple[int, ...]) -> None:
    released = noisy(0.7, seed, zones)
    bands = Bands(20.0, 2.0, np.full(3, 3.0), np.full(3, 0.1))
    restorer = Restorer(market())
    found = restorer.restore(released, bands, (0.0, 10.0), norm=norm)
    assert found.certified
    assert found.objective == pytest.approx(distance(found.parameter, released, norm), rel=1e-6, abs=1e-8)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-1, 1.0):
        for move in rng.normal(0.0, size, (200, 3)):
            other = found.parameter + move
            # Dear supply is at the margin where more than 8 is asked for; then the value is 3 total - 16.
            is_faithful = (
                (other >= 0).all()
                and (other <= 10).all()
                and other.sum() > 8
                and (18 <= 3 * other.sum() - 16 <= 22)
            )
            if is_faithful:
                assert distance(other, released, norm) >= found.objective * (1 - 1e-4) - 1e-7


@pytest.mark.parametrize("zones", [(), (0, 1, 1), (0, 1, 2)])
def test_without_bands_and_bounds_it_is_least_squares_in_closed_form(zones: tuple[int, ...]) -> None:
    released = noisy(zones=zones)
    assert released.total_scale is not None
    found = Restorer(market()).restore(released, Bands(), (-np.inf, np.inf))
    assert found.certified
    of_zone = np.array([[1.0, 1.0, 1.0]]) if not zones else np.eye(max(zones) + 1)[:, list(zones)]
    pull = (released.scale / released.total_scale) ** 2 * of_zone.T
    expected = np.linalg.solve(np.eye(3) + pull @ of_zone, released.values + pull @ np.array(released.totals))
    assert found.parameter == pytest.approx(expected, abs=1e-5)
    assert measured_entries(released) == pytest.approx(expected)


def test_a_total_alone_moves_entries_alike() -> None:
    moved = measured_entries(noisy(0.9)) - noisy(0.9).values
    assert np.ptp(moved) < 1e-12
    assert measured_entries(noisy(0.0)).tolist() == noisy(0.0).values.tolist()


def test_the_total_of_a_zone_moves_its_own_entries_alike() -> None:
    """By hand: with equal noise an entry of n takes 1 / (1 + n) of what its zone's total is off."""
    released = noisy(0.5, zones=(0, 1, 1))
    first, second = released.totals
    moved = measured_entries(released) - released.values
    assert moved[0] == pytest.approx((first - released.values[0]) / 2, rel=1e-4)
    assert moved[1:] == pytest.approx(np.full(2, (second - released.values[1:].sum()) / 3), rel=1e-4)


def test_the_textbook_forms_say_that_they_know_no_totals() -> None:
    with pytest.raises(InputError, match="without measured totals; use norm='l2' and entries alone"):
        Restorer(market()).restore(noisy(), Bands(), method="sos1")


def test_a_vector_of_numbers_has_no_total() -> None:
    assert MeasuredTotals.of(TRUTH) is None
    assert MeasuredTotals.of(noisy(0.0)) is None
    assert MeasuredTotals.of(noisy().derive(TRUTH, "a step")) is None
