"""Events that tell two output distributions apart, and a sound bound on the privacy loss they prove.

If a mechanism is epsilon-private then ``P[M(x) in E] <= exp(epsilon) P[M(x') in E]`` for every set E of
outputs. Any E with a larger ratio disproves the claim, so the search for E may be as greedy as it likes,
provided that E is *chosen* on one part of the runs and *measured* on the rest, which it has never seen. The
measurement is one pair of Clopper-Pearson limits per family of events; the union bound over families pays for
having several.

Families, each over every statistic of the output:

* thresholds: the statistic is above, or below, a value;
* intervals: it lies between two values;
* likelihood-ratio sets: unions of cells in which one input is most over-represented. These are the optimal
  tests of Neyman and Pearson, estimated [BSBV21]_.

Statistics: every entry; sums and differences with the entry that reacts most, which is where noise shared
between entries cancels; the total; the naive log-likelihood ratio over all entries; a score that a logistic
regression fits to their ranks, which adds up what several entries give away a little each; and the float grid
of an entry, the exponent of its lowest set bit, which betrays textbook floating-point noise [M12]_.

References
----------
.. [BSBV21] B. Bichsel, S. Steffen, I. Bogunovic, M. Vechev, DP-Sniper: black-box discovery of differential
   privacy violations using classifiers, S&P 2021.
.. [M12] I. Mironov, On significance of the least significant bits for differential privacy, CCS 2012.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ppsm.arrays import BoolArray, FloatArray, IntArray
from ppsm.privacy.tuning import TUNING

FAMILIES = ("thresholds", "intervals", "likelihood-ratio sets")


@dataclass(frozen=True)
class Statistic:
    """A number computed from one output, row by row."""

    name: str
    of: Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose statistic falls into some of the cells between the edges.

    ``swapped`` says that the second input, not the first, makes the event more likely.
    """

    statistic: Statistic
    edges: FloatArray
    members: BoolArray
    swapped: bool

    def count(self, outputs: FloatArray) -> int:
        """Return how many rows of outputs fall into the event."""
        return int(self.members[_cell_of(self.statistic.of(outputs), self.edges)].sum())


@dataclass(frozen=True)
class FamilyBound:
    """The loss that the best event of a family proves."""

    family: str
    statistic: str
    epsilon_lower_bound: float
    likelier: int
    rarer: int


def lower_bounds(first: FloatArray, second: FloatArray, failure: float) -> tuple[FamilyBound, ...]:
    """Bound the loss between two samples of outputs from below, once per family of events.

    Parameters
    ----------
    first, second
        Outputs on the two inputs, one run per row, as many rows in both.
    failure
        The probability that any of the bounds may be wrong.
    """
    chosen_on = int(len(first) * (TUNING.fit + TUNING.pick))
    share = failure / len(FAMILIES)
    from scipy.stats import norm  # here and below: it takes a second to load

    bounds = []
    with np.errstate(over="ignore", invalid="ignore"):  # statistics of huge outputs may be infinite
        chosen = choose_events(first[:chosen_on], second[:chosen_on], float(norm.isf(share / 2)))
        for family, event in zip(FAMILIES, chosen, strict=True):
            likely, rare = (second, first) if event.swapped else (first, second)
            counts = event.count(likely[chosen_on:]), event.count(rare[chosen_on:])
            bound = proven_loss(*counts, len(first) - chosen_on, share)
            bounds.append(FamilyBound(family, event.statistic.name, bound, *counts))
    return tuple(bounds)


def proven_loss(likely: int, rare: int, runs: int, failure: float) -> float:
    """Return a lower confidence bound on the log-ratio of two probabilities, by Clopper and Pearson.

    Each limit may fail with half of the probability ``failure``.
    """
    if likely == 0:
        return 0.0
    from scipy.stats import beta

    low = float(beta.ppf(failure / 2, likely, runs - likely + 1))
    high = 1.0 if rare == runs else float(beta.isf(failure / 2, rare + 1, runs - rare))
    return max(0.0, float(np.log(low) - np.log(high)))


def choose_events(first: FloatArray, second: FloatArray, z: float) -> tuple[Event, ...]:
    """Return the most promising event of each family, judged by approximate limits of width ``z``."""
    fitted_on = int(len(first) * TUNING.fit / (TUNING.fit + TUNING.pick))
    best: dict[str, tuple[float, Event]] = {}
    for statistic in _statistics(first[:fitted_on], second[:fitted_on]):
        a, b = statistic.of(first), statistic.of(second)
        edges = _edges(a, b)
        cells = _cells(a[fitted_on:], edges), _cells(b[fitted_on:], edges)
        fitted = _cells(a[:fitted_on], edges), _cells(b[:fitted_on], edges)
        for swapped in (False, True):
            likely, rare = reversed(cells) if swapped else cells
            log_ratio = _log_ratio(*(reversed(fitted) if swapped else fitted))
            for family, members in _candidates(likely, rare, log_ratio, z):
                score = float(_promise(likely[members].sum(), rare[members].sum(), int(likely.sum()), z))
                if family not in best or score > best[family][0]:
                    best[family] = score, Event(statistic, edges, members, swapped)
    return tuple(best[family][1] for family in FAMILIES)


def _candidates(
    likely: IntArray, rare: IntArray, log_ratio: FloatArray, z: float
) -> Iterator[tuple[str, BoolArray]]:
    """Yield the best set of cells of each family."""
    runs, cells = int(likely.sum()), len(likely)
    up_to_likely, up_to_rare = _cumulative(likely), _cumulative(rare)

    begin, end = np.triu_indices(cells + 1, k=1)
    scores = _promise(up_to_likely[end] - up_to_likely[begin], up_to_rare[end] - up_to_rare[begin], runs, z)
    position = np.arange(cells)

    one_sided = np.where((begin == 0) | (end == cells), scores, -np.inf)
    for family, values in (("thresholds", one_sided), ("intervals", scores)):
        best = int(values.argmax())
        yield family, (position >= begin[best]) & (position < end[best])

    order = np.argsort(-log_ratio, kind="stable")
    count = 1 + int(_promise(likely[order].cumsum(), rare[order].cumsum(), runs, z).argmax())
    members = np.zeros(cells, dtype=np.bool_)
    members[order[:count]] = True
    yield "likelihood-ratio sets", members


def _promise(likely: IntArray, rare: IntArray, runs: int, z: float) -> FloatArray:
    """Estimate the loss that an event would prove (cheap, and only used to choose).

    The limits of Wilson and Hilferty for Poisson counts, which hold down to a count of zero, with the smaller
    spread of binomial counts.
    """
    k, q = np.maximum(likely, 1e-9), rare + 1.0
    low = k * np.maximum(1 - 1 / (9 * k) - z / 3 * np.sqrt((1 - likely / runs) / k), 0.0) ** 3
    high = q * (1 - 1 / (9 * q) + z / 3 * np.sqrt((1 - rare / runs) / q)) ** 3
    result: FloatArray = np.log(np.maximum(low, 1e-300)) - np.log(np.minimum(high, runs))
    return result


def _edges(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return cell edges at quantiles, finer at both ends; repeated values get cells of their own.

    A mechanism that shows its input once in a thousand runs repeats one value where an honest one has none.
    """
    pooled = np.sort(np.concatenate([a, b]))
    tail = 10.0 * 2.0 ** np.arange(0, max(1.0, np.log2(len(pooled) / TUNING.quantiles / 10)))
    ranks = np.concatenate(
        [np.linspace(0, 1, TUNING.quantiles + 1)[1:-1] * len(pooled), tail, len(pooled) - tail]
    )
    edges = pooled[np.clip(ranks.astype(np.int64), 0, len(pooled) - 1)]
    alone = np.concatenate([_atoms(pooled), [a.min(), b.min(), a.max(), b.max()]])
    return np.unique(np.concatenate([edges, alone, np.nextafter(alone, np.inf)]))


def _atoms(pooled: FloatArray) -> FloatArray:
    """Return the values of a sorted sample that come up most, if they come up often."""
    values, counts = np.unique(pooled, return_counts=True)
    most = np.argsort(-counts, kind="stable")[: TUNING.most_atoms]
    return values[most[counts[most] >= TUNING.atom_count]]


def _cell_of(column: FloatArray, edges: FloatArray) -> IntArray:
    return np.searchsorted(edges, column, side="right").astype(np.int64)


def _cells(column: FloatArray, edges: FloatArray) -> IntArray:
    return np.bincount(_cell_of(column, edges), minlength=len(edges) + 1).astype(np.int64)


def _cumulative(counts: IntArray) -> IntArray:
    return np.concatenate([[0], counts.cumsum()])


def _statistics(first: FloatArray, second: FloatArray) -> Iterator[Statistic]:
    """Yield the statistics to try, the most telling entries first when there are too many."""
    shift = np.abs(first.mean(axis=0) - second.mean(axis=0))
    spread = first.std(axis=0) + second.std(axis=0)
    telling = np.argsort(-shift / np.where(spread > 0, spread, 1.0), kind="stable")
    telling = telling[: TUNING.most_statistics // 4]
    reacting = int(telling[0])
    for entry in telling:
        yield _linear(f"entry {entry}", {int(entry): 1.0})
        yield _grid(int(entry))
    for entry in telling[1:]:
        yield _linear(f"entry {reacting} - entry {entry}", {reacting: 1.0, int(entry): -1.0})
        yield _linear(f"entry {reacting} + entry {entry}", {reacting: 1.0, int(entry): 1.0})
    if first.shape[1] > 1:
        yield Statistic("sum of all entries", lambda rows: rows.sum(axis=1))
        yield _log_likelihood_ratio(first, second, telling)
        yield _regression_on_ranks(first, second, telling)


def _log_ratio(likely: IntArray, rare: IntArray) -> FloatArray:
    """Return the log-ratio of cell frequencies, drawn towards zero where there is little to go by."""
    result: FloatArray = np.log((likely + 3.0) / (rare + 3.0))
    return result


def _linear(name: str, weights: dict[int, float]) -> Statistic:
    def of(rows: FloatArray) -> FloatArray:
        vector = np.zeros(rows.shape[1])
        vector[list(weights)] = list(weights.values())
        result: FloatArray = rows @ vector
        return result

    return Statistic(name, of)


def _grid(entry: int) -> Statistic:
    return Statistic(f"float grid of entry {entry}", lambda rows: float_grid(rows[:, entry]))


def float_grid(column: FloatArray) -> FloatArray:
    """Return the exponent of the lowest set bit of every number: the grid it lies on.

    Adding textbook noise to 0 or to 1 yields numbers on different grids, which no threshold sees.
    """
    mantissa, exponent = np.frexp(column)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = (digits & -digits).astype(np.float64)
    return np.where(digits == 0, 0.0, exponent - 53 + np.log2(np.maximum(lowest, 1.0)))


def _log_likelihood_ratio(first: FloatArray, second: FloatArray, entries: IntArray) -> Statistic:
    """Return the log-ratio of smoothed histograms, summed over entries as if they were independent."""
    tables = []
    for entry in entries:
        edges = _edges(first[:, entry], second[:, entry])
        counts = _cells(first[:, entry], edges), _cells(second[:, entry], edges)
        tables.append((int(entry), edges, _log_ratio(*counts)))

    def of(rows: FloatArray) -> FloatArray:
        total = np.zeros(len(rows))
        for entry, edges, ratio in tables:
            total += ratio[_cell_of(rows[:, entry], edges)]
        return total

    return Statistic("log-likelihood ratio", of)


def _regression_on_ranks(first: FloatArray, second: FloatArray, entries: IntArray) -> Statistic:
    """Return the weighted sum of the entries' ranks that best tells the inputs apart.

    Ranks are bounded, as the log-likelihood ratio of a private mechanism is: beyond both inputs Laplace noise
    says no more. Two entries that each lose 1 are only caught together, by a run that is high in both.
    """
    pooled = [(int(entry), np.sort(np.concatenate([first[:, entry], second[:, entry]]))) for entry in entries]

    def ranks(rows: FloatArray) -> FloatArray:
        return np.stack([np.searchsorted(known, rows[:, entry]) / len(known) for entry, known in pooled], 1)

    is_second = np.repeat([0.0, 1.0], [len(first), len(second)])
    weights = _logistic_weights(ranks(np.concatenate([first, second])), is_second)

    def of(rows: FloatArray) -> FloatArray:
        result: FloatArray = ranks(rows) @ weights
        return result

    return Statistic("regression on ranks", of)


def _logistic_weights(features: FloatArray, labels: FloatArray) -> FloatArray:
    """Weights of a ridge-penalised logistic regression, by Newton's method."""
    spread = features.std(axis=0)
    spread[spread == 0.0] = 1.0
    centred = (features - features.mean(axis=0)) / spread
    weights = np.zeros(centred.shape[1])
    for _ in range(TUNING.regression_steps):
        chance = 1.0 / (1.0 + np.exp(-centred @ weights))
        slope = centred.T @ (chance - labels) + TUNING.ridge * weights
        curvature = (centred.T * (chance * (1.0 - chance))) @ centred
        weights -= np.linalg.solve(curvature + TUNING.ridge * np.eye(weights.size), slope)
    result: FloatArray = weights / spread
    return result
