"""The core does without the extras: what compares and solves loads none of their libraries."""

import subprocess
import sys

WITHOUT = (
    "import sys\n"
    "for name in ('altair', 'matplotlib', 'vl_convert', 'pyscipopt', 'distributed', 'sklearn', 'pyarrow'):\n"
    "    sys.modules[name] = None\n"
)
USE = "import ppsm.experiments.comparison, ppsm.experiments.pages, ppsm.mechanism.learned\n"


def test_a_comparison_needs_no_extra() -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", WITHOUT + USE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
