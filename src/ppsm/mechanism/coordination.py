"""What the mechanism asks of a game: decide with prices fixed, answer at a decision, clear with a demand.

Everything here is on the public side. Prices are those of the market's rows, named by ``price_names``, in the
sense of the user's model (signs: see :mod:`ppsm.program`); :meth:`Coordination.entry_prices` maps them to the
price of each entry of the sensitive vector, which is what the price band of the fidelity problem is about.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from ppsm.arrays import FloatArray
from ppsm.games.follower import Follower
from ppsm.privacy.publication import MarketFigures
from ppsm.status import Status
from ppsm.theory import CostOfPrivacy


@dataclass(frozen=True, eq=False)
class Decision:
    """The leader's decision of step 2b, as far as the follower feels it.

    ``felt`` is what is sent (for a game the leader's variables, for gas-aware unit commitment the daily burn
    of each plant); ``cost`` is what the leader expects to pay for all of it. ``detail`` is whatever the
    coordination wants to remember of its own decision; it is not sent and not recorded.
    """

    felt: FloatArray
    names: tuple[str, ...]
    unit: str
    cost: float
    status: Status
    note: str = ""
    detail: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is sent as plain JSON types."""
        return {
            "names": list(self.names),
            "values": self.felt.tolist(),
            "unit": self.unit,
            "cost": self.cost,
            "status": self.status.value,
            "note": self.note,
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """A cleared game: what the leader pays, what each follower's market is worth, and the prices.

    Without an answer (``status.has_answer`` is false) the numbers are None and ``values`` is empty.
    """

    status: Status
    leader_cost: float | None
    leader_bound: float | None
    gap: float | None
    values: dict[str, float]
    prices: FloatArray | None
    solved: int = 0
    explanation: str = ""

    @property
    def feasible(self) -> bool:
        """Whether the game could be cleared."""
        return self.status.has_answer

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain JSON types."""
        return {
            "status": self.status.value,
            "leader_cost": self.leader_cost,
            "leader_bound": self.leader_bound,
            "gap": self.gap,
            "values": dict(self.values),
            "prices": None if self.prices is None else self.prices.tolist(),
            "explanation": self.explanation,
        }


class Coordination(Protocol):
    """A game as the mechanism sees it."""

    @property
    def entry_names(self) -> tuple[str, ...]:
        """The names of the sensitive vector's entries."""

    @property
    def unit(self) -> str:
        """The unit of the sensitive vector."""

    @property
    def price_names(self) -> tuple[str, ...]:
        """The names of the market's prices."""

    @property
    def sensitive_follower(self) -> str:
        """The name, in :attr:`Outcome.values`, of the follower whose data are sensitive."""

    @property
    def public_bounds(self) -> tuple[FloatArray, FloatArray]:
        """What everybody knows about the entries: least and largest value of each."""

    def row_prices(self, follower_prices: FloatArray) -> FloatArray:
        """The market's prices among the prices of all rows of the sensitive follower."""

    def entry_prices(self, prices: FloatArray) -> FloatArray:
        """The price of each entry of the sensitive vector."""

    def decide(self, demand: FloatArray, prices: FloatArray | None) -> Decision:
        """Step 2b: the leader's decision at predicted prices, with a public estimate of the demand.

        ``prices=None`` is the decision of a leader who knows nothing about prices.
        """

    def follower_at(self, decision: Decision) -> Follower:
        """The sensitive follower once the leader has decided."""

    def clear(self, demand: FloatArray) -> Outcome:
        """Play the whole game with a demand vector."""

    def figures(self, demand: FloatArray) -> MarketFigures:
        """Play the game and return what the market publishes; an error where it cannot be played."""

    def cost_of_privacy(
        self, decision: Decision, prices: FloatArray, entry_widths: FloatArray
    ) -> CostOfPrivacy | str:
        """How far prices in the band can move the leader's cost; or one clause on why it cannot be said."""

    def separate(self) -> "Coordination":
        """The same game with solvers of its own: what it sees leaves no trace in this one."""
