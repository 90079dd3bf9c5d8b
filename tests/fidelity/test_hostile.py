"""Never a failure without a reason."""

from tests.fidelity.hostile import attack_all


def test_hostile_inputs_end_in_an_answer_or_a_reason() -> None:
    ended = attack_all(0, 60)
    assert sum(ended.values()) == 60
    assert ended["optimal"] + ended["incumbent"] >= 54, ended


def test_a_follower_that_earns_money_is_answered_though_nothing_attains_the_target() -> None:
    # Bands of 1e-9 around a value that no demand has: relaxations without a point end far away.
    assert attack_all(1008, 1009) == {"optimal": 1}
