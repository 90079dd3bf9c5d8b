"""``python -m benchmarks.bound_attack``: the bounds of gas-aware unit commitment attacked at random.

Random small games with congested pipes and steep supply, each at several demands, by trying everything
(a reference that shares nothing with the package's models). Every piece that proves something is then asked:

- *patterns*: the bound of the cheapest price pattern, where pressures are proven to bind nowhere;
- *targets*: the same below a target that the optimum meets by a little;
- *cuts*: all cuts that were learned, at the burn and levels of the optimum;
- *floors*: levels that all answers below a target a little above the optimum are said to have;
- *none*: that there is no answer, which is never true here.

A claim that the optimum contradicts is printed, and the exit code is 1.
"""

import argparse
import math
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
from tests.markets.reference import Enumeration

from benchmarks.exactness import FAMILIES
from ppsm.arrays import FloatArray
from ppsm.cases import Case
from ppsm.markets.gauc.by_patterns import PricePatterns
from ppsm.markets.gauc.floors import PriceFloors
from ppsm.markets.gauc.relaxation import AskedLevels, PlaceMap
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.model.followers import Followers, GameAnswer

TOLERANCE = 1e-6
SHARES = (1.0, 0.8, 1.1, 0.95)
# For the solver to find what the reference has found; it need not prove it.
SECONDS = 5.0


def unlimited() -> float:
    return math.inf


@dataclass(frozen=True, eq=False)
class Attack:
    """One game at one demand: its optimum, and whoever makes claims about it."""

    followers: Followers
    patterns: PricePatterns
    floors: PriceFloors
    demand_mwh: FloatArray
    best: GameAnswer

    @property
    def cost_usd(self) -> float:
        """What the optimum costs the leader."""
        return self.best.power.leader_cost_usd

    def is_above(self, bound_usd: float) -> bool:
        """Whether a bound contradicts the optimum."""
        return bound_usd > self.cost_usd * (1 + TOLERANCE)


def pattern_claims(attack: Attack, draw: np.random.Generator) -> list[tuple[str, bool]]:
    """Bounds of patterns, without a target and below one, and all cuts that were learned."""
    claims: list[tuple[str, bool]] = []
    for kind, target in (("patterns", math.inf), ("targets", attack.cost_usd * (1 + draw.uniform(0, 0.02)))):
        search = attack.patterns.search(0.0, attack.demand_mwh)
        if search is None:
            return claims
        search.look_below(target)
        search.run(unlimited)
        if attack.patterns.pressures_are_free(0.0, attack.demand_mwh, attack.cost_usd * 1.001, unlimited):
            claims.append((kind, attack.is_above(search.bound_usd)))
    places = PlaceMap(attack.followers)
    asked = AskedLevels.of(attack.followers)
    burn = places.gather @ attack.best.power.dispatch.burn_mwh
    levels = asked.level <= attack.best.power.levels[asked.link]
    says = [
        cut.constant_usd - float(cut.price_usd_per_mwh @ burn) + float(cut.weight_usd @ levels)
        for cut in attack.patterns.learned(0.0)
    ]
    return [*claims, ("cuts", attack.is_above(max(says, default=-math.inf)))]


def floor_claims(attack: Attack, draw: np.random.Generator) -> list[tuple[str, bool]]:
    """Levels of all answers below a target that the optimum meets."""
    target = attack.cost_usd * (1 + draw.uniform(1e-5, 0.02))
    proof = attack.floors.levels(0.0, attack.demand_mwh, target, attack.best, unlimited)
    is_wrong = proof.nothing or bool((proof.levels > attack.best.power.levels).any())
    return [("floors", is_wrong)]


def claims_of_none(attack: Attack) -> list[tuple[str, bool]]:
    """Whether a game that has an answer is said to have none."""
    return [("none", attack.patterns.have_no_answer(0.0, attack.demand_mwh, unlimited))]


def attacks(case: Case, demand_mwh: FloatArray) -> list[Attack]:
    """A game at several demands, as far as they have an answer that both ways agree on."""
    solver = GasAwareCommitment(case)
    patterns = PricePatterns(solver.followers)
    found = []
    for share in SHARES:
        demand = share * demand_mwh
        expected = Enumeration(case, demand).answer()
        solved = solver.solve(0.0, demand, gap=1e-7, time_limit=SECONDS)
        if expected is None or solved.on is None or solved.offers is None:
            continue
        power = solver.followers.power_answer(0.0, solved.on, solved.offers)
        best = None if power is None else solver.followers.game_answer(power, demand)
        if best is None or abs(best.power.leader_cost_usd / expected.cost_usd - 1) > TOLERANCE:
            continue
        found.append(Attack(solver.followers, patterns, solver.floors, demand, best))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--first", type=int, default=20_000, help="first seed")
    arguments = parser.parse_args()
    made, wrong = Counter[str](), Counter[str]()
    seed = arguments.first
    while made.total() < arguments.calls:
        family = list(FAMILIES)[seed % len(FAMILIES)]
        draw = np.random.default_rng(seed)
        for attack in attacks(*FAMILIES[family](seed)):
            made_here = [*pattern_claims(attack, draw), *floor_claims(attack, draw), *claims_of_none(attack)]
            for kind, is_wrong in made_here:
                made[kind] += 1
                wrong[kind] += is_wrong
                if is_wrong:
                    print(f"{family} game {seed}: a claim of {kind} is wrong", flush=True)
        seed += 1
        if seed % 10 == 0:
            sys.stderr.write(f"{seed - arguments.first} games, {made.total()} claims\n")
    for kind in made:
        print(f"{kind}: {made[kind]} claims, {wrong[kind]} wrong")
    sys.exit(wrong.total() > 0)


if __name__ == "__main__":
    main()
