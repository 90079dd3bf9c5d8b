"""Labels are kept, aligned or refused, never ignored."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import linopy
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from ppsm import Follower, GameCoordination, LaplaceMechanism, Sensitive, StackelbergGame, restore
from ppsm.arrays import as_numbers
from ppsm.errors import InputError
from ppsm.labels import aligned, label_text
from ppsm.mechanism import Laplace
from ppsm.privacy import for_owner_only

ZONES, HOURS = ["north", "south"], [0, 1, 2]
NAMES = tuple(f"demand[{zone}, {hour}]" for zone in ZONES for hour in HOURS)
TABLE = pd.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], index=ZONES, columns=HOURS)
IN_ORDER = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def market(demand: object) -> Follower:
    zones, hours = pd.Index(ZONES, name="zone"), pd.Index(HOURS, name="hour")
    model = linopy.Model()
    output = model.add_variables(lower=0, coords=[zones, hours], name="output")
    model.add_constraints(output == xr.DataArray(demand, coords=[zones, hours]), name="demand")
    model.add_objective((xr.DataArray([1.0, 10.0], coords=[zones]) * output).sum())
    return Follower.from_linopy(model, parameter="demand")


FOLLOWER = market(np.zeros((2, 3)))
SHUFFLED = TABLE.stack().iloc[[4, 0, 5, 2, 1, 3]]


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.T,
        TABLE.iloc[::-1, [2, 0, 1]],
        SHUFFLED,
        SHUFFLED.swaplevel(),
        xr.DataArray(TABLE.T, dims=("hour", "zone")),
        {"demand": TABLE.T},
        xr.Dataset({"demand": (("hour", "zone"), TABLE.T)}, coords={"zone": ZONES, "hour": HOURS}),
        SHUFFLED.to_dict(),
        pd.Series(IN_ORDER, index=NAMES).iloc[::-1],
        IN_ORDER,
    ],
    ids=str,
)
def test_a_follower_takes_data_of_any_order_by_their_labels(data: Any) -> None:
    assert FOLLOWER.solve(data).value == 6.0 + 150.0
    secret = Sensitive(data, dataset="d", unit="MWh", entry_names=NAMES)
    assert for_owner_only(secret, lambda values: values.tolist()).reveal() == IN_ORDER


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (TABLE.rename(index={"north": "nort"}), "'nort, 0'.*are no entry.*'north, 0'.*have no value"),
        (TABLE.drop(columns=2), "'north, 2', 'south, 2' have no value"),
        (pd.concat([TABLE, TABLE.iloc[:1]]), "'north, 0', .* have more than one value"),
        (TABLE.assign(total=1.0), "'north, total', 'south, total' are no entry"),
        (pd.Series(IN_ORDER), "has no labels .*set them as its index, or pass .to_numpy"),
        (TABLE.loc["north"], "have no value"),
        ({"north": 1.0, ("south", 1): 2.0}, "'north' is no entry"),
        (TABLE.rename(index=str.upper), "'NORTH, 0', .* are no entry"),
        (TABLE.rename(index={"north": "north ", "south": "south "}), "'north , 0', .* are no entry"),
        (TABLE.rename(columns={0: 3}), "'north, 3', 'south, 3' are no entry"),
        (TABLE.rename_axis(index="hour", columns="zone"), "other axes: rename 'hour' and 'zone'"),
        (xr.DataArray(TABLE.T.to_numpy(), dims=("zone", "hour")), "'0, 0', .* are no entry"),
        (xr.DataArray(TABLE.T, dims=("zone", "hour")), "other axes: rename 'zone' and 'hour'"),
        (pd.DataFrame({"zone": ZONES, "hour": [0, 1], "value": [1.0, 5.0]}), "'0, zone', .* are no entry"),
        (pd.concat({"mon": SHUFFLED.iloc[:3], "tue": SHUFFLED.iloc[3:]}), "'mon, .* are no entry"),
        (TABLE.T.to_numpy(), r"has shape \(3, 2\), expected \(6,\)"),
        (5.0, r"has shape \(1,\), expected \(6,\)"),
        (TABLE.replace(5.0, np.nan), r"'demand\[south, 1\]' is nan"),
        (TABLE.astype("Float64").replace(5.0, pd.NA), "must be numbers"),
        (TABLE * 1e300, "of a size below 1e[+]20"),
        (TABLE > 2, "must be numbers"),
        (TABLE.apply(pd.to_timedelta, unit="h"), "must be numbers"),
        (TABLE.apply(pd.to_datetime, unit="h"), "must be numbers"),
        (TABLE.astype(str), "must be numbers"),
        ({}, "have no value"),
    ],
)
def test_other_labels_are_refused_by_name(data: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        FOLLOWER.solve(data)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (["30", "60"], "text"),
        ([30.0, "60"], "text"),
        ({"south": Decimal(30), "north": "60"}, "text"),
        ({30.0, 60.0}, "set with other content"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "masked entries"),
        (np.array([(1.0, 2.0)], dtype=[("south", float), ("north", float)]), "records of several fields"),
        ([1 + 2j, 3.0], "complex numbers"),
        ([True, False], "truth values"),
        ([30.0, True], "truth values"),
        (np.array([1, 2], dtype="m8[h]"), "durations"),
        (np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]"), "dates"),
        (pd.Series(pd.to_datetime([1.0, 2.0]), index=["south", "north"]), "dates"),
        (pd.DataFrame({"south": [1], "north": [2]}).T.astype("datetime64[ns]").squeeze(axis=1), "dates"),
        ({"south": np.array(1, dtype="M8[ns]"), "north": xr.DataArray(2.0)}, "dates"),
        (pd.Series(pd.to_timedelta([1.0, 2.0]), index=["south", "north"]), "durations"),
        (pd.Series([1, pd.NA], index=["south", "north"], dtype=object), "missing entries"),
        ({"south": 1.0, "north": None}, "missing entries"),
        ([10**400, 1], "numbers beyond all floats"),
        ((number for number in (1.0, 2.0)), "generator with other content"),
    ],
    ids=lambda each: each.replace(" ", "-") if isinstance(each, str) else "",
)
def test_what_is_no_vector_of_numbers_is_refused(data: Any, found: str) -> None:
    values = aligned(data, ["south", "north"], "the data")
    with pytest.raises(InputError, match=rf"^the data must be numbers; found {found}: pass numbers\.$"):
        as_numbers(values, "the data")
    with pytest.raises(InputError):
        Sensitive(data, dataset="x", unit="MW", entry_names=["south", "north"])


@pytest.mark.parametrize("hidden", [np.ma.masked, np.ma.array(1.0, mask=True)])
def test_what_a_mask_hides_is_no_number(hidden: Any) -> None:
    data = {"south": hidden, "north": 2.0}
    assert np.isnan(as_numbers(aligned(data, ["south", "north"], "the data"), "the data")[0])
    with pytest.raises(InputError, match="of 'south' is no number"):
        Sensitive(data, dataset="x", unit="MW", entry_names=["south", "north"])


def test_axes_that_cannot_be_told_apart_need_their_names() -> None:
    square = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])
    names = ["d[0, 0]", "d[0, 1]", "d[1, 0]", "d[1, 1]"]
    with pytest.raises(InputError, match="more than one order of rows and columns: name the axes"):
        aligned(square, names, "it", axes=("zone", "hour"))
    named = square.rename_axis(index="hour", columns="zone")
    assert aligned(named, names, "it", axes=("zone", "hour")) == [1.0, 3.0, 2.0, 4.0]


def test_dates_and_whole_numbers_are_written_as_people_do() -> None:
    moment = pd.Timestamp("2026-01-15 08:00")
    assert label_text(moment) == label_text(moment.to_datetime64()) == "2026-01-15 08:00"
    assert label_text(np.datetime64("2026-01-15T08:00:05")) == "2026-01-15 08:00:05"
    assert label_text(3.0) == label_text(3) == "3"
    for written in ("2026-01-15 08:00", "2026-01-15 08:00:00", "2026-01-15T08:00:00.000"):
        assert label_text(written) == "2026-01-15 08:00"
    assert label_text("2026-01-15") == "2026-01-15"


def test_hours_of_a_time_zone_are_no_hours_without() -> None:
    hours = pd.date_range("2026-01-15 17:00", periods=2, freq="h")
    names = [f"d[{label_text(hour)}]" for hour in hours]
    demand = pd.Series([1.0, 2.0], index=hours)
    written = demand.rename(index=str)
    assert aligned(demand, names, "it") == aligned(written, names, "it") == [1.0, 2.0]
    # The same hours of Greenwich, and the same on another clock's face.
    for zoned in (demand.shift(freq="h").tz_localize("Europe/Berlin"), demand.tz_localize("Europe/Berlin")):
        with pytest.raises(InputError, match=r"such as '2026-01-15 1[67]:00[+]00:00', .*\.tz_localize\(None"):
            aligned(zoned, names, "it")
        with pytest.raises(InputError, match=r"^it has times of a time zone, expected '2026-01-15 17:00'"):
            aligned(zoned, names, "it", secret=True)


def test_a_secret_takes_its_names_from_its_labels_and_quotes_none_of_them() -> None:
    series = pd.Series({"south": 777.25, "north": 333.5})
    assert Sensitive(series, dataset="d", unit="MWh").entry_names == ("south", "north")
    with pytest.raises(InputError, match=r"1 of its labels .withheld. .*'east' has no value") as refusal:
        Sensitive(series, dataset="d", unit="MWh", entry_names=["east", "north"])
    swapped = pd.Series([1.0, 2.0], index=[333.5, 777.25])
    with pytest.raises(InputError, match=r"labelled by numbers .withheld.") as second:
        Sensitive(swapped, dataset="d", unit="MWh")
    assert not any(text in f"{refusal.value}{second.value}" for text in ("333", "777", "south"))


def test_bounds_targets_and_released_vectors_are_aligned_too() -> None:
    follower = market(TABLE.to_numpy())
    today = follower.solve()
    upper = TABLE.T + 1.0
    found = restore(follower, TABLE.T, today.value, today.price("demand").transpose(), bounds=(0.0, upper))
    assert found.to_series()["demand[south, 0]"] == pytest.approx(4.0, abs=1e-6)
    with pytest.raises(InputError, match="the upper bound has other labels"):
        restore(follower, TABLE, bounds=(0.0, upper.drop(columns="south")))


def test_a_release_in_another_unit_is_not_cleared_with() -> None:
    game = StackelbergGame(market(TABLE.to_numpy()))
    game.leader.add_objective(1 * game.leader.add_variables(lower=0, upper=1, name="idle"))
    coordination = GameCoordination(game, unit="MWh")
    secret = Sensitive(TABLE * 1000.0, dataset="d", unit="kWh", entry_names=NAMES)
    released = LaplaceMechanism(alpha=1.0).simulate(secret, seed=1)
    with pytest.raises(InputError, match="the release is in kWh, the game is in MWh: convert its values"):
        coordination.clear(released)


def test_a_release_goes_out_with_its_labels(tmp_path: object) -> None:
    from pathlib import Path

    game = StackelbergGame(market(TABLE.to_numpy()))
    game.leader.add_objective(1 * game.leader.add_variables(lower=0, upper=1, name="idle"))
    coordination = GameCoordination(game, unit="MWh")
    secret = Sensitive(TABLE, dataset="d", unit="MWh", entry_names=coordination.entry_names)
    released = Laplace(alpha=1.0).simulate(secret, coordination, seed=1).released
    series = released.to_series()
    assert list(series.index) == list(NAMES)
    assert series.attrs == {"dataset": "d", "unit": "MWh", "private": False}
    assert released.to_xarray().sel(entry="demand[south, 1]") == series["demand[south, 1]"]
    shaped = coordination.labelled(series.iloc[::-1])
    assert shaped.dims == ("zone", "hour")
    assert float(shaped.sel(zone="south", hour=1)) == series["demand[south, 1]"]
    file = Path(str(tmp_path)) / "released.csv"
    released.to_csv(file)
    table = pd.read_csv(file, index_col="entry")
    assert table["value"].tolist() == series.tolist()
    assert not table["private"].any()
    # What comes back from a file, in whatever order, clears the same market.
    prices = coordination.clear(table["value"].clip(lower=0).iloc[::-1]).price_series()
    assert prices["demand[south, 2]"] == 10.0


@pytest.mark.parametrize("kind", ["text", "html", "repr"])
def test_what_is_shown_of_a_game_never_holds_the_parameter(kind: str) -> None:
    secret = np.array([[431.25, 432.25, 433.25], [434.25, 435.25, 436.25]])
    follower = market(secret)
    game = StackelbergGame(follower)
    built = game.leader.add_variables(lower=0, upper=1, name="built")
    game.leader.add_objective(7 * built)
    solution, outcome = game.solve(), follower.solve()
    shows: dict[str, Callable[[Any], str]] = {"text": str, "html": lambda it: it._repr_html_(), "repr": repr}
    show = shows[kind]
    shown = show(solution) + show(outcome)
    if kind == "repr":
        shown += repr(follower) + repr(follower.at()) + repr(solution.bilevel) + repr(game.program())
    else:
        assert "built" in shown
        assert "1 to 10 (6 entries)" in shown
    # not inside of longer words: addresses of objects hold any three digits
    digits = "|".join(f"{value:g}"[:3] for value in [*secret.ravel(), outcome.value])
    assert not re.search(rf"(?<![\w.])({digits})", shown)
