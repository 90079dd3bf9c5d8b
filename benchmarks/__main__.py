"""``make bench``: measure what the documentation claims, and leave with an error where a limit is missed."""

import sys

from benchmarks import privacy


def main() -> None:
    missed = False
    for row in privacy.measure():
        late = "limit" in row and float(row["value"]) > float(row["limit"])
        limit = f" (limit {row['limit']}{', MISSED' if late else ''})" if "limit" in row else ""
        print(f"{row['name']}: {row['value']:.2f} {row['unit']}{limit}")
        missed |= late
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
