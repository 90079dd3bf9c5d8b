"""What the type checker must stop before it runs."""

from pathlib import Path

import mypy.api
import pytest

import ppsm
from ppsm.errors import InputError, PrivacyError, SecretExposureError
from ppsm.privacy import LaplaceMechanism, Ledger, Sensitive, require_released

PROGRAM = """
from ppsm.privacy import LaplaceMechanism, Released, Sensitive

def after_the_noise(data: Released) -> float:
    return float(data.values.sum())

secret = Sensitive([1.0], dataset="x", unit="MWh")
released = LaplaceMechanism(alpha=1.0).simulate(secret, seed=1)
after_the_noise(released)
{line}
"""
FORBIDDEN = [
    "after_the_noise(secret)",
    "secret[0]",
    "list(secret)",
    "float(secret)",
    "secret + 1.0",
]


def test_mypy_stops_secrets_where_released_data_belong(tmp_path: Path) -> None:
    config = Path(ppsm.__path__[0]).parents[1] / "pyproject.toml"
    files = []
    for index, line in enumerate(["pass", *FORBIDDEN]):
        file = tmp_path / f"program{index}.py"
        file.write_text(PROGRAM.format(line=line))
        files.append(str(file))
    cache = tmp_path / "cache"
    report, _, _ = mypy.api.run(["--config-file", str(config), "--cache-dir", str(cache), *files])
    stopped = {index for index, file in enumerate(files) if Path(file).name in report}
    assert stopped == set(range(1, len(FORBIDDEN) + 1)), report


def test_the_guard_stops_them_at_run_time(
    secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger
) -> None:
    with pytest.raises(SecretExposureError, match="still secret"):
        require_released(secret, "demand")
    with pytest.raises(InputError, match="list, expected Released"):
        require_released([1.0])
    simulated = mechanism.simulate(secret, seed=1)
    assert require_released(simulated) is simulated
    with pytest.raises(PrivacyError, match="not private"):
        require_released(simulated, private=True)
    released = mechanism.release(secret, ledger=ledger, purpose="test")
    assert require_released(released, private=True) is released
