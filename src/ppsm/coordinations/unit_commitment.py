"""Gas-aware unit commitment as a coordination: the leader commits plants, the gas market is sensitive.

Step 2b. Predicted gas prices ask for levels (:mod:`ppsm.markets.model.validity`); UC at these levels is the
leader's problem with prices fixed. It is a prediction, so a gap of 1 % is enough: a commitment next to the
LP relaxation has it (0.1 to 0.4 % on the Northeast case) in 0.3 s of CPU time, and 0.7 s once per power
stress, where HiGHS needs 1.2 s for the whole MILP. The search starts from the relaxation without prices and
is kept by power stress and levels, and EM dispatches from nothing, so a decision is a function of public
inputs alone: a remembered commitment of the game, which may have been found with the true demand, is never
used here.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, IntArray, frozen_vector
from ppsm.cases.schema import Case
from ppsm.coordinations.gas_side import GasSide
from ppsm.coordinations.tuning import TUNING
from ppsm.errors import InputError
from ppsm.fidelity.problem import Bands, Nearness
from ppsm.interrupts import watched
from ppsm.markets.gauc.by_patterns import PatternLimits
from ppsm.markets.gauc.enumeration import can_enumerate
from ppsm.markets.gauc.gauc_solution import GaucSolution
from ppsm.markets.gauc.relaxation import PlaceMap
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.model.followers import Followers, PowerAnswer
from ppsm.markets.tuning import TUNING as MARKETS
from ppsm.mechanism.band_game import BandedPrices, EntryBands
from ppsm.mechanism.coordination import Decision, Outcome, insist_on_unit, published
from ppsm.mechanism.history import InventedDays, invent_days
from ppsm.mechanism.published_cost import CostThere, Day, day_of, of_one_price
from ppsm.mechanism.theory import CostOfPrivacy
from ppsm.privacy.publication import MarketResult
from ppsm.solvers.highs import solve_lp
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status

GAS, ELECTRICITY = "gas", "electricity"


class GaucCoordination(GasSide):
    """GAUC of a case at one power stress.

    Parameters
    ----------
    case, power_stress
        The markets and the relative increase of all loads.
    solver
        The solver that clears the game; pass one to share what it remembers between several coordinations.
    gap, time_limit
        For clearing: the relative gap that counts as proven, and seconds.
    proof
        Whether a clearing is to be proven; without it any valid commitment will do.
    """

    def __init__(
        self,
        case: Case,
        power_stress: float,
        solver: GasAwareCommitment | None = None,
        *,
        gap: float = 5e-4,
        time_limit: float = math.inf,
        proof: bool = True,
    ) -> None:
        self.power_stress = float(power_stress)
        # A solver that was passed may have seen anything.
        self._is_fresh = solver is None
        self._without_memory: GaucCoordination | None = None
        self.solver = GasAwareCommitment(case) if solver is None else solver
        super().__init__(case, self.solver.followers.gas.market)
        self.gap, self.time_limit, self.proof = gap, time_limit, proof
        self.followers = self.solver.followers
        self._decided: dict[tuple[int, ...], PowerAnswer | None] = {}
        self._held_back = HeldBack(self.followers, self.power_stress)
        self.decisions_solved = 0

    @property
    def sensitive_follower(self) -> str:
        """The gas market."""
        return GAS

    def decide(self, demand: FloatArray, prices: FloatArray | None) -> Decision:
        """UC at the levels that the predicted prices ask for; the demand is not needed for it."""
        del demand
        levels = np.zeros(self.followers.levels.count, dtype=np.int64)
        if prices is not None:
            checked = frozen_vector(prices, len(self.price_names), "the price", names=self.price_names)
            levels = self.followers.levels.needed(checked[self.followers.gas.plants])
        last = self.followers.levels.blocks - 1
        for tried, note in (
            (levels, ""),
            (np.minimum(levels, last), "plants that the prices would stop may run at their last block"),
            (np.zeros_like(levels), "the levels that the prices ask for cannot serve the load"),
        ):
            power = self._commitment_at(tried)
            if power is not None:
                burn = power.dispatch.burn_mwh
                cost = power.leader_cost_usd
                return Decision(burn, self.felt_names, self.felt_unit, cost, Status.INCUMBENT, note, power)
        raise InputError(
            f"no commitment of the case '{self.case.name}' was found that serves a power stress of "
            f"{self.power_stress:g}: choose a lower one."
        )

    def _commitment_at(self, levels: IntArray) -> PowerAnswer | None:
        key = tuple(int(level) for level in levels)
        if key not in self._decided:
            commitment = self.followers.commitment
            program = commitment.at(self.power_stress, self.followers.levels.least_at(levels))
            limits = SolveLimits(
                gap=TUNING.decision_gap,
                seconds=TUNING.decision_seconds,
                feasibility=TUNING.decision_feasibility,
            )
            outcome = commitment.solve_near_relaxation(self.power_stress, program, limits)
            self.decisions_solved += 1
            self._decided[key] = (
                None
                if outcome.columns is None
                else self.followers.answer_to_plan(self.power_stress, outcome.columns, levels)
            )
        return self._decided[key]

    def clear(self, demand: ArrayLike) -> Outcome:
        """Solve GAUC at a demand; Ctrl-C is raised, since an answer cut short is no outcome."""
        insist_on_unit(demand, self.unit)
        self._is_fresh = False
        with watched() as watch:
            solution = self.solver.solve(
                self.power_stress, demand, gap=self.gap, time_limit=self.time_limit, proof=self.proof
            )
            watch.check()
        return replace(outcome_of(solution), price_names=self.price_names)

    def repaired_for_leader(self, near: Nearness) -> None:
        """None: playing this game takes seconds, and vectors that the gas market can serve have an answer."""
        del near

    def without_memory(self) -> "GaucCoordination":
        """The game with a solver of its own, unless this one has cleared nothing yet.

        It is made once: what it then remembers are vectors of earlier private steps, made of released ones.
        """
        if self._is_fresh:
            return self
        if self._without_memory is None:
            self._without_memory = GaucCoordination(
                self.case, self.power_stress, gap=self.gap, time_limit=self.time_limit, proof=self.proof
            )
        return self._without_memory

    def market_result(self, demand: ArrayLike) -> MarketResult:
        """What the markets publish."""
        return published(self.clear(demand), GAS, self.price_names, self.felt_names)

    def least_cost_at(self, prices: FloatArray) -> "CostAtLevels":
        """UC's relaxation at the levels and in the gas network that the prices ask for."""
        relaxation = self.solver.patterns.relaxation(self.power_stress)
        limits = PatternLimits.at_prices(self.followers, relaxation, prices)
        return CostAtLevels(self.followers, limits, self._held_back)

    def cheapest_day(self, demand: FloatArray, prices: FloatArray, enough: float) -> Day | None:
        """The first price pattern near that of the prices which UC's relaxation calls cheaper.

        No commitment is looked for and nothing is proven, which takes a small part of a clearing. What the
        relaxation misses of a day's cost it misses at the published prices, too. Small cases are cleared.
        """
        if can_enumerate(self.followers):
            return day_of(self.clear(demand), self.least_cost_at)
        self._is_fresh = False
        patterns = self.solver.patterns.search(self.power_stress, demand)
        if patterns is None or self.solver.servable.missing_mwh(demand) > MARKETS.missed_mwh:
            return None
        patterns.look_below(enough)
        stop = time.process_time() + min(self.time_limit, TUNING.cheaper_day_seconds)
        found = patterns.cheaper_near(prices, lambda: stop - time.process_time())
        if found is None:
            return Day(enough, None)
        limits = patterns.limits_of(found.box)
        return Day(found.relaxed.bound_usd, CostAtLevels(self.followers, limits, self._held_back))

    def cost_of_privacy(self, decision: Decision, bands: Bands) -> CostOfPrivacy | str:
        """At most what was decided, while every price in the bands leaves its bids valid; no lower side."""
        power = decision.detail
        if not isinstance(power, PowerAnswer):
            return "the decision does not say which bids were selected"
        gas = self.market
        program = self.follower_at(decision).program
        inside = EntryBands.of(bands, program, 1.0, len(self.entry_names))
        open_prices = BandedPrices(program, self.follower_at(decision).parameter_map, inside)
        caps = self.followers.levels.caps_at(power.levels)
        for plant in np.flatnonzero(np.isfinite(caps)):
            weights = np.zeros(program.shape[0])
            weights[gas.balance_rows[self.followers.gas.plants[plant]]] = 1.0
            if open_prices.highest(weights) > caps[plant]:
                return "prices within the bands can make a selected bid invalid"
        return CostOfPrivacy(-math.inf, power.leader_cost_usd)


class CostAtLevels:
    """A bound of UC's cost while gas has given prices; convex in the demand (:class:`PowerRelaxation`)."""

    sign = 1.0

    def __init__(self, followers: Followers, limits: PatternLimits, held_back: "HeldBack") -> None:
        self._followers, self._limits, self._held_back = followers, limits, held_back
        self._relaxation, self._prices = limits.relaxation, limits.prices_usd_per_mwh
        self._levels = self._relaxation.asked.by_link(limits.asked, followers.levels.count)
        self._reached = self._relaxation.areas.of_junction >= 0
        self._known: dict[bytes, CostThere | None] = {}

    def at(self, demand: FloatArray) -> CostThere | None:
        """The relaxation beside a demand; climbs begin at the same one again and again."""
        key = demand.tobytes()
        if key not in self._known:
            self._known[key] = self._relaxed_at(demand)
        return self._known[key]

    def _relaxed_at(self, demand: FloatArray) -> CostThere | None:
        withdrawal = self._relaxation.areas.gathered(self._followers.gas.market.withdrawal_mwh(demand))
        if withdrawal is None:
            return None
        found = self._relaxation.solve(withdrawal, self._limits.asked, self._limits.gas)
        if found is None:
            return None
        return CostThere(found.bound_usd, self._slope(found.withdrawal_usd_per_mwh))

    def directions(self, felt: FloatArray) -> Iterator[FloatArray]:
        """Where gas is dear if no place may burn more than a decision did; deliveries of one price."""
        relaxation = self._relaxation
        worth = self._held_back.worth_usd_per_mwh(self._levels, relaxation.places.gather @ felt)
        if worth is not None:
            by_area = np.zeros(self._prices.size)
            np.maximum.at(by_area, relaxation.area_of_place, worth)
            yield self._slope(by_area)
        yield from of_one_price(self._slope(self._prices), MARKETS.price_rounding * float(self._prices.max()))

    def _slope(self, by_area: FloatArray) -> FloatArray:
        at_junction = np.where(self._reached, by_area[self._relaxation.areas.of_junction], 0.0)
        return np.asarray(self._followers.gas.market.demand_to_balance.T @ at_junction)


class HeldBack:
    """What gas is worth where no place may burn more than so much; each question is answered once.

    It is asked for the burn and the levels of published days, the same for all vectors.
    """

    def __init__(self, followers: Followers, power_stress: float) -> None:
        self._followers, self._power_stress = followers, power_stress
        self._places = PlaceMap(followers)
        self._known: dict[bytes, FloatArray | None] = {}

    def worth_usd_per_mwh(self, levels: IntArray, burn_mwh: FloatArray) -> FloatArray | None:
        """By place, at levels; None where that serves no load."""
        key = levels.tobytes() + burn_mwh.tobytes()
        if key not in self._known:
            self._known[key] = self._asked(levels, burn_mwh)
        return self._known[key]

    def _asked(self, levels: IntArray, burn_mwh: FloatArray) -> FloatArray | None:
        program = self._followers.commitment.at(self._power_stress, self._followers.levels.least_at(levels))
        if program is None:
            return None
        limited = solve_lp(program.with_rows(self._places.burn, upper=burn_mwh))
        return -limited.prices[program.shape[0] :] if limited.status.has_answer else None


def case_days(
    case: Case, power_stress: float, *, days: int = TUNING.history_days, seed: int = 0
) -> InventedDays:
    """A public past of a case: days around its own demand, over its whole range of gas stress.

    A solver of its own clears them, so that the past depends on public data and the seed alone, never on a
    commitment that was found with the true demand.
    """
    game = GaucCoordination(
        case, power_stress, gap=TUNING.day_gap, time_limit=TUNING.day_seconds, proof=False
    )
    stress = min(case.gas_stress), max(case.gas_stress)
    return invent_days(game, case.demand_mwh(0.0), days=days, stress=stress, seed=seed)


def outcome_of(solution: GaucSolution) -> Outcome:
    """A solution of GAUC without what only the solver needs (and without the demand)."""
    values = {}
    if solution.electricity_value_usd is not None and solution.gas_value_usd is not None:
        values = {ELECTRICITY: solution.electricity_value_usd, GAS: solution.gas_value_usd}
    return Outcome(
        status=solution.status,
        leader_cost=solution.leader_cost_usd,
        leader_bound=solution.bound_usd,
        gap=solution.gap,
        values=values,
        prices=solution.gas_prices_usd_per_mwh,
        solved=solution.solved,
        felt=solution.burn_mwh,
    )
