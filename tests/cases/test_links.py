import pytest
from tests.cases.samples import LINKS

from ppsm.cases.links import GasLink, parse_links
from ppsm.errors import FileFormatError


def test_links_in_service_are_read() -> None:
    assert parse_links(LINKS) == (GasLink("1", "40", "2"),)


def test_links_come_in_numeric_order() -> None:
    entry = '{"delivery": {"id": 1}, "gen": {"id": 2}}'
    entries = ", ".join(f'"{name}": {entry}' for name in ("10", "9", "x"))
    text = '{"it": {"dep": {"delivery_gen": {' + entries + "}}}}"
    assert [link.id for link in parse_links(text)] == ["9", "10", "x"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (LINKS[:100], "line 3"),
        ("[]", "no object 'it.dep.delivery_gen'"),
        ('{"it": {"dep": {"delivery_gen": {"1": 3}}}}', "link '1' is not an object"),
        (LINKS.replace('"id": "40"', '"name": "40"', 1), "no 'delivery.id'"),
        (LINKS.replace('"2": {', '"1": {', 1), "the key '1' occurs twice"),
    ],
)
def test_bad_files_are_named(text: str, part: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse_links(text, "plants.json")
    assert "plants.json" in str(caught.value)
    assert part in str(caught.value)
