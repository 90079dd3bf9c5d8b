"""The two-node game, solved once for all tests."""

from functools import cache

from ppsm.cases import load_case
from ppsm.markets import GasAwareCommitment, GaucSolution

TWO_NODE = load_case("two_node")


@cache
def two_node() -> GasAwareCommitment:
    return GasAwareCommitment(TWO_NODE)


@cache
def solved() -> GaucSolution:
    return two_node().solve(0.0, [800.0], gap=1e-6)
