"""The pages of a stream, each one file that opens without a network: one for everybody, one for the owner."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from markupsafe import Markup

from ppsm.arrays import FloatArray
from ppsm.experiments.pages import render_page
from ppsm.experiments.story import Figure, Story
from ppsm.extras import installed
from ppsm.privacy.owner_only import for_owner_only
from ppsm.privacy.sensitive import Sensitive
from ppsm.streams.day_files import ReleasedDay


def public_page(days: Sequence[ReleasedDay], window: int, epsilon: float) -> str:
    """Budget, samples and clearing over the days: public parts only."""
    losses = np.array([day.loss for day in days])
    windows = np.convolve(losses, np.ones(window))[: losses.size]
    worst = float(losses.max(initial=0.0))
    sampled = f"{sum(day.sampled for day in days)} of {len(days)}"
    cleared = f"{sum(day.outcome.feasible for day in days)} of {len(days)}"
    most = float(windows.max(initial=0.0))
    return render_page(
        "stream.html",
        title="A stream of releases",
        warning="" if _private(days) else "The noise was drawn from a seed and can be subtracted.",
        story=Story(
            f"{len(days)} days were released, any {window} consecutive ones within epsilon {epsilon:g}; the "
            f"markets could be cleared on {cleared}.",
            (
                Figure("days with markets cleared", cleared),
                Figure("days measured", sampled),
                Figure(f"most that {window} days lost", f"epsilon {most:.3g} of {epsilon:g}"),
            ),
        ),
        charts=_public_pictures(days, windows, window, epsilon),
        sentences=[
            "Whoever sees the whole stream, and knows all other days and entries, changes the odds on one "
            f"entry of one day by at most a factor of {math.exp(worst):.4g}, on most days by "
            f"{math.exp(float(np.median(losses))):.4g}, and over a whole window by {math.exp(epsilon):.4g}.",
            f"Days whose release was pulled towards an earlier day so that the leader has an answer: "
            f"{sum(day.pulled > 0 for day in days)}.",
        ],
    )


def owners_page(days: Sequence[ReleasedDay], secrets: Sequence[Sensitive]) -> str:
    """How far each day is from the truth: for the owner only."""
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
        story=Story(
            f"The released days are {l1.mean():,.0f} {unit} in all from the true ones on average (L1), their "
            f"totals {total.mean():,.0f} {unit}.",
            (
                Figure("mean L1 distance", f"{l1.mean():,.0f} {unit}"),
                Figure("mean error of the total", f"{total.mean():,.0f} {unit}"),
                Figure("largest error of the total", f"{total.max(initial=0.0):,.0f} {unit}"),
            ),
        ),
        charts=_owners_pictures(days, l1, total, unit),
        sentences=[],
    )


def _private(days: Sequence[ReleasedDay]) -> bool:
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
