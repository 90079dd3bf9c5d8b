"""Ctrl-C is answered soon, whatever a command is doing: real signals to real processes."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.commands import COMMAND

CELL = ("--power-stress", "0.36", "--gas-stress", "0.5")
# What an answer may cost: the two seconds that are promised, of the processor. By the clock they are longer
# where others want the processors, too, as beside other tests.
SOON_S = 2.0
BESIDE_TESTS = 3.0
STUBBORN = (
    "import signal, time\n"
    "from ppsm.interrupts import answer_interrupts\n"
    "answer_interrupts()\n"
    "signal.signal(signal.SIGINT, lambda *_: None)\n"
    "print('ready', flush=True)\n"
    "end = time.monotonic() + 60\n"
    "while time.monotonic() < end: time.sleep(1)\n"
)

SLOW = (
    "import time\n"
    "try:\n"  # before it says so, or the key might be pressed in between
    "    print('ready', flush=True)\n"
    "    time.sleep(60)\n"
    "except KeyboardInterrupt:\n"
    "    while time.process_time() < 2.5: pass\n"
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


def _pressed(process: subprocess.Popen[str]) -> str:
    """Press the key as a terminal does, in all processes at once; what is said, which must be soon."""
    started, ended_before = time.monotonic(), _cpu_of_ended()
    begun = _cpu_of_group(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    try:
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert time.monotonic() - started < _soon()
    assert _cpu_of_ended() - ended_before - begun < SOON_S
    return said


def _soon() -> float:
    """Seconds by the clock, on a machine as busy as this one is now."""
    return SOON_S * BESIDE_TESTS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / 2)


def _cpu_of_ended() -> float:
    """Seconds of all processes that were started here and have ended, and of those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu_of_group(group: int) -> float:
    """Seconds so far of all processes of a group, and of those that they waited for."""
    ticks = 0
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may end while we read
            fields = each.read_text().rsplit(")", 1)[1].split()
            ticks += sum(int(field) for field in fields[11:15]) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


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
    said = _pressed(process)
    assert process.returncode == 130, said
    assert answer in said
    assert "Traceback" not in said


def test_a_key_pressed_while_libraries_are_loaded_leaves_no_traceback(tmp_path: Path) -> None:
    process = _start([*COMMAND, "doctor"], tmp_path)
    time.sleep(0.3)
    assert "Traceback" not in _pressed(process)


def test_whoever_cannot_stop_says_so_and_leaves_at_the_second_press(tmp_path: Path) -> None:
    process = _start([sys.executable, "-c", STUBBORN], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    assert process.stdout.readline() == "stopping; press Ctrl-C again to leave at once\n"
    assert time.monotonic() - started < _soon()
    assert (_pressed(process), process.returncode) == ("interrupted\n", 130)


def test_an_answer_that_works_on_for_seconds_is_found(tmp_path: Path) -> None:
    process = _start([sys.executable, "-c", SLOW], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(AssertionError):
        _pressed(process)
