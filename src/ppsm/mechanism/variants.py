"""Mechanisms by name, with what they may be given on top: ``ppsm``, ``ppsm+prior``, ``ppsm-p+l1``.

``+prior``    a public history of the demand: each entry known up to 10 %, or up to 5 % with
              ``+prior5`` and so on (drawn once per cell and repetition)
``+l1``       L1 distance in step 3b, the likelihood of Laplace noise, instead of the paper's L2
``+model``    nothing is published: M_L and M_F solve the market's public model
``+learned``  M_L and M_F learned from a simulated public past of the market at this power stress and alpha
"""

import re
from dataclasses import dataclass, replace

import numpy as np

from ppsm.coordinations.unit_commitment import case_days
from ppsm.errors import InputError
from ppsm.mechanism.history import InventedDays
from ppsm.mechanism.instance import Instance, Record, Workspace, run_instance, seed_of
from ppsm.mechanism.learned import Learned
from ppsm.mechanism.mechanisms import MECHANISMS, Laplace, PPSM_p
from ppsm.mechanism.predictors import ModelBased, Predictor
from ppsm.mechanism.prior import PublicPrior

OPTIONS = ("prior", "l1", "model", "learned")
# How well a public history knows an entry; the paper has no such row. Hourly forecasts of gas demand at four
# Spanish sites have mean absolute errors of 3 to 10 %, those further ahead more (Energy 244:122562, 2022).
PRIOR_SPREAD = 0.1
_DEFAULT_PRIOR = f"prior{100 * PRIOR_SPREAD:.0f}"


@dataclass(frozen=True)
class Variant:
    """A mechanism and its options."""

    mechanism: str
    options: frozenset[str]

    @classmethod
    def named(cls, name: str) -> "Variant":
        """Read a name such as ``ppsm+prior``."""
        mechanism, *options = name.split("+")
        allowed = OPTIONS if mechanism in MECHANISMS and mechanism != Laplace.name else ()
        options = ["prior" if option == _DEFAULT_PRIOR else option for option in options]
        kinds = [_kind(option) for option in options]
        if mechanism not in MECHANISMS or not set(kinds) <= set(allowed):
            raise InputError(
                f"the mechanism '{name}' is unknown; expected one of {', '.join(MECHANISMS)}, the last two "
                f"also with {', '.join(f'+{option}' for option in OPTIONS)} (or +prior5 for 5 %)."
            )
        if {"model", "learned"} <= set(kinds) or len(set(kinds)) < len(kinds):
            raise InputError(
                f"the mechanism '{name}' asks for two predictors or for an option twice; expected each "
                "option once, and '+model' or '+learned'."
            )
        return cls(mechanism, frozenset(options))

    @property
    def kinds(self) -> frozenset[str]:
        """The options without their numbers."""
        return frozenset(map(_kind, self.options))

    @property
    def prior_spread(self) -> float | None:
        """How well the public history knows an entry, as a fraction; None without one."""
        for option in self.options:
            if _kind(option) == "prior":
                return int(option.removeprefix("prior")) / 100.0 if option != "prior" else PRIOR_SPREAD
        return None

    @property
    def rank(self) -> tuple[int, tuple[str, ...], float]:
        """Where it stands in a table: the paper's order, then by options, loose priors first."""
        return list(MECHANISMS).index(self.mechanism), tuple(sorted(self.kinds)), -(self.prior_spread or 0.0)

    @property
    def has_bands(self) -> bool:
        """Whether the widths eta mean anything."""
        return self.mechanism != Laplace.name


def _kind(option: str) -> str:
    return "prior" if re.fullmatch(r"prior[1-9]\d?", option) else option


class VariantRunner:
    """Runs instances whose mechanism is a variant's name; days are invented and learned from once."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._days: dict[float, InventedDays] = {}
        self._learned: dict[tuple[float, float, float], Learned] = {}

    def run(self, instance: Instance) -> Record:
        """As :func:`ppsm.mechanism.instance.run_instance`; the record names the variant."""
        variant = Variant.named(instance.mechanism)
        mechanism = self.workspace.mechanism(replace(instance, mechanism=variant.mechanism))
        if isinstance(mechanism, PPSM_p):
            if variant.prior_spread is not None:
                mechanism = replace(mechanism, prior=self._prior(instance, variant.prior_spread))
            if "l1" in variant.options:
                mechanism = replace(mechanism, norm="l1")
        return run_instance(self.workspace, instance, self._predictor(variant, instance), mechanism)

    def _prior(self, instance: Instance, known_to: float) -> PublicPrior:
        """A forecast that everybody could make: the demand up to some per cent, the same for all alphas."""
        case = self.workspace.case
        demand = case.demand_mwh(instance.cell[1])
        seed = seed_of("prior", case.name, instance.power_stress, instance.gas_stress, instance.repetition)
        drawn = 1.0 + known_to * np.random.default_rng(seed).standard_normal(demand.size)
        mean = demand * np.maximum(drawn, 0.0)
        # Where the forecast is small, so is its error, but never zero.
        spread = known_to * np.maximum(mean, 0.01 * float(mean.mean()))
        return PublicPrior.of(mean, spread, source=f"a public history, entries known up to {known_to:.0%}")

    def _predictor(self, variant: Variant, instance: Instance) -> Predictor | None:
        if "model" in variant.options:
            return ModelBased()
        return self._learner(instance) if "learned" in variant.options else None

    def _learner(self, instance: Instance) -> Learned:
        key = (instance.power_stress, instance.alpha, instance.epsilon)
        if key not in self._learned:
            days = self._invented(instance.power_stress)
            self._learned[key] = Learned.train(days.released(alpha=instance.alpha, epsilon=instance.epsilon))
        return self._learned[key]

    def _invented(self, power_stress: float) -> InventedDays:
        if power_stress not in self._days:
            case = self.workspace.case
            seed = seed_of("history", case.name, power_stress) % 2**32
            self._days[power_stress] = case_days(case, power_stress, seed=seed)
        return self._days[power_stress]
