"""What the fidelity phase returns."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.fidelity.proof.certificate import Certificate, Claim, certify
from ppsm.status import Status

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FidelityResult:
    """A faithful vector with its proof, or the reason why there is none.

    ``status`` is ``PROVEN_OPTIMAL`` when ``gap`` (relative to the objective) is within the tolerance asked
    for, ``INCUMBENT`` when a limit stopped the search, and has no answer only if a limit left none.
    ``widening`` is the factor by which both bands were widened (1: as asked); ``widening_bound`` is a
    factor below which nothing exists. ``certificate`` was checked without any part of the search;
    :meth:`recertify` solves everything again.
    """

    labels: tuple[str, ...]
    status: Status
    parameter: FloatArray
    objective: float
    bound: float
    gap: float
    nodes: int
    widening: float
    widening_bound: float
    certificate: Certificate | None = field(repr=False)
    claim: Claim | None = field(repr=False)
    seconds: float
    solvers: tuple[str, ...]
    explanation: str = ""

    @property
    def certified(self) -> bool:
        """Whether the answer is proven optimal and its certificate has no finding."""
        return (
            self.status is Status.PROVEN_OPTIMAL
            and self.certificate is not None
            and self.certificate.faithful
        )

    def to_series(self) -> "pd.Series[float]":
        """The vector as a pandas Series, labelled by the entries."""
        import pandas as pd

        return pd.Series(self.parameter, index=pd.Index(self.labels, name="entry"), name="faithful")

    @property
    def value(self) -> float:
        """The follower's value at the answer, re-solved."""
        return self._there().value

    @property
    def price_distance(self) -> float:
        """How far the prices are outside their band (0: inside), re-solved."""
        return self._there().price_excess

    def recertify(self) -> Certificate:
        """Solve the follower again with SciPy's own build of HiGHS and look again for a dual in the band."""
        if self.claim is None:
            raise SolverError(f"there is no answer to certify: {self.explanation or self.status}.")
        return certify(self.claim)

    def _there(self) -> Certificate:
        if self.certificate is None:
            raise SolverError(f"there is no answer to look at: {self.explanation or self.status}.")
        return self.certificate
