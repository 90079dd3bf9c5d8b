"""The leader's repair in step 3c, for a game: the nearest vector at which leader and follower have an answer.

Step 3b keeps the market near an outcome; the leader may have no decision at what comes out of it. Whether it
has one at a vector is a question of the game's own optimum, so the vector is found by one more game, in which
the leader also chooses it. With c what step 3b has released, and the metric of what was measured
(:class:`~ppsm.fidelity.problem.Nearness`) in its l1 form, it is

    min   sum sqrt(weight) |d - c| + ratio x sum |members (d - c)|
    s.t.  the leader's rows and bounds, the follower optimal at (x, d),   public bounds on d

Its optimum lies where prices jump: a digit less, and the leader has no answer again. So the game is played at
two vectors, a small step to either side of d in a direction that no row of a market is likely to have, with
the same prices and the same whole numbers of the leader at both: then there is room around d. Where no vector
has room, it is played at d alone. With prices and whole numbers fixed, the vectors at which these prices are
optimal and the leader's rows hold are a polytope; what is released is its vector that is nearest in the
squared distance, a margin away from all sides that can be kept away from.

All of it is on released and public data.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.bilevel.solve import solve_bilevel
from ppsm.coordinations.fixed_prices import tight_sides
from ppsm.coordinations.tuning import TUNING
from ppsm.fidelity.problem import Nearness, PublicBounds
from ppsm.interrupts import watched
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.solvers.qp import solve_convex

# Multiples of it, without their whole parts, are spread evenly and never the same.
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


@dataclass(frozen=True)
class Deadline:
    """When all of a repair must be through, by ``time.perf_counter()``."""

    at: float

    @classmethod
    def within(cls, seconds: float) -> "Deadline":
        """So many seconds from now."""
        return cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """Seconds that a solver may take, which must be some."""
        return max(0.01, self.at - time.perf_counter())


@dataclass(frozen=True, eq=False)
class _Answer:
    """The game's answer at a vector."""

    variables: FloatArray
    prices: FloatArray
    vector: FloatArray


@dataclass(frozen=True, eq=False)
class NearestAnswer:
    """The search in one game, whose rows hold the vector 0.

    Attributes
    ----------
    program
        The game.
    parameter_map
        How the vector enters the rows of all followers.
    near, bounds
        What to be near to, and what everybody knows of the vector.
    deadline
        Of everything.
    """

    program: BilevelProgram
    parameter_map: SparseMatrix
    near: Nearness
    bounds: PublicBounds
    deadline: Deadline

    def candidates(self) -> Iterator[FloatArray]:
        """Vectors at which the game should have an answer: with room around them first, then the nearest."""
        spread = np.modf(_GOLDEN * np.arange(1, self.near.center.size + 1))[0]
        step = 0.5 * self._margin * (1.0 + spread)
        # A search for room that has no end leaves half of the time to what is nearest without any.
        for steps, share in (((-step, step), 0.5), ((np.zeros_like(step),), 1.0)):
            found = self._nearest(steps, share * self.deadline.left)
            if found is not None:
                within = self._within(found)
                yield from () if within is None else (within,)
                yield found.vector

    @cached_property
    def _metric(self) -> Nearness:
        """Nearness with weights that solvers can tell apart: what is known so well stays anyway."""
        weights = self.near.weights
        most = TUNING.nearest_weights * weights.min(initial=INFINITY)
        return replace(self.near, weights=np.minimum(weights, most))

    @cached_property
    def _margin(self) -> float:
        """How far to stay away from where prices jump."""
        largest = float(np.abs(self.near.center).max(initial=0.0)) or 1.0
        return min(TUNING.nearest_margin * self.near.scale, TUNING.nearest_share * largest)

    def _nearest(self, steps: Sequence[FloatArray], seconds: float) -> _Answer | None:
        """The optimum of the game in which the leader chooses the vector too; None without any answer."""
        everywhere = _played_at(self.program, self.parameter_map, steps)
        game = self._choosing(everywhere, sp.csr_array(sp.vstack([self.parameter_map] * len(steps))))
        with watched() as watch:
            found = solve_bilevel(game, gap=TUNING.nearest_gap, time_limit=seconds)
            watch.check()
        if not found.status.has_answer:
            return None
        rows, own = self.program.follower.shape[0], len(self.program.variable_names)
        variables = found.variables[:own]
        variables = np.where(self.program.is_integer, np.round(variables), variables)
        first = len(everywhere.variable_names)
        vector = found.variables[first : first + self.near.center.size]
        vector = np.clip(vector, self.bounds.lower, self.bounds.upper)
        return _Answer(variables, found.prices[:rows], vector)

    def _choosing(self, program: BilevelProgram, parameter_map: SparseMatrix) -> BilevelProgram:
        """A game in which the leader chooses the vector too, as near as can be.

        More columns: the vector, its moves up and down, those of totals up and down.
        """
        near, (rows, columns) = self._metric, program.follower.shape
        entries, totals = near.center.size, len(near.members)
        kept, moves = entries + totals, 2 * (entries + totals)
        chosen = sp.vstack([sp.eye_array(entries), sp.csr_array(near.members)])
        moved = sp.hstack([chosen, -sp.eye_array(kept), sp.eye_array(kept)])
        known = np.concatenate([near.center, near.members @ near.center])
        weights = np.concatenate([np.sqrt(near.weights), np.full(totals, near.ratio)])
        own = len(program.variable_names)
        return BilevelProgram.from_arrays(
            follower=program.follower,
            handed_on=program.handed_on,
            coupling=sp.hstack([program.coupling, -parameter_map, _empty(rows, moves)]),
            leader_cost=np.concatenate([np.zeros(own + entries), weights, weights]),
            variable_lower=np.concatenate([program.variable_lower, self.bounds.lower, np.zeros(moves)]),
            variable_upper=np.concatenate(
                [program.variable_upper, self.bounds.upper, np.full(moves, INFINITY)]
            ),
            is_integer=np.concatenate([program.is_integer, np.zeros(entries + moves)]),
            leader_matrix=sp.block_diag([program.leader_matrix, moved], format="csr"),
            response_matrix=sp.vstack([program.response_matrix, _empty(kept, columns)]),
            price_matrix=sp.vstack([program.price_matrix, _empty(kept, rows)]),
            leader_lower=np.concatenate([program.leader_lower, known]),
            leader_upper=np.concatenate([program.leader_upper, known]),
        )

    def _within(self, found: _Answer) -> FloatArray | None:
        """The nearest vector at which the same prices are optimal and suit the leader; None where none is."""
        polytope, entries = self._polytope(found), self.near.center.size
        inside = _inside(polytope, entries, self._margin)
        if inside is None:
            return None
        elsewhere = polytope.shape[1] - entries
        cost = np.concatenate([np.zeros(elsewhere), -self._metric.hessian @ self.near.center])
        bent = sp.block_diag([sp.csr_array((elsewhere, elsewhere)), self._metric.hessian], format="csr")
        nearest = solve_convex(inside.with_cost(cost), sp.csr_array(bent))
        if not nearest.status.has_answer:
            return None
        return np.clip(nearest.columns[-entries:], self.bounds.lower, self.bounds.upper)

    def _polytope(self, found: _Answer) -> LinearProgram:
        """Columns: the leader's variables, whole ones as they were found, the answers, the vector."""
        program, market, prices = self.program, self.program.follower, found.prices
        near = TUNING.tight * max(1.0, float(np.abs(market.cost).max(initial=0.0)))
        reduced = market.cost - market.matrix.T @ prices
        rows = tight_sides(market.row_lower, market.row_upper, prices, near)
        answers = tight_sides(market.column_lower, market.column_upper, reduced, near)
        shift = program.price_matrix @ prices
        rounding = TUNING.tight * np.maximum(1.0, np.abs(shift))
        matrix = sp.block_array(
            [
                [program.coupling, market.matrix + program.handed_on, -self.parameter_map],
                [program.leader_matrix, program.response_matrix, None],
            ],
            format="csr",
        )
        whole = program.is_integer
        own = (
            np.where(whole, found.variables, program.variable_lower),
            np.where(whole, found.variables, program.variable_upper),
        )
        return LinearProgram.of(
            np.zeros(matrix.shape[1]),
            sp.csr_array(matrix),
            row_lower=np.concatenate([rows[0], program.leader_lower - shift - rounding]),
            row_upper=np.concatenate([rows[1], program.leader_upper - shift + rounding]),
            column_lower=np.concatenate([own[0], answers[0], self.bounds.lower]),
            column_upper=np.concatenate([own[1], answers[1], self.bounds.upper]),
        )


def _played_at(
    program: BilevelProgram, parameter_map: SparseMatrix, steps: Sequence[FloatArray]
) -> BilevelProgram:
    """A game played at several vectors at once, with the same prices and whole numbers at all.

    The leader decides, and the followers answer, for each vector anew. It costs nothing.
    """
    copies, market, own = len(steps), program.follower, len(program.variable_names)
    whole = sp.eye_array(own, format="csr")[np.flatnonzero(program.is_integer), :]
    same_whole, same_prices = _differences(copies, whole), _differences(copies, sp.eye_array(market.shape[0]))
    shifted = [market.shifted(parameter_map @ step) for step in steps]
    wholes, equal = same_whole.shape[0], same_whole.shape[0] + same_prices.shape[0]
    return BilevelProgram.from_arrays(
        follower=shifted[0].stacked(*shifted[1:]),
        handed_on=_repeated(copies, program.handed_on),
        coupling=_repeated(copies, program.coupling),
        leader_cost=np.zeros(copies * own),
        variable_lower=np.tile(program.variable_lower, copies),
        variable_upper=np.tile(program.variable_upper, copies),
        is_integer=np.tile(program.is_integer, copies),
        leader_matrix=sp.vstack(
            [_repeated(copies, program.leader_matrix), same_whole, _empty(equal - wholes, copies * own)]
        ),
        response_matrix=sp.vstack(
            [_repeated(copies, program.response_matrix), _empty(equal, copies * market.shape[1])]
        ),
        price_matrix=sp.vstack(
            [
                _repeated(copies, program.price_matrix),
                _empty(wholes, copies * market.shape[0]),
                same_prices,
            ]
        ),
        leader_lower=np.concatenate([np.tile(program.leader_lower, copies), np.zeros(equal)]),
        leader_upper=np.concatenate([np.tile(program.leader_upper, copies), np.zeros(equal)]),
    )


def _empty(rows: int, columns: int) -> SparseMatrix:
    return sp.csr_array((rows, columns))


def _repeated(copies: int, matrix: SparseMatrix) -> SparseMatrix:
    """A matrix so many times, each with rows and columns of its own."""
    return sp.csr_array(sp.block_diag([matrix] * copies))


def _differences(copies: int, matrix: Any) -> SparseMatrix:
    """What each copy has more of than the first."""
    others = copies - 1
    if not others:
        return _empty(0, matrix.shape[1])
    return sp.csr_array(sp.hstack([-sp.vstack([matrix] * others), _repeated(others, matrix)]))


def _inside(polytope: LinearProgram, entries: int, margin: float) -> LinearProgram | None:
    """A polytope with its sides moved inwards, as far as they can be together; None where it is empty.

    The last columns are the vector, at whose public bounds nothing changes.
    """
    every = sp.vstack([polytope.matrix, sp.eye_array(polytope.shape[1])], format="csr")
    lower = np.concatenate([polytope.row_lower, polytope.column_lower])
    upper = np.concatenate([polytope.row_upper, polytope.column_upper])
    is_open = lower < upper
    is_open[-entries:] = False
    below, above = (np.flatnonzero(is_open & np.isfinite(side)) for side in (lower, upper))
    sides = sp.csr_array(sp.vstack([every[below, :], -every[above, :]]))
    at = np.concatenate([lower[below], -upper[above]])
    # What is fixed, such as the leader's whole numbers, does not say in which units a side is.
    is_free = polytope.column_lower < polytope.column_upper
    most = margin * np.maximum(1.0, abs(sides[:, is_free]).max(axis=1).toarray().ravel())
    spread = polytope.with_rows(sides, lower=at).with_columns(
        np.zeros(at.size),
        most,
        cost=-1.0 / most,
        matrix=sp.csr_array(sp.vstack([_empty(polytope.shape[0], at.size), -sp.eye_array(at.size)])),
    )
    found = solve_lp(spread)
    if not found.status.has_answer:
        return None
    # Half of it, so that there is room for what solvers round.
    return polytope.with_rows(sides, lower=at + 0.5 * found.columns[polytope.shape[1] :])
