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
    implied = ImpliedSides.of(core)
    # pipe 1 and 2 carry the same; where they are empty the two behind are, but not the other way round
    assert named(core, implied.tight_with(side(core, "0>"))) == {"0>", "1>", "2>", "3>"}
    assert named(core, implied.tight_with(side(core, "1>"))) == {"0>", "1>", "2>", "3>"}
    assert named(core, implied.tight_with(side(core, "2>"))) == {"2>"}
    # where pipe 3 carries something so do 1 and 2
    assert named(core, implied.slack_with(side(core, "2>"))) == {"0>", "1>", "2>"}
    assert named(core, implied.slack_with(side(core, "3>"))) == {"0>", "1>", "3>"}
    # their capacities differ: neither is full because the other is
    assert named(core, implied.tight_with(side(core, "0<"))) == {"0<"}


def test_a_town_between_makes_it_one_way() -> None:
    core = chain(taps=True)
    implied = ImpliedSides.of(core)
    # an empty pipe 1 leaves nothing for pipe 2; an empty pipe 2 says nothing of pipe 1
    assert "1>" in named(core, implied.tight_with(side(core, "0>")))
    assert named(core, implied.tight_with(side(core, "1>"))) == {"1>", "2>", "3>"}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_to_be_tight_is(seed: int) -> None:
    core = core_of(build_network(40, seed).follower)
    lps = Restorer(build_network(40, seed).follower).lps
    implied = ImpliedSides.of(core)
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
    assert found > 20
