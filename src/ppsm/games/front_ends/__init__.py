"""Followers from other tools: one file each for cvxpy and Pyomo, MPS files here.

linopy, and PyPSA, which writes models of linopy, are in :mod:`ppsm.games.linopy_reader`. Each gives a
:class:`ReadFollower`, which :class:`~ppsm.games.follower.Follower` takes over. Tools are loaded where they
are used; whoever lacks one is told what to install.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.bilevel.files.mps import read_mps
from ppsm.errors import ModelError
from ppsm.extras import insist_on
from ppsm.games.layout import Layout
from ppsm.program import LinearProgram


@dataclass(frozen=True, eq=False)
class ReadFollower:
    """A model in arrays: ``program`` at the ``nominal`` parameter, minimised (``sign`` -1: it maximised)."""

    program: LinearProgram
    parameter_map: SparseMatrix
    nominal: FloatArray
    variables: Layout
    constraints: Layout
    parameters: Layout
    sign: float


def tool(module: str, extra: str) -> Any:
    """A library that a front end needs, or one sentence on how to get it."""
    insist_on(extra, f"a follower from {extra}")
    return import_module(module)


def refuse_integers(names: Sequence[str], is_integer: Any) -> None:
    """A follower must have prices."""
    for index in np.flatnonzero(is_integer)[:1]:
        raise ModelError(
            f"the follower's variable '{names[index]}' is integer; expected a linear program, which has "
            "prices: relax it, or move it to the leader."
        )


def read_mps_program(path: str | Path) -> tuple[LinearProgram, float]:
    """The program of an MPS file, minimised, and the sense that it was written in."""
    model = read_mps(path)
    refuse_integers(model.column_names, model.is_integer)
    sign = -1.0 if model.maximise else 1.0
    program = LinearProgram.from_arrays(
        cost=sign * model.cost,
        matrix=model.matrix,
        row_lower=model.row_lower,
        row_upper=model.row_upper,
        column_lower=model.column_lower,
        column_upper=model.column_upper,
        row_names=model.row_names,
        column_names=model.column_names,
        offset=sign * model.offset,
    )
    return program, sign
