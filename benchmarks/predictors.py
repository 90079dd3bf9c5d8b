"""``python -m benchmarks.predictors``: how much fidelity is lost when predictions are not the published ones.

PPSM_p and PPSM on one stress cell with published outcomes, with learned models (trained on a simulated public
history, cross-validated errors printed) and with the market's own model: share feasible, mean errors of the
outcome and of the predicted value, median widening of the bands.
"""

import argparse
from pathlib import Path

import numpy as np

from ppsm.cases import load_case
from ppsm.coordinations.unit_commitment import case_days
from ppsm.experiments.instance import Workspace, run_instance
from ppsm.experiments.row import Instance
from ppsm.experiments.summaries import Summary
from ppsm.experiments.tuning import Limits
from ppsm.mechanism import InventedDays, Learned, ModelBased, Predictor

LIMITS = Limits(clear_seconds=60.0, original_seconds=60.0, fidelity_seconds=10.0)


def trained(days: InventedDays, alpha: float) -> Learned:
    learned = Learned.train(days.released(alpha=alpha))
    errors = learned.cross_validation
    print(
        f"alpha {alpha:g} MWh, {len(days.demands)} days: cross-validated error of the value "
        f"{errors.value_error_percent:.2f} %, of prices {errors.price_error_percent:.2f} %",
        flush=True,
    )
    return learned


def show_runs(
    workspace: Workspace, instances: list[Instance], name: str, predictor: Predictor | None
) -> None:
    rows = [run_instance(workspace, instance, predictor) for instance in instances]
    found = Summary.of(rows)
    cleared = sum(row.feasible for row in rows)
    widening = float(np.median([row.widening for row in rows if row.widening is not None]))
    said = [abs(row.error_predicted_value_percent or 0.0) for row in rows]
    cpu = float(np.mean([row.cpu_seconds for row in rows if row.cpu_seconds is not None]))
    print(
        f"  {instances[0].mechanism:<7} {name:<8} feasible {cleared}/{len(rows)}, "
        f"leader {found.leader_error_percent:.4f} %, gas {found.gas_error_percent:.3f} %, "
        f"L1 {found.l1_distance_mwh:.0f} MWh, "
        f"predicted value {np.mean(said):.2f} %, median widening {widening:.4g}, {cpu:.1f} CPU s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--power", type=float, default=0.48)
    parser.add_argument("--gas", type=float, default=0.7)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=None)
    arguments = parser.parse_args()
    case = load_case("northeast")
    workspace = Workspace(case, arguments.cache, limits=LIMITS)
    workspace.original((arguments.power, arguments.gas))
    days = case_days(case, arguments.power, days=arguments.days)
    for alpha in (10.0, 100.0, 1000.0):
        learned = trained(days, alpha)
        predictors: dict[str, Predictor | None] = {"public": None, "learned": learned, "model": ModelBased()}
        for mechanism in ("ppsm-p", "ppsm"):
            instances = [
                Instance(
                    power_stress=arguments.power,
                    gas_stress=arguments.gas,
                    alpha=alpha,
                    mechanism=mechanism,
                    repetition=repetition,
                )
                for repetition in range(arguments.repetitions)
            ]
            for name, predictor in predictors.items():
                show_runs(workspace, instances, name, predictor)


if __name__ == "__main__":
    main()
