"""``python -m benchmarks.experiments kill|scale``: what the harness promises, on the Northeast case.

``kill``   one run is left alone; another is killed with SIGKILL at random moments, in turn the run itself and
           one of its workers, and started again. Their rows are compared one by one.
``scale``  the same grid on a local Dask cluster with one worker and with two; instances a second, without the
           original games. Beside it: what two processes that only count gain on this machine.
"""

import argparse
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from ppsm.experiments import RowStore, run_experiment
from ppsm.experiments.engines import cluster
from ppsm.experiments.grid import read_experiment
from ppsm.experiments.row import Row

KILL_GRID = """case = "northeast"
power_stress = [0.3, 0.48]
gas_stress = [0.3, 0.9]
alphas = [10, 100, 1000]
etas = [0.001]
mechanisms = ["laplace", "ppsm-p", "ppsm"]
repetitions = {repetitions}
"""
# Batches of a few seconds each: one that takes long at the end would measure the wait for it.
SCALE_GRID = """case = "northeast"
power_stress = [0.48, 0.54]
gas_stress = [0.3]
alphas = [10, 100]
etas = [0.001]
mechanisms = ["ppsm-p", "ppsm", "ppsm+prior"]
repetitions = {repetitions}
"""
# Time, and how much was remembered when an instance came; and gaps, which depend on where a search stopped.
_CIRCUMSTANCES = ("cpu_", "seconds_", "commitments_", "decisions_", "fidelity_gap", "fidelity_nodes")
_ROUNDING = 1e-6


def _start(grid: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from ppsm.cli import run; run()", "experiment", str(grid)]
    return subprocess.Popen(  # noqa: S603
        [*command, "--workers", "2", "--out", str(out)], stderr=subprocess.DEVNULL, start_new_session=True
    )


def _workers_of(run: subprocess.Popen[bytes]) -> list[int]:
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"LokyProcess" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _ends_within(run: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        run.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _run_under_fire(grid: Path, out: Path, kills: int, chance: random.Random) -> None:
    """Kill the run or a worker of it, so many times; then let it end."""
    for number in range(kills):
        run = _start(grid, out)
        if _ends_within(run, chance.uniform(4.0, 15.0)):
            print(f"the run ended before kill {number + 1} of {kills}", flush=True)
            return
        workers = _workers_of(run)
        victim = chance.choice(workers) if number % 2 and workers else run.pid
        os.kill(victim, signal.SIGKILL)
        print(
            f"killed {'the run' if victim == run.pid else 'a worker'}; {len(RowStore(out).rows())} rows",
            flush=True,
        )
        # Without its worker the run goes on, for a while.
        if victim != run.pid and not _ends_within(run, chance.uniform(2.0, 10.0)):
            run.kill()
        run.wait()
    if _start(grid, out).wait() != 0:
        raise SystemExit("the run that was killed did not end well")


def _difference(one: object, other: object) -> float:
    """Relative for numbers, otherwise 0 if equal and infinite if not."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) / max(1.0, abs(one))
    return 0.0 if one == other else float("inf")


def compare(whole: Sequence[Row], killed: Sequence[Row]) -> dict[str, tuple[int, float]]:
    """Columns in which rows differ by more than rounding: how many rows, and how far at most."""
    if [row.key for row in whole] != [row.key for row in killed]:
        raise SystemExit("the runs have rows of different instances")
    found = {}
    for name in whole[0].to_dict():
        if not name.startswith(_CIRCUMSTANCES):
            both = zip(whole, killed, strict=True)
            apart = [
                gap
                for one, two in both
                if (gap := _difference(getattr(one, name), getattr(two, name))) > _ROUNDING
            ]
            if apart:
                found[name] = (len(apart), max(apart))
    return found


def kill(repetitions: int, kills: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder) / "grid.toml"
        grid.write_text(KILL_GRID.format(repetitions=repetitions), encoding="utf-8")
        whole, killed = Path(folder) / "whole", Path(folder) / "killed"
        if _start(grid, whole).wait() != 0:
            raise SystemExit("the run that was left alone failed")
        _run_under_fire(grid, killed, kills, random.Random(seed))  # noqa: S311 - moments need no secrecy
        rows = RowStore(whole).rows()
        found = compare(rows, RowStore(killed).rows())
    print(f"{len(rows)} rows in both, each once; columns that differ by more than {_ROUNDING:g}:")
    for name, (count, most) in found.items():
        print(f"  {name}: {count} rows, by {most:.2g} at most")
    print("  none" if not found else "")


def _count_for(seconds: float) -> int:
    """How far a process counts in a time."""
    total, stop = 0, time.perf_counter() + seconds
    while time.perf_counter() < stop:
        total += sum(range(1000))
    return total


def _machine_gain() -> float:
    """What two processes that share nothing do in the time of one, in multiples of its work."""
    alone = _count_for(5.0)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_count_for, (0.1, 0.1)))
        together = sum(pool.map(_count_for, (5.0, 5.0)))
    return together / alone


def scale(repetitions: int) -> None:
    print(f"two processes that only count: {_machine_gain():.2f} times one", flush=True)
    rates = []
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder, cluster("local", workers) as engine:
            grid = Path(folder) / "grid.toml"
            grid.write_text(SCALE_GRID.format(repetitions=repetitions), encoding="utf-8")
            out = Path(folder) / "rows"
            out.mkdir()
            started = time.perf_counter()
            tally = run_experiment(read_experiment(grid), RowStore(out), engine)
            rates.append(tally.rate or 0.0)
            print(
                f"{workers} workers: {tally.here} instances, {rates[-1]:.3f} a second; "
                f"{time.perf_counter() - started:.0f} s with the original games",
                flush=True,
            )
    print(f"two workers: {rates[1] / rates[0]:.2f} times one")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments", description=__doc__)
    parser.add_argument("what", choices=("kill", "scale"))
    parser.add_argument("--reps", type=int, help="repetitions (default: 4 for kill, 90 for scale)")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.what == "kill":
        kill(options.reps or 4, options.kills, options.seed)
    else:
        scale(options.reps or 90)


if __name__ == "__main__":
    main()
