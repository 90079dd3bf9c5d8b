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
from ppsm.mechanism import InventedDays, Learned, ModelBased, Predictor
from ppsm.mechanism.instance import Instance, Workspace, run_instance


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
    records = [run_instance(workspace, instance, predictor) for instance in instances]
    cleared = [record for record in records if record["feasible"]]
    leader, gas = (
        float(np.mean([abs(record[f"error_{who}_percent"]) for record in cleared]))
        for who in ("leader", "gas")
    )
    widening = float(np.median([record["widening"] for record in records]))
    said = [abs(record["error_predicted_value_percent"]) for record in records]
    distance = float(np.mean([record["l1_released"] for record in records]))
    cpu = float(np.mean([record["cpu_release"] + record["cpu_clear"] for record in records]))
    print(
        f"  {instances[0].mechanism:<7} {name:<8} feasible {len(cleared)}/{len(records)}, "
        f"leader {leader:.4f} %, gas {gas:.3f} %, L1 {distance:.0f} MWh, "
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
    workspace = Workspace(case, arguments.cache, clear_seconds=60.0)
    workspace.original(arguments.power, arguments.gas)
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
