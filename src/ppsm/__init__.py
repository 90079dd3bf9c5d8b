"""ppsm: privacy-preserving coordination of markets.

A leader and a follower act in turn; the follower's data are secret and its prices feed back.
"""

__version__ = "0.1.0"
