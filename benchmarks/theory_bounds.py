"""``python -m benchmarks.theory_bounds``: every bound that a dossier prints, on random games.

The games are made to break bounds: prices answer to the leader, an entry enters several rows and a row has
several entries, leaders have integers, prices in their objective, or see answers. Each is played with PPSM on
a random vector; what the dossier prints of the leader's cost is held against the game cleared with the true
vector (where that satisfies the bands) and with other vectors that do. What it prints of the distance may
fail in 5 % of the releases. A violation ends the command with an error.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass, field, replace

import numpy as np

from ppsm import Follower, LinearProgram, Sensitive, StackelbergGame
from ppsm.arrays import FloatArray
from ppsm.coordinations import GameCoordination
from ppsm.fidelity.certificate import certify
from ppsm.mechanism import PPSM, PPSM_p, PublicOutcome, Release
from ppsm.mechanism.theory import CONFIDENCE
from ppsm.privacy import simulated_publication

UNIT, ALPHA, CEILING = "MWh", 1.0, 20.0
# A cleared game is good to this; a vector within it of a jump of the prices is on either side.
ROUNDING = 1e-5
OTHERS = 6


def random_game(seed: int) -> tuple[StackelbergGame, FloatArray]:
    """A game whose prices react to the leader and whose parameters share rows, and a true vector for it."""
    rng = np.random.default_rng(seed)
    entries, rows, columns = (int(rng.integers(*ends)) for ends in ((2, 4), (2, 4), (2, 5)))
    shared = np.where(rng.random((rows, entries)) < 0.6, rng.uniform(0.3, 2.0, (rows, entries)), 0.0)
    shared[rng.integers(rows, size=entries), np.arange(entries)] = 1.0
    served = np.where(rng.random((rows, columns)) < 0.6, rng.uniform(0.5, 1.5, (rows, columns)), 0.0)
    names = [f"row{i}" for i in range(rows)] + [f"cap{j}" for j in range(columns)]
    # Every row can be met by a dear column of its own; the leader may raise the capacity of another.
    matrix = np.block([[served, np.eye(rows)], [np.eye(columns), np.zeros((columns, rows))]])
    program = LinearProgram.from_arrays(
        cost=np.concatenate([rng.uniform(1.0, 8.0, columns), np.full(rows, CEILING)]),
        matrix=matrix,
        row_lower=np.concatenate([np.zeros(rows), np.full(columns, -np.inf)]),
        row_upper=np.concatenate([np.full(rows, np.inf), rng.uniform(2.0, 8.0, columns)]),
        row_names=names,
    )
    truth = rng.uniform(2.0, 8.0, entries)
    follower = Follower.from_program(
        program, parameter_map=np.vstack([shared, np.zeros((columns, entries))]), nominal=truth
    )
    game = StackelbergGame(follower)
    raised = game.leader.add_variables(lower=0, upper=3, integer=bool(rng.random() < 0.3), name="raised")
    game.raise_right_hand_side(f"cap{rng.integers(columns)}", float(rng.uniform(1.0, 3.0)) * raised)
    if rng.random() < 0.5:
        game.raise_right_hand_side(f"row{rng.integers(rows)}", -float(rng.uniform(0.2, 1.0)) * raised)
    held = game.leader.add_variables(lower=0, name="held")
    watched = game.price(f"row{rng.integers(rows)}")
    game.leader.add_constraints(held - float(rng.uniform(0.2, 2.0)) * watched >= -2.0, name="cover")
    objective = float(rng.uniform(0.5, 3.0)) * raised + 1.0 * held
    if rng.random() < 0.2:
        objective = objective + 0.1 * game.price(f"row{rng.integers(rows)}")
    if rng.random() < 0.1:
        objective = objective + 0.1 * game.response(program.column_names[0])
    game.leader.add_objective(objective)
    return game, truth


@dataclass
class Tally:
    """What was checked and what was violated."""

    games: int = 0
    lower_sides: int = 0
    upper_sides: int = 0
    vectors: int = 0
    distances: int = 0
    far: int = 0
    violations: list[str] = field(default_factory=list)

    def check(self, seed: int) -> None:
        """Play one game and hold what its dossier prints against what it bounds."""
        game, truth = random_game(seed)
        market = GameCoordination(game, unit=UNIT, bounds=(0.0, 12.0))
        original = market.clear(truth)
        if original.leader_cost is None:
            return
        public = PublicOutcome(simulated_publication(market.market_result(truth), dataset="d"), seed=seed)
        data = Sensitive(truth, dataset="d", unit=UNIT, entry_names=market.entry_names)
        make = PPSM if seed % 3 else PPSM_p
        release = make(alpha=ALPHA, eta_p=0.05).simulate(data, market, public, seed=seed)
        theory = json.loads(release.dossier.to_json())["theory"]
        self.games += 1
        self._check_cost(seed, market, release, theory["cost_of_privacy"], truth)
        likely = theory["distance"]["likely_l2"]
        if likely is not None and _faithful(release, truth):
            self.distances += 1
            self.far += bool(np.linalg.norm(release.released.values - truth) > likely)

    def _check_cost(
        self, seed: int, market: GameCoordination, release: Release, said: dict[str, float], truth: FloatArray
    ) -> None:
        if not said["available"]:
            return
        lowest, highest = said["lowest"], said["highest"]
        self.lower_sides += lowest is not None
        self.upper_sides += highest is not None
        rng = np.random.default_rng((seed, 1))
        tried = [truth, *(truth + rng.normal(0.0, 0.3, (OTHERS, truth.size)))]
        for vector in tried:
            if (vector < 0).any() or (vector > 12.0).any() or not _faithful(release, vector):
                continue
            cost = market.clear(vector).leader_cost
            if cost is None:
                continue
            self.vectors += 1
            room = ROUNDING * max(1.0, abs(cost))
            if (lowest is not None and cost < lowest - room) or (
                highest is not None and cost > highest + room
            ):
                self.violations.append(f"game {seed}: {cost:.6g} is not in [{lowest}, {highest}]")

    @property
    def holds(self) -> bool:
        """Whether no bound was violated more often than it says."""
        return not self.violations and self.far <= (1.0 - CONFIDENCE) * max(20, self.distances)

    def __str__(self) -> str:
        return (
            f"{self.games} games: {self.lower_sides} lower and {self.upper_sides} upper sides of "
            f"the leader's cost printed, held against {self.vectors} vectors in the bands, "
            f"{len(self.violations)} violated; {self.distances} distances to a truth in the bands, "
            f"{self.far} beyond the {100 * CONFIDENCE:.0f} % bound"
        )


def _faithful(release: Release, vector: FloatArray) -> bool:
    """Whether a vector satisfies the bands of a release."""
    claim = None if release.fidelity is None else release.fidelity.claim
    return claim is not None and certify(replace(claim, parameter=vector)).faithful


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--games", type=int, default=1000)
    options = parser.parse_args()
    tally, started = Tally(), time.process_time()
    for seed in range(options.first, options.first + options.games):
        tally.check(seed)
    print(f"{tally}; {time.process_time() - started:.0f} CPU s")
    for violation in tally.violations[:20]:
        print(violation)
    sys.exit(0 if tally.holds else 1)


if __name__ == "__main__":
    main()
