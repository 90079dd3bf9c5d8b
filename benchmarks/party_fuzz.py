"""Hostile input to the follower's service: nothing crashes it, nothing gets more than it may, nothing leaks.

``python -m benchmarks.party_fuzz``: schemathesis makes requests to every path from the OpenAPI description,
10,000 and more, as a party that is let in; then messages of real rounds are changed, signed again and sent,
which get past the door and the signatures; then whole rounds are led with decisions that are none. Every
reply, and the log, is searched for the demand, keys, tokens and paths. The last line is the verdict.
"""

import argparse
import copy
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from benchmarks.party_processes import GAS, POWER, TRUTH, World, bearer, client, running
from benchmarks.party_proxy import Proxy, Wire
from benchmarks.secret_forms import found
from benchmarks.tiny_market import TinyMarket
from ppsm.protocol.messages import LAST, Felt, Reply, Request, Strict, message_adapter
from ppsm.protocol.round_store import RoundStore
from ppsm.protocol.signatures import canonical, encoded, sign, signed_message

_HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e308, -1e308, 5e-324, 2**63, "", "x" * 5000, "\u0000", "../../etc/passwd"),
    *([], {}, [[]], {"a": 1}, ["a"] * 100, [1e9] * 3, "' OR 1=1 --", "NaN", 1.5, "\ud7ff", "0" * 64),
)


def by_description(world: World, requests: int, seed: int) -> list[str]:
    """Schemathesis through a recording proxy; what is wrong."""
    findings: list[str] = []
    with running(world) as follower:
        wire = Wire(follower.port)
        proxy = Proxy(wire)
        while len(wire.carried) < requests:
            before = len(wire.carried)
            done = _schemathesis(proxy.address, world, seed + before)
            findings += _leaks(world, (each.reply for each in wire.carried[before:]))
            print(f"schemathesis: {len(wire.carried)} requests, {len(findings)} findings", flush=True)
            if done.returncode not in (0, 1) or len(wire.carried) == before:
                findings.append(f"schemathesis did not run: {done.stdout[-500:]}{done.stderr[-500:]}")
                break
        proxy.close()
        alive = follower.process.is_alive()
    statuses = Counter(each.reply.split()[1].decode() for each in wire.carried)
    print(f"{len(wire.carried)} requests, statuses {dict(sorted(statuses.items()))}")
    paths = Counter(each.path.split("?")[0].rsplit("/", 1)[-1][:12] for each in wire.carried)
    print(f"ends of paths: {dict(paths.most_common(8))}")
    findings += [f"{count} replies of status {name}" for name, count in statuses.items() if name >= "500"]
    findings += [] if alive else ["the follower is gone"]
    return findings


def _schemathesis(address: str, world: World, seed: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"),
            *("--header", f"Authorization: {bearer(world)['Authorization']}"),
            *("--checks", "not_a_server_error", "--max-examples", "400", "--seed", str(seed)),
            *("--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--no-color"),
            *("--suppress-health-check", "all"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=world.root,
    )


def signed_again(world: World, messages: int, seed: int) -> list[str]:
    """Changed messages with good signatures; what is wrong."""
    choice, replies, statuses = random.Random(seed), [], Counter[int]()  # noqa: S311
    with running(world) as follower, client(world, follower) as http:
        said = _real_round(world, follower.address)
        for _ in range(messages):
            reply = _send(http, world, _changed(choice, choice.choice(said)), choice)
            statuses[reply.status_code] += 1
            replies.append(reply.content)
        alive = http.get("/v1/terms").status_code == httpx.codes.OK
    print(f"{messages} changed messages signed again, statuses {dict(sorted(statuses.items()))}")
    findings = [f"{count} replies of status {code}" for code, count in statuses.items() if code >= 500]
    return findings + ([] if alive else ["the follower is gone"]) + list(_leaks(world, replies))


def hostile_decisions(world: World, rounds: int, seed: int) -> list[str]:
    """Rounds whose decisions are well formed, in their place, and none of this market; what is wrong."""
    choice, replies, ends = random.Random(seed), [], Counter[str]()  # noqa: S311
    with running(world) as follower, client(world, follower) as http:
        first = message_adapter.validate_python(_real_round(world, follower.address)[0])
        names = list(TinyMarket().felt_names)
        for _ in range(rounds):
            round_id, before = f"{choice.getrandbits(128):032x}", None
            for kind, body in (
                ("ask", first.body),
                ("decision", _hostile_felt(choice, names)),
                ("commitment", _hostile_felt(choice, names)),
            ):
                mine = _chained(world, kind, body, round_id, before)
                told = http.put(
                    f"/v1/rounds/{round_id}/{kind}",
                    content=encoded(mine),
                    headers={"Content-Type": "application/json"},
                )
                replies.append(told.content)
                before = message_adapter.validate_json(told.content) if told.is_success else None
                end = str(told.status_code) if before is None else before.kind
                if before is None or before.kind in LAST:
                    break
            ends[end] += 1
        alive = http.get("/v1/terms").status_code == httpx.codes.OK
    print(f"{rounds} rounds with hostile decisions ended {dict(ends)}")
    findings = [f"{count} rounds ended with {name}" for name, count in ends.items() if name not in LAST]
    return findings + ([] if alive else ["the follower is gone"]) + list(_leaks(world, replies))


def _hostile_felt(choice: random.Random, names: list[str]) -> Felt:
    sizes = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-9, 1e3, 1e8, -1e8, 1e9, 1e10, 1.7e308)
    values = [choice.choice(sizes) * choice.choice((1.0, choice.random())) for _ in names]
    if choice.random() < 0.1:
        values, names = values * 2, names[::-1]
    return Felt(
        names=names, values=values, unit=choice.choice((*[TinyMarket.felt_unit] * 6, "none of yours", "kWh"))
    )


def _chained(
    world: World, kind: str, body: Strict, round_id: str, before: Request | Reply | None
) -> Request | Reply:
    return signed_message(
        world.identities[POWER],
        body,
        kind=kind,
        round_id=round_id,
        recipient=GAS,
        time=datetime.now(UTC),
        before=before,
    )


def _real_round(world: World, address: str) -> list[dict[str, Any]]:
    home = world.leader_home()
    round_id = world.leader(address, home).run().round_id
    messages: list[Request | Reply] = RoundStore(home / "rounds.db").messages(round_id)
    return [each.model_dump(mode="json") for each in messages if each.sender == POWER]


def _changed(choice: random.Random, message: dict[str, Any]) -> dict[str, Any]:
    """A message in which one to three things are otherwise, half of them in a new round."""
    content: dict[str, Any] = json.loads(json.dumps(message))
    if choice.random() < 0.5:
        content["round"] = f"{choice.getrandbits(128):032x}"
    for _ in range(choice.randint(1, 3)):
        place = choice.choice([content, content["body"], content["body"]])
        if not isinstance(place, dict) or not place:
            continue
        name = choice.choice([*place, "extra"])
        inner = place.get(name)
        if isinstance(inner, list) and inner and choice.random() < 0.5:
            inner[choice.randrange(len(inner))] = copy.deepcopy(choice.choice(_HOSTILE))
        elif name not in ("body", "kind") or choice.random() < 0.1:
            place[name] = copy.deepcopy(choice.choice(_HOSTILE))
    return content


def _send(http: httpx.Client, world: World, content: dict[str, Any], choice: random.Random) -> httpx.Response:
    content.pop("signature", None)
    content["signature"] = sign(world.identities[POWER].key, content)
    kind = content.get("kind")
    kinds = ("ask", "decision", "commitment", "abandon")
    path = kind if kind in kinds and choice.random() < 0.95 else choice.choice(kinds)
    place = content.get("round")
    where = place if isinstance(place, str) and place.isalnum() else "0" * 32
    as_json = {"Content-Type": "application/json"}
    return http.put(f"/v1/rounds/{where}/{path}", content=canonical(content), headers=as_json)


def _leaks(world: World, texts: Iterable[bytes], *, own: bool = False) -> Iterator[str]:
    """Demands, keys, tokens, paths and traces of failures in what the service has said.

    ``own`` is for its own log, which others do not read: that may name the ledger's file.
    """
    files = [*world.root.glob("identities/*/*token"), *world.root.glob("identities/*/*key.pem")]
    words = [file.read_bytes().strip() for file in files]
    words += [_ledger_key(world), b"Traceback", *([] if own else [str(world.root).encode()])]
    for number, text in enumerate(texts):
        values, said = found(text, TRUTH), [word[:12] for word in words if word in text]
        if values or said:
            yield f"text {number} tells what it must not: {values} {said}"


def _ledger_key(world: World) -> bytes:
    genesis = world.ledger().entries()[0]
    return str(json.loads(genesis.detail)["key"]).encode()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.party_fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    findings: list[str] = []
    for fuzz, count in (
        (by_description, options.requests),
        (signed_again, options.messages),
        (hostile_decisions, options.rounds),
    ):
        with tempfile.TemporaryDirectory() as directory:
            world = World(Path(directory), budget=1e6)
            findings += fuzz(world, count, options.seed)
            log = (world.root / GAS / "service.log").read_bytes()
            findings += list(_leaks(world, [log], own=True))
            findings += ["the log has a failure"] * (b" failed with " in log)
    for finding in findings[:20]:
        print(finding)
    print("WRONG: see above" if findings else "no crash, no status from 500 on, no leak")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
