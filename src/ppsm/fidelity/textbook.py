"""The textbook forms of problem (5), solved by SCIP: what the paper's authors would have run.

Problem (5) is a game: its leader chooses the move, sees the follower's cost and prices in their bands, and
pays for the distance. The follower's optimality conditions and the three forms of complementarity are those
of :mod:`ppsm.bilevel`: big-M binaries (Fortuny-Amat & McCarl 1981) with proven bounds, indicator rows and
SOS1 sets; the distance is a second-order cone. A multiplier beyond its M is reported instead of believed.
Kept for tests and benchmarks; it needs the extra ``ppsm[scip]``.
"""

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.bilevel.bounds.finder import BoundFinder
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.methods.big_m import big_m
from ppsm.bilevel.methods.reformulation import Reformulation
from ppsm.bilevel.methods.scip_forms import indicator, sos1
from ppsm.errors import InputError, NoValidBoundError, SolverError
from ppsm.fidelity.problem import Form, SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import NONE, Incumbent, SearchOutcome
from ppsm.fidelity.tuning import TUNING
from ppsm.program import BilevelProgram
from ppsm.solvers.scip import need_scip, optimize_quietly, scip_model
from ppsm.solvers.tuning import TUNING as SOLVERS
from ppsm.status import Status

_CPU_CLOCK = 1


@dataclass(frozen=True, eq=False)
class TextbookResult:
    """What SCIP found, in scaled units; ``touched`` names multipliers at their M: then nothing is proven.

    ``support`` are the sides with a positive multiplier.
    """

    status: Status
    form: Form
    objective: float
    bound: float
    parameter: FloatArray
    nodes: int
    seconds: float
    touched: tuple[str, ...] = ()
    columns: FloatArray = field(default_factory=lambda: np.empty(0))
    support: IntArray = field(default_factory=NONE.copy)


def search_by_textbook(core: Core, form: Form, limits: SearchLimits) -> SearchOutcome:
    """What :func:`solve_textbook` finds, as the outcome of a search."""
    found = solve_textbook(core, form, limits.seconds, limits.gap)
    if found.status is Status.INFEASIBLE:
        return SearchOutcome(found.status, None, INFINITY, found.nodes)
    bound = core.least if found.touched else max(core.least, found.bound)
    incumbent = None
    if found.status.has_answer:
        within = np.clip(found.parameter, core.lower, core.upper)
        incumbent = Incumbent(found.objective, within, found.columns, found.support)
    return SearchOutcome(found.status, incumbent, bound, found.nodes)


def solve_textbook(
    core: Core, form: Form, seconds: float = 60.0, gap: float = 1e-4, assumed_m: float | None = None
) -> TextbookResult:
    """Solve a scaled problem by a textbook form; a sum of squares only.

    Degenerate followers have multipliers that nothing bounds; big-M is then refused unless ``assumed_m``
    says what to take for them (relative to the largest cost). An assumed M is checked afterwards like the
    others.
    """
    need_scip(f"the textbook form '{form}'")
    if not core.is_least_squares:
        raise InputError(
            "the textbook forms know only the l2 distance, without measured totals; use norm='l2' and "
            "entries alone, or method='search'."
        )
    started = time.perf_counter()
    kkt = build_kkt(_game(core))
    reformulation = _complementarity(kkt, form, assumed_m)
    # SCIP's LP solver gives up on some problems with a tight tolerance; answers are certified in any case.
    for feasibility in (TUNING.textbook_feasibility, *SOLVERS.looser_feasibility):
        model, columns = scip_model(reformulation.problem)
        _add_distance(model, core, columns[kkt.variables])
        left = max(1.0, seconds - (time.perf_counter() - started))
        _set_limits(model, form, left, gap, feasibility)
        try:
            optimize_quietly(model)
        except SolverError:
            continue
        return _result(core, kkt, reformulation, form, model, columns, time.perf_counter() - started)
    spent = time.perf_counter() - started
    return TextbookResult(Status.NO_INCUMBENT, form, math.nan, core.least, np.empty(0), 0, spent)


def _set_limits(model: Any, form: Form, seconds: float, gap: float, feasibility: float) -> None:
    model.setParam("limits/gap", gap)
    model.setParam("limits/time", seconds)
    model.setParam("parallel/maxnthreads", 1)
    model.setParam("timing/clocktype", _CPU_CLOCK)
    model.setParam("numerics/feastol", feasibility)
    if form != "big-m":
        # SCIP 10 can call a feasible problem with complementarity constraints infeasible by its dual
        # reductions (tests/canaries).
        model.setParam("misc/allowstrongdualreds", False)
        model.setParam("misc/allowweakdualreds", False)


def _game(core: Core) -> BilevelProgram:
    """Problem (5) without its distance: the leader moves the parameter and sees value and prices."""
    goods = core.follower.market_map
    follower = core.follower.market.shifted(goods @ core.reference)
    rows, columns = follower.shape
    entries = core.reference.size
    weights, least = core.follower.half_space_rows
    none = sp.csr_array((least.size, columns)), sp.csr_array((least.size, rows))
    cost = sp.csr_array(follower.cost[None, :])
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=np.zeros(entries),
        coupling=-goods,
        variable_lower=core.lower - core.reference,
        variable_upper=core.upper - core.reference,
        leader_matrix=sp.vstack([sp.csr_array((1 + entries, entries)), weights]),
        response_matrix=sp.vstack([cost, sp.csr_array((entries, columns)), none[0]]),
        price_matrix=sp.vstack([sp.csr_array((1, rows)), goods.T, none[1]]),
        leader_lower=np.concatenate([[core.value_lower], core.price_lower, least - weights @ core.reference]),
        leader_upper=np.concatenate([[core.value_upper], core.price_upper, np.full(least.size, np.inf)]),
    )


def _complementarity(kkt: KktSystem, form: Form, assumed_m: float | None) -> Reformulation:
    if form == "sos1":
        return sos1(kkt)
    if form == "indicator":
        return indicator(kkt)
    try:
        return big_m(kkt, _AssumingBounds(kkt, assumed_m))
    except NoValidBoundError as error:
        raise NoValidBoundError(
            f"{error.obstacle}; bound the parameter or the prices, or use the indicator or sos1 form, "
            "which need no bound."
        ) from None


class _AssumingBounds(BoundFinder):
    """Proven bounds; where a multiplier has none, the one that is assumed, if any."""

    def __init__(self, kkt: KktSystem, assumed_m: float | None) -> None:
        super().__init__(kkt)
        self._assumed_m = assumed_m

    def multiplier(self, side: int) -> float:
        """Largest multiplier of a side, or the assumed one."""
        try:
            return super().multiplier(side)
        except NoValidBoundError:
            if self._assumed_m is None:
                raise
            return self._assumed_m


def _add_distance(model: Any, core: Core, moves: list[Any]) -> None:
    """``min t`` with ``t >= sum w e^2``: SCIP wants a linear objective."""
    from pyscipopt import quicksum

    distance = model.addVar(lb=0.0, obj=1.0)
    squares = (float(w) * move * move for w, move in zip(core.curvature, moves, strict=True))
    model.addCons(quicksum(squares) <= distance)


def _result(
    core: Core,
    kkt: KktSystem,
    reformulation: Reformulation,
    form: Form,
    model: Any,
    variables: list[Any],
    seconds: float,
) -> TextbookResult:
    """Read the model's outcome."""
    ended = str(model.getStatus())
    nodes = int(model.getNNodes())
    bound = float(model.getDualbound()) + core.constant
    if model.getNSols() == 0:
        status = Status.INFEASIBLE if ended == "infeasible" else Status.NO_INCUMBENT
        return TextbookResult(status, form, math.nan, bound, np.empty(0), nodes, seconds)
    best = model.getBestSol()
    values = np.array([model.getSolVal(best, variable) for variable in variables])[: kkt.relaxation.shape[1]]
    touched = tuple(finding.name for finding in reformulation.check(values))
    done = ended in ("optimal", "gaplimit") and not touched
    parameter = core.reference + values[kkt.variables]
    return TextbookResult(
        status=Status.PROVEN_OPTIMAL if done else Status.INCUMBENT,
        form=form,
        objective=core.objective(parameter),
        bound=bound,
        parameter=parameter,
        nodes=nodes,
        seconds=seconds,
        touched=touched,
        columns=values[kkt.responses],
        support=kkt.pairs[values[kkt.first_multiplier + kkt.pairs] > TUNING.support],
    )
