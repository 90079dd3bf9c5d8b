"""GAUC, gas-aware unit commitment: solve the three-level game (3)-(5) of the paper's appendix.

:class:`GasAwareCommitment` is for users and keeps what it learns; :class:`Search` is one solve: the steps
that :mod:`ppsm.markets.gauc` tells, from cheap to dear, until incumbent and bound meet.
"""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, IntArray, frozen_vector
from ppsm.cases.schema import Case
from ppsm.markets.gauc.by_patterns import DemandPatterns, PricePatterns
from ppsm.markets.gauc.deliverable import (
    ServableDemand,
    all_miss,
    deliverable_commitment,
    none_is_deliverable,
)
from ppsm.markets.gauc.enumeration import can_enumerate, enumerate_commitments
from ppsm.markets.gauc.floors import PriceFloors
from ppsm.markets.gauc.gauc_solution import GaucSolution
from ppsm.markets.gauc.memory import CommitmentMemory, RememberedCommitment, RememberedPlan
from ppsm.markets.gauc.unaware import UnawareSolution, invalid_bids
from ppsm.markets.model.followers import Followers, GameAnswer, PowerAnswer
from ppsm.markets.tuning import TUNING
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status, relative_gap

_WITHOUT_PRICES = "unit commitment without prices"
_RELAXED = "relaxed unit commitment without prices"
_BY_FLOORS = "price floors"
_BY_PATTERNS = "price patterns"

Progress = Callable[[str, float | None, float | None], None]


class GasAwareCommitment:
    """Solves GAUC of one case for any power stress and demand; keeps what it learns between solves."""

    def __init__(self, case: Case, cache: Path | None = None) -> None:
        self.case = case
        self.followers = Followers(case)
        self.memory = CommitmentMemory(case, cache)
        self.floors = PriceFloors(self.followers)
        self.patterns = PricePatterns(self.followers)
        self.servable = ServableDemand(self.followers)
        self._answers: dict[tuple[float, tuple[int, ...]], PowerAnswer | None] = {}
        self._held: dict[float, list[PowerAnswer]] = {}
        self._plans_answered: set[str] = set()

    def solve_unaware(
        self,
        power_stress: float,
        demand_mwh: ArrayLike,
        *,
        gap: float = 5e-4,
        time_limit: float = math.inf,
        progress: Progress | None = None,
    ) -> UnawareSolution:
        """Commit by bids alone, whatever gas costs, then let both markets answer: see UnawareSolution."""
        demand = frozen_vector(
            demand_mwh, len(self.case.deliveries), "the gas demand", names=self.case.delivery_ids
        )
        search = Search(self, float(power_stress), demand, gap, time_limit, progress)
        if search.commit_by_bids(share_of_gap=1.0) is None:
            status = Status.INFEASIBLE if search.infeasible else Status.NO_INCUMBENT
            return UnawareSolution(status, None, None)
        power = self.unaware_answer(float(power_stress))
        game = None if power is None else self.followers.game_answer(power, demand)
        if game is None:
            return UnawareSolution(Status.INFEASIBLE, power, None)
        return UnawareSolution(Status.INCUMBENT, power, game, invalid_bids(self.followers, game))

    def unaware_answer(self, power_stress: float) -> PowerAnswer | None:
        """EM at the commitment without regard to gas prices, if that was solved before."""
        known = self.memory.get(power_stress, (0,) * self.followers.levels.count)
        return None if known is None else self.followers.power_answer(power_stress, known.on, known.offers)

    def plans(self, power_stress: float) -> list[PowerAnswer]:
        """EM's answers to plans that were valid at other demands, cheapest first."""
        held = self._held.setdefault(power_stress, [])
        for plan in self.memory.plans_at(power_stress):
            if plan.digest not in self._plans_answered:
                self._plans_answered.add(plan.digest)
                answer = self.followers.power_answer(power_stress, plan.on, plan.offers)
                if answer is not None:
                    held.append(answer)
        held.sort(key=lambda each: each.leader_cost_usd)
        return held

    def keep_plan(self, power_stress: float, answer: PowerAnswer) -> None:
        """Keep EM's answer to a plan for other demands, here."""
        held = self._held.setdefault(power_stress, [])
        held.append(answer)
        held.sort(key=lambda each: each.leader_cost_usd)
        del held[TUNING.plans_kept :]

    def share_plan(self, power_stress: float, answer: PowerAnswer) -> None:
        """Keep the plan of a solution for other processes, if it is one."""
        if any(answer is plan for plan in self._held.get(power_stress, [])):
            plan = RememberedPlan(power_stress, answer.on, answer.offers, answer.leader_cost_usd)
            self._plans_answered.add(plan.digest)
            self.memory.put_plan(plan)

    def solve(
        self,
        power_stress: float,
        demand_mwh: ArrayLike,
        *,
        gap: float = 5e-4,
        time_limit: float = math.inf,
        progress: Progress | None = None,
        proof: bool = True,
    ) -> GaucSolution:
        """Solve the game at a power stress and a demand vector; best so far at the limit or on Ctrl-C.

        Without ``proof`` a valid answer is enough, whatever its gap.
        """
        demand = frozen_vector(
            demand_mwh, len(self.case.deliveries), "the gas demand", names=self.case.delivery_ids
        )
        search = Search(self, float(power_stress), demand, gap, time_limit, progress)
        with suppress(KeyboardInterrupt):  # what there is then is the answer
            search.run(proof=proof)
        if search.best is not None:
            self.share_plan(search.power_stress, search.best.power)
        return search.solution()


class Search:
    """One solve: the incumbent, the bound, and the steps that move them."""

    def __init__(
        self,
        solver: GasAwareCommitment,
        power_stress: float,
        demand: FloatArray,
        gap: float,
        time_limit: float,
        progress: Progress | None,
    ) -> None:
        self.solver, self.followers = solver, solver.followers
        self.power_stress, self.demand, self.gap = power_stress, demand, gap
        self.started = time.perf_counter()
        self.deadline = self.started + time_limit
        self.progress = progress
        self.best: GameAnswer | None = None
        self.bound, self.bound_from = -math.inf, "nothing"
        self.bound_if_free = -math.inf
        self.infeasible = False
        self.solved = 0

    def left(self) -> float:
        """Seconds until the limit."""
        return self.deadline - time.perf_counter()

    def run(self, *, proof: bool) -> None:
        """Incumbent first, then bounds from cheap to dear, until they meet or nobody asks for a proof."""
        if self.solver.servable.missing_mwh(self.demand) > TUNING.missed_mwh:
            self.infeasible = True
            return
        self._try_remembered()
        if self._closed() or (self.best is not None and not proof):
            return
        if can_enumerate(self.followers):
            self._run_small(proof=proof)
        else:
            self._run_large(proof=proof)

    def _run_small(self, *, proof: bool) -> None:
        """Where commitments can be listed."""
        base = self.commit_by_bids()
        if base is None or self._closed():
            return
        self._price_loop(base)
        if self.best is not None and not proof:
            return
        self._use_floors()
        if not self._closed():
            self._enumerate()

    def _run_large(self, *, proof: bool) -> None:
        """Price patterns; floors where these leave little open, and rising levels where they find nothing.

        A bound comes first: far from tight where prices bite, but no answer is left without a gap.
        """
        commitment = self.followers.commitment
        self._raise_bound(commitment.bound_of_relaxation_usd(self.power_stress), _RELAXED)
        self._search_patterns(proof=proof)
        if self.best is None:
            base = self.commit_by_bids()
            if base is not None:
                self._price_loop(base)
        if self.best is None and proof and not self.infeasible and self.left() > 0:
            self._say("whether there is an answer")
            self.infeasible = self.solver.patterns.have_no_answer(self.power_stress, self.demand, self.left)
        if proof and self._is_near():
            self._use_floors()

    def _use_floors(self) -> None:
        """Price floors, for the gap asked for or, where that is out of reach, for a larger one."""
        for slack in TUNING.slacks:
            if self._closed() or self.best is None:
                return
            left = relative_gap(self.best.power.leader_cost_usd, self.bound)
            is_worth_it = slack == 1.0 or slack * self.gap < TUNING.worth_proving * left
            if is_worth_it and self._prove_with_floors(self.best, slack * self.gap):
                return

    def commit_by_bids(
        self, share_of_gap: float = TUNING.commitment_share_of_gap
    ) -> RememberedCommitment | None:
        """UC without regard to gas prices, to a share of the gap; None where there is none in time."""
        return self._unit_commitment(np.zeros(self.followers.levels.count, dtype=np.int64), share_of_gap)

    def _closed(self) -> bool:
        if self.infeasible:
            return True
        return self._is_within_gap_of(self.bound)

    def _is_within_gap_of(self, bound_usd: float) -> bool:
        """Whether the incumbent would be good enough if this were the bound."""
        best = self.best
        return best is not None and relative_gap(best.power.leader_cost_usd, bound_usd) <= self.gap

    def _enough_usd(self, bound_usd: float) -> float:
        """What an answer may cost if this is the bound; zero where the incumbent is good enough."""
        if self._is_within_gap_of(bound_usd):
            return 0.0
        return math.inf if self.best is None else bound_usd / (1 - self.gap)

    def _say(self, what: str) -> None:
        if self.progress is not None:
            objective = None if self.best is None else self.best.power.leader_cost_usd
            self.progress(what, objective, self.bound if math.isfinite(self.bound) else None)

    def _raise_bound(self, bound_usd: float, reason: str) -> None:
        if bound_usd > self.bound:
            self.bound, self.bound_from = bound_usd, reason
            self._say(reason)

    def _offer(self, answer: GameAnswer | None) -> None:
        """Take a valid answer as incumbent if it is cheaper."""
        if answer is None or answer.invalid:
            return
        if self.best is None or answer.power.leader_cost_usd < self.best.power.leader_cost_usd:
            self.best = answer
            self._say("valid commitment")

    def _unit_commitment(
        self, levels: IntArray, share_of_gap: float = TUNING.commitment_share_of_gap
    ) -> RememberedCommitment | None:
        """UC at levels, remembered or solved; None where it is infeasible or the time is up."""
        key = tuple(int(level) for level in levels)
        known = self.solver.memory.get(self.power_stress, key)
        if known is not None and relative_gap(known.objective_usd, known.bound_usd) <= self.gap:
            return known
        if self.left() <= 0:
            return None
        self._say("unit commitment" if not levels.any() else "unit commitment at higher levels")
        commitment = self.followers.commitment
        program = commitment.at(self.power_stress, self.followers.levels.least_at(levels))
        limits = SolveLimits(
            gap=share_of_gap * self.gap,
            seconds=self.left(),
            processor_seconds=TUNING.loop_seconds if levels.any() else math.inf,
            feasibility=TUNING.commitment_feasibility,
        )
        outcome = commitment.solve(program, limits)
        self.solved += 1
        columns, cost, bound = outcome.columns, outcome.objective_usd, outcome.bound_usd
        if outcome.on is None or columns is None or cost is None or bound is None:
            if outcome.status is Status.INFEASIBLE and program is not None and not levels.any():
                self._say("second opinion")
                self.infeasible = all_miss(self.followers, program, self.left())
            return None
        offers = self.followers.fewest_offers(columns, levels)
        found = RememberedCommitment(self.power_stress, key, outcome.on, offers, cost, bound, outcome.seconds)
        if not levels.any():  # before anything is remembered: whoever interrupts then has a bound
            self._raise_bound(found.bound_usd, _WITHOUT_PRICES)
        self.solver.memory.put(found)
        return found

    def _answer(self, known: RememberedCommitment) -> GameAnswer | None:
        """Both followers' answers to a remembered commitment; EM's part is solved once per commitment."""
        answers = self.solver._answers
        key = (known.power_stress, known.levels)
        if key not in answers:
            answers[key] = self.followers.power_answer(known.power_stress, known.on, known.offers)
        power = answers[key]
        return None if power is None else self.followers.game_answer(power, self.demand)

    def _try_remembered(self) -> None:
        """The bound that is remembered, and the cheapest commitment or plan that is valid at this demand."""
        by_bids = self.solver.memory.get(self.power_stress, (0,) * self.followers.levels.count)
        if by_bids is not None:
            self._raise_bound(by_bids.bound_usd, _WITHOUT_PRICES)
        for known in self.solver.memory.at(self.power_stress):
            self._offer(self._answer(known))
            if self.best is not None:
                break
        for power in self.solver.plans(self.power_stress):
            if self.best is not None and power.leader_cost_usd >= self.best.power.leader_cost_usd:
                return
            if self._offer_power(power):
                return

    def _price_loop(self, base: RememberedCommitment) -> None:
        """Raise levels to what prices ask for until a commitment is valid."""
        levels = np.array(base.levels, dtype=np.int64)
        current: RememberedCommitment | None = base
        for _ in range(TUNING.price_rounds):
            if current is None:
                return
            answer = self._answer(current)
            if answer is None:
                self._deliver(levels)
                return
            self._offer(answer)
            if not answer.invalid:
                return
            prices = answer.gas.prices_usd_per_mwh[self.followers.gas.plants]
            levels = np.maximum(levels, self.followers.levels.needed(prices))
            current = self._unit_commitment(levels)

    def _deliver(self, levels: IntArray) -> None:
        """Where GM cannot serve UC's burn: commitments that it can, at rising levels until one is valid.

        Mostly EM then dispatches what GM cannot serve after all. That ends the search without a verdict, so
        that a fine one is made only where a coarse one leads to an answer.
        """
        coarse, fine = max(TUNING.coarse_gap, self.gap), TUNING.commitment_share_of_gap * self.gap
        has_bound = False
        for _ in range(TUNING.price_rounds):
            answer = self._deliverable(levels, coarse)
            if answer is not None and not answer.invalid:
                answer = self._deliverable(levels, fine)
                has_bound = not levels.any()
            if answer is None or not answer.invalid:
                break
            prices = answer.gas.prices_usd_per_mwh[self.followers.gas.plants]
            levels = np.maximum(levels, self.followers.levels.needed(prices))
        if self.best is not None and not has_bound and not self._closed():
            self._deliverable(np.zeros_like(levels), fine)  # whose bound holds at all levels

    def _deliverable(self, levels: IntArray, gap: float) -> GameAnswer | None:
        """The answer to a cheapest commitment at some levels whose burn GM can serve, if there is one."""
        if self.left() <= 0:
            return None
        outcome = deliverable_commitment(
            self.followers, self.power_stress, levels, self.demand, gap=gap, seconds=self.left()
        )
        if outcome is None:
            return None
        self.solved += 1
        if outcome.status is Status.INFEASIBLE and not levels.any():
            self._say("second opinion")
            self.infeasible = none_is_deliverable(self.followers, self.power_stress, self.demand, self.left())
        if outcome.columns is None:
            return None
        if outcome.bound_usd is not None and not levels.any():
            self._raise_bound(outcome.bound_usd, "unit commitment that the gas network can serve")
        power = self.followers.answer_to_plan(self.power_stress, outcome.columns, levels)
        answer = None if power is None else self.followers.game_answer(power, self.demand)
        self._offer(answer)
        return answer

    def _prove_with_floors(self, best: GameAnswer, gap: float) -> bool:
        """Levels that every answer better by a gap must have, and UC at them; whether none is that good."""
        target = _below(best.power.leader_cost_usd, gap)
        self._say("price floors")
        proof = self.solver.floors.levels(self.power_stress, self.demand, target, best, self.left)
        if proof.nothing:
            self._raise_bound(target, _BY_FLOORS)
            return True
        raised = self._unit_commitment(proof.levels) if proof.levels.any() else None
        if raised is None:
            return False
        # Answers below the target have these levels; answers above it are no news.
        self._raise_bound(min(raised.bound_usd, target), _BY_FLOORS)
        self._offer(self._answer(raised))
        return raised.bound_usd >= target

    def _is_near(self) -> bool:
        """Whether price floors can be expected to close what is left."""
        best = self.best
        return best is not None and relative_gap(best.power.leader_cost_usd, self.bound) <= TUNING.near_gap

    def _search_patterns(self, *, proof: bool) -> None:
        """The cheapest price pattern and plans for it; its bound counts where pressures bind nowhere.

        Where there is an answer, the question is whether a pattern is cheaper by more than the gap.
        """
        self._say("price patterns")
        patterns = self.solver.patterns.search(self.power_stress, self.demand)
        if patterns is None:
            return
        if self.best is None:
            patterns.plan_as_before(self._offer_plan)
        target = math.inf
        if self.best is not None:
            if not proof:
                return
            target = _below(self.best.power.leader_cost_usd, self.gap)
        patterns.look_below(target)
        for _ in range(TUNING.pattern_searches):
            patterns.run(self.left)
            self.bound_if_free = patterns.bound_usd
            if patterns.bound_usd < target:
                patterns.plan(self.gap, self.left, self._offer_plan, self._enough_usd)
            self._take_bound(patterns)
            if not patterns.is_refuted:
                return

    def _take_bound(self, patterns: DemandPatterns) -> None:
        """Take the patterns' bound where pressures bind nowhere and a second opinion confirms it."""
        best = self.best
        if best is None or patterns.bound_usd <= self.bound:
            return
        self._say("pressures")
        cost = best.power.leader_cost_usd
        if not self.solver.patterns.pressures_are_free(self.power_stress, self.demand, cost, self.left):
            return
        self._say("second opinion")
        if patterns.is_confirmed(self.left):
            self._raise_bound(min(patterns.bound_usd, cost), _BY_PATTERNS)

    def _offer_power(self, power: PowerAnswer) -> bool:
        """Let GM answer a dispatch; whether that is a valid answer."""
        answer = self.followers.game_answer(power, self.demand)
        self._offer(answer)
        return answer is not None and not answer.invalid

    def _offer_plan(self, power: PowerAnswer) -> bool:
        """The same for a plan, which is kept for other demands."""
        is_valid = self._offer_power(power)
        if is_valid:
            self.solver.keep_plan(self.power_stress, power)
        return is_valid

    def _enumerate(self) -> None:
        result = enumerate_commitments(
            self.followers, self.power_stress, self.demand, self.best, self.gap, self.left
        )
        self.solved += result.commitments
        self._offer(result.answer)
        self._raise_bound(result.bound_usd, "enumeration of commitments")
        self.infeasible = self.best is None and result.finished

    def solution(self) -> GaucSolution:
        """What is known now."""
        best = self.best
        cost = None if best is None else best.power.leader_cost_usd
        bound = self.bound if math.isfinite(self.bound) else None
        gap = None if cost is None or bound is None else relative_gap(cost, bound)
        if best is None:
            status = Status.INFEASIBLE if self.infeasible else Status.NO_INCUMBENT
        else:
            proven = gap is not None and gap <= self.gap
            status = Status.PROVEN_OPTIMAL if proven else Status.INCUMBENT
        return GaucSolution(
            case=self.solver.case,
            power_stress=self.power_stress,
            demand_mwh=self.demand,
            status=status,
            leader_cost_usd=cost,
            electricity_value_usd=None if best is None else best.power.dispatch.cost_usd,
            gas_value_usd=None if best is None else best.gas.cost_usd,
            bound_usd=bound,
            gap=gap,
            gas_prices_usd_per_mwh=None if best is None else best.gas.prices_usd_per_mwh,
            on=None if best is None else best.power.on,
            output_mw=None if best is None else best.power.dispatch.output_mw,
            burn_mwh=None if best is None else best.power.dispatch.burn_mwh,
            gas_columns=None if best is None else best.gas.columns,
            offers=None if best is None else best.power.offers,
            levels=None if best is None else best.power.levels,
            bound_if_free_usd=self.bound_if_free if math.isfinite(self.bound_if_free) else None,
            bound_from=self.bound_from,
            solved=self.solved,
            seconds=time.perf_counter() - self.started,
        )


def _below(cost_usd: float, gap: float) -> float:
    """What is clearly better than an answer; bids below zero make costs that are below zero too."""
    return cost_usd - TUNING.target_share_of_gap * gap * abs(cost_usd)
