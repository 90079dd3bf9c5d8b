"""Two parties on a market of two towns."""

from pathlib import Path

import pytest

from ppsm.coordinations import GameCoordination
from tests.mechanism.conftest import towns
from tests.protocol.parties import Parties

__all__ = ["towns"]


@pytest.fixture
def parties(tmp_path: Path, towns: GameCoordination) -> Parties:
    return Parties.at(tmp_path, towns)
