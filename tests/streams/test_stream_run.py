"""A stream on disk: each day charged once and released once, wherever it was stopped."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppsm.coordinations import GameCoordination
from ppsm.errors import BudgetExceededError, FileFormatError, InputError, LedgerError, PrivacyError
from ppsm.examples import freight_game
from ppsm.mechanism import History, Learned, PublicOutcome
from ppsm.privacy import (
    LaplaceMechanism,
    Ledger,
    LedgerKeeper,
    PublishedFigures,
    Sensitive,
    note_publication,
    simulated_publication,
)
from ppsm.privacy.record import Asked
from ppsm.streams.day_files import Kept, ReleasedDay
from ppsm.streams.policies import Absorption, Daily, Distribution, Policy, Regular
from ppsm.streams.promise import Promise
from ppsm.streams.stream_run import StreamDay, StreamRun
from tests.streams.small import DATASET, UNIT, USUAL, days, ledger_for, market, settings


@pytest.fixture(scope="module")
def game() -> GameCoordination:
    return market()


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerKeeper:
    return ledger_for(tmp_path / "ledger.db")


def _run(
    tmp_path: Path, game: GameCoordination, ledger: Ledger, policy: Policy | None = None, count: int = 6
) -> list[ReleasedDay]:
    run = StreamRun(settings(policy), lambda _: game, directory=tmp_path / "out", ledger=ledger)
    return list(run.release(days(game.entry_names, count)))


def _charges(ledger: Ledger) -> Counter[tuple[str, str, str]]:
    """How often each question about each day was charged, and noted as drawn."""
    counted: Counter[tuple[str, str, str]] = Counter()
    asked = {}
    for entry in ledger.entries():
        if entry.kind == "spend":
            asked[entry.sequence] = "sample" if f'"{Asked.ENTRIES}"' in entry.detail else "answer"
            counted[entry.day, asked[entry.sequence], "spend"] += 1
        elif entry.kind == "draw":
            of = int(entry.detail.split('"of": ')[1].split(",")[0])
            counted[entry.day, asked[of], "draw"] += 1
    return counted


def _insist_on_one_charge_each(ledger: Ledger, released: list[ReleasedDay]) -> None:
    expected: Counter[tuple[str, str, str]] = Counter()
    for each in released:
        for name, there in (("answer", each.answer is not None), ("sample", each.sampled)):
            if there:
                expected.update({(each.day.isoformat(), name, kind): 1 for kind in ("spend", "draw")})
    assert _charges(ledger) == expected
    assert ledger.verify().ok


@pytest.mark.parametrize("policy", [Daily(), Regular(), Distribution(), Absorption()], ids=lambda p: p.name)
def test_every_day_is_released_faithful_and_can_be_cleared(
    policy: Policy, tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    released = _run(tmp_path, game, ledger, policy)
    assert len(released) == 6
    assert released[0].sampled
    assert all(each.outcome.feasible and (each.faithful or each.pulled) for each in released)
    balance = ledger.balance(DATASET)
    assert balance.days.largest(3) <= 1
    _insist_on_one_charge_each(ledger, released)


def test_a_second_call_changes_nothing(tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper) -> None:
    first = _run(tmp_path, game, ledger)
    entries = ledger.entries()
    files = {file.name: file.read_bytes() for file in (tmp_path / "out" / "days").iterdir()}
    second = _run(tmp_path, game, ledger)
    assert ledger.entries() == entries
    assert {file.name: file.read_bytes() for file in (tmp_path / "out" / "days").iterdir()} == files
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
    # More days go on from what the files say.
    assert len(_run(tmp_path, game, ledger, count=8)) == 8


class Killed(BaseException):
    """Stands for a power cut."""


def _cuts() -> Iterator[tuple[str, Any, str, bool]]:
    """Where a run is cut: at which method, before or after it did its work."""
    for owner, name in (
        (Ledger, "spend"),
        (Ledger, "note_draw"),
        (Kept, "_write"),
        (Kept, "forget"),
        (ReleasedDay, "write"),
    ):
        for after in (False, True):
            yield f"{'after' if after else 'before'} {owner.__name__}.{name}", owner, name, after


@pytest.mark.parametrize("cut", list(_cuts()), ids=lambda cut: cut[0])
def test_cut_anywhere_a_day_is_charged_once_and_released_once(
    cut: tuple[str, Any, str, bool],
    tmp_path: Path,
    game: GameCoordination,
    ledger: LedgerKeeper,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, owner, name, after = cut
    original: Callable[..., Any] = getattr(owner, name)
    left = [2]

    def cutting(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and not after:
            raise Killed
        result = original(*arguments, **options)
        if left[0] == 0:
            raise Killed
        return result

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, cutting)
        with pytest.raises(Killed):
            _run(tmp_path, game, ledger)
    released = _run(tmp_path, game, ledger)
    assert len(released) == 6
    _insist_on_one_charge_each(ledger, released)
    assert sorted(file.name for file in (tmp_path / "out" / "owner").iterdir()) == ["stream.lock"]


def test_a_draw_that_may_have_been_seen_is_not_drawn_again(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    _run(tmp_path, game, ledger, count=2)
    (tmp_path / "out" / "days" / "2026-01-01.json").unlink()
    with pytest.raises(LedgerError, match="its files are not here"):
        _run(tmp_path, game, ledger, count=2)


def test_other_settings_are_refused(tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper) -> None:
    _run(tmp_path, game, ledger, count=1)
    with pytest.raises(InputError, match=r"other policy \(begun with Absorption\(.*\), now Daily\(\)\):"):
        _run(tmp_path, game, ledger, Daily(), count=1)
    twice = replace(settings(), promise=Promise(alpha=2.0, epsilon=2.0, window=3))
    run = StreamRun(twice, lambda _: game, directory=tmp_path / "out", ledger=ledger)
    with pytest.raises(InputError, match=r"other epsilon \(begun with 1.0, now 2.0\): give"):
        list(run.release(days(game.entry_names, 1)))


def test_one_setting_that_is_another_is_named_alone(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    _run(tmp_path, game, ledger, count=1)
    file = tmp_path / "out" / "stream.json"
    file.write_text(file.read_text().replace('"alpha": 2.0', '"alpha": 3.0'))
    with pytest.raises(InputError, match=r"with other alpha \(begun with 3.0, now 2.0\): give"):
        _run(tmp_path, game, ledger, count=2)
    file.write_text(file.read_text().replace('"alpha": 3.0', '"alpha": 2'))  # which is the same number
    with pytest.raises(InputError, match="with other settings: give"):
        _run(tmp_path, game, ledger, count=2)


@pytest.mark.parametrize(("version", "age"), [(1, "an older"), (3, "a newer")])
def test_a_stream_of_another_format_says_that_it_is(
    version: int, age: str, tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    _run(tmp_path, game, ledger, count=1)
    file = tmp_path / "out" / "stream.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "format": f"ppsm-stream/{version}", "bounds": None}))
    with pytest.raises(FileFormatError, match=rf"has {age} format, ppsm-stream/{version} instead of .*/2"):
        _run(tmp_path, game, ledger, count=2)


def test_other_bounds_and_zones_are_refused(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    _run(tmp_path, game, ledger, count=1)
    least, largest = game.public_bounds
    wider = GameCoordination(freight_game(), unit=game.unit, bounds=(least, 2.0 * largest))
    zoned = GameCoordination(
        freight_game(), unit=game.unit, bounds=(least, largest), zones=["east", "east", "west"]
    )
    for other, what in ((wider, "bounds"), (zoned, "zones")):
        with pytest.raises(InputError, match=f"of a stream with other {what}:"):
            _run(tmp_path, other, ledger, count=2)


def test_a_later_day_of_another_market_is_refused_before_it_is_charged(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    least, largest = game.public_bounds
    zoned = GameCoordination(
        freight_game(), unit=game.unit, bounds=(least, largest), zones=["east", "east", "west"]
    )
    every = days(game.entry_names, 3)
    of_others = replace(
        every[1],
        secret=Sensitive(USUAL, dataset="others", unit=UNIT, entry_names=game.entry_names, day="2026-01-02"),
    )
    turned = replace(
        every[1],
        secret=Sensitive(
            USUAL, dataset=DATASET, unit=UNIT, entry_names=game.entry_names[::-1], day="2026-01-02"
        ),
    )

    def refused(words: str, second: StreamDay, *, other: bool = False) -> None:
        run = StreamRun(
            settings(),
            lambda day: zoned if other and day == second.public.day else game,
            directory=tmp_path / "out",
            ledger=ledger,
        )
        with pytest.raises(InputError, match=words):
            list(run.release([every[0], second, every[2]]))
        assert {entry.day for entry in ledger.entries()} <= {"", "2026-01-01"}

    refused("with other zones: give the same again for 2026-01-02", every[1], other=True)
    refused(r"with other dataset \(begun with orders/daily, now others\)", of_others)
    refused("name the data as the game does", turned)


def test_settings_of_a_stream_whose_first_day_was_refused_bind_nobody(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    asks_too_much = replace(settings(), promise=Promise(alpha=2.0, epsilon=2.0, window=3))
    run = StreamRun(asks_too_much, lambda _: game, directory=tmp_path / "out", ledger=ledger)
    with pytest.raises(BudgetExceededError):
        list(run.release(days(game.entry_names, 1)))
    assert len(_run(tmp_path, game, ledger, count=2)) == 2


def test_days_of_seeded_noise_do_not_go_on_as_private_ones(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    trial = StreamRun(settings(None), lambda _: game, directory=tmp_path / "out", seed=1)
    list(trial.release(days(game.entry_names, 1)))
    with pytest.raises(InputError, match=r"other private \(begun with False, now True\)"):
        _run(tmp_path, game, ledger, count=2)


def test_a_ledger_that_was_set_back_does_not_go_on(tmp_path: Path, game: GameCoordination) -> None:
    # Otherwise the days that it has forgotten would leave room in the window for others.
    book = tmp_path / "ledger.db"
    ledger_for(book)
    early = book.read_bytes()
    released = _run(tmp_path, game, Ledger(book), count=2)
    book.write_bytes(early)
    with pytest.raises(LedgerError, match="does not know what 2026-01-01 of this stream was charged"):
        _run(tmp_path, game, Ledger(book), count=4)
    assert len(list((tmp_path / "out" / "days").iterdir())) == len(released)
    assert not _charges(Ledger(book))


def test_a_model_of_another_ledger_is_refused_before_a_day_is_charged(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    """Its days were released by a ledger that nobody holds this one against."""
    other = Ledger.create(tmp_path / "other.db")
    other.grant(DATASET, epsilon=20.0, alpha=2.0, unit=UNIT)
    noise = LaplaceMechanism(alpha=2.0)
    past = [noise.release(each.secret, ledger=other, purpose="past") for each in days(game.entry_names, 20)]
    figures = PublishedFigures.rounded(
        game.market_result(USUAL), day="2026-01-01", source="gazette", value_step=1.0, price_step=0.01
    )
    noted = note_publication(figures, dataset=DATASET, ledger=other)
    given = replace(settings(), predictor=Learned.train(History.of_days(past, [noted] * len(past))))
    run = StreamRun(given, lambda _: game, directory=tmp_path / "out", ledger=ledger)
    with pytest.raises(PrivacyError, match=r"entries that the ledger .* does not know"):
        list(run.release(days(game.entry_names, 2)))
    assert not _charges(ledger)


def test_figures_that_were_published_of_a_day_serve_no_stream(game: GameCoordination) -> None:
    figures = simulated_publication(game.market_result(USUAL), dataset=DATASET)
    with pytest.raises(InputError, match="published of one day"):
        replace(settings(), predictor=PublicOutcome(figures, seed=1))


def test_the_ledger_stops_a_policy_that_spends_too_much(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    # The policy counts windows of two days, the ledger of three.
    run = StreamRun(settings(Daily(), window=2), lambda _: game, directory=tmp_path / "out", ledger=ledger)
    with pytest.raises(BudgetExceededError, match="the first day that can is 2026-01-04"):
        list(run.release(days(game.entry_names, 6)))
    assert ledger.balance(DATASET).days.largest(3) == Decimal(1)


def test_recipients_have_budgets_of_their_own(tmp_path: Path) -> None:
    keeper = ledger_for(tmp_path / "ledger.db")
    balance = keeper.grant(DATASET, epsilon=0.5, recipient="utility", window=3)
    assert (balance.alpha, balance.unit, balance.recipient) == (2.0, UNIT, "utility")
    assert keeper.balance(DATASET).granted == 1


def test_what_a_killed_run_had_begun_to_write_is_swept_away(tmp_path: Path) -> None:
    game = market()
    ledger_for(tmp_path / "ledger.db")
    run = StreamRun(
        settings(), lambda _: game, directory=tmp_path / "out", ledger=Ledger(tmp_path / "ledger.db")
    )
    halves = [tmp_path / "out" / place / ".2026-01-01.json.7.part" for place in ("days", "owner")]
    for half in halves:
        half.parent.mkdir(parents=True)
        half.write_text("{}")
    list(run.release(days(game.entry_names, 1)))
    assert not any(half.exists() for half in halves)


@pytest.mark.parametrize("policy", [Absorption(), Distribution(), Regular()], ids=lambda each: each.name)
def test_days_that_come_late_and_lost_settings_stay_within_the_windows(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper, policy: Policy
) -> None:
    """Whatever a policy believes of days that it did not see, or that another one planned."""
    every = days(game.entry_names, 8)

    def go_on(policy: Policy, chosen: list[StreamDay]) -> None:
        run = StreamRun(settings(policy), lambda _: game, directory=tmp_path / "out", ledger=ledger)
        with suppress(BudgetExceededError):
            for _ in run.release(chosen):
                pass

    go_on(policy, [every[index] for index in (1, 2, 4, 5)])
    files = {file: file.read_bytes() for file in (tmp_path / "out" / "days").iterdir()}
    go_on(policy, every[1:])
    go_on(policy, every)
    for other in (Daily(), Absorption()):
        (tmp_path / "out" / "stream.json").unlink()
        go_on(other, every)
        assert ledger.balance(DATASET).days.largest(3) <= 1
    assert {file: file.read_bytes() for file in files} == files


def test_what_rows_say_after_their_release_changes_nothing(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    before, entries = _run(tmp_path, game, ledger, Regular(), count=4), ledger.entries()
    changed = [
        replace(
            each, secret=Sensitive(USUAL * 0.5, dataset=DATASET, unit=UNIT, day=each.public.day.isoformat())
        )
        for each in days(game.entry_names, 4)
    ]
    run = StreamRun(settings(Regular()), lambda _: game, directory=tmp_path / "out", ledger=ledger)
    after = list(run.release(changed))
    assert [each.values.tolist() for each in after] == [each.values.tolist() for each in before]
    assert ledger.entries() == entries


def test_one_process_at_a_time_is_at_work_on_a_stream(
    tmp_path: Path, game: GameCoordination, ledger: LedgerKeeper
) -> None:
    run = StreamRun(settings(), lambda _: game, directory=tmp_path / "out", ledger=ledger)
    at_work = run.release(days(game.entry_names, 3))
    next(at_work)
    (tmp_path / "other name").symlink_to(tmp_path / "out")
    other = StreamRun(settings(), lambda _: game, directory=tmp_path / "other name", ledger=ledger)
    with pytest.raises(InputError, match="another process is at work on the stream"):
        next(other.release(days(game.entry_names, 3)))
    assert len(list(at_work)) == 2
    files = sorted((tmp_path / "out" / "days").iterdir())
    _insist_on_one_charge_each(ledger, [ReleasedDay.read(file) for file in files])
