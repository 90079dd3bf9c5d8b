"""Everything that two parties say and write in a round, searched for what the other must not learn.

``make party-wire`` runs ``ppsm follower serve`` and ``ppsm leader run`` on the Northeast as processes of
their own, without TLS and through a recorder that keeps every byte of both directions. True demands, and all
sizes, costs, bids, loads and heat rates, are moved a little so that nobody has them by accident. The last
line is the verdict; ``--case medium --alpha 20 --power-stress 0.2 --gas-stress 0.5`` takes seconds.
"""

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from benchmarks.party_proxy import Recorder
from benchmarks.secret_forms import found, jittered, unit_data, unlinked_fleets, with_secret_units
from ppsm import Ledger, load_case
from ppsm.cases.demand import write_demand
from ppsm.cases.schema import Case, save_case
from ppsm.cases.sides import follower_side, leader_side
from ppsm.protocol.identities import make_identities

PPSM = [sys.executable, "-c", "from ppsm.cli import run; run()"]
DATASET = "gas-demand/2026-01-15"
POLICY = """\
format = "ppsm-policy/1"
dataset = "{dataset}"
day = "2026-01-15"
alpha = {alpha!r}

[parties.power]
rounds = 1
epsilon = 1.0
"""


def prepare(root: Path, whole: Case, truth: np.ndarray, alpha: float) -> Case:
    """Both sides' directories; the leader's case."""
    make_identities(root / "identities", ["gas", "power"])
    leader = with_secret_units(leader_side(whole))
    save_case(leader, root / "power-case")
    save_case(follower_side(whole), root / "gas-case")
    write_demand(root / "demand.csv", whole, truth)
    Ledger.create(root / "ledger.db").grant(DATASET, epsilon=1.0, alpha=alpha, unit="MWh")
    (root / "policy.toml").write_text(POLICY.format(dataset=DATASET, alpha=alpha))
    return leader


def play(root: Path, power_stress: float) -> Recorder:
    """A round between two processes, and the follower's page; all bytes between them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    serve = [
        *("follower", "serve", "--case", root / "gas-case", "--demand", root / "demand.csv"),
        *("--ledger", root / "ledger.db", "--policy", root / "policy.toml", "--no-tls"),
        *("--identity", root / "identities" / "gas", "--rounds", root / "gas", "--port", port),
    ]
    lead = [
        *("leader", "run", "--case", root / "power-case", "--identity", root / "identities" / "power"),
        *("--power-stress", power_stress, "--out", root / "power"),
    ]
    with (root / "gas.log").open("wb") as log:
        follower = subprocess.Popen([*PPSM, *map(str, serve)], stdout=log, stderr=log)  # noqa: S603
    try:
        _wait_for(port, follower)
        recorder = Recorder(port)
        with (root / "power.log").open("wb") as log:
            command = [*PPSM, *map(str, lead), "--follower", recorder.address]
            done = subprocess.run(command, check=False, stdout=log, stderr=log)  # noqa: S603
        if done.returncode:
            raise SystemExit((root / "power.log").read_text())
        recorder.close()
        word = (root / "identities" / "gas" / "page-token").read_text()
        page = httpx.get(f"http://127.0.0.1:{port}/", auth=("me", word), trust_env=False)
        (root / "page.html").write_bytes(page.raise_for_status().content)
    finally:
        follower.terminate()
        follower.wait()
    return recorder


def _wait_for(port: int, follower: "subprocess.Popen[bytes]") -> None:
    while follower.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the follower did not start")


def search(root: Path, recorder: Recorder, truth: np.ndarray, leader: Case) -> list[str]:
    """What is where it must not be."""
    demands, units = [*truth, truth.sum(), truth.mean()], list(np.ravel(unit_data(leader)))
    evaluation = json.loads((root / "power" / "evaluation.json").read_text())
    units += [evaluation["leader_cost"]] if evaluation.get("leader_cost") else []
    sent, received = recorder.sent, recorder.received
    said = json.loads((root / "power" / "transcript.json").read_text())["messages"]
    noisy = next(each["body"]["released"]["values"] for each in said if each["kind"] == "noisy")
    seen = found(received, noisy)
    findings = [] if len(seen) == len(noisy) else ["the search does not find what is there"]
    print(f"the search finds {len(seen)} of {len(noisy)} noisy demands, which are on the wire")
    if b"content-encoding" in (sent + received).lower():
        findings.append("something on the wire is compressed, and was not searched")
    findings += [f"demand {each!r} is on the wire" for each in found(sent + received, demands)]
    findings += [f"unit data {each!r} are on the wire" for each in found(sent + received, units)]
    strangers = [name for name in unlinked_fleets(leader) if f'"{name}"'.encode() in sent]
    findings += [f"the fleet '{name}' is on the wire" for name in strangers]
    print(f"wire: {len(sent):,} bytes to the follower, {len(received):,} to the leader")
    theirs = [root / "page.html", root / "gas.log", *_files(root / "gas")]
    ours = [root / "power.log", *_files(root / "power")]
    for file in (*ours, *theirs):
        findings += [f"demand {each!r} is in {file.name}" for each in found(file.read_bytes(), demands)]
    for file in theirs:
        findings += [f"unit data {each!r} are in {file.name}" for each in found(file.read_bytes(), units)]
    sizes = sum(file.stat().st_size for file in (*ours, *theirs))
    print(f"files, logs and pages of both sides: {len(ours) + len(theirs)} with {sizes:,} bytes")
    print(f"searched for {len(demands)} true demands and {len(units)} numbers of units, bids and loads")
    return findings


def _files(directory: Path) -> list[Path]:
    return [file for file in sorted(directory.rglob("*")) if file.is_file()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.party_wire", description=__doc__)
    parser.add_argument("--case", default="northeast")
    parser.add_argument("--power-stress", type=float, default=0.48)
    parser.add_argument("--gas-stress", type=float, default=0.7)
    parser.add_argument("--alpha", type=float, default=100.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root, whole = Path(directory), load_case(options.case)
        truth = jittered(whole.demand_mwh(options.gas_stress), 1)
        leader = prepare(root, whole, truth, options.alpha)
        findings = search(root, play(root, options.power_stress), truth, leader)
    for finding in findings[:20]:
        print(finding)
    print("WRONG: see above" if findings else "nothing of it was found")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
