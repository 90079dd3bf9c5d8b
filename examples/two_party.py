"""Two operators as two processes: a follower's service on loopback, a leader's round with it, and the check.

``make two-party`` runs it on the Northeast case. Each side gets its own part of the case: the leader's
directory has no demand, the follower's no unit, bid or load. Everything is made below one directory, as the
commands would make it on two machines; ``python examples/two_party.py DIR --case medium --alpha 20
--power-stress 0.2 --gas-stress 0.5`` takes seconds.
"""

import argparse
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

PPSM = [sys.executable, "-c", "from ppsm.cli import run; run()"]
DATASET = "gas-demand/2026-01-15"
POLICY = """\
format = "ppsm-policy/1"
dataset = "{dataset}"
day = "2026-01-15"
alpha = {alpha!r}
epsilon = 1.0
outcome = "released"

[parties.power]
rounds = 3
epsilon = 3.0
window_days = 30.0
"""


def ppsm(*arguments: str | Path) -> str:
    """Run a command to its end; what it prints."""
    done = subprocess.run([*PPSM, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return done.stdout


def prepare(root: Path, case: str, alpha: float) -> None:
    """What both sides have before they meet: keys, cases, and at the follower a budget and a policy."""
    root.mkdir(parents=True)
    ppsm("identities", root / "identities", "gas", "power")
    ppsm("case", "split", case, "--leader", root / "power-case", "--follower", root / "gas-case")
    ledger = root / "ledger.db"
    ppsm("ledger", "init", "--ledger", ledger)
    ppsm(
        *("ledger", "grant", DATASET, "--epsilon", "3", "--alpha", str(alpha), "--unit", "MWh"),
        *("--ledger", ledger),
    )
    (root / "policy.toml").write_text(POLICY.format(dataset=DATASET, alpha=alpha))


def start_follower(root: Path, port: int, gas_stress: float) -> "subprocess.Popen[bytes]":
    """The follower's service, as a process of its own; it is there when its port is."""
    arguments = [
        *("follower", "serve", "--case", root / "gas-case", "--gas-stress", gas_stress),
        *("--ledger", root / "ledger.db", "--policy", root / "policy.toml"),
        *("--identity", root / "identities" / "gas", "--rounds", root / "gas", "--port", port),
    ]
    log = (root / "follower.log").open("wb")
    process = subprocess.Popen([*PPSM, *map(str, arguments)], stdout=log, stderr=log)  # noqa: S603
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            time.sleep(0.1)
        else:
            return process
    raise SystemExit((root / "follower.log").read_text())


def show(title: str, directory: Path) -> None:
    """A few lines of a dossier."""
    dossier = json.loads((directory / "dossier.json").read_text())
    proof = next(step["output"] for step in dossier["steps"] if step["step"] == "3b")
    print(f"\n{title}: {directory / 'dossier.json'}")
    print(f"  steps {[step['step'] for step in dossier['steps']]}, private {dossier['private']}")
    print(f"  faithful {proof['faithful']}, bands widened by {proof['widening']:.4g}, {proof['status']}")
    values = dossier["released"]["values"]
    print(f"  released {len(values)} entries, {sum(values):,.0f} MWh in all")


def main() -> None:
    """Play both parties."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--case", default="northeast")
    parser.add_argument("--power-stress", type=float, default=0.48)
    parser.add_argument("--gas-stress", type=float, default=0.7)
    parser.add_argument("--alpha", type=float, default=100.0)
    options = parser.parse_args()
    root = options.root
    prepare(root, options.case, options.alpha)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    follower = start_follower(root, port, options.gas_stress)
    try:
        print(
            ppsm(
                *("leader", "run", "--follower", f"https://127.0.0.1:{port}", "--case", root / "power-case"),
                *("--identity", root / "identities" / "power", "--power-stress", str(options.power_stress)),
                *("--out", root / "power"),
            )
        )
    finally:
        follower.terminate()
        follower.wait()
    kept = next(path for path in (root / "gas").iterdir() if path.is_dir())
    show("the leader's dossier", root / "power")
    show("the follower's dossier", kept)
    print(
        f"\n{ppsm('transcript', 'verify', root / 'power', kept, '--identity', root / 'identities' / 'power')}"
    )
    print(f"the leader's page is {root / 'power' / 'round.html'}")


if __name__ == "__main__":
    main()
