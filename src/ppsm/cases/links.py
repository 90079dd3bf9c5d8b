"""Reader for the link file (JSON) that says which generator burns gas at which delivery point.

The format is that of GasPowerModels: ``it.dep.delivery_gen.<n>`` holds a delivery id and a generator id. Its
heat-rate curves are not read: the published ones are scaled planning constants.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ppsm.errors import FileFormatError


@dataclass(frozen=True)
class GasLink:
    """One generator burning gas at one delivery point."""

    id: str
    delivery: str
    generator: str


def read_links(path: str | Path) -> tuple[GasLink, ...]:
    """Read a link file; links out of service are left out."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(
            f"{file} cannot be read ({error.strerror or error}); give the path of a link file."
        ) from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{file.name} is not UTF-8 text; expected a JSON link file.") from None
    return parse_links(text, file)


def parse_links(text: str, path: str | Path = "links.json") -> tuple[GasLink, ...]:
    """Read the text of a link file; ``path`` is only named in errors."""
    file = Path(path)
    try:
        content = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise FileFormatError(
            f"{file.name}, line {line}: {getattr(error, 'msg', error)}; expected complete JSON, "
            "get the file whole."
        ) from None
    entries = content
    for key in ("it", "dep", "delivery_gen"):
        entries = entries.get(key) if isinstance(entries, dict) else None
    if not isinstance(entries, dict):
        raise FileFormatError(
            f"{file.name} has no object 'it.dep.delivery_gen'; expected a gas-to-power link file."
        )
    links = [_link(file, str(name), entry) for name, entry in entries.items()]
    return tuple(sorted((link for link in links if link), key=_order))


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key '{key}' occurs twice in one object")
        result[key] = value
    return result


def _order(link: GasLink) -> tuple[int, int, str]:
    """Numeric ids in numeric order, before any others: the file's own order is by text."""
    is_number = link.id.isascii() and link.id.isdigit()
    return (0, len(link.id), link.id) if is_number else (1, 0, link.id)


def _link(file: Path, name: str, entry: Any) -> GasLink | None:
    where = f"{file.name}, link '{name}'"
    if not isinstance(entry, dict):
        raise FileFormatError(f"{where} is not an object; expected 'delivery' and 'gen'.")
    ends = {}
    for side in ("delivery", "gen"):
        end = entry.get(side)
        value = end.get("id") if isinstance(end, dict) else None
        if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
            raise FileFormatError(f"{where} has no '{side}.id'; expected the id of the {side}, add it.")
        ends[side] = str(value).strip()
    if entry.get("status", 1) in (0, False):
        return None
    return GasLink(name, ends["delivery"], ends["gen"])
