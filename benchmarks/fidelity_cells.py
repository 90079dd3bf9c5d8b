"""Markets and noisy draws on which the fidelity phase is measured: the Northeast's, and synthetic ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import northeast
from benchmarks.gas_networks import build_network
from ppsm.arrays import FloatArray
from ppsm.cases import load_case
from ppsm.fidelity import Bands
from ppsm.games.follower import Follower
from ppsm.markets.model.gas import build_gas_market

ALPHAS_MWH = (10.0, 100.0, 1000.0)


@dataclass(frozen=True, eq=False)
class Cell:
    """A follower, its true demand and its public largest demand, in multiples of ``unit_mwh``."""

    name: str
    follower: Follower
    demand: FloatArray
    largest: FloatArray
    unit_mwh: float = 100.0


@dataclass(frozen=True, eq=False)
class Instance:
    """One noisy draw of one cell."""

    cell: Cell
    alpha_mwh: float
    released: FloatArray
    bands: Bands


def northeast_cells(case_name: str = "northeast") -> list[Cell]:
    """The Northeast gas market at the burn of a plausible dispatch: lowest and highest stresses, and between.

    The dispatch is the approximate one with gas-price feedback of ``benchmarks.northeast``; cells that the
    market cannot serve are left out.
    """
    case = load_case(case_name)
    market = build_gas_market(case)
    clearing = northeast.Clearing(market)
    gas = case.gas_stress
    cells = []
    for power in (case.power_stress[0], case.power_stress[-1]):
        for stress in (gas[0], gas[len(gas) // 2], gas[-1]):
            solved = northeast.solve_cell(case, market, clearing, power, stress)
            if solved.feasible:
                demand = case.demand_mwh(stress)
                follower = market.follower(demand, solved.burn_mwh)
                name = f"power +{power:.0%}, gas +{stress:.0%}"
                cells.append(Cell(name, follower, demand, case.mdq_mwh(), 1.0))
    return cells


def synthetic_cells(junctions: int = 146, stresses: Sequence[float] = (0.8, 1.0, 1.2)) -> list[Cell]:
    """Cells of a synthetic network of the Northeast's size at several levels of demand."""
    network = build_network(junctions)
    return [
        Cell(f"synthetic {junctions} x{stress:g}", network.follower, stress * network.demand, network.largest)
        for stress in stresses
        if network.follower.solve(stress * network.demand).status.has_answer
    ]


def draw(
    cells: Sequence[Cell], draws: int, *, prices: bool, eta: float = 0.001, first: int = 0
) -> list[Instance]:
    """Noisy draws of every cell and alpha; seeds come from the axes, so that each draw is always the same."""
    instances = []
    for number, cell in enumerate(cells):
        outcome = cell.follower.solve(cell.demand)
        target = cell.follower.parameter_map.T @ outcome.prices if prices else None
        bands = Bands.relative(outcome.value, target, eta_p=eta, eta_d=eta)
        for alpha in ALPHAS_MWH:
            for repetition in range(first, first + draws):
                rng = np.random.default_rng([number, int(alpha), repetition])
                noise = rng.laplace(size=cell.demand.size) * alpha / cell.unit_mwh
                instances.append(Instance(cell, alpha, cell.demand + noise, bands))
    return instances
