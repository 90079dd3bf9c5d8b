"""For the owner only: what a release is worth, measured against the secret.

Nothing here enters a dossier or a shareable report. :func:`distances_for_owner` needs the secret itself and
hands its answer out in an :class:`~ppsm.privacy.OwnerOnly`; :func:`cost_errors` compares two outcomes, of
which the owner alone knows the original one unless it was published.
"""

from dataclasses import dataclass, replace

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import InputError
from ppsm.fidelity.certificate import certify
from ppsm.fidelity.problem import MeasuredTotals
from ppsm.mechanism.coordination import Outcome
from ppsm.mechanism.first_step import Release
from ppsm.mechanism.theory import nearness, size_of
from ppsm.privacy.owner_only import OwnerOnly, for_owner_only
from ppsm.privacy.sensitive import Sensitive


@dataclass(frozen=True)
class Distances:
    """How far a release is from the truth, in the unit of the data.

    ``l2_bound`` is ``2 ||D~ - D||``, with a gap a little more, by the theorem, and how far the leader has
    moved the vector in step 3c (``None`` for ``Laplace``, or with a prior). Its premise is that the true
    vector satisfies the bands; ``truth_in_bands`` says whether it does.
    """

    l1_noisy: float
    l2_noisy: float
    l1_released: float
    l2_released: float
    l2_bound: float | None
    truth_in_bands: bool | None


def distances_for_owner(secret: Sensitive, release: Release) -> OwnerOnly[Distances]:
    """Measure a release against the secret that it was made from."""
    if secret.entry_names != release.released.entry_names:
        raise InputError("the secret and the release name different entries: compare a release with its own.")
    return for_owner_only(secret, lambda truth: distances(truth, release))


def distances(truth: FloatArray, release: Release) -> Distances:
    """The same for a true vector that is public test data."""
    noise = release.noisy.values - truth
    totals = MeasuredTotals.of(release.noisy)
    # In the metric of step 3b: a total weighs as its noise is small beside that of an entry.
    measured = noise if totals is None else np.append(noise, totals.missed(truth))
    moved = release.released.values - truth
    made = release.dossier.mechanism
    has_bound = made.prior is None and made.norm == "l2"
    found = release.fidelity
    factor = nearness("l2", found.gap) if has_bound and found is not None else None
    # The theorem is about the faithful vector, from which the leader may have moved on.
    by_leader = 0.0 if found is None else float(np.linalg.norm(release.released.values - found.parameter))
    return Distances(
        l1_noisy=float(np.abs(noise).sum()),
        l2_noisy=float(np.linalg.norm(noise)),
        l1_released=float(np.abs(moved).sum()),
        l2_released=float(np.linalg.norm(moved)),
        l2_bound=None if factor is None else factor * size_of(measured) + by_leader,
        truth_in_bands=truth_in_bands(truth, release),
    )


def truth_in_bands(truth: FloatArray, release: Release) -> bool | None:
    """Whether the true vector satisfies the bands that the release was made with; None without bands."""
    claim = None if release.fidelity is None else release.fidelity.claim
    if claim is None:
        return None
    return certify(replace(claim, parameter=truth)).faithful


def cost_errors(original: Outcome, released: Outcome) -> dict[str, float] | None:
    """Signed errors of the leader's cost and of each follower's value, in per cent of the original ones.

    None where either game has no answer.
    """
    if original.leader_cost is None or released.leader_cost is None:
        return None
    pairs = {"leader": (original.leader_cost, released.leader_cost)}
    pairs |= {name: (value, released.values[name]) for name, value in original.values.items()}
    return {name: _percent(new - old, old) for name, (old, new) in pairs.items()}


def prediction_errors(original: Outcome, follower: str, release: Release) -> dict[str, float] | None:
    """Errors of step 3a's prediction of a follower's outcome, in per cent of what it came to.

    That of the value is signed; that of the prices is the mean size of the errors over the mean price. None
    where nothing was predicted or the original game has no answer.
    """
    said = release.prediction
    if said is None or original.prices is None:
        return None
    value = original.values[follower]
    off, size = np.abs(said.prices - original.prices).mean(), np.abs(original.prices).mean()
    return {"value": _percent(said.value - value, value), "prices": _percent(float(off), float(size))}


def _percent(difference: float, original: float) -> float:
    return 100.0 * difference / max(abs(original), 1e-12)
