"""``python -m benchmarks.gauc``: gas-aware unit commitment in every stress cell, and under noisy demands.

For each cell: objective, proven bound, gap, gas prices, levels, seconds, and what a commitment without regard
to gas prices comes to. Then further demands (:mod:`benchmarks.noisy_demands`). ``--steeper 2``
doubles the prices of all but the two cheapest blocks of every supply: a case that nobody has calibrated.
``--alone`` gives each cell a solver that knows of no other: the time of a first solve, and nothing else.
"""

import argparse
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.noisy_demands import clear_further
from benchmarks.report import peak_memory_mib
from ppsm.cases import Case, load_case
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.experiments.instance import Workspace
from ppsm.experiments.tuning import Limits
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


def show_cell(solver: GasAwareCommitment, power: float, gas: float, limit: float, gap: float) -> None:
    """Solve a cell and print it."""
    demand = solver.case.demand_mwh(gas)
    started = time.process_time()
    solution = solver.solve(power, demand, time_limit=limit, gap=gap)
    seconds = time.process_time() - started
    print(f"{line(solver, gas, solution)}, {seconds:.1f} s of the processor", flush=True)


def show_unaware(solver: GasAwareCommitment, power: float, gas: float, limit: float, gap: float) -> None:
    """The same without looking ahead."""
    unaware = solver.solve_unaware(power, solver.case.demand_mwh(gas), time_limit=limit, gap=gap)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="northeast")
    parser.add_argument("--power", type=float, nargs="*", help="power stresses (all)")
    parser.add_argument("--gas", type=float, nargs="*", help="gas stresses (all)")
    parser.add_argument("--steeper", type=float, default=1.0, help="factor on prices of upper supply blocks")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds per cell")
    parser.add_argument("--gap", type=float, default=1e-3, help="proven to this relative gap (1e-3)")
    parser.add_argument("--alone", action="store_true", help="a new solver for each cell")
    parser.add_argument(
        "--draws", type=int, default=1, help="further draws for each cell, alpha and mechanism"
    )
    parser.add_argument("--first-draw", type=int, default=100, help="repetition of the first of them")
    parser.add_argument(
        "--alphas", type=float, nargs="*", default=(10.0, 100.0, 1000.0), help="of these, MWh"
    )
    parser.add_argument("--cache", type=Path, default=None)
    arguments = parser.parse_args()
    case = steeper(load_case(arguments.case), arguments.steeper)
    limits = Limits(gap=arguments.gap, clear_seconds=arguments.limit, original_seconds=arguments.limit)
    workspace = Workspace(case, arguments.cache, limits=limits)
    chosen = list(product(arguments.power or case.power_stress, arguments.gas or case.gas_stress))
    for power, gas in chosen:
        if arguments.alone:
            show_cell(GasAwareCommitment(case), power, gas, arguments.limit, arguments.gap)
            continue
        show_cell(workspace.solver, power, gas, arguments.limit, arguments.gap)
        show_unaware(workspace.solver, power, gas, arguments.limit, arguments.gap)
    print(f"peak memory after the cells: {peak_memory_mib():.0f} MiB", flush=True)
    if arguments.draws and not arguments.alone:
        draws = range(arguments.first_draw, arguments.first_draw + arguments.draws)
        clear_further(workspace, chosen, arguments.alphas, draws, arguments.limit)


if __name__ == "__main__":
    main()
