"""A second opinion on a claim of optimality: the search for a point of the game that beats the answer.

A MIP solver's bound is one program's word: presolve, cuts and a start that came with the program have made
HiGHS call a poor point optimal (tests/canaries), and a constant M that is too small cuts points off. So the
question is put again on a path of its own: by a search of our own (:mod:`ppsm.bilevel.methods.every_decision`
where decisions are few, else :mod:`ppsm.bilevel.methods.branching`), beyond the answer, with a proof at every
leaf. Where that takes too long SCIP is asked, in a form that has no constants and that the answer is not
from; among searches that take turns it is not asked about itself. An opinion takes a part of the time of the
search, and what it left undecided is said.
"""

import time
from dataclasses import dataclass, replace
from enum import StrEnum

from ppsm.arrays import FloatArray
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods import Search
from ppsm.bilevel.methods.branching import Branching, branch
from ppsm.bilevel.methods.every_decision import assignments_of, enumerate_assignments
from ppsm.bilevel.methods.scip_forms import indicator, sos1
from ppsm.bilevel.methods.tree import Tree
from ppsm.bilevel.methods.unbounded import question
from ppsm.bilevel.solution import Method
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import SolverError
from ppsm.solvers.mip import SolveLimits
from ppsm.solvers.scip import scip_is_installed, solve_mip_with_scip
from ppsm.status import Status


class Verdict(StrEnum):
    """What a second opinion says of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Opinion:
    """A verdict, how it was reached, and the better point (columns of the relaxation) of a refutation.

    ``interrupted`` says that Ctrl-C ended it: whoever asked should not start anything else.
    """

    verdict: Verdict
    words: str
    columns: FloatArray | None = None
    interrupted: bool = False


def second_opinion(
    kkt: KktSystem,
    cutoff: float | None,
    method: Method,
    limits: SolveLimits,
    searched: float,
    stretch: float = 1.0,
    begun: Branching | None = None,
    nodes: int = 0,
) -> Opinion:
    """Whether a point costs at most the cutoff (or exists at all), by someone who did not make the claim.

    ``method`` is the one that made the claim, after it had ``searched`` for so many seconds: each of the two
    ways may take a part of that, within the limits. ``stretch`` is how many seconds of the clock are one of
    the processor. A tree that has ``begun`` before goes on instead of a new search; it hardly ever needs
    fewer ``nodes`` than the claim took, so that for less than those it is asked for a few only.
    """
    share = TUNING.opinion_share * searched
    seconds = max(stretch * TUNING.opinion_seconds, share)
    deadline = time.perf_counter() + limits.seconds
    until = min(deadline, time.perf_counter() + seconds)
    if begun is None:
        opinion = _by_ourselves(kkt, cutoff, method, until)
    else:
        affordable = begun.nodes_in(share / stretch)
        few = TUNING.nodes_of_few_pairs if kkt.pairs.size <= TUNING.few_pairs else TUNING.opinion_nodes
        tree = begun.run(until, nodes=max(few, affordable) if affordable >= nodes else few)
        opinion = _of_tree(tree, "branching on pairs", cutoff)
        # SCIP on its own claim would take longer than its search: indicators are slower than SOS1 sets.
        seconds = 0.0 if method is Method.SOS1 else share
    remaining = min(seconds, deadline - time.perf_counter())
    if opinion.verdict is not Verdict.UNDECIDED or opinion.interrupted or remaining <= 0:
        return opinion
    if not scip_is_installed():
        return replace(opinion, words=f"{opinion.words}, and SCIP, which could tell, is not installed")
    return _by_scip(kkt, cutoff, method, replace(limits, seconds=remaining, another_path=True), opinion)


def _by_ourselves(kkt: KktSystem, cutoff: float | None, method: Method, deadline: float) -> Opinion:
    """Few decisions are all tried, else our own tree is asked, unless either made the claim."""
    count = assignments_of(kkt.program)
    search, name = branch, "branching on pairs"
    if count is not None and count <= TUNING.assignments and method is not Method.ENUMERATION:
        search, name = enumerate_assignments, "enumeration"
    try:
        return search_for_better(search, name, kkt, cutoff, deadline)
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


def _by_scip(
    kkt: KktSystem, cutoff: float | None, method: Method, limits: SolveLimits, first: Opinion
) -> Opinion:
    form, name = (indicator, "indicators") if method is Method.SOS1 else (sos1, "SOS1 sets")
    try:
        result = solve_mip_with_scip(question(form(kkt).problem, cutoff), limits)
    except SolverError as error:
        return Opinion(Verdict.UNDECIDED, f"{first.words}; {error}")
    if result.status is Status.INFEASIBLE:
        return Opinion(Verdict.CONFIRMED, f"{result.solver} by {name}, without presolve")
    if result.columns is not None:
        found = result.columns[: kkt.relaxation.shape[1]]
        return Opinion(Verdict.REFUTED, f"{result.solver} by {name} found a better point", found)
    ending = "was interrupted" if result.interrupted else f"was not through after {limits.seconds:.2g} s"
    return Opinion(
        Verdict.UNDECIDED, f"{first.words}; {result.solver} {ending}", interrupted=result.interrupted
    )
