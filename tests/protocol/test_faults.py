"""A few of the runs of ``make party-faults``: two processes, kill -9, an expiry, a full disk, a clock."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_rounds_between_processes_survive_what_goes_wrong() -> None:
    command = [sys.executable, "-m", "benchmarks.party_faults", "--first", "47", "--runs", "5"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 runs ended" in done.stdout
    assert "0 of them wrong" in done.stdout
    for fault in ("noise is kept", "noise is noted", "certificate expires", "full disk of the leader"):
        assert f"{fault}': 1" in done.stdout.split("that never came")[0], fault
