"""The pages of a comparison and of a stream, each one file that opens without a network.

There are two of each, one for everybody and one for the owner. What may be shared and what may not are
different types: an :class:`ExampleRelease` and a :class:`~ppsm.streams.ReleasedDay` may, a
:class:`Comparison` may with public test data only, a secret never.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import ppsm
from ppsm.arrays import FloatArray
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.schema import Case
from ppsm.errors import InputError, PrivacyError
from ppsm.experiments import story
from ppsm.experiments.conclusion import Comparison
from ppsm.experiments.story import money
from ppsm.experiments.summaries import HEADINGS, shown
from ppsm.experiments.variants import LEARNED
from ppsm.extras import installed
from ppsm.mechanism.dossier import Dossier, Step
from ppsm.privacy.ledger.exact import in_words
from ppsm.privacy.owner_only import OwnerOnly, for_owner_only
from ppsm.privacy.sensitive import Sensitive
from ppsm.privacy.statement import odds
from ppsm.streams.day_files import ReleasedDay

_PLAIN, _REPAIRED = "plain Laplace noise", "PPSM's release"
# A change of a price that nobody needs to look at.
_KEPT_USD_PER_MMBTU = 0.05
# What the page says of a step's output.
_RESULTS = {
    "values": "values",
    "prices": "prices",
    "status": "status",
    "value": "market's cost",
    "cost": "leader's cost",
    "widening": "bands widened by the factor",
    "gap": "gap",
    "note": "",
}
_AMOUNTS = ("value", "cost")


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting:
    """Where a comparison was made; ``gas_stress`` is None for a demand of the owner's own."""

    case: Case
    power_stress: float
    gas_stress: float | None
    eta_p: float
    eta_d: float

    @property
    def cell(self) -> str:
        """The stress in words."""
        power = f"power load {self.power_stress:+.0%}"
        if self.gas_stress is None:
            return f"{power}, gas demand known to its owner alone"
        return f"{power}, gas demand {self.gas_stress:+.0%}"

    @property
    def without_secret(self) -> "Setting":
        """The same for everybody, where the demand is a secret: its stress tells every entry of it."""
        return replace(self, gas_stress=None)


@dataclass(frozen=True, eq=False)
class ExampleRelease:
    """One release that the report shows, with the game cleared at it: public parts only.

    ``plain`` is the same noise without repair, shown where the market could be cleared with it.
    """

    dossier: Dossier
    plain: Dossier | None = None

    def __post_init__(self) -> None:
        if self.dossier.evaluation is None:
            raise InputError("the release was not evaluated: clear the game with it before it is reported.")


def shareable_page(setting: Setting, example: ExampleRelease, comparison: Comparison | None) -> str:
    """The page for everybody.

    ``comparison`` is measured against the true demand, so it must be None unless that is public test data,
    which a private release never comes from.
    """
    dossier = example.dossier
    if comparison is not None and dossier.private:
        raise PrivacyError(
            "A private release was to be reported beside figures measured against its secret: give those to "
            "the owner's page only."
        )
    sentences = _release_sentences(dossier) if comparison is None else comparison.sentences
    noise = dossier.noisy.record
    told = story.released(dossier) if comparison is None else story.compared(comparison, noise.alpha)
    return render_page(
        "shareable.html",
        story=told,
        setting=setting.without_secret if comparison is None else setting,
        private=dossier.private,
        statement=dossier.statement,
        entries=noise.dimension,
        alpha=noise.alpha,
        sentences=sentences,
        **_comparison_parts(comparison),
        map=price_picture(setting.case, example),
        map_words=_map_words(setting.case, example),
        has_before=dossier.publication is not None,
        has_plain=_PLAIN in _prices_after(example),
        publication_words=_publication_words(dossier),
        steps=[{**each.to_dict(), "words": _step_words(each)} for each in dossier.steps],
        theory_words=_theory_words(dossier),
        dossier_json=dossier.to_json(),
    )


def owner_page(
    setting: Setting, secret: Sensitive, example: ExampleRelease, comparison: Comparison
) -> OwnerOnly[str]:
    """The page with the true demand; revealed only to be written where the owner alone can read it."""
    return for_owner_only(secret, lambda truth: _owner_text(setting, truth, example, comparison))


def _owner_text(setting: Setting, truth: FloatArray, example: ExampleRelease, comparison: Comparison) -> str:
    noisy, released = example.dossier.noisy.values, example.dossier.released.values
    names = example.dossier.released.entry_names
    labels = ("true MWh", "noisy MWh", "released MWh", "released - true")
    entries = [
        {"name": name, "cells": list(zip(labels, map(float, cells), strict=True))}
        for name, *cells in zip(names, truth, noisy, released, released - truth, strict=True)
    ]
    return render_page(
        "owner.html",
        setting=setting,
        public=not example.dossier.private,
        alpha=example.dossier.noisy.record.alpha,
        l1_noisy=float(np.abs(noisy - truth).sum()),
        l1_released=float(np.abs(released - truth).sum()),
        picture=_demand_picture(names, truth, noisy, released),
        entries=entries,
        sentences=comparison.sentences,
        **_comparison_parts(comparison),
    )


def render_page(template: str, **content: Any) -> str:
    """A page of ours, with its style and what draws its pictures inside."""
    environment = Environment(
        loader=PackageLoader("ppsm.experiments"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = resources.files("ppsm.experiments").joinpath("templates/style.css").read_text(encoding="utf-8")
    environment.filters["shown"] = shown
    environment.globals.update(
        style=Markup(style),  # noqa: S704 - our own file
        scripts=page_scripts(),
        version=ppsm.__version__,
        headings=list(HEADINGS),
    )
    return environment.get_template(template).render(content)


def _comparison_parts(comparison: Comparison | None) -> dict[str, Any]:
    if comparison is None or not comparison.rows:
        return {"table": [], "has_learned": False, "error_pictures": []}
    return {
        "table": [
            {"mechanism": each.mechanism.replace("+", " "), "cells": each.cells}
            for each in comparison.summaries
        ],
        "has_learned": any(row.mechanism == LEARNED for row in comparison.rows),
        "error_pictures": _error_pictures(comparison),
    }


# Pictures need the extra ``ppsm[figures]``; a page without them tells the same, and says how to get them.


def page_scripts() -> Markup | None:
    """What draws the pictures of a page; None where they cannot be drawn."""
    if not installed("figures"):
        return None
    from ppsm.figures.embed import chart_scripts

    return chart_scripts()


def _error_pictures(comparison: Comparison) -> list[Markup]:
    if not installed("figures"):
        return []
    from ppsm.experiments.charts import error_charts
    from ppsm.figures.embed import embedded

    return [embedded(chart, name, title) for name, (title, chart) in error_charts(comparison.rows).items()]


def _demand_picture(
    names: tuple[str, ...], truth: FloatArray, noisy: FloatArray, released: FloatArray
) -> Markup | None:
    if not installed("figures"):
        return None
    from ppsm.experiments.charts import demand_chart
    from ppsm.figures.embed import embedded

    chart = demand_chart(names, truth, noisy, released)
    return embedded(chart, "demand", "True, noisy and released demand of every delivery")


def price_picture(case: Case, example: ExampleRelease) -> Markup | None:
    """One map: how prices differ from the published ones, or where nothing is published, what they are."""
    after = _prices_after(example)
    if not installed("figures") or not after:
        return None
    from ppsm.figures.embed import embedded
    from ppsm.figures.price_map import difference_map, price_map

    publication = example.dossier.publication
    if publication is None:
        return embedded(price_map(case, after[_REPAIRED]), "map", "Map of gas prices with the release")
    chart = difference_map(case, publication.result.prices, after, kept_usd_per_mmbtu=_KEPT_USD_PER_MMBTU)
    return embedded(chart, "map", "Map of how gas prices differ from the published ones")


def _map_words(case: Case, example: ExampleRelease) -> str:
    """How many prices a release keeps and which it moves most, where the prices before are known."""
    publication = example.dossier.publication
    if publication is None:
        return ""
    sentences = []
    for title, prices in _prices_after(example).items():
        change = np.abs(prices - publication.result.prices) * MWH_PER_MMBTU
        kept, most = int((change <= _KEPT_USD_PER_MMBTU).sum()), int(change.argmax())
        sentence = (
            f"With {title} {kept} of {change.size} junctions keep their price within "
            f"${_KEPT_USD_PER_MMBTU:.2f} per MMBtu"
        )
        where = f"; the largest change is ${change[most]:.2f}, at junction {case.junctions[most].junction}"
        sentences.append(sentence + (where if kept < change.size else "") + ".")
    return " ".join(sentences)


def _prices_after(example: ExampleRelease) -> Mapping[str, FloatArray]:
    """Prices of the game cleared with a release, by what it was cleared with: first what went wrong."""
    found = {}
    for title, dossier in ((_PLAIN, example.plain), (_REPAIRED, example.dossier)):
        evaluation = None if dossier is None else dossier.evaluation
        if evaluation is not None and evaluation.prices is not None:
            found[title] = evaluation.prices
    return found


def _publication_words(dossier: Dossier) -> str:
    publication = dossier.publication
    if publication is None:
        return "The original market published nothing, so only prices of the release are shown."
    if publication.recorded:
        return (
            f"The prices before are public: the market published them for {publication.day} "
            f"({publication.source}; {publication.rounding}), which the ledger notes under the hash "
            f"{publication.entry_hash}. The prices after come from the release alone."
        )
    return (
        "The prices before are those that the market would publish; in this demonstration that act is "
        "simulated, with public data. The prices after come from the release alone."
    )


def _release_sentences(dossier: Dossier) -> list[str]:
    """What a private release did, from public numbers: published ones and the game cleared with it."""
    hidden = "How far the release is from the true demand is known to the owner alone."
    evaluation = dossier.evaluation
    if evaluation is None or evaluation.leader_cost is None:
        status = "" if evaluation is None else f" ({evaluation.status})"
        return [f"The game could not be cleared with the release{status}.", hidden]
    said = f"With the release the power operator pays {money(evaluation.leader_cost)}"
    if dossier.publication is not None:
        before = dossier.publication.result.leader_cost
        change = 100.0 * (evaluation.leader_cost - before) / max(abs(before), 1e-12)
        said += f"; the market published a cost of {money(before)}, which is a difference of {change:+.4f} %"
    gap = evaluation.gap
    tail = "" if gap is None else f" The cost with the release is known to a MIP gap of {100 * gap:.4f} %."
    return [f"{said}.{tail}", hidden]


def _step_words(step: Step) -> str:
    """The result of a step in a few words; the dossier has all of it."""
    words = []
    for name, title in _RESULTS.items():
        value = step.output.get(name)
        if isinstance(value, list):
            words.append(f"{len(value)} {title}")
        elif isinstance(value, float | int):
            words.append(f"{title} {money(value) if name in _AMOUNTS else f'{value:,.3g}'}")
        elif value:
            words.append(f"{title} {value}".strip())
    return ", ".join(words)


def _theory_words(dossier: Dossier) -> str:
    distance = dossier.theory.distance
    bound = distance.likely_l1
    if bound is None or not math.isfinite(bound):
        return f"Theory gives no bound on the distance: {distance.premise}."
    return (
        f"Theory: in 95 % of releases the released demand is within {bound:,.0f} MWh (L1) of the true one. "
        f"Premise: {distance.premise}."
    )


def stream_page(days: Sequence[ReleasedDay], window: int, epsilon: float) -> str:
    """The page of a stream for everybody: budget, samples and clearing over the days."""
    losses = np.array([day.loss for day in days])
    windows = _windows_to(days, window)
    worst = float(losses.max(initial=0.0))
    sampled = f"{sum(day.sampled for day in days)} of {len(days)}"
    cleared = f"{sum(day.outcome.feasible for day in days)} of {len(days)}"
    most = float(windows.max(initial=0.0))
    return render_page(
        "stream.html",
        title="A stream of releases",
        warning="" if _all_private(days) else "The noise was drawn from a seed and can be subtracted.",
        story=story.Story(
            f"{len(days)} days were released, any {window} consecutive ones within epsilon {epsilon:g}; the "
            f"markets could be cleared on {cleared}.",
            (
                story.Figure("days with markets cleared", cleared),
                story.Figure("days measured", sampled),
                story.Figure(f"most that {window} days lost", f"epsilon {most:.3g} of {epsilon:g}"),
            ),
        ),
        charts=_public_pictures(days, windows, window, epsilon),
        sentences=[
            "Whoever sees the whole stream, and knows all other days and entries, changes the odds on one "
            f"entry of one day by at most a factor of {math.exp(worst):.4g}, on most days by "
            f"{math.exp(float(np.median(losses))):.4g}, and over a whole window by {math.exp(epsilon):.4g}.",
            *_all_releases(days),
            f"Days whose release was pulled towards an earlier day so that the leader has an answer: "
            f"{sum(day.pulled > 0 for day in days)}.",
        ],
    )


def _windows_to(days: Sequence[ReleasedDay], window: int) -> FloatArray:
    """What the window that ends with each day has lost, by the calendar: days may have been left out."""
    dates = np.array([day.day for day in days], dtype="datetime64[D]")
    until = np.concatenate([[0.0], np.cumsum([day.loss for day in days])])
    first = np.searchsorted(dates, dates - np.timedelta64(window, "D"), side="right")
    return np.asarray(until[1:] - until[first])


def _all_releases(days: Sequence[ReleasedDay]) -> list[str]:
    """What all releases of the data set lose, as the ledger said with its last charge for these days."""
    receipts = [receipt for day in days for receipt in day.receipts]
    if not receipts:
        return []
    newest = max(receipts, key=lambda receipt: receipt.sequence)
    account = newest.account
    return [
        f"Whoever sees all releases of '{newest.record.dataset}' that the ledger had charged by then, to "
        f"whomever and of whatever day, and doubts an entry that may have moved by up to {account.alpha:g} "
        f"{account.unit} on every day, has the odds changed by at most a factor of {odds(account.spent)} "
        f"(epsilon = {in_words(account.spent)} in all)."
    ]


def stream_owner_page(days: Sequence[ReleasedDay], secrets: Sequence[Sensitive]) -> str:
    """The page of a stream for its owner only: how far each day is from the truth."""
    errors = [
        for_owner_only(secret, _distance_from(day.values)).reveal()
        for day, secret in zip(days, secrets, strict=True)
    ]
    l1 = np.array([error[0] for error in errors])
    total = np.abs([error[1] for error in errors])
    unit = days[0].unit if days else ""
    return render_page(
        "stream.html",
        title="A stream against the truth",
        warning="SECRET: for the owner's eyes only. Do not pass it on.",
        story=story.Story(
            f"The released days are {l1.mean():,.0f} {unit} in all from the true ones on average (L1), their "
            f"totals {total.mean():,.0f} {unit}.",
            (
                story.Figure("mean L1 distance", f"{l1.mean():,.0f} {unit}"),
                story.Figure("mean error of the total", f"{total.mean():,.0f} {unit}"),
                story.Figure("largest error of the total", f"{total.max(initial=0.0):,.0f} {unit}"),
            ),
        ),
        charts=_owners_pictures(days, l1, total, unit),
        sentences=[],
    )


def _all_private(days: Sequence[ReleasedDay]) -> bool:
    return all(day.noisy is None or day.noisy.private for day in days)


def _distance_from(released: FloatArray) -> Callable[[FloatArray], tuple[float, float]]:
    def measure(truth: FloatArray) -> tuple[float, float]:
        return float(np.abs(released - truth).sum()), float(released.sum() - truth.sum())

    return measure


def _public_pictures(
    days: Sequence[ReleasedDay], windows: FloatArray, window: int, epsilon: float
) -> list[Markup]:
    if not installed("figures"):
        return []
    from ppsm.experiments.charts import daily_chart
    from ppsm.figures.embed import embedded

    dates = [day.day.isoformat() for day in days]
    totals = {"released total": [float(day.values.sum()) for day in days]}
    marks = {day.day.isoformat() for day in days if day.sampled}
    lost = {f"last {window} days": windows.tolist(), "the day": [day.loss for day in days]}
    unit = days[0].unit if days else ""
    return [
        embedded(
            daily_chart(dates, totals, unit, marked=marks), "totals", "Released total by day, days measured"
        ),
        embedded(daily_chart(dates, lost, "epsilon", limit=epsilon), "losses", "Privacy loss by day"),
    ]


def _owners_pictures(
    days: Sequence[ReleasedDay], l1: FloatArray, total: FloatArray, unit: str
) -> list[Markup]:
    if not installed("figures"):
        return []
    from ppsm.experiments.charts import daily_chart
    from ppsm.figures.embed import embedded

    series = {"L1 distance": l1.tolist(), "error of the total": total.tolist()}
    chart = daily_chart([day.day.isoformat() for day in days], series, unit)
    return [embedded(chart, "errors", "Distance of the released days from the true ones")]
