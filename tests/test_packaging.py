"""What is shipped: one version everywhere, the marker for type checkers, the licence."""

import importlib
import inspect
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

from benchmarks.__main__ import modules

import ppsm

ROOT = Path(__file__).parents[1]


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert project["version"] == ppsm.__version__ == citation.group(1) == version("ppsm")
    assert f"## [{ppsm.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_dependencies_are_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [need for needs in project["optional-dependencies"].values() for need in needs]
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    for need in (*project["dependencies"], *extras):
        name = re.split(r"[<>=!~\[ ]", need)[0].lower()
        assert name in pinned, name


def test_wheel_holds_the_package_its_type_marker_and_its_licence(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
            *("--disable-pip-version-check", "--wheel-dir", str(tmp_path), str(ROOT)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("ppsm-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "ppsm/py.typed" in names
    assert "ppsm/bilevel/solve.py" in names
    assert "ppsm/experiments/templates/shareable.html" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_every_benchmark_of_make_bench_can_be_called() -> None:
    found = [importlib.import_module(f"benchmarks.{name}") for name in modules()]
    measures = [module.measure for module in found if hasattr(module, "measure")]
    assert len(measures) >= 4
    for measure in measures:
        inspect.signature(measure).bind()  # raises where it wants arguments
