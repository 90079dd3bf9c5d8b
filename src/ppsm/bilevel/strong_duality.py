"""Optimality as one equation, cost = dual objective, where the leader touches the follower by binaries."""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray
from ppsm.bilevel.assembly import padded, with_columns, with_rows
from ppsm.bilevel.bounds import BoundFinder
from ppsm.bilevel.kkt import KktSystem
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram
from ppsm.solvers.mip import MixedIntegerProgram


def coupled_variables(program: BilevelProgram) -> BoolArray:
    """Which leader variables enter the follower's rows and are not fixed by their bounds."""
    enters = np.bincount(program.coupling.indices, minlength=len(program.variable_names)) > 0
    return np.asarray(enters & (program.variable_lower != program.variable_upper))


def is_applicable(program: BilevelProgram) -> bool:
    """Whether every leader variable in the follower's rows is binary (or fixed)."""
    return not (coupled_variables(program) & ~_is_binary(program)).any()


def _is_binary(program: BilevelProgram) -> BoolArray:
    return program.is_integer & (program.variable_lower >= 0) & (program.variable_upper <= 1)


def strong_duality(kkt: KktSystem, finder: BoundFinder) -> MixedIntegerProgram:
    """``c'y <= sum_k sign_k bound_k m_k - sum_ij coupling_ij p_i x_j`` with each product p x linearised.

    The product w of a binary x and a price in [low, high] is exact:  low x <= w <= high x  and
    p - high (1 - x) <= w <= p - low (1 - x). Weak duality gives the other inequality for free.
    """
    program, multipliers = kkt.program, kkt.multipliers
    offending = np.flatnonzero(coupled_variables(program) & ~_is_binary(program))
    if offending.size:
        raise ModelError(
            f"strong duality needs binary coupling, but '{program.variable_names[offending[0]]}' enters the "
            "follower's rows and is not binary; use method='big-m', 'sos1' or 'indicator'."
        )
    coupling = program.coupling.tocoo()
    moving = coupled_variables(program)[coupling.col]
    rows, variables, factors = coupling.row[moving], coupling.col[moving], coupling.data[moving]
    ranges = np.array([finder.price_range(int(row)) for row in rows]).reshape(-1, 2)
    count, width = rows.size, kkt.relaxation.shape[1]
    names = tuple(
        f"price of {program.follower.row_names[i]} x {program.variable_names[j]}"
        for i, j in zip(rows, variables, strict=True)
    )
    linear = with_columns(kkt.relaxation, np.full(count, -INFINITY), np.full(count, INFINITY), names)
    product = sp.csr_array((np.ones(count), (np.arange(count), np.arange(count))), shape=(count, count))
    binary = sp.csr_array((np.ones(count), (np.arange(count), variables)), shape=(count, width))
    price = sp.hstack([sp.csr_array((count, kkt.first_multiplier)), kkt.price_map[rows, :]], format="csr")
    low, high = sp.diags_array(ranges[:, 0]), sp.diags_array(ranges[:, 1])
    infinite = np.full(count, INFINITY)
    for left, lower, upper, word in (
        (-low @ binary, np.zeros(count), infinite, "at least low x"),
        (-high @ binary, -infinite, np.zeros(count), "at most high x"),
        (-price - high @ binary, -ranges[:, 1], infinite, "at least p - high (1 - x)"),
        (-price - low @ binary, -infinite, -ranges[:, 0], "at most p - low (1 - x)"),
    ):
        block = sp.hstack([left, product], format="csr")
        linear = with_rows(linear, block, lower, upper, tuple(f"{name}: {word}" for name in names))
    duality = np.zeros(width + count)
    duality[kkt.responses] = program.follower.cost
    duality[kkt.first_multiplier : width] = -multipliers.sign * multipliers.bound
    duality[kkt.first_multiplier : width] += _fixed_coupling(program) @ kkt.price_map
    duality[width:] = factors
    linear = with_rows(
        linear,
        padded(sp.csr_array(duality[None, :]), width + count),
        np.array([-INFINITY]),
        np.zeros(1),
        ("strong duality",),
    )
    integer = np.concatenate([kkt.is_integer, np.zeros(count, dtype=np.bool_)])
    return MixedIntegerProgram(linear, integer)


def _fixed_coupling(program: BilevelProgram) -> FloatArray:
    """What the variables fixed by their bounds add to each follower row."""
    values = np.where(coupled_variables(program), 0.0, program.variable_lower)
    # A variable outside every follower row may have an infinite bound and must not count.
    return np.asarray(program.coupling @ np.where(np.isfinite(values), values, 0.0))
