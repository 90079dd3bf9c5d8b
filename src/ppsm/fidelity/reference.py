"""The textbook forms of problem (5), solved by SCIP: what the paper's authors would have run.

The follower's optimality conditions are written out and complementarity is enforced by big-M binaries
(Fortuny-Amat & McCarl 1981), indicator rows or SOS1 sets; the distance is a second-order cone or quadratic
objective. Every M is derived by an LP over the primal or the dual part of the relaxation, and checked
afterwards: a multiplier at its M is reported instead of believed. Kept for tests and benchmarks; it needs
the extra ``ppsm[scip]``.
"""

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray, SparseMatrix
from ppsm.errors import InputError, NoValidBoundError
from ppsm.fidelity.branching import NONE, Incumbent, SearchLimits, SearchOutcome
from ppsm.fidelity.core import Core
from ppsm.fidelity.joint import JointMatrices
from ppsm.fidelity.problem import Form
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.solvers.scip import need_scip
from ppsm.status import Status

# A proven bound is widened by this much: then a multiplier that touches its M exposes a wrong bound.
_MARGIN = 0.01
_CPU_CLOCK = 1
# Slacks and multipliers are of the order of 1; a looser tolerance lets complementarity slip through.
_FEASIBILITY = 1e-9
_SUPPORT = 1e-6


@dataclass(frozen=True, eq=False)
class ReferenceResult:
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
    """What :func:`solve_reference` finds, as the outcome of a search."""
    found = solve_reference(core, form, limits.seconds, limits.gap)
    if found.status is Status.INFEASIBLE:
        return SearchOutcome(found.status, None, INFINITY, found.nodes)
    bound = core.least if found.touched else max(core.least, found.bound)
    incumbent = None
    if found.status.has_answer:
        within = np.clip(found.parameter, core.lower, core.upper)
        incumbent = Incumbent(found.objective, within, found.columns, found.support)
    return SearchOutcome(found.status, incumbent, bound, found.nodes)


def solve_reference(
    core: Core, form: Form, seconds: float = 60.0, gap: float = 1e-4, assumed_m: float | None = None
) -> ReferenceResult:
    """Solve a scaled problem by a textbook form; a sum of squares only.

    Degenerate followers have multipliers that nothing bounds; big-M is then refused unless ``assumed_m``
    says what to take for them (relative to the largest cost). An assumed M is checked afterwards like the
    others.
    """
    need_scip(f"the textbook form '{form}'")
    if not core.is_least_squares:
        raise InputError("the textbook forms know only the l2 distance; use norm='l2'.")
    started = time.perf_counter()
    textbook = _Textbook(core, form, assumed_m)
    model = textbook.model
    model.setParam("limits/gap", gap)
    model.setParam("limits/time", max(1.0, seconds - (time.perf_counter() - started)))
    model.setParam("parallel/maxnthreads", 1)
    model.setParam("timing/clocktype", _CPU_CLOCK)
    model.setParam("numerics/feastol", _FEASIBILITY)
    if form != "big-m":
        # SCIP 10 can call a feasible problem with complementarity constraints infeasible by its dual
        # reductions (tests/canaries).
        model.setParam("misc/allowstrongdualreds", False)
        model.setParam("misc/allowweakdualreds", False)
    model.optimize()
    return textbook.result(time.perf_counter() - started)


class _Textbook:
    """Columns (x, e, y, m) of the joint relaxation as a SCIP model, complementarity in one of three forms."""

    def __init__(self, core: Core, form: Form, assumed_m: float | None) -> None:
        from pyscipopt import Model

        self.core, self.form, self.assumed_m = core, form, assumed_m
        self.parts = JointMatrices(core.follower)
        self.model: Any = Model()
        self.model.hideOutput()
        self.linear = _relaxation(core, self.parts)
        self.columns = [
            self.model.addVar(lb=_finite(low), ub=_finite(high), vtype="C")
            for low, high in zip(self.linear.column_lower, self.linear.column_upper, strict=True)
        ]
        self._add_rows(self.linear.matrix, self.linear.row_lower, self.linear.row_upper)
        self._add_distance()
        self.multiplier_bound = np.full(core.follower.sides.count, INFINITY)
        self._add_complementarity()

    def _expression(self, indices: Any, data: Any) -> Any:
        from pyscipopt import quicksum

        return quicksum(
            float(value) * self.columns[column] for column, value in zip(indices, data, strict=True)
        )

    def _add_rows(self, matrix: SparseMatrix, lower: FloatArray, upper: FloatArray) -> None:
        for row in range(matrix.shape[0]):
            entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
            if matrix.indptr[row] == matrix.indptr[row + 1]:
                continue
            expression = self._expression(matrix.indices[entries], matrix.data[entries])
            if lower[row] == upper[row]:
                self.model.addCons(expression == float(lower[row]))
                continue
            if lower[row] > -INFINITY:
                self.model.addCons(expression >= float(lower[row]))
            if upper[row] < INFINITY:
                self.model.addCons(expression <= float(upper[row]))

    def _add_distance(self) -> None:
        """``min t`` with ``t >= sum w e^2``: SCIP wants a linear objective."""
        from pyscipopt import quicksum

        first = self.parts.answers
        moves = self.columns[first : first + self.parts.entries]
        distance = self.model.addVar(lb=0.0, obj=1.0)
        squares = (float(w) * move * move for w, move in zip(self.core.curvature, moves, strict=True))
        self.model.addCons(quicksum(squares) <= distance)

    def _add_complementarity(self) -> None:
        core, sides = self.core, self.core.follower.sides
        ranges = _Ranges(core, self.parts, self.linear, self.assumed_m) if self.form == "big-m" else None
        for side in np.flatnonzero(~sides.is_free).tolist():
            multiplier = self.columns[self.parts.duals + side]
            slack = self._slack(side)
            if self.form == "sos1":
                gap = self.model.addVar(lb=0.0)
                self.model.addCons(gap == slack)
                self.model.addConsSOS1([multiplier, gap])
                continue
            binary = self.model.addVar(vtype="B")
            if ranges is None:
                self.model.addConsIndicator(slack <= 0.0, binvar=binary, activeone=True)
                self.model.addConsIndicator(multiplier <= 0.0, binvar=binary, activeone=False)
                continue
            large_m, large_s = ranges.multiplier(side), ranges.slack(side)
            self.multiplier_bound[side] = large_m
            self.model.addCons(multiplier <= (1.0 + _MARGIN) * large_m * binary)
            self.model.addCons(slack <= (1.0 + _MARGIN) * large_s * (1 - binary))

    def _slack(self, side: int) -> Any:
        sides = self.core.follower.sides
        index, sign, bound = int(sides.index[side]), float(sides.sign[side]), float(sides.bound[side])
        if not sides.is_row[side]:
            return sign * (self.columns[index] - bound)
        matrix = self.linear.matrix
        entries = slice(matrix.indptr[index], matrix.indptr[index + 1])
        moved = bound + float(self.core.shift[index])
        return sign * (self._expression(matrix.indices[entries], matrix.data[entries]) - moved)

    def result(self, seconds: float) -> ReferenceResult:
        """Read the model's outcome."""
        model, core = self.model, self.core
        ended = str(model.getStatus())
        nodes = int(model.getNNodes())
        bound = float(model.getDualbound()) + core.constant
        if model.getNSols() == 0:
            status = Status.INFEASIBLE if ended == "infeasible" else Status.NO_INCUMBENT
            return ReferenceResult(status, self.form, math.nan, bound, np.empty(0), nodes, seconds)
        best = model.getBestSol()
        values = np.array([model.getSolVal(best, column) for column in self.columns])
        first = self.parts.answers
        parameter = core.reference + values[first : first + self.parts.entries]
        multipliers = values[self.parts.duals :]
        at_bound = multipliers > (1.0 + 0.5 * _MARGIN) * self.multiplier_bound + 1e-6
        touched = tuple(core.follower.sides.names[side] for side in np.flatnonzero(at_bound))
        done = ended in ("optimal", "gaplimit") and not touched
        status = Status.PROVEN_OPTIMAL if done else Status.INCUMBENT
        objective = core.objective(parameter)
        return ReferenceResult(
            status=status,
            form=self.form,
            objective=objective,
            bound=bound,
            parameter=parameter,
            nodes=nodes,
            seconds=seconds,
            touched=touched,
            columns=values[: self.parts.answers],
            support=np.flatnonzero(~core.follower.sides.is_free & (multipliers > _SUPPORT)),
        )


class _Ranges:
    """Largest multipliers and slacks over the relaxation, each by an LP; infinite ones are refused."""

    def __init__(
        self, core: Core, parts: JointMatrices, linear: LinearProgram, assumed_m: float | None
    ) -> None:
        self.core, self.parts, self.linear, self.assumed_m = core, parts, linear, assumed_m
        self._lp = PersistentLp(linear)

    def multiplier(self, side: int) -> float:
        """The largest multiplier of a side over all duals in the band."""
        direction = np.zeros(self.linear.shape[1])
        direction[self.parts.duals + side] = 1.0
        return max(0.0, self._largest(direction, side, "multiplier"))

    def slack(self, side: int) -> float:
        """The largest slack of a side over all answers and parameters."""
        sides = self.core.follower.sides
        index, sign = int(sides.index[side]), float(sides.sign[side])
        direction = np.zeros(self.linear.shape[1])
        moved = float(sides.bound[side])
        if sides.is_row[side]:
            direction = sign * self.linear.matrix[[index], :].toarray().ravel()
            moved += float(self.core.shift[index])
        else:
            direction[index] = sign
        return max(0.0, self._largest(direction, side, "slack") - sign * moved)

    def _largest(self, direction: FloatArray, side: int, what: str) -> float:
        self._lp.set_cost(-direction)
        solution = self._lp.solve()
        if solution.status is Status.INFEASIBLE:
            return 0.0
        if not solution.status.has_answer:
            if what == "multiplier" and self.assumed_m is not None:
                return self.assumed_m
            raise NoValidBoundError(
                f"no finite bound exists on the {what} of '{self.core.follower.sides.names[side]}'; "
                "bound the parameter or the prices, or use the indicator or sos1 form, which need no bound."
            )
        return float(direction @ solution.columns)


def _relaxation(core: Core, parts: JointMatrices) -> LinearProgram:
    """Primal feasibility, dual feasibility and both bands: everything but complementarity."""
    program, sides = core.follower.program, core.follower.sides
    middle = np.concatenate([program.cost, np.zeros(parts.entries)])
    rows, columns = parts.matrix.shape
    return LinearProgram(
        cost=np.zeros(columns),
        matrix=sp.csr_array(parts.matrix),
        row_lower=np.concatenate([program.row_lower + core.shift, middle, [core.value_lower]]),
        row_upper=np.concatenate([program.row_upper + core.shift, middle, [core.value_upper]]),
        column_lower=np.concatenate(
            [
                program.column_lower,
                core.lower - core.reference,
                core.price_lower,
                np.where(sides.is_free, -INFINITY, 0.0),
            ]
        ),
        column_upper=np.concatenate(
            [
                program.column_upper,
                core.upper - core.reference,
                core.price_upper,
                np.full(sides.count, INFINITY),
            ]
        ),
        row_names=tuple(f"r{k}" for k in range(rows)),
        column_names=tuple(f"c{k}" for k in range(columns)),
    )


def _finite(bound: float) -> float | None:
    return float(bound) if math.isfinite(bound) else None
