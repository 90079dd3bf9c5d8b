"""The numbers of a round between two machines: how long to wait and how much to take.

None of them decides what is released or believed. What a follower may choose is in its policy
(``policy.py``); what a message may hold is part of its format (``messages.py``).
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ProtocolTuning:
    """What neither policy nor format says.

    Attributes
    ----------
    largest_felt
        Larger numbers in a decision are no quantities of a market, and solvers stumble over them.
    allowance_room
        What a sum of epsilons may exceed a party's allowance by, relatively: the rounding of sums.
    tries_after_refusal
        Refusals are not signed: what the wire has spoilt may be refused, and be fine the next time.
    first_wait_s, longest_wait_s
        Between tries of the leader; each wait is twice the last one.
    connect_s
        In which a follower has to take a connection.
    largest_reply_bytes
        Of a follower; a longer one has no end.
    longest_lock_wait_s
        A request that would wait longer for others is to come again instead of keeping a thread.
    keep_alive_s, shutdown_s
        How long an idle connection stays open, and requests may take when the service is stopped.
    most_callers
        Parties and addresses whose rates are remembered.
    store_wait_s
        For other processes that write to the store of rounds.
    kept_refusals
        In the store, the newest ones.
    shown
        Rounds and refusals on a page; the rest is in the store.
    """

    largest_felt: float = 1e9
    allowance_room: float = 1e-9
    tries_after_refusal: int = 4
    first_wait_s: float = 0.05
    longest_wait_s: float = 2.0
    connect_s: float = 10.0
    largest_reply_bytes: int = 20_000_000
    longest_lock_wait_s: float = 20.0
    keep_alive_s: int = 30
    shutdown_s: int = 10
    most_callers: int = 10_000
    store_wait_s: float = 10.0
    kept_refusals: int = 1000
    shown: int = 50


TUNING = ProtocolTuning()
