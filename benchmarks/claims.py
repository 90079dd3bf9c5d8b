"""Five thousand random small games against enumeration: ``python -m benchmarks.claims``.

Games are numbered and their kinds take turns, so that a long run can be cut into parts: the second half is
``--first 2500 --count 2500``. Each is solved by the automatic choice and one other method in turn, or by all.
A wrong claim is printed and the exit code is 1.
"""

import argparse
import sys
import time
from collections import Counter

from rich.progress import track
from tests.games.claims import Claim, Judged, judged, rotating

from ppsm.bilevel.solution import Method


def run(first: int, count: int, every_method: bool) -> list[Judged]:
    """Judge all claims about some games."""
    return [
        one
        for number in track(range(first, first + count), "random games", disable=not sys.stdout.isatty())
        for one in judged(number, tuple(Method) if every_method else rotating(number))
    ]


def table(found: list[Judged], column: str) -> str:
    """Counts of claims by one of their attributes."""
    claims = list(Claim)
    counts = Counter((str(getattr(one, column)), one.claim) for one in found)
    lines = [f"{column:<22}" + "".join(f"{claim:>22}" for claim in claims)]
    names = sorted({str(getattr(one, column)) for one in found})
    lines += [f"{name:<22}" + "".join(f"{counts[name, claim]:>22}" for claim in claims) for name in names]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first game")
    parser.add_argument("--count", type=int, default=5000, help="how many games")
    parser.add_argument("--all", action="store_true", help="every method on every game")
    options = parser.parse_args()
    started = time.perf_counter()
    found = run(options.first, options.count, options.all)
    for column in ("kind", "method", "status"):
        print(table(found, column), end="\n\n")
    weak = [one for one in found if one.claim in (Claim.WRONG, Claim.UNPROVEN, Claim.UNVERIFIED)]
    for one in weak:
        print(f"{one.claim}: {one.kind} {one.seed} by {one.method}: {one.said}")
    wrong = sum(one.claim is Claim.WRONG for one in weak)
    seconds = time.perf_counter() - started
    print(f"{options.count} games, {len(found)} answers, {wrong} wrong claims, {seconds:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
