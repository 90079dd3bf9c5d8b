"""What solving a bilevel program returns."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.bilevel.verify import Finding
from ppsm.program import BilevelProgram
from ppsm.status import Status


class Method(StrEnum):
    """How complementarity is enforced; ``auto`` picks one and says why."""

    AUTO = "auto"
    BRANCHING = "branching"
    ENUMERATION = "enumeration"
    STRONG_DUALITY = "strong-duality"
    BIG_M = "big-m"
    SOS1 = "sos1"
    INDICATOR = "indicator"


@dataclass(frozen=True, eq=False)
class BilevelSolution:
    """An answer with its evidence. Objectives are in the sense of the user's problem.

    ``variables``, ``responses`` and ``prices`` are empty when the status has no answer; ``findings`` are what
    verification held against an answer that was therefore not returned; ``explanation`` is a sentence on why
    there is no (proven) answer, or is empty.

    ``verified`` says that the point passed an independent check and, where it is called optimal, that its
    bound passed one too: ``second_opinion`` is who looked for a better point in vain, or why nobody could
    say. A claim that a game is infeasible has a second opinion as well.
    """

    status: Status
    # The follower's right-hand sides and answer may be what somebody keeps secret.
    program: BilevelProgram = field(repr=False)
    method: Method
    method_reason: str
    solver: str
    seconds: float
    leader_objective: float | None = None
    leader_bound: float | None = None
    gap: float | None = None
    follower_objective: float | None = field(default=None, repr=False)
    variables: FloatArray = field(default_factory=lambda: np.empty(0))
    responses: FloatArray = field(default_factory=lambda: np.empty(0), repr=False)
    prices: FloatArray = field(default_factory=lambda: np.empty(0))
    verified: bool = False
    second_opinion: str = ""
    bilevel_gap: float | None = None
    findings: tuple[Finding, ...] = ()
    explanation: str = ""

    def values(self) -> dict[str, float]:
        """Values of the leader's and follower's variables by name.

        A name that both levels use is told apart as ``leader NAME`` and ``follower NAME``.
        """
        numbers = (*self.variables.tolist(), *self.responses.tolist())
        return dict(zip(self.program.labels, numbers, strict=True)) if numbers else {}
