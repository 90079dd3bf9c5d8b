"""The doctor: sound here, and not where the noise is no noise."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ppsm.cli import app
from ppsm.privacy import noise


def test_a_sound_installation() -> None:
    done = CliRunner().invoke(app, ["doctor", "--json"])
    said = json.loads(done.output)
    assert done.exit_code == 0
    assert said["sound"]
    assert {"a game, solved and verified", "secure noise", "ledger"} <= {
        each["name"] for each in said["checks"]
    }


def test_noise_that_repeats_itself_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise.ExactLaplace, "add_to", lambda self, values: np.ones(len(values)))
    done = CliRunner().invoke(app, ["doctor", "--json"])
    failed = [each for each in json.loads(done.output)["checks"] if each["ok"] is False]
    assert done.exit_code == 1
    assert [each["name"] for each in failed] == ["secure noise"]
    assert "do not release anything" in failed[0]["found"]
