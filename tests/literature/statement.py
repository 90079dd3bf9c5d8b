"""What a published problem is made of.

Objectives and points are in the internal, minimised sense; ``leader_sign`` and ``follower_sign`` say where
the source maximises. ``follower_objective`` is the follower's cost of its own columns: terms of the source
that only the leader decides have no effect on the follower and are left out. Bounds that collections add
to help global solvers (say, ``y <= 10``) are left out, too; the tests show that they do not matter.
"""

from dataclasses import dataclass
from typing import Literal

from ppsm.program import BilevelProgram

FREE = -float("inf")


@dataclass(frozen=True, eq=False)
class BigMTrap:
    """Constants with which the usual big-M model passes the usual check and yet answers wrongly."""

    slack_constant: float
    multiplier_constant: float
    wrong_objective: float


@dataclass(frozen=True, eq=False)
class Problem:
    """A published problem, its known optimum and, where it is unique, the optimal point."""

    key: str
    citation: str
    program: BilevelProgram
    leader_objective: float | None
    follower_objective: float | None = None
    x: tuple[float, ...] | None = None
    y: tuple[float, ...] | None = None
    status: Literal["optimal", "infeasible"] = "optimal"
    note: str = ""
    trap: BigMTrap | None = None
