"""One run of a mechanism on a stress cell of a case, as one row: what experiments are made of.

Data are the case's own demand, which is public, or an owner's, in which case every row is the owner's too
(:func:`ppsm.privacy.for_owner_only`). Noise is seeded. The runs are paired. Everything random
derives from the axes of the experiment (:func:`seed_of`): mechanisms and bands at the same cell, alpha and
repetition share the noise, and all alphas of a cell and repetition share the leader's prices. One
:class:`Workspace` clears the original game and all releases with the same solver and memory, so where the
original commitment stays valid under the released demand its cost is the same number.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import ppsm
from ppsm import __version__
from ppsm.arrays import FloatArray
from ppsm.cases.schema import Case
from ppsm.cases.stress import check_stress
from ppsm.coordinations.unit_commitment import GaucCoordination, case_days, outcome_of
from ppsm.errors import InputError
from ppsm.experiments.row import FAILED, Cell, Instance, Row
from ppsm.experiments.tuning import Limits
from ppsm.experiments.variants import Variant
from ppsm.fidelity.problem import SearchLimits
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.mechanism.coordination import Outcome, published
from ppsm.mechanism.first_step import Laplace, Release
from ppsm.mechanism.history import InventedDays
from ppsm.mechanism.learned import Learned
from ppsm.mechanism.mechanisms import PPSM, PPSM_p
from ppsm.mechanism.predictors import ModelBased, Predictor, PublicOutcome, seed_of
from ppsm.mechanism.prior import PublicPrior
from ppsm.owner.distances import cost_errors, distances, prediction_errors
from ppsm.privacy.publication import simulated_publication
from ppsm.privacy.sensitive import Sensitive
from ppsm.solvers.highs import HIGHS
from ppsm.solvers.qp import CLARABEL, PIQP


class Workspace:
    """A case with its solver and all that runs on it share. Not for use from several threads at once.

    Parameters
    ----------
    case
        The case.
    cache
        A directory for remembered commitments, so that processes and later runs share them.
    limits
        Of all that is solved here.
    demand
        The demand of instances without a gas stress.
    """

    def __init__(
        self,
        case: Case,
        cache: Path | None = None,
        *,
        limits: Limits,
        demand: FloatArray | None = None,
    ) -> None:
        self.case, self.limits = case, limits
        self.solver = GasAwareCommitment(case, cache)
        self._demand = demand
        self._games: dict[float, GaucCoordination] = {}
        self._originals: dict[Cell, Outcome] = {}
        self._days: dict[float, InventedDays] = {}
        self._learned: dict[tuple[float, float, float], Learned] = {}

    @property
    def name(self) -> str:
        """The case; with a demand of its own, also a fingerprint of it, so that rows are not mixed up."""
        if self._demand is None:
            return self.case.name
        return f"{self.case.name}/{hashlib.sha256(self._demand.tobytes()).hexdigest()[:16]}"

    def demand(self, gas_stress: float | None) -> FloatArray:
        """The demand of a cell."""
        if gas_stress is not None:
            return self.case.demand_mwh(gas_stress)
        if self._demand is None:
            raise InputError("neither a gas stress nor a demand was given: give one of them.")
        return self._demand

    def game(self, power_stress: float) -> GaucCoordination:
        """The game at a power stress, made once."""
        if power_stress not in self._games:
            self._games[power_stress] = GaucCoordination(
                self.case,
                power_stress,
                self.solver,
                gap=self.limits.gap,
                time_limit=self.limits.clear_seconds,
            )
        return self._games[power_stress]

    def clear_original(self, cell: Cell, seconds: float | None = None) -> Outcome:
        """Clear the game with the true demand, within ``original_seconds`` unless another limit is given."""
        check_stress(self.case, *cell)
        limit = self.limits.original_seconds if seconds is None else seconds
        demand = self.demand(cell[1])
        return outcome_of(self.solver.solve(cell[0], demand, gap=self.limits.gap, time_limit=limit))

    def original(self, cell: Cell) -> Outcome:
        """The original game of a cell, adopted or cleared once."""
        if cell not in self._originals:
            outcome = self.clear_original(cell)
            insist_on_answer(self.case.name, cell, outcome)
            self._originals[cell] = outcome
        return self._originals[cell]

    def adopt_originals(self, outcomes: Mapping[Cell, Outcome]) -> None:
        """Compare with originals that were cleared before, so that all processes have the same ones."""
        self._originals |= outcomes

    def mechanism(self, instance: Instance) -> Laplace:
        """The mechanism that an instance names, with its options."""
        variant = Variant.named(instance.mechanism)
        given: dict[str, Any] = {"alpha": instance.alpha, "epsilon": instance.epsilon}
        if not variant.has_bands:
            return Laplace(**given)
        given["eta_p"] = instance.eta_p
        given["limits"] = SearchLimits(nodes=self.limits.fidelity_nodes, seconds=self.limits.fidelity_seconds)
        if variant.prior_spread is not None:
            given["prior"] = self._prior(instance, variant.prior_spread)
        if "l1" in variant.options:
            given["norm"] = "l1"
        # Of entries alone unless the variant says so: alpha and the noise are then those of the paper.
        given["total_share"] = None if "measured" in variant.options else 0.0
        return PPSM(**given, eta_d=instance.eta_d) if variant.mechanism == PPSM.name else PPSM_p(**given)

    def _prior(self, instance: Instance, known_to: float) -> PublicPrior:
        """A forecast that everybody could make: the demand up to some per cent, the same for all alphas."""
        demand = self.demand(instance.gas_stress)
        seed = seed_of("prior", self.case.name, *instance.cell, instance.repetition)
        drawn = 1.0 + known_to * np.random.default_rng(seed).standard_normal(demand.size)
        mean = demand * np.maximum(drawn, 0.0)
        # Where the forecast is small, so is its error, but never zero.
        spread = known_to * np.maximum(mean, 0.01 * float(mean.mean()))
        return PublicPrior.of(mean, spread, source=f"a public history, entries known up to {known_to:.0%}")

    def predictor(self, instance: Instance) -> Predictor:
        """The models of steps 2a and 3a that an instance names."""
        options = Variant.named(instance.mechanism).options
        if {"model", "measured"} & options:
            return ModelBased()
        return self._learner(instance) if "learned" in options else self._public_outcome(instance)

    def _public_outcome(self, instance: Instance) -> PublicOutcome:
        """The paper's setting: published value and prices, in step 2a with noise of 10 % of their average."""
        game = self.game(instance.power_stress)
        original = self.original(instance.cell)
        result = published(original, game.sensitive_follower, game.price_names, game.felt_names)
        return PublicOutcome(
            simulated_publication(result, dataset=self.case.name),
            seed=seed_of("prices", self.case.name, *instance.cell, instance.repetition),
        )

    def _learner(self, instance: Instance) -> Learned:
        """Days are invented once for a power stress, and learned from once for a size of the noise."""
        power, key = instance.power_stress, (instance.power_stress, instance.alpha, instance.epsilon)
        if power not in self._days:
            seed = seed_of("history", self.case.name, power) % 2**32
            self._days[power] = case_days(self.case, power, seed=seed)
        if key not in self._learned:
            past = self._days[power].released(alpha=instance.alpha, epsilon=instance.epsilon)
            self._learned[key] = Learned.train(past)
        return self._learned[key]


def insist_on_answer(case_name: str, cell: Cell, original: Outcome) -> None:
    """Refuse a cell whose original game could not be cleared: there is nothing to compare with."""
    if not original.feasible:
        gas = "a demand of its own" if cell[1] is None else f"+{cell[1]:.0%}"
        raise InputError(
            f"the original game of '{case_name}' at +{cell[0]:.0%} / {gas} has no answer "
            f"({original.status.value}): choose another cell, or give it more time."
        )


def noise_seed(case_name: str, instance: Instance) -> int:
    """The seed of step 1: mechanisms and bands share it."""
    return seed_of("noise", case_name, *instance.cell, instance.repetition, instance.alpha)


def simulate_instance(
    workspace: Workspace, instance: Instance, predictor: Predictor | None = None
) -> Release:
    """The release of an instance, with seeded noise; a predictor given here takes the place of its own."""
    check_stress(workspace.case, *instance.cell)
    game = workspace.game(instance.power_stress)
    demand = workspace.demand(instance.gas_stress)
    secret = Sensitive(demand, dataset=workspace.case.name, unit=game.unit, entry_names=game.entry_names)
    mechanism = workspace.mechanism(instance)
    chosen = workspace.predictor(instance) if predictor is None else predictor
    return mechanism.simulate(secret, game, chosen, seed=noise_seed(workspace.case.name, instance))


def run_instance(workspace: Workspace, instance: Instance, predictor: Predictor | None = None) -> Row:
    """Release, clear the game with the release, compare with the original."""
    original = workspace.original(instance.cell)
    game = workspace.game(instance.power_stress)
    if predictor is None:
        predictor = workspace.predictor(instance)  # what is learned for many instances is not counted to one
    solved_before, releasing = game.decisions_solved, _Clock()
    release = simulate_instance(workspace, instance, predictor)
    cpu_release, seconds_release = releasing.read()
    clearing = _Clock()
    outcome = game.clear(release.released.values)
    cpu_clear, seconds_clear = clearing.read()
    return Row(
        case=workspace.name,
        **instance.axes,
        status=outcome.status.value,
        feasible=outcome.feasible,
        original_status=original.status.value,
        **_outcome_columns("original", original),
        **_outcome_columns("released", outcome),
        **_error_columns(original, outcome),
        **_prediction_columns(original, game.sensitive_follower, release),
        **_distance_columns(workspace.demand(instance.gas_stress), release),
        **_fidelity_columns(release),
        **_step_columns(release),
        cpu_release=cpu_release,
        seconds_release=seconds_release,
        cpu_clear=cpu_clear,
        seconds_clear=seconds_clear,
        decisions_solved=game.decisions_solved - solved_before,
        commitments_solved=outcome.solved,
        commitments_remembered=len(workspace.solver.memory),
        **_provenance(workspace.case.name, instance),
    )


def failed_row(name: str, instance: Instance, message: str) -> Row:
    """The row of an instance that has no result; ``name`` is that of its workspace."""
    return Row(
        case=name,
        **instance.axes,
        status=FAILED,
        feasible=False,
        message=" ".join(message.split())[:500],
        **_provenance(name.partition("/")[0], instance),
    )


class _Clock:
    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        return time.process_time() - self._cpu, time.perf_counter() - self._wall


def _outcome_columns(which: str, outcome: Outcome) -> dict[str, Any]:
    return {
        f"{which}_leader_cost": outcome.leader_cost,
        f"{which}_leader_bound": outcome.leader_bound,
        f"{which}_gap": outcome.gap,
        **{f"{which}_{name}_value": outcome.values.get(name) for name in ("electricity", "gas")},
    }


def _error_columns(original: Outcome, outcome: Outcome) -> dict[str, Any]:
    errors = cost_errors(original, outcome) or {}
    return {f"error_{name}_percent": errors.get(name) for name in ("leader", "electricity", "gas")}


def _prediction_columns(original: Outcome, follower: str, release: Release) -> dict[str, Any]:
    """How far step 3a was from what the original game came to, and how good its model claimed to be."""
    errors = prediction_errors(original, follower, release) or {}
    note = release.dossier.predictor
    claimed = None if note is None else note.cross_validation
    return {
        **{f"error_predicted_{name}_percent": errors.get(name) for name in ("value", "prices")},
        "cross_validated_value_percent": None if claimed is None else claimed.value_error_percent,
        "cross_validated_prices_percent": None if claimed is None else claimed.price_error_percent,
        "history_days": None if claimed is None else claimed.days,
    }


def _distance_columns(truth: FloatArray, release: Release) -> dict[str, Any]:
    found = asdict(distances(truth, release))
    distance = release.dossier.theory.distance
    return {**found, "likely_l2_bound": distance.likely_l2, "dimension": int(truth.size)}


def _fidelity_columns(release: Release) -> dict[str, Any]:
    result, decision = release.fidelity, release.decision
    if result is None or decision is None:
        return {}
    return {
        "widening": float(result.widening),
        "fidelity_status": result.status.value,
        "fidelity_gap": float(result.gap) if np.isfinite(result.gap) else None,
        "fidelity_nodes": int(result.nodes),
        "fidelity_certified": result.certified,
        "decision_note": decision.note,
    }


def _step_columns(release: Release) -> dict[str, Any]:
    return {f"cpu_{each.step}": each.cpu_seconds for each in release.dossier.steps if each.step != "1"}


def _provenance(case_name: str, instance: Instance) -> dict[str, Any]:
    return {
        "seed": noise_seed(case_name, instance),
        "solvers": ", ".join((HIGHS, PIQP, CLARABEL, f"OpenDP {version('opendp')}")),
        "package_version": __version__,
        "source_digest": _source_digest(),
    }


@cache
def _source_digest() -> str:
    """A digest of the package's own code: versions of one number may differ while it is being worked on."""
    root = Path(ppsm.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
