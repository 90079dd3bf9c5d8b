"""A public past of a market, which predictors learn from: real days, or days invented for a case.

An invented past has two parts. The days themselves (demand, cleared market, published results) do not depend
on alpha; they are cleared once. What they released does: the same days serve every alpha, with noise of its
size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.errors import InputError
from ppsm.mechanism.coordination import Coordination
from ppsm.mechanism.tuning import TUNING
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.provenance import Provenance, Taint
from ppsm.privacy.publication import MarketResult, Publication
from ppsm.privacy.record import integer
from ppsm.privacy.released import Released, require_released
from ppsm.privacy.sensitive import Sensitive


@dataclass(frozen=True, eq=False)
class History:
    """Days of a market: the released demand of each, and what the market published.

    ``known`` is where days come from that never were; real days speak for themselves: their releases were
    charged, and results taint unless they are publications that a ledger has noted (:meth:`of_days`).
    """

    released: tuple[Released, ...]
    results: tuple[MarketResult, ...]
    known: Provenance | None = None

    def __post_init__(self) -> None:
        if len(self.released) != len(self.results) or len(self.released) < TUNING.least_days:
            raise InputError(
                f"the history has {len(self.released)} releases and {len(self.results)} published outcomes; "
                f"expected as many of each, and at least {TUNING.least_days}."
            )
        entries = require_released(self.released[0], "history").entry_names
        names = self.results[0].price_names
        for each, result in zip(self.released, self.results, strict=True):
            if require_released(each, "history").entry_names != entries or result.price_names != names:
                raise InputError("the days of the history name different entries or prices: use one market.")

    @classmethod
    def of_days(cls, released: Sequence[Released], publications: Sequence[Publication]) -> "History":
        """Days whose releases a ledger has charged and whose figures it has noted."""
        known = Provenance.of_releases(released)
        for each in publications:
            known = replace(known.joined(each.provenance), source=known.source)
        return cls(tuple(released), tuple(each.result for each in publications), known)

    @property
    def provenance(self) -> Provenance:
        """What a model that learns from these days is made from."""
        if self.known is not None:
            return self.known
        return Provenance.of_releases(self.released).with_taint(Taint.UNPUBLISHED)

    @property
    def features(self) -> FloatArray:
        """Days x entries."""
        return np.array([each.values for each in self.released])

    @property
    def targets(self) -> FloatArray:
        """Days x (value, prices)."""
        return np.array([np.concatenate([[day.value], day.prices]) for day in self.results])


@dataclass(frozen=True, eq=False)
class InventedDays:
    """Days that never were: their demands, which are no secrets, and what the market published."""

    demands: tuple[Sensitive, ...]
    results: tuple[MarketResult, ...]
    seed: int

    def released(self, *, alpha: float, epsilon: float = 1.0) -> History:
        """These days as the public saw them: releases with noise of this size beside the results.

        Only the noise depends on alpha and epsilon.
        """
        noise = LaplaceMechanism(alpha=alpha, epsilon=epsilon)
        seeds = np.random.default_rng((self.seed, 1)).integers(2**62, size=len(self.demands))
        days = zip(self.demands, seeds, strict=True)
        known = Provenance(source=f"{len(self.demands)} days invented around a public demand")
        return History(tuple(noise.simulate(day, seed=int(seed)) for day, seed in days), self.results, known)


def invent_days(
    coordination: Coordination,
    typical: ArrayLike,
    *,
    days: int = 60,
    stress: tuple[float, float] = (0.0, 0.2),
    spread: float = 0.1,
    seed: int = 0,
) -> InventedDays:
    """Draw days around a typical demand and clear the market on each.

    Parameters
    ----------
    coordination
        The market. Its outcome counts, not the proof that no better one exists: a wide gap will do.
    typical
        A public demand vector.
    days
        How many to draw; days that the market cannot serve are drawn again.
    stress, spread
        A day is ``typical x (1 + stress) x (1 + spread x normal)`` with one stress from this range.
    seed
        Of everything that is drawn.
    """
    generator = np.random.default_rng(integer(seed, "seed"))
    names = coordination.entry_names
    base = frozen_vector(typical, len(names), "the typical demand", names=names)
    lower, upper = coordination.public_bounds
    demands: list[Sensitive] = []
    results: list[MarketResult] = []
    for _ in range(TUNING.most_draws * days):
        if len(demands) == days:
            break
        factor = 1.0 + generator.uniform(*stress)
        demand = np.clip(base * factor * (1.0 + spread * generator.standard_normal(base.size)), lower, upper)
        outcome = coordination.clear(demand)
        if outcome.prices is None or outcome.leader_cost is None:
            continue
        demands.append(
            Sensitive(
                demand,
                dataset="simulated-history",
                unit=coordination.unit,
                entry_names=coordination.entry_names,
            )
        )
        value = outcome.values[coordination.sensitive_follower]
        results.append(MarketResult(value, outcome.prices, coordination.price_names, outcome.leader_cost))
    return InventedDays(tuple(demands), tuple(results), seed)
