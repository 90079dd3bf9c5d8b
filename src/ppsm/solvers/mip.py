"""Mixed-integer programs and their results, whoever solves them."""

from dataclasses import dataclass

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.program import LinearProgram
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class Indicators:
    """Rows that hold only when a binary column has a given value: ``column = value  =>  row <= upper``."""

    columns: IntArray
    values: BoolArray
    matrix: SparseMatrix
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Cuts:
    """Rows ``matrix @ columns <= upper`` (over the first columns) that every point of a problem obeys."""

    matrix: SparseMatrix
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class MixedIntegerProgram:
    """A linear program with integer columns and, for solvers that know them, SOS1 pairs and indicators.

    ``start`` is a point that SCIP may begin from; it need not be exactly feasible. HiGHS is never given one:
    a first point before the root's LP is what its wrong answers have in common (tests/canaries). With a
    ``cutoff`` SCIP looks for points below that cost only, and "infeasible" means that there are none.
    ``cuts`` are for SCIP; whoever doubts what it found with them does without.
    """

    linear: LinearProgram
    is_integer: BoolArray
    sos1_pairs: tuple[tuple[int, int], ...] = ()
    indicators: Indicators | None = None
    start: FloatArray | None = None
    cutoff: float | None = None
    cuts: Cuts | None = None


@dataclass(frozen=True)
class SolveLimits:
    """When a search may stop: gap (relative), seconds by the clock and (HiGHS) of the processor, threads.

    ``feasibility`` is how far rows, bounds and integers may be missed: tight by default; large models with
    figures of very different sizes need about 1e-7, and their answers are re-solved with integers fixed.
    ``another_path`` asks for a search with another seed and without presolve (SCIP, which does not presolve
    where it branches on pairs: with presolve and without cuts): for a second opinion. ``doubts_itself`` asks
    SCIP for another seed and no cuts even where presolve was what the claim had. ``lean`` leaves out
    what HiGHS does at the root of large programs, searches within the search and new starts: of small ones
    that is most of the time.
    """

    gap: float = 1e-9
    seconds: float = float("inf")
    processor_seconds: float = float("inf")
    threads: int = 1
    feasibility: float = 1e-9
    another_path: bool = False
    doubts_itself: bool = False
    lean: bool = False


@dataclass(frozen=True, eq=False)
class MipResult:
    """The outcome of a search; ``bound`` is a proven lower bound where the status has one.

    ``interrupted`` says that Ctrl-C ended it: whoever asked should not start another. ``presolved``
    says (of SCIP) whether presolve had a part in it, which whoever doubts it must then do without.
    """

    status: Status
    solver: str
    seconds: float
    objective: float | None = None
    bound: float | None = None
    columns: FloatArray | None = None
    nodes: int = 0
    interrupted: bool = False
    presolved: bool = False
