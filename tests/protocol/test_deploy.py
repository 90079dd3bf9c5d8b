"""What ``deploy/`` tells other programs to run, run by hand in directories as its README makes them."""

import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from ppsm import Ledger, load_case
from ppsm.cases.demand import write_demand
from ppsm.errors import FileFormatError
from ppsm.protocol.policy import Policy

DEPLOY = Path(__file__).parents[2] / "deploy"
PPSM = [sys.executable, "-c", "from ppsm.cli import run; run()"]
# What the README prepares for a name in a network of containers, prepared for a small case on this computer.
HERE = {"northeast": "medium", "100": "20", "follower": "127.0.0.1"}


def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


def unit_command() -> list[str]:
    text = (DEPLOY / "ppsm-follower.service").read_text().replace("\\\n", " ")
    line = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    program, *arguments = shlex.split(line.removeprefix("ExecStart="))
    assert program == "/opt/ppsm/bin/ppsm"
    return arguments


def prepare(root: Path) -> None:
    """The commands of the README, on a small case."""
    text = (DEPLOY / "README.md").read_text()
    block = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[0]
    shutil.copy(DEPLOY / "policy.toml", root)
    for line in (part.strip() for each in block.splitlines() for part in each.split("&&")):
        program, *arguments = [HERE.get(word, word) for word in shlex.split(line)]
        command = [*PPSM, *arguments] if program == "ppsm" else [program, *arguments]
        subprocess.run(command, check=True, cwd=root, stdout=subprocess.DEVNULL)  # noqa: S603
    policy = root / "gas" / "policy.toml"
    policy.write_text(re.sub(r"(?m)^alpha = \S+", "alpha = 20.0", policy.read_text()))
    case = load_case("medium")
    write_demand(root / "gas" / "demand.csv", case, case.demand_mwh(0.5))


@contextmanager
def served(command: list[str], directory: Path, port: int) -> Iterator[None]:
    """A follower's command, on a port of this computer alone."""
    changed = {"0.0.0.0": "127.0.0.1", "8443": str(port)}  # noqa: S104
    arguments = [changed.get(word, word) for word in command]
    process = subprocess.Popen([*PPSM, *arguments], cwd=directory, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        while True:
            assert process.poll() is None
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            except OSError:
                time.sleep(0.1)
            else:
                break
        yield
    finally:
        process.terminate()
        process.wait()


def test_the_commands_of_unit_and_compose_file_run_a_round(tmp_path: Path) -> None:
    prepare(tmp_path)
    services = compose()["services"]
    follower, leader = (shlex.split(services[name]["command"]) for name in ("follower", "leader"))
    assert follower == unit_command()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    changed = {"https://follower:8443": f"https://127.0.0.1:{port}", "0.48": "0.2"}
    with served(follower, tmp_path / "gas", port):
        arguments = [changed.get(word, word) for word in leader]
        done = subprocess.run(  # noqa: S603
            [*PPSM, *arguments], cwd=tmp_path / "power", check=True, capture_output=True, text=True
        )
    assert "3 of 5  clearing the markets with D^" in done.stderr  # whoever waits sees a clock and the parts
    assert (tmp_path / "power" / "round" / "dossier.json").exists()
    assert Ledger(tmp_path / "gas" / "ledger.db").balance("gas-demand/2026-01-15").spent == 1


def test_the_policies_can_be_read(tmp_path: Path) -> None:
    assert Policy.read(DEPLOY / "policy.toml").certificate_required
    page = (DEPLOY.parent / "docs" / "two-parties.md").read_text()
    (tmp_path / "policy.toml").write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0])
    assert list(Policy.read(tmp_path / "policy.toml").parties) == ["power"]


def test_a_policy_has_widths_as_fractions(tmp_path: Path) -> None:
    wide = (DEPLOY / "policy.toml").read_text().replace("eta_p = 0.001", "eta_p = 10")
    (tmp_path / "policy.toml").write_text(wide)
    with pytest.raises(FileFormatError, match="eta_p: Input should be less than or equal to 1"):
        Policy.read(tmp_path / "policy.toml")


def test_containers_see_their_own_files_alone_and_run_as_their_owner() -> None:
    services = compose()["services"]
    assert [each["volumes"] for each in services.values()] == [["./gas:/data"], ["./power:/data"]]
    for each in services.values():
        assert each["read_only"] is True
        assert each["cap_drop"] == ["ALL"]
        assert each["user"] == "${PPSM_UID:-1000}:${PPSM_GID:-1000}"
    assert '"/src[protocol]"' in (DEPLOY / "Dockerfile").read_text()


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd is installed: apt-get install systemd")
    unit = tmp_path / "ppsm-follower.service"
    text = (DEPLOY / "ppsm-follower.service").read_text()
    unit.write_text(text.replace("/opt/ppsm/bin/ppsm", sys.executable))
    done = subprocess.run([program, "verify", unit], check=False, capture_output=True, text=True)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")
