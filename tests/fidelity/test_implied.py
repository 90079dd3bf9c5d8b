"""Sides that are tight together: a chain by hand, and networks against LPs."""

import numpy as np
import pytest
from benchmarks.gas_networks import build_network

from ppsm.fidelity import Bands, Restorer
from ppsm.fidelity.implied import ImpliedSides
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.scaled import Core
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram


def chain(*, taps: bool) -> Core:
    """Pipe 1 feeds pipe 2, and that pipes 3 and 4 to a town; with taps the town is between pipes 1 and 2."""
    program = LinearProgram.from_arrays(
        cost=[1.0, 0.0, 0.0, 0.0, 5.0],
        # columns: pipe 1, pipe 2, pipe 3, pipe 4, oil
        matrix=[[1.0, -1.0, 0.0, 0.0, 0.0], [0.0, 1.0, -1.0, -1.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]],
        row_lower=[0.0, 0.0, 0.0],
        row_upper=[0.0, 0.0, 0.0],
        column_upper=[8.0, 9.0, np.inf, np.inf, np.inf],
    )
    goods = [[1.0 if taps else 0.0], [0.0], [0.0 if taps else 1.0]]
    follower = Follower.from_program(program, parameter_map=goods, nominal=[0.0], parameter_names=["town"])
    return core_of(follower)


def core_of(follower: Follower) -> Core:
    restorer = Restorer(follower)
    public = PublicBounds.of(None, restorer.names)
    released = np.ones(len(restorer.names))
    return restorer.core(released, Bands().checked(restorer.names), public, "l2", None)


def named(core: Core, sides: list[int]) -> set[str]:
    return {f"{core.follower.sides.index[k]}{'>' if core.follower.sides.sign[k] > 0 else '<'}" for k in sides}


def side(core: Core, name: str) -> int:
    return next(int(k) for k in core.follower.column_sides if named(core, [int(k)]) == {name})


def test_pipes_in_series_are_empty_together() -> None:
    core = chain(taps=False)
    # pipe 1 carries what pipe 2 does, and that is the sum of two that are not negative
    assert {name for k in core.follower.column_sides.tolist() for name in named(core, [k])} == {
        "0<",
        "2>",
        "3>",
        "4>",
    }


def test_a_town_between_makes_it_one_way() -> None:
    core = chain(taps=True)
    implied = ImpliedSides(core)
    # an empty pipe 1 leaves nothing for the town and for the pipes behind; an empty pipe 3 says nothing of 1
    assert named(core, implied.tight_with(side(core, "0>"))) == {"0>", "2>", "3>"}
    assert named(core, implied.tight_with(side(core, "2>"))) == {"2>"}


def pressures() -> Core:
    """Three pressures that fall along a way, the first at most 5 and the last at least 1, and a town."""
    program = LinearProgram.from_arrays(
        # columns: three pressures, flow, oil; the flow is at most what the last drop allows
        cost=[0.0, 0.0, 0.0, 1.0, 5.0],
        matrix=[
            [0.0, 0.0, 0.0, 1.0, 1.0],
            [1.0, -1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, -1.0, -1.0, 0.0],
        ],
        row_lower=[0.0, 0.0, 0.0],
        row_upper=[0.0, np.inf, np.inf],
        column_lower=[1.0, 1.0, 1.0, 0.0, 0.0],
        column_upper=[5.0, 5.0, 5.0, np.inf, np.inf],
    )
    goods = [[1.0], [0.0], [0.0]]
    return core_of(
        Follower.from_program(program, parameter_map=goods, nominal=[0.0], parameter_names=["town"])
    )


def test_a_multiplier_is_handed_on_along_a_way() -> None:
    core = pressures()
    sides = core.follower.sides
    bounds = {name for k in core.follower.column_sides.tolist() for name in named(core, [k])}
    assert bounds == {"0<", "2>", "3>", "4>"}  # the other limits of pressure follow
    rows = {int(sides.index[k]): int(k) for k in core.follower.row_sides}
    highest, lowest = side(core, "0<"), side(core, "2>")
    implied = ImpliedSides(core)
    tight, zero = implied.if_positive((), (), rows[1])
    # the drop from 1 to 2 is priced only if the largest pressure is, and the drop from 2 to 3
    assert set(tight) == {rows[1], rows[2], highest, lowest}
    assert zero == ()
    assert set(implied.if_zero((), highest)) == {highest, rows[1], rows[2], lowest}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_to_be_tight_is(seed: int) -> None:
    core = core_of(build_network(40, seed).follower)
    lps = Restorer(build_network(40, seed).follower).lps
    implied = ImpliedSides(core)
    sides, answers = core.follower.sides, core.follower.program.shape[1]
    found = 0
    for one in core.follower.column_sides.tolist():
        for other in implied.tight_with(one)[1:4]:
            # how far the other side's column can get away from its bound while the one is tight
            cost = np.zeros(answers + core.reference.size)
            cost[sides.index[other]] = -sides.sign[other]
            farthest = -lps.free_parameter.least(core, np.array([one]), cost)
            assert farthest == -np.inf or abs(farthest - sides.sign[other] * sides.bound[other]) < 1e-7
            found += 1
    assert found > 5
