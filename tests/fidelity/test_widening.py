"""The least common factor for bands that nothing satisfies."""

import numpy as np
import pytest

from ppsm.fidelity import Bands, Restorer
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import Incumbent, SearchOutcome
from ppsm.fidelity.widening import factor_by_branching, least_widening, widening_floor
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram
from ppsm.status import Status
from tests.fidelity.markets import one_node
from tests.fidelity.nodes import Problem, node_optimum

EVERYTHING = PublicBounds.of(None, ("town",))


@pytest.mark.parametrize("threshold", [1.0, 1.0004, 1.7, 42.0])
def test_least_widening_finds_the_threshold(threshold: float) -> None:
    point = Incumbent(0.0, np.zeros(1), np.zeros(1), np.zeros(0, dtype=np.int64))

    def attempt(factor: float) -> SearchOutcome:
        if factor >= threshold:
            return SearchOutcome(Status.PROVEN_OPTIMAL, point, 0.0, 1)
        return SearchOutcome(Status.INFEASIBLE, None, np.inf, 1)

    found = least_widening(1.0, attempt)
    assert threshold <= found.factor <= threshold * 1.0012
    assert found.bound <= threshold
    assert found.factor - found.bound <= 1.2e-3 * found.factor


def test_narrower_bands_with_a_vector_that_may_be_far_away_are_not_taken() -> None:
    point = Incumbent(0.0, np.zeros(1), np.zeros(1), np.zeros(0, dtype=np.int64))

    def attempt(factor: float) -> SearchOutcome:
        if factor < 20.0:
            return SearchOutcome(Status.NO_INCUMBENT, None, -np.inf, 1)
        return SearchOutcome(Status.PROVEN_OPTIMAL if factor > 30.0 else Status.INCUMBENT, point, 0.0, 1)

    found = least_widening(1.0, attempt)
    assert found.outcome is not None
    assert found.outcome.status is Status.PROVEN_OPTIMAL
    assert 30.0 < found.factor < 1.25 * 30.0


def test_above_refuted_bands_any_vector_makes_the_least_factor() -> None:
    point = Incumbent(0.0, np.zeros(1), np.zeros(1), np.zeros(0, dtype=np.int64))

    def attempt(factor: float) -> SearchOutcome:
        if factor < 2.0:
            return SearchOutcome(Status.INFEASIBLE, None, np.inf, 1)
        return SearchOutcome(Status.PROVEN_OPTIMAL if factor > 2.1 else Status.INCUMBENT, point, 0.0, 1)

    found = least_widening(1.0, attempt)
    assert 2.0 <= found.factor <= 2.0 * 1.0012
    assert found.factor - found.bound <= 1.2e-3 * found.factor


# A vector that nothing is proven about takes a few more: wider bands might give a better one.
@pytest.mark.parametrize(("status", "most"), [(Status.PROVEN_OPTIMAL, 8), (Status.INCUMBENT, 14)])
def test_where_nothing_is_refuted_a_few_attempts_are_enough(status: Status, most: int) -> None:
    point = Incumbent(0.0, np.zeros(1), np.zeros(1), np.zeros(0, dtype=np.int64))
    tried: list[float] = []

    def attempt(factor: float) -> SearchOutcome:
        tried.append(factor)
        if factor >= 9.0:
            return SearchOutcome(status, point, 0.0, 1)
        return SearchOutcome(Status.NO_INCUMBENT, None, -np.inf, 1)

    found = least_widening(1.0, attempt)
    assert 9.0 <= found.factor <= 9.0 / 0.8
    assert found.bound == 1.0
    assert found.outcome is not None
    assert len(tried) <= most


def floor_by_hand(value: float, width: float) -> float:
    restorer = Restorer(one_node())
    asked, wider = (
        restorer.core(np.array([8.0]), Bands(value, factor * width), EVERYTHING, "l2", None)
        for factor in (1.0, 2.0)
    )
    return widening_floor(asked, wider, restorer.matrices)


@pytest.mark.parametrize(
    ("value", "width", "factor"),
    [
        (-10.0, 0.1, 100.0),  # nothing costs less than 0
        (100.0, 1.0, 30.0),  # nor more than 70
        (30.0, 0.1, 1.0),
    ],
)
def test_the_floor_of_a_value_by_hand(value: float, width: float, factor: float) -> None:
    assert floor_by_hand(value, width) == pytest.approx(factor, rel=1e-6)


@pytest.mark.parametrize(("price", "factor"), [(10.0, 50.0), (-1.0, 10.0), (4.0, 1.0)])
def test_the_floor_of_a_price_by_hand(price: float, factor: float) -> None:
    # any amount at 5 and nothing to be paid for taking more: prices are between 0 and 5
    program = LinearProgram.from_arrays(
        cost=[5.0], matrix=[[1.0]], row_lower=[0.0], row_upper=[np.inf], column_upper=np.inf
    )
    restorer = Restorer(Follower.from_program(program, parameter_map=[[1.0]], nominal=[0.0]))
    asked, wider = (
        restorer.core(
            np.array([8.0]),
            Bands(prices=np.array([price]), price_width=np.array([width])),
            EVERYTHING,
            "l2",
            None,
        )
        for width in (0.1, 0.2)
    )
    assert widening_floor(asked, wider, restorer.matrices) == pytest.approx(factor, rel=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_no_faithful_point_exists_below_the_floor(seed: int) -> None:
    problem = Problem(seed, columns=3)
    instance, restorer, rng = problem.instance, problem.restorer, problem.rng
    bands = instance.bands
    # targets that are off, so that the bands as asked are mostly empty
    off = Bands(
        None if bands.value is None else 1.5 * bands.value + 10.0,
        bands.value_width,
        None if bands.prices is None else bands.prices + rng.normal(scale=3.0, size=bands.prices.size),
        bands.price_width,
    ).checked(restorer.names)

    def core(factor: float) -> Core:
        return restorer.core(instance.released, off.widened(factor), instance.public_bounds, "l2", None)

    floor = widening_floor(core(1.0), core(2.0), restorer.matrices)
    for factor in (0.5 * (1.0 + floor), 0.999 * floor):
        if 1.0 <= factor < floor:
            assert node_optimum(core(factor)) == np.inf
    asked = node_optimum(core(1.0))
    assert floor == 1.0 or asked == np.inf


@pytest.mark.parametrize(("value", "price"), [(10.0, 5.0), (40.0, 2.0)])
def test_the_least_factor_by_branching_is_the_edge_of_what_is_empty(value: float, price: float) -> None:
    bands = Bands(value, 0.01 * value, np.array([price]), np.array([0.01 * price])).checked(("town",))
    restorer = Restorer(one_node())

    def core(factor: float) -> Core:
        return restorer.core(np.array([8.0]), bands.widened(factor), EVERYTHING, "l2", None)

    least = factor_by_branching(core(1.0), core(2.0), np.inf)
    assert least.is_proven
    assert least.bound == pytest.approx(least.factor, rel=1e-4)
    assert least.factor > 1.001
    assert node_optimum(core(least.factor * 1.0001)) < np.inf
    assert node_optimum(core(least.factor * 0.9999)) == np.inf
