"""The story of a page in one sentence and three numbers, as people write them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppsm.experiments.conclusion import Comparison
from ppsm.experiments.row import Row
from ppsm.mechanism.dossier import Dossier


@dataclass(frozen=True)
class Figure:
    """A number with its name; ``before`` is that of plain noise, where there is one."""

    name: str
    after: str
    before: str | None = None


@dataclass(frozen=True)
class Story:
    """What a reader knows after twenty seconds."""

    headline: str
    figures: tuple[Figure, ...]


def compared(comparison: Comparison, alpha: float) -> Story:
    """Plain noise against PPSM at one alpha, measured against the truth: public test data only."""
    plain, ppsm = _both(comparison.rows, alpha)
    return Story(
        f"With noise of {alpha:g} MWh to hide every delivery {_difference(plain, ppsm)}.",
        (
            Figure("markets cleared", _cleared(ppsm), _cleared(plain)),
            Figure("power operator's cost is off by", _off(ppsm, "leader"), _off(plain, "leader")),
            Figure("gas market's cost is off by", _off(ppsm, "gas"), _off(plain, "gas")),
        ),
    )


def _difference(plain: Sequence[Row], ppsm: Sequence[Row]) -> str:
    """How many draws clear; where that is the same, the first cost that is nearer to the truth."""
    if _cleared(plain) == _cleared(ppsm):
        for cost, whose in (("power operator's cost", "leader"), ("gas market's cost", "gas")):
            before, after = _mean_error(plain, whose), _mean_error(ppsm, whose)
            if before is not None and after is not None and after < before:
                return f"the {cost} is off by {percent(before)}; repaired by PPSM, by {percent(after)}"
    return f"the markets clear in {_cleared(plain)} draws; repaired by PPSM, in {_cleared(ppsm)}"


def experiment(rows: Sequence[Row]) -> Story:
    """All cells of an experiment, at the largest noise: plain against PPSM."""
    largest = max(row.alpha for row in rows)
    plain, ppsm = _both(rows, largest)
    cells = len({row.cell for row in rows})
    return Story(
        f"{len(rows):,} runs in {cells} stress {'cell' if cells == 1 else 'cells'}: with noise of "
        f"{largest:g} MWh the markets can be cleared in {_share(plain)} of the runs with plain noise and in "
        f"{_share(ppsm)} with PPSM.",
        (
            Figure("markets cleared", _share(ppsm), _share(plain)),
            Figure("power operator's cost is off by", _off(ppsm, "leader"), _off(plain, "leader")),
            Figure("gas market's cost is off by", _off(ppsm, "gas"), _off(plain, "gas")),
        ),
    )


def released(dossier: Dossier) -> Story:
    """One private release, from public numbers alone."""
    record, evaluation = dossier.noisy.record, dossier.evaluation
    cost = None if evaluation is None else evaluation.leader_cost
    could = "could be cleared with it" if cost is not None else "could not be cleared with it"
    return Story(
        f"The demand of {record.dimension} deliveries was released with epsilon {record.epsilon:g} at alpha "
        f"{record.alpha:g} {record.unit}, and the markets {could}.",
        (
            Figure("privacy loss", f"epsilon {record.epsilon:g}"),
            Figure("markets cleared", "no" if cost is None else "yes"),
            Figure("power operator's cost", "-" if cost is None else money(cost)),
        ),
    )


def money(dollars: float) -> str:
    """An amount as people write it: $ 133.1 million."""
    for size, name in ((1e9, " billion"), (1e6, " million")):
        if abs(dollars) >= size:
            return f"$ {dollars / size:,.1f}{name}"
    return f"$ {dollars:,.0f}"


def percent(value: float) -> str:
    """A small share with two digits that count: 3.1 %, 0.063 %."""
    if value == 0:
        return "0 %"
    if value < 0.001:
        return "less than 0.001 %"
    return f"{value:.2g} %" if value < 10 else f"{value:.0f} %"


def _both(rows: Sequence[Row], alpha: float) -> tuple[list[Row], list[Row]]:
    """The rows of plain noise and those of PPSM at one alpha."""
    mine = [row for row in rows if row.alpha == alpha]
    return [row for row in mine if row.mechanism == "laplace"], [
        row for row in mine if row.mechanism == "ppsm"
    ]


def _cleared(rows: Sequence[Row]) -> str:
    return f"{sum(row.feasible for row in rows)} of {len(rows)}"


def _share(rows: Sequence[Row]) -> str:
    return f"{100 * np.mean([row.feasible for row in rows]):.0f} %" if rows else "none"


def _off(rows: Sequence[Row], whose: str) -> str:
    error = _mean_error(rows, whose)
    return "not cleared" if error is None else percent(error)


def _mean_error(rows: Sequence[Row], whose: str) -> float | None:
    errors = [error for row in rows if row.feasible and (error := row.absolute_error(whose)) is not None]
    return float(np.mean(errors)) if errors else None
