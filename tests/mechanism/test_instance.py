"""Experiments: one flat record per run, paired by seeds and by the solver's memory."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ppsm import InputError, load_case
from ppsm.mechanism.instance import Instance, Workspace, run_instance, seed_of, simulate_instance
from ppsm.mechanism.variants import Variant, VariantRunner

BASE = Instance(power_stress=0.0, gas_stress=0.0, alpha=300.0, mechanism="ppsm", repetition=0)


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace(load_case("two_node"), gap=1e-4, clear_seconds=10.0)


def test_a_record_is_flat_and_complete(workspace: Workspace) -> None:
    record = json.loads(json.dumps(run_instance(workspace, BASE), allow_nan=False))
    assert all(not isinstance(value, dict | list) for value in record.values())
    assert record["feasible"]
    assert record["original_leader"] == pytest.approx(15700.0)
    assert record["error_leader_percent"] == 0.0
    assert abs(record["error_gas_percent"]) <= 0.1001
    assert record["l1_released"] == pytest.approx(record["l2_released"])
    assert record["widening"] == 1.0
    assert record["truth_in_bands"]
    assert record["l2_released"] <= record["l2_bound"]
    assert record["cpu_3b"] > 0.0
    assert record["commitments_solved"] == 0


def test_records_of_all_mechanisms_have_the_same_columns(workspace: Workspace) -> None:
    records = [
        run_instance(workspace, replace(BASE, mechanism=name)) for name in ("laplace", "ppsm-p", "ppsm")
    ]
    assert list(records[0]) == list(records[1]) == list(records[2])
    # same noise for all three
    assert records[0]["l1_noisy"] == records[1]["l1_noisy"] == records[2]["l1_noisy"]
    assert records[0]["l1_released"] == records[0]["l1_noisy"]


def test_predictions_are_measured_against_the_original(workspace: Workspace) -> None:
    published = run_instance(workspace, BASE)
    assert published["error_predicted_value_percent"] == 0.0
    assert published["error_predicted_prices_percent"] == 0.0
    assert published["cross_validated_value_percent"] is None
    assert (
        run_instance(workspace, replace(BASE, mechanism="laplace"))["error_predicted_value_percent"] is None
    )
    runner = VariantRunner(workspace)
    learned = runner.run(replace(BASE, mechanism="ppsm+learned"))
    assert list(learned) == list(published)
    assert learned["feasible"]
    assert learned["l1_noisy"] == published["l1_noisy"]
    assert learned["cross_validated_value_percent"] > 0.0
    assert learned["cross_validated_prices_percent"] > 0.0
    release = simulate_instance(workspace, BASE, runner._predictor(Variant.named("ppsm+learned"), BASE))
    assert release.prediction is not None
    original = workspace.original(0.0, 0.0)
    assert original.prices is not None
    value = original.values["gas"]
    expected = 100.0 * (release.prediction.value - value) / value
    assert learned["error_predicted_value_percent"] == pytest.approx(expected)
    off = np.abs(release.prediction.prices - original.prices).sum() / original.prices.sum()
    assert learned["error_predicted_prices_percent"] == pytest.approx(100.0 * off)


def test_what_is_learned_does_not_depend_on_what_was_cleared(workspace: Workspace) -> None:
    inst = replace(BASE, mechanism="ppsm+learned")
    fresh = Workspace(load_case("two_node"), gap=1e-4, clear_seconds=10.0)
    busy = VariantRunner(workspace).run(inst)
    alone = VariantRunner(fresh).run(inst)
    for name in ("cross_validated_value_percent", "error_predicted_value_percent"):
        assert busy[name] == pytest.approx(alone[name], rel=1e-9)


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
    again = Workspace(load_case("two_node"), gap=1e-4, clear_seconds=10.0)
    one, two = (run_instance(each, BASE) for each in (workspace, again))
    for name in ("l1_noisy", "l1_released", "released_leader", "released_gas", "widening"):
        assert one[name] == pytest.approx(two[name], rel=1e-9), name


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
