"""The numbers of a round between two machines: how long to wait and how much to take.

None of them decides what is released or believed. What a follower may choose is in its policy
(``policy.py``); what a message may hold is part of its format (``messages.py``).
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ProtocolTuning:
    """What neither policy nor format says."""

    # Larger numbers in a decision are no quantities of a market, and solvers stumble over them.
    largest_felt: float = 1e9
    # Relative room for rounding when what a party has asked for is added up.
    allowance_room: float = 1e-9
    # So many refusals end a round for the leader. They are not signed: what the wire has spoilt may be
    # refused once, and be fine the next time.
    tries_after_refusal: int = 4
    # Waits between tries of the leader: each is twice the one before.
    first_wait_s: float = 0.05
    longest_wait_s: float = 2.0
    # Seconds in which a follower has to take a connection.
    connect_s: float = 10.0
    # A reply of a follower that is longer than this has no end.
    largest_reply_bytes: int = 20_000_000
    # A request that would wait longer for others is to come again instead of keeping a thread.
    longest_lock_wait_s: float = 20.0
    # How long an idle connection stays open, and requests may take when the service is stopped.
    keep_alive_s: int = 30
    shutdown_s: int = 10
    # Parties and addresses whose rates are remembered.
    most_callers: int = 10_000
    # How long to wait for other processes that write to the store of rounds.
    store_wait_s: float = 10.0
    # What SQLite may keep of it in memory.
    store_cache_kb: int = 256
    # So many rounds of a party that end before they cost anything are kept, within its window: they take room
    # on the disk, and nobody needs more.
    most_free_rounds: int = 200
    # So many refusals are kept in the store, the newest ones.
    kept_refusals: int = 1000
    # So many rounds and refusals are on a page; the rest is in the store.
    shown: int = 50
    # A smaller gap is rounding of the solvers, and a page says that there is none.
    least_shown_gap: float = 1e-6


TUNING = ProtocolTuning()
