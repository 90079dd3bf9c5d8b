"""A solved game in the shapes of the models that it was written in."""

from collections.abc import Mapping
from dataclasses import dataclass

import xarray as xr

from ppsm.arrays import FloatArray
from ppsm.bilevel.solution import BilevelSolution
from ppsm.bilevel.verify import Finding
from ppsm.errors import InputError
from ppsm.games.layout import Layout, shaped_like
from ppsm.games.several_followers import Followers
from ppsm.status import Status
from ppsm.views import View, Viewed, figure


@dataclass(frozen=True, eq=False, repr=False)
class GameSolution(Viewed):
    """A verified answer of a game in the shapes of the user's models; ``bilevel`` has the flat vectors.

    Printed, it shows the leader's side and the prices; answers of followers, which often add up to their
    parameters, are read with :meth:`response`.
    """

    bilevel: BilevelSolution
    _leader: Layout
    _followers: Followers

    def __repr__(self) -> str:
        return f"<GameSolution: {self._headline}>"

    def _view(self) -> View:
        if not self.status.has_answer:
            return View(f"{self.status}: {self.bilevel.explanation or 'no answer'}")
        decided = [("leader", *row) for row in self._leader.summary(self.bilevel.variables)]
        prices = [
            (f"price, {seat.name}", *row)
            for seat in self._followers.seats
            for row in seat.follower.constraints.summary(seat.follower.sign * self.bilevel.prices[seat.rows])
        ]
        return View(self._headline, [*decided, *prices], ("", "name", "value"))

    @property
    def _headline(self) -> str:
        if not self.status.has_answer:
            return str(self.status)
        checked = "verified" if self.verified else "not verified"
        best = f"leader's objective {figure(self.objective)}, bound {figure(self.bound)}"
        return f"{self.status}, {checked}: {best}"

    @property
    def status(self) -> Status:
        """How much the answer is worth."""
        return self.bilevel.status

    @property
    def objective(self) -> float | None:
        """The leader's objective."""
        return self.bilevel.leader_objective

    @property
    def bound(self) -> float | None:
        """The proven bound on the leader's objective."""
        return self.bilevel.leader_bound

    @property
    def gap(self) -> float | None:
        """Relative distance between the two."""
        return self.bilevel.gap

    @property
    def follower_objective(self) -> float | None:
        """The follower's optimal value at the leader's decision, where there is only one follower."""
        self._followers.seat(None)
        return self.bilevel.follower_objective

    @property
    def follower_objectives(self) -> Mapping[str, float]:
        """What its answer is worth to each follower, by name, in the sense of its own model."""
        decision, answer = self._there(self.bilevel.variables), self.bilevel.responses
        return self._followers.objectives(self.bilevel.program, decision, answer)

    @property
    def verified(self) -> bool:
        """The independent verifier's verdict."""
        return self.bilevel.verified

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the verifier found, empty for an answer."""
        return self.bilevel.findings

    def variable(self, name: str) -> xr.DataArray:
        """Values of a leader variable."""
        return self._leader.shaped(name, self._there(self.bilevel.variables))

    def response(self, name: str, *, of: str | None = None) -> xr.DataArray:
        """Values of a follower's variable; ``of`` says whose where several have one of that name."""
        block = self._followers.block("variable", name, of)
        return shaped_like(block.positions, self._there(self.bilevel.responses)).rename(name)

    def price(self, name: str, *, of: str | None = None) -> xr.DataArray:
        """Prices of a follower's constraint, in the sense of the follower's model."""
        block = self._followers.block("constraint", name, of)
        prices = self._there(self.bilevel.prices) * self._followers.row_signs
        return shaped_like(block.positions, prices).rename(name)

    def _there(self, vector: FloatArray) -> FloatArray:
        if not self.status.has_answer:
            why = self.bilevel.explanation or "look at status first"
            raise InputError(f"the game has no answer to read (status '{self.status}'): {why}.")
        return vector
