"""Games as people write them: a follower and a leader in linopy (or arrays), and the game of both.

``follower`` is the LP with its parameter, prices and re-solves; ``stackelberg`` is the game, with
a linopy leader. ``linopy_reader`` and ``layout`` carry labels from linopy to arrays.
"""

from typing import TYPE_CHECKING

from ppsm.front_door import front_door

if TYPE_CHECKING:
    from ppsm.games.follower import Follower, FollowerOutcome
    from ppsm.games.stackelberg import GameSolution, StackelbergGame

__all__ = ["Follower", "FollowerOutcome", "GameSolution", "StackelbergGame"]

__getattr__, __dir__ = front_door(
    __name__,
    {"follower": ("Follower", "FollowerOutcome"), "stackelberg": ("GameSolution", "StackelbergGame")},
)
