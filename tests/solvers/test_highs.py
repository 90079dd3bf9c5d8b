"""LPs that one method leaves without a verdict."""

import numpy as np
import pytest

from ppsm.errors import SolverError
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp


def transport() -> PersistentLp:
    """Two supplies, two demands: the cheapest plan costs 1 * 3 + 2 * 1 + 1 * 4 = 9."""
    return PersistentLp(
        LinearProgram.from_arrays(
            cost=[1.0, 3.0, 2.0, 1.0],
            matrix=[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
            row_lower=[-np.inf, -np.inf, 4.0, 4.0],
            row_upper=[3.0, 6.0, np.inf, np.inf],
        )
    )


def test_another_method_settles_what_the_simplex_leaves_open() -> None:
    lp = transport()
    lp._highs.setOptionValue("simplex_iteration_limit", 0)
    lp._highs.setOptionValue("presolve", "off")
    assert lp.solve().objective == pytest.approx(9.0)


def test_an_lp_that_no_method_settles_is_an_error_and_leaves_the_solver_usable() -> None:
    lp = transport()
    for kind in ("simplex", "ipm"):
        lp._highs.setOptionValue(f"{kind}_iteration_limit", 0)
    lp._highs.setOptionValue("presolve", "off")
    with pytest.raises(SolverError, match="ended an LP"):
        lp.solve()
    for kind in ("simplex", "ipm"):
        lp._highs.setOptionValue(f"{kind}_iteration_limit", 1000)
    assert lp.solve().objective == pytest.approx(9.0)
