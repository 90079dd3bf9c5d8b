"""Ways to look at a secret. Each must refuse, or show nothing of the values."""

import ast
import copy
import dataclasses
import gc
import inspect
import io
import json
import logging
import pickle
import pprint
import re
import string
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pandas as pd
import pydantic
import pytest
from rich.console import Console
from rich.traceback import Traceback
from tests.privacy.conftest import DATASET, VALUES, make_secret

import ppsm
from ppsm.errors import InputError, PrivacyError, SecretExposureError, SolverError
from ppsm.privacy import (
    LaplaceMechanism,
    Ledger,
    Released,
    Sensitive,
    for_owner_only,
    require_released,
)
from ppsm.privacy.noise import ExactLaplace
from ppsm.privacy.sensitive import apply_sealed


@dataclasses.dataclass
class Holder:
    secret: Sensitive
    note: str = "held"


def _pydantic_model(secret: Sensitive) -> object:
    class Message(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        demand: Sensitive

    return Message(demand=secret)


def _subclass(secret: Sensitive) -> object:
    return type("Open", (Sensitive,), {})


def _log(secret: Sensitive) -> str:
    stream = io.StringIO()
    logger = logging.getLogger("ppsm.test.leaks")
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    logger.warning("demand %s %r", secret, secret, extra={"demand": secret})
    logger.removeHandler(handler)
    return stream.getvalue()


def _rich_print(secret: Sensitive) -> str:
    console = Console(file=io.StringIO(), record=True)
    console.print(secret, {"demand": secret})
    return console.export_text()


def _matched(secret: Any) -> str:
    match secret:
        case [first, *_]:
            return repr(first)
        case _:
            return "no sequence"


def _public_attributes(secret: Sensitive) -> str:
    return repr(inspect.getmembers(secret))


# The ways are typed loosely on purpose: a type checker stops most of them already.
REFUSED: dict[str, Callable[[Any], object]] = {
    "float format": lambda s: f"{s:.3f}",
    "percent format": lambda s: "%f" % s,  # noqa: UP031
    "pickle": pickle.dumps,
    "pickle of a container": lambda s: pickle.dumps({"demand": [s]}),
    "reduce": lambda s: s.__reduce_ex__(5),
    "getstate": lambda s: s.__getstate__(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "asdict": lambda s: dataclasses.asdict(Holder(s)),
    "json": json.dumps,
    "json default vars": lambda s: json.dumps(s, default=vars),
    "pydantic model": _pydantic_model,
    "numpy array": np.array,
    "numpy asarray float": lambda s: np.asarray(s, dtype=float),
    "numpy array of a list": lambda s: np.array([s]),
    "numpy stack": lambda s: np.stack([s, s]),
    "numpy mean": np.mean,
    "tolist": lambda s: s.tolist(),
    "printing the entries": lambda s: print(*s),  # noqa: T201
    "numpy ufunc": lambda s: np.add(s, 1.0),
    "numpy sum": np.sum,
    "array plus secret": lambda s: np.zeros(3) + s,
    "buffer": memoryview,
    "bytes": bytes,
    "pandas series": lambda s: pd.Series(s),
    "iteration": lambda s: list(s),
    "unpacking": lambda s: (lambda *v: v)(*s),
    "reversed": reversed,
    "index": lambda s: s[0],
    "contains": lambda s: VALUES[0] in s,
    "equality": lambda s: s == make_secret(),
    "inequality": lambda s: s != VALUES[0],
    "order": lambda s: s < make_secret(),
    "sorting": lambda s: sorted([s, make_secret()]),
    "maximum": lambda s: max(s, make_secret()),
    "membership in a list": lambda s: s in [make_secret()],
    "hash": hash,
    "set": lambda s: {s},
    "truth": bool,
    "float": float,
    "int": int,
    "round": round,
    "sum": lambda s: sum([s]),
    "subtraction": lambda s: s - 1.0,
    "vars": vars,
    "dict": lambda s: s.__dict__,
    "attribute change": lambda s: setattr(s, "_entry_names", ("a",)),
    "second making": lambda s: s.__init__([1.0], dataset=DATASET, unit="MWh"),
    "object array": lambda s: np.array([s], dtype=object),
    "format of an entry": lambda s: "{x[0]}".format(x=s),  # noqa: UP032
    "pydantic numbers": lambda s: pydantic.TypeAdapter(list[float]).validate_python(list(s)),
    "frame of a secret": lambda s: pd.DataFrame({"demand": s}),
    "subclass": _subclass,
    "as released": lambda s: require_released(s),
}

SHOWN: dict[str, Callable[[Any], str]] = {
    "repr": repr,
    "str": str,
    "f-string": lambda s: f"{s} {s!r} {s!s:>80}",
    "string template": lambda s: string.Template("$x").substitute(x=s),
    "repr of a container": lambda s: repr({"demand": [s]}),
    "dataclass repr": lambda s: repr(Holder(s)),
    "logging": _log,
    "pprint": pprint.pformat,
    "rich": _rich_print,
    "json default str": lambda s: json.dumps(s, default=str),
    "pydantic json fallback": lambda s: pydantic.TypeAdapter(Any).dump_json(s, fallback=str).decode(),
    "inspect": _public_attributes,
    "dir": lambda s: repr(dir(s)),
    "data frame": lambda s: repr(pd.DataFrame({"demand": [s]})),
    "vault": lambda s: repr(s._vault),
    "pattern": _matched,
    "weak reference": lambda s: repr(weakref.ref(s)),
    "referents": lambda s: repr(gc.get_referents(s)),
    "vault without the key": lambda s: repr(s._vault(object())),
    "size": lambda s: str(sys.getsizeof(s)),
    "data frame as json": lambda s: str(pd.DataFrame({"demand": [s]}).to_json()),
}


def shows_a_value(text: str) -> bool:
    """Tell whether any secret number can be read in a text, in full or rounded."""
    forms = [
        form
        for value in VALUES
        for form in (repr(value), f"{value:.2f}", f"{value:.0f}", f"{value:.4g}", str(int(value)))
    ]
    # Whole numbers only: the digits of a rounded value turn up in addresses of objects by chance.
    return re.search(rf"(?<![\w.])({'|'.join(map(re.escape, forms))})(?!\w)", text) is not None


def test_the_search_for_values_finds_them() -> None:
    assert shows_a_value(f"x = {VALUES[1]}")
    assert shows_a_value(repr(np.array(VALUES)))
    for seen in ("x=4322", "[-8765.43]", "{'north': 4321.987654}", "8765.432198x"):
        assert shows_a_value(seen)
    assert not shows_a_value("<Sensitive: 3 entries>")
    assert not shows_a_value("<object at 0x7f1234000000> 140123412341234")


@pytest.mark.parametrize("way", REFUSED)
def test_refused(way: str, secret: Sensitive) -> None:
    with pytest.raises((SecretExposureError, TypeError, AttributeError)) as caught:
        REFUSED[way](secret)
    assert not shows_a_value(reports_of(caught.value))


@pytest.mark.parametrize("way", SHOWN)
def test_shown_without_values(way: str, secret: Sensitive) -> None:
    text = SHOWN[way](secret)
    assert text
    assert not shows_a_value(text)


def test_a_half_built_secret_has_a_repr() -> None:
    """Asked for directly: test runners and debuggers replace a repr that fails, and so hide it."""
    half_built = Sensitive.__new__(Sensitive)
    assert repr(half_built) == "<Sensitive: never completed, values hidden>"
    assert f"{half_built}" == str(half_built)


def _safe_repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:
        if type(value) is Sensitive:
            raise
        return f"<{type(error).__name__}>"  # half-built foreign objects may not have a repr


def locals_in(trace: TracebackType | None) -> str:
    """Return the local variables of every frame outside the tests, as a debugger would print them."""
    shown = []
    for frame, _line in traceback.walk_tb(trace):
        if frame.f_code.co_filename != __file__:
            shown += [f"{name} = {_safe_repr(value)}" for name, value in frame.f_locals.items()]
    return "\n".join(shown)


def reports_of(error: BaseException) -> str:
    """Return messages and local variables of an error and of all errors behind it."""
    chain = []
    seen: BaseException | None = error
    while seen is not None:
        chain.append(f"{seen!r}\n{locals_in(seen.__traceback__)}")
        seen = seen.__cause__ or seen.__context__
    return "\n".join(chain)


@pytest.mark.parametrize(
    "values",
    [
        [*VALUES[:2], float("nan")],
        [*VALUES[:2], float("inf")],
        [*VALUES[:2], 1e20],
        [*VALUES[:2], 1.1e15],
        [*VALUES[:2], -VALUES[2]],
        [*VALUES[:2], f"{VALUES[2]}x"],
        [*VALUES[:2], None],
        [*VALUES, VALUES[0]],
        [list(VALUES), list(VALUES)],
        [list(VALUES), [VALUES[0]]],
        {"north": VALUES[0]},
        [str(value) for value in VALUES],
        np.array(VALUES) + 1j,
        np.ma.masked_array(VALUES, mask=[False, True, False]),
        np.array(["2026-01-15"] * 3, dtype="datetime64[D]"),
        [*VALUES[:2], 10**400],
        (value for value in VALUES),
    ],
)
def test_bad_data_leave_no_trace(values: Any) -> None:
    with pytest.raises(InputError) as caught:
        Sensitive(values, dataset=DATASET, unit="MWh", entry_names=("north", "south", "west"))
    assert not shows_a_value(reports_of(caught.value))
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "options",
    [
        {"entry_names": 5},
        {"entry_names": "abc"},
        {"entry_names": ["a", "a", "b"]},
        {"entry_names": ["a"]},
        {"entry_names": VALUES},
        {"entry_names": ["a", "b", VALUES[0]]},
        {"entry_names": ["a", "b", " "]},
        {"entry_names": (1 / 0 for _ in VALUES)},
        {"unit": ""},
        {"unit": None},
        {"unit": VALUES},
        {"dataset": "two words"},
        {"dataset": VALUES},
    ],
)
def test_bad_descriptions_leave_no_trace(options: dict[str, Any]) -> None:
    """Numbers among names, or in place of a text, may be the secret passed in the wrong place."""
    with pytest.raises((InputError, PrivacyError)) as caught:
        Sensitive(VALUES, **({"dataset": DATASET, "unit": "MWh"} | options))
    assert not shows_a_value(reports_of(caught.value))


@pytest.mark.parametrize("step", ["release", "simulate", "require_released"])
def test_raw_data_passed_by_mistake_leave_no_trace(
    step: str, mechanism: LaplaceMechanism, ledger: Ledger
) -> None:
    raw: Any = list(VALUES)
    steps: dict[str, Callable[[], object]] = {
        "release": lambda: mechanism.release(raw, ledger=ledger, purpose="test"),
        "simulate": lambda: mechanism.simulate(raw, seed=1),
        "require_released": lambda: require_released(raw),
    }
    with pytest.raises(InputError, match="list, expected") as caught:
        steps[step]()
    assert not shows_a_value(reports_of(caught.value))


class Cancelled(BaseException):
    """An interrupt that cannot be made without arguments, as some frameworks have them."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


@pytest.mark.parametrize("failure", [RuntimeError, MemoryError, KeyboardInterrupt, SystemExit, Cancelled])
def test_a_failing_sampler_leaves_no_trace(
    failure: type[BaseException],
    secret: Sensitive,
    mechanism: LaplaceMechanism,
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(self: ExactLaplace, values: Any) -> None:
        raise failure(f"cannot sample {values}")

    monkeypatch.setattr(ExactLaplace, "add_to", fail)
    expected = {KeyboardInterrupt: failure, SystemExit: failure, Cancelled: KeyboardInterrupt}.get(
        failure, PrivacyError
    )
    with pytest.raises(expected) as caught:
        mechanism.release(secret, ledger=ledger, purpose="test")
    assert not shows_a_value(reports_of(caught.value))
    console = Console(file=io.StringIO(), record=True, width=200)
    trace = caught.value.__traceback__
    console.print(Traceback.from_exception(type(caught.value), caught.value, trace, show_locals=True))
    assert not shows_a_value(console.export_text())


def test_own_errors_keep_their_type_and_lose_their_frames(secret: Sensitive) -> None:
    def fail(values: Any) -> None:
        kept = values.copy()
        raise InputError(f"{len(kept)} entries are too many.")

    with pytest.raises(InputError, match="3 entries are too many") as caught:
        apply_sealed(secret, fail)
    assert not shows_a_value(reports_of(caught.value))


def test_the_owners_door_hides_what_comes_out(secret: Sensitive) -> None:
    mine = for_owner_only(secret, lambda values: values)
    assert mine.reveal() == pytest.approx(VALUES)
    assert not shows_a_value(f"{mine} {mine!r} {[mine]}")
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SecretExposureError, match="an OwnerOnly, whose content is for the owner"):
            way(mine)


@pytest.mark.parametrize("failure", [InputError, SolverError, PrivacyError, RuntimeError])
def test_a_message_that_quotes_the_data_does_not_come_through_the_owners_door(
    failure: type[Exception], secret: Sensitive
) -> None:
    def fail(values: Any) -> None:
        kept = values.copy()
        raise failure(f"the demand is {kept[0]}, which is too much.")

    with pytest.raises(PrivacyError, match="withheld") as caught:
        for_owner_only(secret, fail)
    assert not shows_a_value(reports_of(caught.value))


def test_only_the_privacy_package_opens_secrets() -> None:
    root = Path(ppsm.__path__[0])
    doors = ("apply_sealed", "_vault", "_KEY")
    outside = [path for path in root.rglob("*.py") if path.parent != root / "privacy"]
    assert outside
    assert not [path for path in outside if any(door in path.read_text() for door in doors)]


def test_owner_side_doors_are_used_by_the_owner_side_only() -> None:
    root = Path(ppsm.__path__[0])
    doors = {"for_owner_only"}
    users = set()
    for path in root.rglob("*.py"):
        imported = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        if path.parent != root / "privacy" and imported & doors:
            users.add(str(path.relative_to(root)))
    assert users == {
        "owner/private_release.py",
        "owner/distances.py",
        "experiments/pages.py",
        "experiments/comparison.py",
    }


def test_public_facts_are_shown(secret: Sensitive) -> None:
    assert (len(secret), secret.dimension, secret.unit, secret.dataset) == (3, 3, "MWh", DATASET)
    assert secret.entry_names == ("north", "south", "west")
    assert "values hidden" in repr(secret)


def test_a_secret_keeps_a_copy_of_its_own() -> None:
    data = np.array([1.0, 2.0])
    secret = Sensitive(data, dataset=DATASET, unit="MWh")
    data[:] = 1e9
    released = LaplaceMechanism(alpha=1e-6).simulate(secret, seed=0)
    assert released.values == pytest.approx([1.0, 2.0], abs=1e-3)


def test_a_secret_cannot_be_wrapped_as_released(secret: Sensitive, mechanism: LaplaceMechanism) -> None:
    released = mechanism.simulate(secret, seed=1)
    with pytest.raises(SecretExposureError):
        released.derive(secret, "nothing")  # type: ignore[arg-type]
    with pytest.raises(SecretExposureError):
        Released(
            values=secret,  # type: ignore[arg-type]
            entry_names=secret.entry_names,
            record=released.record,
            receipt=None,
        )
