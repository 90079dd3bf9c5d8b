"""What public knowledge buys: the L1 error of releases that know more and more."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.fidelity_cells import ALPHAS_MWH, Cell, Instance, draw
from ppsm.fidelity import Prior, Restorer, SearchLimits

_SPREAD = 0.1
_LIMITS = SearchLimits(seconds=10.0, gap=1e-3)


def errors_by_release(cells: Sequence[Cell], draws: int) -> dict[str, list[float]]:
    """Mean L1 distance to the true demand in MWh at each alpha, for each kind of release.

    Draws count where every kind of release has an answer.
    """
    found: dict[str, dict[float, list[float]]] = {}
    for instance in draw(cells, draws, prices=True):
        errors = {name: _error(instance, options) for name, options in _releases(instance).items()}
        if all(np.isfinite(error) for error in errors.values()):
            for name, error in errors.items():
                found.setdefault(name, {alpha: [] for alpha in ALPHAS_MWH})[instance.alpha_mwh].append(error)
    return {
        name: [float(np.mean(errors[alpha])) if errors[alpha] else float("nan") for alpha in ALPHAS_MWH]
        for name, errors in found.items()
    }


def _error(instance: Instance, options: dict[str, Any] | None) -> float:
    """The L1 error of a release; not a number where a limit left no answer."""
    cell, parameter = instance.cell, instance.released
    if options is not None:
        restorer = Restorer.of(cell.follower)
        parameter = restorer.restore(instance.released, instance.bands, limits=_LIMITS, **options).parameter
    if parameter.size != cell.demand.size:
        return float("nan")
    return float(np.abs(parameter - cell.demand).sum()) * cell.unit_mwh


def _releases(instance: Instance) -> dict[str, dict[str, Any] | None]:
    """The options of each kind of release; None is the noisy vector itself."""
    cell = instance.cell
    bounds = (0.0, cell.largest)
    # A public history that is right to 10 %; entries near zero are known to a hundredth of the typical one.
    history = cell.demand * (1.0 + _SPREAD * np.random.default_rng(1).normal(size=cell.demand.size))
    floor = 0.01 * float(np.median(cell.demand[cell.demand > 0]))
    spread = np.maximum(_SPREAD * np.abs(history), floor)
    prior = Prior(np.maximum(history, 0.0), spread, instance.alpha_mwh / cell.unit_mwh)
    return {
        "Laplace": None,
        "bands": {},
        "bands, largest daily quantities": {"bounds": bounds},
        "the same in l1": {"bounds": bounds, "norm": "l1"},
        "bands, quantities, public history": {"bounds": bounds, "prior": prior},
        "the same in l1 ": {"bounds": bounds, "prior": prior, "norm": "l1"},
    }
