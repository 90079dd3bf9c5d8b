"""Random small games: all methods agree with the enumeration, and the verifier can tell true from false."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.games.claims import Claim, claim_of, game, judged, rotating
from tests.games.kinds import KINDS, Truth, truth_about, wild_game
from tests.games.random_games import random_game
from tests.literature.brute_force import brute_force

from ppsm.bilevel.methods.strong_duality import is_applicable
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.bilevel.verify import verify
from ppsm.errors import ModelError, NoValidBoundError
from ppsm.program import BilevelProgram
from ppsm.status import Status

FAMILIES = {name: KINDS[name] for name in ("boxed", "open", "no prices", "wild")}


def solved(program: BilevelProgram, method: Method) -> BilevelSolution | str:
    """The solution, or why the method does not apply."""
    try:
        return solve_bilevel(program, method=method)
    except (ModelError, NoValidBoundError) as error:
        return str(error)


def assert_methods_agree(program: BilevelProgram) -> None:
    truth = brute_force(program)
    names = (*program.follower.row_names, *program.follower.column_names)
    for method in Method:
        found = solved(program, method)
        if isinstance(found, str):
            if method is Method.ENUMERATION:
                assert "that only bounded integers of the leader move" in found
                continue
            assert method in (Method.STRONG_DUALITY, Method.BIG_M, Method.BRANCHING)
            if method is Method.BRANCHING:
                assert "whether it has an integer point" in found
                assert program.is_integer.any()
                continue
            if is_applicable(program) or method is Method.BIG_M:
                assert any(f"'{name}" in found for name in names)
            continue
        if method is Method.ENUMERATION and found.status in (Status.INCUMBENT, Status.NO_INCUMBENT):
            # Asked for by name, it may end without a proof; what it says must still be true.
            assert claim_of(found, Truth(truth.status, truth.objective)) is Claim.UNPROVEN
            continue
        assert found.status.value == truth.status, method
        if truth.status == "optimal":
            assert found.leader_objective == pytest.approx(truth.objective, abs=1e-6, rel=1e-6), method
            assert found.verified
            assert found.gap is not None
            assert found.gap <= 1e-6
        else:
            assert found.leader_objective is None
            assert not found.verified


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(16))
def test_methods_agree_with_enumeration(family: str, seed: int) -> None:
    assert_methods_agree(FAMILIES[family](seed))


# Where answers were wrong once: SCIP called unbounded games optimal (67, 74, 106), and a cutoff turned a
# multiplier's bound into rounding noise that cut off the optimum (130), SCIP's LP solver gave up (5120).
@pytest.mark.parametrize("seed", [67, 74, 106, 130, 5120, 5312])
def test_methods_agree_where_they_once_did_not(seed: int) -> None:
    assert_methods_agree(wild_game(seed))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), family=st.sampled_from(sorted(FAMILIES)))
def test_methods_agree_on_any_game(seed: int, family: str) -> None:
    assert_methods_agree(FAMILIES[family](seed))


@pytest.mark.parametrize("block", range(10))
def test_no_claim_about_any_kind_of_game_is_wrong(block: int) -> None:
    """The first two hundred games of ``make random-games``, which judges five thousand."""
    for number in range(20 * block, 20 * block + 20):
        for one in judged(number, rotating(number)):
            assert one.claim is not Claim.WRONG, one
            assert one.method is not Method.AUTO or one.claim is Claim.RIGHT, one


def test_kinds_take_turns_and_all_statuses_occur() -> None:
    kinds = [game(number)[0] for number in range(2 * len(KINDS))]
    assert kinds == 2 * list(KINDS)
    found = {truth_about(KINDS[kind](seed)).status for kind in ("wild", "contradicted") for seed in range(8)}
    assert found == {"optimal", "infeasible", "unbounded"}


@pytest.mark.parametrize(
    ("found", "claim"),
    [
        ({}, Claim.RIGHT),
        ({"verified": False}, Claim.UNVERIFIED),
        ({"leader_objective": -3.0}, Claim.WRONG),
        ({"leader_objective": -1.0}, Claim.WRONG),
        ({"leader_bound": -1.0}, Claim.WRONG),
        ({"status": Status.INCUMBENT, "leader_objective": -1.0, "leader_bound": -5.0}, Claim.UNPROVEN),
        ({"status": Status.INFEASIBLE}, Claim.WRONG),
        ({"status": Status.NO_INCUMBENT, "leader_objective": None, "leader_bound": None}, Claim.UNPROVEN),
    ],
)
def test_claims_are_told_apart(found: dict[str, object], claim: Claim) -> None:
    answer = {
        "status": Status.PROVEN_OPTIMAL,
        "verified": True,
        "leader_objective": -2.0,
        "leader_bound": -2.0,
    }
    solution = cast("BilevelSolution", SimpleNamespace(**{**answer, **found}))
    assert claim_of(solution, Truth("optimal", -2.0)) is claim


PERTURBED = [random_game(seed) for seed in range(30)]


@pytest.mark.parametrize("seed", range(30))
def test_verifier_accepts_the_answer_and_rejects_perturbed_ones(seed: int) -> None:
    program = PERTURBED[seed]
    found = solve_bilevel(program)
    if not found.status.has_answer:
        assert brute_force(program).status == found.status.value
        return
    x, y, p = found.variables, found.responses, found.prices
    objective = float(found.leader_objective or 0.0)
    assert verify(program, x, y, p, objective).verified

    def names(x: object = x, y: object = y, p: object = p, objective: float = objective) -> set[str]:
        verdict = verify(program, x, y, p, objective)  # type: ignore[arg-type]
        assert not verdict.verified
        return {f"{finding.what} {finding.name}" for finding in verdict.findings}

    beyond = x + np.eye(x.size)[0] * (program.variable_upper[0] - x[0] + 1)
    assert f"leader variable out of bounds {program.variable_names[0]}" in names(x=beyond)
    below = y.copy()
    below[0] = program.follower.column_lower[0] - 1
    assert f"follower variable out of bounds {program.follower.column_names[0]}" in names(y=below)
    # The last columns are the priced ways out, +1 and -1 in their row, at 9 each: using both wastes 18.
    rows, columns = program.follower.shape
    wasteful = y.copy()
    wasteful[[columns - 2 * rows, columns - rows]] += 1
    assert "the follower can do better than its claimed answer at follower cost" in names(y=wasteful)
    # They also keep every price in [-9, 9].
    dear = p.copy()
    dear[0] += 20
    way_out = program.follower.column_names[columns - 2 * rows]
    assert f"reduced cost of the wrong sign at {way_out}" in names(p=dear)
    broken = y.copy()
    up = np.isfinite(program.follower.row_upper[0])
    broken[columns - 2 * rows if up else columns - rows] += 100
    assert f"follower constraint violated {program.follower.row_names[0]}" in names(y=broken)
    assert names(objective=objective + 1) == {"misstated leader objective"}
    for column in np.flatnonzero(program.is_integer):
        half = x.copy()
        half[column] += 0.5
        assert f"leader variable not integer {program.variable_names[column]}" in names(x=half)
