"""Optimality as one inequality, cost <= dual objective, with the products of prices and decisions enclosed.

The dual objective holds a product ``price x decision`` for every coupling entry. Each product w is enclosed
by the four planes of McCormick (1976) over the proven ranges of price and decision. The enclosure is exact
where the decision is binary, so that the inequality alone states the follower's optimality; elsewhere it is a
strong cut that joins the complementarity binaries of big-M.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray
from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.reformulation import Reformulation
from ppsm.errors import ModelError, NoValidBoundError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.mip import MixedIntegerProgram


def coupled_variables(program: BilevelProgram) -> BoolArray:
    """Which leader variables enter the follower's rows and are not fixed by their bounds."""
    enters = np.bincount(program.coupling.indices, minlength=len(program.variable_names)) > 0
    return np.asarray(enters & (program.variable_lower != program.variable_upper))


def _coupled_but_not_binary(program: BilevelProgram) -> BoolArray:
    binary = program.is_integer & (program.variable_lower >= 0) & (program.variable_upper <= 1)
    return coupled_variables(program) & ~binary


def is_applicable(program: BilevelProgram) -> bool:
    """Whether the leader only moves the follower's rows, and every variable there is binary (or fixed)."""
    return program.only_moves_right_hand_sides and not _coupled_but_not_binary(program).any()


def strong_duality(kkt: KktSystem, finder: BoundFinder) -> Reformulation:
    """State the follower's optimality by strong duality alone; needs binary coupling."""
    if not kkt.program.only_moves_right_hand_sides:
        raise ModelError(
            "strong duality needs a linear follower whose right-hand sides alone are moved; use method "
            "'branching', 'big-m', 'sos1' or 'indicator'."
        )
    offending = np.flatnonzero(_coupled_but_not_binary(kkt.program))
    if offending.size:
        raise ModelError(
            f"strong duality needs binary coupling, but '{kkt.program.variable_names[offending[0]]}' enters "
            "the follower's rows and is not binary; use method 'branching', 'big-m', 'sos1' or 'indicator'."
        )
    linear, products = with_duality(kkt.relaxation, kkt, finder)
    integer = np.concatenate([kkt.is_integer, np.zeros(products.shape[0], dtype=np.bool_)])

    def complete(columns: FloatArray) -> FloatArray:
        return np.concatenate([columns, product_values(kkt, products, columns)])

    ends = [abs(end) for row in np.unique(products[:, 0]) for end in finder.price_range(int(row))]
    return Reformulation(MixedIntegerProgram(linear, integer), complete, largest_m=max(ends, default=0.0))


def with_duality(
    linear: LinearProgram, kkt: KktSystem, finder: BoundFinder
) -> tuple[LinearProgram, IntArray]:
    """Append the enclosed products and the strong-duality row to a program that starts with the KKT columns.

    Returns the program and, for each product column appended, the follower row and leader variable it joins.
    """
    program, multipliers = kkt.program, kkt.multipliers
    coupling = program.coupling.tocoo()
    moving = coupled_variables(program)[coupling.col]
    rows, variables = coupling.row[moving].astype(np.int64), coupling.col[moving].astype(np.int64)
    first = linear.shape[1]
    names = tuple(
        f"price of {program.follower.row_names[i]} x {program.variable_names[j]}"
        for i, j in zip(rows, variables, strict=True)
    )
    infinite = np.full(rows.size, INFINITY)
    linear = linear.with_columns(-infinite, infinite, names=names)
    prices = _ranges([finder.price_range(int(row)) for row in rows])
    decisions = _ranges([finder.variable_range(int(variable)) for variable in variables])
    linear = _with_envelope(linear, kkt, first, (rows, variables), prices, decisions, names)
    duality = np.zeros(linear.shape[1])
    duality[kkt.responses] = program.follower.cost
    earned = -multipliers.sign * multipliers.bound + _fixed_coupling(program) @ kkt.price_map
    duality[kkt.first_multiplier : kkt.first_multiplier + multipliers.count] = earned
    duality[first:] = coupling.data[moving]
    row = sp.csr_array(duality[None, :])
    linear = linear.with_rows(row, upper=np.zeros(1), names=("strong duality",))
    return linear, np.column_stack([rows, variables])


def product_values(kkt: KktSystem, products: IntArray, columns: FloatArray) -> FloatArray:
    """The products of prices and decisions at a point of the KKT system."""
    return np.asarray(kkt.prices(columns)[products[:, 0]] * columns[products[:, 1]])


def _ranges(pairs: list[tuple[float, float]]) -> FloatArray:
    return np.array(pairs).reshape(-1, 2)


def _with_envelope(
    linear: LinearProgram,
    kkt: KktSystem,
    first: int,
    entries: tuple[IntArray, IntArray],
    prices: FloatArray,
    decisions: FloatArray,
    names: tuple[str, ...],
) -> LinearProgram:
    """``w - p_end x - x_end p  >= or <=  -p_end x_end`` at the four corners of the (price, decision) box."""
    rows, variables = entries
    count, width = rows.size, linear.shape[1]
    each = np.arange(count)
    product = sp.csr_array((np.ones(count), (each, first + each)), shape=(count, width))
    decision = sp.csr_array((np.ones(count), (each, variables)), shape=(count, width))
    rest = width - kkt.first_multiplier - kkt.multipliers.count
    price = sp.hstack(
        [sp.csr_array((count, kkt.first_multiplier)), kkt.price_map[rows, :], sp.csr_array((count, rest))],
        format="csr",
    )
    for price_end, decision_end in ((0, 0), (1, 1), (1, 0), (0, 1)):
        p, x = prices[:, price_end], decisions[:, decision_end]
        block = product - sp.diags_array(p) @ decision - sp.diags_array(x) @ price
        corner = -p * x
        below = price_end == decision_end
        linear = linear.with_rows(
            sp.csr_array(block),
            corner if below else None,
            None if below else corner,
            tuple(f"{name}: corner {price_end}{decision_end}" for name in names),
        )
    return linear


def _fixed_coupling(program: BilevelProgram) -> FloatArray:
    """What the variables fixed by their bounds add to each follower row."""
    fixed = program.variable_lower == program.variable_upper
    values = np.where(fixed, np.where(fixed, program.variable_lower, 0.0), 0.0)
    return np.asarray(program.coupling @ values)


def duality_is_available(kkt: KktSystem, finder: BoundFinder) -> bool:
    """Whether every product has finite ranges, so that the duality row can be appended."""
    if not kkt.program.only_moves_right_hand_sides:
        return False
    moving = coupled_variables(kkt.program)
    ranges = [finder.variable_range(int(variable)) for variable in np.flatnonzero(moving)]
    if not np.isfinite(_ranges(ranges)).all():
        return False
    try:
        for row in np.unique(kkt.program.coupling[:, moving].nonzero()[0]):
            finder.price_range(int(row))
    except BoundsOutOfTimeError:
        raise
    except NoValidBoundError:
        return False  # the free price of an equality, say, which the pairs do without
    return True
