"""The games that the mechanism runs on: what it asks of them is :class:`ppsm.mechanism.Coordination`.

::

    GameCoordination    any_game          any StackelbergGame
    GaucCoordination    unit_commitment   gas-aware unit commitment of a case, and a public past of it
    GasSide             gas_side          of that the gas operator's side alone

A new market is a third class with the same methods: ``PPSM(...).release`` runs on it.
"""

from ppsm.coordinations.any_game import GameCoordination
from ppsm.coordinations.gas_side import GasSide
from ppsm.coordinations.unit_commitment import GaucCoordination

__all__ = ["GameCoordination", "GasSide", "GaucCoordination"]
