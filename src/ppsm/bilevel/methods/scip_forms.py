"""Complementarity without any bound: SOS1 sets and indicator rows, solved by SCIP."""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.reformulation import Reformulation
from ppsm.solvers.mip import Indicators, MixedIntegerProgram


def sos1(kkt: KktSystem) -> Reformulation:
    """For each pair an explicit slack s; at most one of (multiplier, s) is nonzero.

    After Siddiqui & Gabriel (2013).
    """
    sides = kkt.pairs
    count, width = sides.size, kkt.relaxation.shape[1]
    names = tuple(f"slack of {kkt.multipliers.names[side]}" for side in sides)
    linear = kkt.relaxation.with_columns(np.zeros(count), np.full(count, INFINITY), names=names)
    definition = sp.hstack([kkt.slack_matrix[sides, :], -sp.eye_array(count)], format="csr")
    constant = -kkt.slack_constant[sides]
    linear = linear.with_rows(definition, constant, constant, tuple(f"define {name}" for name in names))
    pairs = tuple((int(kkt.first_multiplier + side), width + k) for k, side in enumerate(sides))
    integer = np.concatenate([kkt.is_integer, np.zeros(count, dtype=np.bool_)])

    def complete(columns: FloatArray) -> FloatArray:
        return np.concatenate([columns, kkt.slacks(columns)[sides]])

    return Reformulation(MixedIntegerProgram(linear, integer, sos1_pairs=pairs), complete)


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
