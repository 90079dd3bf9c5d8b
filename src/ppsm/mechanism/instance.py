"""One run of a mechanism on a stress cell of a case, as one flat record: what experiments are made of.

Data are the case's own demand, which is public, or an owner's, in which case every record is the owner's too
(:func:`ppsm.privacy.for_owner_only`). Noise is seeded. The runs are paired. Everything random
derives from the axes of the experiment (:func:`seed_of`): mechanisms and bands at the same cell, alpha and
repetition share the noise, and all alphas of a cell and repetition share the leader's prices. One
:class:`Workspace` clears the original game and all releases with the same solver and memory, so where the
original commitment stays valid under the released demand its cost is the same number.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.schema import Case
from ppsm.cases.stress import check_stress
from ppsm.coordinations.unit_commitment import GaucCoordination
from ppsm.errors import InputError
from ppsm.fidelity.branching import SearchLimits
from ppsm.markets.gauc import GasAwareCommitment
from ppsm.mechanism.coordination import Outcome, published
from ppsm.mechanism.mechanisms import MECHANISMS, PPSM, Laplace, PPSM_p, Release
from ppsm.mechanism.predictors import Predictor, PublicOutcome
from ppsm.owner.distances import cost_errors, distances, prediction_errors
from ppsm.privacy.publication import simulated_publication
from ppsm.privacy.sensitive import Sensitive

Record = dict[str, Any]

# What a record has beside the case and the axes; an instance that failed has None in most of them.
RESULTS = (
    *("original_leader", "original_bound", "original_gap", "original_status"),
    *("original_electricity", "original_gas"),
    *("released_leader", "released_bound", "released_gap", "released_status"),
    *("released_electricity", "released_gas"),
    *("feasible", "status", "error_leader_percent", "error_electricity_percent", "error_gas_percent"),
    *("error_predicted_value_percent", "error_predicted_prices_percent"),
    *("cross_validated_value_percent", "cross_validated_prices_percent", "history_days"),
    *("l1_noisy", "l2_noisy", "l1_released", "l2_released", "l2_bound", "truth_in_bands"),
    *("expected_l2_bound", "dimension", "widening"),
    *("fidelity_status", "fidelity_gap", "fidelity_nodes", "fidelity_certified", "decision_note"),
    *("cpu_2a", "cpu_2b", "cpu_3a", "cpu_3b"),
    *("cpu_release", "seconds_release", "cpu_clear", "seconds_clear"),
    *("decisions_solved", "commitments_solved", "commitments_remembered"),
)


@dataclass(frozen=True, kw_only=True)
class Instance:
    """The axes of one run; ``eta_p`` and ``eta_d`` are fractions, ``alpha`` is in MWh.

    Without a gas stress the demand is the workspace's own.
    """

    power_stress: float
    gas_stress: float | None
    alpha: float
    mechanism: str
    repetition: int
    eta_p: float = 0.001
    eta_d: float = 0.001
    epsilon: float = 1.0

    @property
    def cell(self) -> tuple[float, float]:
        """Power and gas stress; only an instance without a demand of its own has a cell."""
        if self.gas_stress is None:
            raise InputError(
                "this instance has a demand of its own: give a gas stress to place it in a cell."
            )
        return self.power_stress, self.gas_stress


def seed_of(*axes: object) -> int:
    """A seed that depends on the axes of an experiment and on nothing else, on every machine."""
    text = "|".join(repr(axis) for axis in axes)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def record_key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """The case and the axes of a record: what tells it from all others."""
    return tuple(record[name] for name in ("case", *Instance.__dataclass_fields__))


class Workspace:
    """A case with its solver and all that runs on it share. Not for use from several threads at once.

    Parameters
    ----------
    case
        The case.
    cache
        A directory for remembered commitments, so that processes and later runs share them.
    gap, clear_seconds
        For clearing the game.
    original_seconds
        For clearing the original game, ``clear_seconds`` unless given: all errors are relative to it.
    fidelity_seconds
        For step 3b.
    demand
        The demand of instances without a gas stress.
    """

    def __init__(
        self,
        case: Case,
        cache: Path | None = None,
        *,
        gap: float = 5e-4,
        clear_seconds: float = 120.0,
        original_seconds: float | None = None,
        fidelity_seconds: float = 10.0,
        demand: FloatArray | None = None,
    ) -> None:
        self.case, self.gap, self.clear_seconds = case, gap, clear_seconds
        self.solver = GasAwareCommitment(case, cache)
        self.original_seconds = clear_seconds if original_seconds is None else original_seconds
        self.limits = SearchLimits(seconds=fidelity_seconds)
        self._demand = demand
        self._games: dict[float, GaucCoordination] = {}
        self._originals: dict[tuple[float, float | None], Outcome] = {}

    @property
    def name(self) -> str:
        """The case; with a demand of its own, also a fingerprint of it, so that records are not mixed up."""
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
                self.case, power_stress, self.solver, gap=self.gap, time_limit=self.clear_seconds
            )
        return self._games[power_stress]

    def original(self, power_stress: float, gas_stress: float | None) -> Outcome:
        """The game cleared with the true demand, solved once per cell."""
        cell = (power_stress, gas_stress)
        if cell not in self._originals:
            check_stress(self.case, power_stress, gas_stress)
            game = self.game(power_stress)
            game.time_limit = self.original_seconds
            outcome = game.clear(self.demand(gas_stress))
            game.time_limit = self.clear_seconds
            if not outcome.feasible:
                gas = "a demand of its own" if gas_stress is None else f"+{gas_stress:.0%}"
                raise InputError(
                    f"the original game of '{self.case.name}' at +{power_stress:.0%} / {gas} has no answer "
                    f"({outcome.status}): choose another cell."
                )
            self._originals[cell] = outcome
        return self._originals[cell]

    def adopt_original(self, power_stress: float, gas_stress: float, outcome: Outcome) -> None:
        """Compare with an original that was cleared elsewhere, so that all processes have the same one."""
        self._originals[power_stress, gas_stress] = outcome

    def predictor(self, instance: Instance) -> Predictor:
        """The paper's setting: published value and prices, in step 2a with noise of 10 % of their average."""
        original = self.original(instance.power_stress, instance.gas_stress)
        game = self.game(instance.power_stress)
        figures = published(original, game.sensitive_follower, game.price_names)
        axes = (self.case.name, instance.power_stress, instance.gas_stress, instance.repetition)
        return PublicOutcome(
            simulated_publication(figures, dataset=self.case.name), seed=seed_of("prices", *axes)
        )

    def mechanism(self, instance: Instance) -> Laplace:
        """The mechanism that an instance names."""
        given: dict[str, Any] = {"alpha": instance.alpha, "epsilon": instance.epsilon}
        banded = {**given, "eta_p": instance.eta_p, "limits": self.limits}
        if instance.mechanism == PPSM.name:
            return PPSM(**banded, eta_d=instance.eta_d)
        if instance.mechanism == PPSM_p.name:
            return PPSM_p(**banded)
        if instance.mechanism == Laplace.name:
            return Laplace(**given)
        raise InputError(
            f"the mechanism '{instance.mechanism}' is unknown; expected one of: {', '.join(MECHANISMS)}."
        )


def noise_seed(case_name: str, instance: Instance) -> int:
    """The seed of step 1: mechanisms and bands share it."""
    axes = (case_name, instance.power_stress, instance.gas_stress, instance.repetition)
    return seed_of("noise", *axes, instance.alpha)


def simulate_instance(
    workspace: Workspace,
    instance: Instance,
    predictor: Predictor | None = None,
    mechanism: Laplace | None = None,
) -> Release:
    """The release of an instance, with seeded noise; a mechanism given here is used for the one it names."""
    check_stress(workspace.case, instance.power_stress, instance.gas_stress)
    game = workspace.game(instance.power_stress)
    demand = workspace.demand(instance.gas_stress)
    secret = Sensitive(demand, dataset=workspace.case.name, unit=game.unit, entry_names=game.entry_names)
    chosen = workspace.predictor(instance) if predictor is None else predictor
    runner = workspace.mechanism(instance) if mechanism is None else mechanism
    return runner.simulate(secret, game, chosen, seed=noise_seed(workspace.case.name, instance))


def run_instance(
    workspace: Workspace,
    instance: Instance,
    predictor: Predictor | None = None,
    mechanism: Laplace | None = None,
) -> Record:
    """Release, clear the game with the release, compare with the original: one flat record of JSON types.

    Keys: the axes; ``feasible``, ``status``, objectives, bounds and gaps of both games; errors in per cent;
    those of step 3a's prediction, also the cross-validated ones of a learned one; distances in MWh; the
    widening used and the proof of step 3b; CPU and wall seconds by phase; how many unit commitments were
    solved (0: all remembered).
    """
    original = workspace.original(instance.power_stress, instance.gas_stress)
    game = workspace.game(instance.power_stress)
    solved_before, started = game.decisions_solved, _Clock()
    release = simulate_instance(workspace, instance, predictor, mechanism)
    released_after = started.read()
    clearing = _Clock()
    outcome = game.clear(release.released.values)
    cleared_after = clearing.read()
    return {
        "case": workspace.name,
        **asdict(instance),
        **_outcome_fields("original", original),
        **_outcome_fields("released", outcome),
        "feasible": outcome.feasible,
        "status": outcome.status.value,
        **_error_fields(original, outcome),
        **_prediction_fields(original, game.sensitive_follower, release),
        **_distance_fields(workspace.demand(instance.gas_stress), release),
        **_fidelity_fields(release),
        **_phase_fields(release),
        "cpu_release": released_after[0],
        "seconds_release": released_after[1],
        "cpu_clear": cleared_after[0],
        "seconds_clear": cleared_after[1],
        "decisions_solved": game.decisions_solved - solved_before,
        "commitments_solved": outcome.solved,
        "commitments_remembered": len(workspace.solver.memory),
    }


class _Clock:
    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        return time.process_time() - self._cpu, time.perf_counter() - self._wall


def _outcome_fields(which: str, outcome: Outcome) -> dict[str, Any]:
    return {
        f"{which}_leader": outcome.leader_cost,
        f"{which}_bound": outcome.leader_bound,
        f"{which}_gap": outcome.gap,
        f"{which}_status": outcome.status.value,
        **{f"{which}_{name}": outcome.values.get(name) for name in ("electricity", "gas")},
    }


def _error_fields(original: Outcome, outcome: Outcome) -> dict[str, Any]:
    errors = cost_errors(original, outcome) or {}
    return {f"error_{name}_percent": errors.get(name) for name in ("leader", "electricity", "gas")}


def _prediction_fields(original: Outcome, follower: str, release: Release) -> dict[str, Any]:
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


def _distance_fields(truth: FloatArray, release: Release) -> dict[str, Any]:
    found = asdict(distances(truth, release))
    distance = release.dossier.theory.distance
    return {**found, "expected_l2_bound": distance.expected_l2, "dimension": int(truth.size)}


def _fidelity_fields(release: Release) -> dict[str, Any]:
    result = release.fidelity
    decision = release.decision
    return {
        "widening": None if result is None else float(result.widening),
        "fidelity_status": None if result is None else result.status.value,
        "fidelity_gap": None if result is None or not np.isfinite(result.gap) else float(result.gap),
        "fidelity_nodes": None if result is None else int(result.nodes),
        "fidelity_certified": None if result is None else result.certified,
        "decision_note": None if decision is None else decision.note,
    }


def _phase_fields(release: Release) -> dict[str, Any]:
    fields = {}
    for step in ("2a", "2b", "3a", "3b"):
        taken = next((each for each in release.dossier.steps if each.step == step), None)
        fields[f"cpu_{step}"] = None if taken is None else taken.cpu_seconds
    return fields
