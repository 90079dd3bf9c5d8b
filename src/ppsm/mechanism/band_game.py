"""The leader's game over every vector that satisfies the bands: what encloses its optimum.

The set is public: all d within the public bounds for which the follower, at the leader's decision, has a
value and some optimal prices in their bands. Of the leader's optimum O(d) over this set

* the **best** is the optimum of one more game, in which the leader also chooses d: beside the follower that
  answers its decision x stands a second one at the decision that was sent, which must keep the bands. A
  search that is cut short still has a valid bound.
* the **worst** is at most what a decision costs that is valid for all of them. What the follower feels stays
  as it was sent, so that prices stay in their band; everything else is chosen anew, with every row of the
  leader tightened by the worst prices that the band leaves open. For prices are dual solutions, and which
  duals there are depends neither on x nor on d.

Where prices do not answer to the leader, the second is the worst case of the paper's proof.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.bilevel.solve import solve_bilevel
from ppsm.fidelity.certificate import TOLERANCE
from ppsm.fidelity.problem import Bands
from ppsm.mechanism.theory import CostOfPrivacy
from ppsm.mechanism.tuning import TUNING
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import PersistentLp, solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class EntryBands:
    """The bands of a release in the sense of the (minimised) follower, a certificate's rounding wider."""

    value: tuple[float, float]
    price_lower: FloatArray
    price_upper: FloatArray

    @classmethod
    def of(cls, bands: Bands, follower: LinearProgram, sign: float, entries: int) -> "EntryBands":
        """Bands of the user's model; what has none is open."""
        largest_cost = float(np.abs(follower.cost).max(initial=0.0)) or 1.0
        value = (-INFINITY, INFINITY)
        if bands.value is not None:
            room = bands.value_width + TOLERANCE * max(abs(bands.value), largest_cost)
            middle = sign * bands.value - follower.offset
            value = middle - room, middle + room
        if bands.prices is None or bands.price_width is None:
            return cls(value, np.full(entries, -INFINITY), np.full(entries, INFINITY))
        width = bands.price_width + TOLERANCE * max(float(np.abs(bands.prices).max()), largest_cost)
        return cls(value, sign * bands.prices - width, sign * bands.prices + width)


class BandedPrices:
    """All row prices that a follower can have at any right-hand sides while entries keep their bands."""

    def __init__(self, follower: LinearProgram, parameter_map: SparseMatrix, bands: EntryBands) -> None:
        rows, columns = follower.shape
        self._rows = rows
        # c = A' prices + reduced costs; without a bound on a side there is no price of that side's sign.
        identity = sp.eye_array(columns, format="csr")
        entries = sp.hstack([parameter_map.T, sp.csr_array((parameter_map.shape[1], columns))], format="csr")
        below = np.concatenate([follower.row_lower, follower.column_lower])
        above = np.concatenate([follower.row_upper, follower.column_upper])
        self._lp = PersistentLp(
            LinearProgram.of(
                np.zeros(rows + columns),
                sp.vstack([sp.hstack([follower.matrix.T, identity]), entries], format="csr"),
                row_lower=np.concatenate([follower.cost, bands.price_lower]),
                row_upper=np.concatenate([follower.cost, bands.price_upper]),
                column_lower=np.where(np.isfinite(above), -INFINITY, 0.0),
                column_upper=np.where(np.isfinite(below), INFINITY, 0.0),
            )
        )

    def highest(self, weights: FloatArray) -> float:
        """The largest weighted sum of row prices; infinite where there is none, or no prices at all."""
        self._lp.set_cost(np.concatenate([-weights, np.zeros(self._lp.program.shape[1] - self._rows)]))
        found = self._lp.solve()
        return -found.objective if found.status is Status.PROVEN_OPTIMAL else INFINITY


def enclosed_optimum(
    program: BilevelProgram,
    parameter_map: SparseMatrix,
    bounds: tuple[FloatArray, FloatArray],
    decision: FloatArray,
    bands: Bands,
) -> CostOfPrivacy:
    """Enclose the leader's optimum, in the sense of the user's model, over all vectors in the bands.

    Parameters
    ----------
    program
        A game with one follower, whose rows hold the parameter 0.
    parameter_map, bounds
        How the sensitive vector enters the follower's rows, and what everybody knows of it.
    decision
        The leader's variables as they were sent.
    bands
        Those that the release satisfies, in the sense of the user's model.
    """
    inside = EntryBands.of(bands, program.follower, program.follower_sign, parameter_map.shape[1])
    best = _best(_band_game(program, parameter_map, bounds, decision, inside))
    worst = _worst(program, BandedPrices(program.follower, parameter_map, inside), decision)
    return CostOfPrivacy(best, worst) if program.leader_sign > 0 else CostOfPrivacy(-worst, -best)


def _best(game: BilevelProgram) -> float:
    """A bound below which no vector in the bands brings the leader."""
    found = solve_bilevel(game, time_limit=TUNING.band_game_seconds)
    if found.leader_bound is None or found.status is Status.INFEASIBLE:
        return -INFINITY
    bound = game.leader_sign * found.leader_bound
    return bound - TOLERANCE * max(1.0, abs(bound))


def _band_game(
    program: BilevelProgram,
    parameter_map: SparseMatrix,
    bounds: tuple[FloatArray, FloatArray],
    decision: FloatArray,
    bands: EntryBands,
) -> BilevelProgram:
    """The game in which the leader also chooses the vector, and a second follower keeps the bands."""
    market, entries = program.follower, parameter_map.shape[1]
    (rows, columns), variables = market.shape, len(program.variable_names)
    # Below the leader's rows: the value of the second follower, then the price of each entry there.
    told_value = sp.vstack([sp.csr_array(market.cost[None, :]), sp.csr_array((entries, columns))])
    told_prices = sp.vstack([sp.csr_array((1, rows)), parameter_map.T])
    elsewhere = sp.csr_array((rows, variables))
    return BilevelProgram.from_arrays(
        follower=market.stacked(market.shifted(-(program.coupling @ decision))),
        coupling=sp.block_array([[program.coupling, -parameter_map], [elsewhere, -parameter_map]]),
        leader_cost=np.concatenate([program.leader_cost, np.zeros(entries)]),
        response_cost=np.concatenate([program.response_cost, np.zeros(columns)]),
        price_cost=np.concatenate([program.price_cost, np.zeros(rows)]),
        offset=program.offset,
        variable_lower=np.concatenate([program.variable_lower, bounds[0]]),
        variable_upper=np.concatenate([program.variable_upper, bounds[1]]),
        is_integer=np.concatenate([program.is_integer, np.zeros(entries)]),
        leader_matrix=sp.block_diag([program.leader_matrix, sp.csr_array((1 + entries, entries))]),
        response_matrix=sp.block_diag([program.response_matrix, told_value]),
        price_matrix=sp.block_diag([program.price_matrix, told_prices]),
        leader_lower=np.concatenate([program.leader_lower, [bands.value[0]], bands.price_lower]),
        leader_upper=np.concatenate([program.leader_upper, [bands.value[1]], bands.price_upper]),
        leader_sign=program.leader_sign,
    )


def _worst(program: BilevelProgram, prices: BandedPrices, decision: FloatArray) -> float:
    """What the leader pays at most, by a decision that is valid for every vector in the bands.

    Unknown where it sees the follower's answer, which moves with the vector.
    """
    if program.response_matrix.nnz or program.response_cost.any():
        return INFINITY
    seen = program.price_matrix
    lower, upper = program.leader_lower.copy(), program.leader_upper.copy()
    for row in np.flatnonzero(np.diff(seen.indptr)):
        weights = seen[[row], :].toarray().ravel()
        lower[row] += prices.highest(-weights) if np.isfinite(lower[row]) else 0.0
        upper[row] -= prices.highest(weights) if np.isfinite(upper[row]) else 0.0
    charged = prices.highest(program.price_cost) if program.price_cost.any() else 0.0
    is_impossible = (lower > upper) | (lower == INFINITY) | (upper == -INFINITY)
    if is_impossible.any() or not math.isfinite(charged):
        return INFINITY
    felt = np.flatnonzero(np.diff(program.coupling.tocsc().indptr))
    own = LinearProgram.of(
        program.leader_cost,
        program.leader_matrix,
        row_lower=lower,
        row_upper=upper,
        column_lower=program.variable_lower,
        column_upper=program.variable_upper,
    ).with_fixed(felt, _whole(decision, program)[felt])
    found = solve_mip_with_highs(
        MixedIntegerProgram(own, program.is_integer), SolveLimits(seconds=TUNING.band_game_seconds)
    )
    if found.objective is None:
        return INFINITY
    return found.objective + charged + program.offset


def _whole(decision: FloatArray, program: BilevelProgram) -> FloatArray:
    """The decision with its integers exact."""
    return np.where(program.is_integer, np.round(decision), decision)
