"""The conclusion says what the figures show, and says when they show nothing."""

from typing import Any

from ppsm.experiments.conclusion import conclude
from ppsm.experiments.row import Row
from tests.experiments.small import a_row


def row(mechanism: str, draw: int = 0, *, leader: float | None = 0.0, **given: Any) -> Row:
    """A row with a gap of 0.05 % that could be cleared unless it has no leader's error."""
    values = {
        "mechanism": mechanism,
        "alpha": 100.0,
        "repetition": draw,
        "feasible": leader is not None,
        "status": "infeasible" if leader is None else "optimal",
        "error_leader_percent": leader,
        "error_gas_percent": None if leader is None else 0.1,
        "original_gap": 0.0005,
        "released_gap": None if leader is None else 0.0005,
        "l1_noisy": 4000.0,
        "l1_released": 3000.0,
    }
    return a_row(**{**values, **given})


def text_of(*rows: Row, planned: int | None = None) -> str:
    return " ".join(conclude(rows, len(rows) if planned is None else planned))


def test_nothing_to_conclude() -> None:
    assert text_of(planned=9) == "No run is complete yet, so there is nothing to conclude."


def test_errors_above_the_gap_are_compared() -> None:
    text = text_of(row("laplace", leader=0.6), row("ppsm", leader=-0.2))
    assert "off by 0.600 % (largest MIP gap 0.050 %) with Laplace and off by 0.200 % (largest" in text
    assert "with PPSM, 3.0 times as much with Laplace" in text


def test_a_worse_ppsm_is_not_hidden() -> None:
    text = text_of(row("laplace", leader=0.2), row("ppsm", leader=0.6, l1_released=5000.0))
    assert "3.0 times as much with PPSM" in text
    assert "farther from the true demand" in text
    assert "off by at most 0.600 %, and was exactly the original one in 0 of them (largest MIP gap" in text


def test_errors_below_the_gap_are_not_told_apart() -> None:
    text = text_of(row("laplace", leader=0.04), row("ppsm", leader=0.001))
    assert "neither error exceeds the gap, so they cannot be told apart" in text
    assert "a difference below the gap proves nothing by itself" in text
    assert "times as much" not in text


def test_an_error_as_large_as_the_gap_does_not_exceed_it() -> None:
    text = text_of(row("laplace", leader=0.2353, released_gap=0.002352), row("ppsm", leader=0.0))
    assert "neither error exceeds the gap" in text


def test_only_one_error_above_the_gap() -> None:
    text = text_of(row("laplace", leader=-0.2353), row("ppsm", leader=0.0, released_gap=0.00235))
    assert "off by 0.235 % (largest MIP gap 0.050 %) with Laplace and exactly the original one (" in text
    assert "MIP gap 0.235 %) with PPSM; only the former error exceeds the gap" in text
    assert "a commitment that is better by less than that is not excluded" in text
    text = text_of(row("laplace", leader=0.01), row("ppsm", leader=0.2))
    assert "only the latter error exceeds the gap" in text


def test_no_difference_at_all() -> None:
    text = text_of(row("laplace"), row("ppsm"))
    assert "paid exactly the original cost with Laplace and with PPSM" in text


def test_only_draws_that_both_cleared_are_compared() -> None:
    runs = [
        row("laplace", 0, leader=0.2),
        row("ppsm", 0, leader=0.0),
        row("laplace", 1, leader=None),
        row("ppsm", 1, leader=9.0),
    ]
    text = text_of(*runs)
    assert "cleared in 1 of 2 draws at alpha 100 MWh" in text
    assert "PPSM in 2 of 2" in text
    assert "over the one draw in which both could be cleared" in text
    assert "only the former error exceeds the gap" in text
    assert "off by at most 9.000 %" in text
    assert "over" not in text_of(*runs[2:]).split("Over all")[0]


def test_what_is_not_proven_and_not_complete_is_said() -> None:
    text = text_of(row("laplace", leader=None, status="no_incumbent"), row("ppsm"), planned=9)
    assert "In 1 of the other runs no answer was found in the time limit and none was proven" in text
    assert "It is incomplete: 2 of 9 runs are done." in text
    assert "no answer was found" not in text_of(row("laplace", leader=None), row("ppsm"))


def learned(draw: int = 0, *, leader: float | None = 0.0, **given: Any) -> Row:
    claimed = {
        "history_days": 365.0,
        "cross_validated_value_percent": 2.5,
        "cross_validated_prices_percent": 4.0,
    }
    return row("ppsm+learned", draw, leader=leader, **{"widening": 1.0, **claimed, **given})


def test_what_learned_predictions_cost_is_compared_on_the_same_draws() -> None:
    runs = [row("laplace"), row("ppsm"), row("ppsm", 1, l1_released=9000.0)]
    text = text_of(*runs, learned(leader=0.3, error_gas_percent=-1.5, l1_released=3500.0, widening=12.34))
    assert "off by 2.500 % (the gas market's cost) and 4.000 % (prices)" in text
    assert "At alpha 100 MWh the markets could then be cleared in 1 of 1 draws, with bands up to 12.3" in text
    assert "the gas market's cost was off by 1.500 % instead of 0.100 %" in text
    assert "the power operator's by 0.300 % instead of 0 % (largest MIP gap 0.050 %)" in text
    assert "3,500 instead of 3,000 MWh from the true demand" in text


def test_learned_predictions_that_fail_are_said_to() -> None:
    text = text_of(row("laplace"), row("ppsm"), learned(leader=None))
    assert "could then be cleared in 0 of 1 draws." in text
    assert "instead of" not in text
    assert "learn from" not in text_of(row("laplace"), row("ppsm"))


def test_a_release_where_nothing_is_published_has_a_sentence_of_its_own() -> None:
    runs = [row("laplace"), row("ppsm")]
    text = text_of(*runs, row("ppsm+measured", leader=0.3, error_gas_percent=-1.5))
    assert "cleared in 1 of 1 draws at alpha 100 MWh (the gas market's cost off by 1.500 %, the power" in text
    assert "power operator's by 0.300 %)." in text
    assert "cleared in 0 of 1 draws at alpha 100 MWh." in text_of(*runs, row("ppsm+measured", leader=None))
    assert "nothing is published" not in text_of(*runs)


def test_one_run_is_spoken_of_as_one() -> None:
    assert "In the one cleared run of PPSM the operator paid exactly the original cost" in text_of(
        row("ppsm")
    )
    assert "In all 2 cleared runs of PPSM the" in text_of(row("ppsm"), row("ppsm", 1))
