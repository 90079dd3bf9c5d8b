"""All published bilevel programs of the tests: the known optima that every method must reproduce.

The statements follow the collections BASBLib and BOLIB, the tests of BilevelJuMP and the examples of other
tools, not the papers themselves; so do the example numbers. Those of Moore and Bard, Wen and Yang, Hansen et
al., Mitsos and Barton, and Pineda and Morales have not been compared with a printed source. Whatever a source
says, each statement is proven by enumeration.
"""

from tests.literature import (
    bard,
    bolib,
    dempe,
    handbook,
    markets,
    priced,
    since_2000,
    tools,
    until_1990,
    until_2000,
)
from tests.literature.statement import BigMTrap, Problem

__all__ = ["PROBLEMS", "BigMTrap", "Problem"]

MODULES = (until_1990, until_2000, since_2000, dempe, handbook, bard, tools, bolib, priced, markets)

PROBLEMS: tuple[Problem, ...] = tuple(
    value for module in MODULES for value in vars(module).values() if isinstance(value, Problem)
)
