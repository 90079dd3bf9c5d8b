"""What the leader checks of the follower's proof: all of it that its own copy of the public market can tell.

That D^ is in the bands is certified anew. What the message says beside that must be so too, since it goes
into the leader's dossier: distance, value, bands and widening. Only how near to D~ a faithful vector can be
(the bound, the gap, the least widening) would take the follower's own search.
"""

import numpy as np

from ppsm.errors import ProtocolError
from ppsm.fidelity.certificate import TOLERANCE, Certificate, Claim, certify
from ppsm.fidelity.problem import MeasuredTotal
from ppsm.mechanism.coordination import Coordination
from ppsm.protocol.dossiers import Exchange
from ppsm.protocol.shared_market import mechanism_of


def certified(side: Coordination, exchange: Exchange) -> Certificate:
    """Check D^ by code that shares nothing with the search; :class:`ProtocolError` where it is not true."""
    told, names = exchange.restored.predicted.prices, side.price_names
    if len(told) != len(names):
        raise ProtocolError(f"The follower predicts {len(told)} prices of a market that has {len(names)}")
    claim = claim_of(side, exchange)
    certificate = certify(claim)
    if not certificate.faithful:
        found = certificate.findings[0]
        raise ProtocolError(
            f"D^ is not faithful to the bands that it claims ({found.what} '{found.name}', off by "
            f"{found.amount:g})"
        )
    for what in _false_statements(exchange, claim, certificate):
        raise ProtocolError(f"The proof of D^ states a false {what}")
    return certificate


def claim_of(side: Coordination, exchange: Exchange) -> Claim:
    """What the follower claims of D^, in terms of our own copy of the public market."""
    follower = side.follower_at(exchange.decision)
    bands = mechanism_of(exchange.noisy.terms).bands(exchange.prediction, side)
    # A widening below one is found false; until then it must not turn bands around.
    wide = bands.widened(max(1.0, exchange.restored.fidelity.widening))
    lower, upper = side.public_bounds
    return Claim(
        program=follower.program,
        parameter_map=follower.parameter_map,
        names=follower.parameter_names,
        sign=follower.sign,
        parameter=exchange.released.values,
        lower=lower,
        upper=upper,
        value=wide.value,
        value_width=wide.value_width,
        prices=wide.prices,
        price_width=wide.price_width,
    )


def _false_statements(exchange: Exchange, claim: Claim, certificate: Certificate) -> list[str]:
    """What the proof says and is not so."""
    said = exchange.restored.fidelity
    floor = claim.typical_price * claim.typical_quantity
    # Two builds of a solver differ in the last digits; a lie that small would change nothing.
    rounding = 10.0 * TOLERANCE

    def near(one: float, other: float, least: float) -> bool:
        return abs(one - other) <= rounding * max(abs(one), abs(other), least)

    distance, tiny = _distance(exchange), claim.typical_quantity**2
    band = (claim.value, claim.value_width)
    told = (None, 0.0) if said.value_band is None else tuple(said.value_band)
    true = {
        "verdict": said.faithful,
        "widening": said.widening >= 1.0,
        "distance": near(said.objective, distance, tiny),
        "bound": said.bound is None or said.bound <= distance + rounding * max(distance, tiny),
        "gap": said.gap is None or said.gap >= 0.0,
        "value": near(said.value, certificate.value, floor),
        "value band": all(
            one == other if one is None or other is None else near(one, other, floor)
            for one, other in zip(told, band, strict=True)
        ),
        "price band": said.has_price_band == (claim.prices is not None),
    }
    return [what for what, holds in true.items() if not holds]


def _distance(exchange: Exchange) -> float:
    """The objective of step 3b at D^, as :class:`~ppsm.fidelity.problem.MeasuredTotal` writes it down."""
    noisy, values = exchange.noisy.released.to_released(), exchange.released.values
    total, distance = MeasuredTotal.of(noisy), float(((values - noisy.values) ** 2).sum())
    if total is not None:
        distance += total.ratio**2 * (float(np.sum(values)) - total.value) ** 2
    return distance
