"""What every method turns the KKT system into."""

from collections.abc import Callable
from dataclasses import dataclass

from ppsm.arrays import FloatArray
from ppsm.bilevel.verify import Finding
from ppsm.solvers.mip import MixedIntegerProgram


def _nothing_to_check(_: FloatArray) -> tuple[Finding, ...]:
    return ()


@dataclass(frozen=True, eq=False)
class Reformulation:
    """A single-level program whose first columns are those of the KKT relaxation.

    ``complete`` extends a point of the KKT system to the program's own columns (a start for the solver) and
    ``check`` looks at a solution for evidence against the reformulation itself.
    """

    problem: MixedIntegerProgram
    complete: Callable[[FloatArray], FloatArray]
    largest_m: float = 0.0
    check: Callable[[FloatArray], tuple[Finding, ...]] = _nothing_to_check
