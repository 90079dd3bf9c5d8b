"""Why a game has no solution, in words that name constraints."""

from dataclasses import replace

import numpy as np

from ppsm.bilevel.kkt import KktSystem
from ppsm.program import LinearProgram
from ppsm.solvers.conflict import find_conflict


def explain_infeasible(kkt: KktSystem) -> str:
    """Name a small set of constraints that rule out every solution of the game."""
    program = kkt.program
    leader_rows, follower_rows = len(program.leader_row_names), program.follower.shape[0]
    primal = _rows(kkt.relaxation, np.arange(leader_rows + follower_rows))
    dual = _rows(kkt.relaxation, np.arange(leader_rows + follower_rows, kkt.relaxation.shape[0]))
    if not program.leader_sees_prices:
        conflict = find_conflict(primal)
        if conflict is not None:
            return f"no leader decision leaves the follower an answer: {conflict}"
    unbounded = find_conflict(dual)
    if unbounded is not None:
        columns = ", ".join(name.removeprefix("stationarity of ") for name in unbounded.rows)
        return f"the follower's cost falls without limit along {columns}, whatever the leader does"
    conflict = find_conflict(kkt.relaxation)
    if conflict is not None:
        return f"leader and follower constraints conflict: {conflict}"
    return (
        "the linear relaxation has points, but none at which the leader's integers and constraints agree "
        "with an optimal answer of the follower"
    )


def _rows(program: LinearProgram, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> LinearProgram:
    return replace(
        program,
        matrix=program.matrix[rows, :],
        row_lower=program.row_lower[rows],
        row_upper=program.row_upper[rows],
        row_names=tuple(program.row_names[row] for row in rows),
    )
