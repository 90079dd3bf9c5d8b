"""Ten thousand hostile inputs to the fidelity phase: ``python -m benchmarks.hostile [count]``."""

import sys
import time

from tests.fidelity.hostile import attack_all


def main() -> None:
    """Attack and print how each attack ended; an unexplained end raises."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    started = time.perf_counter()
    ended = attack_all(0, count)
    for how, number in ended.most_common():
        print(f"{number:>7}  {how}")
    print(f"{count} attacks in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
