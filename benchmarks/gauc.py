"""``python -m benchmarks.gauc``: gas-aware unit commitment in every stress cell, and under noisy demands.

For each cell: objective, proven bound, gap, gas prices, levels, seconds, and what a commitment without regard
to gas prices comes to. Then, at one power stress, demands with Laplace noise: how many unit commitments they
took, how long, how often the market cannot serve them. ``--steeper 2`` doubles the prices of all but the two
cheapest blocks of every supply: a case that nobody has calibrated.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.report import peak_memory_mib
from ppsm.cases import Case, load_case
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.markets.check.certificate import certify
from ppsm.markets.gauc.gauc_solution import GaucSolution
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.gauc.unaware import UnawareSolution


def line(solver: GasAwareCommitment, gas: float, solution: GaucSolution) -> str:
    head = f"+{solution.power_stress:.0%} +{gas:.0%}: {solution.status.value:<12}"
    if solution.gas_prices_usd_per_mwh is None or solution.levels is None:
        return f"{head} {solution.seconds:.1f} s"
    prices = solution.gas_prices_usd_per_mwh[solver.followers.gas.plants] * MWH_PER_MMBTU
    findings = certify(solution).findings
    running = solution.levels[solution.levels < solver.followers.levels.blocks]
    return (
        f"{head} {solution.leader_cost_usd:14.0f} $, bound {solution.bound_usd:14.0f}, "
        f"gap {solution.gap:.4%}, "
        f"gas {prices.min():.2f}-{prices.max():.2f} $/MMBtu, lowest level {running.min(initial=9)}, "
        f"burn {0.0 if solution.burn_mwh is None else solution.burn_mwh.sum():.0f} MWh, "
        f"units on at peak {solution.on.sum(axis=0).max() if solution.on is not None else 0}, "
        f"certificate {'clean' if not findings else len(findings)}, "
        f"{solution.solved} unit commitments, {solution.seconds:.1f} s, {solution.bound_from}"
    )


def steeper(case: Case, factor: float) -> Case:
    """The case with dearer upper blocks of supply."""
    supplies = tuple(
        replace(bid, price_usd_per_mwh=bid.price_usd_per_mwh * factor) if bid.block > 2 else bid
        for bid in case.supplies
    )
    return replace(case, supplies=supplies)


def cells(
    solver: GasAwareCommitment, stresses: list[float], gas_stresses: list[float], limit: float, gap: float
) -> None:
    case = solver.case
    for power in stresses:
        for gas in gas_stresses:
            demand = case.demand_mwh(gas)
            solution = solver.solve(power, demand, time_limit=limit, gap=gap)
            print(line(solver, gas, solution), flush=True)
            unaware = solver.solve_unaware(power, demand, time_limit=limit, gap=gap)
            print(unaware_line(solver, unaware), flush=True)


def unaware_line(solver: GasAwareCommitment, unaware: UnawareSolution) -> str:
    if unaware.game is None or unaware.power is None:
        return f"    without looking ahead: {unaware.status.value}"
    prices = unaware.game.gas.prices_usd_per_mwh[solver.followers.gas.plants] * MWH_PER_MMBTU
    return (
        f"    without looking ahead: {unaware.power.leader_cost_usd:14.0f} $, "
        f"gas {prices.min():.2f}-{prices.max():.2f} $/MMBtu, "
        f"burn {unaware.power.dispatch.burn_mwh.sum():.0f} MWh, "
        f"{len(unaware.invalid)} invalid bids lose {unaware.loss_usd:.0f} $"
    )


def noisy(
    solver: GasAwareCommitment, cell: tuple[float, float], draws: int, alpha: float, gap: float
) -> None:
    case, (power, gas) = solver.case, cell
    generator = np.random.default_rng([2020, int(alpha)])
    seconds: list[float] = []
    statuses: dict[str, int] = {}
    solved = 0
    for _ in range(draws):
        demand = case.demand_mwh(gas) + generator.laplace(0.0, alpha, len(case.deliveries))
        started = time.perf_counter()
        solution = solver.solve(power, demand, time_limit=60, gap=gap)
        seconds.append(time.perf_counter() - started)
        statuses[solution.status.value] = statuses.get(solution.status.value, 0) + 1
        solved += solution.solved > 0
    quartiles = np.percentile(seconds, [0, 25, 50, 75, 100])
    print(
        f"{draws} demands at +{power:.0%} / +{gas:.0%}, alpha {alpha:g} MWh: {statuses}; "
        f"{draws - solved} without any unit commitment; "
        f"seconds (min, quartiles, max) {np.round(quartiles, 2).tolist()}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="northeast")
    parser.add_argument("--power", type=float, nargs="*", help="power stresses (all)")
    parser.add_argument("--gas", type=float, nargs="*", help="gas stresses (all)")
    parser.add_argument("--steeper", type=float, default=1.0, help="factor on prices of upper supply blocks")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds per cell")
    parser.add_argument("--gap", type=float, default=1e-3, help="proven to this relative gap (1e-3)")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--cache", type=Path, default=None)
    arguments = parser.parse_args()
    started = time.perf_counter()
    case = steeper(load_case(arguments.case), arguments.steeper)
    solver = GasAwareCommitment(case, arguments.cache)
    print(f"models built in {time.perf_counter() - started:.1f} s", flush=True)
    stresses = arguments.power or list(case.power_stress)
    cells(solver, stresses, arguments.gas or list(case.gas_stress), arguments.limit, arguments.gap)
    print(f"peak memory after the cells: {peak_memory_mib():.0f} MiB", flush=True)
    for alpha in (10.0, 100.0):
        if arguments.draws:
            cell = stresses[0], case.gas_stress[len(case.gas_stress) // 2]
            noisy(solver, cell, arguments.draws, alpha, arguments.gap)


if __name__ == "__main__":
    main()
