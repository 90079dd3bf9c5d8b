"""Followers from PyPSA, cvxpy, Pyomo and MPS files say what these say, or are refused with the reason."""

import logging
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pypsa
import pytest

from ppsm import Follower, StackelbergGame
from ppsm.errors import InputError, ModelError, PpsmError

NODES = pd.Index(["north", "south"], name="node")


@pytest.fixture
def network() -> Any:
    logging.getLogger("pypsa").setLevel(logging.ERROR)
    n = pypsa.Network()
    n.set_snapshots(pd.date_range("2026-01-01", periods=2, freq="h"))
    n.add("Bus", ["a", "b"])
    n.add("Generator", ["cheap", "dear"], bus=["a", "b"], p_nom=100, marginal_cost=[10, 30])
    n.add("Line", "ab", bus0="a", bus1="b", s_nom=20, x=0.1)
    n.add("Load", ["plain", "town", "mill"], bus=["a", "b", "b"], p_set=[5, 30, 0])
    n.loads_t.p_set["mill"] = [3.0, 7.0]
    return n


def test_a_network_has_the_objective_and_prices_of_pypsa(network: Any) -> None:
    follower = Follower.from_pypsa(network)
    table = network.get_switchable_as_dense("Load", "p_set")
    assert follower.parameter_names[2] == "load[2026-01-01 00:00, mill]"
    doubled = network.copy()
    doubled.loads.p_set *= 2
    doubled.loads_t.p_set *= 2
    for model, loads in ((network, table), (doubled, 2 * table.iloc[::-1, ::-1])):
        model.optimize(log_to_console=False, include_objective_constant=False)
        outcome = follower.solve(loads)
        assert outcome.value == pytest.approx(model.objective)
        prices = outcome.price("Bus-nodal_balance").to_pandas()
        assert prices.to_numpy() == pytest.approx(model.buses_t.marginal_price[prices.columns].to_numpy())


def test_a_network_is_not_changed_and_may_have_some_loads_secret(network: Any) -> None:
    follower = Follower.from_pypsa(network, loads=["mill"])
    assert getattr(network, "_model", None) is None
    assert follower.labelled().sel(name="mill").values.tolist() == [3.0, 7.0]
    network.set_snapshots(["now"])
    assert Follower.from_pypsa(network).parameter_names == ("load[plain]", "load[town]", "load[mill]")


def test_a_network_that_was_solved_before_is_read_and_keeps_its_model(network: Any) -> None:
    network.optimize(log_to_console=False, include_objective_constant=False)
    model = network.model
    assert Follower.from_pypsa(network).solve().value == pytest.approx(network.objective)
    assert network.model is model
    assert model.solver_model is not None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda n: n.remove("Load", ["plain", "town", "mill"]), "no active loads"),
        (lambda n: n.generators.__setitem__("committable", True), "is integer"),
        (lambda n: n.generators.__setitem__("marginal_cost_quadratic", 1.0), "quadratic marginal costs"),
    ],
)
def test_networks_of_another_kind_are_refused(network: Any, change: Any, sentence: str) -> None:
    change(network)
    with pytest.raises(ModelError, match=sentence):
        Follower.from_pypsa(network)


def test_loads_that_are_not_there_are_named(network: Any) -> None:
    with pytest.raises(InputError, match=r"no active load 'city'.*'plain', 'town', 'mill'"):
        Follower.from_pypsa(network, loads=["city"])


def market() -> tuple[Any, Any, dict[str, Any]]:
    demand = cp.Parameter(2, name="demand", value=np.array([0.0, 50.0]))
    output = cp.Variable(2, name="output", nonneg=True)
    flow = cp.Variable(name="flow", bounds=[0, 40])
    rows = {
        "balance": (demand == output + cp.hstack([-flow, flow])),
        "line": (flow <= 20),
        "least": (output[0] >= 3),
    }
    for name, row in rows.items():
        row.set_label(name)
    return (
        cp.Problem(cp.Minimize(np.array([10, 30]) @ output + cp.abs(flow)), list(rows.values())),
        demand,
        rows,
    )


@pytest.mark.parametrize("numbers", [[0.0, 50.0], [7.0, 15.0]])
def test_a_problem_has_the_value_and_duals_of_cvxpy(numbers: list[float]) -> None:
    problem, demand, rows = market()
    follower = Follower.from_cvxpy(problem, demand, coords=[NODES])
    assert follower.parameter_names == ("demand[north]", "demand[south]")
    outcome = follower.solve(pd.Series(numbers[::-1], index=["south", "north"]))
    demand.value = np.array(numbers)
    assert outcome.value == pytest.approx(problem.solve(solver=cp.HIGHS))
    # cvxpy's duals of inequalities have no sign; of an equality it is that of d - Ax.
    assert outcome.price("balance").sel(node=list(NODES)).values == pytest.approx(rows["balance"].dual_value)
    assert outcome.price("line") == pytest.approx(-rows["line"].dual_value)
    assert outcome.price("least") == pytest.approx(rows["least"].dual_value)


def refused_problems() -> dict[str, tuple[Any, Any]]:
    y, z = cp.Variable(name="y"), cp.Variable(name="z", integer=True)
    q, empty = cp.Parameter(name="q", value=2.0), cp.Parameter(name="empty")
    square = cp.Variable((2, 2), name="square", symmetric=True)
    return {
        "'q' multiplies a variable": (cp.Problem(cp.Minimize(y), [q * y >= 1]), q),
        "'q' is in the objective": (cp.Problem(cp.Minimize(q * y), [y >= 1]), q),
        "'empty' has no value": (cp.Problem(cp.Minimize(y), [y >= empty]), empty),
        "objective is curved": (cp.Problem(cp.Minimize(y**2), [y >= q]), q),
        "multiplied by a parameter": (cp.Problem(cp.Minimize(y), [y >= q * q]), q),
        "constraints with curves": (cp.Problem(cp.Minimize(y), [cp.norm(cp.hstack([y, q])) <= 4]), q),
        "'z' is integer": (cp.Problem(cp.Minimize(z), [z >= q]), q),
        "'q' does not occur": (cp.Problem(cp.Minimize(y), [y >= 1]), q),
        "is a int; expected a cvxpy.Parameter": (cp.Problem(cp.Minimize(y), [y >= 1]), 3),
        "is a str; expected a cvxpy.Problem": ("problem", q),
        "'square' is declared symmetric": (cp.Problem(cp.Minimize(cp.sum(square)), [square >= q]), q),
    }


@pytest.mark.parametrize("sentence", list(refused_problems()))
def test_problems_of_another_kind_are_refused_with_the_reason(sentence: str) -> None:
    with pytest.raises(PpsmError, match=sentence):
        Follower.from_cvxpy(*refused_problems()[sentence])


def pyomo_market(sense: Any = pyo.minimize) -> Any:
    model = pyo.ConcreteModel()
    model.nodes = pyo.Set(initialize=list(NODES))
    model.output = pyo.Var(model.nodes, bounds=(0, 100))
    model.flow = pyo.Var(bounds=(0, 20))
    demand = {"north": 0, "south": 50}
    model.demand = pyo.Constraint(
        model.nodes,
        rule=lambda m, i: m.output[i] + (m.flow if i == "south" else -m.flow) + 1 == demand[i] + 1,
    )
    cost = 10 * model.output["north"] + 30 * model.output["south"]
    model.cost = pyo.Objective(expr=cost if sense == pyo.minimize else -cost, sense=sense)
    return model


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_a_pyomo_model_has_its_labels_and_prices(sense: Any) -> None:
    sign = 1.0 if sense == pyo.minimize else -1.0
    follower = Follower.from_pyomo(pyomo_market(sense), parameter="demand")
    outcome = follower.solve()
    assert outcome.value == sign * 1100.0
    assert (sign * outcome.price("demand").to_pandas()).to_dict() == {"north": 10.0, "south": 30.0}
    assert follower.solve({"south": 15, "north": 0}).value == sign * 150.0


def test_pyomo_models_of_another_kind_are_refused() -> None:
    curved = pyomo_market()
    curved.cap = pyo.Constraint(expr=curved.flow**2 <= 4)
    with pytest.raises(ModelError, match="the constraint 'cap' is not linear"):
        Follower.from_pyomo(curved, parameter="demand")
    whole = pyomo_market()
    whole.unit = pyo.Var(domain=pyo.Binary)
    with pytest.raises(ModelError, match="'unit' is integer"):
        Follower.from_pyomo(whole, parameter="demand")
    with pytest.raises(InputError, match="no constraint named 'balance'"):
        Follower.from_pyomo(pyomo_market(), parameter="balance")


def test_an_mps_file_is_a_follower(tmp_path: Path) -> None:
    file = tmp_path / "market.mps"
    file.write_text(
        "NAME market\nROWS\n N cost\n E south\n L line\nCOLUMNS\n flow cost 10 south 1\n flow line 1\n"
        " oil cost 30 south 1\nRHS\n rhs south 50 line 20\nENDATA\n"
    )
    follower = Follower.from_mps(file, parameter="south")
    assert follower.solve().value == 1100.0
    assert follower.solve({"south": 15}).price("south") == 10.0
    with pytest.raises(PpsmError, match=r"missing.mps"):
        Follower.from_mps(tmp_path / "missing.mps", parameter="south")


def test_an_amount_with_an_index_of_its_own_is_told_that_of_the_constraint() -> None:
    orders = cp.Parameter(2, name="orders", value=np.ones(2))
    shipped = cp.Variable(2, nonneg=True)
    limit = (shipped <= 5).set_label("mills")
    problem = cp.Problem(cp.Minimize(cp.sum(shipped)), [shipped >= orders, limit])
    game = StackelbergGame(Follower.from_cvxpy(problem, orders))
    extra = game.leader.add_variables(lower=0, coords=[pd.RangeIndex(2, name="mill")], name="extra")
    with pytest.raises(ModelError, match=r"dimension 'mill'.*\(here: 'mills_0'\)"):
        game.raise_right_hand_side("mills", 1 * extra)
