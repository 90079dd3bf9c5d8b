"""A relaxation that is unbounded although the game is not: Slater's row (:mod:`.slater`) bounds it."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.bilevel.bounds.slater import slater_row
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp, may_be_unbounded
from ppsm.status import Status


def bounded(kkt: KktSystem, deadline: float) -> KktSystem | None:
    """The system, with what Slater's row says where the relaxation is unbounded; None where it stays so."""
    if not _is_unbounded(kkt.relaxation, deadline):
        return kkt
    for relaxation in _bounded_by_slater(kkt, deadline):
        if not _is_unbounded(relaxation, deadline):
            return replace(kkt, relaxation=relaxation)
    return None


def _bounded_by_slater(kkt: KktSystem, deadline: float) -> Iterator[LinearProgram]:
    """Cheap ones first; bounds of columns hold a solver up less than a row that has them all."""
    coupled = np.unique(kkt.program.coupling.indices).astype(np.int64)
    lower, upper = kkt.program.variable_lower[coupled], kkt.program.variable_upper[coupled]
    for reacts in (False, True):
        found = slater_row(kkt, coupled, lower, upper, deadline, reacts=reacts)
        if found is not None:
            row, limit = found
            yield within(kkt.relaxation, row, limit)
            matrix = sp.csr_array(row[None, :])
            yield kkt.relaxation.with_rows(matrix, upper=np.array([limit]), names=("Slater",))


def within(linear: LinearProgram, row: FloatArray, limit: float) -> LinearProgram:
    """Bounds that a row ``<= limit`` implies for each of its columns where all others are at their least."""
    ends = np.where(row > 0, linear.column_lower, linear.column_upper)
    least = np.multiply(row, ends, out=np.zeros_like(row), where=row != 0)
    is_open = np.isinf(least)
    if is_open.sum() > 1:
        return linear
    others = least[~is_open].sum() - np.where(is_open, 0.0, least)
    alone = is_open if is_open.any() else row != 0
    reach = np.divide(limit - others, row, out=np.full_like(row, np.inf), where=alone)
    useful = alone & (np.abs(reach) <= TUNING.largest_sound_m)
    return replace(
        linear,
        column_lower=np.where(
            useful & (row < 0), np.maximum(linear.column_lower, reach), linear.column_lower
        ),
        column_upper=np.where(
            useful & (row > 0), np.minimum(linear.column_upper, reach), linear.column_upper
        ),
    )


def _is_unbounded(relaxation: LinearProgram, deadline: float) -> bool:
    if not may_be_unbounded(relaxation):
        return False
    lp = PersistentLp(relaxation)
    lp.stop_at(deadline)
    return lp.solve().status is Status.UNBOUNDED
