"""The unit-commitment core against published instances whose optimal costs are stated."""

from dataclasses import replace

import numpy as np
import pytest
from tests.markets.model.published_commitment import (
    KAZARLIS,
    KAZARLIS_BEST_USD,
    KAZARLIS_COLD_START_H,
    KAZARLIS_LOAD_MW,
    WOOD_WOLLENBERG,
    WOOD_WOLLENBERG_LOAD_MW,
    Unit,
    chord_error_usd_per_h,
    one_bus_case,
)

from ppsm.cases import Case
from ppsm.errors import InputError
from ppsm.markets.model.commitment import Before, CommitmentOutcome, UnitCommitment
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status


def solved(case: Case, past: dict[str, Before] | None, gap: float = 1e-9) -> CommitmentOutcome:
    core = UnitCommitment(case, past)
    outcome = core.solve(core.at(0.0), SolveLimits(gap=gap, seconds=100))
    assert outcome.status is Status.PROVEN_OPTIMAL
    assert outcome.on is not None
    assert outcome.objective_usd is not None
    return outcome


def test_wood_and_wollenberg_without_minimum_times() -> None:
    # the book's complete enumeration of states: 73,274 $
    units = [replace(unit, min_up=0, min_down=0) for unit in WOOD_WOLLENBERG]
    outcome = solved(*one_bus_case(units, WOOD_WOLLENBERG_LOAD_MW))
    assert outcome.objective_usd == pytest.approx(73_274, abs=0.5)


def test_wood_and_wollenberg_with_minimum_times() -> None:
    # the book's solution with minimum up and down times: 74,110 $
    outcome = solved(*one_bus_case(WOOD_WOLLENBERG, WOOD_WOLLENBERG_LOAD_MW))
    assert outcome.objective_usd == pytest.approx(74_110, abs=0.5)
    assert outcome.on is not None
    assert outcome.on.tolist()[3] == [0, 0, 1, 0, 0, 0, 0, 0]


COAL = Unit(10_000, 3000, 0, 20, 0, 0, 0, 0, 1)
GAS = Unit(1000, 100, 0, 70, 0, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("units", "load", "outputs"),
    [
        # the load of the last hour is below the least output of coal
        ((COAL, GAS), (4000, 6000, 5000, 800), ((4000, 6000, 5000, 0), (0, 0, 0, 800))),
        # gas was off and then has to run for three hours
        (
            (COAL, replace(GAS, min_up=3, status=-100)),
            (4000, 800, 5000, 3000),
            ((3900, 0, 4900, 3000), (100, 800, 100, 0)),
        ),
        # gas started an hour ago and has to run for four
        (
            (COAL, replace(GAS, min_up=4, status=1)),
            (4000, 800, 5000, 3000),
            ((3900, 0, 4900, 3000), (100, 800, 100, 0)),
        ),
        # coal stopped two hours ago and has to stay off for three
        (
            (replace(COAL, min_down=3, status=-2), replace(GAS, most=4000, least=400)),
            (3000, 800, 3000, 8000),
            ((0, 0, 3000, 8000), (3000, 800, 0, 0)),
        ),
    ],
    ids=["part load", "minimum up time", "up before", "down before"],
)
def test_examples_of_pypsa(
    units: tuple[Unit, Unit], load: tuple[int, ...], outputs: tuple[tuple[int, ...], ...]
) -> None:
    """The unit-commitment tutorial of PyPSA; its tests state the optimal dispatch."""
    case, past = one_bus_case(units, load)
    core = UnitCommitment(case, past)
    outcome = solved(case, past)
    assert outcome.columns is not None
    np.testing.assert_allclose(core.output_mw(outcome.columns), outputs, atol=1e-5)
    assert outcome.objective_usd == pytest.approx(20 * sum(outputs[0]) + 70 * sum(outputs[1]))


def test_start_up_costs_of_pypsa() -> None:
    # its tests state 359,000: one start of coal, then coal alone
    coal = Unit(10_000, 1000, 0, 20, 0, 3000, 0, 0, -100)
    gas = Unit(10_000, 0, 0, 70, 0, 1000, 0, 0, 1)
    outcome = solved(*one_bus_case((coal, gas), (4000, 6000, 5000, 800)))
    assert outcome.objective_usd == pytest.approx(359_000)


def true_cost(on: np.ndarray, output: np.ndarray) -> float:
    """What a schedule of the ten units costs with quadratic fuel cost and hot or cold starts."""
    total = 0.0
    for unit, cold_h, running, power in zip(KAZARLIS, KAZARLIS_COLD_START_H, on, output, strict=True):
        total += float((running * unit.a + unit.b * power + unit.c * power**2).sum())
        off = -unit.status if unit.status < 0 else 0
        for now in running:
            if now and off > 0:
                total += unit.start_usd if off <= unit.min_down + cold_h else 2 * unit.start_usd
            off = 0 if now else off + 1
    return total


def test_ten_units_of_kazarlis() -> None:
    """The best known cost, 563,938 $: our proven bound is below it, and our schedule costs no more.

    The core knows one start cost, so it solves with the hot one, which gives a lower bound; its schedule is
    then priced with hot and cold starts and the true parabolas.
    """
    segments = 12
    case, past = one_bus_case(KAZARLIS, KAZARLIS_LOAD_MW, reserve=0.1, segments=segments)
    core = UnitCommitment(case, past)
    outcome = solved(case, past, gap=1e-5)
    assert outcome.on is not None
    assert outcome.columns is not None
    assert outcome.bound_usd is not None
    # chords are above the parabola by at most this, whatever runs: 10.1 $
    error = 24 * sum(chord_error_usd_per_h(unit, segments) for unit in KAZARLIS)
    assert 0.998 * KAZARLIS_BEST_USD < outcome.bound_usd - error <= KAZARLIS_BEST_USD
    cost = true_cost(outcome.on, core.output_mw(outcome.columns))
    assert KAZARLIS_BEST_USD - 1 <= cost <= KAZARLIS_BEST_USD + error


def test_a_past_with_an_unknown_fleet_is_refused() -> None:
    case, _ = one_bus_case((COAL, GAS), (4000, 800))
    with pytest.raises(InputError, match="'wind'"):
        UnitCommitment(case, {"wind": Before(on=1)})


def test_ramps_start_from_the_output_before() -> None:
    # slow coal gave 3000 MW before and climbs by 500 MW an hour; gas fills the gap
    case, past = one_bus_case((COAL, replace(GAS, most=5000)), (4000, 4000, 4000))
    slow = replace(case, fleets=(replace(case.fleets[0], ramp_mw_per_h=500.0), case.fleets[1]))
    free = solved(slow, past)
    held = solved(slow, {**past, "u1": Before(on=1, on_h=5, output_mw=3000.0)})
    assert free.objective_usd == pytest.approx(20 * 12_000)
    assert held.objective_usd == pytest.approx(20 * (3500 + 4000 + 4000) + 70 * 500)


def test_a_cyclic_day_is_the_default() -> None:
    # a unit that runs in the last hour only starts once a day, and is off before hour 0 without any past
    units = (Unit(100, 10, 0, 20, 0, 500, 0, 0, 1), Unit(50, 10, 0, 90, 0, 70, 0, 0, 1))
    case, past = one_bus_case(units, (80, 80, 120))
    assert solved(case, None).objective_usd == pytest.approx(20 * 260 + 90 * 20 + 70)
    # with a past it was on before hour 0 and may stop for free, which changes nothing: it still starts once
    assert solved(case, past).objective_usd == pytest.approx(20 * 260 + 90 * 20 + 70)
