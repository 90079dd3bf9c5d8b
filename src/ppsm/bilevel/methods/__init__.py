"""The menu of methods, and which of them to try for a game, best first, and why.

::

    branching         our own tree over complementarity pairs, with a proof at every leaf
    enumeration       all decisions of a leader who has few, warm, with a proof for each
    tree              what the first two come to
    strong_duality    one row for all pairs, where the leader moves the follower by binaries
    big_m             a binary for each pair, with proven constants
    scip_forms        SOS1 sets and indicators, which need no constants
    unbounded         the same where the relaxation is unbounded
    reformulation     what the last four turn a game into
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.big_m import big_m
from ppsm.bilevel.methods.branching import branch
from ppsm.bilevel.methods.enumeration import assignments_of, enumerate_assignments
from ppsm.bilevel.methods.reformulation import Reformulation
from ppsm.bilevel.methods.scip_forms import indicator, sos1
from ppsm.bilevel.methods.strong_duality import coupled_variables, is_applicable, strong_duality
from ppsm.bilevel.methods.tree import Tree
from ppsm.bilevel.solution import Method
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import ModelError, NoValidBoundError
from ppsm.solvers.scip import need_scip, scip_is_installed


@dataclass(frozen=True, eq=False)
class Attempt:
    """A reformulation to try, and why this one."""

    method: Method
    reason: str
    form: Reformulation

    @property
    def needs_scip(self) -> bool:
        """Whether HiGHS cannot solve it."""
        return self.method in (Method.SOS1, Method.INDICATOR)


class Search(Protocol):
    """A search of our own; see :func:`ppsm.bilevel.methods.branching.branch`."""

    def __call__(
        self, kkt: KktSystem, *, cutoff: float | None, gap: float, deadline: float, first: bool = False
    ) -> Tree:
        """The best point, or the first one that costs at most the cutoff, until a deadline."""


@dataclass(frozen=True, eq=False)
class OwnSearch:
    """A search that proves its own leaves, why it, how long it is tried unasked, and how to call it."""

    method: Method
    reason: str
    seconds: float
    words: str
    run: Search


def own_searches(kkt: KktSystem, method: Method) -> Iterator[OwnSearch]:
    """Searches of our own to try before any solver's; an explicit method is the only one."""
    asked, automatic = method in (Method.BRANCHING, Method.ENUMERATION), method is Method.AUTO
    if method is Method.BRANCHING or (automatic and kkt.pairs.size <= TUNING.tree_pairs):
        why = "asked for" if asked else f"{kkt.pairs.size} pairs are few"
        yield OwnSearch(Method.BRANCHING, why, TUNING.tree_seconds, "a tree", branch)
    count = assignments_of(kkt.program)
    if method is Method.ENUMERATION and count is None:
        raise ModelError(
            "enumeration needs a linear follower that only bounded integers of the leader move, with at most "
            f"{TUNING.most_assignments:,} values together, and no products in the objective; use "
            "method 'branching', 'big-m', 'sos1' or 'indicator'."
        )
    if count is not None and (method is Method.ENUMERATION or (automatic and count <= TUNING.assignments)):
        why = "asked for" if asked else f"the leader's integers have {count} values together"
        yield OwnSearch(Method.ENUMERATION, why, TUNING.enumeration_seconds, "a list", enumerate_assignments)


def attempts(kkt: KktSystem, method: Method, finder: BoundFinder) -> Iterator[Attempt]:
    """The reformulations to try, best first; an explicit method is the only one."""
    if method is Method.STRONG_DUALITY:
        yield Attempt(method, "asked for", strong_duality(kkt, finder))
    elif method is Method.BIG_M:
        yield Attempt(method, "asked for", big_m(kkt, finder))
    elif method is Method.SOS1:
        need_scip("method='sos1'")
        yield Attempt(method, "asked for", sos1(kkt))
    elif method is Method.INDICATOR:
        need_scip("method='indicator'")
        yield Attempt(method, "asked for", indicator(kkt))
    else:
        yield from _automatic(kkt, finder)


def _automatic(kkt: KktSystem, finder: BoundFinder) -> Iterator[Attempt]:
    obstacle, tried = "", False
    for build in (_strong_duality, _big_m):
        try:
            attempt = build(kkt, finder)
        except BoundsOutOfTimeError:
            raise
        except NoValidBoundError as error:
            obstacle = error.obstacle
            continue
        if attempt is None:
            continue
        if attempt.form.largest_m > TUNING.largest_sound_m and scip_is_installed():
            obstacle = (
                f"the proven bounds reach {attempt.form.largest_m:.2g}, too large to be numerically sound"
            )
            continue
        yield attempt
        tried = True
        obstacle = f"the answer of method '{attempt.method}' failed verification"
    if not scip_is_installed():
        if tried:
            return  # what was found stays the answer; it says what was wrong with it
        raise NoValidBoundError(
            f"{obstacle.rstrip('.')}; the methods that need no bound need SCIP, which is not installed: "
            "run pip install pyscipopt."
        )
    yield Attempt(Method.SOS1, obstacle, sos1(kkt))
    yield Attempt(Method.INDICATOR, "the answer of method 'sos1' failed verification", indicator(kkt))


def _strong_duality(kkt: KktSystem, finder: BoundFinder) -> Attempt | None:
    if not is_applicable(kkt.program):
        return None
    binaries = int(coupled_variables(kkt.program).sum())
    why = f"the leader enters the follower's rows through {binaries} binaries only"
    if binaries == 0:
        why = "no decision of the leader moves the follower's rows"
    return Attempt(Method.STRONG_DUALITY, why, strong_duality(kkt, finder))


def _big_m(kkt: KktSystem, finder: BoundFinder) -> Attempt:
    form = big_m(kkt, finder)
    why = f"all {kkt.pairs.size} pairs have proven bounds (largest multiplier {form.largest_m:.4g})"
    return Attempt(Method.BIG_M, why, form)
