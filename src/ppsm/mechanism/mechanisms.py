"""The mechanisms: ``Laplace`` (step 1 only), ``PPSM_p`` (value band) and ``PPSM`` (value and price bands).

===== ======== ============================== ========================================================
step  party    sees                           does
===== ======== ============================== ========================================================
1     follower D, the secret                  D~ = D + Laplace noise, and where nothing is published the total
                                              with noise of its own; the ledger is charged first, once
2a    leader   D~, public                     M_L predicts prices
2b    leader   D~, public, predicted prices   decides with these prices fixed, sends the decision
3a    follower D~, the decision, public       M_F predicts its value and prices
3b    follower D~, the decision, predictions  fidelity problem -> D^, released
===== ======== ============================== ========================================================

Only step 1 takes a :class:`~ppsm.privacy.Sensitive`. :meth:`process`, which is all the rest, takes a
:class:`~ppsm.privacy.Released` and public objects: it is post-processing and costs no privacy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ppsm.errors import InputError, PrivacyError
from ppsm.fidelity.problem import Bands, Norm, SearchLimits
from ppsm.fidelity.result import FidelityResult
from ppsm.mechanism.coordination import Coordination, Decision, FollowerSide
from ppsm.mechanism.dossier import Dossier, Parameters, Step
from ppsm.mechanism.guarantees import Guarantees, faithful_distance, laplace_distance
from ppsm.mechanism.predictors import ModelBased, Prediction, Predictor, PredictorNote
from ppsm.mechanism.prior import PublicPrior
from ppsm.mechanism.split import SHARES, best_share
from ppsm.mechanism.steps import (
    FOLLOWER,
    StepLog,
    decide,
    predict_outcome,
    predict_prices,
    restore_fidelity,
)
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.ledger import Ledger
from ppsm.privacy.measurements import Split
from ppsm.privacy.provenance import Provenance
from ppsm.privacy.record import integer
from ppsm.privacy.released import Released, require_released
from ppsm.privacy.sensitive import Sensitive, refusal_of
from ppsm.privacy.statement import headline
from ppsm.views import View, entry_rows


@dataclass(frozen=True, eq=False)
class Release:
    """What a mechanism returns. ``decision``, ``prediction`` and ``fidelity`` are None for ``Laplace``."""

    noisy: Released
    released: Released
    dossier: Dossier
    decision: Decision | None = None
    prediction: Prediction | None = None
    fidelity: FidelityResult | None = None

    def __str__(self) -> str:
        return str(self._view())

    def _repr_html_(self) -> str:
        return self._view().html()

    def _view(self) -> View:
        rows = entry_rows(self.released.entry_names, self.noisy.values, self.released.values)
        unit = self.released.unit
        return View(headline(self.released), rows, ("entry", f"noisy, {unit}", f"released, {unit}"))


@dataclass(frozen=True, eq=False)
class Answer:
    """What the follower answers to a decision: the faithful vector, the prediction behind it, the proof."""

    released: Released
    prediction: Prediction
    fidelity: FidelityResult


@dataclass(frozen=True, eq=False)
class Repair:
    """What steps 2a to 3b made of a noisy vector: the leader's decision, and the follower's answer to it."""

    log: StepLog
    decision: Decision
    answer: Answer


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Step 1 alone: Laplace noise, nothing repaired.

    Parameters
    ----------
    alpha
        The distance within which one entry is hidden, in the unit of the data.
    epsilon
        The privacy loss allowed between adjacent vectors.
    """

    name: ClassVar[str] = "laplace"

    alpha: float
    epsilon: float = 1.0
    noise: LaplaceMechanism = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", LaplaceMechanism(alpha=self.alpha, epsilon=self.epsilon))

    def release(
        self,
        secret: Sensitive,
        coordination: Coordination,
        predictor: Predictor | None = None,
        *,
        ledger: Ledger,
        purpose: str,
    ) -> Release:
        """Charge the ledger, add secure noise, and run the other steps on what came out.

        It is :meth:`process` after :meth:`perturb`; who must not lose what was charged for when the other
        steps are interrupted calls the two and keeps the noisy vector in between.

        Parameters
        ----------
        secret
            The data; only step 1 sees them.
        coordination
            The game, with public data only.
        predictor
            M_L and M_F; ``Laplace`` needs none, the others take :class:`ModelBased` where none is given.
        ledger, purpose
            As in :meth:`ppsm.LaplaceMechanism.release`.
        """
        noisy = self.perturb(secret, coordination, predictor, ledger=ledger, purpose=purpose)
        return self.process(noisy, coordination, predictor)

    def perturb(
        self,
        secret: Sensitive,
        coordination: FollowerSide,
        predictor: Predictor | None = None,
        *,
        ledger: Ledger,
        purpose: str,
        recipient: str | None = None,
        keep: Callable[[Released], None] | None = None,
    ) -> Released:
        """Step 1: refuse what the other steps would refuse, charge the ledger, add secure noise.

        ``recipient`` and ``keep`` are as in :meth:`ppsm.LaplaceMechanism.release`.
        """
        measurement = self._suited(secret, coordination, predictor)
        for what, provenance in self._provenances(predictor):
            provenance.refuse_unknown(what, ledger)
        publication = None if predictor is None else predictor.publication
        if publication is not None and not publication.noted_by(ledger):
            raise PrivacyError(
                "The predictor rests on figures that this ledger has not noted as they are, expected a "
                "publication of its own for a private release: note it with note_publication(...)."
            )
        return measurement.release(secret, ledger=ledger, purpose=purpose, recipient=recipient, keep=keep)

    def check_budget(self, secret: Sensitive, ledger: Ledger) -> None:
        """Refuse what step 1 would be refused for its cost, before there is a game; nothing is charged."""
        for measurement in self._possible_measurements():
            measurement.check_budget(secret, ledger)

    def _possible_measurements(self) -> tuple[LaplaceMechanism, ...]:
        """What step 1 may measure, whatever the game is."""
        return (self.noise,)

    def _measurement(self, coordination: FollowerSide, predictor: Predictor | None) -> LaplaceMechanism:
        """What step 1 measures, by public data alone: here the entries."""
        del coordination, predictor
        return self.noise

    def _suited(
        self, secret: Sensitive, coordination: FollowerSide, predictor: Predictor | None
    ) -> LaplaceMechanism:
        """What step 1 measures, of a secret that suits the game; any other is refused before a charge."""
        if refusal := refusal_of(secret):
            del secret
            raise refusal
        self._check(secret, coordination, predictor)
        return self._measurement(coordination, predictor)

    def simulate(
        self,
        secret: Sensitive,
        coordination: Coordination,
        predictor: Predictor | None = None,
        *,
        seed: int,
        purpose: str = "simulation",
    ) -> Release:
        """The same with reproducible noise, for research; the result is stamped as not private."""
        noisy = self.perturb_with_seed(secret, coordination, predictor, seed=seed, purpose=purpose)
        return self.process(noisy, coordination, predictor)

    def perturb_with_seed(
        self,
        secret: Sensitive,
        coordination: FollowerSide,
        predictor: Predictor | None = None,
        *,
        seed: int,
        purpose: str = "simulation",
    ) -> Released:
        """Step 1 of :meth:`simulate`: it measures what :meth:`perturb` does."""
        measurement = self._suited(secret, coordination, predictor)
        return measurement.simulate(secret, seed=integer(seed, "seed"), purpose=purpose)

    def process(
        self, noisy: Released, coordination: Coordination, predictor: Predictor | None = None
    ) -> Release:
        """Steps 2a to 3b on a noisy vector: none for ``Laplace``."""
        del predictor
        self._checked(noisy, coordination)
        dossier = self.dossier(noisy, noisy, StepLog(), None, Guarantees(laplace_distance(noisy.record)))
        return Release(noisy, noisy, dossier)

    def _check(self, secret: Sensitive, coordination: FollowerSide, predictor: Predictor | None) -> None:
        """Refuse, before anything is charged, what would fail after it."""
        del predictor
        _refuse_mismatch(secret.entry_names, secret.unit, coordination)

    def _provenances(self, predictor: Predictor | None) -> list[tuple[str, Provenance]]:
        """Where all that the later steps use beside the noise comes from, as far as it says so."""
        found = getattr(predictor, "provenance", None)
        return [] if found is None else [("predictor", found)]

    def refuse_other_noise(self, noisy: Released) -> None:
        """Refuse a noisy vector that this mechanism would not have made."""
        if (noisy.record.alpha, noisy.record.epsilon) != (self.alpha, self.epsilon):
            raise InputError(
                f"The noisy vector was made for alpha = {noisy.record.alpha:g} and epsilon = "
                f"{noisy.record.epsilon:g}, the mechanism is for {self.alpha:g} and {self.epsilon:g}: use "
                "the same."
            )

    def _checked(self, noisy: Released, coordination: FollowerSide) -> Released:
        _refuse_mismatch(require_released(noisy, "noisy demand").entry_names, noisy.unit, coordination)
        self.refuse_other_noise(noisy)
        return noisy

    def _parameters(self) -> Parameters:
        return Parameters(name=self.name, alpha=self.alpha, epsilon=self.epsilon)

    def dossier(
        self,
        noisy: Released,
        released: Released,
        log: StepLog,
        predictor: Predictor | None,
        theory: Guarantees,
    ) -> Dossier:
        """How a release came about; the log has the steps after the first."""
        # How long step 1 took may depend on the secret.
        measured = {"values": noisy.values.tolist(), "total": noisy.total}
        first = Step("1", FOLLOWER, ("secret demand",), measured, None, None)
        return Dossier(
            mechanism=self._parameters(),
            noisy=noisy,
            released=released,
            predictor=None if predictor is None else PredictorNote.of(predictor),
            publication=None if predictor is None else predictor.publication,
            steps=(first, *log.steps),
            theory=theory,
        )


@dataclass(frozen=True, kw_only=True)
class PPSM_p(Laplace):  # noqa: N801 - the paper's name
    """All five steps with the value band only.

    Parameters
    ----------
    alpha, epsilon
        As in :class:`Laplace`.
    eta_p
        Half-width of the value band as a fraction of the predicted value (0.001 is 0.1 %).
    norm
        ``"l2"`` as in the paper, or ``"l1"``, the likelihood of Laplace noise.
    prior
        Public knowledge about the entries, off by default.
    limits
        Of the search in step 3b.
    total_share
        What of epsilon goes to a measurement of the total. By default all stays with the entries where the
        predictions rest on published figures, as in the paper, and else what
        :mod:`ppsm.mechanism.split` says.
    """

    name: ClassVar[str] = "ppsm-p"

    eta_p: float = 0.001
    norm: Norm = "l2"
    prior: PublicPrior | None = None
    limits: SearchLimits = field(default_factory=SearchLimits)
    total_share: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _width(self.eta_p, "eta_p")
        if self.norm not in ("l2", "l1"):
            raise InputError(f"the norm is '{self.norm}'; expected 'l2' or 'l1'.")
        Split.of(self.noise.epsilon, self.total_share or 0.0)

    def _possible_measurements(self) -> tuple[LaplaceMechanism, ...]:
        """The entries with a total of each share: all lose epsilon, but round it differently."""
        shares = SHARES if self.total_share is None else (self.total_share,)
        return tuple(replace(self.noise, total_share=share) for share in shares)

    def _measurement(self, coordination: FollowerSide, predictor: Predictor | None) -> LaplaceMechanism:
        """Entries and, where nothing is published, the total."""
        share = self.total_share
        if share is None:
            is_published = predictor is not None and predictor.publication is not None
            share = 0.0 if is_published else best_share(self.noise.scale, *coordination.public_bounds)
        return replace(self.noise, total_share=share)

    def process(
        self, noisy: Released, coordination: Coordination, predictor: Predictor | None = None
    ) -> Release:
        """Steps 2a to 3b on a noisy vector."""
        model = ModelBased() if predictor is None else predictor
        repair = self.repair(noisy, coordination, model)
        return self.concluded(repair.log, noisy, coordination, model, repair.decision, repair.answer)

    def repair(
        self, noisy: Released, coordination: Coordination, predictor: Predictor | None = None
    ) -> Repair:
        """Steps 2a to 3b alone: the nearest faithful vector, without theory and dossier."""
        model = ModelBased() if predictor is None else predictor
        log = StepLog()
        decision = self.lead(log, noisy, coordination, model)
        return Repair(log, decision, self.answer(log, noisy, coordination, model, decision))

    def lead(
        self, log: StepLog, noisy: Released, coordination: Coordination, predictor: Predictor
    ) -> Decision:
        """Steps 2a and 2b: the leader's."""
        self._refuse(noisy, coordination, predictor)
        prices = predict_prices(log, noisy, coordination, predictor)
        return decide(log, noisy, coordination, prices)

    def answer(
        self, log: StepLog, noisy: Released, side: FollowerSide, predictor: Predictor, decision: Decision
    ) -> Answer:
        """Steps 3a and 3b: the follower's, to a decision that it was sent."""
        self._refuse(noisy, side, predictor)
        said = predict_outcome(log, noisy, side, predictor, decision)
        bands = self.bands(said, side)
        result = restore_fidelity(
            log, noisy, side, decision, bands, norm=self.norm, prior=self.prior, limits=self.limits
        )
        return Answer(noisy.derive(result.parameter, self.step_name), said, result)

    @property
    def step_name(self) -> str:
        """How the released vector names what was done to it."""
        return f"fidelity ({self.name})"

    def concluded(
        self,
        log: StepLog,
        noisy: Released,
        coordination: Coordination,
        predictor: Predictor,
        decision: Decision,
        answer: Answer,
    ) -> Release:
        """The release with its dossier, once all steps are taken."""
        result = answer.fidelity
        theory = self.guarantees(
            noisy, coordination, decision, answer.prediction, widening=result.widening, gap=result.gap
        )
        dossier = self.dossier(noisy, answer.released, log, predictor, theory)
        return Release(noisy, answer.released, dossier, decision, answer.prediction, result)

    def _refuse(self, noisy: Released, side: FollowerSide, predictor: Predictor) -> None:
        """Refuse a vector of another game or mechanism, and models that may carry the truth."""
        self._checked(noisy, side)
        for what, provenance in self._provenances(predictor) if noisy.private else ():
            provenance.refuse_taint(what)

    def _check(self, secret: Sensitive, coordination: FollowerSide, predictor: Predictor | None) -> None:
        super()._check(secret, coordination, predictor)
        if self.prior is not None and self.prior.mean.size != secret.dimension:
            raise InputError(
                f"the prior has {self.prior.mean.size} entries, the data have {secret.dimension}: pass one "
                "for each."
            )

    def _provenances(self, predictor: Predictor | None) -> list[tuple[str, Provenance]]:
        own = [] if self.prior is None else [("prior", self.prior.provenance)]
        return [*super()._provenances(predictor), *own]

    def bands(self, said: Prediction, side: FollowerSide) -> Bands:
        """What is asked of the released vector around a prediction: here of the value alone."""
        del side
        return Bands.relative(said.value, None, eta_p=self.eta_p)

    def _parameters(self) -> Parameters:
        return replace(super()._parameters(), eta_p=self.eta_p, norm=self.norm, prior=self.prior)

    def guarantees(
        self,
        noisy: Released,
        coordination: Coordination,
        decision: Decision,
        said: Prediction,
        *,
        widening: float,
        gap: float,
    ) -> Guarantees:
        """What theory says of a release whose bands were widened, and whose search left a gap."""
        distance = faithful_distance(
            noisy.record, self.norm, has_prior=self.prior is not None, widening=widening, gap=gap
        )
        bands = self.bands(said, coordination).widened(widening)
        return Guarantees(distance, coordination.cost_of_privacy(decision, bands))


@dataclass(frozen=True, kw_only=True)
class PPSM(PPSM_p):
    """All five steps with both bands.

    Parameters
    ----------
    eta_d
        Half-width of the price band as a fraction of each predicted price.
    """

    name: ClassVar[str] = "ppsm"

    eta_d: float = 0.001

    def __post_init__(self) -> None:
        super().__post_init__()
        _width(self.eta_d, "eta_d")

    def bands(self, said: Prediction, side: FollowerSide) -> Bands:
        """What is asked of the released vector around a prediction: of its value and its prices."""
        prices = side.entry_prices(said.prices)
        return Bands.relative(said.value, prices, eta_p=self.eta_p, eta_d=self.eta_d)

    def _parameters(self) -> Parameters:
        return replace(super()._parameters(), eta_d=self.eta_d)


MECHANISMS: dict[str, type[Laplace]] = {each.name: each for each in (Laplace, PPSM_p, PPSM)}


def _width(value: float, name: str) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{name} is {value}; expected a fraction of at least 0, such as 0.001 for 0.1 %.")


def _refuse_mismatch(found: tuple[str, ...], unit: str, coordination: FollowerSide) -> None:
    names = coordination.entry_names
    if found != names:
        raise InputError(
            f"The data have {len(found)} entries beginning with '{found[0]}', the game has {len(names)} "
            f"beginning with '{names[0]}': name the data as the game does."
        )
    if unit != coordination.unit:
        raise InputError(f"The data are in {unit}, the game is in {coordination.unit}: convert the data.")
