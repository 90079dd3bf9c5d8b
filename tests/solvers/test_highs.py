"""LPs that stay alive: verdicts that one method leaves open, rows that come later, bases."""

import math
import time

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.errors import SolverError
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp, solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status


def transport() -> PersistentLp:
    """Two supplies, two demands: the cheapest plan costs 1 * 3 + 2 * 1 + 1 * 4 = 9."""
    return PersistentLp(
        LinearProgram.from_arrays(
            cost=[1.0, 3.0, 2.0, 1.0],
            matrix=[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
            row_lower=[-np.inf, -np.inf, 4.0, 4.0],
            row_upper=[3.0, 6.0, np.inf, np.inf],
        )
    )


def test_another_method_settles_what_the_simplex_leaves_open() -> None:
    lp = transport()
    lp._highs.setOptionValue("simplex_iteration_limit", 0)
    lp._highs.setOptionValue("presolve", "off")
    assert lp.solve().objective == pytest.approx(9.0)


def test_an_lp_that_no_method_settles_is_an_error_and_leaves_the_solver_usable() -> None:
    lp = transport()
    for kind in ("simplex", "ipm"):
        lp._highs.setOptionValue(f"{kind}_iteration_limit", 0)
    lp._highs.setOptionValue("presolve", "off")
    with pytest.raises(SolverError, match="ended an LP"):
        lp.solve()
    for kind in ("simplex", "ipm"):
        lp._highs.setOptionValue(f"{kind}_iteration_limit", 1000)
    assert lp.solve().objective == pytest.approx(9.0)


def test_a_row_that_is_added_holds_from_then_on() -> None:
    lp = transport()
    lp.solve()
    lp.add_row(np.array([1.0, 0.0, 0.0, 0.0]), -np.inf, 1.0)  # then it is 1 + 3 * 2 + 3 * 1 + 3
    assert lp.solve().objective == pytest.approx(13.0)


def test_a_basis_serves_a_program_with_more_rows() -> None:
    small, large = transport(), transport()
    small.solve()
    large.add_row(np.ones(4), -np.inf, 100.0)
    large.start_from(small.basis())
    assert large.solve().objective == pytest.approx(9.0)
    assert large._highs.getInfo().simplex_iteration_count == 0


def test_bounds_that_are_set_again_stay_and_those_that_go_back_do() -> None:
    lp, demands = transport(), np.array([2, 3])
    unlimited = np.full(2, np.inf)
    lp.set_row_bounds(demands, np.array([4.0, 2.0]), unlimited)
    assert lp.solve().objective == pytest.approx(7.0)
    lp.set_row_bounds(demands, np.array([4.0, 2.0]), unlimited)
    assert lp.solve().objective == pytest.approx(7.0)
    lp.set_row_bounds(demands[::-1], np.array([4.0, 4.0]), unlimited)
    assert lp.solve().objective == pytest.approx(9.0)


def test_bounds_of_a_row_that_came_later_and_of_an_old_one_are_set_together() -> None:
    lp = transport()
    lp.add_row(np.array([1.0, 0.0, 0.0, 0.0]), -np.inf, np.inf)
    rows = np.array([2, 4])
    lp.set_row_bounds(rows, np.array([4.0, -np.inf]), np.array([np.inf, 1.0]))
    assert lp.solve().objective == pytest.approx(13.0)
    lp.set_row_bounds(rows, np.array([4.0, -np.inf]), np.array([np.inf, 3.0]))
    assert lp.solve().objective == pytest.approx(9.0)


def test_bounds_that_solvers_were_not_told_are_told_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lp, demands = transport(), np.array([2, 3])
    told = lp._row_bounds._tell

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lp._row_bounds, "_tell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lp.set_row_bounds(demands, np.array([4.0, 2.0]), np.full(2, np.inf))
    monkeypatch.setattr(lp._row_bounds, "_tell", told)
    lp.set_row_bounds(demands, np.array([4.0, 2.0]), np.full(2, np.inf))
    assert lp.solve().objective == pytest.approx(7.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_lean_search_ends_at_the_same_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(1.0, 9.0, (4, 18))
    program = LinearProgram.of(
        -rng.uniform(1.0, 9.0, 18),
        sp.csr_array(weights),
        row_upper=weights.sum(axis=1) / 3.0,
        column_lower=np.zeros(18),
        column_upper=np.ones(18),
    )
    packed = MixedIntegerProgram(program, np.ones(18, dtype=bool))
    usual, lean = (solve_mip_with_highs(packed, SolveLimits(lean=lean)) for lean in (False, True))
    assert lean.status is usual.status is Status.PROVEN_OPTIMAL
    assert lean.objective == pytest.approx(usual.objective)


def test_a_solve_is_given_up_after_so_many_iterations_each_time_and_goes_on() -> None:
    lp = transport()
    lp.skip_presolve()
    lp.stop_after(1)
    assert lp.solve().status is Status.NO_INCUMBENT
    lp.stop_after(1000)
    assert lp.solve().objective == pytest.approx(9.0)


def test_a_deadline_is_over_when_there_is_no_more() -> None:
    lp = transport()
    lp.stop_at(time.perf_counter() + 60.0)
    assert lp._highs.getOptionValue("time_limit")[1] <= 60.0 + lp._highs.getRunTime()
    lp.stop_at(math.inf)
    assert lp._highs.getOptionValue("time_limit")[1] == math.inf
    assert lp.solve().objective == pytest.approx(9.0)


def test_a_search_ends_after_seconds_of_the_processor_with_what_it_has() -> None:
    found = solve_mip_with_highs(market_split(), SolveLimits(seconds=600.0, processor_seconds=0.5))
    assert found.status is Status.INCUMBENT
    assert not found.interrupted
    assert found.bound is not None
    assert found.objective is not None
    assert found.bound < found.objective


def test_no_time_left_is_no_time_and_not_all_of_it() -> None:
    # HiGHS refuses limits below zero, and the watchdog would come seconds later
    found = solve_mip_with_highs(market_split(), SolveLimits(seconds=-1.0, processor_seconds=0.5))
    assert found.objective is None


def market_split() -> MixedIntegerProgram:
    """A program which would take hours: every row is to be met exactly, or missed at a cost."""
    rng = np.random.default_rng(1)
    rows, columns = 6, 50
    weights = rng.integers(0, 100, (rows, columns)).astype(float)
    misses = sp.csr_array(np.hstack([weights, np.eye(rows), -np.eye(rows)]))
    half = np.floor(weights.sum(axis=1) / 2.0)
    program = LinearProgram.of(
        np.concatenate([np.zeros(columns), np.ones(2 * rows)]),
        misses,
        row_lower=half,
        row_upper=half,
        column_lower=np.zeros(columns + 2 * rows),
        column_upper=np.concatenate([np.ones(columns), np.full(2 * rows, np.inf)]),
    )
    return MixedIntegerProgram(program, np.arange(columns + 2 * rows) < columns)


def test_a_solve_is_given_up_once_nothing_costs_less_and_goes_on_later() -> None:
    # HiGHS looks at the bound now and then, so that a small LP would be over before
    rng = np.random.default_rng(0)
    each = 20
    matrix = np.vstack([np.kron(np.eye(each), np.ones(each)), np.kron(np.ones(each), np.eye(each))])
    needed = rng.uniform(1.0, 2.0, each)
    lp = PersistentLp(
        LinearProgram.from_arrays(
            cost=rng.uniform(1.0, 2.0, each**2),
            matrix=matrix,
            row_lower=np.append(np.full(each, -np.inf), needed),
            row_upper=np.append(np.full(each, 1.6), np.full(each, np.inf)),
        )
    )
    lp.skip_presolve()
    last = np.array([2 * each - 1])
    optimum = lp.solve().objective
    for more in (3.0, 100.0):  # dearer, and not to be had at all
        lp.stop_above(0.9 * optimum)
        lp.forget()
        lp.set_row_bounds(last, np.array([more]), np.array([np.inf]))
        stopped = lp.solve()
        assert (stopped.status, stopped.columns.size) == (Status.NO_INCUMBENT, 0)
        assert stopped.objective == 0.9 * optimum
    lp.stop_above(math.inf)
    assert lp.solve().status is Status.INFEASIBLE
    lp.set_row_bounds(last, needed[-1:], np.array([np.inf]))
    assert lp.solve().objective == pytest.approx(optimum)
