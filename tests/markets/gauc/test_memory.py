"""Remembered commitments survive, are shared, and are not trusted beyond what they can prove."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.markets.two_node import TWO_NODE

from ppsm.arrays import FloatArray, IntArray
from ppsm.markets import GasAwareCommitment
from ppsm.markets.gauc.memory import CommitmentMemory, RememberedCommitment, RememberedPlan


def test_memory_survives_and_ignores_damage(tmp_path: Path) -> None:
    first = GasAwareCommitment(TWO_NODE, tmp_path)
    expected = first.solve(0.0, [800.0])
    files = sorted(tmp_path.rglob("*.npz"))
    assert len(files) == len(first.memory) > 0
    second = GasAwareCommitment(TWO_NODE, tmp_path)
    again = second.solve(0.0, [800.0])
    assert again.solved == 0
    assert again.leader_cost_usd == expected.leader_cost_usd
    for file in files:
        file.write_bytes(b"not an archive")
    assert len(CommitmentMemory(TWO_NODE, tmp_path)) == 0
    # another power side has another fingerprint
    other = replace(TWO_NODE, bids=(*TWO_NODE.bids[:-1], replace(TWO_NODE.bids[-1], price_usd_per_mwh=121.0)))
    assert len(CommitmentMemory(other, tmp_path)) == 0


def test_solvers_that_share_a_directory_share_what_they_find(tmp_path: Path) -> None:
    first, second = (GasAwareCommitment(TWO_NODE, tmp_path) for _ in range(2))
    first.solve(0.0, [800.0])
    assert len(second.memory) == 0
    second.memory.refresh()
    assert len(second.memory) == len(first.memory) > 0
    assert second.solve(0.0, [800.0]).solved == 0


# One unit of the gas plant offers its first block in four hours.
OFFERS = np.array([[[1, 1, 1, 1], [0, 0, 0, 0]]])


def remembered(stress: float, level: int, cost: float) -> RememberedCommitment:
    on = np.array([[2, 2, 2, 2], [1, 1, 1, 1], [0, 0, 0, 0]])
    return RememberedCommitment(stress, (level,), on, OFFERS, cost, cost - 1.0, 0.5)


def test_commitments_are_known_by_stress_and_levels_cheapest_first() -> None:
    memory = CommitmentMemory(TWO_NODE)
    for stress, level, cost in ((0.0, 0, 90.0), (0.0, 2, 70.0), (0.0, 1, 80.0), (0.1, 0, 10.0)):
        memory.put(remembered(stress, level, cost))
    assert [known.objective_usd for known in memory.at(0.0)] == [70.0, 80.0, 90.0]
    assert memory.at(0.2) == []
    known = memory.get(0.1, (0,))
    assert known is not None
    assert known.bound_usd == 9.0
    assert memory.get(0.1, (1,)) is None
    memory.put(remembered(0.1, 0, 11.0))
    replaced = memory.get(0.1, (0,))
    assert replaced is not None
    assert replaced.objective_usd == 11.0


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    generator = np.random.default_rng(9)
    memory = CommitmentMemory(TWO_NODE, tmp_path)
    for _ in range(20):
        on = generator.integers(0, [[3], [2], [3]], size=(3, 4))
        stress, cost, less = generator.uniform(0.0, 1.0, 3)
        levels = (int(generator.integers(0, 3)),)
        second = generator.integers(0, on[1] + 1)
        offers = np.array([[on[1], second]])
        memory.put(RememberedCommitment(stress, levels, on, offers, 1e6 * cost, 1e6 * cost - less, less))
        read = CommitmentMemory(TWO_NODE, tmp_path).get(stress, levels)
        assert read is not None
        assert (read.objective_usd, read.bound_usd, read.seconds) == (1e6 * cost, 1e6 * cost - less, less)
        assert np.array_equal(read.on, on)
        assert np.array_equal(read.offers, offers)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("on", np.full((3, 4), 3)),  # there are two units of coal
        ("on", np.full((3, 4), -1)),
        ("on", np.ones((3, 5), dtype=np.int64)),
        ("on", np.ones((3, 4))),
        ("offers", np.ones((1, 3, 4), dtype=np.int64)),
        ("offers", np.ones((1, 2, 4))),
        ("offers", np.array([[[2, 2, 2, 2], [0, 0, 0, 0]]])),  # one unit runs
        ("offers", np.array([[[1, 1, 1, 1], [2, 0, 0, 0]]])),  # blocks go in order
        ("levels", np.zeros(2, dtype=np.int64)),
        ("figures", np.array([0.0, 1.0, np.inf, 1.0])),
        ("figures", np.array([0.0, np.nan, 1.0, 1.0])),
        ("figures", np.zeros(3)),
    ],
)
def test_files_that_cannot_be_a_commitment_of_the_case_are_ignored(
    tmp_path: Path, part: str, value: FloatArray | IntArray
) -> None:
    CommitmentMemory(TWO_NODE, tmp_path).put(remembered(0.0, 0, 90.0))
    (file,) = tmp_path.rglob("*.npz")
    with np.load(file) as archive:
        content = {name: archive[name] for name in archive.files}
    assert len(CommitmentMemory(TWO_NODE, tmp_path)) == 1
    np.savez_compressed(file, **{**content, part: value})
    assert len(CommitmentMemory(TWO_NODE, tmp_path)) == 0


def plan(stress: float = 0.0, running: int = 1, cost: float = 90.0) -> RememberedPlan:
    on = np.array([[2, 2, 2, 2], [running] * 4, [0, 0, 0, 0]])
    return RememberedPlan(stress, on, np.array([[[running] * 4, [0] * 4]]), cost)


def test_plans_are_shared_cheapest_first_and_answered_by_em_again(tmp_path: Path) -> None:
    first, second = (GasAwareCommitment(TWO_NODE, tmp_path) for _ in range(2))
    for each in (plan(cost=90.0), plan(running=0, cost=80.0), plan(stress=0.1, cost=10.0)):
        first.memory.put_plan(each)
    assert [each.cost_usd for each in first.memory.plans_at(0.0)] == [80.0, 90.0]
    assert second.plans(0.0) == []
    second.memory.refresh()
    assert [each.cost_usd for each in second.memory.plans_at(0.0)] == [80.0, 90.0]
    expected = [
        second.followers.power_answer(0.0, each.on, each.offers) for each in (plan(), plan(running=2))
    ]
    costs = sorted(each.leader_cost_usd for each in expected if each is not None)
    # what a plan costs is EM's word, not the file's; each is asked for once
    assert [each.leader_cost_usd for each in second.plans(0.0)] == costs
    assert len(second.plans(0.0)) == len(costs) > 0


def test_a_plan_is_kept_once_and_not_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppsm.markets.gauc.memory.TUNING", SimpleNamespace(plans_remembered=1))
    memory = CommitmentMemory(TWO_NODE, tmp_path)
    for running in (0, 0, 1):
        memory.put_plan(plan(running=running))
    assert len(memory.plans_at(0.0)) == len(list(tmp_path.rglob("plan-*.npz"))) == 1


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("on", np.full((3, 4), 3)),
        ("offers", np.array([[[2, 2, 2, 2], [0, 0, 0, 0]]])),
        ("figures", np.array([0.0, np.nan])),
        ("figures", np.zeros(4)),
    ],
)
def test_files_that_cannot_be_a_plan_of_the_case_are_ignored(
    tmp_path: Path, part: str, value: FloatArray | IntArray
) -> None:
    CommitmentMemory(TWO_NODE, tmp_path).put_plan(plan())
    (file,) = tmp_path.rglob("plan-*.npz")
    with np.load(file) as archive:
        content = {name: archive[name] for name in archive.files}
    assert len(CommitmentMemory(TWO_NODE, tmp_path).plans_at(0.0)) == 1
    np.savez_compressed(file, **{**content, part: value})
    assert CommitmentMemory(TWO_NODE, tmp_path).plans_at(0.0) == []
