"""``Laplace``: step 1 alone, which is the first step of every mechanism; and the ``Release`` they all return.

Only this step takes a :class:`~ppsm.privacy.Sensitive`. It refuses first whatever the later steps would
refuse after the charge, then measures: entries, and totals where a mechanism asks for them.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from ppsm.errors import InputError, PrivacyError
from ppsm.fidelity.result import FidelityResult
from ppsm.mechanism.coordination import Coordination, Decision, FollowerSide
from ppsm.mechanism.dossier import Dossier, Parameters, Step
from ppsm.mechanism.guarantees import Guarantees, laplace_distance
from ppsm.mechanism.predictors import Prediction, Predictor, PredictorNote
from ppsm.mechanism.steps import FOLLOWER, StepLog
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.ledger import Ledger
from ppsm.privacy.provenance import Provenance
from ppsm.privacy.record import integer
from ppsm.privacy.released import Released, require_released
from ppsm.privacy.sensitive import Sensitive, refusal_of
from ppsm.privacy.statement import headline
from ppsm.views import View, Viewed, entry_rows

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Release(Viewed):
    """What a mechanism returns. ``decision``, ``prediction`` and ``fidelity`` are None for ``Laplace``."""

    noisy: Released
    released: Released
    dossier: Dossier
    decision: Decision | None = None
    prediction: Prediction | None = None
    fidelity: FidelityResult | None = None

    def _view(self) -> View:
        rows = entry_rows(self.released.entry_names, self.noisy.values, self.released.values)
        unit = self.released.unit
        return View(headline(self.released), rows, ("entry", f"noisy, {unit}", f"released, {unit}"))


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
        self.insist_on_game(coordination, predictor)
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
        self.insist_on_provenance(predictor, ledger)
        noisy = measurement.release(secret, ledger=ledger, purpose=purpose, recipient=recipient, keep=keep)
        LOG.info("step 1: charged epsilon %g at alpha %g to %s", self.epsilon, self.alpha, ledger.path)
        return noisy

    def insist_on_game(self, coordination: Coordination, predictor: Predictor | None) -> None:
        """Refuse a game or models that lack what the later steps ask for: ``Laplace`` has none."""

    def insist_on_provenance(self, predictor: Predictor | None, ledger: Ledger) -> None:
        """Refuse what the later steps would use if it may carry the truth, or the ledger does not know it."""
        for what, provenance in self._provenances(predictor):
            provenance.refuse_unknown(what, ledger)
        publication = None if predictor is None else predictor.publication
        if publication is not None and not publication.noted_by(ledger):
            raise PrivacyError(
                "The predictor rests on figures that this ledger has not noted as they are, expected a "
                "publication of its own for a private release: note it with note_publication(...)."
            )

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
        self.insist_on_game(coordination, predictor)
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
        refuse_mismatch(secret.entry_names, secret.unit, coordination)

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
        refuse_mismatch(require_released(noisy, "noisy demand").entry_names, noisy.unit, coordination)
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
        measured = {"values": noisy.values.tolist(), "totals": list(noisy.totals)}
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


def refuse_mismatch(found: tuple[str, ...], unit: str, coordination: FollowerSide) -> None:
    """Refuse entries of other names, or in another unit, than the game's."""
    names = coordination.entry_names
    if found != names:
        raise InputError(
            f"The data have {len(found)} entries beginning with '{found[0]}', the game has {len(names)} "
            f"beginning with '{names[0]}': name the data as the game does, with its entry_names."
        )
    if unit != coordination.unit:
        raise InputError(f"The data are in {unit}, the game is in {coordination.unit}: convert the data.")
