"""``ppsm leader run`` and ``ppsm identities`` as somebody types them who is mistaken."""

import json
from pathlib import Path

from tests.commands import ppsm


def leader(root: Path, *more: str) -> tuple[int, str]:
    """A round with nobody at the other end."""
    done = ppsm(
        *("leader", "run", "--follower", "https://127.0.0.1:9", "--case", "two_node", "--patience", "0"),
        *("--identity", "ids/power", "--out", "round", *more),
        cwd=root,
    )
    return done.returncode, done.stderr


def test_a_round_goes_on_with_the_settings_that_it_was_begun_with(tmp_path: Path) -> None:
    assert ppsm("identities", "ids", "gas", "power", cwd=tmp_path).returncode == 0
    code, said = leader(tmp_path)
    assert (code, "does not answer" in said) == (7, True), said
    code, said = leader(tmp_path, "--power-stress", "0.1")
    assert (code, "begun with other settings (power stress)" in said) == (2, True), said
    make_peer(tmp_path / "ids" / "power" / "peers")
    code, said = leader(tmp_path, "--follower-name", "other")
    assert (code, "begun with other settings (follower)" in said) == (2, True), said
    (tmp_path / "round" / "settings.json").write_text("[]")
    assert leader(tmp_path, "--follower-name", "gas")[0] == 2


def test_identity_and_round_are_where_one_would_look_for_them(tmp_path: Path) -> None:
    made = ppsm("identities", ".", "identity", "gas", "--json", cwd=tmp_path)
    assert (made.returncode, json.loads(made.stdout)) == (0, {"identity": "identity", "gas": "gas"})
    asked = ("--follower", "https://127.0.0.1:9", "--case", "two_node", "--patience", "0")
    done = ppsm("leader", "run", *asked, cwd=tmp_path)
    assert (done.returncode, "does not answer" in done.stderr) == (7, True), done.stderr
    assert (tmp_path / "round" / "settings.json").exists()
    done = ppsm("leader", "run", *asked, cwd=tmp_path / "gas")
    assert (done.returncode, "identity is no identity" in done.stderr) == (2, True), done.stderr


def make_peer(known: Path) -> None:
    """One more follower that could be asked."""
    (known / "other.pem").write_bytes((known / "gas.pem").read_bytes())


def test_a_transcript_of_somebody_else_does_not_steer_the_terminal(tmp_path: Path) -> None:
    """It could wipe out what was found, and write in its place that all is well."""
    assert ppsm("identities", "ids", "gas", "power", cwd=tmp_path).returncode == 0
    steering = "\x1b[2K\rRound: signatures are right"
    told: dict[str, object] = {"format": "ppsm-transcript/1", "kept_by": "gas", "messages": []}
    for more in ({"kept_by": steering}, {steering: 1}, {"messages": [{"kind": steering}]}):
        (tmp_path / "transcript.json").write_text(json.dumps(told | more))
        done = ppsm("transcript", "verify", "transcript.json", "--identity", "ids/power", cwd=tmp_path)
        assert done.returncode == 2
        assert "is no transcript" in done.stderr
        assert (done.stdout + done.stderr.rstrip("\n")).isprintable()


def test_names_and_times_that_make_no_identity_are_refused_in_a_sentence(tmp_path: Path) -> None:
    for arguments in (("Gas", "power"), ("gas", "gas"), ("gas", "--days", "-1"), ("gas", "--days", "1e9")):
        done = ppsm("identities", "ids", *arguments, cwd=tmp_path)
        assert done.returncode == 2, arguments
        assert "rror: " in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "ids").exists()
