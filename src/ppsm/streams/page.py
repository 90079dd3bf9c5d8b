"""The pages of a stream, each one file that opens without a network: one for everybody, one for the owner."""

import io
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup
from matplotlib.figure import Figure

from ppsm.arrays import FloatArray
from ppsm.privacy.owner_only import for_owner_only
from ppsm.privacy.sensitive import Sensitive
from ppsm.streams.day_files import ReleasedDay

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title>
<style>body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}</style></head>
<body><h1>{{ title }}</h1>{% for text in sentences %}<p>{{ text }}</p>{% endfor %}{{ picture }}</body></html>
"""


def public_page(days: Sequence[ReleasedDay], window: int, epsilon: float) -> str:
    """Budget, samples and clearing over the days: public parts only."""
    losses = np.array([day.loss for day in days])
    windows = np.convolve(losses, np.ones(window))[: losses.size]
    worst = float(losses.max(initial=0.0))
    private = all(day.noisy is None or day.noisy.private for day in days)
    sentences = [
        f"{len(days)} days, {sum(day.sampled for day in days)} of them sampled, "
        f"{sum(day.outcome.feasible for day in days)} cleared; "
        f"{sum(day.pulled > 0 for day in days)} pulled towards an earlier day for an answer of the leader.",
        f"Any {window} consecutive days lose at most epsilon = {epsilon:g}; the most that a window lost is "
        f"{float(windows.max(initial=0.0)):.4g}.",
        "Whoever sees the whole stream, and knows all other days and entries, changes the odds on one entry "
        f"of one day by at most a factor of {math.exp(worst):.4g}, on most days by "
        f"{math.exp(float(np.median(losses))):.4g}, and over a whole window by {math.exp(epsilon):.4g}.",
    ]
    if not private:
        sentences.insert(0, "NOT PRIVATE: the noise was drawn from a seed and can be subtracted.")
    figure = Figure(figsize=(9.0, 5.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    at = _dates(days)
    upper.plot(at, [day.values.sum() for day in days], label="released total")
    sampled = [day for day in days if day.sampled]
    upper.plot(_dates(sampled), [day.values.sum() for day in sampled], "o", label="sampled")
    upper.set_ylabel(days[0].unit if days else "")
    upper.legend()
    lower.step(at, windows, where="post", label=f"last {window} days")
    lower.bar(at, losses, label="day")
    lower.axhline(epsilon, linestyle="--", color="black")
    lower.set_ylabel("epsilon")
    lower.legend()
    return _page("A stream of releases", sentences, figure)


def owners_page(days: Sequence[ReleasedDay], secrets: Sequence[Sensitive]) -> str:
    """How far each day is from the truth: for the owner only."""
    errors = [
        for_owner_only(secret, _distance_from(day.values)).reveal()
        for day, secret in zip(days, secrets, strict=True)
    ]
    l1 = np.array([error[0] for error in errors])
    total = np.array([error[1] for error in errors])
    figure = Figure(figsize=(9.0, 3.0), layout="constrained")
    axes = figure.subplots()
    axes.plot(_dates(days), l1, label="L1 distance")
    axes.plot(_dates(days), np.abs(total), label="error of the total")
    axes.set_ylabel(days[0].unit if days else "")
    axes.legend()
    sentence = (
        f"For the owner only: do not pass on. L1 distance {l1.mean():,.0f} on average, total off by "
        f"{np.abs(total).mean():,.0f}."
    )
    return _page("A stream against the truth", [sentence], figure)


def _distance_from(released: FloatArray) -> Callable[[FloatArray], tuple[float, float]]:
    def measure(truth: FloatArray) -> tuple[float, float]:
        return float(np.abs(released - truth).sum()), float(released.sum() - truth.sum())

    return measure


def _dates(days: Sequence[ReleasedDay]) -> np.ndarray[Any, np.dtype[np.datetime64]]:
    return np.array([day.day for day in days], dtype="datetime64[D]")


def _page(title: str, sentences: Sequence[str], figure: Figure) -> str:
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    picture = Markup(drawn.getvalue()[drawn.getvalue().index("<svg") :])  # noqa: S704 - our own picture
    template = Environment(autoescape=True).from_string(_PAGE)
    return template.render(title=title, sentences=sentences, picture=picture)
