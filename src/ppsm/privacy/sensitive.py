"""The secret's type: data that only the mechanisms of :mod:`ppsm.privacy` can read.

A :class:`Sensitive` shows its dimension, labels, unit and data set, and refuses everything that would
show its values. This stops accidents: a log line, a traceback with local variables, a pickled task. It does
not stop hostile code in the same process, which can read any memory; run untrusted code elsewhere.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, unique_names
from ppsm.errors import InputError, PpsmError, PrivacyError, SecretExposureError
from ppsm.privacy.record import dataset_id, one_line

T = TypeVar("T")
_KEY: Final = object()
Vault = Callable[[object], FloatArray | None]


def _refusal(action: str) -> Callable[..., NoReturn]:
    """Return a method that refuses ``action``."""

    def refuse(self: object, *arguments: object, **options: object) -> NoReturn:  # noqa: ARG001
        del arguments, options  # a guess at the secret may be among them, and tracebacks show locals
        raise SecretExposureError(
            f"Tried to {action} a Sensitive, whose values only a mechanism of ppsm.privacy may read: "
            "release it first, for example with LaplaceMechanism(alpha=..., epsilon=...).release(...)."
        )

    return refuse


@final
class Sensitive:
    """A secret vector with public labels.

    Parameters
    ----------
    values
        One finite number per entry. They are copied; the caller's copy is the caller's to guard.
    dataset
        The identifier under which the ledger adds up what is released about these data.
    unit
        The unit of every entry, such as ``"MWh"``.
    labels
        One public name per entry; ``entry0, entry1, ...`` by default. Names must not depend on the values.
    nonnegative
        Whether entries below zero are refused, as fits demands.

    Raises
    ------
    InputError
        When the data cannot be used. The message names the label and the defect, never a value.
    """

    __slots__ = ("__weakref__", "_dataset", "_labels", "_unit", "_vault")
    _dataset: str
    _labels: tuple[str, ...]
    _unit: str
    _vault: Vault

    def __init__(
        self,
        values: ArrayLike,
        *,
        dataset: str,
        unit: str,
        labels: Iterable[str] | None = None,
        nonnegative: bool = True,
    ) -> None:
        # A traceback shows the locals of this frame, so the values must leave it before anything can fail.
        check = _check_later(values)
        del values
        names = _label_names(labels)
        vault, count = run_sealed(lambda: check(names, nonnegative))
        store = object.__setattr__
        store(self, "_vault", vault)
        store(self, "_labels", unique_names(names, count, "entry", "labels"))
        store(self, "_unit", one_line(unit, "unit"))
        store(self, "_dataset", dataset_id(dataset))

    @property
    def dataset(self) -> str:
        """The data set that the ledger charges."""
        return self._dataset

    @property
    def labels(self) -> tuple[str, ...]:
        """The public name of every entry."""
        return self._labels

    @property
    def unit(self) -> str:
        """The unit of every entry."""
        return self._unit

    @property
    def dimension(self) -> int:
        """The number of entries, which is public."""
        return len(self._labels)

    def __len__(self) -> int:
        return self.dimension

    def __repr__(self) -> str:
        return f"<Sensitive: {self.dimension} entries in {self.unit} of '{self.dataset}', values hidden>"

    def __format__(self, format_spec: str) -> str:
        if format_spec:
            _refusal("format")(self)
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
        __setattr__ = _refusal("change")
        __delattr__ = _refusal("change")
        __eq__ = _refusal("compare")
        __ne__ = _refusal("compare")
        __lt__ = _refusal("compare")
        __le__ = _refusal("compare")
        __gt__ = _refusal("compare")
        __ge__ = _refusal("compare")
        __hash__ = _refusal("hash")
        __bool__ = _refusal("take the truth value of")
        __float__ = _refusal("convert")
        __int__ = _refusal("convert")
        __complex__ = _refusal("convert")
        __index__ = _refusal("convert")
        __bytes__ = _refusal("convert")
        __round__ = _refusal("convert")
        __iter__ = _refusal("iterate over")
        __reversed__ = _refusal("iterate over")
        __contains__ = _refusal("search")
        __getitem__ = _refusal("index")
        __array__ = _refusal("make an array of")
        __array_ufunc__ = _refusal("compute with")
        __array_function__ = _refusal("compute with")
        __add__ = __radd__ = _refusal("compute with")
        __sub__ = __rsub__ = _refusal("compute with")
        __mul__ = __rmul__ = _refusal("compute with")
        __matmul__ = __rmatmul__ = _refusal("compute with")
        __truediv__ = __rtruediv__ = _refusal("compute with")
        __neg__ = __abs__ = _refusal("compute with")
        __copy__ = _refusal("copy")
        __deepcopy__ = _refusal("copy")
        __reduce__ = _refusal("pickle")
        __reduce_ex__ = _refusal("pickle")
        __getstate__ = _refusal("pickle")


def apply_sealed(secret: Sensitive, action: Callable[[FloatArray], T]) -> T:
    """Hand the values to ``action`` and return its answer: the one door into a secret.

    Only mechanisms inside :mod:`ppsm.privacy` call this, with an action whose answer is safe to release.
    When the action fails, no frame that saw the values stays in the traceback.
    """
    return run_sealed(_opened_for(secret._vault, action))


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
        # Our own sentences are written to speak of labels and defects only.
        failure = type(error)(*error.args)
    except Exception as error:  # noqa: BLE001 - a foreign message may quote a value, so only its type is told
        failure = PrivacyError(
            f"Handling secret values failed with {type(error).__name__}; its message is withheld because it "
            "may quote a value: nothing was released, so check data and installation and try again."
        )
    except BaseException as error:  # noqa: BLE001 - an interrupt keeps its type and loses its frames
        failure = type(error)()
    raise failure


def _check_later(values: ArrayLike) -> Callable[[tuple[str, ...] | None, bool], tuple[Vault, int]]:
    """Bind the values to a closure, so that no caller's frame needs to hold them."""

    def check(names: tuple[str, ...] | None, nonnegative: bool) -> tuple[Vault, int]:
        array = _numbers(values)
        _refuse_defects(array, names, nonnegative)
        return _locked(array), len(array)

    return check


def _label_names(labels: Iterable[str] | None) -> tuple[str, ...] | None:
    if labels is None:
        return None
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InputError(
            f"labels is of type {type(labels).__name__}, expected one name per entry: pass a list."
        )
    return tuple(labels)


def _numbers(values: ArrayLike) -> FloatArray:
    try:
        array: FloatArray = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"The sensitive values ({type(values).__name__}) are not all numbers, expected one per entry: "
            "mend the data."
        ) from None
    if array.ndim != 1 or not array.size:
        raise InputError(
            f"The sensitive values have shape {array.shape}, expected a vector with at least one entry: pass "
            "one."
        )
    array.setflags(write=False)
    return array


def _refuse_defects(array: FloatArray, names: tuple[str, ...] | None, nonnegative: bool) -> None:
    labels = unique_names(names, len(array), "entry", "labels")
    defects = [("not a finite number", ~np.isfinite(array))]
    if nonnegative:
        defects.append(("below zero", array < 0))
    for defect, found in defects:
        if found.any():
            label = labels[int(np.flatnonzero(found)[0])]
            raise InputError(
                f"The sensitive value of '{label}' is {defect}, expected a finite number"
                f"{' of at least zero' if nonnegative else ''}: mend the data (the value is withheld)."
            )


def _locked(array: FloatArray) -> Vault:
    """Keep the array in a closure: attribute dumps, ``vars`` and inspectors see a function, not numbers."""

    def opened(key: object) -> FloatArray | None:
        # Raising here would put this frame, and the array with it, into the traceback.
        return array if key is _KEY else None

    return opened


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
