"""Problem (5) as a user would write it: KKT conditions, one SOS1 set for each pair, SCIP's default settings.

From the follower's raw arrays; nothing is shared with the package but the type of the follower.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.fidelity import Bands
from ppsm.games.follower import Follower


@dataclass(frozen=True)
class HandClaim:
    """How SCIP ended, with its objective and bound."""

    status: str
    objective: float | None = None
    bound: float | None = None


def solve_by_hand(
    follower: Follower,
    released: FloatArray,
    bands: Bands,
    largest: FloatArray,
    norm: str,
    seconds: float,
    gap: float,
) -> HandClaim:
    """Solve one problem whose parameter is between zero and ``largest``."""
    from pyscipopt import Model, quicksum  # here, as SCIP is an extra

    model = Model()
    model.hideOutput()
    program, goods = follower.program, follower.parameter_map.toarray()
    matrix = program.matrix.toarray()
    parameter = [model.addVar(lb=0.0, ub=float(most)) for most in largest]
    answer = [
        model.addVar(lb=_finite(low), ub=_finite(high))
        for low, high in zip(program.column_lower, program.column_upper, strict=True)
    ]

    def total(weights: FloatArray, variables: list[Any]) -> Any:
        return quicksum(float(w) * v for w, v in zip(weights, variables, strict=True) if w) + 0.0

    prices = []
    for row, (low, high) in enumerate(zip(program.row_lower, program.row_upper, strict=True)):
        rest = total(matrix[row], answer) - total(goods[row], parameter)
        if low == high:
            model.addCons(rest == low)
            prices.append(model.addVar(lb=None))
            continue
        prices.append(_price(model, rest, low, high))
    for column, cost in enumerate(program.cost):
        low, high = program.column_lower[column], program.column_upper[column]
        reduced: Any = 0.0
        if low == high:
            reduced = model.addVar(lb=None)
        elif np.isfinite([low, high]).any():
            reduced = _price(model, 1.0 * answer[column], low, high)
        model.addCons(total(matrix[:, column], prices) + reduced == float(cost))
    if bands.value is not None:
        value = total(program.cost, answer) + program.offset
        model.addCons(value <= follower.sign * bands.value + bands.value_width)
        model.addCons(value >= follower.sign * bands.value - bands.value_width)
    if bands.prices is not None and bands.price_width is not None:
        for entry, (target, width) in enumerate(zip(bands.prices, bands.price_width, strict=True)):
            price = total(goods[:, entry], prices)
            model.addCons(price <= follower.sign * float(target) + float(width))
            model.addCons(price >= follower.sign * float(target) - float(width))
    _add_distance(model, parameter, released, norm)
    model.setParam("limits/gap", gap)
    model.setParam("limits/time", seconds)
    model.setParam("timing/clocktype", 1)
    model.setParam("parallel/maxnthreads", 1)
    try:
        model.optimize()
    except Exception as error:  # noqa: BLE001 (PySCIPOpt raises nothing more specific)
        return HandClaim(f"failed: {error}")
    ended = {"gaplimit": "optimal"}.get(model.getStatus(), str(model.getStatus()))
    bound = float(model.getDualbound())
    return HandClaim(ended, float(model.getObjVal()) if model.getNSols() else None, bound)


def _price(model: Any, bounded: Any, low: float, high: float) -> Any:
    """The multiplier of two sides, each of which is tight or has none."""
    net: Any = 0.0
    for side, sign in ((low, 1.0), (high, -1.0)):
        if np.isfinite(side):
            multiplier, slack = model.addVar(lb=0.0), model.addVar(lb=0.0)
            model.addCons(slack == sign * (bounded - float(side)))
            model.addConsSOS1([multiplier, slack])
            net = net + sign * multiplier
    return net


def _add_distance(model: Any, parameter: list[Any], released: FloatArray, norm: str) -> None:
    from pyscipopt import quicksum

    moves = [entry - float(start) for entry, start in zip(parameter, released, strict=True)]
    if norm == "l2":
        distance = model.addVar(lb=0.0, obj=1.0)
        model.addCons(quicksum(move * move for move in moves) <= distance)
        return
    for move in moves:
        size = model.addVar(lb=0.0, obj=1.0)
        model.addCons(size >= move)
        model.addCons(size >= -move)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
