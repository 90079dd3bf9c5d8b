"""Constants that are too small, planted where they are derived: no wrong answer is called verified.

Bounds on multipliers and slacks are cut to a share of what is true, in big-M, in strong duality and in the
automatic choice without its tree. A claim may then be weaker than it should be, but not wrong.
"""

from collections import Counter
from dataclasses import replace

import pytest
from tests.bilevel.no_turns import without_turns
from tests.games.claims import Claim, claim_of
from tests.games.kinds import KINDS, Truth, truth_about
from tests.literature.problems import PROBLEMS

from ppsm.bilevel import solve as engine
from ppsm.bilevel import standing
from ppsm.bilevel.bounds.finder import BoundFinder
from ppsm.bilevel.incumbent import FirstLook
from ppsm.bilevel.second_opinion import Opinion, Verdict
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import ModelError, NoValidBoundError
from ppsm.program import BilevelProgram

METHODS = (Method.BIG_M, Method.STRONG_DUALITY, Method.AUTO)
LINEAR = ("boxed", "open", "no prices", "rows of one kind", "variables of one type", "contradicted")
GAMES = [(kind, seed) for kind in LINEAR for seed in range(6)]
TRUTHS = {(kind, seed): truth_about(KINDS[kind](seed)) for kind, seed in GAMES}


def plant(monkeypatch: pytest.MonkeyPatch, *, multipliers: float = 1.0, slacks: float = 1.0) -> None:
    """Cut all ranges of multipliers, or all largest slacks, to a share of themselves.

    The first look, whose point is often the optimum of so small a game, sees nothing.
    """
    net, slack = BoundFinder._derive_net_range, BoundFinder._derive_slack

    def narrow(self: BoundFinder, side: int, twin: int) -> tuple[float, float]:
        low, high = net(self, side, twin)
        return multipliers * low, multipliers * high

    monkeypatch.setattr(BoundFinder, "_derive_net_range", narrow)
    monkeypatch.setattr(BoundFinder, "_derive_slack", lambda self, side: slacks * slack(self, side))
    without_turns(monkeypatch)
    monkeypatch.setattr(engine, "first_look", lambda *_: FirstLook(None, None, False, False))


def claim(program: BilevelProgram, method: Method, truth: Truth) -> Claim:
    try:
        found = solve_bilevel(program, method=method)
    except (ModelError, NoValidBoundError):
        return Claim.REFUSED
    return claim_of(minimised(found), truth)


def minimised(found: BilevelSolution) -> BilevelSolution:
    """The solution in the sense of the enumeration, which knows no maximisers."""
    sign = found.program.leader_sign
    objective, bound = found.leader_objective, found.leader_bound
    return replace(
        found,
        leader_objective=None if objective is None else sign * objective,
        leader_bound=None if bound is None else sign * bound,
    )


@pytest.mark.parametrize("shares", [(0.3, 1.0), (0.0, 1.0), (1.0, 0.3)], ids=["third of M", "no M", "slacks"])
@pytest.mark.parametrize("method", METHODS)
def test_random_games(method: Method, shares: tuple[float, float], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, multipliers=shares[0], slacks=shares[1])
    claims = Counter(claim(KINDS[kind](seed), method, TRUTHS[kind, seed]) for kind, seed in GAMES)
    assert not claims[Claim.WRONG]
    assert claims[Claim.RIGHT] >= 3


@pytest.mark.parametrize("shares", [(0.3, 1.0), (0.0, 1.0), (1.0, 0.3)], ids=["third of M", "no M", "slacks"])
def test_without_a_second_opinion_claims_are_wrong(
    shares: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is planted matters: who believes the first answer is deceived."""
    plant(monkeypatch, multipliers=shares[0], slacks=shares[1])
    monkeypatch.setattr(standing, "second_opinion", lambda *_, **__: Opinion(Verdict.CONFIRMED, "yes"))
    claims = Counter(claim(KINDS[kind](seed), Method.BIG_M, TRUTHS[kind, seed]) for kind, seed in GAMES)
    assert claims[Claim.WRONG] >= 3


@pytest.mark.parametrize("method", [Method.BIG_M, Method.AUTO])
def test_published_games(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, multipliers=0.2, slacks=0.5)
    for problem in PROBLEMS:
        truth = Truth(problem.status, problem.leader_objective)
        assert claim(problem.program, method, truth) is not Claim.WRONG, problem.key
