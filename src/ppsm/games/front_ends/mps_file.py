"""A linear program in an MPS file as a follower: the named rows' right-hand sides are the parameter."""

from pathlib import Path

from ppsm.bilevel.files.mps import read_mps
from ppsm.games.front_ends import refuse_integers
from ppsm.program import LinearProgram


def read_mps_program(path: str | Path) -> tuple[LinearProgram, float]:
    """The program, minimised, and the sense that it was written in."""
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
