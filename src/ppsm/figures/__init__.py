"""Pictures of cases and solutions: plain functions that return a matplotlib figure, and one that saves it.

No global state of matplotlib is touched: no pyplot, no windows, no open figures to close. ``maps`` draws
cases, solutions and prices in the ``layers`` of a map, from what ``state`` reads of a solution, ``price_map``
prices that a reader of a page can touch; ``geography`` knows where things are, ``style`` saves. The names
here are imported on demand: matplotlib takes a second.
"""

from typing import TYPE_CHECKING

from ppsm.front_door import front_door

if TYPE_CHECKING:
    from ppsm.figures.maps import case_map, price_panels, solution_map
    from ppsm.figures.style import save_figure

__all__ = ["case_map", "price_panels", "save_figure", "solution_map"]

__getattr__, __dir__ = front_door(
    __name__, {"maps": ("case_map", "price_panels", "solution_map"), "style": ("save_figure",)}
)
