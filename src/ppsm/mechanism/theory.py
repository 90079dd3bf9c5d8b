"""What can be said beforehand about a release: distance to the truth, and cost for the leader.

Distance (theorem 4 of the paper, corrected). When the true vector D satisfies the bands, it competes in the
fidelity problem, so the answer D^ is at most as far from the noisy D~ as D is, and by the triangle inequality
``||D^ - D|| <= 2 ||D~ - D||``. Laplace noise of scale ``b = alpha / epsilon`` on n entries has
``E||D~ - D||^2 = 2 n b^2``, so

    E||D^ - D||^2 <= 8 n b^2     and     E||D^ - D|| <= 2 b sqrt(2 n).

The paper prints ``4 alpha^2`` for the latter, which lacks the dimension n and mixes a norm with its square.

Cost of privacy (theorem 5). Prices that move by at most eta move the right-hand side of the leader's
coordination row i by at most ``w_i = sum_j |B_ij| eta_j``. The paper bounds the change of a convex leader's
optimum by ``sum_i |y_i| w_i`` with the row's dual y_i. The optimum is convex in the right-hand side, so its
dual is a slope at one point and the product is exact only while the optimal basis stays.
:func:`cost_of_privacy` gives that figure and, beside it, the interval that always holds: the leader's optimum
with every row tightened by w, and with every row relaxed by w.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.errors import InputError, ModelError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import LpSolution, solve_lp
from ppsm.status import Status


@dataclass(frozen=True)
class DistanceBound:
    """Bounds on the L2 distance between a faithful release and the truth, in the unit of the data."""

    dimension: int
    scale: float

    @classmethod
    def of_laplace(cls, *, alpha: float, epsilon: float, dimension: int) -> "DistanceBound":
        """The bound for Laplace noise of scale ``alpha / epsilon`` on each of ``dimension`` entries."""
        if dimension < 1:
            raise InputError(f"the dimension is {dimension}; expected at least 1.")
        if not (alpha > 0 and epsilon > 0 and math.isfinite(alpha / epsilon)):
            raise InputError(f"alpha is {alpha} and epsilon {epsilon}; expected finite numbers above 0.")
        return cls(dimension, alpha / epsilon)

    @property
    def expected(self) -> float:
        """What the mean distance does not exceed: ``2 b sqrt(2 n)``."""
        return 2.0 * self.scale * math.sqrt(2.0 * self.dimension)

    @property
    def expected_square(self) -> float:
        """What the mean squared distance does not exceed: ``8 n b^2``."""
        return 8.0 * self.dimension * self.scale**2

    @staticmethod
    def realised(noise: ArrayLike) -> float:
        """What the distance of this very release does not exceed, for the owner who knows the noise."""
        return 2.0 * float(np.linalg.norm(np.asarray(noise, dtype=np.float64)))


@dataclass(frozen=True)
class CostOfPrivacy:
    """How far prices that move within a band can move the leader's optimum.

    ``first_order`` is the paper's ``eta ||B'y||_1``; ``lowest`` and ``highest`` enclose the optimum for all
    prices in the band (infinite where the tightened problem has no solution). ``indicative`` marks a leader
    with integers, which were fixed at the given decision: other integers may do better.
    """

    optimum: float
    first_order: float
    lowest: float
    highest: float
    indicative: bool


def cost_of_privacy(
    program: BilevelProgram,
    prices: ArrayLike,
    eta: ArrayLike,
    variables: ArrayLike | None = None,
) -> CostOfPrivacy:
    """Bound the leader's optimum when each follower price moves by at most ``eta`` from ``prices``.

    Parameters
    ----------
    program
        The game; its leader may depend on the follower through prices in its constraints only.
    prices
        The prices of the follower's rows that the leader anticipates, in the program's (minimised) sense.
    eta
        Half-width of the price band, one number or one for each row.
    variables
        The leader's decision, needed (and used) to fix its integers.
    """
    if program.response_matrix.nnz or program.response_cost.any() or program.price_cost.any():
        raise ModelError(
            "the leader's problem contains the follower's answer, or its objective the prices; the bound is "
            "for leaders that see prices in their constraints only."
        )
    rows = program.follower.shape[0]
    centre = frozen_vector(prices, rows, "the prices", names=program.follower.row_names)
    width = frozen_vector(np.broadcast_to(eta, (rows,)), rows, "eta", names=program.follower.row_names)
    if (width < 0).any():
        raise InputError(f"eta is {width.min()} at its smallest; expected at least 0.")
    leader = _leader(program, variables)
    shift = program.price_matrix @ centre
    slack = abs(program.price_matrix) @ width
    solved = _optimum(leader, shift, shift)
    if solved is None:
        raise InputError("the leader has no solution at these prices; expected prices it can live with.")
    return CostOfPrivacy(
        optimum=solved.objective,
        first_order=float(np.abs(solved.prices) @ slack),
        lowest=_value(_optimum(leader, shift + slack, shift - slack), -math.inf),
        highest=_value(_optimum(leader, shift - slack, shift + slack), math.inf),
        indicative=bool(program.is_integer.any()),
    )


def _leader(program: BilevelProgram, variables: ArrayLike | None) -> LinearProgram:
    """The leader's own linear program, integers fixed at its decision."""
    lower, upper = program.variable_lower.copy(), program.variable_upper.copy()
    integer = program.is_integer
    if integer.any():
        if variables is None:
            raise InputError("the leader has integer variables; pass its decision so that they can be fixed.")
        names = program.variable_names
        decision = frozen_vector(variables, len(names), "the leader's decision", names=names)
        lower[integer] = upper[integer] = np.round(decision[integer])
    return LinearProgram(
        cost=program.leader_cost,
        matrix=program.leader_matrix,
        row_lower=program.leader_lower,
        row_upper=program.leader_upper,
        column_lower=lower,
        column_upper=upper,
        row_names=program.leader_row_names,
        column_names=program.variable_names,
        offset=program.offset,
    )


def _optimum(leader: LinearProgram, highest: FloatArray, lowest: FloatArray) -> LpSolution | None:
    """The leader's optimum when the prices add ``highest`` to the lower and ``lowest`` to the upper side.

    A row ``lower <= A x + B p <= upper`` becomes ``lower - highest <= A x <= upper - lowest``.
    """
    moved = replace(leader, row_lower=leader.row_lower - highest, row_upper=leader.row_upper - lowest)
    if (moved.row_lower > moved.row_upper).any():
        return None
    solution = solve_lp(moved)
    return solution if solution.status is Status.PROVEN_OPTIMAL else None


def _value(solution: LpSolution | None, otherwise: float) -> float:
    return otherwise if solution is None else solution.objective
