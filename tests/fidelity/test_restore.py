"""Hand-computed markets, modes, bands, priors and bad input."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import linopy
import numpy as np
import pytest

from ppsm.arrays import LARGEST_ENTRY
from ppsm.errors import InputError, ModelError, SecretExposureError, SolverError
from ppsm.fidelity import Bands, Prior, Restorer, SearchLimits, restore
from ppsm.fidelity.problem import public_values
from ppsm.fidelity.search.best_first import SearchOutcome
from ppsm.fidelity.search.duality_tree import DualityTree
from ppsm.fidelity.search.side_tree import SideTree
from ppsm.games.follower import Follower
from ppsm.privacy import LaplaceMechanism, Sensitive
from ppsm.program import LinearProgram
from ppsm.status import Status
from tests.fidelity.markets import one_node, two_nodes


def test_value_band_by_hand() -> None:
    # V = 35 at d = 13; within 1 % means 34.65 <= V, so d >= 12.93
    result = restore(one_node(), [8.0], 35.0, [5.0], eta_p=0.01, eta_d=0.01)
    assert result.certified
    assert result.parameter == pytest.approx([12.93], abs=1e-6)
    assert result.objective == pytest.approx(4.93**2, rel=1e-6)
    assert result.value == pytest.approx(34.65, abs=1e-5)
    assert result.price_distance == 0.0
    assert result.widening == 1.0
    assert str(result).startswith("optimal, certified, bands as asked")


def test_without_prices_only_the_value_counts() -> None:
    result = restore(one_node(), [8.0], 35.0, eta_p=0.01)
    assert result.certified
    assert result.parameter == pytest.approx([12.93], abs=1e-6)


def test_feasibility_only_projects_on_what_can_be_served() -> None:
    assert restore(one_node(), [25.0]).parameter == pytest.approx([20.0], abs=1e-6)
    assert restore(one_node(), [-3.0]).parameter == pytest.approx([0.0], abs=1e-9)


def test_price_band_moves_the_congestion() -> None:
    # east costs 3 only if the pipe is full: d_east >= 4; at exactly 4 every price from 1 to 3 is optimal
    result = restore(two_nodes(), [5.0, 2.0], None, [1.0, 3.0], eta_d=0.01)
    assert result.certified
    assert result.parameter == pytest.approx([5.0, 4.0], abs=1e-6)
    assert result.objective == pytest.approx(4.0, rel=1e-6)
    assert result.recertify().faithful


def test_both_bands_by_hand() -> None:
    # V = d_w + 4 + 3 (d_e - 4) with the pipe full; target V = 15 = 5 + 4 + 6 at (5, 6)
    result = restore(two_nodes(), [3.0, 5.0], 15.0, [1.0, 3.0], eta_p=0.0, eta_d=0.001)
    # nearest point of d_w + 3 d_e = 23 to (3, 5): move by (15 - 10) / 10 * (1, 3) = (0.5, 1.5)
    assert result.certified
    assert result.parameter == pytest.approx([3.5, 6.5], abs=1e-5)


@pytest.mark.parametrize("target", [(35.0, [5.0]), (35.0, None), (None, None)])
def test_a_faithful_vector_comes_back_unchanged(target: tuple[float | None, list[float] | None]) -> None:
    result = restore(one_node(), [13.0], *target)
    assert result.certified
    assert result.parameter.tolist() == [13.0]
    assert result.objective == 0.0


def test_maximising_follower_keeps_the_users_signs() -> None:
    model = linopy.Model()
    sold = model.add_variables(lower=0, upper=10, name="sold")
    model.add_constraints(sold <= 4.0, name="limit")
    model.add_objective(3.0 * sold, sense="max")
    follower = Follower.from_linopy(model, "limit")
    assert follower.solve([4.0]).value == pytest.approx(12.0)
    # the profit is 3 d up to d = 10; profit 18 within 1 % means d >= 5.94
    result = restore(follower, [2.0], 18.0, [3.0], eta_p=0.01, eta_d=0.01)
    assert result.certified
    assert result.parameter == pytest.approx([5.94], abs=1e-6)
    assert result.value == pytest.approx(17.82, abs=1e-5)


def test_public_bounds_hold_exactly() -> None:
    result = restore(two_nodes(), [9.0, -7.0], bounds=([0.0, 0.5], [6.0, 8.0]))
    assert result.parameter.tolist() == [6.0, 0.5]
    assert result.certified


def test_l1_moves_few_entries() -> None:
    # raising V by one costs a move of 1 in the west but 1/3 in the east
    result = restore(two_nodes(), [3.0, 5.0], 15.0, [1.0, 3.0], eta_p=0.0, norm="l1")
    assert result.certified
    assert result.parameter == pytest.approx([3.0, 20.0 / 3.0], abs=1e-5)
    assert result.objective == pytest.approx(5.0 / 3.0, rel=1e-5)


def test_prior_by_hand() -> None:
    # no band: (d - 8)^2 + 2 b^2 / s^2 (d - 12)^2 with b = 1, s^2 = 2 is least at the mean, 10
    prior = Prior(mean=[12.0], spread=[np.sqrt(2.0)], noise_scale=1.0)
    result = restore(one_node(), [8.0], prior=prior)
    assert result.certified
    assert result.parameter == pytest.approx([10.0], abs=1e-6)
    assert result.objective == pytest.approx(8.0, rel=1e-6)


def test_l1_prior_by_hand() -> None:
    # |d - 8| + b / (2 s^2) (d - 12)^2 with b = 1, s^2 = 2: 1 = (12 - d) / 2, so d = 10
    prior = Prior(mean=[12.0], spread=[np.sqrt(2.0)], noise_scale=1.0)
    result = restore(one_node(), [8.0], prior=prior, norm="l1")
    assert result.parameter == pytest.approx([10.0], abs=1e-5)
    assert result.certified


def test_prior_pulls_towards_the_truth() -> None:
    truth = np.array([5.0, 6.0])
    noisy = truth + np.array([3.0, -2.5])
    plain = restore(two_nodes(), noisy, 15.0, [1.0, 3.0])
    prior = Prior(mean=truth, spread=0.5, noise_scale=3.0)
    helped = restore(two_nodes(), noisy, 15.0, [1.0, 3.0], prior=prior)
    assert np.abs(helped.parameter - truth).sum() < 0.5 * np.abs(plain.parameter - truth).sum()
    assert helped.certified


def test_empty_bands_are_widened_by_the_least_factor() -> None:
    # price 5 needs d >= 10, so V >= 20; V <= 10 (1 + 0.01 t) needs t = 100
    result = restore(one_node(), [8.0], 10.0, [5.0], eta_p=0.01, eta_d=0.001)
    assert result.status is Status.PROVEN_OPTIMAL
    assert result.widening == pytest.approx(100.0, rel=2e-3)
    assert "bands widened by 100" in str(result)
    assert result.widening_bound <= result.widening
    assert result.widening_bound >= result.widening * (1 - 5e-3)
    assert result.certificate is not None
    assert result.certificate.faithful


def test_widened_bands_whose_searches_prove_nothing_still_give_a_vector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = Restorer.search

    def unproven(*given: Any) -> SearchOutcome:
        outcome = search(*given)
        if outcome.incumbent is None:
            return outcome
        return replace(outcome, status=Status.INCUMBENT, bound=0.0)

    monkeypatch.setattr(Restorer, "search", unproven)
    result = restore(one_node(), [8.0], 10.0, [5.0], eta_p=0.01, eta_d=0.001)
    assert result.status is Status.INCUMBENT
    assert 100.0 <= result.widening <= 125.0
    assert result.widening_bound < 100.1
    assert result.certificate is not None
    assert result.certificate.faithful


def test_l1_takes_the_vector_of_l2_before_it_widens_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    def helpless(_: SideTree) -> Iterator[None]:
        while True:
            yield

    monkeypatch.setattr(SideTree, "steps", helpless)
    limits = SearchLimits(seconds=0.3)
    result = restore(two_nodes(), [9.0, 3.0], 15.0, [1.0, 3.0], norm="l1", limits=limits)
    assert result.status is Status.INCUMBENT
    assert result.widening == 1.0
    assert result.certificate is not None
    assert result.certificate.faithful


@pytest.mark.parametrize("searches", [0, 1])
def test_a_single_search_that_an_lp_ends_is_gone_on_with_in_a_plainer_form(
    searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = restore(two_nodes(), [9.0, 3.0], 15.0, [1.0, 3.0], norm="l1")
    begun: list[type[SideTree]] = []
    steps = SideTree.steps

    def noted(tree: SideTree) -> Iterator[None]:
        begun.append(type(tree))
        yield from steps(tree)

    def without_a_verdict(*_: object, **__: object) -> None:
        raise SolverError("an LP has no verdict.")

    monkeypatch.setattr(SideTree, "steps", noted)
    monkeypatch.setattr(DualityTree, "solved", without_a_verdict)
    limits = SearchLimits(searches=searches)
    result = restore(two_nodes(), [9.0, 3.0], 15.0, [1.0, 3.0], norm="l1", limits=limits, elastic=False)
    assert begun[:2] == [DualityTree, SideTree][: 2 * searches]
    if searches:
        assert result.status is Status.PROVEN_OPTIMAL
        assert result.objective == pytest.approx(usual.objective, rel=1e-4)


def test_a_gap_of_zero_is_searched_for() -> None:
    result = restore(two_nodes(), [9.0, 3.0], 15.0, [1.0, 3.0], limits=SearchLimits(gap=0.0, seconds=1.0))
    usual = restore(two_nodes(), [9.0, 3.0], 15.0, [1.0, 3.0])
    assert result.status.has_answer
    assert result.objective == pytest.approx(usual.objective, rel=1e-4)
    assert usual.bound <= result.objective


def test_empty_bands_without_elasticity_say_so() -> None:
    result = restore(one_node(), [8.0], 10.0, [5.0], eta_p=0.01, eta_d=0.001, elastic=False)
    assert result.status is Status.INFEASIBLE
    assert "empty" in result.explanation
    assert not result.certified


def test_zero_price_targets_have_a_band() -> None:
    bands = Bands.relative(1.0, [0.0, 10.0], eta_d=0.1)
    assert bands.price_width is not None
    assert bands.price_width.tolist() == pytest.approx([0.01, 1.0])


def test_time_limit_keeps_the_best_answer() -> None:
    result = restore(one_node(), [8.0], 35.0, [5.0], limits=SearchLimits(nodes=1))
    assert result.status.has_answer


def test_a_secret_is_refused_and_a_release_is_read() -> None:
    secret = Sensitive([13.0], dataset="demand", unit="MWh", entry_names=["town"])
    with pytest.raises(SecretExposureError, match="release it first"):
        restore(one_node(), secret)  # type: ignore[arg-type]
    released = LaplaceMechanism(alpha=0.1).simulate(secret, seed=3)
    assert restore(one_node(), released).parameter == pytest.approx(released.values)
    elsewhere = Sensitive([13.0], dataset="demand", unit="MWh", entry_names=["city"])
    with pytest.raises(InputError, match="'city' is no entry of it; 'town' has no value"):
        restore(one_node(), LaplaceMechanism(alpha=0.1).simulate(elsewhere, seed=3))


def test_noise_may_carry_a_secret_beyond_the_limit_that_it_keeps_to() -> None:
    """What was charged for is not refused for its size: it is held at the limit."""
    name = ("town",)
    secret = Sensitive([LARGEST_ENTRY], dataset="demand", unit="MWh", entry_names=name)
    noisy = next(
        found
        for seed in range(20)
        if (found := LaplaceMechanism(alpha=1e9).simulate(secret, seed=seed)).values[0] > LARGEST_ENTRY
    )
    assert public_values(noisy, name).tolist() == [LARGEST_ENTRY]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta_p": -0.1}, "eta_p is -0.1"),
        ({"eta_p": float("nan")}, "eta_p is nan"),
        ({"eta_d": -1.0}, "eta_d is -1.0"),
        ({"target_prices": [5.0, 5.0]}, "target price has shape"),
        ({"target_prices": [float("nan")]}, "target price of 'town' is nan"),
        ({"target_value": float("inf")}, "value target is inf"),
        ({"target_value": 1e300}, "value target is 1e\\+300"),
        ({"target_value": 1e21}, "value target is 1e\\+21; expected a number of at most 1e\\+20"),
        ({"target_value": "much"}, "value target is 'much'"),
        ({"target_prices": ["dear"]}, r"target price is \['dear'\]"),
        ({"released": [1e17]}, "released vector of 'town' is 1e\\+17; expected at most 1e\\+15"),
        ({"released": [1e25]}, "released vector of 'town' is 1e\\+25, expected a finite number"),
        ({"bounds": 5.0}, "public bounds are 5.0; expected a pair"),
        ({"bounds": (0.0, "high")}, "upper bound must be numbers"),
        ({"bounds": (5.0, 4.0)}, "public bounds of 'town'"),
        ({"norm": "l3"}, "norm is 'l3'"),
        ({"method": "gurobi"}, "method is 'gurobi'"),
        ({"released": [1.0, 2.0]}, "released vector has shape"),
        ({"released": [float("nan")]}, "released vector of 'town' is nan"),
        ({"prior": Prior([1.0], [0.0], 1.0)}, "prior spread of 'town'"),
        ({"prior": Prior([1.0], [1.0], 0.0)}, "noise scale"),
    ],
)
def test_bad_input_names_the_culprit(arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"released": [8.0], "target_value": 35.0, "target_prices": [5.0], **arguments}
    with pytest.raises(InputError, match=message):
        restore(one_node(), **given)  # type: ignore[arg-type]


def test_what_is_no_follower_is_refused() -> None:
    with pytest.raises(InputError, match="the follower is a str; expected a"):
        restore("market", [1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", [{"gap": float("nan")}, {"nodes": 0}, {"seconds": -1.0}])
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"limit '{next(iter(limits))}' is"):
        SearchLimits(**limits)


def test_bounds_that_nobody_can_serve_name_the_conflict() -> None:
    with pytest.raises(ModelError, match="balance"):
        restore(one_node(), [8.0], bounds=(30.0, 40.0))


def test_an_unbounded_follower_is_refused() -> None:
    program = LinearProgram.from_arrays(
        cost=[-1.0, 0.0], matrix=[[1.0, -1.0]], row_lower=[0.0], row_upper=[0.0], column_upper=np.inf
    )
    follower = Follower.from_program(program, parameter_map=[[1.0]], nominal=[0.0])
    with pytest.raises(ModelError, match="unbounded below"):
        restore(follower, [1.0], 3.0, [1.0])


def test_the_same_problem_gives_the_same_answer_twice() -> None:
    follower = two_nodes()
    first = restore(follower, [3.0, 5.0], 15.0, [1.0, 3.0])
    restore(follower, [9.0, 1.0], 15.0, [1.0, 3.0])
    again = Restorer(two_nodes()).restore([3.0, 5.0], Bands.relative(15.0, [1.0, 3.0]))
    assert again.parameter == pytest.approx(first.parameter, abs=1e-7)


def test_many_vectors_against_one_restorer_equal_single_calls() -> None:
    bands = Bands.relative(15.0, [1.0, 3.0])
    warm = Restorer(two_nodes())
    for k in range(4):
        together, alone = (one.restore([3.0 + k, 5.0], bands) for one in (warm, Restorer(two_nodes())))
        assert together.certified
        assert together.parameter == pytest.approx(alone.parameter, abs=1e-7)
