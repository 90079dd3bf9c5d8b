"""How exactly the optimisers work, and what is tried where one of them gives up."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How PIQP starts (its proximal terms) and how many steps it may take.

    Most programs need 20 to 70 steps. Now and then one makes no headway from a start, but does from another.
    """

    primal: float
    dual: float
    steps: int


@dataclass(frozen=True)
class SolverTuning:
    """Tolerances and second tries, by solver."""

    # HiGHS
    lp_feasibility: float = 1e-9
    """Ten thousand times tighter than what verification allows, so that it never argues about rounding."""
    edge_feasibility: float = 1e-8
    """Of a vector on the edge of what an LP can serve, in units of its largest entry: it has been rounded."""
    retry_feasibility: float = 1e-6
    """Of a MILP that ended in numerical trouble: it often depends on the path taken."""
    grace_seconds: float = 2.0
    """So long after its time limit, and after it was told to stop, a search of HiGHS is waited for,"""
    grace_per_entry: float = 5e-3
    """and that much longer for every entry of its matrix: large ones notice a limit late when busy."""
    another_seed: int = 2
    """Of a search on another path."""

    # SCIP
    looser_feasibility: tuple[float, ...] = (1e-7, 1e-6)
    """Tried in turn where its LP solver gives up; answers are polished and verified like all others."""
    root_cuts: int = 1
    """So many rounds of cuts at the root of a program with integers and complementarity (more take longer
    than they save),"""
    node_cuts: int = 1
    """and so many at other nodes: trees of large games become a third as large."""
    tightenings: int = 1
    """So often are bounds tightened by what pairs imply before the search: not at all makes trees up to a
    hundred times as large, SCIP's five times take longer than small games."""

    # PIQP and Clarabel
    qp_tolerance: float = 1e-9
    """Residuals and gap that are asked for."""
    content_gap: float = 1e-6
    """An answer is used up to this proven gap if PIQP is content with it."""
    near_gap: float = 1e-7
    """And up to this one if it ran out of steps."""
    first: Effort = Effort(1e-3, 1e-6, 120)
    """PIQP's first try."""
    again: Effort = Effort(1e-6, 1e-4, 250)
    """Its second."""

    # conflicts
    support: float = 1e-7
    """A multiplier above this makes its row part of a conflict."""


TUNING = SolverTuning()
