"""What can be said between the two parties: versioned, strict types for released and public data only.

No field takes a secret: the only vectors are a :class:`ReleasedVector`, which is made from a
:class:`~ppsm.privacy.Released` and nothing else, predictions, and what a market feels of a decision. Unknown
fields, numbers that are not finite, and texts or lists without end are refused.
"""

from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ppsm.privacy.released import Released, require_released

FORMAT: Literal["ppsm-message/1"] = "ppsm-message/1"
LONGEST_LIST = 20_000
NO_MESSAGE = "0" * 64

Number = Annotated[float, Field(allow_inf_nan=False)]
# JavaScript's and JSON's safe integers.
Whole = Annotated[int, Field(ge=0, lt=2**53)]
# Texts are shown in terminals and on pages: no signs that steer one or turn the writing around.
_SHOWN = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
Line = Annotated[str, Field(min_length=1, max_length=200, pattern=f"^{_SHOWN}+$")]
Sentence = Annotated[str, Field(max_length=1000, pattern=f"^{_SHOWN}*$")]
# A charge for another distance than the budget's has all digits of a float.
Decimal = Annotated[str, Field(max_length=1200, pattern=r"^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$")]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Signature = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
RoundId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
PartyName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Dataset = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$")]
UtcTime = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}\+00:00$")
]
Numbers = Annotated[list[Number], Field(max_length=LONGEST_LIST)]
Names = Annotated[list[Line], Field(max_length=LONGEST_LIST)]
Zones = Annotated[list[Whole], Field(max_length=LONGEST_LIST)]


class Strict(BaseModel):
    """Nothing is converted, nothing unknown is taken, nothing changes."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Record(Strict):
    """How released values came about (:class:`~ppsm.privacy.ReleaseRecord`)."""

    mechanism: Line
    private: bool
    alpha: Number
    epsilon: Number
    scale: Number
    total_scale: Number | None
    zones: Zones
    unit: Line
    adjacency: Line
    asked: Line
    dimension: Whole
    dataset: Dataset
    day: Day | None
    recipient: Line | None
    purpose: Line
    source: Line
    time: UtcTime
    seed: Whole | None


class Window(Strict):
    """What a data set lost within so many days."""

    days: Whole
    spent: Decimal


class Account(Strict):
    """What a data set has lost by all its releases."""

    alpha: Number
    unit: Line
    spent: Decimal
    windows: Annotated[list[Window], Field(max_length=20)]


class Receipt(Strict):
    """The ledger's answer to a spend; ``entry_hash`` is its head."""

    ledger: Line
    sequence: Whole
    entry_hash: Hash
    charged: Decimal
    account: Account


class ReleasedVector(Strict):
    """A :class:`~ppsm.privacy.Released` as it travels."""

    format: Line
    private: bool
    notice: Literal["NOT PRIVATE: the noise was drawn from a seed and can be subtracted"] | None = None
    labels: Names
    values: Numbers
    totals: Numbers
    steps: Annotated[list[Line], Field(max_length=20)]
    record: Record
    receipt: Receipt | None

    @classmethod
    def of(cls, released: Released) -> "ReleasedVector":
        """The only way to one from data: a secret, or bare numbers, are refused."""
        return cls.model_validate(require_released(released, "values of a message").to_dict())

    def to_released(self) -> Released:
        """What was sent; what contradicts itself is refused."""
        return Released.from_dict(self.model_dump(mode="json"))


class Terms(Strict):
    """What the follower's policy says to a party that may ask."""

    follower: PartyName
    market: Hash
    dataset: Dataset
    day: Day
    mechanism: Literal["ppsm", "ppsm-p"]
    alpha: Number
    epsilon: Number
    eta_p: Number
    eta_d: Number | None
    outcome: Literal["nothing", "released"]
    private: bool


class Ask(Strict):
    """The leader asks for a release of a data set for a day, in a market that both know."""

    market: Hash
    dataset: Dataset
    day: Day


class Noisy(Strict):
    """Step 1: D~, and the terms of this round."""

    released: ReleasedVector
    terms: Terms


class Felt(Strict):
    """What the follower's market feels of the leader's decision, and nothing else of it."""

    names: Names
    values: Numbers
    unit: Line


class Predicted(Strict):
    """Step 3a: the follower's prediction of its own value and prices."""

    value: Number
    prices: Numbers


class Fidelity(Strict):
    """Step 3b: what its search says of the vector it found."""

    status: Literal["optimal", "incumbent"]
    objective: Number
    bound: Number | None
    gap: Number | None
    nodes: Whole
    widening: Number
    widening_bound: Number
    value_band: Annotated[list[Number], Field(min_length=2, max_length=2)] | None
    has_price_band: bool
    value: Number
    price_distance: Number
    faithful: bool
    solvers: Annotated[list[Line], Field(max_length=20)]
    explanation: Sentence


class Restored(Strict):
    """D^ with the prediction it was held to, and its proof."""

    released: ReleasedVector
    predicted: Predicted
    fidelity: Fidelity


class Told(Strict):
    """The follower's market with D^ beside the leader's commitment, as far as the policy allows."""

    told: Literal["nothing", "released"]
    served: bool | None = None
    value: Number | None = None
    prices: Numbers | None = None


FailureCode = Literal["budget", "limit", "expired", "lost", "unsolved", "unusable", "market"]


class Failed(Strict):
    """The follower ends the round, and says why."""

    code: FailureCode
    message: Sentence


class Abandon(Strict):
    """The leader ends the round; the reason is one of few, so that nothing else can be told by it."""

    reason: Literal["not cleared", "not faithful", "not decided", "stopped"]


class Closed(Strict):
    """The follower has noted that the leader has ended the round."""


Body = TypeVar("Body", bound=Strict)


class Envelope(Strict, Generic[Body]):
    """What all messages have: their place in the chain of a round, who says so to whom, and what is said."""

    format: Literal["ppsm-message/1"] = FORMAT
    round: RoundId
    number: Annotated[int, Field(ge=0, le=9)]
    sender: PartyName
    recipient: PartyName
    time: UtcTime
    previous: Hash
    signature: Signature
    body: Body


class AskMessage(Envelope[Ask]):
    """The first message of a round."""

    kind: Literal["ask"] = "ask"


class NoisyMessage(Envelope[Noisy]):
    """The reply to ``ask``."""

    kind: Literal["noisy"] = "noisy"


class DecisionMessage(Envelope[Felt]):
    """Step 2b as the market feels it."""

    kind: Literal["decision"] = "decision"


class RestoredMessage(Envelope[Restored]):
    """The reply to ``decision``."""

    kind: Literal["restored"] = "restored"


class CommitmentMessage(Envelope[Felt]):
    """The leader's final decision as the market feels it."""

    kind: Literal["commitment"] = "commitment"


class OutcomeMessage(Envelope[Told]):
    """The reply to ``commitment``."""

    kind: Literal["outcome"] = "outcome"


class FailedMessage(Envelope[Failed]):
    """Instead of any reply: the round is over."""

    kind: Literal["failed"] = "failed"


class AbandonMessage(Envelope[Abandon]):
    """Instead of what the leader would send next: the round is over."""

    kind: Literal["abandon"] = "abandon"


class ClosedMessage(Envelope[Closed]):
    """The reply to ``abandon``."""

    kind: Literal["closed"] = "closed"


Request = AskMessage | DecisionMessage | CommitmentMessage | AbandonMessage
Reply = NoisyMessage | RestoredMessage | OutcomeMessage | FailedMessage | ClosedMessage
Message = Annotated[Request | Reply, Field(discriminator="kind")]

REQUESTS = {each.model_fields["kind"].default: each for each in get_args(Request)}
MESSAGES: dict[str, type[Request] | type[Reply]] = REQUESTS | {
    each.model_fields["kind"].default: each for each in get_args(Reply)
}
# What may follow what; an empty tuple ends the round. None is the beginning.
FOLLOWS: dict[str | None, tuple[str, ...]] = {
    None: ("ask",),
    "ask": ("noisy", "failed"),
    "noisy": ("decision", "abandon"),
    "decision": ("restored", "failed"),
    "restored": ("commitment", "abandon"),
    "commitment": ("outcome", "failed"),
    "abandon": ("closed", "failed"),
    "outcome": (),
    "failed": (),
    "closed": (),
}
LAST = tuple(kind for kind, after in FOLLOWS.items() if not after)

# Texts of messages mostly differ: remembering them, as pydantic does, would be memory that grows.
message_adapter: TypeAdapter[Request | Reply] = TypeAdapter(Message, config=ConfigDict(cache_strings="keys"))


class Refusal(Strict):
    """Why a request was not taken; unsigned, since it is no part of a round."""

    code: Line
    message: Sentence


class RoundStatus(Strict):
    """Where a round is."""

    round: RoundId
    state: Line
    messages: Whole


def plain(model: BaseModel) -> dict[str, Any]:
    """A message or a part of it in plain JSON types, without fields that have nothing to say."""
    return model.model_dump(mode="json", exclude_none=False)


def purpose_of(round_id: str, party: str) -> str:
    """What the ledger, and so the record of a release, says of a round."""
    return f"round {round_id} for {party}"
