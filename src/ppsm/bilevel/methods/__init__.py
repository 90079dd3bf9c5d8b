"""The menu of methods, and which of them to try for a game, best first, and why.

::

    branching         our own tree over complementarity pairs, with a proof at every leaf
    every_decision    all decisions of a leader who has few, warm, with a proof for each
    better_decisions  from a decision of integers to better ones, without any proof
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
from ppsm.bilevel.methods.every_decision import assignments_of, enumerate_assignments
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


def own_search(kkt: KktSystem, method: Method) -> tuple[Search, str] | None:
    """The search of our own that was asked for, and what it makes; None where the method is not ours."""
    if method is Method.BRANCHING:
        return branch, "a tree"
    if method is not Method.ENUMERATION:
        return None
    if assignments_of(kkt.program) is None:
        raise ModelError(
            "enumeration needs a linear follower that only bounded integers of the leader move, with at most "
            f"{TUNING.most_assignments:,} values together, and no products in the objective; use "
            "method 'branching', 'big-m', 'sos1' or 'indicator'."
        )
    return enumerate_assignments, "a list"


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
    obstacle = ""
    try:
        for attempt in proven_forms(kkt, finder):
            yield attempt
            obstacle = f"the answer of method '{attempt.method}' failed verification"
    except BoundsOutOfTimeError:
        raise
    except NoValidBoundError as error:
        if not scip_is_installed():
            raise NoValidBoundError(
                f"{error.obstacle.rstrip('.')}; the methods that need no bound need SCIP, which is not "
                "installed: pip install 'ppsm[scip]'."
            ) from None
        obstacle = error.obstacle
    if scip_is_installed():
        yield Attempt(Method.SOS1, obstacle, sos1(kkt))
        yield Attempt(Method.INDICATOR, "the answer of method 'sos1' failed verification", indicator(kkt))


def proven_forms(kkt: KktSystem, finder: BoundFinder) -> Iterator[Attempt]:
    """Forms with constants that could be proven and are of a usable size, best first; an error if none."""
    obstacle = ""
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
        if attempt.form.largest_m <= TUNING.largest_sound_m:
            yield attempt
            obstacle = ""
            continue
        obstacle = f"the proven bounds reach {attempt.form.largest_m:.2g}, too large to be numerically sound"
    if obstacle:
        raise NoValidBoundError(f"{obstacle}.", obstacle)


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
