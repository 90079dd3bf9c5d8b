"""What the rows of a comparison show, in plain words, and no more than that.

Errors are compared on the draws in which Laplace could be cleared, so that both have the same noise. An error
is called one only above the largest MIP gap of the runs it comes from, with a margin as error and gap are
relative to slightly different costs; below it the sentence says so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ppsm.experiments.row import Row
from ppsm.experiments.summaries import Summary, summarise
from ppsm.experiments.variants import LEARNED, MEASURED

_MARGIN = 1.05
_LAPLACE, _BANDED = "laplace", (("ppsm-p", "PPSM_p"), ("ppsm", "PPSM"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """All mechanisms over several draws, measured against the true demand.

    Every number here is derived from that demand. With public test data it may be shared; otherwise it is the
    owner's, and travels in :class:`~ppsm.privacy.OwnerOnly`.
    """

    rows: tuple[Row, ...]
    planned: int

    @property
    def complete(self) -> bool:
        """Whether all runs are done."""
        return len(self.rows) == self.planned

    @cached_property
    def summaries(self) -> list[Summary]:
        """The table: one line for each alpha and mechanism."""
        return summarise(self.rows)

    @cached_property
    def sentences(self) -> list[str]:
        """The conclusion."""
        return conclude(self.rows, self.planned)


def conclude(rows: Sequence[Row], planned: int) -> list[str]:
    """Sentences computed from the rows; ``planned`` is how many there will be when the run is complete."""
    if not rows:
        return ["No run is complete yet, so there is nothing to conclude."]
    alphas = sorted({row.alpha for row in rows})
    sentences = [_feasibility(rows, alphas)]
    sentences += [text for alpha in alphas if (text := _paired_errors(rows, alpha))]
    sentences += [_worst_error(rows), _distances(rows, alphas[-1])]
    sentences += [_measured(rows, alphas), _learned(rows)]
    sentences += [_caution(rows, planned)]
    return [text for text in sentences if text]


def _of(rows: Sequence[Row], mechanism: str, alpha: float | None = None) -> list[Row]:
    return [row for row in rows if row.mechanism == mechanism and (alpha is None or row.alpha == alpha)]


def _share(rows: Sequence[Row]) -> str:
    return f"{sum(row.feasible for row in rows)} of {len(rows)}"


def _feasibility(rows: Sequence[Row], alphas: Sequence[float]) -> str:
    plain = ", ".join(
        f"{_share(group)} draws at alpha {alpha:g} MWh"
        for alpha in alphas
        if (group := _of(rows, _LAPLACE, alpha))
    )
    repaired = " and ".join(
        f"{title} in {_share(group)}" for name, title in _BANDED if (group := _of(rows, name))
    )
    text = f"With plain Laplace noise the markets could be cleared in {plain}."
    if repaired:
        text += f" With the repaired demand they could be cleared: {repaired}."
    unproven = sum(row.status == "no_incumbent" for row in rows)
    if unproven:
        text += (
            f" In {unproven} of the other runs no answer was found in the time limit and none was proven to "
            "be impossible; they count as not cleared."
        )
    return text


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Iterable[float | None]) -> float:
    return float(np.mean(_known(values)))


def _mean_error(rows: Sequence[Row], whose: str) -> float:
    return _mean(row.absolute_error(whose) for row in rows)


def _largest_gap(rows: Sequence[Row]) -> float:
    return max(100.0 * gap for row in rows for gap in row.gaps)


def _paired_errors(rows: Sequence[Row], alpha: float) -> str:
    """Leader's and gas market's errors at one alpha, over the draws in which both could be cleared."""
    repaired = {r.repetition: r for r in _of(rows, "ppsm", alpha) if r.feasible}
    plain = {r.repetition: r for r in _of(rows, _LAPLACE, alpha) if r.feasible}
    draws = sorted(repaired.keys() & plain.keys())
    if not draws:
        return ""
    both = [plain[draw] for draw in draws], [repaired[draw] for draw in draws]
    count = "the one draw" if len(draws) == 1 else f"the {len(draws)} draws"
    return (
        f"At alpha {alpha:g} MWh, over {count} in which both could be cleared, "
        + _leader_clause(*both)
        + "; the gas market's cost was off by "
        + f"{_percent(_mean_error(both[0], 'gas'))} with Laplace and "
        + f"{_percent(_mean_error(both[1], 'gas'))} with PPSM."
    )


def _leader_clause(laplace: Sequence[Row], ppsm: Sequence[Row]) -> str:
    """Compare the leader's errors as far as the gaps allow."""
    plain, repaired = _mean_error(laplace, "leader"), _mean_error(ppsm, "leader")
    if plain == 0 and repaired == 0:
        return "the power operator paid exactly the original cost with Laplace and with PPSM"
    said = (
        f"the power operator's cost was {_off_by(plain, laplace)} with Laplace and "
        f"{_off_by(repaired, ppsm)} with PPSM"
    )
    clear = plain > _MARGIN * _largest_gap(laplace), repaired > _MARGIN * _largest_gap(ppsm)
    if clear == (False, False):
        return f"{said}; neither error exceeds the gap, so they cannot be told apart"
    if clear != (True, True):
        return f"{said}; only {'the former' if clear[0] else 'the latter'} error exceeds the gap"
    larger, times = ("Laplace", plain / repaired) if plain > repaired else ("PPSM", repaired / plain)
    return f"{said}, {times:.1f} times as much with {larger}"


def _off_by(error: float, rows: Sequence[Row]) -> str:
    words = "exactly the original one" if error == 0 else f"off by {_percent(error)}"
    return f"{words} (largest MIP gap {_percent(_largest_gap(rows))})"


def _worst_error(rows: Sequence[Row]) -> str:
    cleared = [row for row in _of(rows, "ppsm") if row.feasible]
    if not cleared:
        return ""
    worst = max(_known(row.absolute_error("leader") for row in cleared))
    gap = _largest_gap(cleared)
    runs = "the one cleared run" if len(cleared) == 1 else f"all {len(cleared)} cleared runs"
    if worst == 0:
        return (
            f"In {runs} of PPSM the operator paid exactly the original cost: the runs are paired (same "
            "solver, same memory), and its commitment stayed valid. The largest MIP gap is "
            f"{_percent(gap)}; a commitment that is better by less than that is not excluded."
        )
    same = sum(row.error_leader_percent == 0 for row in cleared)
    text = (
        f"Over {runs} of PPSM the operator's cost was off by at most {_percent(worst)}, and was exactly "
        f"the original one in {same} of them"
    )
    if worst <= _MARGIN * gap:
        return (
            f"{text}. That is within the largest MIP gap of {_percent(gap)}; the runs are paired (same "
            "solver, same memory), but a difference below the gap proves nothing by itself."
        )
    return f"{text} (largest MIP gap {_percent(gap)})."


def _distances(rows: Sequence[Row], alpha: float) -> str:
    group = _of(rows, "ppsm", alpha)
    if not group:
        return ""
    noisy, released = _mean(row.l1_noisy for row in group), _mean(row.l1_released for row in group)
    word = "nearer to" if released < noisy else "farther from"
    return (
        f"At alpha {alpha:g} MWh PPSM's release is {word} the true demand than the noisy one: "
        f"{released:,.0f} against {noisy:,.0f} MWh in all, on average."
    )


def _measured(rows: Sequence[Row], alphas: Sequence[float]) -> str:
    """What comes of a release where nothing is published, for each alpha."""
    said = [_measured_at(alpha, mine) for alpha in alphas if (mine := _of(rows, MEASURED, alpha))]
    if not said:
        return ""
    return (
        "Where nothing is published, as in a release by default, a part of epsilon measures totals; the "
        f"markets could then be cleared in {', '.join(said)}."
    )


def _measured_at(alpha: float, mine: Sequence[Row]) -> str:
    text = f"{_share(mine)} draws at alpha {alpha:g} MWh"
    cleared = [row for row in mine if row.feasible]
    if not cleared:
        return text
    gas, leader = (_percent(_mean_error(cleared, name)) for name in ("gas", "leader"))
    return f"{text} (the gas market's cost off by {gas}, the power operator's by {leader})"


def _learned(rows: Sequence[Row]) -> str:
    """What is lost where predictions are learned from the past, on the draws that PPSM was run on too."""
    learned = {row.repetition: row for row in _of(rows, LEARNED)}
    if not learned:
        return ""
    mine = list(learned.values())
    first = mine[0]
    alpha = first.alpha
    value, prices = _known((first.cross_validated_value_percent, first.cross_validated_prices_percent))
    text = (
        f"Where the market publishes nothing, PPSM may learn from the past (here "
        f"{first.history_days:.0f} invented days); on days left out such predictions are off by "
        f"{_percent(value)} (the gas market's cost) and "
        f"{_percent(prices)} (prices). At alpha {alpha:g} MWh the markets "
        f"could then be cleared in {_share(mine)} draws{_widened(mine)}."
    )
    public = {row.repetition: row for row in _of(rows, "ppsm", alpha) if row.feasible}
    draws = sorted(draw for draw in public.keys() & learned.keys() if learned[draw].feasible)
    if not draws:
        return text
    both = [learned[draw] for draw in draws], [public[draw] for draw in draws]
    gas, leader = ([_percent(_mean_error(group, name)) for group in both] for name in ("gas", "leader"))
    distance = [_mean(row.l1_released for row in group) for group in both]
    return (
        f"{text} Against PPSM with published figures on the same draws the gas market's cost was off by "
        f"{gas[0]} instead of {gas[1]}, the power operator's by {leader[0]} instead of {leader[1]} "
        f"(largest MIP gap {_percent(_largest_gap([*both[0], *both[1]]))}), and the release was "
        f"{distance[0]:,.0f} instead of {distance[1]:,.0f} MWh from the true demand."
    )


def _widened(rows: Sequence[Row]) -> str:
    widest = max(_known(row.widening for row in rows))
    return f", with bands up to {widest:.3g} times as wide as asked for" if widest > 1.0 else ""


def _caution(rows: Sequence[Row], planned: int) -> str:
    draws = len({row.repetition for row in rows})
    count = "1 draw" if draws == 1 else f"{draws} draws"
    text = f"This is one stress cell with {count}: an illustration, no statistic."
    if len(rows) < planned:
        text += f" It is incomplete: {len(rows)} of {planned} runs are done."
    return text


def _percent(value: float) -> str:
    """Per cent with as many digits as a small figure needs."""
    if value == 0:
        return "0 %"
    if value < 0.0001:
        return "less than 0.0001 %"
    return f"{value:.4f} %" if value < 0.01 else f"{value:.3f} %"
