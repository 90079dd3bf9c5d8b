"""Plans for a price pattern: what EM takes beyond them, and blocks that are planned full for that."""

import math
import time
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from tests.markets.tiny import TOY_DEMAND_MWH, TOY_OPTIMUM_USD, toy_case

from ppsm.arrays import BoolArray, FloatArray, IntArray
from ppsm.markets.gauc.areas import GasAreas
from ppsm.markets.gauc.plans import Offer, Plans, Units, Wanted
from ppsm.markets.gauc.relaxation import PowerRelaxation
from ppsm.markets.model.followers import Followers, PowerAnswer
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp

GAS = 1
HOURS = 2


@cache
def toy() -> tuple[Followers, PowerRelaxation]:
    case = toy_case()
    followers = Followers(case)
    areas = GasAreas.of(case, np.zeros(len(case.junctions), dtype=bool))
    return followers, PowerRelaxation(followers, 0.0, areas)


def plans(known: list[Units] | None = None) -> Plans:
    return Plans(*toy(), 0.0, [] if known is None else known)


def wanted(level: int, *, dear_gas: bool = True) -> Wanted:
    """The plant at a level; without dear gas the second block of the wells and the tank are shut."""
    followers, relaxation = toy()
    areas = relaxation.areas
    withdrawal = areas.gathered(followers.gas.market.withdrawal_mwh([TOY_DEMAND_MWH]))
    assert withdrawal is not None
    upper = areas.upper_mwh()
    upper[: areas.supply_mwh.size][areas.supply_usd_per_mwh > 10.0] *= dear_gas
    return Wanted(withdrawal, relaxation.asked.level <= level, (np.zeros(areas.width), upper))


def relaxed(wanted: Wanted) -> FloatArray:
    found = toy()[1].solve(wanted.withdrawal_mwh, wanted.asked, wanted.gas)
    assert found is not None
    return found.columns


def plan_of(blocks_mw: list[tuple[float, float]]) -> FloatArray:
    """A plan in which the gas-fired unit runs in both hours with these outputs by block."""
    followers, relaxation = toy()
    columns = np.zeros(relaxation.power_width)
    for hour, accepted in enumerate(blocks_mw):
        columns[followers.commitment.on_columns[GAS, hour]] = 1.0
        columns[followers.commitment.accepted_columns(GAS, hour)] = accepted
    return columns


def full_in(*hours: int) -> BoolArray:
    full: BoolArray = np.zeros((1, HOURS), dtype=bool)
    full[0, list(hours)] = True
    return full


def answer_with(gas_mw: list[float]) -> PowerAnswer:
    """EM's answer as it is, but with another output of the gas-fired plant."""
    followers, _ = toy()
    on: IntArray = np.ones((3, HOURS), dtype=np.int64)
    answer = followers.power_answer(0.0, on, np.ones((1, 2, HOURS), dtype=np.int64))
    assert answer is not None
    output = answer.dispatch.output_mw.copy()
    output[GAS] = gas_mw
    return replace(answer, dispatch=replace(answer.dispatch, output_mw=output))


@pytest.mark.parametrize(
    ("level", "taken"),
    [
        # at level 0 nothing is beyond full blocks, at level 2 the plant is off
        (0, [False, False]),
        (1, [True, False]),
        (2, [False, False]),
    ],
)
def test_what_em_takes_beyond_a_plan_by_hand(level: int, taken: list[bool]) -> None:
    # 40 MW more in the first hour; half a megawatt in the second is rounding
    found = plans()._taken(plan_of([(50, 10), (50, 0)]), answer_with([100.0, 50.5]), np.array([level]))
    assert found.tolist() == [taken]


@pytest.mark.parametrize(
    ("level", "blocks_mw", "activity"),
    [
        # level 0: every running unit gives its first block of 50 MW
        (0, (50, 0), 0.0),
        (0, (40, 0), -0.2),
        # level 1: both blocks
        (1, (50, 50), 0.0),
        (1, (50, 40), -0.1),
    ],
)
def test_rows_of_full_blocks_by_hand(level: int, blocks_mw: tuple[float, float], activity: float) -> None:
    plain = plans()._program(wanted(level), full_in())
    program = plans()._program(wanted(level), full_in(1))
    assert program.shape[0] == plain.shape[0] + 1
    columns = np.zeros(program.shape[1])
    columns[: toy()[1].power_width] = plan_of([(0, 0), blocks_mw])
    assert (program.matrix @ columns)[-1] == pytest.approx(activity)
    assert program.row_lower[-1] == 0.0
    assert program.row_upper[-1] == np.inf


def test_a_plant_that_is_off_has_no_full_blocks() -> None:
    plain = plans()._program(wanted(2), full_in())
    assert plans()._program(wanted(2), full_in(0, 1)).shape == plain.shape


def valid_into(costs_usd: list[float]) -> Offer:
    """Let GM answer, and note what valid answers cost."""
    followers, _ = toy()

    def offer(power: PowerAnswer) -> bool:
        game = followers.game_answer(power, np.array([TOY_DEMAND_MWH]))
        if game is None or game.invalid:
            return False
        costs_usd.append(power.leader_cost_usd)
        return True

    return offer


def test_a_plan_holds_back_what_makes_gas_dear() -> None:
    """The best day of the toy game is a plan without dear gas: the first block alone."""
    known: list[Units] = []
    costs: list[float] = []
    cheap = wanted(0, dear_gas=False)
    assert plans(known).offer(cheap, relaxed(cheap), 1e-6, lambda: 60.0, valid_into(costs), bool)
    assert min(costs) == pytest.approx(TOY_OPTIMUM_USD)
    # units that led to an answer are known from then on, and lead to it again
    assert [units.on[GAS].tolist() for units in known] == [[1, 1]]
    again: list[float] = []
    assert plans(known).offer_known(cheap, valid_into(again), 3, lambda: math.inf)
    assert min(again) == pytest.approx(TOY_OPTIMUM_USD)
    # where an answer is good enough, or none below a cost is to be had, nothing is tried
    assert not plans(known).offer_known(cheap, valid_into([]), 3, lambda: 0.0)
    assert not plans(known).offer_known(cheap, valid_into([]), 3, lambda: TOY_OPTIMUM_USD - 1.0)


def test_units_that_were_found_in_time_are_answered_within_a_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = wanted(0, dear_gas=False)
    near = relaxed(cheap)
    times, costs, deadlines = iter([60.0]), list[float](), list[float]()
    monkeypatch.setattr(PersistentLp, "stop_at", lambda lp, deadline: deadlines.append(deadline))
    before = time.perf_counter()
    assert plans([]).offer(cheap, near, 1e-6, lambda: next(times, 0.0), valid_into(costs), bool)
    assert costs
    grace = TUNING.output_grace_seconds
    assert before + grace <= deadlines[0] <= time.perf_counter() + grace


def test_a_block_that_em_takes_anyway_is_planned_full() -> None:
    """At level 1 the second block of 35 $/MWh must be offered, and EM takes it before coal's of 45 $/MWh.

    Cheap gas is 250 MWh: 100 MW for one hour. A plan of 50 MW in both hours does not hold, since EM takes
    80 MW in each; the block is planned full, which leaves one hour for the plant, or none.
    """
    seen: list[FloatArray] = []

    def offer(power: PowerAnswer) -> bool:
        seen.append(power.dispatch.output_mw[GAS])
        return bool((power.dispatch.burn_mwh <= 250.0).all())

    known: list[Units] = []
    cheap = wanted(1, dear_gas=False)
    assert plans(known).offer(cheap, relaxed(cheap), 1e-6, lambda: 60.0, offer, bool)
    assert seen[0] == pytest.approx([80.0, 80.0])
    assert (known[0].on[GAS] == 0).any()
    assert known[0].full.all()


def test_what_em_burns_beyond_a_plan_is_net_of_what_it_burns_less_in_the_area(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # three places: the first two in one area, where EM burns 30 more and 10 less, the third alone with 5 less
    found = plans()
    relaxation = found._relaxation
    fake = SimpleNamespace(
        places=SimpleNamespace(gather=np.eye(3), burn=np.zeros((3, relaxation.power_width))),
        area_of_place=np.array([0, 0, 1]),
        areas=SimpleNamespace(count=2),
    )
    monkeypatch.setattr(found, "_relaxation", fake)
    answer = answer_with([0.0, 0.0])
    answer = replace(answer, dispatch=replace(answer.dispatch, burn_mwh=np.array([30.0, -10.0, -5.0])))
    assert found._burnt_beyond(np.zeros(relaxation.power_width), answer).tolist() == [20.0, 0.0, 0.0]


def test_units_are_looked_for_again_with_the_gas_that_had_to_be_set_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first answer burns 40 MWh too much, which is set aside; the next units are chosen knowing of it."""
    wanted_by_round: list[float] = []
    committed = Plans._committed

    def noted(self: Plans, program: LinearProgram, near: FloatArray, gap: float, seconds: float) -> IntArray:
        wanted_by_round.append(float(program.row_lower[self._relaxation.balance_rows].sum()))
        on = committed(self, program, near, gap, seconds)
        assert on is not None
        return on

    monkeypatch.setattr(Plans, "_committed", noted)
    monkeypatch.setattr(Plans, "_burnt_beyond", lambda self, plan, answer: np.array([40.0]))
    cheap = wanted(0)
    seen: list[PowerAnswer] = []

    def offer(power: PowerAnswer) -> bool:
        seen.append(power)
        return len(seen) > 1

    assert plans([]).offer(cheap, relaxed(cheap), 1e-6, lambda: 60.0, offer, bool)
    assert len(wanted_by_round) >= 2
    assert wanted_by_round[1] > wanted_by_round[0]
