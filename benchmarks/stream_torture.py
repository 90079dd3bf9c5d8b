"""Kill a stream at random moments until it is done; compare ledger and files with an undisturbed run.

Run ``python -m benchmarks.stream_torture [SECONDS]``; rounds of 12 days follow each other until the time is
over. So that two runs can be equal at all, the noise is a function of what it is added to here: a deadly
fault anywhere else, which is why it is done in this file and nowhere in the package.
"""

import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from tests.streams.small import days, ledger_for, market, settings

from ppsm.arrays import FloatArray
from ppsm.privacy import Ledger
from ppsm.privacy.noise import ExactLaplace
from ppsm.streams.stream_run import StreamRun

DAYS = 12
# What differs between any two runs: times, names of ledgers, hashes.
_OWN = {"time", "ledger", "entry_hash", "hash", "previous", "fingerprint", "key", "who"}


def child(place: Path) -> None:
    """Release the days, with noise that is the same in every run."""

    def repeatable(self: ExactLaplace, values: FloatArray) -> FloatArray:
        seed = hashlib.sha256(values.tobytes() + repr(self.scale).encode()).digest()[:8]
        generator = np.random.default_rng(int.from_bytes(seed, "big"))
        noisy: FloatArray = values + generator.laplace(scale=self.scale, size=values.size)
        return noisy

    ExactLaplace.add_to = repeatable  # type: ignore[method-assign]
    game = market()
    run = StreamRun(settings(), lambda _: game, directory=place / "out", ledger=Ledger(place / "ledger.db"))
    for _ in run.release(days(game.entry_names, DAYS)):
        pass


def forked(place: Path) -> int:
    """A child that has everything imported, so that all of its time is work that can be disturbed.

    This process solves nothing and holds no ledger open: what has threads or locks begins in the child.
    """
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        child(place)
        status = 0
    except BaseException:  # noqa: BLE001 - a forked child must never go on as its parent
        traceback.print_exc()
    finally:
        os._exit(status)


def released(place: Path, most: float | None) -> int:
    """Run children until one ends by itself; with ``most`` each is killed within so many seconds."""
    place.mkdir()
    ledger_for(place / "ledger.db")
    kills = 0
    while True:
        process = forked(place)
        if most is not None:
            time.sleep(random.uniform(0.0, most))  # noqa: S311
            os.kill(process, signal.SIGKILL)  # one that has ended waits to be asked, so its number is its own
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status == 0:
            return kills
        if status != -signal.SIGKILL:
            raise SystemExit(f"a child failed by itself in {place}")
        kills += 1


def _plain(content: Any) -> Any:
    """Content without what differs between any two runs."""
    if isinstance(content, dict):
        return {name: _plain(each) for name, each in content.items() if name not in _OWN}
    return [_plain(each) for each in content] if isinstance(content, list) else content


def shown(place: Path) -> tuple[list[Any], dict[str, Any]]:
    """The ledger's entries and the released files, as far as they can be equal."""
    ledger = Ledger(place / "ledger.db")
    verification = ledger.verify()
    assert verification.ok, verification.findings
    entries = [
        (entry.kind, entry.day, entry.amount, entry.spent, _plain(json.loads(entry.detail)))
        for entry in ledger.entries()
    ]
    files = {file.name: _plain(json.loads(file.read_text())) for file in (place / "out/days").iterdir()}
    return entries, files


def difference(found: Any, expected: Any, where: str = "") -> str:
    """The first place where two contents differ; empty where they are equal."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        pairs = [(name, found[name], expected[name]) for name in expected]
    elif (
        isinstance(found, list | tuple) and isinstance(expected, list | tuple) and len(found) == len(expected)
    ):
        pairs = list(zip(range(len(expected)), found, expected, strict=True))
    else:
        return "" if found == expected else f"{where}: {found} instead of {expected}"
    return next((each for name, a, b in pairs if (each := difference(a, b, f"{where}/{name}"))), "")


def main(seconds: float) -> None:
    begun, kills, rounds = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as directory:
        whole = Path(directory)
        started = time.monotonic()
        released(whole / "undisturbed", None)
        took = time.monotonic() - started
        expected = shown(whole / "undisturbed")
        while time.monotonic() - begun < seconds:
            place = whole / f"killed-{rounds}"
            kills += released(place, took)
            differs = difference(shown(place), expected)
            assert not differs, f"round {rounds} differs at {differs}"
            rounds += 1
            print(f"{rounds} rounds, {kills} kills: ledger and files equal", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0)
