"""The owner's own door into a secret: what is computed behind it is for the owner's eyes only.

The owner may compute anything from the data, which are the owner's after all; say, how far a release is from
the truth. There is no noise on it and no budget for it. It comes in a type of its own, which neither prints
nor pickles and which no dossier, message or report for others takes, so that it leaves by an explicit act
and not by accident.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, final

from ppsm.arrays import FloatArray
from ppsm.privacy.sensitive import Sensitive, apply_sealed_silently, out_of_reach, refusal_of, refusing

T = TypeVar("T")
_MINE = "an OwnerOnly, whose content is for the owner of the data: reveal() it where nobody else can read."


@final
class OwnerOnly(Generic[T]):
    """What only the owner of the secret may see; :meth:`reveal` is the owner's explicit act."""

    __slots__ = ("_opened",)

    def __init__(self, content: T) -> None:
        self._opened: Callable[[], T] = out_of_reach(content)

    def reveal(self) -> T:
        """Return the content. It must stay with the owner."""
        return self._opened()

    def __repr__(self) -> str:
        return "<OwnerOnly: content hidden>"

    if not TYPE_CHECKING:
        __reduce__ = refusing("pickle", _MINE)
        __reduce_ex__ = refusing("pickle", _MINE)
        __copy__ = refusing("copy", _MINE)
        __deepcopy__ = refusing("copy", _MINE)


def for_owner_only(secret: Sensitive, measure: Callable[[FloatArray], T]) -> OwnerOnly[T]:
    """Compute something from the secret that stays with its owner.

    Parameters
    ----------
    secret
        The data. They are handed to ``measure`` and to nothing else.
    measure
        Computes what the owner wants to know. Whatever it returns is wrapped, the data themselves if it
        returns them; what it writes elsewhere is its own affair. When it fails, neither its message nor its
        frames come through.
    """
    if refusal := refusal_of(secret):
        del secret
        raise refusal
    return OwnerOnly(
        apply_sealed_silently(
            secret,
            measure,
            "What the owner wanted to know could not be computed from the true data (the reason is withheld, "
            "it may quote them): try the same with public test data to see it.",
        )
    )
