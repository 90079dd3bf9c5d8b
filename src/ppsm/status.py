"""What a solve ended with, as a type."""

from enum import StrEnum


class Status(StrEnum):
    """How much an answer is worth.

    ``PROVEN_OPTIMAL``: an incumbent whose gap to a proven bound is within the tolerance asked for.
    ``INCUMBENT``: a limit stopped the search; the answer is feasible and comes with its gap.
    ``INFEASIBLE`` / ``UNBOUNDED``: proven to have no answer / no finite best one.
    ``NO_INCUMBENT``: a limit or a failed check left no answer that can be believed; a bound may be known.
    """

    PROVEN_OPTIMAL = "optimal"
    INCUMBENT = "incumbent"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    NO_INCUMBENT = "no_incumbent"

    @property
    def has_answer(self) -> bool:
        """Whether a feasible point comes with it."""
        return self in (Status.PROVEN_OPTIMAL, Status.INCUMBENT)


def relative_gap(objective: float, bound: float) -> float:
    """Distance of a minimiser's objective from its lower bound, relative to the objective (at least to 1)."""
    return max(0.0, objective - bound) / max(1.0, abs(objective))
