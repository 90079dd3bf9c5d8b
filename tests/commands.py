"""The command line from the outside, in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "ppsm"]


def ppsm(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(  # noqa: S603
        [*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=170
    )


def interrupted(*arguments: str, cwd: Path, rows: Path, count: int) -> str:
    """Press Ctrl-C once a directory has some parts of rows; what the command says about it."""
    started = subprocess.Popen([*COMMAND, *arguments], cwd=cwd, stderr=subprocess.PIPE, text=True)  # noqa: S603
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list(rows.glob("parts/*.parquet"))) < count:
        time.sleep(0.05)
    os.kill(started.pid, signal.SIGINT)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 130, errors
    return errors
