"""A market that both parties know, and the mechanism that a round's terms name."""

import hashlib
from dataclasses import dataclass
from typing import Generic, TypeVar

from ppsm.errors import ProtocolError
from ppsm.mechanism.coordination import FollowerSide
from ppsm.mechanism.mechanisms import PPSM, PPSM_p
from ppsm.protocol.messages import Terms
from ppsm.protocol.signatures import canonical

Side = TypeVar("Side", bound=FollowerSide, covariant=True)


@dataclass(frozen=True, eq=False)
class Market(Generic[Side]):
    """A side of a market, and the digest that tells it from others (:func:`ppsm.cases.sides.market_digest`).

    The leader's side is a :class:`~ppsm.mechanism.Coordination`, the follower's a
    :class:`~ppsm.mechanism.FollowerSide`.
    """

    side: Side
    digest: str


def digest_of(side: FollowerSide) -> str:
    """What tells a market from others where it has no tables: names, unit, public bounds and zones."""
    lower, upper = side.public_bounds
    content = [list(side.entry_names), list(side.price_names), side.unit, list(side.public_zones)]
    numbers = [[repr(float(each)) for each in bound] for bound in (lower, upper)]
    return hashlib.sha256(canonical([content, numbers])).hexdigest()


def mechanism_of(terms: Terms) -> PPSM_p:
    """The mechanism of a round."""
    if terms.mechanism == "ppsm-p":
        return PPSM_p(alpha=terms.alpha, epsilon=terms.epsilon, eta_p=terms.eta_p)
    if terms.eta_d is None:
        raise ProtocolError("The terms name the mechanism ppsm without eta_d: ask the follower to mend them.")
    return PPSM(alpha=terms.alpha, epsilon=terms.epsilon, eta_p=terms.eta_p, eta_d=terms.eta_d)
