import math
from dataclasses import astuple

import pytest
from tests.cases.samples import GAS_PER_UNIT, GAS_SI, GAS_US

from ppsm.cases.matgas import parse_matgas, weymouth_resistance
from ppsm.errors import FileFormatError


def test_si_figures() -> None:
    network = parse_matgas(GAS_SI)
    assert [junction.id for junction in network.junctions] == ["1", "2", "3", "4"]
    assert network.junctions[0].pressure_max_pa == 8e6
    assert (network.pipes[1].from_junction, network.pipes[1].to_junction) == ("4", "3")
    assert network.compressors[0].ratio_max == 1.4
    assert network.compressors[0].bidirectional
    assert network.receipts[0].flow_max_kg_per_s == 100
    assert [point.dispatchable for point in network.deliveries] == [False, False, True]


@pytest.mark.parametrize("text", [GAS_PER_UNIT, GAS_US])
def test_units_do_not_change_the_network(text: str) -> None:
    expected, found = parse_matgas(GAS_SI), parse_matgas(text)
    for table in ("junctions", "pipes", "compressors", "receipts", "deliveries"):
        pairs = zip(getattr(expected, table), getattr(found, table), strict=True)
        for one, other in pairs:
            for left, right in zip(astuple(one), astuple(other), strict=True):
                same = left == pytest.approx(right, rel=1e-12) if isinstance(left, float) else left == right
                assert same, (table, one, other)


def test_resistance_by_hand() -> None:
    # A = 0.7853981634 m2 for D = 1 m; w = D A^2 / (lambda L a^2) = 0.6168502751 / (0.01 * 1e5 * 1e5)
    assert weymouth_resistance(1.0, 1e5, 0.01, math.sqrt(1e5)) == pytest.approx(6.168502751e-9)


def test_sound_speed_comes_from_the_gas() -> None:
    # sqrt(0.8 * 8.314 * 281.15 / 0.0185674) = 317.35 m/s, which published files state for this gas
    assert parse_matgas(GAS_SI).sound_speed_m_per_s == pytest.approx(317.3537, abs=1e-3)


def test_valves_are_open_regulators() -> None:
    network = parse_matgas(GAS_SI + "mgc.valve = [\n7 1 4 1\n];")
    valve = network.regulators[0]
    assert (valve.id, valve.reduction_min, valve.reduction_max) == ("valve-7", 1.0, 1.0)


def test_headings_may_change_the_order_of_columns() -> None:
    text = GAS_SI.replace("% id\tfr_junction\tto_junction\t", "% id\tto_junction\tfr_junction\t")
    assert parse_matgas(text).pipes[0].from_junction == "2"


def test_components_out_of_service_are_left_out() -> None:
    text = GAS_SI.replace("1\t1\t0\t100\t0\t1\t1", "1\t1\t0\t100\t0\t1\t0")
    assert parse_matgas(text).receipts == ()


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("mgc.units = 'si'", "mgc.units = 'metric'", "the units are 'metric'"),
        ("mgc.temperature = 281.15", "mgc.temperature = -1", "'temperature' is -1"),
        ("1\t1\t2\t0.762", "1\t1\t9\t0.762", "refers to junction 9"),
        ("1\t1\t2\t0.762", "1\t1\t1\t0.762", "joins junction 1 with itself"),
        ("1\t1\t2\t0.762", "1\t1\t2\t0", "'diameter' of 'pipe' holds 0.0; expected more than 0"),
        ("1\t1\t2\t0.762", "1\t1\t2\t1e300", "give the resistance"),
        ("2\t4\t3\t0.762", "1\t4\t3\t0.762", "id 1 of 'pipe' was already used"),
        ("1\t4e6\t8e6", "1\t9e6\t8e6", "p_min 9e+06 above p_max 8e+06"),
        ("1\t2\t3\t1\t1.4", "1\t2\t3\t2\t1.4", "ratios 2 > 1.4"),
        ("2\t2\t20\t20", "2\t2\t-20\t20", "'withdrawal_min' of 'delivery' holds -20.0; expected at least 0"),
        ("2\t2\t20\t20\t20", "2\t2\t20\t20\t'x'", "'withdrawal_nominal' of 'delivery' holds 'x'"),
        ("mgc.pipe = [", "mgc.pipes = [", "no table 'pipe'"),
        (
            "% id\tfr_junction\tto_junction\tdiameter",
            "% id\tfr_junction\tto_junction\tsize",
            "no column 'diameter'",
        ),
    ],
)
def test_bad_figures_are_named(old: str, new: str, part: str) -> None:
    assert old in GAS_SI
    with pytest.raises(FileFormatError) as caught:
        parse_matgas(GAS_SI.replace(old, new, 1), "gas.m")
    assert "gas.m, line" in str(caught.value)
    assert part in str(caught.value)


def test_a_truncated_file_is_named_with_its_line() -> None:
    with pytest.raises(FileFormatError, match=r"line \d+: the file ends inside 'mgc\.delivery'"):
        parse_matgas(GAS_SI[:-4])
