"""Ctrl-C is answered soon, whatever a command is doing: real signals to real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.commands import COMMAND

CELL = ("--power-stress", "0.36", "--gas-stress", "0.5")
# Two seconds where the machine has nothing else to do; these tests run beside others.
SOON_S = 6.0
STUBBORN = (
    "import signal, time\n"
    "from ppsm.interrupts import answer_interrupts\n"
    "answer_interrupts()\n"
    "signal.signal(signal.SIGINT, lambda *_: None)\n"
    "print('ready', flush=True)\n"
    "end = time.monotonic() + 60\n"
    "while time.monotonic() < end: time.sleep(1)\n"
)


def _start(command: Sequence[str], where: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        command,
        cwd=where,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # A shell that runs tests in the background lets its children ignore the key.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def _pressed(process: subprocess.Popen[str]) -> tuple[str, float]:
    """Press the key as a terminal does, in all processes at once; what is said, and how long it takes."""
    started = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    try:
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    return said, time.monotonic() - started


@pytest.mark.parametrize(
    ("command", "ready", "answer"),
    [
        (("experiment", "table1", "--out", "o"), "original games", "0 rows are kept in o"),
        (("experiment", "table1", "--workers", "2", "--out", "o"), "original games", "0 rows are kept in o"),
        (("compare", *CELL, "--out", "o"), "clearing the original", "interrupted after 0 of 36 runs"),
        (("tradeoff", *CELL, "--out", "o"), "clearing the original", "interrupted after 0 of"),
        (("release", *CELL, "--alpha", "100", "--seed", "1", "--out", "o"), "releasing", "interrupted"),
        (("gauc", *CELL, "--unaware"), "by bids alone", "interrupted"),
        (("audit", "--alpha", "1", "--samples", "9000000"), "running", "interrupted"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_command_ends_soon_and_says_so(
    command: tuple[str, ...], ready: str, answer: str, tmp_path: Path
) -> None:
    process = _start([*COMMAND, *command], tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if ready in line:
            break
    time.sleep(0.5)  # into the solver
    said, seconds = _pressed(process)
    assert process.returncode == 130, said
    assert answer in said
    assert "Traceback" not in said
    assert seconds < SOON_S


def test_a_key_pressed_while_libraries_are_loaded_leaves_no_traceback(tmp_path: Path) -> None:
    process = _start([*COMMAND, "doctor"], tmp_path)
    time.sleep(0.3)
    said, seconds = _pressed(process)
    assert "Traceback" not in said
    assert seconds < SOON_S


def test_whoever_cannot_stop_says_so_and_leaves_at_the_second_press(tmp_path: Path) -> None:
    process = _start([sys.executable, "-c", STUBBORN], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    assert process.stdout.readline() == "stopping; press Ctrl-C again to leave at once\n"
    assert time.monotonic() - started < SOON_S
    said, seconds = _pressed(process)
    assert (said, process.returncode) == ("interrupted\n", 130)
    assert seconds < SOON_S
