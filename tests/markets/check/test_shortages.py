"""Why a gas demand cannot be served."""

import numpy as np
from tests.markets.two_node import solved, two_node

from ppsm.markets.check.shortages import explain_game, explain_gas


def test_explanation_of_demand_that_cannot_be_served() -> None:
    market = two_node().followers.gas.market
    assert explain_gas(market, market.withdrawal_mwh([2300])) is None
    short = explain_gas(market, market.withdrawal_mwh([2400]))
    assert short is not None
    assert [(s.junction, round(s.amount_mwh, 6)) for s in short.shortages] == [("city", 100.0)]
    surplus = explain_gas(market, market.withdrawal_mwh([-50]))
    assert surplus is not None
    assert "city has 50 MWh too much" in str(surplus)


def test_explanation_names_supplies_and_pipes() -> None:
    market = two_node().followers.gas.market
    short = explain_gas(market, market.withdrawal_mwh([2400]))
    assert short is not None
    # the tank and the pipe (1800 MWh) are full: a MWh more of either is a MWh less short; wells have more
    assert {(limit.kind, limit.name, limit.relief) for limit in short.bottlenecks} == {
        ("supply", "tank/1", 1.0),
        ("pipe", "main", 1.0),
    }
    assert "at their limits" in str(short)
    surplus = explain_gas(market, market.withdrawal_mwh([-50]))
    assert surplus is not None
    assert surplus.bottlenecks == ()


def test_explanation_at_the_burn_that_matters() -> None:
    # 2250 MWh alone can be served, but not beside the 369 MWh that the cheapest commitment burns
    followers = two_node().followers
    solved()
    cheapest = two_node().unaware_answer(0.0)
    assert cheapest is not None
    why = explain_game(followers, np.array([2250.0]), cheapest)
    assert why is not None
    assert "before any plant" not in why
    assert "MWh that the cheapest commitment burns, city lacks" in why
    # a demand that is infeasible by itself is explained by itself too
    both = explain_game(followers, np.array([2400.0]), cheapest)
    assert both is not None
    assert "before any plant burns gas, city lacks 100 MWh" in both
    assert explain_game(followers, np.array([800.0]), cheapest) is None
