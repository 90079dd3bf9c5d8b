"""All published bilevel linear programs of the tests: the known optima that every method must reproduce."""

from tests.literature import since_1990, until_1990
from tests.literature.statement import BigMTrap, Problem

__all__ = ["PROBLEMS", "BigMTrap", "Problem"]

PROBLEMS: tuple[Problem, ...] = tuple(
    value
    for module in (until_1990, since_1990)
    for value in vars(module).values()
    if isinstance(value, Problem)
)
