"""Clear the gas market of the two-node case at rising demand and print what gas costs where.

The pipe carries at most 45 sqrt(50^2 - 30^2) = 1800 MWh a day; above that the city pays for its tank.
"""

import numpy as np
from scipy.optimize import linprog

from ppsm.cases import load_case
from ppsm.markets.gas import GasMarket, build_gas_market


def clear(market: GasMarket, demand_mwh: float) -> tuple[float, list[float]]:
    """Return the cost of a gas day and the price at each junction, $/MWh."""
    program = market.program
    balances = market.balance_rows
    others = np.setdiff1d(np.arange(program.shape[0]), balances)
    upper, lower = program.row_upper[others], program.row_lower[others]
    rows = program.matrix[others].toarray()
    result = linprog(
        program.cost,
        A_ub=np.vstack([rows[np.isfinite(upper)], -rows[np.isfinite(lower)]]),
        b_ub=np.concatenate([upper[np.isfinite(upper)], -lower[np.isfinite(lower)]]),
        A_eq=program.matrix[balances].toarray(),
        b_eq=market.withdrawal_mwh([demand_mwh]),
        bounds=list(zip(program.column_lower, program.column_upper, strict=True)),
    )
    return float(result.fun or 0.0), [float(price) for price in result.eqlin.marginals]


def main() -> None:
    """Print a line for each demand."""
    case = load_case("two_node")
    market = build_gas_market(case)
    names = [junction.junction for junction in case.junctions]
    for demand in (800.0, 1200.0, 1900.0):
        cost, prices = clear(market, demand)
        where = ", ".join(f"{name} {price:.0f} $/MWh" for name, price in zip(names, prices, strict=True))
        print(f"{demand:.0f} MWh cost {cost:.0f} $: {where}")


if __name__ == "__main__":
    main()
