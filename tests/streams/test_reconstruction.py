"""The filter: what a measured entry tells of others."""

import numpy as np
import pytest

from ppsm.errors import InputError
from ppsm.streams.meters import PublicSample
from ppsm.streams.reconstruction import Knowledge, Reconstruction, Spread

BOUNDS = np.zeros(4), np.full(4, 1e6)
ZONES = (0, 1, 0, 1)


def _after_a_high_zone(at_first: Spread) -> np.ndarray:
    """The estimates of four entries of 100 after a sample in which the first zone is a fifth higher."""
    quiet = Spread(own=1e-6, shared=0.0)
    known = Reconstruction(BOUNDS, Knowledge(at_first=at_first, drift=quiet, departure=quiet), ZONES)
    known.begin(np.full(4, 100.0))
    return known.add(PublicSample(np.array([130.0, 100.0, 110.0, 100.0]), scale=10.0)).mean


def test_what_entries_of_a_zone_share_is_learned_from_all_of_them() -> None:
    together = _after_a_high_zone(Spread(own=1e-3, zone=0.3, shared=0.0))
    assert together[0] == pytest.approx(together[2], abs=0.5)
    assert together[0] == pytest.approx(120.0, abs=4.0)
    assert together[1] == pytest.approx(100.0, abs=0.5)


def test_without_a_shared_part_every_entry_is_learned_by_itself() -> None:
    alone = _after_a_high_zone(Spread(own=0.3, shared=0.0))
    assert alone[0] > 120.0
    assert alone[2] < 110.0


def test_a_negative_part_is_refused() -> None:
    with pytest.raises(InputError, match="zone"):
        Spread(own=0.1, zone=-0.1, shared=0.0)
