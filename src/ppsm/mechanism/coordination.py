"""What the mechanism asks of a game: decide with prices fixed, answer at a decision, clear with a demand.

Everything here is on the public side. Prices are those of the market's rows, named by ``price_names``, in the
sense of the user's model (signs: see :mod:`ppsm.program`); :meth:`Coordination.entry_prices` maps them to the
price of each entry of the sensitive vector, which is what the price band of the fidelity problem is about.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.errors import FileFormatError, InputError
from ppsm.fidelity.problem import Bands, HalfSpaces, Nearness
from ppsm.games.follower import Follower
from ppsm.labels import VectorLike
from ppsm.mechanism.published_cost import Day, LeastCost
from ppsm.mechanism.theory import CostOfPrivacy
from ppsm.privacy.publication import MarketResult
from ppsm.privacy.released import Released
from ppsm.status import Status
from ppsm.views import View, Viewed, figure, spread

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Decision:
    """The leader's decision of step 2b, as far as the follower feels it.

    ``felt`` is what is sent (for a game the leader's variables, for gas-aware unit commitment the daily burn
    of each plant); ``leader_cost`` is what the leader expects to pay for all of it, None where that was not
    told. ``half_spaces`` are what the released vector should satisfy so that nothing cheaper is there
    (:mod:`ppsm.mechanism.published_cost`). ``detail`` is whatever the coordination wants to remember of its
    own decision; it is not sent and not recorded.
    """

    felt: FloatArray
    names: tuple[str, ...]
    unit: str
    leader_cost: float | None
    status: Status
    note: str = ""
    detail: Any = None
    half_spaces: HalfSpaces | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is sent as plain JSON types."""
        asked = self.half_spaces
        return {
            "names": list(self.names),
            "values": self.felt.tolist(),
            "unit": self.unit,
            "cost": self.leader_cost,
            "status": self.status.value,
            "note": self.note,
            "half_spaces": None
            if asked is None
            else {"weights": asked.weights.tolist(), "least": asked.least.tolist()},
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Decision":
        """Read what :meth:`to_dict` returned."""
        with reading("decision"):
            names = tuple(str(name) for name in fields["names"])
            asked = fields.get("half_spaces")
            return cls(
                felt=frozen_vector(fields["values"], len(names), "the decision", names=names),
                names=names,
                unit=str(fields["unit"]),
                leader_cost=_number(fields["cost"]),
                status=Status(fields["status"]),
                note=str(fields["note"]),
                half_spaces=None if asked is None else HalfSpaces(asked["weights"], asked["least"]),
            )


@dataclass(frozen=True, eq=False)
class Outcome(Viewed):
    """A cleared game: what the leader pays, what each follower's market is worth, and the prices.

    Without an answer (``status.has_answer`` is false) the numbers are None and ``values`` is empty. ``felt``
    is what the sensitive follower feels of the leader's final decision, as in :class:`Decision`; it is the
    leader's to send, and not recorded.
    """

    status: Status
    leader_cost: float | None
    leader_bound: float | None
    gap: float | None
    values: dict[str, float]
    prices: FloatArray | None
    solved: int = 0
    explanation: str = ""
    price_names: tuple[str, ...] = ()
    felt: FloatArray | None = None

    def price_series(self) -> "pd.Series[float]":
        """The prices as a pandas Series, labelled by the market's rows."""
        import pandas as pd

        if self.prices is None:
            raise InputError(f"the game has no prices (status '{self.status}'): look at explanation first.")
        return pd.Series(self.prices, index=pd.Index(self.price_names, name="price"), name="price")

    def _view(self) -> View:
        costs = [("leader's cost", figure(self.leader_cost))]
        values = [(f"value, {name}", figure(value)) for name, value in self.values.items()]
        prices = [] if self.prices is None else [("prices", spread(self.prices))]
        return View(f"{self.status} {self.explanation}".strip(), [*costs, *values, *prices])

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

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Outcome":
        """Read what :meth:`to_dict` returned."""
        with reading("outcome"):
            prices = fields["prices"]
            return cls(
                status=Status(fields["status"]),
                leader_cost=_number(fields["leader_cost"]),
                leader_bound=_number(fields["leader_bound"]),
                gap=_number(fields["gap"]),
                values={str(name): float(value) for name, value in fields["values"].items()},
                prices=None if prices is None else frozen_vector(prices, len(prices), "the price"),
                explanation=str(fields["explanation"]),
            )


@dataclass(frozen=True, eq=False)
class LeaderRepair:
    """What the leader makes of a vector at which it has no answer: the nearest one at which it has.

    ``vector`` is None where none was found. ``reason`` says why there was none at the first.
    """

    vector: FloatArray | None
    reason: str


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever is wrong with the fields of a file into one sentence."""
    try:
        yield
    except FileFormatError:
        raise
    except KeyError as error:
        raise FileFormatError(f"The {what} has no field {error}: use one that ppsm wrote.") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"The {what} cannot be read ({error}): use one that ppsm wrote.") from None


def published(
    outcome: Outcome, follower: str, price_names: tuple[str, ...], felt_names: tuple[str, ...]
) -> MarketResult:
    """What a cleared market publishes; an error where it could not be cleared."""
    if outcome.prices is None or outcome.leader_cost is None:
        raise InputError(
            f"the game has no outcome to publish (status '{outcome.status}'): its data cannot be served."
        )
    value, felt = outcome.values[follower], outcome.felt
    names = () if felt is None else felt_names
    return MarketResult(value, outcome.prices, price_names, outcome.leader_cost, felt, names)


class FollowerSide(Protocol):
    """The sensitive follower's market as everybody knows it: what steps 1, 3a and 3b ask for.

    ``follower_at`` is a function of its argument and of public data alone.
    """

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
    def felt_names(self) -> tuple[str, ...]:
        """The names of what the market feels of a decision."""

    @property
    def felt_unit(self) -> str:
        """What it is measured in."""

    @property
    def public_bounds(self) -> tuple[FloatArray, FloatArray]:
        """What everybody knows about the entries: least and largest value of each."""

    @property
    def public_zones(self) -> tuple[int, ...]:
        """The zone of each entry, counted from 0, where prices may differ; empty where all are in one."""

    def row_prices(self, follower_prices: FloatArray) -> FloatArray:
        """The market's prices among the prices of all rows of the sensitive follower."""

    def entry_prices(self, prices: FloatArray) -> FloatArray:
        """The price of each entry: what one more unit of it costs the follower (``F' prices``)."""

    def follower_at(self, decision: Decision) -> Follower:
        """The sensitive follower once the leader has decided; its parameter is the sensitive vector.

        ``decision.detail`` is None in a decision that was read from a file or sent by another party.
        """


def insist_on_interface(given: object, *interfaces: type) -> None:
    """Refuse what lacks a member that the steps after the noise ask for: before the charge, not after it.

    A member that is inherited from the interface itself, where it has no body, is not there.
    """
    for interface in interfaces:
        members = {name: member for name, member in vars(interface).items() if not name.startswith("_")}
        missing = [name for name, member in members.items() if _lacks(given, name, member)]
        if missing:
            raise InputError(
                f"the {type(given).__name__} has no '{missing[0]}' ({len(missing)} missing), which the steps "
                f"after the noise ask for; expected all of {interface.__module__}.{interface.__name__}: add "
                "what is missing."
            )


def _lacks(given: object, name: str, member: object) -> bool:
    of_class = getattr(type(given), name, None)
    return of_class is member or (of_class is None and not hasattr(given, name))


def insist_on_unit(demand: VectorLike, unit: str) -> None:
    """Refuse a release in another unit; other numbers do not say theirs."""
    if isinstance(demand, Released) and demand.unit != unit:
        raise InputError(f"the release is in {demand.unit}, the game is in {unit}: convert its values.")


def insist_on_market(result: MarketResult, side: FollowerSide) -> None:
    """Refuse figures of another market: asked before they are noted or anything is charged for them."""
    _insist_on_names("prices", result.price_names, side.price_names)
    if result.felt is not None:
        _insist_on_names("decision", result.felt_names, side.felt_names)


def _insist_on_names(what: str, found: tuple[str, ...], expected: tuple[str, ...]) -> None:
    if found == expected:
        return
    missing = [name for name in expected if name not in set(found)]
    unknown = [name for name in found if name not in set(expected)]
    if missing:
        difference = f"have no figure for '{missing[0]}' ({len(missing)} missing)"
    elif unknown:
        difference = f"have '{unknown[0]}', which the market has not"
    else:
        difference = f"are in another order, beginning with '{found[0]}'"
    raise InputError(
        f"the {what} of the published figures {difference}; expected the {len(expected)} names of this "
        f"market in its order, beginning with '{expected[0]}': 'ppsm case template CASE --published' has the "
        "form."
    )


def published_decision(result: MarketResult, side: FollowerSide) -> Decision:
    """The decision that was published with a market result, as the one of step 2b."""
    if result.felt is None:
        raise InputError("no decision was published with the figures: publish it, or decide in step 2b.")
    _insist_on_names("decision", result.felt_names, side.felt_names)
    return Decision(
        result.felt, result.felt_names, "as published", result.leader_cost, Status.INCUMBENT, "as published"
    )


class Coordination(FollowerSide, Protocol):
    """A game as the mechanism sees it: the follower's side, and what the leader does beside it.

    What the mechanism promises rests on this: ``decide``, ``follower_at``, ``least_cost_at`` and
    ``cost_of_privacy`` are functions of their arguments and of public data alone. A solver that remembers
    what it saw at the true data and starts from it would carry the secret past step 1, so the steps of a
    private release play the game :meth:`without_memory`.
    """

    @property
    def sensitive_follower(self) -> str:
        """The name, in :attr:`Outcome.values`, of the follower whose data are sensitive."""

    def decide(self, demand: FloatArray, prices: FloatArray | None) -> Decision:
        """Step 2b: the leader's decision at predicted prices, with a public estimate of the demand.

        ``prices=None`` is the decision of a leader who knows nothing about prices.
        """

    def clear(self, demand: ArrayLike) -> Outcome:
        """Play the whole game with a demand vector.

        Where it has no answer the outcome says so and nothing is raised; Ctrl-C is raised again.
        """

    def repaired_for_leader(self, near: Nearness) -> LeaderRepair | None:
        """Step 3c: where the game has no answer at ``near.center``, the nearest vector at which it has.

        None where there is nothing to repair, or the coordination knows of no such search. The vector is
        within the public bounds.
        """

    def without_memory(self) -> "Coordination":
        """The same game, played by a solver that was only ever shown what private steps show it.

        Itself where nothing is remembered. Whoever is given it must not show it the truth.
        """

    def market_result(self, demand: ArrayLike) -> MarketResult:
        """Play the game and return what the market publishes; an error where it cannot be played."""

    def least_cost_at(self, prices: FloatArray) -> LeastCost | None:
        """A bound of the leader's cost while the market has these prices; None where none is known."""

    def cheapest_day(self, demand: FloatArray, prices: FloatArray, enough: float) -> Day | None:
        """What the leader's cheapest day on a demand costs, about, and the bound of all days like it.

        Costs are to be minimised. A search may begin near the published ``prices``, end with any day that is
        cheaper than ``enough``, and say ``enough`` where it finds none. None where the demand has no day.
        """

    def cost_of_privacy(self, decision: Decision, bands: Bands) -> CostOfPrivacy | str:
        """What encloses the leader's cost for all vectors in the bands; or one clause on why nothing does."""
