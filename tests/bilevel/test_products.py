"""Products, costs that the leader moves, curved followers and followers in turn: games solved by hand."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.bilevel.kkt import build_kkt
from ppsm.bilevel.products import weights_of_products
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram, LinearProgram, Products
from ppsm.status import Status

METHODS = [Method.AUTO, Method.BRANCHING, Method.BIG_M, Method.SOS1, Method.INDICATOR]


def solved(program: BilevelProgram, method: Method) -> BilevelSolution:
    found = solve_bilevel(program, method=method)
    assert found.status is Status.PROVEN_OPTIMAL
    assert found.verified
    return found


def toll() -> BilevelProgram:
    """Ten travellers, a road of cost 2 with a toll and a free one of cost 7: the best toll is 5."""
    roads = LinearProgram.from_arrays(cost=[2, 7], matrix=[[1, 1]], row_lower=10, row_upper=10)
    return BilevelProgram.from_arrays(
        follower=roads,
        leader_cost=[0.0],
        variable_upper=100.0,
        cost_coupling=[[1], [0]],
        products=Products(variable_response=[[-1, 0]]),
    )


def bidder() -> BilevelProgram:
    """A plant of 80 bids against 60 at 20 and 100 at 50 for a demand of 100.

    Below 20 it sells 80 at 20 or less; up to 50 it sells what the cheap rival leaves, 40 at 50.
    """
    market = LinearProgram.from_arrays(
        cost=[0, 20, 50],
        matrix=[[1, 1, 1]],
        row_lower=100,
        row_upper=100,
        column_upper=[80, 60, 100],
        row_names=["balance"],
        column_names=["own", "cheap", "dear"],
    )
    return BilevelProgram.from_arrays(
        follower=market,
        leader_cost=[0.0],
        variable_upper=200.0,
        response_cost=[10, 0, 0],
        cost_coupling=[[1], [0], [0]],
        products=Products(price_response=[[-1, 0, 0]]),
    )


def curved(**more: object) -> BilevelProgram:
    """``min y^2 + 2 y`` with ``y + x = 10``: the price is ``2 y + 2``."""
    market = LinearProgram.from_arrays(cost=[2], matrix=[[1]], row_lower=10, row_upper=10)
    parts: dict[str, object] = {"leader_cost": [-3.0], "price_cost": [1.0], "curvature": [[2]], **more}
    return BilevelProgram.from_arrays(follower=market, variable_upper=10.0, coupling=[[1]], **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_a_toll_is_what_the_free_road_costs_more(method: Method) -> None:
    found = solved(toll(), method)
    assert found.leader_objective == pytest.approx(-50.0)
    assert found.variables == pytest.approx([5.0])
    assert found.follower_objective == pytest.approx(70.0)


@pytest.mark.parametrize("method", METHODS)
def test_a_bidder_lets_the_price_rise_and_sells_less(method: Method) -> None:
    found = solved(bidder(), method)
    assert found.leader_objective == pytest.approx(-(50 - 10) * 40.0)
    assert found.responses == pytest.approx([40.0, 60.0, 0.0])
    assert found.prices == pytest.approx([50.0])


@pytest.mark.parametrize("method", METHODS)
def test_a_curved_follower_has_the_price_of_its_slope(method: Method) -> None:
    found = solved(curved(price_matrix=[[1]], leader_lower=[6.0]), method)
    assert found.variables == pytest.approx([8.0])
    assert found.prices == pytest.approx([6.0])
    assert found.follower_objective == pytest.approx(2.0**2 + 2 * 2.0)


def test_the_income_of_one_bidder_takes_the_identities_of_all_others() -> None:
    alpha, beta = weights_of_products(bidder())
    assert alpha == pytest.approx([-1.0])
    assert beta == pytest.approx([0.0, -1.0, -1.0])


def test_the_linear_cost_is_the_leaders_at_an_optimal_answer() -> None:
    kkt = build_kkt(bidder())
    found = solve_bilevel(bidder())
    program = kkt.program
    point = np.concatenate([found.variables, found.responses, np.zeros(kkt.multipliers.count)])
    slopes = program.follower.cost + program.cost_coupling @ found.variables
    reduced = slopes - program.follower.matrix.T @ found.prices
    net = kkt.multipliers.net(found.prices, np.asarray(reduced))
    signed = np.where(kkt.multipliers.is_free, net, np.maximum(0.0, kkt.multipliers.sign * net))
    point[kkt.first_multiplier :] = signed
    worth = program.leader_objective(found.variables, found.responses, found.prices)
    assert float(kkt.relaxation.cost @ point) == pytest.approx(worth)


def test_a_product_that_optimality_does_not_make_linear_is_named() -> None:
    with pytest.raises(ModelError, match="multiplies 'price of row0' by 'u0'"):
        solve_bilevel(curved(products=Products(price_variable=[[-1]])))


def test_a_follower_with_two_valleys_is_refused() -> None:
    with pytest.raises(ModelError, match="not convex"):
        curved(curvature=[[-2]])


def in_turn() -> BilevelProgram:
    """Power burns gas at the second follower: the leader's x of 12 is served cheaply, else by gas.

    Power: coal (at most ``x``) at 1, gas plant at 3, demand 12. Gas: 8 at 2, more at 9, for the plant's burn.
    """
    both = LinearProgram.from_arrays(
        cost=[1, 3, 2, 9],
        matrix=[[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1]],
        row_lower=[12, -np.inf, 0],
        row_upper=[12, 0, np.inf],
        column_upper=[np.inf, np.inf, 8, np.inf],
        column_names=["coal", "plant", "cheap", "dear"],
        row_names=["power", "coal limit", "gas"],
    )
    return BilevelProgram.from_arrays(
        follower=both,
        leader_cost=[0.5],
        price_cost=[0, 0, 1],
        variable_upper=12.0,
        coupling=[[0], [-1], [0]],
        handed_on=[[0, 0, 0, 0], [0, 0, 0, 0], [0, -1, 0, 0]],
    )


@pytest.mark.parametrize("method", [Method.AUTO, Method.BRANCHING, Method.SOS1, Method.INDICATOR])
def test_a_later_follower_serves_what_an_earlier_one_decided(method: Method) -> None:
    """Coal of 4 leaves a burn of 8, just what cheap gas can do: its price is 2 and the leader pays 2 + 2."""
    found = solved(in_turn(), method)
    assert found.leader_objective == pytest.approx(0.5 * 4 + 2)
    assert found.responses == pytest.approx([4.0, 8.0, 8.0, 0.0])


def test_followers_that_wait_for_each_other_are_refused() -> None:
    program = in_turn()
    back = program.handed_on.toarray()
    back[0, 2] = 1.0
    with pytest.raises(ModelError, match="wait for each other"):
        build_kkt(replace(program, handed_on=sp.csr_array(back)))


def test_a_product_beside_quadratic_costs_is_refused_with_what_to_do() -> None:
    market = replace(bidder(), curvature=sp.csr_array(np.diag([0.0, 1.0, 0.0])))
    with pytest.raises(ModelError, match="'cheap', stand in the way: state them as steps of constant cost"):
        build_kkt(market)
