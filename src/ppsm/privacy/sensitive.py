"""The secret's type: data that only the doors of :mod:`ppsm.privacy` open, for a mechanism or for the owner.

A :class:`Sensitive` shows its dimension, entry names, unit and data set, and refuses everything that would
show its values. This stops accidents: a log line, a traceback with local variables, a pickled task. It does
not stop hostile code in the same process, which can read any memory; run untrusted code elsewhere.
"""

from collections.abc import Callable, Iterable
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import LARGEST_ENTRY, FloatArray, other_than_numbers, unique_names
from ppsm.errors import InputError, PpsmError, PrivacyError, SecretExposureError
from ppsm.labels import VectorLike, aligned, labelled
from ppsm.privacy.record import dataset_id, day_text, one_line

T = TypeVar("T")
_KEY: Final = object()
Vault = Callable[[object], FloatArray | None]
_HIDDEN: Final = (
    "a Sensitive, whose values only a mechanism or its owner may read: release it first, for example with "
    "LaplaceMechanism(alpha=..., epsilon=...).release(...)."
)


def refusing(action: str, of: str = _HIDDEN) -> Callable[..., NoReturn]:
    """Return a method that refuses ``action``."""

    def refuse(self: object, *arguments: object, **options: object) -> NoReturn:  # noqa: ARG001
        del arguments, options  # a guess at the secret may be among them, and tracebacks show locals
        raise SecretExposureError(f"Tried to {action} {of}")

    return refuse


@final
class Sensitive:
    """A secret vector whose entries have public names.

    Parameters
    ----------
    values
        One finite number per entry. They are copied; the caller's copy is the caller's to guard. A Series,
        DataFrame, DataArray or mapping is aligned with ``entry_names`` by its labels, or refused.
    dataset
        The identifier under which the ledger adds up what is released about these data.
    unit
        The unit of every entry, such as ``"MWh"``.
    entry_names
        One public name per entry; by default the labels of ``values``, and ``entry0, entry1, ...`` where it
        has none. Names must not depend on the values.
    nonnegative
        Whether entries below zero are refused, as fits demands.
    day
        Of which day the data are (ISO 8601), where the data set is a stream of days. It is public.

    Raises
    ------
    InputError
        When the data cannot be used. The message names the entry and the defect, never a value.
    """

    __slots__ = ("__weakref__", "_dataset", "_day", "_entry_names", "_unit", "_vault")
    _dataset: str
    _day: str | None
    _entry_names: tuple[str, ...]
    _unit: str
    _vault: Vault

    def __init__(
        self,
        values: VectorLike,
        *,
        dataset: str,
        unit: str,
        entry_names: Iterable[str] | None = None,
        nonnegative: bool = True,
        day: str | None = None,
    ) -> None:
        # A traceback shows the locals of this frame, so all that may be the secret, if only passed in the
        # wrong place, must leave it before anything can fail.
        check = _check_later(values, entry_names, unit, dataset, nonnegative, day)
        del values, entry_names, unit, dataset, day
        if hasattr(self, "_vault"):
            refusing("change")(self)
        store = object.__setattr__
        for name, part in zip(
            # The vault last: who has one is complete.
            ("_entry_names", "_unit", "_dataset", "_day", "_vault"),
            run_sealed(check),
            strict=True,
        ):
            store(self, name, part)

    @property
    def dataset(self) -> str:
        """The data set that the ledger charges."""
        return self._dataset

    @property
    def day(self) -> str | None:
        """Of which day the data are, where their data set is a stream of days."""
        return self._day

    @property
    def entry_names(self) -> tuple[str, ...]:
        """The public name of every entry."""
        return self._entry_names

    @property
    def unit(self) -> str:
        """The unit of every entry."""
        return self._unit

    @property
    def dimension(self) -> int:
        """The number of entries, which is public."""
        return len(self._entry_names)

    def __len__(self) -> int:
        return self.dimension

    def __repr__(self) -> str:
        if not hasattr(self, "_vault"):  # its making failed, and a traceback shows it half-built
            return "<Sensitive: never completed, values hidden>"
        return f"<Sensitive: {self.dimension} entries in {self.unit} of '{self.dataset}', values hidden>"

    def __format__(self, format_spec: str) -> str:
        if format_spec:
            refusing("format")(self)
        return repr(self)

    def __init_subclass__(cls) -> NoReturn:
        raise SecretExposureError(
            "Tried to subclass Sensitive, which could show its values: wrap a Sensitive in a class of your "
            "own."
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, *_arguments: object) -> NoReturn:
        raise SecretExposureError(
            "Tried to put a Sensitive into a pydantic model, which would serialise it: use Released in "
            "messages."
        )

    # Refused at run time and unknown to type checkers, so that ``secret[0]`` fails before it runs.
    if not TYPE_CHECKING:
        __setattr__ = refusing("change")
        __delattr__ = refusing("change")
        __eq__ = refusing("compare")
        __ne__ = refusing("compare")
        __lt__ = refusing("compare")
        __le__ = refusing("compare")
        __gt__ = refusing("compare")
        __ge__ = refusing("compare")
        __hash__ = refusing("hash")
        __bool__ = refusing("take the truth value of")
        __float__ = refusing("convert")
        __int__ = refusing("convert")
        __complex__ = refusing("convert")
        __index__ = refusing("convert")
        __bytes__ = refusing("convert")
        __round__ = refusing("convert")
        __iter__ = refusing("iterate over")
        __reversed__ = refusing("iterate over")
        __contains__ = refusing("search")
        __getitem__ = refusing("index")
        __array__ = refusing("make an array of")
        __array_ufunc__ = refusing("compute with")
        __array_function__ = refusing("compute with")
        __add__ = __radd__ = refusing("compute with")
        __sub__ = __rsub__ = refusing("compute with")
        __mul__ = __rmul__ = refusing("compute with")
        __matmul__ = __rmatmul__ = refusing("compute with")
        __truediv__ = __rtruediv__ = refusing("compute with")
        __neg__ = __abs__ = refusing("compute with")
        __copy__ = refusing("copy")
        __deepcopy__ = refusing("copy")
        __reduce__ = refusing("pickle")
        __reduce_ex__ = refusing("pickle")
        __getstate__ = refusing("pickle")


def apply_sealed(secret: Sensitive, action: Callable[[FloatArray], T]) -> T:
    """Hand the values to ``action`` and return its answer: the lock that every door into a secret turns.

    Only :mod:`ppsm.privacy` calls this: a mechanism with an action of ours, whose answer is safe to release;
    the owner's doors by way of :func:`apply_sealed_silently`. When the action fails, no frame that saw the
    values stays in the traceback.
    """
    return run_sealed(_opened_for(secret._vault, action))


def apply_sealed_silently(secret: Sensitive, action: Callable[[FloatArray], T], failed: str) -> T:
    """The same for an action from outside :mod:`ppsm.privacy`: when it fails, only ``failed`` is said.

    Markets and solvers of ours write their sentences for public data, so there they may quote a value.
    """

    def quiet(values: FloatArray) -> T:
        try:
            return action(values)
        except Exception:  # noqa: BLE001 - whatever it says may quote a value
            raise PrivacyError(failed) from None

    return apply_sealed(secret, quiet)


def _opened_for(vault: Vault, action: Callable[[FloatArray], T]) -> Callable[[], T]:
    def run() -> T:
        values = vault(_KEY)
        if values is None:
            raise SecretExposureError("The vault of a Sensitive was exchanged: make a new one from the data.")
        return action(values)

    return run


def run_sealed(action: Callable[[], T]) -> T:
    """Run an action that handles secret values; a failure is raised anew, without its frames and causes.

    Tracebacks keep every frame below the handler alive together with its local variables, and debuggers, test
    runners and error reporters print those. The new error begins here, where there is nothing to see.
    """
    failure: BaseException
    try:
        return action()
    except PpsmError as error:
        # The sentences of ppsm.privacy speak of names and defects only; apply_sealed_silently hides others.
        failure = type(error)(*error.args)
    except Exception as error:  # noqa: BLE001 - a foreign message may quote a value, so only its type is told
        failure = PrivacyError(
            f"Handling secret values failed with {type(error).__name__}; its message is withheld because it "
            "may quote a value: nothing was released, so check data and installation and try again."
        )
    except BaseException as error:  # noqa: BLE001 - an interrupt keeps its type and loses its frames
        failure = _made_anew(error)
    raise failure


def _made_anew(interrupt: BaseException) -> BaseException:
    try:
        return type(interrupt)()
    except Exception:  # noqa: BLE001 - a type that needs arguments, whose failure would bring the frames back
        return KeyboardInterrupt(f"interrupted by {type(interrupt).__name__}")


def _check_later(
    values: VectorLike, entry_names: object, unit: object, dataset: object, nonnegative: bool, day: object
) -> Callable[[], tuple[tuple[str, ...], str, str, str | None, Vault]]:
    """Bind what was passed to a closure, so that no caller's frame needs to hold it."""

    def check() -> tuple[tuple[str, ...], str, str, str | None, Vault]:
        names, in_order = _named(values, _public_names(entry_names))
        array = _numbers(in_order)
        names = unique_names(names, len(array), "entry", "entry_names")
        _refuse_defects(array, names, nonnegative)
        of = None if day is None else day_text(day)
        return names, one_line(unit, "unit"), dataset_id(dataset), of, _locked(array)

    return check


def _named(values: VectorLike, names: tuple[str, ...] | None) -> tuple[tuple[str, ...] | None, Any]:
    """Names and values in one order: labels of the values are held against the names, or are the names."""
    if names is not None:
        return names, aligned(values, names, "The sensitive vector", secret=True)
    found = labelled(values)
    if found is None or found.counted:
        return None, values
    if any(all(map(_is_number, label)) for label in found.labels):
        # Names are published, so numbers may be the secret in the wrong place.
        raise InputError(
            "The sensitive vector is labelled by numbers (withheld), expected names that may be published: "
            "set them as its index, or pass entry_names."
        )
    return _public_names([", ".join(label) for label in found.labels]), list(found.values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _public_names(entry_names: object) -> tuple[str, ...] | None:
    if entry_names is None:
        return None
    if isinstance(entry_names, str) or not isinstance(entry_names, Iterable):
        raise InputError(
            f"entry_names is of type {type(entry_names).__name__}, expected one name per entry: pass a list."
        )
    names = tuple(entry_names)
    for index, name in enumerate(names):
        # Names are published, so numbers among them may be the secret in the wrong place.
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InputError(
                f"The name of entry {index} is of type {type(name).__name__}, expected a printable name "
                "that may be published: pass text that does not depend on the values."
            )
    return names


def _numbers(values: ArrayLike) -> FloatArray:
    array = _converted(values)
    if array is None:
        raise InputError(
            f"The sensitive values ({type(values).__name__}) are not all numbers, expected one per entry: "
            "mend the data."
        )
    if array.ndim != 1 or not array.size:
        raise InputError(
            f"The sensitive values have shape {array.shape}, expected a vector with at least one entry: pass "
            "one."
        )
    array.setflags(write=False)
    return array


def _converted(values: ArrayLike) -> FloatArray | None:
    """Return a copy as floats; text, dates, complex and masked numbers are none, though NumPy casts them."""
    return None if other_than_numbers(values) is not None else np.array(values, dtype=np.float64)


def _refuse_defects(array: FloatArray, names: tuple[str, ...], nonnegative: bool) -> None:
    # What a release could not be repaired with is refused before anything is charged.
    defects = [(f"no number of a size up to {LARGEST_ENTRY:g}", ~(np.abs(array) <= LARGEST_ENTRY))]
    if nonnegative:
        defects.append(("below zero", array < 0))
    for defect, found in defects:
        if found.any():
            name = names[int(np.flatnonzero(found)[0])]
            raise InputError(
                f"The sensitive value of '{name}' is {defect}, expected a finite number"
                f"{' of at least zero' if nonnegative else ''}: mend the data (the value is withheld)."
            )


def _locked(array: FloatArray) -> Vault:
    """Keep the array in a closure: attribute dumps, ``vars`` and inspectors see a function, not numbers."""
    held = out_of_reach(array)

    def opened(key: object) -> FloatArray | None:
        # Raising here would put this frame, and the array with it, into the traceback.
        return held() if key is _KEY else None

    return opened


def out_of_reach(content: T) -> Callable[[], T]:
    """A function that returns the content, to which no chain of attributes and items leads.

    That is all that a format string can follow, ``{0._vault.__closure__[0].cell_contents}`` say, and an
    inspector of variables; a closure gives away what it holds, and this iterator does not.
    """
    held = cycle((content,))
    return lambda: next(held)


def refusal_of(data: object) -> InputError | None:
    """Return the error for data that are not :class:`Sensitive`, for callers to raise.

    It is not raised here: what was passed by mistake may be the raw secret, so the caller lets go of it
    first.
    """
    if isinstance(data, Sensitive):
        return None
    return InputError(
        f"The data to release are of type {type(data).__name__}, expected Sensitive: "
        "wrap them as Sensitive(values, dataset=..., unit=...)."
    )
