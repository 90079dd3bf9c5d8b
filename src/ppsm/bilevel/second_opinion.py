"""A second opinion on a claim of optimality: the search for a point of the game that beats the answer.

A MIP solver's bound is one program's word: presolve, cuts and a start that came with the program have made
HiGHS call a poor point optimal (tests/canaries). So the question is put again on a path of its own:
:mod:`ppsm.bilevel.methods.branching`, beyond the answer, with a proof at every leaf. Where that takes too
long, the method's own program is asked again, without start and presolve and with another seed.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from ppsm.arrays import FloatArray
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.branching import branch
from ppsm.solvers.mip import MixedIntegerProgram


class Verdict(StrEnum):
    """What a second opinion says of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Opinion:
    """A verdict, how it was reached, and the better point (columns of the relaxation) of a refutation."""

    verdict: Verdict
    words: str
    columns: FloatArray | None = None


def beyond(problem: MixedIntegerProgram, cutoff: float | None) -> MixedIntegerProgram:
    """A method's program without start and, if there is a cutoff, without all points that cost more."""
    linear = problem.linear if cutoff is None else problem.linear.capped(cutoff)
    return replace(problem, linear=linear, start=None)


def branch_for_better(kkt: KktSystem, cutoff: float | None, deadline: float) -> Opinion:
    """Search the whole game for a point that costs at most the cutoff (any point, if there is none).

    The first one ends the search: whoever claimed that there is none was wrong.
    """
    tree = branch(kkt, cutoff=cutoff, gap=0.0, deadline=deadline, first=True)
    if tree.columns is not None:
        return Opinion(
            Verdict.REFUTED, f"branching on pairs found a better point after {tree.words}", tree.columns
        )
    if not tree.is_complete:
        return Opinion(Verdict.UNDECIDED, f"branching on pairs was not through after {tree.words}")
    if not tree.is_certified:
        return Opinion(Verdict.UNDECIDED, f"branching on pairs left a leaf without proof, {tree.words}")
    return Opinion(Verdict.CONFIRMED, f"branching on pairs, {tree.words}, a proof at every leaf")
