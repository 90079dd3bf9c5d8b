"""Games as people write them: followers and a leader in linopy (or arrays), and the game of all.

``follower`` is the LP (or convex QP) with its parameter, prices and re-solves, ``several_followers`` are some
of them side by side; ``stackelberg`` is the game, with a linopy leader, ``game_solution`` its answer.
``linopy_reader`` and ``layout`` carry labels to arrays, ``front_ends`` bring in models of other tools.
"""

from typing import TYPE_CHECKING

from ppsm.front_door import front_door

if TYPE_CHECKING:
    from ppsm.games.follower import Follower, FollowerOutcome
    from ppsm.games.game_solution import GameSolution
    from ppsm.games.stackelberg import StackelbergGame

__all__ = ["Follower", "FollowerOutcome", "GameSolution", "StackelbergGame"]

__getattr__, __dir__ = front_door(
    __name__,
    {
        "follower": ("Follower", "FollowerOutcome"),
        "game_solution": ("GameSolution",),
        "stackelberg": ("StackelbergGame",),
    },
)
