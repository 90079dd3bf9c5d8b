"""Pictures of cases and solutions: plain functions that return a matplotlib figure, and one that saves it.

No global state of matplotlib is touched: no pyplot, no windows, no open figures to close.
"""

from ppsm.figures.maps import case_map, price_panels, solution_map
from ppsm.figures.style import save_figure

__all__ = ["case_map", "price_panels", "save_figure", "solution_map"]
