"""``python -m benchmarks.exactness``: the solver of the game against two references on random small games.

Every game is solved three times: by the package, as one mixed-integer program (strong duality), and by trying
every commitment. All three must agree; a game that differs is printed and the exit code is 1. EM has no ties
in these games, and prices of GM are optimistic in all three.
"""

import argparse
import sys
import time
from dataclasses import dataclass

from tests.markets.reference import Enumeration
from tests.markets.single_level import best_by_single_level
from tests.markets.small_games import small_game

from ppsm.markets.check.certificate import certify
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.status import Status

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Comparison:
    """Costs of one game in $ (None: it has no answer), seconds of processor time, and what is wrong.

    ``undecided`` says that the single-level program ran out of time; then two ways are compared, not three.
    """

    seed: int
    solver: float | None
    single_level: float | None
    enumeration: float | None
    seconds: tuple[float, float, float]
    bound_from: str
    undecided: bool
    faults: tuple[str, ...]


def equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= TOLERANCE * max(1.0, abs(second))


def compare(seed: int, limit: float = 120.0) -> Comparison:
    """Solve one game in three ways."""
    case, demand = small_game(seed)
    clock = [time.process_time()]
    answer = GasAwareCommitment(case).solve(0.0, demand, gap=1e-7, time_limit=limit)
    clock.append(time.process_time())
    single, undecided = None, False
    try:
        single = best_by_single_level(case, demand, limit)
    except TimeoutError:
        undecided = True
    clock.append(time.process_time())
    tried = Enumeration(case, demand).best()
    clock.append(time.process_time())
    faults = []
    if answer.status not in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
        faults.append(f"status '{answer.status.value}'")
    if not equal(answer.leader_cost_usd, tried):
        faults.append("solver and enumeration differ")
    if not undecided and not equal(single, tried):
        faults.append("single-level program and enumeration differ")
    if answer.status.has_answer and not certify(answer).clean:
        faults.append("the certificate is not clean")
    seconds = (clock[1] - clock[0], clock[2] - clock[1], clock[3] - clock[2])
    return Comparison(
        seed, answer.leader_cost_usd, single, tried, seconds, answer.bound_from, undecided, tuple(faults)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=230)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per solve")
    options = parser.parse_args()
    results = []
    for seed in range(options.first, options.first + options.games):
        result = compare(seed, options.limit)
        results.append(result)
        if result.faults:
            print(result, flush=True)
        if len(results) % 10 == 0:
            sys.stderr.write(f"{len(results)} games done\n")
    agreed = [result for result in results if not result.faults]
    print(
        f"{len(agreed)} of {len(results)} games agree; {sum(r.solver is None for r in agreed)} have no answer"
    )
    print(f"  all three ways ended in {sum(not result.undecided for result in agreed)} games")
    for reason in sorted({result.bound_from for result in agreed}):
        print(f"  proven by {reason}: {sum(result.bound_from == reason for result in agreed)}")
    for name, index in (("solver", 0), ("single level", 1), ("enumeration", 2)):
        times = sorted(result.seconds[index] for result in results)
        print(f"  {name}: median {times[len(times) // 2]:.2f} s, most {times[-1]:.2f} s of processor time")
    sys.exit(len(agreed) < len(results))


if __name__ == "__main__":
    main()
