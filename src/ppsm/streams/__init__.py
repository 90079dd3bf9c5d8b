"""A release every day: streams with w-event privacy, any ``w`` consecutive days within one budget.

::

    promise          alpha, epsilon and the window
    policies         the menu: daily, regular, distribution, absorption
    reconstruction   what public knowledge and earlier releases say of a day (a filter)
    engine           one day after the other: forecast, question, sample, estimate
    meters           what its questions are put to: a secret behind a ledger, seeded noise, test data
    stream_run       a stream on disk, which can be stopped anywhere and gone on with
    day_files        a released day as a file, and what is kept until it is written
    stream_audit     evidence against the promise, on neighbouring streams of public data
    tuning           the numbers that nobody is asked for
"""

from typing import TYPE_CHECKING

from ppsm.front_door import front_door

if TYPE_CHECKING:
    from ppsm.streams.day_files import ReleasedDay
    from ppsm.streams.engine import PublicDay
    from ppsm.streams.policies import Absorption, Daily, Distribution, Regular
    from ppsm.streams.promise import Promise
    from ppsm.streams.reconstruction import Knowledge, Spread
    from ppsm.streams.stream_audit import audit_stream
    from ppsm.streams.stream_run import Settings, StreamDay, StreamRun

__all__ = [
    "Absorption",
    "Daily",
    "Distribution",
    "Knowledge",
    "Promise",
    "PublicDay",
    "Regular",
    "ReleasedDay",
    "Settings",
    "Spread",
    "StreamDay",
    "StreamRun",
    "audit_stream",
]

__getattr__, __dir__ = front_door(
    __name__,
    {
        "stream_audit": ("audit_stream",),
        "day_files": ("ReleasedDay",),
        "engine": ("PublicDay",),
        "policies": ("Absorption", "Daily", "Distribution", "Regular"),
        "promise": ("Promise",),
        "reconstruction": ("Knowledge", "Spread"),
        "stream_run": ("Settings", "StreamDay", "StreamRun"),
    },
)
