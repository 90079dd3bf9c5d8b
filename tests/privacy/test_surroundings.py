"""What surrounds a release in its process: settings of the interpreter, hooks, threads, forks, signals.

None of it may show a value, change what is charged, or lose what was charged for.
"""

import decimal
import gc
import io
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from tests.mechanism.conftest import towns_game

from ppsm import PPSM, GameCoordination, Ledger, Released, Sensitive
from ppsm.errors import BudgetExceededError, FileFormatError, LedgerError, PrivacyError
from ppsm.mechanism import Release
from ppsm.privacy import LaplaceMechanism, LedgerKeeper
from ppsm.privacy.measurements import exact_distance, exact_totals, float_above, on_grid

VALUES = [41.23456789, 33.98765432]
DIGITS = ("41.2345", "33.9876", "75.2222")
WHOLE = PPSM(alpha=5.0, total_share=0.5)


@pytest.fixture(scope="module")
def towns() -> GameCoordination:
    return GameCoordination(towns_game(), unit="MWh", bounds=(0.0, 100.0))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return granted(tmp_path / "ledger.db", 100.0)


def granted(path: Path, epsilon: float, alpha: float = 5.0) -> Ledger:
    Ledger.create(path).grant("d", epsilon=epsilon, alpha=alpha, unit="MWh")
    return Ledger(path)


def secret_of(values: list[float] = VALUES) -> Sensitive:
    return Sensitive(values, dataset="d", unit="MWh", entry_names=("west", "east"))


def released(towns: GameCoordination, ledger: Ledger) -> Release:
    return WHOLE.release(secret_of(), towns, ledger=ledger, purpose="test")


def shows_a_value(text: str) -> bool:
    return any(digits in text for digits in DIGITS)


@pytest.mark.parametrize(
    "context",
    [
        decimal.Context(prec=1, rounding=decimal.ROUND_DOWN),
        decimal.Context(prec=3, traps=[decimal.Inexact, decimal.Rounded, decimal.FloatOperation]),
        decimal.Context(prec=2, Emax=0, Emin=0, traps=[decimal.Overflow, decimal.Subnormal]),
        decimal.Context(capitals=0, clamp=1, traps=list(decimal.Context().traps)),
    ],
    ids=["one digit", "inexact raises", "no exponents", "everything raises"],
)
def test_no_decimal_context_changes_a_release_or_ends_it(
    context: decimal.Context, towns: GameCoordination, ledger: Ledger
) -> None:
    with decimal.localcontext(context):
        statement = released(towns, ledger).dossier.statement
    assert "epsilon = 1 " in statement
    assert ledger.balance("d").spent == 1
    assert ledger.verify().ok


def test_numerical_errors_and_warnings_that_are_raised_lose_no_charge(
    towns: GameCoordination, ledger: Ledger
) -> None:
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert released(towns, ledger).released.private
    assert ledger.balance("d").spent == 1


@pytest.mark.parametrize("epsilon", [np.float32(0.1), np.float64(0.1), np.longdouble("0.1"), Fraction(1, 10)])
def test_an_epsilon_of_another_type_is_charged_as_what_it_is(epsilon: Any, ledger: Ledger) -> None:
    """A float of 32 bits at 0.1 is more than 0.1: so it is charged, and so much noise it gets."""
    mechanism = LaplaceMechanism(alpha=5.0, epsilon=epsilon)
    mechanism.release(secret_of(), ledger=ledger, purpose="test")
    spent = Fraction(ledger.balance("d").spent)
    assert spent >= Fraction(5.0) / Fraction(mechanism.scale)
    assert abs(spent - Fraction(float(epsilon))) <= Fraction(1, 10**16)


@pytest.mark.parametrize("alpha", [1e-300, 5e-324])
def test_no_release_is_free(alpha: float, tmp_path: Path) -> None:
    """Where the budget's distance is so small beside the noise that their quotient is no float any more."""
    ledger = granted(tmp_path / "tiny.db", 1.0, alpha)
    LaplaceMechanism(alpha=1e6, epsilon=1e-9).release(secret_of(), ledger=ledger, purpose="test")
    assert ledger.balance("d").spent > 0


def test_no_size_of_numbers_moves_a_total_by_more_than_was_charged() -> None:
    """From the smallest floats to the largest: what neighbours' totals and distances differ by."""
    rng = np.random.default_rng(0)
    tried = 0
    while tried < 1000:
        alpha = max(5e-324, float(10.0 ** rng.uniform(-323, 15)))
        size = float(np.clip(alpha * 10.0 ** rng.uniform(-3, 20), 5e-324, 9e14))
        values, reference = rng.uniform(size=3) * size, rng.uniform(size=3) * size
        neighbour = values.copy()
        neighbour[1] += alpha * rng.choice([1.0, 0.5, 0.999])
        if abs(Fraction(neighbour[1]) - Fraction(values[1])) > Fraction(alpha):
            continue
        tried += 1
        charged = Fraction(float_above(on_grid(alpha, alpha)))
        sums = [Fraction(exact_totals(each, alpha)[0]) for each in (values, neighbour)]
        ways = [Fraction(exact_distance(each, reference, alpha)) for each in (values, neighbour)]
        assert abs(sums[0] - sums[1]) <= charged
        assert abs(ways[0] - ways[1]) <= charged


def test_an_audit_hook_sees_no_value(towns: GameCoordination, ledger: Ledger) -> None:
    """Such hooks feed the logs of security departments; one cannot be removed, so it is told to stop."""
    seen: list[str] = []
    listening = [True]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if listening and event != "object.__getattr__":
            seen.append(f"{event} {arguments!r}")

    sys.addaudithook(hook)
    try:
        released(towns, Ledger(ledger.path))
    finally:
        listening.clear()
    assert any(str(ledger.path) in line for line in seen)
    assert not shows_a_value(" ".join(seen))


def test_a_logger_that_takes_everything_gets_no_value(towns: GameCoordination, ledger: Ledger) -> None:
    root, heard = logging.getLogger(), io.StringIO()
    handler = logging.StreamHandler(heard)
    loggers = [root, *(logging.getLogger(name) for name in list(root.manager.loggerDict))]
    levels = [each.level for each in loggers]
    root.addHandler(handler)
    try:
        for each in loggers:
            each.setLevel(1)
        released(towns, ledger)
    finally:
        root.removeHandler(handler)
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
    assert "charged epsilon 1" in heard.getvalue()
    assert not shows_a_value(heard.getvalue())


def test_as_many_calls_before_the_charge_whatever_the_values(
    towns: GameCoordination, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time before the noise, without a clock: every call that is made from the data on until the charge."""
    spend = Ledger.spend

    def noted(*arguments: Any, **options: Any) -> Any:
        sys.setprofile(None)
        return spend(*arguments, **options)

    monkeypatch.setattr(Ledger, "spend", noted)
    counts = []
    for values in (VALUES, VALUES, [0.0, 0.0], [5e-324, 1e-310], [1e15, 1e15], [-0.0, 1.0]):
        calls = count()

        def profile(frame: FrameType, event: str, argument: object, calls: Iterator[int] = calls) -> None:
            next(calls)

        gc.disable()  # it calls what others have left to be called, at moments of its own
        sys.setprofile(profile)
        try:
            WHOLE.perturb(secret_of(values), towns, ledger=ledger, purpose="test")
        finally:
            sys.setprofile(None)
            gc.enable()
        counts.append(next(calls))
    # The first one fills caches.
    assert len(set(counts[1:])) == 1


def test_threads_that_share_a_mechanism_share_no_noise_and_no_budget(tmp_path: Path) -> None:
    ledger, mechanism = granted(tmp_path / "shared.db", 20.0), LaplaceMechanism(alpha=5.0)
    noise: list[tuple[float, ...]] = []
    refused: list[BudgetExceededError] = []

    def release() -> None:
        for _ in range(5):
            try:
                found = mechanism.release(secret_of(), ledger=ledger, purpose="test")
                noise.append(tuple(found.values.tolist()))
            except BudgetExceededError as error:
                refused.append(error)

    threads = [threading.Thread(target=release) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(noise) == len(set(noise)) == 20
    assert len(refused) == 10
    assert ledger.balance("d").spent == 20


def test_forks_in_the_middle_of_releases_share_no_noise(ledger: Ledger) -> None:
    """A thread forks while another holds the ledger and the sampler, and its children release at once.

    A child whose copy of SQLite believes that somebody holds the file, for ever, is refused and not charged;
    one that was forked while another thread held a lock within SQLite waits for ever, and releases nothing.
    """
    mechanism, (reader, writer) = LaplaceMechanism(alpha=5.0), os.pipe()

    def release() -> str:
        return repr(mechanism.release(secret_of(), ledger=ledger, purpose="test").values.tolist())

    def fork() -> None:
        for _ in range(4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # forks beside threads are what is tried
                child = os.fork()
            if child == 0:
                signal.alarm(30)  # ends a child that waits for ever
                with suppress(LedgerError):
                    said = release() + "\n"
                    os.write(writer, said.encode())
                os._exit(0)
            os.waitpid(child, 0)

    forker = threading.Thread(target=fork)
    forker.start()
    ours = [release() for _ in range(8)]
    forker.join()
    os.close(writer)
    with os.fdopen(reader) as stream:
        theirs = stream.read().splitlines()
    assert len({*ours, *theirs}) == 8 + len(theirs)
    assert ledger.balance("d").spent == 8 + len(theirs)
    assert ledger.verify().ok


class _Late(Exception):  # noqa: N818 - as a program's own timeout may be called
    pass


@contextmanager
def _alarm_after(seconds: float) -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _locals_of(error: BaseException | None) -> Iterator[str]:
    """What a reporter of errors writes down of every frame."""
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            for value in trace.tb_frame.f_locals.values():
                try:
                    yield repr(value)
                except AttributeError:  # half-built
                    continue
            trace = trace.tb_next
        error = error.__cause__ or error.__context__


def test_a_timeout_at_any_moment_leaves_no_value(ledger: Ledger) -> None:
    mechanism = LaplaceMechanism(alpha=5.0, total_share=0.5)
    names = [f"entry {number}" for number in range(200)]
    large = Sensitive(np.full(200, VALUES[0]), dataset="d", unit="MWh", entry_names=names)
    rng = np.random.default_rng(1)
    stopped: list[Exception] = []
    for _ in range(60):
        try:
            with _alarm_after(float(rng.uniform(1e-4, 1e-2))):
                mechanism.release(large, ledger=ledger, purpose="test")
        except (_Late, PrivacyError) as error:
            stopped.append(error)
    assert stopped
    for each in stopped:
        assert not any(map(shows_a_value, _locals_of(each)))
        assert not shows_a_value(str(each))
    assert ledger.balance("d").spent <= 60
    assert ledger.verify().ok


def _grant(path: Path) -> None:
    keeper = LedgerKeeper(path)
    for _ in range(5):
        keeper.grant("d", epsilon=0.1)


def test_grants_of_many_processes_add_up(tmp_path: Path) -> None:
    ledger = granted(tmp_path / "granted.db", 1.0)
    processes = [multiprocessing.Process(target=_grant, args=(ledger.path,)) for _ in range(4)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    assert ledger.balance("d").granted == Decimal("3.0")
    assert ledger.verify().ok


_RELEASE = """
import sys
from ppsm import Ledger, Sensitive
from ppsm.privacy import LaplaceMechanism
secret = Sensitive([41.23456789], dataset="d", unit="MWh")
try:
    LaplaceMechanism(alpha=5.0).release(secret, ledger=Ledger(sys.argv[1]), purpose="test")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_generator_that_gives_nothing_is_found_before_the_charge(tmp_path: Path, ledger: Ledger) -> None:
    """OpenSSL heeds a variable of the environment, be it one of OpenDP's own."""
    configuration = tmp_path / "openssl.cnf"
    configuration.write_text("openssl_conf = all\n[all]\nrandom = bits\n[bits]\nrandom = TEST-RAND\n")
    said = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _RELEASE, str(ledger.path)],
        env={**os.environ, "OPENSSL_CONF": str(configuration)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    assert said.startswith("PrivacyError No noise can be drawn")
    assert ledger.balance("d").spent == 0


def test_nobody_else_reads_the_ledger_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ledger = granted(tmp_path / "open.db", 1.0)
        LaplaceMechanism(alpha=5.0).release(secret_of(), ledger=ledger, purpose="test")
    finally:
        os.umask(before)
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert modes == {"open.db": 0o600, "open.db-journal": 0o600}


def test_a_ledger_may_lie_under_any_name(tmp_path: Path) -> None:
    """What SQLite takes for the rest of an address, and bytes that are no text."""
    ledger = granted(tmp_path / os.fsdecode(b"led\xff#?mode=memory&%2f.db"), 1.0)
    LaplaceMechanism(alpha=5.0).release(secret_of(), ledger=ledger, purpose="test")
    with pytest.raises(BudgetExceededError):
        LaplaceMechanism(alpha=5.0).release(secret_of(), ledger=ledger, purpose="test")


def test_a_key_that_occurs_twice_is_refused(towns: GameCoordination) -> None:
    """Some readers take the first value and others the last: one file would say two things."""
    simulated = WHOLE.simulate(secret_of(), towns, seed=1)
    for text, read in (
        (simulated.released.to_json(), Released.from_json),
        (simulated.dossier.to_json(), type(simulated.dossier).from_json),
    ):
        assert '"values"' in text
        with pytest.raises(FileFormatError, match="a key occurs twice"):
            read(text.replace('"values"', '"values": [1.0, 2.0], "values"', 1))
