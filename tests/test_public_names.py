"""The public interface: a change here is a change for users and belongs in the CHANGELOG."""

import inspect
import subprocess
import sys

import pytest

import ppsm

EXPECTED = {
    # games
    "Follower",
    "FollowerOutcome",
    "StackelbergGame",
    "GameSolution",
    # arrays
    "LinearProgram",
    "BilevelProgram",
    # solving
    "solve_bilevel",
    "BilevelSolution",
    "Method",
    "Status",
    "Conflict",
    # checking
    "verify",
    "Verification",
    "Finding",
    # files
    "read_bilevel",
    # privacy
    "Sensitive",
    "Released",
    "ReleaseRecord",
    "LaplaceMechanism",
    "require_released",
    "Ledger",
    "Balance",
    "Receipt",
    "audit_mechanism",
    "audit_laplace",
    "AuditReport",
    # theory
    "DistanceBound",
    "CostOfPrivacy",
    "cost_of_privacy",
    # cases
    "Case",
    "load_case",
    # errors
    "PpsmError",
    "InputError",
    "ModelError",
    "FileFormatError",
    "NoValidBoundError",
    "SolverError",
    "PrivacyError",
    "SecretExposureError",
    "BudgetExceededError",
    "LedgerError",
    "AuditFailedError",
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
        "import sys, ppsm, ppsm.cli\n"
        "assert 'linopy' not in sys.modules\n"
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
        ppsm.PpsmError: 1,
        ppsm.InputError: 2,
        ppsm.ModelError: 2,
        ppsm.FileFormatError: 2,
        ppsm.NoValidBoundError: 2,
        ppsm.SolverError: 3,
        ppsm.PrivacyError: 4,
        ppsm.SecretExposureError: 4,
        ppsm.BudgetExceededError: 4,
        ppsm.LedgerError: 4,
        ppsm.AuditFailedError: 5,
    }
    for error, code in codes.items():
        assert issubclass(error, ppsm.PpsmError)
        assert error.exit_code == code
