"""Complementarity without any bound: SOS1 sets and indicator rows, solved by SCIP."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.reformulation import Reformulation
from ppsm.program import LinearProgram
from ppsm.solvers.mip import Indicators, MixedIntegerProgram


def sos1(kkt: KktSystem) -> Reformulation:
    """For each pair a slack column s; at most one of (multiplier, s) is nonzero.

    After Siddiqui & Gabriel (2013). A row with one side becomes an equation with its slack, a column that
    must not be negative is its own slack; other slacks are columns with a row that defines them.
    """
    sides, multipliers = kkt.pairs, kkt.multipliers
    width = kkt.relaxation.shape[1]
    is_own = ~multipliers.is_row[sides] & (multipliers.sign[sides] > 0) & (multipliers.bound[sides] == 0)
    is_alone = multipliers.is_row[sides] & (multipliers.twin[sides] < 0)
    added = np.flatnonzero(~is_own)
    slack_column = kkt.responses.start + multipliers.index[sides]
    slack_column[added] = width + np.arange(added.size)
    linear = _with_slacks(kkt, sides[added], is_alone[added])
    pairs = tuple(zip((kkt.first_multiplier + sides).tolist(), slack_column.tolist(), strict=True))
    integer = np.concatenate([kkt.is_integer, np.zeros(added.size, dtype=np.bool_)])

    def complete(columns: FloatArray) -> FloatArray:
        return np.concatenate([columns, kkt.slacks(columns)[sides[added]]])

    return Reformulation(MixedIntegerProgram(linear, integer, sos1_pairs=pairs), complete)


def _with_slacks(kkt: KktSystem, sides: IntArray, is_alone: BoolArray) -> LinearProgram:
    """A column for the slack of each side: in the follower's row where the side is alone, else defined."""
    linear, multipliers, count = kkt.relaxation, kkt.multipliers, sides.size
    alone, others = np.flatnonzero(is_alone), np.flatnonzero(~is_alone)
    rows = len(kkt.program.leader_row_names) + multipliers.index[sides[alone]]
    bound = multipliers.bound[sides[alone]]
    lower, upper = linear.row_lower.copy(), linear.row_upper.copy()
    lower[rows] = upper[rows] = bound
    entries = (-multipliers.sign[sides[alone]], (rows, alone))
    in_rows = sp.csr_array(entries, shape=(linear.shape[0], count))
    linear = replace(linear, row_lower=lower, row_upper=upper)
    names = tuple(f"slack of {multipliers.names[side]}" for side in sides)
    linear = linear.with_columns(np.zeros(count), np.full(count, INFINITY), matrix=in_rows, names=names)
    pick = sp.csr_array((-np.ones(others.size), (np.arange(others.size), others)), shape=(others.size, count))
    definition = sp.hstack([kkt.slack_matrix[sides[others], :], pick], format="csr")
    constant = -kkt.slack_constant[sides[others]]
    return linear.with_rows(definition, constant, constant, (f"define {names[place]}" for place in others))


def indicator(kkt: KktSystem) -> Reformulation:
    """For each pair a binary t:  t = 1 => slack <= 0,  t = 0 => multiplier <= 0."""
    sides = kkt.pairs
    count, width = sides.size, kkt.relaxation.shape[1]
    names = tuple(f"tight {kkt.multipliers.names[side]}" for side in sides)
    linear = kkt.relaxation.with_columns(np.zeros(count), np.ones(count), names=names)
    entries = (np.ones(count), (np.arange(count), kkt.first_multiplier + sides))
    pick = sp.csr_array(entries, shape=(count, width + count))
    nothing = sp.csr_array((count, count))
    binaries = width + np.arange(count)
    indicators = Indicators(
        columns=np.concatenate([binaries, binaries]),
        values=np.arange(2 * count) < count,
        matrix=sp.vstack([sp.hstack([kkt.slack_matrix[sides, :], nothing]), pick], format="csr"),
        upper=np.concatenate([-kkt.slack_constant[sides], np.zeros(count)]),
    )
    integer = np.concatenate([kkt.is_integer, np.ones(count, dtype=np.bool_)])

    def complete(columns: FloatArray) -> FloatArray:
        tight = columns[kkt.first_multiplier + sides] > kkt.slacks(columns)[sides]
        return np.concatenate([columns, tight.astype(float)])

    return Reformulation(MixedIntegerProgram(linear, integer, indicators=indicators), complete)
