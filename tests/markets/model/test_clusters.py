"""Where a cluster of n units costs the same as n separate ones, and where it is a relaxation."""

from dataclasses import replace

import pytest
from benchmarks.clusters import SAME, difference, least_cost_usd, separate_units, system
from tests.markets.model.published_commitment import Unit, one_bus_case
from tests.markets.tiny import tiny_case

from ppsm.cases import Case
from ppsm.markets.model.commitment import Before, UnitCommitment
from ppsm.solvers.mip import SolveLimits


def least(case: Case, past: dict[str, Before] | None) -> float:
    core = UnitCommitment(case, past)
    cost = core.solve(core.at(0.0), SolveLimits()).objective_usd
    assert cost is not None
    return cost


@pytest.mark.parametrize("cyclic", [True, False])
@pytest.mark.parametrize("units", [2, 3])
def test_equal_without_ramps_and_minimum_times(units: int, cyclic: bool) -> None:
    assert abs(difference(system(1, units), cyclic=cyclic)) <= SAME


def test_equal_with_minimum_times_where_the_day_has_a_past() -> None:
    # whoever has run longest stops first, whoever has rested longest starts first
    for seed in range(3):
        assert abs(difference(system(seed, 3, times=(2, 4)), cyclic=False)) <= SAME


def test_minimum_times_in_a_cyclic_day_by_hand() -> None:
    """A cluster's units take turns from day to day; a separate unit must repeat its own day.

    Three hours, two units of 100 MW that run and rest for at least two hours, load 100, 200, 100 MW. A unit
    alone runs all day or never (2 + 2 > 3), so both run: 400 MWh x 20 $ + 6 x 100 $. The cluster has one unit
    on, two, one: 4 unit-hours and a start for 10 $.
    """
    case, _ = one_bus_case((Unit(100, 0, 100, 20, 0, 10, 2, 2, 1),), (100, 200, 100))
    cluster = replace(case, fleets=(replace(case.fleets[0], unit_count=2),))
    assert least(cluster, None) == pytest.approx(400 * 20 + 4 * 100 + 10)
    assert least(separate_units(cluster, "u1"), None) == pytest.approx(400 * 20 + 6 * 100)
    # with one unit on before hour 0 the two are the same again: it stops last, the other starts once
    assert least(cluster, {"u1": Before(on=1)}) == pytest.approx(400 * 20 + 4 * 100 + 10)
    separate = separate_units(cluster, "u1")
    assert least(separate, {"u11": Before(on=1)}) == pytest.approx(400 * 20 + 4 * 100 + 10)


def test_ramps_make_it_a_relaxation() -> None:
    gaps = [difference(system(seed, 2, ramps=True), cyclic=False) for seed in range(4)]
    assert min(gaps) >= -SAME
    assert max(gaps) > 10 * SAME


def test_separate_units_are_the_same_plant() -> None:
    case = system(0, 3)
    apart = separate_units(case, "middle")
    assert [fleet.unit_count for fleet in apart.fleets] == [1, 1, 1, 1, 1]
    assert least_cost_usd(apart, cyclic=True) == pytest.approx(least_cost_usd(case, cyclic=True))


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
