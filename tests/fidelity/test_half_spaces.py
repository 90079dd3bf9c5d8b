"""Public half-spaces of the vector: heeded by every search, and no business of the follower's prices."""

import numpy as np
import pytest

from ppsm.errors import InputError
from ppsm.fidelity import Bands, Restorer
from ppsm.fidelity.certificate import certify
from ppsm.fidelity.problem import HalfSpaces, Norm
from ppsm.status import Status
from tests.fidelity.markets import LIMITS, Instance, one_node, two_nodes
from tests.fidelity.oracle import Distance, brute_force


def _half_space(seed: int, instance: Instance) -> HalfSpaces:
    """One that the released vector misses: weights of either sign, a limit beyond its weighted sum."""
    rng = np.random.default_rng([7, seed])
    weights = np.round(rng.uniform(-0.5, 1.0, instance.released.size), 1)
    weights[0] = 1.0
    return HalfSpaces(weights, np.array([float(weights @ instance.released) + float(rng.uniform(0.0, 3.0))]))


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("seed", range(36))
def test_optimum_equals_enumeration_of_patterns(seed: int, norm: Norm) -> None:
    instance = Instance(seed)
    asked = _half_space(seed, instance)
    nothing = np.zeros(instance.released.size)
    expected = brute_force(
        instance.follower,
        instance.released,
        instance.bands,
        instance.lower,
        instance.upper,
        Distance(norm, nothing, nothing),
        asked,
    )
    result = Restorer(instance.follower, asked).restore(
        instance.released,
        instance.bands,
        (instance.lower, instance.upper),
        norm=norm,
        elastic=False,
        limits=LIMITS,
    )
    if not np.isfinite(expected):
        assert result.status is Status.INFEASIBLE
        return
    assert result.certified
    assert result.objective == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert asked.missed(result.parameter) <= 1e-5
    assert result.recertify().faithful


@pytest.mark.parametrize("seed", [0, 2, 5, 12])
def test_the_textbook_form_heeds_them(seed: int) -> None:
    instance = Instance(seed)
    restorer = Restorer(instance.follower, _half_space(seed, instance))
    upper = np.full(instance.released.size, 6.0)
    given = (instance.released, instance.bands, (0.0, upper))
    ours = restorer.restore(*given, elastic=False)
    theirs = restorer.restore(*given, elastic=False, method="sos1")
    assert ours.status is theirs.status
    if ours.status.has_answer:
        assert theirs.objective == pytest.approx(ours.objective, rel=1e-3, abs=1e-4)


def test_a_half_space_does_not_change_prices() -> None:
    # Up to 10 units cost 2 each. At least 8 are asked for: the price there is still 2, and no dual of the
    # half-space lends itself to make it 3.
    asked = HalfSpaces(np.array([1.0]), np.array([8.0]))
    at_two = Restorer(one_node(), asked).restore([5.0], Bands.relative(None, [2.0]), (0.0, 20.0))
    assert at_two.parameter == pytest.approx([8.0], abs=1e-6)
    at_three = Restorer(one_node(), asked).restore(
        [5.0], Bands.relative(None, [3.0]), (0.0, 20.0), elastic=False
    )
    # Between 2 and 5 every price is optimal at 10 units, and nowhere else.
    assert at_three.parameter == pytest.approx([10.0], abs=1e-6)


def test_widening_is_least_within_half_spaces() -> None:
    # East is worth 3 each beyond the pipe of 4: with a value of 11 and 2 west, east is 7; asking for 8 east
    # needs a value of 14 at least, a band of 3 instead of 1.
    bands = Bands(11.0, 1.0)
    asked = HalfSpaces(np.array([0.0, 1.0]), np.array([8.0]))
    found = Restorer(two_nodes(), asked).restore([2.0, 7.0], bands, ([2.0, 0.0], 20.0))
    value = two_nodes().solve([2.0, 8.0]).value
    assert found.widening == pytest.approx(value - 11.0, rel=1e-3)
    assert found.parameter[1] == pytest.approx(8.0, abs=1e-4)


def test_a_certificate_finds_a_vector_outside() -> None:
    asked = HalfSpaces(np.array([1.0]), np.array([8.0]))
    found = Restorer(one_node(), asked).restore([5.0], Bands(), (0.0, 20.0))
    assert found.claim is not None
    assert certify(found.claim).faithful
    object.__setattr__(found.claim, "parameter", np.array([7.9]))
    assert [each.what for each in certify(found.claim).findings] == ["outside a half-space"]


@pytest.mark.parametrize(
    ("weights", "least", "said"),
    [
        ([[1.0, 2.0]], [1.0, 2.0], "one row of weights for each limit"),
        ([[np.nan, 2.0]], [1.0], "finite numbers"),
        ([[0.0, 0.0]], [1.0], "no weight that is not zero"),
    ],
)
def test_bad_half_spaces_are_refused(weights: list[list[float]], least: list[float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        HalfSpaces(np.array(weights), np.array(least))


def test_same_prices_are_a_polytope_of_faithful_vectors() -> None:
    # The first ten units cost 2: all of them have that price, and a value in the band is 10 to 14.
    restorer = Restorer(one_node())
    bands = Bands(12.0, 2.0)
    same = restorer.at_prices(np.array([2.0]), [1.0], bands, (0.0, 20.0))
    assert same is not None
    assert same.nearest == pytest.approx([5.0], abs=1e-6)
    assert same.farthest(np.array([1.0])) == pytest.approx([7.0], abs=1e-6)
    assert same.farthest(np.array([-1.0])) == pytest.approx([5.0], abs=1e-6)
    # a price that was rounded is that of the bid; one that nobody asks for is that of the corner, 10 units
    rounded = restorer.at_prices(np.array([2.001]), [1.0], bands, (0.0, 20.0))
    assert rounded is not None
    assert rounded.farthest(np.array([1.0])) == pytest.approx([7.0], abs=1e-6)
    assert restorer.at_prices(np.array([3.0]), [1.0], bands, (0.0, 20.0)) is None
