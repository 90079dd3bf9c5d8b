"""Kinds of random small games, each with an enumeration that knows its optimum."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tests.games.random_games import random_game
from tests.literature.bilinear import bilinear_optimum
from tests.literature.brute_force import brute_force

from ppsm.arrays import INFINITY
from ppsm.program import BilevelProgram, LinearProgram, Products


@dataclass(frozen=True)
class Truth:
    """What enumeration says of a game."""

    status: str
    objective: float | None = None


def _boxed(seed: int, prices: bool = True) -> BilevelProgram:
    """A boxed game whose leader gains nothing from the ways out: its enumeration is much shorter."""
    program = random_game(seed, prices=prices)
    rows, columns = program.follower.shape
    gains = program.response_cost.copy()
    gains[columns - 2 * rows :] = np.maximum(gains[columns - 2 * rows :], 0.0)
    return replace(program, response_cost=gains)


def wild_game(seed: int) -> BilevelProgram:
    """Without boxes, with prices in the objective and unbounded leaders: often unbounded."""
    program = random_game(seed, boxed=False)
    rng = np.random.default_rng(seed + 10**6)
    lifted = (rng.random(len(program.variable_names)) < 0.3) & ~program.is_integer
    return replace(
        program,
        price_cost=rng.integers(-1, 2, program.follower.shape[0]).astype(float),
        variable_upper=np.where(lifted, np.inf, program.variable_upper),
    )


def with_rows_of_one_kind(seed: int) -> BilevelProgram:
    """All follower rows are equalities, or all have two sides, or all columns are free."""
    program = _boxed(seed, prices=seed % 2 == 0)
    follower, rng = program.follower, np.random.default_rng(seed + 2 * 10**6)
    level = rng.integers(0, 7, follower.shape[0]).astype(float)
    if seed % 3 == 2:
        lower = np.where(np.isinf(follower.column_upper), follower.column_lower, -INFINITY)
        follower = replace(follower, column_lower=lower, column_upper=np.full(lower.size, INFINITY))
    else:
        follower = replace(follower, row_lower=level, row_upper=level + 2.0 * (seed % 3))
    return replace(program, follower=follower)


def of_one_type(seed: int) -> BilevelProgram:
    """All leader variables are integers, or none is; coupled ones binary where they are."""
    program = _boxed(seed)
    integer = np.full(len(program.variable_names), seed % 2 == 0)
    return replace(program, is_integer=integer, variable_upper=np.where(integer, 1.0, program.variable_upper))


def contradicted(seed: int) -> BilevelProgram:
    """The leader asks for a certain sum of answers, which often nobody can give."""
    program = _boxed(seed, prices=False)
    rng = np.random.default_rng(seed + 3 * 10**6)
    columns, variables = program.follower.shape[1], len(program.variable_names)
    asked = float(rng.integers(3, 12))
    return _with(
        program,
        leader_matrix=np.zeros((2, variables)),
        response_matrix=rng.integers(-1, 2, (2, columns)),
        price_matrix=None,
        leader_lower=[asked, asked],
        leader_upper=[asked, INFINITY],
    )


def tolled(seed: int) -> BilevelProgram:
    """Integer tolls on some of the follower's columns; the leader may earn them."""
    program = _boxed(seed)
    rng = np.random.default_rng(seed + 4 * 10**6)
    (rows, columns), variables = program.follower.shape, len(program.variable_names)
    costs = np.zeros((columns, variables))
    # The last columns are the priced ways out of the rows; they stay as they are, so that prices are bounded.
    tolls = rng.integers(0, columns - 2 * rows, variables)
    costs[tolls, np.arange(variables)] = rng.integers(-2, 4, variables)
    earns = bool(rng.integers(0, 2))
    return _with(
        program,
        cost_coupling=costs,
        coupling=0 * program.coupling if earns else program.coupling,
        products=Products(variable_response=-costs.T) if earns else None,
        is_integer=True if earns else program.is_integer,
    )


def curved(seed: int) -> BilevelProgram:
    """A convex quadratic follower, flat in some directions, with costs that the leader moves or not."""
    program = _boxed(seed)
    rng = np.random.default_rng(seed + 5 * 10**6)
    rows, columns = program.follower.shape
    factor = np.zeros((int(rng.integers(1, 3)), columns))
    factor[:, : columns - 2 * rows] = rng.integers(-1, 3, (factor.shape[0], columns - 2 * rows))
    costs = np.zeros((columns, len(program.variable_names)))
    costs[0] = rng.integers(-1, 2, costs.shape[1])
    return _with(program, curvature=factor.T @ factor, cost_coupling=costs * (seed % 2))


def bid(seed: int) -> BilevelProgram:
    """One market, one plant of the leader's: it bids a price or withholds, and is paid the market's price."""
    rng = np.random.default_rng(seed + 6 * 10**6)
    bids = bool(rng.integers(0, 2))
    capacity = rng.integers(2, 9, 3).astype(float)
    market = LinearProgram.from_arrays(
        cost=[0 if bids else 1, *rng.integers(1, 6, 2), 9],
        matrix=[[1, 1, 1, 1], [1, 0, 0, 0]],
        row_lower=[(demand := float(rng.integers(3, 14))), -INFINITY],
        row_upper=[demand, capacity[0] if bids else 0.0],
        column_upper=[INFINITY, *capacity[1:], INFINITY],
    )
    return BilevelProgram.from_arrays(
        follower=market,
        coupling=[[0], [0 if bids else -1]],
        cost_coupling=[[float(bids)], [0], [0], [0]],
        leader_cost=[0 if bids else float(rng.integers(0, 3))],
        response_cost=[float(rng.integers(0, 3)), 0, 0, 0],
        products=Products(price_response=[[-1, 0, 0, 0], [0, 0, 0, 0]]),
        variable_upper=8 if bids else capacity[0],
        is_integer=bool(rng.integers(0, 2)),
    )


KINDS: dict[str, Callable[[int], BilevelProgram]] = {
    "boxed": random_game,
    "open": lambda seed: random_game(seed, boxed=False),
    "no prices": lambda seed: random_game(seed, prices=False, boxed=False),
    "wild": wild_game,
    "rows of one kind": with_rows_of_one_kind,
    "variables of one type": of_one_type,
    "contradicted": contradicted,
    "tolls": tolled,
    "curved": curved,
    "bid": bid,
}


def truth_about(program: BilevelProgram) -> Truth:
    """Status and optimum by enumeration, that of bilinear programs where prices are multiplied."""
    if program.products.price_response.nnz:
        value = bilinear_optimum(program)
        return Truth("infeasible" if value is None else "optimal", value)
    answer = brute_force(program)
    return Truth(answer.status, answer.objective)


def _with(program: BilevelProgram, **parts: Any) -> BilevelProgram:
    """The program with some of its arrays exchanged, checked again."""
    given: dict[str, Any] = {
        name: getattr(program, name)
        for name in (
            "follower", "leader_cost", "response_cost", "price_cost", "variable_lower", "variable_upper",
            "is_integer", "leader_matrix", "response_matrix", "price_matrix", "leader_lower", "leader_upper",
            "coupling",
        )
    }  # fmt: skip
    return BilevelProgram.from_arrays(**{**given, **parts})
