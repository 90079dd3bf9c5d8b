"""Checked conversion of what users pass into the read-only arrays that the package works on."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ppsm.errors import InputError
from ppsm.labels import aligned, unlabelled

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
SparseMatrix = sp.csr_array[Any]

INFINITY = float("inf")
# What the solvers take for infinite (bounds), and refuse or drop (coefficients).
INFINITE_FROM = 1e20
LARGEST_COEFFICIENT = 1e15
SMALLEST_COEFFICIENT = 1e-9
# Entries of a vector that is to be released and repaired are at most this large: beyond it a unit is lost in
# rounding.
LARGEST_ENTRY = 1e15
# So is what they cost: solvers take more for infinite.
LARGEST_VALUE = INFINITE_FROM
ROUNDING = 1e-13


def frozen_vector(
    values: ArrayLike, length: int, what: str, *, infinite: bool = False, names: Sequence[str] = ()
) -> FloatArray:
    """Return a read-only float vector of the given length, or say what is wrong with it.

    Values that come with labels are aligned with the names, or refused. Infinite entries are refused unless
    ``infinite`` is set; NaN always is.
    """
    in_order = aligned(values, names, what) if len(names) else unlabelled(values, what)
    vector = np.array(as_numbers(in_order, what), ndmin=1)
    if vector.shape != (length,):
        labels = ", in one dimension or with labels" if vector.ndim > 1 and len(names) else ""
        raise InputError(
            f"{what} has shape {vector.shape}, expected ({length},): pass one number for each entry{labels}."
        )
    # Solvers take for infinite what is far enough away.
    bad = np.isnan(vector) if infinite else ~(np.abs(vector) < INFINITE_FROM)
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        label = f"'{names[index]}'" if index < len(names) else f"entry {index}"
        expected = "number" if infinite else f"finite number (of a size below {INFINITE_FROM:g})"
        raise InputError(f"{what} of {label} is {vector[index]}, expected a {expected}: mend the data.")
    vector.setflags(write=False)
    return vector


# What NumPy would make numbers of without a word, by the kinds of its types.
_OTHER = {
    "U": "text",
    "S": "text",
    "b": "truth values",
    "c": "complex numbers",
    "M": "dates",
    "m": "durations",
    "V": "records of several fields",
}
_MISSING = {"NAType", "NaTType", "NoneType"}


def as_numbers(values: ArrayLike, what: str, *, flags: bool = False) -> FloatArray:
    """Return a float array of any shape, or say that these are not numbers; truth values where ``flags``."""
    other = other_than_numbers(values)
    if other is not None and not (flags and other == _OTHER["b"]):
        raise InputError(f"{what} must be numbers; found {other}: pass numbers.")
    return np.asarray(values).astype(np.float64, copy=False)


def other_than_numbers(values: ArrayLike) -> str | None:
    """What there is beside numbers, without quoting it; None where all can be read as floats."""
    if np.ma.is_masked(values):
        return "masked entries"
    try:
        found = np.asarray(values)
        samples = [found]
        if found.dtype.kind == "O" or not isinstance(values, np.ndarray):
            # One of each type says which kinds there are: among numbers NumPy would hide a truth value.
            types = {type(each): each for each in np.asarray(values, dtype=object).flat}
            samples += map(np.asarray, types.values())
            if _MISSING & {each.__name__ for each in types}:
                return "missing entries"
        other = [_OTHER[each.dtype.kind] for each in samples if each.dtype.kind in _OTHER]
        if not other:
            found.astype(np.float64)
    except OverflowError:
        return "numbers beyond all floats"
    except (TypeError, ValueError):
        return f"{type(values).__name__} with other content"
    return other[0] if other else None


def one_or_each(values: ArrayLike, names: Sequence[str], what: str) -> FloatArray:
    """One number for all, or one for each name; what has labels is aligned or refused."""
    numbers = as_numbers(aligned(values, names, what), what)
    return np.full(len(names), float(numbers)) if numbers.ndim == 0 else numbers


def row_count(matrix: Any, what: str) -> int:
    """How many rows something matrix-like has, before its content is looked at."""
    if isinstance(matrix, Sequence):
        return len(matrix)
    shape = getattr(matrix, "shape", ())
    if not shape:
        raise InputError(f"{what} is of type {type(matrix).__name__}; expected a matrix, dense or sparse.")
    return int(shape[0])


def frozen_matrix(matrix: Any, shape: tuple[int, int], what: str) -> SparseMatrix:
    """Return a canonical CSR copy of a dense or sparse matrix, or say what is wrong with it."""
    try:
        result: SparseMatrix = sp.csr_array(matrix, dtype=np.float64, copy=True)
    except (TypeError, ValueError):
        raise InputError(
            f"{what} is a {type(matrix).__name__} that does not hold numbers in rows of one length; "
            "expected a numeric matrix."
        ) from None
    if result.shape != shape:
        raise InputError(f"{what} has shape {result.shape}, expected {shape}: rows and columns must match.")
    result.sum_duplicates()
    # What adding and subtracting leaves of a zero is not a coefficient.
    result.data[np.abs(result.data) < ROUNDING] = 0.0
    result.eliminate_zeros()
    finite = np.isfinite(result.data)
    if not finite.all():
        entry = int(np.flatnonzero(~finite)[0])
        row = int(np.searchsorted(result.indptr, entry, side="right") - 1)
        column = int(result.indices[entry])
        raise InputError(
            f"{what} holds {result.data[entry]} in row {row}, column {column}; expected a finite number."
        )
    _check_magnitudes(result, what)
    for part in (result.data, result.indices, result.indptr):
        part.setflags(write=False)
    return result


def placed(shape: tuple[int, int], parts: Iterable[tuple[int, int, SparseMatrix]]) -> SparseMatrix:
    """A matrix of blocks, each with its first row and column; for small ones far quicker than SciPy's own."""
    blocks = [(top, left, part) for top, left, part in parts if part.nnz]
    if not blocks:
        return sp.csr_array(shape)
    rows = np.concatenate(
        [np.repeat(np.arange(top, top + part.shape[0]), np.diff(part.indptr)) for top, _, part in blocks]
    )
    columns = np.concatenate([left + part.indices for _, left, part in blocks])
    values = np.concatenate([part.data for _, _, part in blocks])
    return sp.csr_array((values, (rows, columns)), shape=shape)


def above(top: SparseMatrix, bottom: SparseMatrix) -> SparseMatrix:
    """The rows of one matrix, then those of another as wide; for small ones far quicker than SciPy's own."""
    starts = np.concatenate([top.indptr, top.indptr[-1] + bottom.indptr[1:]])
    entries = np.concatenate([top.data, bottom.data]), np.concatenate([top.indices, bottom.indices]), starts
    return sp.csr_array(entries, shape=(top.shape[0] + bottom.shape[0], top.shape[1]))


def _check_magnitudes(matrix: SparseMatrix, what: str) -> None:
    """Refuse coefficients that solvers refuse or drop without a word, which would change the problem."""
    sizes = np.abs(matrix.data)
    for index in np.flatnonzero((sizes >= LARGEST_COEFFICIENT) | (sizes <= SMALLEST_COEFFICIENT))[:1]:
        raise InputError(
            f"{what} holds {matrix.data[index]:g}; expected zero or a size from {SMALLEST_COEFFICIENT:g} to "
            f"{LARGEST_COEFFICIENT:g}, outside of which solvers lose it: choose other units."
        )


def unique_names(names: Iterable[str] | None, count: int, prefix: str, what: str) -> tuple[str, ...]:
    """Return the names as a tuple, ``prefix0, prefix1, ...`` where none are given."""
    if names is None:
        return tuple(f"{prefix}{index}" for index in range(count))
    result = tuple(str(name) for name in names)
    if len(result) != count:
        raise InputError(f"{what}: found {len(result)} names for {count} entries; pass one for each.")
    if len(set(result)) != count:
        twice = next(name for index, name in enumerate(result) if name in result[:index])
        raise InputError(f"{what}: the name '{twice}' is used twice; names must differ.")
    return result


def ordered(lower: FloatArray, upper: FloatArray, names: Sequence[str], what: str) -> None:
    """Refuse bounds that cross, naming the first culprit."""
    crossed = lower > upper
    impossible = (lower == INFINITY) | (upper == -INFINITY)
    for index in np.flatnonzero(crossed | impossible)[:1]:
        raise InputError(
            f"{what} '{names[index]}' has lower bound {lower[index]} and upper bound {upper[index]}; "
            "expected lower <= upper with a finite number between them."
        )
