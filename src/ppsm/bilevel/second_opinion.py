"""A second opinion on a claim of optimality: the search for a point of the game that beats the answer.

A MIP solver's bound is one program's word: presolve, cuts and a start that came with the program have made
HiGHS call a poor point optimal (tests/canaries), and a constant M that is too small cuts points off. So the
question is put again on a path of its own: by a search of our own (:mod:`ppsm.bilevel.methods.every_decision`
where decisions are few, else :mod:`ppsm.bilevel.methods.branching`), beyond the answer, with a proof at every
leaf. Where that takes too long SCIP is asked, in a form that has no constants, for a point below a cutoff:
about its own claims without start, cuts and heuristics, in another order and with another seed, with presolve
if the claim was made without, as it usually is, else without (:mod:`ppsm.solvers.scip`); where its LPs fail
on that path too, its last resort confirms nothing that was claimed with presolve. With a cutoff a search is
mostly shorter than the one that it judges. An opinion takes a part of the time of that search, and what it
left undecided is said.
"""

import math
import time
from dataclasses import dataclass, replace
from enum import StrEnum

from ppsm.arrays import FloatArray
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods import Search
from ppsm.bilevel.methods.branching import Branching, branch
from ppsm.bilevel.methods.every_decision import assignments_of, enumerate_assignments
from ppsm.bilevel.methods.scip_forms import sos1
from ppsm.bilevel.methods.tree import Tree
from ppsm.bilevel.methods.unbounded import question
from ppsm.bilevel.solution import Method
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import SolverError
from ppsm.solvers.mip import MipResult, SolveLimits
from ppsm.solvers.scip import ScipSearch, scip_is_installed, solve_mip_with_scip
from ppsm.status import Status


class Verdict(StrEnum):
    """What a second opinion says of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Opinion:
    """A verdict, how it was reached, and the better point (columns of the relaxation) of a refutation.

    ``interrupted`` says that Ctrl-C ended it: whoever asked should not start anything else; ``failed`` that a
    solver gave up.
    """

    verdict: Verdict
    words: str
    columns: FloatArray | None = None
    interrupted: bool = False
    failed: bool = False


@dataclass(frozen=True)
class Claim:
    """What is doubted: no point costs at most the ``cutoff``, or there is none at all; who says so.

    ``is_bounded`` says that the relaxation is known to be bounded, so that a solver may be given its cost;
    ``presolved`` that SCIP made the claim and its presolve had a part in it. ``scip`` is the search by SOS1
    sets that made it, whose model can be asked again (without integers, else one like it).
    """

    cutoff: float | None
    method: Method
    is_bounded: bool = False
    presolved: bool = False
    scip: ScipSearch | None = None


def second_opinion(
    kkt: KktSystem,
    claim: Claim,
    limits: SolveLimits,
    seconds: float,
    begun: Branching | None = None,
    *,
    tree_first: bool = False,
) -> Opinion:
    """Whether a point costs at most the cutoff (or exists at all), by someone who did not make the claim.

    Each way may take so many ``seconds``, within the limits: a search of our own, which goes on where a tree
    has ``begun`` before, and SCIP. Where pairs are many SCIP is far quicker, and our own search is asked only
    if it fails; but a new tree, for a short time, is asked before it, and so is one that is expected to be
    quick (``tree_first``).
    """
    deadline = time.perf_counter() + limits.seconds

    def by_ourselves(left: float) -> Opinion:
        until = time.perf_counter() + left
        if begun is None:
            return _by_ourselves(kkt, claim, until)
        return _of_tree(begun.run(until), "branching on pairs", claim.cutoff)

    def by_scip(left: float) -> Opinion:
        return _by_scip(kkt, claim, replace(limits, seconds=left))

    ways = [by_ourselves, by_scip] if scip_is_installed() else [by_ourselves]
    if kkt.pairs.size > TUNING.few_pairs and (begun is not None or math.isinf(seconds)) and not tree_first:
        ways.reverse()
    said: list[str] = []
    for way in ways:
        left = max(0.0, min(seconds, deadline - time.perf_counter()))
        if said and not left:
            break
        opinion = way(left)
        if opinion.verdict is not Verdict.UNDECIDED or opinion.interrupted:
            return opinion
        said.append(opinion.words)
        if way is by_scip and not opinion.failed:
            break
    if not scip_is_installed():
        said.append("SCIP, which could tell, is not installed")
    return Opinion(Verdict.UNDECIDED, "; ".join(said))


def _by_ourselves(kkt: KktSystem, claim: Claim, deadline: float) -> Opinion:
    """Few decisions are all tried, else our own tree is asked, unless either made the claim."""
    count = assignments_of(kkt.program, TUNING.assignments)
    search, name = branch, "branching on pairs"
    if count is not None and claim.method is not Method.ENUMERATION:
        search, name = enumerate_assignments, "enumeration"
    try:
        return search_for_better(search, name, kkt, claim.cutoff, deadline)
    except SolverError as error:
        return Opinion(Verdict.UNDECIDED, f"{name} came to no end: {error}")


def search_for_better(
    search: Search, name: str, kkt: KktSystem, cutoff: float | None, deadline: float
) -> Opinion:
    """Search the whole game for a point that costs at most the cutoff (any point, if there is none).

    The first one ends the search: whoever claimed that there is none was wrong.
    """
    return _of_tree(search(kkt, cutoff=cutoff, gap=0.0, deadline=deadline, first=True), name, None)


def _of_tree(tree: Tree, name: str, cutoff: float | None) -> Opinion:
    """The verdict of a search; one that began before the claim may hold a point that is no better."""
    said = f"after {tree.words}"
    if tree.columns is not None and (cutoff is None or tree.objective <= cutoff):
        return Opinion(Verdict.REFUTED, f"{name} found a better point {said}", tree.columns)
    if not tree.is_complete:
        ending = "interrupted" if tree.interrupted else "not through"
        return Opinion(Verdict.UNDECIDED, f"{name} was {ending} {said}", interrupted=tree.interrupted)
    if not tree.is_certified:
        return Opinion(Verdict.UNDECIDED, f"{name} left a leaf without proof, {tree.words}")
    return Opinion(Verdict.CONFIRMED, f"{name}, {tree.words}, a proof at every leaf")


def _by_scip(kkt: KktSystem, claim: Claim, limits: SolveLimits) -> Opinion:
    """SCIP by SOS1 sets, without a start; asked about itself, on another path."""
    is_itself = claim.method in (Method.SOS1, Method.INDICATOR)
    # SCIP presolves on its other path only, and as a last resort.
    another_path = is_itself and not claim.presolved
    feasibility = TUNING.scip_feasibility
    limits = replace(limits, another_path=another_path, doubts_itself=is_itself, feasibility=feasibility)
    try:
        result = _asked_of_scip(kkt, claim, limits)
    except SolverError as error:
        return Opinion(Verdict.UNDECIDED, str(error), failed=True)
    how = "with presolve" if another_path else "without presolve"
    words = f"{result.solver} by SOS1 sets{f', again, {how}' if is_itself else ''}"
    if result.status is Status.INFEASIBLE and is_itself and result.presolved == claim.presolved:
        return Opinion(Verdict.UNDECIDED, f"{words} came back to the claim's own path", failed=True)
    if result.status is Status.INFEASIBLE:
        return Opinion(Verdict.CONFIRMED, words)
    if result.columns is not None:
        found = result.columns[: kkt.relaxation.shape[1]]
        return Opinion(Verdict.REFUTED, f"{words} found a better point", found)
    ending = "was interrupted" if result.interrupted else f"was not through after {limits.seconds:.2g} s"
    return Opinion(Verdict.UNDECIDED, f"{words} {ending}", interrupted=result.interrupted)


def _asked_of_scip(kkt: KktSystem, claim: Claim, limits: SolveLimits) -> MipResult:
    """A point that refutes a claim, in its own model if there is one, or the verdict that none does."""
    if not claim.is_bounded or claim.cutoff is None:
        return solve_mip_with_scip(question(sos1(kkt).problem, claim.cutoff), limits)
    if claim.scip is None:
        return solve_mip_with_scip(replace(sos1(kkt).problem, cutoff=claim.cutoff), limits)
    claim.scip.doubt(claim.cutoff, limits)
    return claim.scip.run(limits.seconds)
