"""Games with several followers under the mechanisms: each follower's parameter is a secret of its own."""

import pickle

import numpy as np
import pytest

from ppsm import Sensitive, StackelbergGame
from ppsm.coordinations import GameCoordination
from ppsm.errors import InputError
from ppsm.fidelity import Bands
from ppsm.mechanism import PPSM, ModelBased, PPSM_p, PublicOutcome
from ppsm.mechanism.coordination import Decision
from ppsm.privacy import simulated_publication
from ppsm.status import Status
from tests.games.test_several_followers import gas, in_turn, power


def test_gas_is_sensitive_and_feels_what_power_burns() -> None:
    """A gas demand of 1 leaves 7 of cheap gas to burn: 5 of coal."""
    coordination = GameCoordination(in_turn(), of="gas", unit="GWh")
    assert coordination.entry_names == coordination.price_names == ("balance",)
    assert coordination.sensitive_follower == "gas"
    outcome = coordination.clear(np.array([1.0]))
    assert outcome.leader_cost == pytest.approx(0.5 * 5 + 2)
    assert outcome.values == pytest.approx({"power": 5 + 3 * 7, "gas": 16})
    assert outcome.prices is not None
    assert outcome.prices.tolist() == pytest.approx([2.0])
    decision = coordination.decide(np.array([1.0]), outcome.prices)
    assert decision.names == ("coal", "output[turbine]")
    coal, burn = decision.felt
    # two percent of the follower's value may be inconsistent: 0.16 of demand at a price of 2
    assert 5 - 0.16 - 1e-6 <= coal <= 5 + 1e-6
    assert burn == pytest.approx(12 - coal)
    follower = coordination.follower_at(decision)
    assert follower.solve([0.5]).value == pytest.approx(2 * (burn + 0.5))
    assert follower.solve([2.0]).value == pytest.approx(2 * 8 + 9 * (burn + 2 - 8))


def test_power_is_sensitive_and_gas_answers_it() -> None:
    """A demand of 10 needs 2 of coal for a burn of 8."""
    coordination = GameCoordination(in_turn(), of="power", unit="GWh")
    outcome = coordination.clear(np.array([10.0]))
    assert outcome.leader_cost == pytest.approx(0.5 * 2 + 2)
    decision = coordination.decide(np.array([10.0]), outcome.prices)
    assert decision.names == ("coal",)
    assert float(decision.felt[0]) == pytest.approx(2, abs=0.25)
    follower = coordination.follower_at(decision)
    assert follower.solve([10.0]).value == pytest.approx(30 - 2 * decision.felt[0])


def independent() -> StackelbergGame:
    """The leader pipes gas at 1 into the west, whose price it promised, and at 2 into the east."""
    game = StackelbergGame({"east": gas(), "west": gas("max")}, {"east": [11.0], "west": [10.0]})
    for name, felt, limit in (("east", 1.0, 5.0), ("west", -1.0, 6.0)):
        piped = game.leader.add_variables(lower=0, upper=20, name=f"to {name}")
        game.raise_right_hand_side("balance", -1 * piped, of=name)
        game.leader.add_constraints(felt * game.price("balance", of=name) <= limit, name=f"cap {name}")
    variables = game.leader.variables
    game.leader.add_objective(2 * variables["to east"] + 1 * variables["to west"])
    return game


def test_an_independent_follower_keeps_its_own_data() -> None:
    """The east needs 3 in any case; the west what its demand exceeds 8 by."""
    coordination = GameCoordination(independent(), of="west", unit="GWh")
    outcome = coordination.clear(np.array([12.0]))
    assert outcome.leader_cost == pytest.approx(2 * 3 + 4)
    assert outcome.values == pytest.approx({"east": 16, "west": -16})
    assert outcome.prices is not None
    assert -6 - 1e-6 <= outcome.prices[0] <= -2 + 1e-6
    decision = coordination.decide(np.array([12.0]), np.array([-2.0]))
    assert decision.names == ("to east", "to west")
    assert decision.felt == pytest.approx([3.0, 4.0], abs=0.2)
    assert decision.felt[0] == pytest.approx(3.0)
    follower = coordination.follower_at(decision)
    assert follower.solve([12.0]).value == pytest.approx(-(2 * 8 + 9 * (4 - decision.felt[1])))


def test_the_secret_of_a_follower_is_left_out_and_no_others() -> None:
    coordination = GameCoordination(independent(), of="west", unit="GWh")
    follower = coordination.follower_at(
        Decision(np.zeros(2), ("to east", "to west"), "", 0.0, Status.INCUMBENT)
    )
    assert follower.program.row_lower.tolist() == [0.0]
    assert not follower.nominal.any()


@pytest.mark.parametrize("of", ["power", "gas"])
def test_no_number_of_the_secret_stays(of: str) -> None:
    given = 11.87654321
    kept = pickle.dumps(GameCoordination(in_turn(parameter={of: [given]}), of=of, unit="GWh"))
    other = pickle.dumps(in_turn(parameter={of: [given]}).program())
    assert np.float64(given).tobytes() in other
    assert np.float64(given).tobytes() not in kept


def test_no_number_of_a_written_model_stays() -> None:
    given = 11.87654321
    game = StackelbergGame({"power": power(given), "gas": gas()})
    game.leader.add_objective(1 * game.leader.add_variables(lower=0, name="x"))
    assert np.float64(given).tobytes() in pickle.dumps(game.program())
    kept = pickle.dumps(GameCoordination(game, of="power", unit="GWh"))
    assert np.float64(given).tobytes() not in kept


@pytest.mark.parametrize("of", ["power", "gas"])
def test_a_mechanism_runs_on_either_follower(of: str) -> None:
    truth = np.array([{"power": 11.0, "gas": 1.5}[of]])
    coordination = GameCoordination(in_turn(), of=of, unit="GWh", bounds=(0, 40))
    secret = Sensitive(truth, dataset="two", unit="GWh", entry_names=coordination.entry_names)
    published = simulated_publication(coordination.market_result(truth), dataset="two")
    for mechanism, public in (
        (PPSM_p(alpha=1.0), PublicOutcome(published, seed=3)),
        (PPSM(alpha=1.0), PublicOutcome(published, seed=3)),
        (PPSM(alpha=1.0), ModelBased()),
    ):
        release = mechanism.simulate(secret, coordination, public, seed=1)
        result = release.fidelity
        assert result is not None
        assert result.certificate is not None
        assert result.certificate.faithful
        assert coordination.clear(release.released.values).feasible


def test_whose_parameter_is_sensitive_must_be_said() -> None:
    with pytest.raises(InputError, match=r"the game has the followers 'power', 'gas'.*say which by of="):
        GameCoordination(in_turn(), unit="GWh")


def test_no_cost_of_privacy_is_claimed() -> None:
    coordination = GameCoordination(in_turn(), of="gas", unit="GWh")
    decision = coordination.decide(np.array([1.0]), np.array([2.0]))
    found = coordination.cost_of_privacy(decision, Bands(2.0, 0.1))
    assert found == "the game has other followers, which answer the decision"
