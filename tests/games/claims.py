"""What a method says about a game, held against the enumeration."""

from dataclasses import dataclass
from enum import StrEnum

from tests.games.kinds import KINDS, Truth, truth_about

from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import ModelError, NoValidBoundError
from ppsm.program import BilevelProgram
from ppsm.status import Status

TOLERANCE = 1e-6


class Claim(StrEnum):
    """How a method did on one game; only ``WRONG`` is a fault, ``UNPROVEN`` and ``UNVERIFIED`` a weakness."""

    RIGHT = "right"
    REFUSED = "refused"
    UNPROVEN = "unproven"
    UNVERIFIED = "right but unverified"
    WRONG = "wrong"


@dataclass(frozen=True)
class Judged:
    """One method on one game."""

    kind: str
    seed: int
    method: Method
    status: str
    claim: Claim
    said: str


def game(number: int) -> tuple[str, int, BilevelProgram]:
    """Games are numbered; their kinds take turns."""
    names = list(KINDS)
    kind, seed = names[number % len(names)], number // len(names)
    return kind, seed, KINDS[kind](seed)


def judged(number: int, methods: tuple[Method, ...]) -> list[Judged]:
    """Each of some methods on a game, held against the enumeration."""
    kind, seed, program = game(number)
    truth = truth_about(program)
    return [_judge(kind, seed, program, method, truth) for method in methods]


def rotating(number: int) -> tuple[Method, ...]:
    """The automatic choice, and one of the other methods in turn."""
    others = [method for method in Method if method is not Method.AUTO]
    return Method.AUTO, others[(number // len(KINDS) + number) % len(others)]


def _judge(kind: str, seed: int, program: BilevelProgram, method: Method, truth: Truth) -> Judged:
    try:
        found = solve_bilevel(program, method=method)
    except (ModelError, NoValidBoundError) as error:
        return Judged(kind, seed, method, truth.status, Claim.REFUSED, str(error))
    said = f"{found.status.value} {found.leader_objective} (truth: {truth.status} {truth.objective})"
    return Judged(kind, seed, method, truth.status, claim_of(found, truth), said)


def claim_of(found: BilevelSolution, truth: Truth) -> Claim:
    """A bound above the optimum and a feasible point below it are wrong claims, too."""
    best = truth.objective
    if found.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return Claim.RIGHT if found.status.value == truth.status else Claim.WRONG
    if best is None:
        has_claim = found.status.has_answer and truth.status == "infeasible"
        has_claim |= found.status is Status.PROVEN_OPTIMAL
        return Claim.WRONG if has_claim else Claim.UNPROVEN
    slack = TOLERANCE * max(1.0, abs(best))
    objective, bound = found.leader_objective, found.leader_bound
    if objective is not None and objective < best - slack:
        return Claim.WRONG
    if bound is not None and bound > best + slack:
        return Claim.WRONG
    if found.status is not Status.PROVEN_OPTIMAL:
        return Claim.UNPROVEN
    if objective is None or objective > best + slack:
        return Claim.WRONG
    return Claim.RIGHT if found.verified else Claim.UNVERIFIED
