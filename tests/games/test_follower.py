"""Followers: read once, alive in the solver, labelled as written."""

import pickle

import linopy
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from ppsm.errors import InputError, ModelError
from ppsm.examples.trades import DISTRICTS, water_market
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status

HOURS = pd.Index([1, 2, 3], name="hour")
PLANTS = pd.Index(["coal", "gas"], name="plant")


def dispatch(sense: str = "min") -> linopy.Model:
    """Coal: 50 at 20; gas: 40 at 60; demand 30, 60, 80 in three hours; water used at most 200 in all."""
    model = linopy.Model()
    most = xr.DataArray([50.0, 40.0], coords=[PLANTS])
    output = model.add_variables(lower=0, upper=most, coords=[PLANTS, HOURS], name="output")
    demand = xr.DataArray([30.0, 60.0, 80.0], coords=[HOURS])
    model.add_constraints(output.sum("plant") == demand, name="demand")
    model.add_constraints(output.sum() <= 200, name="water")
    cost = (xr.DataArray([20.0, 60.0], coords=[PLANTS]) * output).sum()
    model.add_objective(cost if sense == "min" else -1 * cost, sense=sense)
    return model


def test_values_prices_labels_and_shapes() -> None:
    """Hour 1 coal alone at 20, hours 2 and 3 coal at its limit and gas: price 60."""
    outcome = Follower.from_linopy(dispatch(), "demand").solve()
    assert outcome.status is Status.PROVEN_OPTIMAL
    assert outcome.value == pytest.approx(20 * (30 + 50 + 50) + 60 * (10 + 30))
    price = outcome.price("demand")
    assert price.dims == ("hour",)
    assert price.sel(hour=[1, 2, 3]).values == pytest.approx([20, 60, 60])
    output = outcome.response("output")
    assert output.dims == ("plant", "hour")
    assert output.sel(plant="gas").values == pytest.approx([0, 10, 30])
    assert float(outcome.price("water")) == pytest.approx(0)


def test_maximising_follower_has_the_values_of_its_own_sense() -> None:
    """Maximising the negative cost: value and prices turn their sign."""
    outcome = Follower.from_linopy(dispatch("max"), "demand").solve()
    assert outcome.value == pytest.approx(-(20 * 130 + 60 * 40))
    assert outcome.price("demand").values == pytest.approx([-20, -60, -60])


def test_parameter_order_is_that_of_the_names() -> None:
    one = Follower.from_linopy(dispatch(), ["demand", "water"])
    other = Follower.from_linopy(dispatch(), ["water", "demand"])
    assert one.parameter_names == ("demand[1]", "demand[2]", "demand[3]", "water")
    assert other.parameter_names == ("water", "demand[1]", "demand[2]", "demand[3]")
    assert one.nominal.tolist() == [30, 60, 80, 200]
    assert other.nominal.tolist() == [200, 30, 60, 80]
    assert one.solve([30, 60, 85, 175]).value == pytest.approx(other.solve([175, 30, 60, 85]).value)


def test_warm_resolves_equal_cold_ones() -> None:
    market = water_market()
    rng = np.random.default_rng(1)
    statuses = set()
    for _ in range(60):
        demand = market.nominal * rng.uniform(0.2, 2.5, market.nominal.size)
        warm, cold = market.solve(demand), solve_lp(market.at(demand))
        assert warm.status is cold.status
        statuses.add(warm.status)
        assert warm.value == pytest.approx(cold.objective, rel=1e-9)
        # Prices may differ where they are not unique; as subgradients both support the value.
        other = market.nominal * rng.uniform(0.2, 2.5, market.nominal.size)
        assert market.solve(other).value >= warm.value + warm.prices @ (other - demand) - 1e-6
    assert statuses == {Status.PROVEN_OPTIMAL}


def test_solve_after_an_infeasible_one() -> None:
    follower = Follower.from_linopy(dispatch(), "demand")
    before = follower.solve()
    assert follower.solve([30, 60, 500]).status is Status.INFEASIBLE
    assert follower.solve().value == pytest.approx(before.value)


def test_a_vector_that_is_beyond_the_edge_by_its_rounding_is_served() -> None:
    """90 is the most that both plants have; whoever computed a vector on the edge has rounded it."""
    follower = Follower.from_linopy(dispatch(), "demand")
    at, rounded = follower.solve([1, 1, 90]), follower.solve([1, 1, 90 + 5e-7])
    assert rounded.value == pytest.approx(at.value, rel=1e-6)
    assert follower.solve([1, 1, 90 + 1e-4]).status is Status.INFEASIBLE
    # The tolerance held that once.
    assert follower.solve([1, 1, 90]).value == at.value


def test_beyond_the_edge_of_a_large_entry_small_prices_are_still_exact() -> None:
    """Five plants in $/kWh for four towns, and beside them somebody with 10 GWh who is at its limit."""
    costs = [0.066, 0.026, 0.074, 0.059, 0.033, 0.048, 0.01, 0.047, 0.016, 0.067]
    costs += [0.022, 0.028, 0.018, 0.019, 0.016, 0.034, 0.006, 0.05, 0.046, 0.012]
    plants, towns = np.kron(np.eye(5), np.ones(4)), np.kron(np.ones(5), np.eye(4))
    rows = np.vstack([plants, towns, np.zeros(20)])
    market = Follower.from_program(
        LinearProgram.from_arrays(
            cost=[*costs, 0.01],
            matrix=np.column_stack([rows, np.eye(10)[-1]]),
            row_lower=[*[-np.inf] * 5, *[0.0] * 5],
            row_upper=[51.0, 64.0, 63.0, 64.0, 72.0, *[0.0] * 5],
            column_lower=[0.0] * 21,
            column_upper=[*[np.inf] * 20, 1e7],
        ),
        parameter_map=np.vstack([np.zeros((5, 5)), np.eye(5)]),
        nominal=[158.1, 17.9, 51.6, 23.6, 5.0],
    )
    market.solve()
    outcome = market.solve([91.9, 106.4, 41.4, 42.9, 1e7 + 0.05])
    assert outcome.status is Status.PROVEN_OPTIMAL
    assert outcome.reduced_costs.min() >= -1e-9


def test_infeasible_names_the_rows_that_conflict() -> None:
    """Hour 3 asks for more than both plants have; the water limit has nothing to do with it."""
    outcome = Follower.from_linopy(dispatch(), "demand").solve([1, 1, 95])
    assert outcome.status is Status.INFEASIBLE
    conflict = outcome.conflict()
    assert conflict is not None
    assert conflict.rows == ("demand[3]",)
    assert set(conflict.bounds) == {"output[coal, 3]", "output[gas, 3]"}
    assert conflict.shortfall == pytest.approx(5)
    with pytest.raises(InputError, match="the follower is infeasible"):
        outcome.price("demand")
    with pytest.raises(InputError, match="the follower is infeasible"):
        outcome.response("output")


def test_conflict_of_several_rows() -> None:
    outcome = Follower.from_linopy(dispatch(), "demand").solve([80, 80, 80])
    conflict = outcome.conflict()
    assert conflict is not None
    assert set(conflict.rows) == {"demand[1]", "demand[2]", "demand[3]", "water"}


def test_feasible_outcome_has_no_conflict() -> None:
    assert Follower.from_linopy(dispatch(), "demand").solve().conflict() is None


def test_unbounded_follower_is_a_status() -> None:
    program = LinearProgram.from_arrays(cost=[-1], matrix=[[1]], row_lower=[1])
    assert Follower.from_program(program, ["row0"]).solve().status is Status.UNBOUNDED


@pytest.mark.filterwarnings("ignore:Variable 'x' has absent slots")
def test_masked_entries_are_absent_not_zero() -> None:
    model = linopy.Model()
    mask = xr.DataArray([True, False, True], coords=[HOURS])
    x = model.add_variables(lower=0, coords=[HOURS], name="x", mask=mask)
    model.add_constraints(x >= 2, name="floor", mask=mask)
    model.add_constraints(x.sum() >= 7, name="total")
    model.add_objective(x.sum())
    outcome = Follower.from_linopy(model, "total").solve()
    assert outcome.value == pytest.approx(7)
    assert np.isnan(outcome.response("x").sel(hour=2))
    assert np.isnan(outcome.price("floor").sel(hour=2))
    with pytest.raises(ModelError, match="'floor' has absent rows"):
        Follower.from_linopy(model, "floor")


def test_pickle_keeps_everything_but_the_live_solver() -> None:
    market = water_market()
    value = market.solve().value
    copy = pickle.loads(pickle.dumps(market))  # noqa: S301
    assert copy.solve().value == pytest.approx(value)
    assert copy.parameter_names == market.parameter_names
    assert copy.solve().price("demand").indexes["district"].equals(DISTRICTS)


def test_from_program_by_row_names_and_by_map() -> None:
    """min 2a + 3b, a <= 3, a + b >= d: at d = 5 it costs 12 at price 3."""
    program = LinearProgram.from_arrays(
        cost=[2, 3],
        matrix=[[1, 1]],
        row_lower=[5],
        column_upper=[3, np.inf],
        row_names=["need"],
        column_names=["a", "b"],
    )
    named = Follower.from_program(program, ["need"]).solve()
    assert named.value == pytest.approx(12)
    assert float(named.price("need")) == pytest.approx(3)
    # Two people, of whom the second counts double; the program holds the row at zero.
    at_zero = program.shifted(np.array([-5.0]))
    mapped = Follower.from_program(at_zero, parameter_map=[[1, 2]], nominal=[1, 2])
    assert mapped.parameter_names == ("d0", "d1")
    assert mapped.solve().value == pytest.approx(12)
    assert mapped.solve([1, 3]).value == pytest.approx(18)


def test_ranged_rows_move_both_ends() -> None:
    program = LinearProgram.from_arrays(cost=[-1], matrix=[[1]], row_lower=[1], row_upper=[4])
    follower = Follower.from_program(program, ["row0"])
    assert follower.solve().value == pytest.approx(-4)
    assert follower.solve([3]).value == pytest.approx(-6)


def test_inputs_are_frozen() -> None:
    follower = Follower.from_linopy(dispatch(), "demand")
    with pytest.raises(ValueError, match="read-only"):
        follower.nominal[0] = 1


def integers() -> linopy.Model:
    model = dispatch()
    model.add_variables(binary=True, name="on")
    return model


def quadratic() -> linopy.Model:
    model = linopy.Model()
    x = model.add_variables(lower=0, name="x")
    model.add_constraints(x >= 1, name="floor")
    model.add_objective(x * x, sense="max")
    return model


@pytest.mark.parametrize(
    ("model", "parameter", "words"),
    [
        (integers(), "demand", "the follower's variable 'on' is integer; expected a linear program"),
        (quadratic(), "floor", "the follower's objective is not concave (its Hessian, from 'x' on,"),
        (
            dispatch(),
            "output",
            "'output' is a variable of the follower; the parameter must be the right-hand",
        ),
        (dispatch(), "price", "there is no constraint named 'price'; expected one of: 'demand', 'water'"),
        (dispatch(), ["demand", "demand"], "named twice"),
        (dispatch(), [], "no parameter was named"),
        (linopy.Model(), "demand", "has no variables"),
        ("market.lp", "demand", "the follower is a str; expected a linopy.Model"),
    ],
    ids=["integers", "quadratic", "variable", "unknown", "twice", "none", "empty", "no model"],
)
def test_unusable_models_are_refused(model: linopy.Model, parameter: str | list[str], words: str) -> None:
    with pytest.raises(InputError) as refusal:
        Follower.from_linopy(model, parameter)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ([1, 2], "the parameter has shape (2,), expected (3,)"),
        ([1, np.nan, 2], "the parameter of 'demand[2]' is nan"),
        ([1, np.inf, 2], "the parameter of 'demand[2]' is inf"),
        ("many", "the parameter must be numbers"),
    ],
)
def test_unusable_parameters_are_refused(parameter: object, words: str) -> None:
    follower = Follower.from_linopy(dispatch(), "demand")
    with pytest.raises(InputError) as refusal:
        follower.solve(parameter)  # type: ignore[arg-type]
    assert words in str(refusal.value)


def test_a_row_without_a_side_cannot_be_the_parameter() -> None:
    program = LinearProgram.from_arrays(
        cost=[1, 1], matrix=[[1, 0], [0, 1]], row_lower=[1, -np.inf], row_names=["a", "b"]
    )
    with pytest.raises(InputError, match="the parameter of 'b' is inf"):
        Follower.from_program(program, ["b"])
    with pytest.raises(InputError, match="pass one or the other"):
        Follower.from_program(program, ["a"], parameter_map=[[1], [0]], nominal=[1])
