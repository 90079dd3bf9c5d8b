import shutil
from pathlib import Path

import numpy as np
import pytest

from ppsm.cases.csv_tables import columns_of
from ppsm.cases.entities import TABLES
from ppsm.cases.schema import Case, builtin_cases, builtin_directory, load_case, save_case
from ppsm.errors import FileFormatError, InputError


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the two-node case, to be damaged."""
    return Path(shutil.copytree(builtin_directory("two_node"), tmp_path / "case"))


def edit(directory: Path, file: str, old: str, new: str) -> None:
    path = directory / file
    text = path.read_text(encoding="utf-8")
    assert old in text, (file, old)
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def error_of(directory: Path) -> str:
    with pytest.raises(FileFormatError) as caught:
        load_case(directory)
    assert caught.value.exit_code == 2
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_builtin_cases() -> None:
    assert builtin_cases() == ("medium", "northeast", "two_node")


@pytest.mark.parametrize("name", builtin_cases())
def test_saving_and_loading_changes_nothing(name: str, tmp_path: Path) -> None:
    case = load_case(name)
    save_case(case, tmp_path / "copy")
    assert load_case(tmp_path / "copy") == case
    for file in [*(f"{table}.csv" for table in TABLES), "case.toml"]:
        assert (tmp_path / "copy" / file).read_bytes() == (builtin_directory(name) / file).read_bytes(), file


def test_stress_raises_all_entries_alike() -> None:
    case = load_case("two_node")
    np.testing.assert_allclose(case.demand_mwh(0.5), [1200])
    np.testing.assert_allclose(case.mdq_mwh(), [2000])
    np.testing.assert_allclose(case.load_mw(0.2)[:, 1], np.array([0.8, 1, 1, 0.7]) * 180)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"neither built in \(medium, northeast, two_node\) nor a directory"):
        load_case("nowhere")


@pytest.mark.parametrize("file", [*(f"{table}.csv" for table in TABLES), "case.toml"])
def test_missing_files(copy: Path, file: str) -> None:
    (copy / file).unlink()
    assert f"{file} is missing" in error_of(copy)


SINGLE = [
    ("buses.csv", "east,East,41", "east,East,NaN", "row 3: latitude_deg is NaN; expected a finite number"),
    ("buses.csv", "load_mw", "load_gw", "'load_gw' is unknown; expected 'load_mw', convert"),
    ("buses.csv", "load_mw", "power", "'power' is unknown; expected bus, name"),
    ("buses.csv", ",injection_mw", ",bus", "'bus' occurs twice"),
    ("buses.csv", "-74,150", "-74,lots", "row 3: load_mw is 'lots'; expected a number"),
    ("buses.csv", "-74,150,0", "-74,150", "row 3: there are 5 cells under 6 headings"),
    ("fleets.csv", "coal,west,coal,coal,2,60", "coal,west,coal,coal,2,-60", "row 2: unit_size_mw is -60"),
    ("fleets.csv", "coal,west,coal,coal,2,60", "coal,west,coal,coal,2.5,60", "expected a whole number"),
    ("fleets.csv", "coal,west,coal", "coal,west,peat", "row 2: fuel is 'peat'; expected one of gas"),
    ("fleets.csv", "coal,west", ",west", "row 2: fleet is empty"),
    ("supplies.csv", "tank,city,1,500", "tank,city,1,-500", "row 4: size_mwh is -500"),
    ("supplies.csv", "tank,city,1,500,30", "tank,city,1,500,1e9", "row 4: price_usd_per_mwh is 1e9"),
    ("links.csv", "gas,city,7", "gas,city,7000", "row 2: heat_rate_mmbtu_per_mwh is 7000"),
    ("pipes.csv", "forward", "sideways", "row 2: flow_direction is 'sideways'"),
    ("deliveries.csv", "homes,city,800", "homes,city,-1", "row 2: base_mwh is something else (withheld"),
]


@pytest.mark.parametrize(("file", "old", "new", "part"), SINGLE)
def test_single_values(copy: Path, file: str, old: str, new: str, part: str) -> None:
    edit(copy, file, old, new)
    message = error_of(copy)
    assert message.startswith(file)
    assert part in message


BETWEEN = [
    ("fleets.csv", "coal,west,coal,coal", "gas,west,coal,coal", "row 3: fleet 'gas' is already in row 2"),
    ("bids.csv", "gas,2,40,50", "gas,1,40,50", "row 4: fleet 'gas block 1' is already in row 3"),
    ("bids.csv", "gas,2,40,50", "gas,3,40,50", "row 4: 'gas' has block 3 here; expected 2"),
    ("bids.csv", "gas,2,40,50", "gas,2,40,30", "row 4: the price of 'gas' falls in block 2"),
    ("bids.csv", "gas,2,40,50", "gas,2,45,50", "fleets.csv, row 3: the bid blocks of 'gas'"),
    ("lines.csv", "tie,west,east", "tie,west,south", "row 2: to_bus 'south' is not in buses.csv"),
    ("lines.csv", "tie,west,east", "tie,west,west", "row 2: both ends are 'west'"),
    ("lines.csv", "tie,west,east,0.1", "tie,west,east,0", "row 2: line 'tie' has reactance 0"),
    ("lines.csv", "tie,west,east,0.1,0,100\n", "", "buses.csv, row 3: bus 'east' is on an island of 1"),
    ("links.csv", "gas,city", "solar,city", "row 2: fleet 'solar' is not in fleets.csv"),
    ("links.csv", "gas,city", "coal,city", "row 2: fleet 'coal' burns coal; expected a gas-fired"),
    ("links.csv", "gas,city", "gas,moon", "row 2: junction 'moon' is not in junctions.csv"),
    (
        "fleets.csv",
        "coal,coal,2,60,20",
        "coal,coal,2,60,70",
        "row 2: the least output 70 MW of 'coal' is above",
    ),
    ("junctions.csv", "field,41,-76,30,50", "field,41,-76,60,50", "row 2: junction 'field' has its least"),
    ("pipes.csv", "forward", "reverse", "deliveries.csv, row 2: no supply can reach"),
    (
        "deliveries.csv",
        "800,2000",
        "800,1500",
        "row 2: delivery 'homes' needs more at the highest stress than its contracted 1500 MWh",
    ),
    (
        "deliveries.csv",
        "homes,city,800,2000,\n",
        "homes,city,800,2000,\nshops,city,80,200,north\n",
        "row 2: delivery 'homes' has no zone and others have; name a zone for all or for none",
    ),
    ("load_shape.csv", "2,1\n", "3,1\n", "row 4: the hour is 3; expected 2"),
    ("supplies.csv", "wells,field,2", "wells,city,2", "row 3: 'wells' changes its junction"),
    ("buses.csv", "-74,150,0", "-74,900,0", "fleets.csv offers 320 MW for a peak load of 900 MW"),
]


def test_a_case_from_before_there_were_zones_is_told_what_to_add(copy: Path) -> None:
    """All that its header holds are our own names, so nothing need be withheld."""
    edit(copy, "deliveries.csv", ",zone\n", "\n")
    edit(copy, "deliveries.csv", "800,2000,", "800,2000")
    assert error_of(copy) == ("deliveries.csv: the column 'zone' is missing; add it, its cells may be blank.")


@pytest.mark.parametrize(("file", "old", "new", "part"), BETWEEN)
def test_values_against_each_other(copy: Path, file: str, old: str, new: str, part: str) -> None:
    if part.startswith("deliveries.csv, row 2: no supply"):
        edit(copy, "supplies.csv", "tank,city,1,500,30\n", "")  # or the tank could serve the city
    edit(copy, file, old, new)
    message = error_of(copy)
    assert part in message
    assert message.startswith(part.split(",")[0] if ".csv" in part.split(" ")[0] else file)


def test_an_island_without_supply_is_named(copy: Path) -> None:
    edit(copy, "junctions.csv", "city,41", "island,41,-70,30,50,0\ncity,41")
    message = error_of(copy)
    assert message.startswith(
        "junctions.csv, row 3: junction 'island' is on an island of 1 that has no supply"
    )


SETTINGS = [
    ("schema_version = 1", "schema_version = 2", "schema_version 2"),
    ('energy = "MWh"', 'energy = "GJ"', "the unit of energy is 'GJ'"),
    ("base_mva = 100.0", "base_mva = -1", "base_mva is -1"),
    ("base_mva = 100.0", "base_mva = nan", "base_mva is nan"),
    ("gas = [0.0, 0.5, 1.0]", "gas = []", "the gas stress is []"),
    ("gas = [0.0, 0.5, 1.0]", "gas = [0.5, 0.0]", "expected increasing numbers"),
    ("gas = [0.0, 0.5, 1.0]", 'gas = ["a"]', "a gas stress is 'a'"),
    ("[units]", "[unit]", "no section [units]"),
    ('name = "two_node"', "name = 2", "name is 2"),
    ("[power]", "[power", "cannot be read"),
]


@pytest.mark.parametrize(("old", "new", "part"), SETTINGS)
def test_settings(copy: Path, old: str, new: str, part: str) -> None:
    edit(copy, "case.toml", old, new)
    message = error_of(copy)
    assert message.startswith("case.toml")
    assert part in message


def test_an_empty_table_is_named(copy: Path) -> None:
    (copy / "pipes.csv").write_text("", encoding="utf-8")
    assert error_of(copy).startswith("pipes.csv is empty")
    edit(copy, "pipes.csv", "", ",".join(columns_of(TABLES["pipes"])) + "\n")
    assert "island" in error_of(copy)


def test_every_table_is_a_field_of_the_case() -> None:
    assert set(TABLES) <= set(Case.__dataclass_fields__)


def test_the_published_networks_keep_their_notice() -> None:
    text = (builtin_directory("northeast") / "SOURCE.md").read_text(encoding="utf-8")
    assert "Copyright (c) 2016, Triad National Security, LLC" in text
    assert "THIS SOFTWARE IS PROVIDED BY TRIAD NATIONAL SECURITY, LLC AND CONTRIBUTORS" in text
    assert "These tables are modified" in text
