"""The global optimum against brute force, and what must not change it."""

import numpy as np
import pytest

from ppsm.fidelity import Bands, Restorer
from ppsm.fidelity.bounds.primal_dual import PriceBox
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.search.two_trees import TwoTrees
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram
from ppsm.status import Status
from tests.fidelity.markets import LIMITS, Instance
from tests.fidelity.oracle import brute_force


@pytest.mark.parametrize("seed", range(24))
def test_optimum_equals_enumeration_of_patterns(seed: int) -> None:
    instance = Instance(seed)
    expected = brute_force(
        instance.follower, instance.released, instance.bands, instance.lower, instance.upper
    )
    result = instance.restore()
    if not np.isfinite(expected):
        assert result.status is Status.INFEASIBLE
        return
    assert result.certified
    assert result.objective == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert result.bound <= result.objective
    assert result.recertify().faithful


@pytest.mark.parametrize("seed", [223, 745])
def test_the_tree_that_splits_prices_finds_the_same(seed: int) -> None:
    instance = Instance(seed)
    restorer = Restorer(instance.follower)
    core = restorer.core(instance.released, instance.bands, instance.public_bounds, "l2", None)
    band = PriceBox(core.price_lower, core.price_upper)
    search = TwoTrees(core, FollowerLps(restorer.scaled), LIMITS, restorer.matrices, band)
    search._by_prices = True
    found = search.run()
    assert found.status is Status.PROVEN_OPTIMAL
    assert found.incumbent is not None
    assert found.incumbent.objective * restorer.scaled.quantity_unit**2 == pytest.approx(
        brute_force(instance.follower, instance.released, instance.bands, instance.lower, instance.upper),
        rel=1e-4,
    )


@pytest.mark.parametrize("seed", [3, 4, 9, 12])
@pytest.mark.parametrize(("quantity", "price"), [(1e4, 1.0), (1e-3, 1e3), (1.0, 1e-4)])
def test_units_do_not_matter(seed: int, quantity: float, price: float) -> None:
    instance = Instance(seed)
    program = instance.follower.program
    scaled = Follower.from_program(
        LinearProgram.from_arrays(
            cost=program.cost * price,
            matrix=program.matrix,
            row_lower=program.row_lower * quantity,
            row_upper=program.row_upper * quantity,
            column_lower=program.column_lower * quantity,
            column_upper=program.column_upper * quantity,
        ),
        parameter_map=instance.follower.parameter_map,
        nominal=np.zeros(instance.released.size),
    )
    bands = instance.bands
    other = Bands(
        None if bands.value is None else bands.value * quantity * price,
        bands.value_width * quantity * price,
        None if bands.prices is None else bands.prices * price,
        None if bands.price_width is None else bands.price_width * price,
    )
    expected = instance.restore()
    found = Restorer(scaled).restore(
        instance.released * quantity,
        other,
        (instance.lower * quantity, instance.upper * quantity),
        elastic=False,
        limits=LIMITS,
    )
    assert found.status is expected.status
    assert found.objective == pytest.approx(
        expected.objective * quantity**2, rel=1e-4, abs=1e-6 * quantity**2
    )


@pytest.mark.parametrize("seed", [2, 5, 8, 14])
def test_order_of_entries_rows_and_columns_does_not_matter(seed: int) -> None:
    instance = Instance(seed)
    rng = np.random.default_rng(seed)
    program, bands = instance.follower.program, instance.bands
    rows, columns = rng.permutation(program.shape[0]), rng.permutation(program.shape[1])
    entries = rng.permutation(instance.released.size)
    shuffled = Follower.from_program(
        LinearProgram.from_arrays(
            cost=program.cost[columns],
            matrix=program.matrix.toarray()[np.ix_(rows, columns)],
            row_lower=program.row_lower[rows],
            row_upper=program.row_upper[rows],
            column_lower=program.column_lower[columns],
            column_upper=program.column_upper[columns],
        ),
        parameter_map=instance.follower.parameter_map.toarray()[np.ix_(rows, entries)],
        nominal=np.zeros(entries.size),
    )
    other = Bands(
        bands.value,
        bands.value_width,
        None if bands.prices is None else bands.prices[entries],
        None if bands.price_width is None else bands.price_width[entries],
    )
    expected = instance.restore()
    found = Restorer(shuffled).restore(
        instance.released[entries],
        other,
        (instance.lower[entries], instance.upper[entries]),
        elastic=False,
        limits=LIMITS,
    )
    assert found.status is expected.status
    assert found.objective == pytest.approx(expected.objective, rel=1e-4, abs=1e-6)
