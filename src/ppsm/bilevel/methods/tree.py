"""What a search of our own came to."""

from dataclasses import dataclass

from ppsm.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Tree:
    """The best point of a search and what is proven; costs are those of the relaxation, constant included.

    ``columns`` is the best point found, or None. ``bound`` is what every point of the game costs at least, as
    far as leaves and open nodes tell. ``is_complete`` says that no node is open, ``is_certified`` that every
    leaf has its proof. Where the cost of a leaf falls without end there is neither. Ctrl-C ends a search,
    which keeps its best point. ``words`` say how large it was.
    """

    columns: FloatArray | None
    objective: float
    bound: float
    nodes: int
    is_complete: bool
    is_certified: bool
    words: str
    is_unbounded: bool = False
    interrupted: bool = False
