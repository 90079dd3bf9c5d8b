"""For the owner's eyes only: figures that compare a release with the secret.

The owner may measure how far a release is from the truth. Such figures say something about the noise and so
about the secret; they come in a type of their own that no dossier, message or report for others takes.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, final

from ppsm.arrays import FloatArray
from ppsm.privacy.sensitive import Sensitive, _refusal, apply_sealed, refusal_of

T = TypeVar("T")


@final
class OwnerOnly(Generic[T]):
    """Figures that only the owner of the secret may see; :meth:`reveal` is the owner's explicit act."""

    __slots__ = ("_opened",)

    def __init__(self, figures: T) -> None:
        self._opened: Callable[[], T] = lambda: figures

    def reveal(self) -> T:
        """Return the figures. They must stay with the owner."""
        return self._opened()

    def __repr__(self) -> str:
        return "<OwnerOnly: figures hidden>"

    if not TYPE_CHECKING:
        __reduce__ = _refusal("pickle")
        __reduce_ex__ = _refusal("pickle")
        __copy__ = _refusal("copy")
        __deepcopy__ = _refusal("copy")


def for_owner_only(secret: Sensitive, measure: Callable[[FloatArray], T]) -> OwnerOnly[T]:
    """Compute something from the secret that stays with its owner."""
    if refusal := refusal_of(secret):
        del secret
        raise refusal
    return OwnerOnly(apply_sealed(secret, measure))
