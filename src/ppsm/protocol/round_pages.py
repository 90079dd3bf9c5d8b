"""What each side can look at: the follower its rounds and budget, the leader what it was told and decided.

Each page is one file that loads nothing. Nothing here opens the secret: pages are made from the ledger's
balance, the policy and the messages of rounds.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import ppsm
from ppsm.arrays import frozen_vector
from ppsm.cases.schema import Case
from ppsm.errors import PpsmError
from ppsm.experiments.pages import page_scripts
from ppsm.extras import installed
from ppsm.files import write_atomically
from ppsm.mechanism.dossier import Dossier
from ppsm.protocol.desk import FollowerDesk
from ppsm.protocol.leader_round import LeaderResult
from ppsm.protocol.messages import FailedMessage, NoisyMessage, Reply, Request, RestoredMessage
from ppsm.protocol.round_store import Round
from ppsm.protocol.tuning import TUNING

PAGE = "round.html"
_DAY_S = 86_400.0
_STATES = {
    "ask": "noise not drawn yet",
    "noisy": "waits for the decision",
    "decision": "in steps 3a and 3b",
    "restored": "waits for the commitment",
    "commitment": "clears the market",
    "abandon": "is being ended by the leader",
    "outcome": "done",
    "closed": "ended by the leader",
    "failed": "ended by us",
}


def follower_page(desk: FollowerDesk) -> str:
    """The follower's page as it is now."""
    rounds = desk.store.rounds(newest=TUNING.shown)
    said = {each.id: desk.store.messages(each.id) for each in rounds}
    return _render(
        "follower.html",
        scripts=None,
        now=_time(desk.store.clock()),
        party=desk.identity.name,
        policy=desk.policy,
        balance=_balance(desk),
        recipients=[_recipient(desk, name) for name in sorted(desk.policy.parties)],
        rounds=[_round(desk, each, said[each.id]) for each in rounds],
        releases=[found for each in rounds if (found := _release(each, said[each.id])) is not None],
        refusals=[
            {"time": _time(each.time), "peer": each.peer, "code": each.code, "message": each.message}
            for each in desk.store.refusals(newest=TUNING.shown)
        ],
    )


def _balance(desk: FollowerDesk) -> dict[str, Any]:
    """What is left of the ledger's budget, or why that cannot be said."""
    try:
        found = desk.ledger.balance(desk.policy.dataset)
    except PpsmError as error:
        return {"trouble": str(error)}
    return {
        "trouble": "",
        "granted": found.granted,
        "spent": found.spent,
        "left": found.left,
        "pays_for": max(int(found.left // Decimal(str(desk.policy.epsilon))), 0),
        "alpha": found.alpha,
        "unit": found.unit,
    }


def _recipient(desk: FollowerDesk, name: str) -> dict[str, Any]:
    allowance, now = desk.policy.parties[name], desk.store.clock()
    count, spent = desk.store.spent_by(name, now - allowance.window.total_seconds())
    return {
        "name": name,
        "rounds": f"{count:,} of {allowance.rounds:,}",
        "window": f"{allowance.window_days:g} days",
        "day": _amount(desk.store.spent_by(name, now - _DAY_S)[1]),
        "spent": _amount(spent),
        "left": _amount(max(allowance.epsilon - spent, 0.0)),
    }


def _round(desk: FollowerDesk, found: Round, messages: Sequence[Request | Reply]) -> dict[str, Any]:
    last = messages[-1]
    why = f": {last.body.message}" if isinstance(last, FailedMessage) else ""
    if not found.is_over and desk.store.clock() - found.touched > desk.policy.round_timeout_s:
        why = ", for longer than a round may take"
    return {
        "id": found.id[:12],
        "peer": found.peer,
        "opened": _time(found.opened),
        "state": _STATES[found.last] + why,
        "messages": len(messages),
    }


def _release(found: Round, messages: Sequence[Request | Reply]) -> dict[str, Any] | None:
    """A release with its certificate and its place in the ledger."""
    noisy = next((each.body for each in messages if isinstance(each, NoisyMessage)), None)
    restored = next((each.body for each in messages if isinstance(each, RestoredMessage)), None)
    if noisy is None:
        return None
    receipt = noisy.released.receipt
    proof = None if restored is None else restored.fidelity
    return {
        "id": found.id[:12],
        "peer": found.peer,
        "time": noisy.released.record.time[:16].replace("T", " "),
        "charged": "nothing, NOT private" if receipt is None else receipt.charged,
        "entry": "none" if receipt is None else f"{receipt.sequence}, {receipt.entry_hash[:12]}",
        "faithful": "not released yet" if proof is None else "yes" if proof.faithful else "no",
        "widening": "" if proof is None else _widened(proof.widening),
        "gap": "" if proof is None or proof.gap is None else _share(proof.gap),
    }


def _share(share: float) -> str:
    return f"{100 * share:.3g} %" if share >= TUNING.least_shown_gap else "none"


def _widened(factor: float) -> str:
    return "no" if factor <= 1.0 else f"{factor:.4g} times"


def write_leader_page(
    directory: Path, case: Case, result: LeaderResult, messages: Sequence[Request | Reply]
) -> None:
    """Write the leader's page of a round: what it was told, what it decided, maps."""
    dossier = result.dossier
    entries = zip(dossier.released.entry_names, dossier.noisy.values, dossier.released.values, strict=True)
    decided = next(step.output for step in dossier.steps if step.step == "2b")
    felt = result.cleared.felt
    committed = decided["values"] if felt is None else felt.tolist()
    text = _render(
        "leader.html",
        case=case,
        result=result,
        dossier=dossier,
        told=result.told,
        follower=messages[0].recipient,
        entries=[
            {"name": name, "noisy": _number(noisy), "released": _number(released)}
            for name, noisy, released in entries
        ],
        plants=[
            {"name": name, "decided": _number(first), "committed": _number(last)}
            for name, first, last in zip(decided["names"], decided["values"], committed, strict=True)
        ],
        unit=dossier.noisy.record.unit,
        felt_unit=decided["unit"],
        is_cleared=felt is not None,
        maps=_maps(case, dossier),
        scripts=page_scripts(),
        messages=[
            {
                "number": each.number,
                "kind": each.kind,
                "sender": each.sender,
                "time": each.time[:19].replace("T", " "),
            }
            for each in messages
        ],
    )
    write_atomically(directory / PAGE, text)


def _maps(case: Case, dossier: Dossier) -> list[tuple[str, Markup]]:
    """Gas prices as predicted by us, as predicted by the follower, and as the game was cleared."""
    if not installed("figures"):
        return []
    from ppsm.figures.embed import embedded
    from ppsm.figures.price_map import price_map

    titles = {"2a": "What we predicted", "3a": "What the follower predicted"}
    prices = {
        titles[step.step]: frozen_vector(step.output["prices"], len(case.junctions), "the price")
        for step in dossier.steps
        if step.step in titles
    }
    if dossier.evaluation is not None and dossier.evaluation.prices is not None:
        prices["Cleared with the release"] = dossier.evaluation.prices
    charts = {title: price_map(case, values, beside=prices.values()) for title, values in prices.items()}
    return [
        (title, embedded(chart, f"map{number}", f"Map of gas prices: {title}"))
        for number, (title, chart) in enumerate(charts.items())
    ]


def _number(value: float) -> str:
    return f"{value:,.1f}"


def _amount(epsilon: float | Decimal) -> str:
    """An amount of epsilon as people write it: 1,000 and 0.1."""
    return f"{Decimal(str(epsilon)).normalize():,f}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _render(template: str, **content: Any) -> str:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("ppsm.protocol"), PackageLoader("ppsm.experiments")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["amount"] = _amount
    style = resources.files("ppsm.experiments").joinpath("templates/style.css").read_text(encoding="utf-8")
    environment.globals.update(style=Markup(style), version=ppsm.__version__)  # noqa: S704 - our own file
    return environment.get_template(template).render(content)
