"""What is loaded at the start: libraries that take long are loaded where they are used, not before."""

import subprocess
import sys

import pytest

HEAVY = (
    *("opendp", "sklearn", "scipy.stats", "scipy.optimize", "polars", "matplotlib", "linopy", "dask"),
    *("highspy", "piqp", "clarabel", "pyscipopt"),
)
COMMAND = (
    "import sys\n"
    "sys.argv = ['ppsm', '--help']\n"
    "from ppsm.cli import main\n"
    "try:\n"
    "    main()\n"
    "except SystemExit as end:\n"
    "    assert not end.code\n"
)


@pytest.mark.parametrize("start", ["import sys, ppsm\n", COMMAND], ids=["import ppsm", "ppsm --help"])
def test_heavy_libraries_wait_until_they_are_used(start: str) -> None:
    listing = f"sys.stderr.write(','.join(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", start + listing], check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
