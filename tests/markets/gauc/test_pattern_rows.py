"""Boxes and rows of price patterns, by hand on two areas.

Area 0 has 10 MWh at 1 $/MWh and 10 at 3, area 1 has 10 at 5; a pipe of 4 MWh leads from 0 to 1, where a plant
burns up to 6. Withdrawn are 8 and 2 MWh. Up to a burn of 2 the pipe brings all of it, at most at 3 $/MWh;
above that it is full and gas costs 5 in area 1. Steps are 3 and 5 $/MWh, and at 5 the plant's level is asked.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from ppsm.markets.gauc.areas import GasAreas
from ppsm.markets.gauc.patterns import BurnBox, PatternBox, PatternProgram, PatternSpace, PriceSteps
from ppsm.markets.gauc.relaxation import Cut

AREAS = GasAreas(
    count=2,
    of_junction=np.array([0, 1]),
    upstream=np.array([0]),
    downstream=np.array([1]),
    capacity_mwh=np.array([4.0]),
    supply_area=np.array([0, 0, 1]),
    supply_mwh=np.array([10.0, 10.0, 10.0]),
    supply_usd_per_mwh=np.array([1.0, 3.0, 5.0]),
    pack_mwh=0.0,
)
STEPS = PriceSteps(np.array([3.0, 5.0]), np.array([0, 1, 2]), np.array([2]))


def box(lowest: tuple[int, int], highest: tuple[int, int]) -> PatternBox:
    return PatternBox(np.array(lowest), np.array(highest))


def full_pipe() -> PatternSpace:
    """All patterns of these two areas."""
    return PatternSpace(
        areas=AREAS,
        steps=STEPS,
        withdrawal_mwh=np.array([8.0, 2.0]),
        burn=BurnBox(np.array([0.0]), np.array([6.0]), (0.0, 6.0)),
        area_of_place=np.array([1]),
        area_of_level=np.array([1]),
        root=box((0, 0), (2, 2)),
    )


@pytest.mark.parametrize(
    ("given", "narrowed"),
    [
        # area 1 can take gas from area 0 without a limit: it is no dearer
        (box((0, 1), (2, 2)), box((1, 1), (2, 2))),
        (box((0, 0), (1, 2)), box((0, 0), (1, 1))),
        (box((0, 2), (1, 2)), None),
        # but it may be cheaper
        (box((2, 0), (2, 1)), box((2, 0), (2, 1))),
    ],
)
def test_an_unlimited_pipe_excludes_dearer_ends(given: PatternBox, narrowed: PatternBox | None) -> None:
    found = given.narrowed(replace(AREAS, capacity_mwh=np.array([math.inf])))
    assert (found is None) == (narrowed is None)
    if found is not None and narrowed is not None:
        assert found.key == narrowed.key
    limited = given.narrowed(AREAS)
    assert limited is not None
    assert limited.key == given.key


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        # below the first step only the first supply is used, and nothing need be
        (box((0, 0), (0, 0)), (0, 0, 0, 0), (10, 0, 0, 4)),
        # where the first step is reached what is cheaper is used in full
        (box((1, 1), (1, 2)), (10, 0, 0, 0), (10, 10, 10, 4)),
        # the pipe is full where prices rise along it, and empty where they fall
        (box((1, 2), (1, 2)), (10, 0, 0, 4), (10, 10, 10, 4)),
        (box((2, 0), (2, 1)), (10, 10, 0, 0), (10, 10, 0, 0)),
    ],
)
def test_bounds_of_supplies_and_flows(
    given: PatternBox, least: tuple[float, ...], most: tuple[float, ...]
) -> None:
    lower, upper = given.gas_bounds(AREAS, STEPS)
    assert lower[:4] == pytest.approx(least)
    assert upper[:4] == pytest.approx(most)


@pytest.mark.parametrize(
    ("weight", "bound", "pattern"),
    [
        # a burn of 6 saves 600 and asks for the level, a burn of 2 saves 200 and does not
        (350.0, 1000.0 - 600.0 + 350.0, (1, 2)),
        (450.0, 1000.0 - 200.0, (1, 1)),
    ],
)
def test_the_cheapest_pattern_of_a_full_pipe(weight: float, bound: float, pattern: tuple[int, int]) -> None:
    space = full_pipe()
    flows = space.largest_flows()
    assert flows == pytest.approx([4.0])
    program = PatternProgram(space, np.array([1, 2]), np.asarray(flows), 1e6)
    program.add_cut(Cut(1000.0, np.array([100.0]), np.array([weight])))
    found, best = program.cheapest_pattern(1e6, 1e-9, 10.0)
    assert found == pytest.approx(bound, rel=1e-6)
    assert best is not None
    assert best.lowest.tolist()[1] == pattern[1]
    assert best.lowest[0] <= pattern[0] <= best.highest[0]
    # the level that a box asks for is paid for in any case
    asked = PatternProgram(replace(space, root=box((0, 2), (2, 2))), np.array([1, 2]), np.asarray(flows), 1e6)
    asked.add_cut(Cut(1000.0, np.array([100.0]), np.array([weight])))
    assert asked.cheapest_pattern(1e6, 1e-9, 10.0)[0] == pytest.approx(400.0 + weight, rel=1e-6)


def test_a_dearer_area_sends_nothing_to_a_cheaper_one() -> None:
    """Gas at 3 $/MWh where 5 MWh are withdrawn, at 1 down the pipe, where 2 are and up to 3 are burned."""
    areas = replace(
        AREAS,
        supply_area=np.array([0, 1]),
        supply_mwh=np.array([10.0, 10.0]),
        supply_usd_per_mwh=np.array([3.0, 1.0]),
    )
    space = PatternSpace(
        areas=areas,
        steps=PriceSteps(np.array([3.0]), np.array([1, 0]), np.array([2])),
        withdrawal_mwh=np.array([5.0, 2.0]),
        burn=BurnBox(np.array([0.0]), np.array([3.0]), (0.0, 3.0)),
        area_of_place=np.array([1]),
        area_of_level=np.array([1]),
        root=box((0, 0), (1, 1)),
    )
    program = PatternProgram(space, np.array([1]), np.array([4.0]), 1e6)
    program.add_cut(Cut(1000.0, np.array([100.0]), np.array([0.0])))
    bound, best = program.cheapest_pattern(1e6, 1e-9, 10.0)
    assert bound == pytest.approx(700.0, rel=1e-6)
    assert best is not None
    assert (best.lowest.tolist(), best.highest.tolist()) == ([1, 0], [1, 0])


def test_a_burn_beyond_what_the_market_can_serve_is_in_no_pattern() -> None:
    space = PatternSpace(
        areas=AREAS,
        steps=STEPS,
        withdrawal_mwh=np.array([8.0, 2.0]),
        burn=BurnBox(np.array([12.5]), np.array([20.0]), (12.5, 20.0)),
        area_of_place=np.array([1]),
        area_of_level=np.array([1]),
        root=box((0, 0), (2, 2)),
    )
    assert space.largest_flows() is None
