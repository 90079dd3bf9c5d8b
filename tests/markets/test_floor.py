"""Price floors are proofs: nothing that they exclude exists, whatever the solver has seen before."""

import math

import numpy as np
import pytest
from tests.markets.small_games import small_game

from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.markets.gauc.floors import PriceFloors
from ppsm.markets.gauc.region import BurnRegion
from ppsm.markets.gauc.solver import GasAwareCommitment, Search
from ppsm.markets.model.followers import GameAnswer
from ppsm.program import LinearProgram
from ppsm.solvers.highs import LpSolution
from ppsm.solvers.mip import SolveLimits


def optimum(solver: GasAwareCommitment, demand: np.ndarray[tuple[int], np.dtype[np.float64]]) -> GameAnswer:
    """The best answer of a small game, proven by trying everything."""
    search = Search(solver, 0.0, demand, 1e-7, 60.0, None)
    search.run(proof=True)
    assert search.best is not None
    return search.best


def unlimited() -> float:
    return math.inf


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_no_answer_lies_below_what_floors_exclude(seed: int) -> None:
    """One object over several demands and targets, so that what it remembers is used."""
    case, demand = small_game(seed)
    solver = GasAwareCommitment(case)
    floors = PriceFloors(solver.followers)
    commitment, levels = solver.followers.commitment, solver.followers.levels
    raised = 0
    for factor in (0.9, 1.0, 1.1):
        best = optimum(solver, factor * demand)
        cost = best.power.cost_usd
        for share in (0.99, 1.005, 1.02):
            proof = floors.levels(0.0, factor * demand, share * cost, best, unlimited)
            raised += proof.nothing or bool(proof.levels.any())
            if share < 1.0:
                continue  # nothing is there to be excluded
            assert not proof.nothing
            program = commitment.at(0.0, levels.least_at(proof.levels))
            outcome = commitment.solve(program, SolveLimits(gap=1e-9))
            assert outcome.objective_usd is not None
            assert outcome.objective_usd <= cost * (1 + 1e-7)
    assert raised > 0


def test_what_holds_at_lower_levels_holds_at_higher_ones() -> None:
    floors = PriceFloors(GasAwareCommitment(small_game(2)[0]).followers)
    one, two = np.array([1, 0]), np.array([1, 2])
    floors._note_empty(0.3, 100.0, two)
    assert floors._is_known_empty(0.3, 100.0, two)
    assert floors._is_known_empty(0.3, 90.0, np.array([0, 2]), np.array([1, 0]))
    assert not floors._is_known_empty(0.3, 100.0, one)
    assert not floors._is_known_empty(0.3, 101.0, two)
    assert not floors._is_known_empty(0.4, 100.0, two)
    floors._note_empty(0.3, 100.0, one)
    assert len(floors._empty) == 1  # the first follows from the second
    assert floors._is_known_empty(0.3, 100.0, one)


@pytest.mark.parametrize("what", ["extent", "guide"])
def test_programs_without_a_verdict_prove_nothing_and_end(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, demand = small_game(5)
    solver = GasAwareCommitment(case)
    best = optimum(solver, demand)
    asked: list[object] = []

    def without_extent(region: BurnRegion, weights: FloatArray) -> float:
        del region
        asked.append(weights)
        return math.inf

    def without_guide(program: LinearProgram) -> LpSolution:
        asked.append(program)
        raise SolverError("no verdict")

    if what == "extent":
        monkeypatch.setattr(BurnRegion, "_ask", without_extent)
    else:
        monkeypatch.setattr("ppsm.markets.gauc.recourse.solve_lp_inside", without_guide)
    proof = PriceFloors(solver.followers).levels(0.0, demand, 0.9999 * best.power.cost_usd, best, unlimited)
    assert not proof.levels.any()
    assert asked
