"""Solve a bilevel program exactly and believe the answer only after an independent check."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ppsm.bilevel.by_methods import Methods
from ppsm.bilevel.by_turns import Turns
from ppsm.bilevel.infeasibility import explain_infeasible
from ppsm.bilevel.methods import own_search
from ppsm.bilevel.portfolio import own_progress
from ppsm.bilevel.record import Record
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import InputError, ModelError
from ppsm.program import BilevelProgram
from ppsm.solvers.highs import HIGHS
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status

# HiGHS ends the process when it cannot start as many threads as it is asked for.
_MOST_THREADS = 256


def solve_bilevel(
    program: BilevelProgram,
    *,
    method: Method | str = Method.AUTO,
    gap: float = 1e-9,
    time_limit: float = math.inf,
    threads: int = 1,
    units: Mapping[str, str] | None = None,
) -> BilevelSolution:
    """Solve a bilevel program to global (optimistic) optimality and verify the answer independently.

    Parameters
    ----------
    program
        The game in arrays.
    method
        One of :class:`Method`. ``auto`` branches on pairs where they are few and tries all decisions of a
        leader who has few; else it takes strong duality where every leader variable in the follower's rows
        is binary, else big-M where valid bounds can be proven, else SOS1 (needs SCIP).
    gap
        Relative gap at which the answer counts as proven optimal.
    time_limit
        Wall-clock seconds; the best answer so far and its bound are returned when they are over.
    threads
        Threads the solver may use.
    units
        Units by variable or constraint name, for the findings.

    Returns
    -------
    BilevelSolution
        An answer that failed verification is never returned as one: the findings say what was wrong with
        it, and the status is ``NO_INCUMBENT`` unless an earlier point passed.
    """
    if not isinstance(program, BilevelProgram):
        raise InputError(f"the program is a {type(program).__name__}; expected a ppsm.BilevelProgram.")
    chosen, limits = _method(method), _limits(gap, time_limit, threads)
    return _solved(program, chosen, limits, units, lambda record: _why_infeasible(record, chosen))


def _method(method: Method | str) -> Method:
    try:
        return Method(method)
    except ValueError:
        known = ", ".join(Method)
        raise InputError(f"the method '{method}' is unknown; expected one of: {known}.") from None


def _limits(gap: float, time_limit: float, threads: int) -> SolveLimits:
    for what, value in (("gap", gap), ("time limit", time_limit)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"the {what} is {value!r}; expected a number.")
    if not gap >= 0 or not math.isfinite(gap):
        raise InputError(f"the gap is {gap}; expected a finite number of at least 0, such as 1e-6.")
    if not time_limit > 0:
        raise InputError(f"the time limit is {time_limit}; expected seconds above 0.")
    if not isinstance(threads, int) or not 1 <= threads <= _MOST_THREADS:
        raise InputError(f"threads is {threads!r}; expected a whole number from 1 to {_MOST_THREADS}.")
    return SolveLimits(gap=gap, seconds=time_limit, threads=threads)


def _solved(
    program: BilevelProgram,
    method: Method,
    limits: SolveLimits,
    units: Mapping[str, str] | None,
    explain: Callable[[Record], str],
) -> BilevelSolution:
    record = Record(program, limits, units, explain)
    found = _searched(record, method)
    if found.status is not Status.PROVEN_OPTIMAL or found.second_opinion:
        return found
    # No method got so far: the point meets the relaxation's bound.
    opinion = record.second_opinion(found, 0.0)
    better = record.better(opinion, found)
    if better is not None:
        return record.reported(found, better, None, ())
    return record.with_opinion(found, opinion)


def _searched(record: Record, method: Method) -> BilevelSolution:
    if method is Method.AUTO:
        found = Turns(record).solution()
        return Methods(record, method).solution() if found is None else found
    asked = own_search(record.kkt, method)
    if asked is None:
        return Methods(record, method).solution()
    search, words = asked
    tree = search(record.kkt, cutoff=None, gap=record.limits.gap, deadline=record.deadline)
    base = record.base(method, "asked for", HIGHS)
    if tree.is_unbounded:
        return _unbounded(base)
    progress = own_progress(tree, words)
    found = Turns(record).heard(base, progress)
    if found is not None:
        return found
    if progress.gave_up:
        doubt = f"{words} of {tree.words} is through, but not all of it is proven; use the method 'auto'"
        base = replace(base, explanation=doubt)
    return record.left(base, interrupted=progress.interrupted)


def _unbounded(base: BilevelSolution) -> BilevelSolution:
    """A leaf of our own tree whose cost falls without end."""
    if base.program.is_integer.any():
        raise ModelError(
            "a leaf is unbounded, and branching cannot tell whether it has an integer point; "
            "bound the leader's variables or use the method 'sos1'."
        )
    return replace(base, status=Status.UNBOUNDED)


def _why_infeasible(record: Record, method: Method) -> str:
    """Which constraints are in conflict, from variations of the game that are solved in a short time each."""

    def solve(variation: BilevelProgram) -> BilevelSolution:
        seconds = min(TUNING.explanation_seconds, max(0.01, record.deadline - time.perf_counter()))
        return _solved(variation, method, replace(record.limits, seconds=seconds), None, lambda _: "")

    return explain_infeasible(record.kkt, solve)
