"""Experiments: one flat row per run, paired by seeds and by the solver's memory."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ppsm import load_case
from ppsm.errors import InputError
from ppsm.experiments.instance import Workspace, insist_on_answer, run_instance, simulate_instance
from ppsm.experiments.row import Instance, Row
from ppsm.experiments.tuning import Limits
from ppsm.mechanism.predictors import seed_of
from ppsm.status import Status

LIMITS = Limits(gap=1e-4, clear_seconds=10.0, original_seconds=10.0, fidelity_seconds=10.0)
BASE = Instance(power_stress=0.0, gas_stress=0.0, alpha=300.0, mechanism="ppsm", repetition=0)


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace(load_case("two_node"), limits=LIMITS)


def test_a_row_is_flat_and_complete(workspace: Workspace) -> None:
    row = run_instance(workspace, BASE)
    content = json.loads(json.dumps(row.to_dict(), allow_nan=False))
    assert all(not isinstance(value, dict | list) for value in content.values())
    assert Row.from_dict(content) == row
    assert content["feasible"]
    assert content["original_leader_cost"] == pytest.approx(15700.0)
    assert content["error_leader_percent"] == 0.0
    assert abs(content["error_gas_percent"]) <= 0.1001
    assert content["l1_released"] == pytest.approx(content["l2_released"])
    assert content["widening"] == 1.0
    assert content["truth_in_bands"]
    assert content["l2_released"] <= content["l2_bound"]
    assert content["cpu_3b"] > 0.0
    assert content["commitments_solved"] == 0


def test_rows_of_all_mechanisms_have_the_same_noise(workspace: Workspace) -> None:
    rows = [run_instance(workspace, replace(BASE, mechanism=name)) for name in ("laplace", "ppsm-p", "ppsm")]
    # same noise for all three
    assert rows[0].l1_noisy == rows[1].l1_noisy == rows[2].l1_noisy
    assert rows[0].l1_released == rows[0].l1_noisy


def test_predictions_are_measured_against_the_original(workspace: Workspace) -> None:
    published = run_instance(workspace, BASE)
    assert published.error_predicted_value_percent == 0.0
    assert published.error_predicted_prices_percent == 0.0
    assert published.cross_validated_value_percent is None
    plain = run_instance(workspace, replace(BASE, mechanism="laplace"))
    assert plain.error_predicted_value_percent is None
    instance = replace(BASE, mechanism="ppsm+learned")
    learned = run_instance(workspace, instance)
    assert learned.feasible
    assert learned.l1_noisy == published.l1_noisy
    assert learned.cross_validated_value_percent is not None
    assert learned.cross_validated_value_percent > 0.0
    assert learned.cross_validated_prices_percent is not None
    assert learned.cross_validated_prices_percent > 0.0
    release = simulate_instance(workspace, BASE, workspace.predictor(instance))
    assert release.prediction is not None
    original = workspace.original((0.0, 0.0))
    assert original.prices is not None
    value = original.values["gas"]
    expected = 100.0 * (release.prediction.value - value) / value
    assert learned.error_predicted_value_percent == pytest.approx(expected)
    off = np.abs(release.prediction.prices - original.prices).sum() / original.prices.sum()
    assert learned.error_predicted_prices_percent == pytest.approx(100.0 * off)


def test_what_is_learned_does_not_depend_on_what_was_cleared(workspace: Workspace) -> None:
    inst = replace(BASE, mechanism="ppsm+learned")
    fresh = Workspace(load_case("two_node"), limits=LIMITS)
    busy, alone = (run_instance(each, inst) for each in (workspace, fresh))
    for name in ("cross_validated_value_percent", "error_predicted_value_percent"):
        assert getattr(busy, name) == pytest.approx(getattr(alone, name), rel=1e-9)


def test_bands_share_the_noise_and_alphas_share_the_prices(workspace: Workspace) -> None:
    first = simulate_instance(workspace, BASE)
    wide = simulate_instance(workspace, replace(BASE, eta_p=0.01, eta_d=0.01))
    far = simulate_instance(workspace, replace(BASE, alpha=30.0))
    assert wide.noisy.values.tolist() == first.noisy.values.tolist()
    prices = [each.dossier.steps[1].output["prices"] for each in (first, far)]
    assert prices[0] == prices[1]
    other = simulate_instance(workspace, replace(BASE, repetition=1))
    assert other.noisy.values.tolist() != first.noisy.values.tolist()
    assert other.dossier.steps[1].output["prices"] != prices[0]


def test_a_run_can_be_repeated(workspace: Workspace) -> None:
    again = Workspace(load_case("two_node"), limits=LIMITS)
    one, two = (run_instance(each, BASE) for each in (workspace, again))
    for name in ("l1_noisy", "l1_released", "released_leader_cost", "released_gas_value", "widening"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9), name


def test_seeds_depend_on_the_axes_alone() -> None:
    assert seed_of("noise", "northeast", 0.3, 0.1, 0, 10.0) == seed_of(
        "noise", "northeast", 0.3, 0.1, 0, 10.0
    )
    assert seed_of("noise", "northeast", 0.3, 0.1, 0, 10.0) == 205341664653758528
    assert len({seed_of("noise", 0.3, repetition) for repetition in range(100)}) == 100


def test_strange_instances_are_one_sentence(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="the mechanism 'magic' is unknown"):
        run_instance(workspace, replace(BASE, mechanism="magic"))
    with pytest.raises(InputError, match="the power stress is 5"):
        run_instance(workspace, replace(BASE, power_stress=5.0))


def test_the_limit_of_the_original_game_is_its_own() -> None:
    limits = replace(LIMITS, clear_seconds=7.0, original_seconds=9.0)
    workspace = Workspace(load_case("two_node"), limits=limits)
    seen: list[float] = []
    solve = workspace.solver.solve

    def noted(*given: Any, **options: Any) -> Any:
        seen.append(options["time_limit"])
        return solve(*given, **options)

    workspace.solver.solve = noted  # type: ignore[method-assign]
    run_instance(workspace, BASE)
    workspace.clear_original((0.0, 0.0), 3.0)
    run_instance(workspace, replace(BASE, repetition=1))
    # The original; step 2c, which plays the game on what would be released, and the release itself.
    assert seen == [9.0, 7.0, 7.0, 3.0, 7.0, 7.0]


def test_an_original_game_without_an_answer_is_one_sentence(workspace: Workspace) -> None:
    nothing = replace(workspace.original((0.0, 0.0)), status=Status.NO_INCUMBENT)
    with pytest.raises(InputError, match=r"of 'x' at \+30% / \+10% has no answer \(no_incumbent\): choose"):
        insist_on_answer("x", (0.3, 0.1), nothing)
    with pytest.raises(InputError, match="a demand of its own has no answer"):
        insist_on_answer("x", (0.3, None), nothing)
