"""Never a failure without a reason."""

from tests.fidelity.hostile import attack_all


def test_hostile_inputs_end_in_an_answer_or_a_reason() -> None:
    ended = attack_all(0, 60)
    assert sum(ended.values()) == 60
    answered = ended["optimal"] + ended["incumbent"]
    refused = ended["ModelError"]
    assert answered + refused >= 54, ended
