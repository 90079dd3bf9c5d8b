"""Gas-aware unit commitment: by hand, against trying everything, and what its certificate refuses."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.markets.tiny import best_by_trying, tiny_case
from typer.testing import CliRunner

from ppsm.cases import load_case
from ppsm.cli import app
from ppsm.markets.check.certificate import certify
from ppsm.markets.check.shortages import explain_game, explain_gas
from ppsm.markets.gauc.memory import CommitmentMemory
from ppsm.markets.gauc.region import knapsack
from ppsm.markets.gauc.solver import GasAwareCommitment, GaucSolution
from ppsm.markets.model.commitment import UnitCommitment
from ppsm.markets.model.validity import BidLevels
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status

TWO_NODE = load_case("two_node")


@cache
def two_node() -> GasAwareCommitment:
    return GasAwareCommitment(TWO_NODE)


@cache
def solved() -> GaucSolution:
    return two_node().solve(0.0, [800.0], gap=1e-6)


def test_levels_and_caps_by_hand() -> None:
    levels = BidLevels.of(TWO_NODE)
    # 35 and 50 $/MWh at 7 MMBtu/MWh: 5 and 7.14 $/MMBtu, that is 17.06 and 24.37 $/MWh of gas
    np.testing.assert_allclose(levels.cap_usd_per_mwh[0], [17.0607, 24.3724, np.inf], rtol=1e-5)
    np.testing.assert_allclose(levels.least_mw[0], [40, 60, np.inf])
    assert [int(levels.needed(np.array([y]))[0]) for y in (10.0, 17.06, 20.0, 24.38)] == [0, 0, 1, 2]
    on = np.array([[0, 1, 1, 0]])
    assert levels.supported(np.array([[0.0, 59.0, 80.0, 0.0]]), on).tolist() == [0]
    assert levels.supported(np.array([[0.0, 60.0, 80.0, 0.0]]), on).tolist() == [1]
    assert levels.supported(np.zeros((1, 4)), np.zeros((1, 4), dtype=int)).tolist() == [2]


def test_two_node_by_hand() -> None:
    # Without prices: coal 100 MW over the tie (2 units on at 100 $/h, 20 $/MWh), gas serves 20, 50, 50 and
    # 5 MW but at least 40. Then gas burns 369 MWh, the city pays 20 $/MWh for 1169 MWh, and a first block at
    # 35 $/MWh covers only 17.06. So the gas unit must give its first block, 60 MW, whenever it is on.
    answer = solved()
    assert answer.status is Status.PROVEN_OPTIMAL
    assert answer.levels is not None
    assert answer.levels.tolist() == [1]
    assert answer.gas_prices_usd_per_mwh is not None
    np.testing.assert_allclose(answer.gas_prices_usd_per_mwh, [20, 20])
    # 4 hours of gas at 60 MW: 60 x 35 x 4 + 200 x 4; coal 60, 90, 90, 45 MW at 20 $ with 2, 2, 2, 2 units on
    by_hand = 4 * (60 * 35 + 200) + 20 * (60 + 90 + 90 + 45) + 100 * 8
    assert answer.objective_uc_usd == pytest.approx(by_hand)
    assert certify(answer).findings == ()


def test_too_dear_gas_turns_the_plant_off() -> None:
    # demand alone needs the tank: 30 $/MWh is more than any block covers, so oil replaces gas
    answer = two_node().solve(0.0, [1900.0], gap=1e-3, time_limit=10)
    assert answer.on is not None
    assert answer.on[1].sum() == 0
    assert certify(answer).clean


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 6, 7])
def test_equals_trying_every_commitment(seed: int) -> None:
    case = tiny_case(seed)
    solver = GasAwareCommitment(case)
    generator = np.random.default_rng(seed)
    for demand in generator.uniform(200, 2200, size=2):
        expected = best_by_trying(case, 0.0, demand)
        answer = solver.solve(0.0, [demand], gap=1e-7, time_limit=60)
        if expected is None:
            assert answer.status is Status.INFEASIBLE
        else:
            assert answer.objective_uc_usd == pytest.approx(expected, rel=1e-7)
            assert answer.status is Status.PROVEN_OPTIMAL
            assert certify(answer).clean


def test_the_certificate_refuses_what_is_tampered_with() -> None:
    answer = solved()
    assert answer.on is not None
    assert answer.output_mw is not None
    assert answer.burn_mwh is not None
    assert answer.objective_uc_usd is not None
    assert answer.objective_em_usd is not None
    less = answer.on.copy()
    less[0] -= 1
    low = answer.output_mw.copy()
    low[1] = 40.0
    for tampered, part in (
        (replace(answer, on=less), "EM"),
        (replace(answer, objective_uc_usd=answer.objective_uc_usd - 1), "misstated"),
        (replace(answer, objective_em_usd=answer.objective_em_usd + 1), "EM can do better"),
        (replace(answer, output_mw=low), "below least output"),
        (replace(answer, burn_mwh=answer.burn_mwh * 0.9), "burn does not follow"),
        (replace(answer, demand_mwh=np.array([1900.0])), "GM has another value"),
        (replace(answer, bound_usd=answer.objective_uc_usd * 1.01), "bound above"),
        (replace(answer, on=None), "incomplete"),
    ):
        assert any(part in str(fault) for fault in certify(tampered).findings), part


def test_the_certificate_checks_the_reserve() -> None:
    # at the peak coal gives 90 of 120 MW and gas 60 of 100 MW: 70 MW to spare for 150 MW of load
    for fraction, expected in ((70 / 150, []), (71 / 150, ["too little reserve"])):
        stricter = replace(solved(), case=replace(TWO_NODE, reserve_fraction=fraction))
        assert [fault.what for fault in certify(stricter).findings] == expected


def test_the_certificate_refuses_invalid_bids() -> None:
    solver = two_node()
    entry = solver.memory.get(0.0, (0,))
    if entry is None:
        solver.solve(0.0, [800.0])
        entry = solver.memory.get(0.0, (0,))
    assert entry is not None
    power = solver.followers.power_answer(0.0, entry.on, np.array([0]))
    assert power is not None
    game = solver.followers.game_answer(power, np.array([800.0]))
    assert game is not None
    assert game.invalid == ("gas",)
    claimed = replace(
        solved(),
        on=power.on,
        output_mw=power.dispatch.output_mw,
        burn_mwh=power.dispatch.burn_mwh,
        objective_uc_usd=power.cost_usd,
        objective_em_usd=power.dispatch.cost_usd,
        objective_gm_usd=game.gas.cost_usd,
        gas_prices_usd_per_mwh=game.gas.prices_usd_per_mwh,
        levels=power.levels,
        bound_usd=power.cost_usd,
    )
    certificate = certify(claimed)
    assert [fault.what for fault in certificate.findings] == [
        "bids are invalid at every optimal gas price",
        "the last selected block does not cover the fuel",
    ]
    assert certificate.invalid_bids == ("gas",)


def test_a_cluster_costs_what_its_units_cost_without_ramps_and_times() -> None:
    case = tiny_case(3)
    oil = next(fleet for fleet in case.fleets if fleet.fleet == "oil")
    halves = tuple(replace(oil, fleet=f"oil{k}", unit_count=1) for k in (1, 2))
    bids = [bid for bid in case.bids if bid.fleet != "oil"]
    for half in halves:
        bids += [replace(bid, fleet=half.fleet) for bid in case.bids if bid.fleet == "oil"]
    others = tuple(fleet for fleet in case.fleets if fleet.fleet != "oil")
    split = replace(case, fleets=(*others, *halves), bids=tuple(bids))
    costs = []
    for variant in (case, split):
        unit = UnitCommitment(variant)
        costs.append(unit.solve(unit.at(0.8), SolveLimits()).objective_usd)
    assert costs[0] == pytest.approx(costs[1])


def test_memory_survives_and_ignores_damage(tmp_path: Path) -> None:
    first = GasAwareCommitment(TWO_NODE, tmp_path)
    expected = first.solve(0.0, [800.0])
    files = sorted(tmp_path.rglob("*.npz"))
    assert len(files) == len(first.memory) > 0
    second = GasAwareCommitment(TWO_NODE, tmp_path)
    again = second.solve(0.0, [800.0])
    assert again.solved == 0
    assert again.objective_uc_usd == expected.objective_uc_usd
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


def test_explanation_of_demand_that_cannot_be_served() -> None:
    market = two_node().followers.gas.market
    assert explain_gas(market, market.withdrawal_mwh([2300])) is None
    short = explain_gas(market, market.withdrawal_mwh([2400]))
    assert short is not None
    assert [(s.junction, round(s.amount_mwh, 6)) for s in short.shortages] == [("city", 100.0)]
    surplus = explain_gas(market, market.withdrawal_mwh([-50]))
    assert surplus is not None
    assert "city has 50 MWh too much" in str(surplus)


def test_explanation_names_supplies_and_pipes() -> None:
    market = two_node().followers.gas.market
    short = explain_gas(market, market.withdrawal_mwh([2400]))
    assert short is not None
    # the tank and the pipe (1800 MWh) are full: a MWh more of either is a MWh less short; wells have more
    assert {(limit.kind, limit.name, limit.relief) for limit in short.bottlenecks} == {
        ("supply", "tank/1", 1.0),
        ("pipe", "main", 1.0),
    }
    assert "at their limits" in str(short)
    surplus = explain_gas(market, market.withdrawal_mwh([-50]))
    assert surplus is not None
    assert surplus.bottlenecks == ()


def test_explanation_at_the_burn_that_matters() -> None:
    # 2250 MWh alone can be served, but not beside the 369 MWh that the cheapest commitment burns
    followers = two_node().followers
    solved()
    cheapest = two_node().memory.get(0.0, (0,))
    assert cheapest is not None
    why = explain_game(followers, 0.0, np.array([2250.0]), cheapest.on)
    assert why is not None
    assert "before any plant" not in why
    assert "MWh that the cheapest commitment burns, city lacks" in why
    # a demand that is infeasible by itself is explained by itself too
    both = explain_game(followers, 0.0, np.array([2400.0]), cheapest.on)
    assert both is not None
    assert "before any plant burns gas, city lacks 100 MWh" in both
    assert explain_game(followers, 0.0, np.array([800.0]), cheapest.on) is None


def test_infeasible_demand_is_a_status() -> None:
    answer = two_node().solve(0.0, [2400.0])
    assert answer.status is Status.INFEASIBLE
    assert answer.objective_uc_usd is None


def test_knapsack_by_hand() -> None:
    low, high = np.zeros(3), np.array([4.0, 5.0, 6.0])
    weights = np.array([[1.0, 2.0, -1.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(knapsack(weights, low, high, (0.0, 100.0)), [14.0, 6.0])
    # the second in full, two of the first
    np.testing.assert_allclose(knapsack(weights, low, high, (0.0, 7.0)), [12.0, 6.0])
    # two of the third are forced
    np.testing.assert_allclose(knapsack(weights, low, high, (11.0, 100.0)), [12.0, 6.0])
    np.testing.assert_allclose(knapsack(weights, low, high, (0.0, 3.0)), [6.0, 3.0])


def test_knapsack_is_the_linear_program() -> None:
    generator = np.random.default_rng(5)
    for _ in range(50):
        low = generator.uniform(0, 1, 6)
        high = low + generator.uniform(0, 2, 6)
        total = np.sort(generator.uniform(low.sum(), high.sum(), 2))
        weights = generator.normal(size=(3, 6))
        rows = np.vstack([np.ones(6), -np.ones(6)])
        for row, found in zip(weights, knapsack(weights, low, high, (total[0], total[1])), strict=True):
            limits = np.array([total[1], -total[0]])
            best = linprog(
                -row, A_ub=rows, b_ub=limits, bounds=list(zip(low.tolist(), high.tolist(), strict=True))
            )
            assert best.fun is not None
            assert found == pytest.approx(-best.fun, abs=1e-9)


GAUC = ["gauc", "--case", "two_node", "--power-stress", "0", "--json"]


def test_command(tmp_path: Path) -> None:
    runner = CliRunner()
    result = runner.invoke(app, [*GAUC, "--gas-stress", "0", "--cache", str(tmp_path)])
    assert result.exit_code == 0
    record = json.loads(result.stdout)
    assert record["status"] == "optimal"
    assert record["certificate"] == {"clean": True, "findings": []}
    assert record["invalid_bids"] == []
    assert set(record["commitment"]) == {"coal", "gas", "oil"}
    for field in ("objective_uc", "objective_em", "objective_gm", "bound", "gap", "seconds"):
        assert record[field] is not None
    # 20 $/MWh at both junctions, 0.29307107 MWh to the MMBtu
    assert record["units"]["gas_prices"] == "$/MMBtu"
    assert list(record["gas_prices"].values()) == pytest.approx([5.861421, 5.861421])
    demand = tmp_path / "demand.csv"
    demand.write_text("node,demand_mwh\nhomes,2400\n")
    result = runner.invoke(app, [*GAUC, "--demand", str(demand)])
    assert result.exit_code == 1
    assert "lacks 100 MWh" in json.loads(result.stdout)["explanation"]


def test_the_command_names_the_bids_that_the_certificate_finds_invalid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dearer = replace(solved(), gas_prices_usd_per_mwh=np.array([20.0, 90.0]))
    monkeypatch.setattr(GasAwareCommitment, "solve", lambda *_, **__: dearer)
    record = json.loads(CliRunner().invoke(app, [*GAUC, "--gas-stress", "0"]).stdout)
    assert record["invalid_bids"] == ["gas"]
    assert record["certificate"]["clean"] is False


def test_the_command_says_what_may_not_be_expected_of_its_demand(tmp_path: Path) -> None:
    demand = tmp_path / "demand.csv"
    demand.write_text("node,demand_mwh\nhomes,500\n")
    given = CliRunner().invoke(app, [*GAUC, "--gas-stress", "0.5", "--demand", str(demand)])
    assert json.loads(given.stdout)["status"] == "optimal"
    assert "so that --gas-stress is not used" in given.stderr
    outside = CliRunner().invoke(app, [*GAUC, "--gas-stress", "9"])
    assert "note: the gas stress is 9; expected a number from 0 to 1" in outside.stderr
    assert not CliRunner().invoke(app, [*GAUC, "--gas-stress", "0"]).stderr
