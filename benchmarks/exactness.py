"""``python -m benchmarks.exactness``: the solver of the game against two references on random small games.

Every game is solved three times: by the package, as one mixed-integer program (strong duality), and by trying
every commitment and every selection of bid blocks. All three must agree; a game that differs is printed and
the exit code is 1. EM has no ties in these games, and prices of GM are optimistic in all three.

A game is **held** where it is best not to offer all blocks: its answer is cheaper than that of the game in
which every running unit offers everything. ``--references`` leaves the package's solver out.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.markets.reference import Enumeration
from tests.markets.single_level import best_by_single_level
from tests.markets.small_games import small_game, steep_game

from ppsm.arrays import FloatArray
from ppsm.cases import Case
from ppsm.markets.check.certificate import certify
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.status import Status

TOLERANCE = 1e-6
FAMILIES: dict[str, Callable[[int], tuple[Case, FloatArray]]] = {"steep": steep_game, "small": small_game}


@dataclass(frozen=True)
class References:
    """Costs of one game in $ (None: it has no answer) by both references, and seconds of processor time.

    ``all_offered`` is the cost where no block can be kept back; gas prices of two places in the best answer
    differ by ``spread_usd_per_mwh``. ``undecided`` says that the single-level program ran out of time; then
    its cost is not compared.
    """

    single_level: float | None
    enumeration: float | None
    all_offered: float | None
    spread_usd_per_mwh: float
    seconds: tuple[float, float]
    undecided: bool = False

    @property
    def held(self) -> bool:
        """Whether keeping blocks back is best."""
        return self.enumeration is not None and not equal(self.all_offered, self.enumeration)

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the references themselves."""
        faults = []
        if not self.undecided and not equal(self.single_level, self.enumeration):
            faults.append("single-level program and enumeration differ")
        # levels are selections too: what they reach, the leader can reach
        cheapest = math.inf if self.enumeration is None else self.enumeration
        if self.all_offered is not None and self.all_offered < cheapest * (1 - TOLERANCE):
            faults.append("a choice of blocks makes the game dearer")
        return tuple(faults)


@dataclass(frozen=True)
class Comparison:
    """One game: what the references say, what the solver says, and what is wrong."""

    seed: int
    references: References
    solver: float | None
    seconds: float
    bound_from: str
    faults: tuple[str, ...]


def equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= TOLERANCE * max(1.0, abs(second))


def ask_references(case: Case, demand: FloatArray, limit: float = 120.0) -> References:
    """Solve one game in two ways that share no code with the package's models."""
    clock = [time.process_time()]
    single, undecided = None, False
    try:
        single = best_by_single_level(case, demand, limit)
    except TimeoutError:
        undecided = True
    clock.append(time.process_time())
    tried = Enumeration(case, demand)
    best = tried.answer()
    clock.append(time.process_time())
    seconds = (clock[1] - clock[0], clock[2] - clock[1])
    prices = [0.0] if best is None else tried.gas_prices(best)
    cost = None if best is None else best.cost_usd
    return References(single, cost, tried.best_of_levels(), max(prices) - min(prices), seconds, undecided)


def compare(seed: int, limit: float = 120.0, family: str = "steep") -> Comparison:
    """Solve one game in three ways."""
    case, demand = FAMILIES[family](seed)
    references = ask_references(case, demand, limit)
    begin = time.process_time()
    answer = GasAwareCommitment(case).solve(0.0, demand, gap=1e-7, time_limit=limit)
    seconds = time.process_time() - begin
    faults = list(references.faults)
    expected, cost, bound = references.enumeration, answer.leader_cost_usd, answer.bound_usd
    if answer.status not in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
        faults.append(f"status '{answer.status.value}'")
    if not equal(cost, expected):
        faults.append("solver and enumeration differ")
    if expected is not None and bound is not None and bound > expected + TOLERANCE * max(1.0, expected):
        faults.append("the bound is above the optimum")
    if answer.status.has_answer and not certify(answer).clean:
        faults.append("the certificate is not clean")
    return Comparison(seed, references, cost, seconds, answer.bound_from, tuple(faults))


def compare_references(seed: int, limit: float = 120.0, family: str = "steep") -> Comparison:
    """Solve one game in two ways, without the package's solver."""
    references = ask_references(*FAMILIES[family](seed), limit)
    return Comparison(seed, references, references.enumeration, 0.0, "references", references.faults)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=210)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per solve")
    parser.add_argument("--family", choices=FAMILIES, default="steep")
    parser.add_argument("--references", action="store_true", help="compare the two references only")
    parser.add_argument("--verbose", action="store_true", help="print every game")
    options = parser.parse_args()
    results = []
    for seed in range(options.first, options.first + options.games):
        ask = compare_references if options.references else compare
        result = ask(seed, options.limit, options.family)
        results.append(result)
        if result.faults or options.verbose:
            print(result, flush=True)
        if len(results) % 10 == 0:
            sys.stderr.write(f"{len(results)} games done\n")
    _report(results)
    sys.exit(any(result.faults for result in results))


def _report(results: list[Comparison]) -> None:
    agreed = [result for result in results if not result.faults]
    held = [result for result in results if result.references.held]
    print(f"{len(agreed)} of {len(results)} games agree")
    print(f"  no answer: {sum(result.references.enumeration is None for result in results)}")
    print(f"  held: {len(held)}, of which {sum(not result.faults for result in held)} agree")
    apart = sum(result.references.spread_usd_per_mwh > 0.1 for result in results)
    print(f"  gas prices differ from place to place: {apart}")
    print(f"  all ways ended in {sum(not result.references.undecided for result in results)} games")
    for reason in sorted({result.bound_from for result in agreed}):
        print(f"  proven by {reason}: {sum(result.bound_from == reason for result in agreed)}")
    for name, times in (
        ("solver", sorted(result.seconds for result in results)),
        ("single level", sorted(result.references.seconds[0] for result in results)),
        ("enumeration", sorted(result.references.seconds[1] for result in results)),
    ):
        print(f"  {name}: median {times[len(times) // 2]:.2f} s, most {times[-1]:.2f} s of processor time")


if __name__ == "__main__":
    main()
