"""The mechanisms in five steps: ``PPSM_p`` (value band) and ``PPSM`` (value and price bands).

===== ======== ============================== ========================================================
step  party    sees                           does
===== ======== ============================== ========================================================
1     follower D, the secret                  D~ = D + Laplace noise, and where nothing is published totals
                                              with noise of their own; the ledger is charged first, once
2a    leader   D~, public                     M_L predicts prices
2b    leader   D~, public, predicted prices   decides with these prices fixed, sends the decision
2c    leader   D~, public, published cost     of a published decision: what its cost says about D, sent too
3a    follower D~, the decision, public       M_F predicts its value and prices
3b    follower D~, the decision, predictions  fidelity problem -> D^, released
3c    leader   D^, public                     where it has no answer at D^: the nearest D^ at which it has
===== ======== ============================== ========================================================

Step 1, which takes a :class:`~ppsm.privacy.Sensitive`, is in :mod:`ppsm.mechanism.first_step` with
``Laplace``, which stops there; steps 2a to 3c are in :mod:`ppsm.mechanism.steps`. :meth:`process`, which runs
them, takes a :class:`~ppsm.privacy.Released` and public objects: it is post-processing and costs no privacy.
"""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ppsm.errors import InputError, PpsmError
from ppsm.fidelity.problem import Bands, Norm, SearchLimits
from ppsm.fidelity.result import FidelityResult
from ppsm.mechanism.coordination import (
    Coordination,
    Decision,
    FollowerSide,
    insist_on_interface,
    insist_on_market,
)
from ppsm.mechanism.dossier import Parameters
from ppsm.mechanism.first_step import Laplace, Release
from ppsm.mechanism.guarantees import Guarantees, faithful_distance, moved_guarantees
from ppsm.mechanism.predictors import ModelBased, Prediction, Predictor
from ppsm.mechanism.prior import PublicPrior
from ppsm.mechanism.published_cost import unrounded_prices
from ppsm.mechanism.steps import (
    StepLog,
    decide,
    keep_cost,
    predict_outcome,
    predict_prices,
    repair_for_leader,
    restore_fidelity,
)
from ppsm.mechanism.theory import CostOfPrivacy
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.measurements import Split, best_share
from ppsm.privacy.provenance import Provenance
from ppsm.privacy.publication import MarketResult
from ppsm.privacy.released import Released
from ppsm.privacy.sensitive import Sensitive
from ppsm.privacy.tuning import TUNING


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
        What of epsilon goes to a measurement of the total, or of those of the zones of the game
        (``public_zones`` of the coordination). By default all stays with the entries where the
        predictions rest on published figures, as in the paper, and else what
        :mod:`ppsm.privacy.measurements` says.
    """

    name: ClassVar[str] = "ppsm-p"

    eta_p: float = 0.001
    norm: Norm = "l2"
    prior: PublicPrior | None = None
    limits: SearchLimits = field(default_factory=SearchLimits)
    total_share: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_width(self.eta_p, "eta_p")
        if self.norm not in ("l2", "l1"):
            raise InputError(f"the norm is '{self.norm}'; expected 'l2' or 'l1'.")
        Split.of(self.noise.epsilon, self.total_share or 0.0)

    def _possible_measurements(self) -> tuple[LaplaceMechanism, ...]:
        """The entries with a total of each share: all lose epsilon, but round it differently."""
        shares = TUNING.shares if self.total_share is None else (self.total_share,)
        return tuple(replace(self.noise, total_share=share) for share in shares)

    def _measurement(self, coordination: FollowerSide, predictor: Predictor | None) -> LaplaceMechanism:
        """Entries and, where nothing is published, the total or those of zones."""
        share = self.total_share
        if share is None:
            is_published = predictor is not None and predictor.publication is not None
            share = 0.0 if is_published else best_share(self.noise.scale, *coordination.public_bounds)
        return replace(self.noise, total_share=share, zones=coordination.public_zones)

    def process(
        self, noisy: Released, coordination: Coordination, predictor: Predictor | None = None
    ) -> Release:
        """Steps 2a to 3c on a noisy vector."""
        model = ModelBased() if predictor is None else predictor
        self._refuse(noisy, coordination, model)
        # Asked before the steps, which give it a memory of released vectors: else it would be made anew.
        game = coordination.without_memory() if noisy.private else coordination
        repair = self.repair(noisy, coordination, model)
        answer, found, decision = repair.answer, repair.answer.fidelity, repair.decision
        released = answer.released
        moved = repair_for_leader(repair.log, noisy, released.values, game, prior=self.prior)
        if moved is None:
            theory = self.guarantees(
                noisy, coordination, decision, answer.prediction, widening=found.widening, gap=found.gap
            )
        else:
            released = released.derive(moved, "leader's repair")
            theory = moved_guarantees(noisy, moved)
        dossier = self.dossier(noisy, released, repair.log, model, theory)
        return Release(noisy, released, dossier, decision, answer.prediction, found)

    def repair(
        self, noisy: Released, coordination: Coordination, predictor: Predictor | None = None
    ) -> Repair:
        """Steps 2a to 3b alone: the nearest faithful vector, without step 3c, theory and dossier."""
        model = ModelBased() if predictor is None else predictor
        log = StepLog()
        decision = self.lead(log, noisy, coordination, model)
        return Repair(log, decision, self.answer(log, noisy, coordination, model, decision))

    def lead(
        self, log: StepLog, noisy: Released, coordination: Coordination, predictor: Predictor
    ) -> Decision:
        """Steps 2a to 2c: the leader's."""
        self._refuse(noisy, coordination, predictor)
        if noisy.private:
            coordination = coordination.without_memory()
        prices = predict_prices(log, noisy, coordination, predictor)
        decision = decide(log, noisy, coordination, prices, predictor.publication)
        published = None if predictor.publication is None else predictor.publication.result
        if published is None or published.felt is None:
            return decision
        bands = self.bands(Prediction(published.value, published.prices), coordination)
        published = replace(published, prices=unrounded_prices(published, coordination.follower_at(decision)))
        same = coordination.least_cost_at(published.prices)
        if same is None:
            return decision
        return keep_cost(
            log,
            noisy,
            coordination,
            decision,
            bands,
            published,
            same,
            norm=self.norm,
            prior=self.prior,
            limits=self.limits,
        )

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

    def _refuse(self, noisy: Released, side: FollowerSide, predictor: Predictor) -> None:
        """Refuse a vector of another game or mechanism, and models that may carry the truth."""
        self._checked(noisy, side)
        for what, provenance in self._provenances(predictor) if noisy.private else ():
            provenance.refuse_taint(what)

    def insist_on_game(self, coordination: Coordination, predictor: Predictor | None) -> None:
        """Refuse a game or models that lack what the later steps ask for."""
        insist_on_interface(coordination, FollowerSide, Coordination)
        if predictor is not None:
            insist_on_interface(predictor, Predictor)

    def _check(self, secret: Sensitive, coordination: FollowerSide, predictor: Predictor | None) -> None:
        # The follower of two parties has no more than its own side; whoever leads has asked for all.
        insist_on_interface(coordination, FollowerSide)
        super()._check(secret, coordination, predictor)
        if self.prior is not None and self.prior.mean.size != secret.dimension:
            raise InputError(
                f"the prior has {self.prior.mean.size} entries, the data have {secret.dimension}: pass one "
                "for each."
            )
        if predictor is not None and predictor.publication is not None:
            self.insist_on_published(predictor.publication.result, coordination)

    def insist_on_published(self, result: MarketResult, side: FollowerSide) -> None:
        """Refuse published figures that the later steps cannot use, before they are noted or charged for."""
        insist_on_market(result, side)
        self.bands(Prediction(result.value, result.prices), side).checked(side.entry_names)

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
            noisy.record,
            self.norm,
            has_prior=self.prior is not None,
            widening=widening,
            gap=gap,
            has_half_spaces=decision.half_spaces is not None,
        )
        bands = self.bands(said, coordination).widened(widening)
        return Guarantees(distance, _cost_or_why_not(coordination, decision, bands))


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
        check_width(self.eta_d, "eta_d")

    def bands(self, said: Prediction, side: FollowerSide) -> Bands:
        """What is asked of the released vector around a prediction: of its value and its prices."""
        prices = side.entry_prices(said.prices)
        return Bands.relative(said.value, prices, eta_p=self.eta_p, eta_d=self.eta_d)

    def _parameters(self) -> Parameters:
        return replace(super()._parameters(), eta_d=self.eta_d)


def _cost_or_why_not(coordination: Coordination, decision: Decision, bands: Bands) -> CostOfPrivacy | str:
    """What encloses the cost of privacy; a bound is no reason to lose what is charged for."""
    try:
        found: object = coordination.cost_of_privacy(decision, bands)
    except PpsmError as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 - the coordination may be the user's
        why = f"{type(error).__name__}: {error}"
    else:
        if isinstance(found, CostOfPrivacy | str):
            return found
        why = f"it returned {type(found).__name__}, expected CostOfPrivacy or text"
    return f"the search for what encloses it failed ({why})"


MECHANISMS: dict[str, type[Laplace]] = {each.name: each for each in (Laplace, PPSM_p, PPSM)}


def check_width(value: float, name: str) -> None:
    """Refuse what is no fraction, such as 10 where somebody means 10 %."""
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{name} is {value}; expected a fraction of at least 0, such as 0.001 for 0.1 %.")
    if value > 1:
        raise InputError(
            f"{name} is {value}, which is {100 * value:g} %; expected a fraction of at most 1, such as 0.001 "
            "for 0.1 %: divide per cent by 100."
        )
