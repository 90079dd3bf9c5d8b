"""What the certificate refuses."""

from dataclasses import replace

import numpy as np
from tests.markets.two_node import TWO_NODE, solved, two_node

from ppsm.markets import GasAwareCommitment, certify
from ppsm.status import Status


def test_the_certificate_refuses_what_is_tampered_with() -> None:
    answer = solved()
    assert answer.on is not None
    assert answer.output_mw is not None
    assert answer.burn_mwh is not None
    assert answer.leader_cost_usd is not None
    assert answer.electricity_value_usd is not None
    less = answer.on.copy()
    less[0] -= 1
    low = answer.output_mw.copy()
    low[1] = 39.0
    assert answer.offers is not None
    out_of_order = answer.offers.copy()
    out_of_order[0, 0] -= 1
    fewer = answer.offers.copy()
    fewer[0, 1] = 0
    for tampered, part in (
        (replace(answer, on=less), "EM"),
        (replace(answer, leader_cost_usd=answer.leader_cost_usd - 1), "misstated"),
        (replace(answer, electricity_value_usd=answer.electricity_value_usd + 1), "EM can do better"),
        (replace(answer, output_mw=low), "below least output"),
        (replace(answer, burn_mwh=answer.burn_mwh * 0.9), "burn does not follow"),
        (replace(answer, demand_mwh=np.array([1900.0])), "GM has another value"),
        (replace(answer, bound_usd=answer.leader_cost_usd * 1.01), "bound above"),
        (replace(answer, on=None), "incomplete"),
        (replace(answer, offers=None), "incomplete"),
        (replace(answer, offers=out_of_order), "blocks selected out of order"),
        (replace(answer, offers=fewer), "does not cover the fuel"),
    ):
        assert any(part in str(fault) for fault in certify(tampered).findings), part


def test_the_certificate_checks_the_reserve() -> None:
    # at the peak coal gives 90 of 120 MW and gas 60 of 100 MW: 70 MW to spare for 150 MW of load
    for fraction, expected in ((70 / 150, []), (71 / 150, ["too little reserve"])):
        stricter = replace(solved(), case=replace(TWO_NODE, reserve_fraction=fraction))
        assert [fault.what for fault in certify(stricter).findings] == expected


def test_the_certificate_refuses_invalid_bids() -> None:
    solver = two_node()
    entry = solver.memory.get(0.0, (0,))
    if entry is None:
        solver.solve(0.0, [800.0])
        entry = solver.memory.get(0.0, (0,))
    assert entry is not None
    power = solver.followers.power_answer(0.0, entry.on, entry.offers)
    assert power is not None
    game = solver.followers.game_answer(power, np.array([800.0]))
    assert game is not None
    assert game.invalid == ("gas",)
    claimed = replace(
        solved(),
        on=power.on,
        output_mw=power.dispatch.output_mw,
        burn_mwh=power.dispatch.burn_mwh,
        leader_cost_usd=power.leader_cost_usd,
        electricity_value_usd=power.dispatch.cost_usd,
        gas_value_usd=game.gas.cost_usd,
        gas_prices_usd_per_mwh=game.gas.prices_usd_per_mwh,
        offers=power.offers,
        levels=power.levels,
        bound_usd=power.leader_cost_usd,
    )
    certificate = certify(claimed)
    assert [fault.what for fault in certificate.findings] == [
        "bids are invalid at every optimal gas price",
        "the last selected block does not cover the fuel",
    ]
    assert certificate.invalid_bids == ("gas",)


def test_the_certificate_knows_what_em_may_do_with_the_offers() -> None:
    """In the two-node day block 2 of the gas plant is offered for its price; EM needs the plant."""
    answer = solved()
    assert certify(answer).clean
    assert answer.offers is not None
    assert answer.on is not None
    withdrawn, off = answer.offers.copy(), answer.on.copy()
    withdrawn[0, :, 0] = off[1, 0] = 0
    found = [str(fault) for fault in certify(replace(answer, offers=withdrawn, on=off)).findings]
    assert any("does not cost what is claimed" in fault for fault in found)


def test_the_certificate_knows_what_is_sold_of_a_pipe() -> None:
    """The plant burns some gas beside the homes' 800 MWh, all of it through the pipe."""
    answer = solved()
    assert answer.burn_mwh is not None
    flow = 800.0 + float(answer.burn_mwh.sum())
    (pipe,) = TWO_NODE.pipes

    def findings(capacity_mwh: float) -> list[str]:
        case = replace(TWO_NODE, pipes=(replace(pipe, capacity_mwh=capacity_mwh),))
        return [fault.what for fault in certify(replace(answer, case=case)).findings]

    assert findings(flow + 1.0) == []
    # the tank would have to give the last MWh, at 30 $ instead of 20
    assert "GM has another value" in findings(flow - 1.0)


def test_an_answer_within_what_is_sold_is_certified() -> None:
    """Of 900 MWh through the pipe 100 are left for the plant at 10 $/MWh, the next cost 30 $."""
    (pipe,) = TWO_NODE.pipes
    solver = GasAwareCommitment(replace(TWO_NODE, pipes=(replace(pipe, capacity_mwh=900.0),)))
    answer = solver.solve(0.0, [800.0], gap=1e-6)
    assert answer.gas_columns is not None
    flow = answer.gas_columns[solver.followers.gas.market.variables.positions("pipe_flow_mwh")]
    assert flow.max() <= 900.0 + 1e-6
    assert answer.status is Status.PROVEN_OPTIMAL
    assert certify(answer).clean
