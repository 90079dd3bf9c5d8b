"""Followers with a convex quadratic cost: values, prices and games by hand, and who refuses them."""

from typing import Literal

import linopy
import numpy as np
import pytest

from ppsm.coordinations import GameCoordination
from ppsm.errors import ModelError
from ppsm.fidelity import restore
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame
from ppsm.program import LinearProgram
from ppsm.status import Status

Sense = Literal["min", "max"]


def plants(sense: Sense = "min") -> Follower:
    """Two plants with costs ``a^2 + 2 a`` and ``a b + b^2 + 4 b + 5``, at most 8 of b, for a demand of 10."""
    model = linopy.Model()
    a = model.add_variables(lower=0, name="a")
    b = model.add_variables(lower=0, upper=8, name="b")
    model.add_constraints(a + b == 10, name="demand")
    model.add_constraints(1 * a <= 9, name="limit")
    cost = a * a + a * b + b * b + 2 * a + 4 * b
    model.add_objective(cost if sense == "min" else -1 * cost, sense=sense)
    return Follower.from_linopy(model, "demand")


@pytest.mark.parametrize("sense", ["min", "max"])
def test_value_answer_and_price(sense: Sense) -> None:
    """Slopes are equal, ``2a + b + 2 = a + 2b + 4``: a = 6, b = 4, at a price of 18."""
    sign = 1.0 if sense == "min" else -1.0
    outcome = plants(sense).solve()
    assert outcome.status is Status.PROVEN_OPTIMAL
    assert outcome.responses == pytest.approx([6, 4], abs=1e-6)
    assert outcome.value == pytest.approx(sign * (36 + 24 + 16 + 12 + 16))
    assert outcome.prices == pytest.approx([sign * 18, 0], abs=1e-6)
    assert outcome.reduced_costs == pytest.approx([0, 0], abs=1e-6)
    assert "HiGHS" not in outcome.solver


def test_a_price_is_the_slope_of_the_value() -> None:
    follower = plants()
    slope = (follower.solve([10.001]).value - follower.solve([9.999]).value) / 0.002
    assert float(follower.solve().price("demand")) == pytest.approx(slope, rel=1e-5)


def test_a_demand_that_cannot_be_served() -> None:
    outcome = plants().solve([20])
    assert outcome.status is Status.INFEASIBLE
    conflict = outcome.conflict()
    assert conflict is not None
    assert conflict.rows == ("demand", "limit")


@pytest.mark.parametrize("sense", ["min", "max"])
def test_a_leader_who_lowers_the_price(sense: Sense) -> None:
    """With a demand of ``10 - x`` the price is ``1.5 (10 - x) + 3``: 12 takes a saving of 4."""
    sign = 1.0 if sense == "min" else -1.0
    game = StackelbergGame(plants(sense))
    saved = game.leader.add_variables(lower=0, upper=10, name="saved")
    game.raise_right_hand_side("demand", -1 * saved)
    game.leader.add_constraints(sign * game.price("demand") <= 12, name="cap")
    game.leader.add_objective(1 * saved)
    solution = game.solve()
    assert solution.verified
    assert solution.objective == pytest.approx(4)
    assert float(solution.price("demand")) == pytest.approx(sign * 12)
    assert float(solution.response("a")) == pytest.approx(4)
    assert solution.follower_objective == pytest.approx(sign * (16 + 8 + 4 + 8 + 8))
    assert solution.follower_objectives == pytest.approx({"follower": sign * 44})


@pytest.mark.parametrize(("sense", "words"), [("min", "cost is not convex"), ("max", "is not concave")])
def test_other_curves_are_refused(sense: Sense, words: str) -> None:
    model = linopy.Model()
    a, b = (model.add_variables(lower=0, upper=1, name=name) for name in "ab")
    model.add_constraints(a + b == 1, name="demand")
    model.add_objective(a * b, sense=sense)
    with pytest.raises(ModelError, match=rf"{words} \(its Hessian, from 'a' on, has the eigenvalue -?1\)"):
        Follower.from_linopy(model, "demand")


def arrays() -> Follower:
    program = LinearProgram.from_arrays(
        cost=[2.0], matrix=[[1.0]], row_lower=[10.0], row_upper=[10.0], row_names=["demand"]
    )
    return Follower.from_program(program, ["demand"], curvature=[[2.0]])


def test_a_curved_follower_from_arrays() -> None:
    assert arrays().solve([3.0]).value == pytest.approx(9 + 6)
    with pytest.raises(ModelError, match="not convex"):
        Follower.from_program(arrays().at(), ["demand"], curvature=-np.eye(1))


@pytest.mark.parametrize("quantity", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("price", [1e-3, 1.0, 1e5])
def test_units_do_not_matter(quantity: float, price: float) -> None:
    """Costs ``a^2 + 2 a`` and ``2 b^2``, 10 needed, a at most 6: b = 4 sets the price of 16."""
    program = LinearProgram.from_arrays(
        cost=[2 * price, 0.0],
        matrix=[[1.0, 1.0]],
        row_lower=[10 * quantity],
        row_upper=[10 * quantity],
        column_upper=[6 * quantity, np.inf],
        row_names=["demand"],
    )
    curvature = price / quantity * np.diag([2.0, 4.0])
    outcome = Follower.from_program(program, ["demand"], curvature=curvature).solve()
    assert outcome.responses == pytest.approx([6 * quantity, 4 * quantity], rel=1e-6)
    assert outcome.prices == pytest.approx([16 * price], rel=1e-6)
    assert outcome.value == pytest.approx((36 + 12 + 32) * price * quantity, rel=1e-7)


def test_the_fidelity_phase_refuses_it() -> None:
    with pytest.raises(ModelError, match="the follower's cost is quadratic; expected a linear one"):
        restore(arrays(), [3.0], target_value=15.0)


def test_mechanisms_refuse_it() -> None:
    game = StackelbergGame(arrays())
    game.leader.add_objective(1 * game.leader.add_variables(lower=0, name="x"))
    with pytest.raises(ModelError, match="a follower whose cost is quadratic, which the mechanisms"):
        GameCoordination(game, unit="MWh")
