"""The numbers of a stream that are neither promised nor chosen by a caller."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StreamTuning:
    """How far released vectors are pulled, and what audits put where there is no number."""

    # Shares by which a vector that the leader has no answer to is pulled towards one that it had one to.
    pulls: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    # In audits: stands for an answer or a sample that there is none of, where no honest number is.
    nothing: float = -1e6
    # In audits: the public bound of each entry, far above all of them.
    most: float = 1e6


TUNING = StreamTuning()
