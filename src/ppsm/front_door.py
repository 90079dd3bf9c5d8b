"""Names of a package that are loaded when they are first asked for.

Solvers, modelling libraries and matplotlib take a second each to load; whoever reads a case or a ledger needs
none of them.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def front_door(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package; ``homes`` says in which of its modules its names are."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(f"{package}.{home_of[name]}"), name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return get, listing
