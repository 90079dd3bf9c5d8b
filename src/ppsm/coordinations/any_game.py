"""Any :class:`~ppsm.games.stackelberg.StackelbergGame` as a coordination.

Step 2b, the leader's problem with prices fixed, is in :mod:`ppsm.coordinations.fixed_prices`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray as xr
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.bilevel.solve import solve_bilevel
from ppsm.coordinations.fixed_prices import (
    CostAtPrices,
    FixedPriceDecision,
    Public,
    Sides,
    decide_at_prices,
)
from ppsm.coordinations.nearest_answer import Deadline, NearestAnswer
from ppsm.coordinations.tuning import TUNING
from ppsm.errors import InputError, ModelError, SolverError
from ppsm.fidelity.problem import Bands, Nearness, PublicBounds
from ppsm.games.follower import Follower
from ppsm.games.several_followers import Followers
from ppsm.games.stackelberg import StackelbergGame
from ppsm.interrupts import watched
from ppsm.labels import VectorLike, aligned
from ppsm.mechanism.band_game import enclosed_optimum
from ppsm.mechanism.coordination import Decision, LeaderRepair, Outcome, insist_on_unit, published
from ppsm.mechanism.published_cost import Day, day_of
from ppsm.mechanism.theory import CostOfPrivacy
from ppsm.privacy.measurements import zone_numbers
from ppsm.privacy.publication import MarketResult
from ppsm.program import BilevelProgram
from ppsm.status import Status

# A name for each entry: in their order, or by the names of the entries.
Names = Sequence[str] | Mapping[Any, str]


class GameCoordination:
    """A Stackelberg game in which the parameter of a follower is the sensitive vector.

    The parameter with which the game was written is left out: demands come with every call. Other followers
    play with theirs, which are taken as public; each follower's secret has a coordination of its own.

    Parameters
    ----------
    game
        The game; its leader may see prices and answers of the follower.
    of
        Whose parameter it is, where the game has several followers.
    unit
        The unit of the sensitive vector.
    bounds
        A public pair (least, largest) for the entries, ``(0, inf)`` by default.
    zones
        For each entry the name of its public zone, where parts of the market may have prices of their own: a
        release measures the total of each (:mod:`ppsm.privacy.measurements`). What has labels, such as a
        mapping, is aligned by them. By default all are in one.
    time_limit
        Seconds for clearing the game.
    """

    def __init__(
        self,
        game: StackelbergGame,
        *,
        of: str | None = None,
        unit: str,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        zones: Names = (),
        time_limit: float = 60.0,
    ) -> None:
        if not isinstance(game, StackelbergGame):
            raise ModelError(f"the game is a {type(game).__name__}; expected a ppsm.StackelbergGame.")
        self._unit, self.time_limit = unit, time_limit
        name = game.followers.seat(of).name
        names = game.followers.seat(name).follower.parameter_names
        nothing = np.zeros(len(names))
        # The follower's own parameter may be the secret; neither its numbers nor its rounding stay.
        kept = {seat.name: seat.follower for seat in game.followers.seats}
        kept[name] = replace(kept[name], nominal=nothing)
        self._followers = Followers(kept)
        self._seat = self._followers.seat(name)
        self._follower = kept[name]
        self._program = _plain(game.program({self._seat.name: nothing}))
        self._sides = Sides.of(self._program, self._seat.rows, self._seat.columns)
        checked = PublicBounds.of(bounds, names)
        self._bounds = checked.lower, checked.upper
        self._zones = _numbered(zones, self._follower)

    @property
    def entry_names(self) -> tuple[str, ...]:
        """The sensitive follower's parameter."""
        return self._follower.parameter_names

    @property
    def unit(self) -> str:
        """The unit of the sensitive vector."""
        return self._unit

    @property
    def price_names(self) -> tuple[str, ...]:
        """All rows of the sensitive follower."""
        return self._follower.program.row_names

    @property
    def sensitive_follower(self) -> str:
        """Its name, ``follower`` where there is only one."""
        return self._seat.name

    @property
    def felt_names(self) -> tuple[str, ...]:
        """The leader's variables, and answers of other followers that this one feels."""
        answers = self._program.follower.column_names
        return (*self._program.variable_names, *(answers[i] for i in self._sides.felt_columns))

    @property
    def felt_unit(self) -> str:
        """Variables of a game have none that it knows: what they are."""
        answers = " and answers of earlier followers" if len(self._sides.felt_columns) else ""
        return "leader's variables" + answers

    @property
    def public_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of each entry."""
        return self._bounds

    @property
    def public_zones(self) -> tuple[int, ...]:
        """The zone of each entry."""
        return self._zones

    def row_prices(self, follower_prices: FloatArray) -> FloatArray:
        """All of them."""
        return follower_prices

    def entry_prices(self, prices: FloatArray) -> FloatArray:
        """``F' prices``: the rate at which the follower's value rises with an entry."""
        return np.asarray(self._follower.parameter_map.T @ prices)

    def decide(self, demand: FloatArray, prices: FloatArray | None) -> Decision:
        """The leader's problem with prices fixed, see :mod:`ppsm.coordinations.fixed_prices`."""
        minimised = None if prices is None else self._follower.sign * self._checked_prices(prices)
        estimate = self._follower.checked(demand)
        try:
            found = self._decided(estimate, minimised)
        except SolverError:
            # Noise so far beyond the game's own numbers leaves solvers no digits for these.
            # A game whose bounds are all zero or infinite has no numbers of its own but 1.
            far = TUNING.far_numbers * (self._program.follower.bound_sizes.max(initial=0.0) or 1.0)
            found = self._decided(np.clip(estimate, -far, far), minimised)
        if found is None:
            raise InputError(
                "the leader has no decision that any demand within the public bounds allows: mend the game "
                "or widen the bounds."
            )
        felt = np.concatenate([found.variables, found.felt_answers])
        return Decision(felt, self.felt_names, self.felt_unit, found.cost, found.status)

    def _decided(self, estimate: FloatArray, minimised: FloatArray | None) -> FixedPriceDecision | None:
        # From beyond its bounds an entry is as far as from the bound, but for a constant.
        public = Public(np.clip(estimate, *self._bounds), *self._bounds)
        return decide_at_prices(self._sides, self._follower.parameter_map, public, minimised)

    def follower_at(self, decision: Decision) -> Follower:
        """The follower with what it feels of the decision moved to its right-hand sides."""
        sides, own = self._sides, self._own(decision)
        handed = sides.handed(sides.rows, sides.felt_columns) @ decision.felt[own.size :]
        shift = -(self._program.coupling[sides.rows, :] @ own + handed)
        market = self._program.follower
        program = replace(
            self._follower.program,
            cost=market.cost[sides.columns],
            row_lower=market.row_lower[sides.rows] + shift,
            row_upper=market.row_upper[sides.rows] + shift,
        )
        return replace(self._follower, program=program)

    def _own(self, decision: Decision) -> FloatArray:
        return decision.felt[: len(self._program.variable_names)]

    def labelled(self, demand: VectorLike) -> xr.DataArray:
        """A vector, such as a release, with labels and in the shape that the model has the parameter."""
        return self._follower.labelled(demand)

    def clear(self, demand: VectorLike) -> Outcome:
        """Solve the game exactly at a demand; Ctrl-C is raised, since an answer cut short is no outcome.

        A demand that has labels, such as a release or a Series, is aligned by them.
        """
        return self._cleared(demand, self.time_limit)

    def _cleared(self, demand: VectorLike, seconds: float) -> Outcome:
        insist_on_unit(demand, self.unit)
        shift = np.zeros(self._program.follower.shape[0])
        shift[self._seat.rows] = self._follower.parameter_map @ self._follower.checked(demand)
        moved = replace(self._program, follower=self._program.follower.shifted(shift))
        with watched() as watch:
            found = solve_bilevel(moved, time_limit=seconds)
            watch.check()
        if not found.status.has_answer or found.follower_objective is None:
            return Outcome(found.status, None, found.leader_bound, None, {}, None, 1, found.explanation)
        prices = self._follower.sign * found.prices[self._seat.rows] + 0.0
        values = {self._seat.name: found.follower_objective}
        if len(self._followers.seats) > 1:
            values = self._followers.objectives(moved, found.variables, found.responses)
        return Outcome(
            found.status,
            found.leader_objective,
            found.leader_bound,
            found.gap,
            values,
            prices,
            solved=1,
            price_names=self.price_names,
            felt=np.concatenate([found.variables, found.responses[self._sides.felt_columns]]),
        )

    def repaired_for_leader(self, near: Nearness) -> LeaderRepair | None:
        """See :mod:`ppsm.coordinations.nearest_answer`; every vector that is returned was played with."""
        deadline = Deadline.within(TUNING.nearest_seconds)

        def cleared(vector: FloatArray) -> Outcome:
            return self._cleared(vector, min(self.time_limit, deadline.left))

        played = cleared(near.center)
        # Where it could not be told in time nothing is moved: that may be the only fault of the vector.
        if played.status is not Status.INFEASIBLE:
            return None
        fragile: FloatArray | None = None
        try:
            for vector in self._nearest_answer(near, deadline).candidates():
                if not cleared(vector).feasible:
                    continue
                if cleared(rounded(vector, TUNING.nearest_digits)).feasible:
                    return LeaderRepair(vector, played.explanation)
                fragile = vector if fragile is None else fragile
        except SolverError:
            if fragile is None:
                raise
        return LeaderRepair(fragile, played.explanation)

    def _nearest_answer(self, near: Nearness, deadline: Deadline) -> NearestAnswer:
        entries = self._follower.parameter_map.tocoo()
        rows = np.arange(self._program.follower.shape[0])[self._seat.rows][entries.row]
        shape = self._program.follower.shape[0], near.center.size
        of_all = sp.csr_array((entries.data, (rows, entries.col)), shape=shape)
        return NearestAnswer(self._program, of_all, near, PublicBounds(*self._bounds), deadline)

    def without_memory(self) -> "GameCoordination":
        """Itself: every solve begins from nothing."""
        return self

    def market_result(self, demand: VectorLike) -> MarketResult:
        """What the market publishes."""
        return published(self.clear(demand), self.sensitive_follower, self.price_names, self.felt_names)

    def least_cost_at(self, prices: FloatArray) -> CostAtPrices | None:
        """The leader's problem with prices fixed, integers relaxed; None beside other followers."""
        if self._sides.other_columns.size:
            return None
        minimised = self._follower.sign * self._checked_prices(prices)
        return CostAtPrices(self._sides, self._follower.parameter_map, minimised)

    def cheapest_day(self, demand: FloatArray, prices: FloatArray, enough: float) -> Day | None:
        """The game, cleared."""
        del prices, enough
        return day_of(self.clear(demand), self.least_cost_at)

    def cost_of_privacy(self, decision: Decision, bands: Bands) -> CostOfPrivacy | str:
        """The leader's game over all vectors in the bands, see :mod:`ppsm.mechanism.band_game`."""
        if len(self._followers.seats) > 1:
            return "the game has other followers, which answer the decision"
        return enclosed_optimum(
            self._program, self._follower.parameter_map, self._bounds, self._own(decision), bands
        )

    def _checked_prices(self, prices: ArrayLike) -> FloatArray:
        return frozen_vector(prices, len(self.price_names), "the price", names=self.price_names)


def rounded(values: FloatArray, digits: int) -> FloatArray:
    """Numbers as somebody has them who wrote down so many digits."""
    return np.array([float(f"{value:.{digits}g}") for value in values])


def _plain(program: BilevelProgram) -> BilevelProgram:
    """The program, which must be of the kind that the fidelity phase and the leader's problem know."""
    for found, what in (
        (program.curvature.nnz, "a follower whose cost is quadratic"),
        (program.cost_coupling.nnz, "a leader who raises the follower's costs"),
        (program.products.count, "products in the leader's objective"),
    ):
        if found:
            raise ModelError(
                f"the game has {what}, which the mechanisms do not know; expected linear followers of which "
                "the leader moves right-hand sides, and a linear objective: simplify the game."
            )
    return program


def _numbered(zones: Names, follower: Follower) -> tuple[int, ...]:
    """The zones by number; an error unless each entry has one, or none has."""
    entries = follower.parameter_names
    in_order = aligned(zones, entries, "the list of zones", axes=follower.parameters.axes)
    names = [in_order] if isinstance(in_order, str) or not isinstance(in_order, Iterable) else list(in_order)
    if len(names) not in {0, len(entries)} or not all(isinstance(name, str) and name for name in names):
        raise InputError(
            f"the zones of {len(entries)} entries cannot be used; expected the name of a zone for each "
            "entry, or none at all."
        )
    return zone_numbers(names)
