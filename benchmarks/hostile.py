"""Ten thousand hostile inputs to the fidelity phase: ``python -m benchmarks.hostile``.

Inputs are numbered, so that a long run can be cut into parts: the second half is ``--first 5000 --count
5000``.
"""

import argparse
import json
import time

from rich.progress import track
from tests.fidelity.hostile import attack


def main() -> None:
    """Attack and print how each attack ended; an unexplained end raises."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--count", type=int, default=10_000, help="how many inputs")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    started = time.perf_counter()
    numbers = range(options.first, options.first + options.count)
    ends: dict[str, list[int]] = {}
    for number in track(numbers, "hostile inputs", disable=options.json):
        ends.setdefault(attack(number), []).append(number)
    seconds = time.perf_counter() - started
    counts = {how: {"inputs": len(which), "first": which[0]} for how, which in ends.items()}
    if options.json:
        print(json.dumps({"inputs": options.count, "ended": counts, "seconds": seconds}))
        return
    for how, count in sorted(counts.items(), key=lambda one: -one[1]["inputs"]):
        print(f"{count['inputs']:>7}  {how} (first: number {count['first']})")
    print(f"{options.count} inputs in {seconds:.0f} s")


if __name__ == "__main__":
    main()
