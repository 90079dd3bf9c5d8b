import math
from pathlib import Path

import pytest
from tests.cases.samples import POWER

from ppsm.cases.matpower import parse_matpower, read_matpower
from ppsm.errors import FileFormatError


def test_buses_generators_and_branches() -> None:
    network = parse_matpower(POWER)
    assert [bus.id for bus in network.buses] == ["1", "2", "30"]
    assert [bus.demand_mw for bus in network.buses] == [50.5, 200, -20]
    assert (network.buses[1].latitude, network.buses[1].longitude) == (41.0, -74.5)
    second = network.generators[1]
    assert (second.id, second.bus, second.name, second.fuel) == ("2", "2", "it's two", "gas")
    assert (second.kind, second.max_mw, second.min_mw) == ("single cycle", 400, 10)
    assert [generator.in_service for generator in network.generators] == [True, True, True, False]
    assert [generator.marginal_usd_per_mwh for generator in network.generators] == [20, 35, 40, 10]
    assert [branch.rating_mw for branch in network.branches] == [150, math.inf, math.inf]
    assert [branch.tap_ratio for branch in network.branches] == [1, 1.05, 1]
    assert network.branches[1].shift_deg == -1.1


def test_line_ends_of_other_systems_change_nothing() -> None:
    assert parse_matpower(POWER.replace("\n", "\r\n")) == parse_matpower(POWER)


def test_standard_fuel_lists_are_read() -> None:
    text = POWER.replace("mpc.gen_name", "mpc.gennotes") + "mpc.genfuel = {'coal'; 'ng'; 'hydro'; 'oil'};"
    fuels = [generator.fuel for generator in parse_matpower(text).generators]
    assert fuels == ["coal", "ng", "hydro", "oil"]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("mpc.version = '2'", "mpc.version = '1'", "not version 2"),
        ("mpc.baseMVA = 100", "mpc.baseMVA = 0", "'baseMVA' is 0.0"),
        ("\t30\t2\t-20", "\t1\t2\t-20", "line 10: id 1 of 'bus' was already used on line 8"),
        ("\t1\t2\t0.01", "\t7\t2\t0.01", "refers to bus 7"),
        ("\t0.1\t0\t150", "\t0\t0\t150", "reactance 0"),
        ("300\t0\t0", "NaN\t0\t0", "'Pmax' of 'gen' holds nan"),
        ("400\t10", "4\t10", "Pmin 10 above Pmax 4"),
        ("\t2\t0\t0\t3\t0.0\t20\t5\n", "", "'gencost' has 3 rows for 4 generators"),
        ("2\t35\t0\t0", "9\t35\t0\t0", "announces 9 cost points"),
        ("\t41.5\t-75.5\n", "", "'bus_geo' has 2 rows but 'bus' has 3"),
        ("mpc.branch = [", "mpc.other = [", "no table 'branch'"),
        ("\t1\t2\t0.01\t0.1\t0\t150\t150\t150\t0\t0\t1\t-30\t30", "\t1\t2\t0.01", "has 3 columns"),
    ],
)
def test_bad_figures_are_named(old: str, new: str, part: str) -> None:
    assert old in POWER
    with pytest.raises(FileFormatError) as caught:
        parse_matpower(POWER.replace(old, new, 1), "net.m")
    assert "net.m, line" in str(caught.value)
    assert part in str(caught.value)


def test_a_truncated_file_is_named_with_its_line() -> None:
    cut = POWER[: POWER.index("mpc.branch") + 40]
    with pytest.raises(FileFormatError, match=r"power\.m, line \d+: the file ends inside 'mpc\.branch'"):
        parse_matpower(cut)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_matpower(tmp_path / "none.m")
    (tmp_path / "binary.m").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="not UTF-8"):
        read_matpower(tmp_path / "binary.m")
