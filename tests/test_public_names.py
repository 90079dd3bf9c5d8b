"""The public interface: a change here is a change for users and belongs in the CHANGELOG."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ppsm
from ppsm import errors

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
TOPICS = (
    "ppsm.bilevel",
    "ppsm.cases",
    "ppsm.coordinations",
    "ppsm.examples",
    "ppsm.experiments",
    "ppsm.fidelity",
    "ppsm.figures",
    "ppsm.markets",
    "ppsm.games",
    "ppsm.mechanism",
    "ppsm.privacy",
    "ppsm.program",
)

EXPECTED = {
    # games
    "Follower",
    "StackelbergGame",
    "LinearProgram",
    "BilevelProgram",
    "solve_bilevel",
    "read_bilevel",
    "verify",
    "Status",
    # privacy
    "Sensitive",
    "LaplaceMechanism",
    "Released",
    "Ledger",
    "audit_mechanism",
    # mechanism
    "PPSM",
    "PPSM_p",
    "Laplace",
    "GameCoordination",
    "GaucCoordination",
    "ModelBased",
    "Learned",
    "PublicOutcome",
    "restore",
    # cases and errors
    "load_case",
    "PpsmError",
    "__version__",
}


def test_public_names_are_exactly_these() -> None:
    assert set(ppsm.__all__) == EXPECTED
    assert len(ppsm.__all__) == len(EXPECTED)


def test_every_public_name_exists_and_says_what_it_is() -> None:
    for name in ppsm.__all__:
        thing = getattr(ppsm, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name


def test_files_and_arrays_do_not_wait_for_linopy() -> None:
    code = (
        "import sys, ppsm, ppsm.cli, ppsm.figures, ppsm.markets\n"
        "assert 'linopy' not in sys.modules\n"
        "assert 'matplotlib' not in sys.modules\n"
        "ppsm.Follower\n"
        "assert 'linopy' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Folower'"):
        ppsm.Folower  # noqa: B018
    assert set(ppsm.__all__) <= set(dir(ppsm))


def test_errors_form_one_tree_with_the_documented_exit_codes() -> None:
    codes = {
        errors.PpsmError: 1,
        errors.InputError: 2,
        errors.ModelError: 2,
        errors.FileFormatError: 2,
        errors.NoValidBoundError: 2,
        errors.SolverError: 3,
        errors.PrivacyError: 4,
        errors.SecretExposureError: 4,
        errors.BudgetExceededError: 4,
        errors.LedgerError: 4,
        errors.AuditFailedError: 5,
        errors.ProtocolError: 7,
    }
    for error, code in codes.items():
        assert issubclass(error, errors.PpsmError)
        assert error.exit_code == code


def listed(package: str) -> list[str]:
    """The names in the first column of a package's table on the page of the Python interface."""
    section = PAGE.split(f"\n## `{package}`\n")[1].split("\n## ")[0]
    firsts = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name for first in firsts for name in re.findall(r"`([\w.]+)`", first)]


@pytest.mark.parametrize("package", TOPICS)
def test_the_page_lists_each_public_name_of_a_package_once(package: str) -> None:
    assert sorted(listed(package)) == sorted(import_module(package).__all__)


def test_the_page_lists_each_name_of_the_top_package_once() -> None:
    assert sorted(listed("ppsm")) == sorted(ppsm.__all__)


def test_the_page_draws_the_whole_tree_of_errors() -> None:
    drawn = re.findall(r"\w+Error\b", PAGE.split("## Errors")[1].split("```")[1])
    assert sorted(drawn) == sorted(name for name in vars(errors) if name.endswith("Error"))


def test_names_of_the_markets_are_those_of_their_rooms() -> None:
    markets = import_module("ppsm.markets")
    for name in listed("ppsm.markets"):
        home = getattr(markets, name).__module__
        assert home.startswith(("ppsm.markets.model.", "ppsm.markets.gauc.", "ppsm.markets.check."))
        assert getattr(import_module(home), name) is getattr(markets, name)
    with pytest.raises(AttributeError, match="no attribute 'Certifiate'"):
        markets.Certifiate  # noqa: B018
    assert set(markets.__all__) <= set(dir(markets))


def test_all_packages_with_public_names_are_on_the_page() -> None:
    found = {
        path.parent.name
        for path in Path(ppsm.__file__).parent.glob("*/__init__.py")
        if "__all__" in path.read_text()
    }
    # The command line is used by its commands.
    assert {f"ppsm.{name}" for name in found - {"cli"}} == set(TOPICS)
