"""Followers from other tools: one file each for PyPSA, cvxpy, Pyomo and MPS files; linopy is beside this.

Each gives a :class:`ReadFollower`, which :class:`~ppsm.games.follower.Follower` takes over. Tools are loaded
where they are used; whoever lacks one is told what to install.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.errors import InputError, ModelError
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
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise InputError(
            f"this needs {module}, which is not installed: install it with pip install 'ppsm[{extra}]'."
        ) from None


def refuse_integers(names: Sequence[str], is_integer: Any) -> None:
    """A follower must have prices."""
    for index in np.flatnonzero(is_integer)[:1]:
        raise ModelError(
            f"the follower's variable '{names[index]}' is integer; expected a linear program, which has "
            "prices: relax it, or move it to the leader."
        )
