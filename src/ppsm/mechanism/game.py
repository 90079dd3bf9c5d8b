"""Any :class:`~ppsm.games.stackelberg.StackelbergGame` as a coordination."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import InputError, ModelError
from ppsm.fidelity.problem import PublicBounds
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame
from ppsm.interrupts import watched
from ppsm.mechanism.coordination import Decision, Outcome
from ppsm.mechanism.fixed_prices import decide_at_prices
from ppsm.privacy.publication import MarketFigures
from ppsm.status import Status
from ppsm.theory import CostOfPrivacy, cost_of_privacy

FOLLOWER = "follower"


class GameCoordination:
    """A Stackelberg game whose follower's parameter is the sensitive vector.

    The parameter with which the game was written is left out: demands come with every call.

    Parameters
    ----------
    game
        The game; its leader may see prices and answers of the follower.
    unit
        The unit of the sensitive vector.
    bounds
        A public pair (least, largest) for the entries, ``(0, inf)`` by default.
    time_limit
        Seconds for clearing the game.
    """

    def __init__(
        self,
        game: StackelbergGame,
        *,
        unit: str,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        time_limit: float = 60.0,
    ) -> None:
        if not isinstance(game, StackelbergGame):
            raise ModelError(f"the game is a {type(game).__name__}; expected a ppsm.StackelbergGame.")
        self._unit, self.time_limit = unit, time_limit
        names = game.follower.parameter_names
        nothing = np.zeros(len(names))
        # The game's own parameter may be the secret; neither its numbers nor its rounding stay.
        self._follower = replace(game.follower, nominal=nothing)
        self._program = game.program(nothing)
        checked = PublicBounds.of(bounds, names)
        self._bounds = checked.lower, checked.upper

    @property
    def entry_names(self) -> tuple[str, ...]:
        """The follower's parameter."""
        return self._follower.parameter_names

    @property
    def unit(self) -> str:
        """The unit of the sensitive vector."""
        return self._unit

    @property
    def price_names(self) -> tuple[str, ...]:
        """All rows of the follower."""
        return self._follower.program.row_names

    @property
    def sensitive_follower(self) -> str:
        """There is only one follower."""
        return FOLLOWER

    @property
    def public_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of each entry."""
        return self._bounds

    def row_prices(self, follower_prices: FloatArray) -> FloatArray:
        """All of them."""
        return follower_prices

    def entry_prices(self, prices: FloatArray) -> FloatArray:
        """``F' prices``: the rate at which the follower's value rises with an entry."""
        return np.asarray(self._follower.parameter_map.T @ prices)

    def decide(self, demand: FloatArray, prices: FloatArray | None) -> Decision:
        """The leader's problem with prices fixed; see :mod:`ppsm.mechanism.fixed_prices`."""
        names = self._program.variable_names
        minimised = None if prices is None else self._follower.sign * self._checked_prices(prices)
        found = decide_at_prices(
            self._program, self._follower.parameter_map, self._checked(demand), self._bounds, minimised
        )
        if found is None:
            raise InputError(
                "the leader has no decision that any demand within the public bounds allows: mend the game "
                "or widen the bounds."
            )
        return Decision(found.variables, names, "leader's variables", found.cost, Status.PROVEN_OPTIMAL)

    def follower_at(self, decision: Decision) -> Follower:
        """The follower with the leader's decision moved to its right-hand sides."""
        shift = -(self._program.coupling @ decision.felt)
        return replace(self._follower, program=self._program.follower.shifted(np.asarray(shift)))

    def clear(self, demand: FloatArray) -> Outcome:
        """Solve the game exactly at a demand; Ctrl-C is raised, since an answer cut short is no outcome."""
        vector = self._checked(demand)
        shifted = self._program.follower.shifted(np.asarray(self._follower.parameter_map @ vector))
        with watched() as watch:
            found = solve_bilevel(replace(self._program, follower=shifted), time_limit=self.time_limit)
            watch.check()
        if not found.status.has_answer or found.follower_objective is None:
            return Outcome(found.status, None, found.leader_bound, None, {}, None, 1, found.explanation)
        prices = self._follower.sign * found.prices + 0.0
        values = {FOLLOWER: found.follower_objective}
        return Outcome(
            found.status, found.leader_objective, found.leader_bound, found.gap, values, prices, solved=1
        )

    def figures(self, demand: FloatArray) -> MarketFigures:
        """What the market publishes."""
        return published(self.clear(demand), FOLLOWER, self.price_names)

    def cost_of_privacy(
        self, decision: Decision, prices: FloatArray, entry_widths: FloatArray
    ) -> CostOfPrivacy | str:
        """The paper's theorem for this leader, integers fixed at the decision."""
        program = self._program
        if program.response_matrix.nnz or program.response_cost.any() or program.price_cost.any():
            return "the leader sees the follower's answer, or prices in its objective"
        banded = np.zeros(len(self.price_names), dtype=np.bool_)
        entries = self._follower.parameter_map.tocoo()
        banded[entries.row] = True
        if np.isin(np.unique(program.price_matrix.indices), np.flatnonzero(~banded)).any():
            return (
                "the leader sees prices of rows that the sensitive vector does not enter, which have no band"
            )
        widths = np.zeros(banded.size)
        np.maximum.at(widths, entries.row, entry_widths[entries.col] / np.abs(entries.data))
        if not np.isfinite(widths).all():
            return "a price band is infinite"
        try:
            return cost_of_privacy(program, self._follower.sign * prices, widths, decision.felt)
        except InputError:
            return "the leader has no solution at the predicted prices with its integers fixed"

    def separate(self) -> "GameCoordination":
        """The same object: every solve starts from nothing, so nothing is left behind."""
        return self

    def _checked(self, demand: ArrayLike) -> FloatArray:
        return frozen_vector(demand, len(self.entry_names), "the demand", names=self.entry_names)

    def _checked_prices(self, prices: ArrayLike) -> FloatArray:
        return frozen_vector(prices, len(self.price_names), "the price", names=self.price_names)


def published(outcome: Outcome, follower: str, price_names: tuple[str, ...]) -> MarketFigures:
    """What a cleared market publishes; an error where it could not be cleared."""
    if outcome.prices is None or outcome.leader_cost is None:
        raise InputError(
            f"the game has no outcome to publish (status '{outcome.status}'): its data cannot be served."
        )
    return MarketFigures(outcome.values[follower], outcome.prices, price_names, outcome.leader_cost)
