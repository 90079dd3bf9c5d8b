"""Pictures of cases and solutions: plain functions that return a matplotlib figure, and one that saves it.

No global state of matplotlib is touched: no pyplot, no windows, no open figures to close. ``maps`` draws
cases, solutions and prices in the ``layers`` of a map, from what ``state`` reads of a solution; ``curves``
draws what privacy costs; ``style`` has colours and saving. The names here are imported on demand: matplotlib
takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ppsm.figures.maps import case_map, price_panels, solution_map
    from ppsm.figures.style import save_figure

__all__ = ["case_map", "price_panels", "save_figure", "solution_map"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ppsm.figures' has no attribute '{name}'")
    module = "style" if name == "save_figure" else "maps"
    return getattr(import_module(f"ppsm.figures.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
