"""Rows of a linear program, collected before it is built."""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray


class Rows:
    """Rows over so many columns, with their bounds."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._parts: list[sp.csr_array] = []
        self._lower: list[FloatArray] = []
        self._upper: list[FloatArray] = []

    def add_each(
        self,
        terms: list[tuple[IntArray, FloatArray | float]],
        lower: FloatArray | float = -INFINITY,
        upper: FloatArray | float = INFINITY,
    ) -> None:
        """One row for each position of the terms' columns, with weights by row or for all."""
        count = terms[0][0].size
        if not count:
            return
        rows = np.tile(np.arange(count), len(terms))
        columns = np.concatenate([columns for columns, _ in terms])
        weights = np.concatenate([np.broadcast_to(weight, count) for _, weight in terms])
        self._parts.append(sp.csr_array((weights, (rows, columns)), shape=(count, self._width)))
        self._lower.append(np.broadcast_to(lower, count))
        self._upper.append(np.broadcast_to(upper, count))

    def add(self, weights: FloatArray, upper: float) -> None:
        """One row."""
        self._parts.append(sp.csr_array(weights[None, :]))
        self._lower.append(np.array([-INFINITY]))
        self._upper.append(np.array([upper]))

    def matrix(self) -> sp.csr_array:
        """All rows."""
        return sp.csr_array(sp.vstack(self._parts)) if self._parts else sp.csr_array((0, self._width))

    def lower(self) -> FloatArray:
        """Their lower sides."""
        return np.concatenate([np.empty(0), *self._lower])

    def upper(self) -> FloatArray:
        """Their upper sides."""
        return np.concatenate([np.empty(0), *self._upper])
