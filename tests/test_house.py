"""The house stays in order: names of modules, numbers in their objects, rooms in the picture."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "ppsm"
# Numbers at the top of a module that steer nothing: claims, formats, the paper's own, what a unit is.
NO_TUNING = {
    "bilevel": {"TOLERANCE", "SOUND_GAP", "_EXACT", "_FIELDS", "_FREE", "_IDLE", "_MOST_THREADS", "_TIGHT"},
    "coordinations": set(),
    "experiments": {
        "PRIOR_SPREAD",
        "TABLE2_ALPHA",
        "_MARGIN",
        "_DAY_MS",
        "_PANEL_INCHES",
        "_KEPT_USD_PER_MMBTU",
        "_STEP",
        "_STRAIGHT_BELOW",
        "_ZERO",
    },
    "fidelity": {"TOLERANCE", "_CPU_CLOCK"},
    "markets": {"TANGENTS", "TOLERANCE", "_FORMAT", "_MWH_PER_MMBTU", "_ROOM", "_TANGENTS"},
    "mechanism": {"PRICE_NOISE", "CONFIDENCE"},
    "privacy": {
        "APPLICATION_ID",
        "DEFAULT_CONFIDENCE",
        "DELTA",
        "LEAST_SAMPLES",
        "MULTIPLES",
        "PROBABILITY",
        "WINDOWS",
        "_DIGITS",
        "_FINER",
        "_FINEST_GRID",
        "_INFINITE",
        "_INTERVAL",
        "_LARGEST_EXPONENT",
        "_MAX_TEXT",
        "_MOST_STEPS",
        "_NOT_A_NUMBER",
    },
    "protocol": {"LONGEST_LIST", "APPLICATION_ID", "_DAY_S"},
    "solvers": {"UNSOUND_PRESOLVE_RULES", "_DESCRIPTORS", "_DUAL_SIMPLEX", "_PRIMAL_SIMPLEX", "_silencers"},
    "streams": set(),
}


def _numbers(node: ast.AST) -> bool:
    """Whether an expression is made of numbers alone."""
    if isinstance(node, ast.Tuple):
        return all(map(_numbers, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _numbers(node.operand)
    if isinstance(node, ast.BinOp):
        return _numbers(node.left) and _numbers(node.right)
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def _constants(file: Path) -> set[str]:
    """Names that a module gives to numbers at its top."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign) or value is None or not _numbers(value):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def test_module_names_occur_once_but_for_those_with_a_reason() -> None:
    words = (ROOT / "docs" / "words.md").read_text()
    explained = set(re.findall(r"`(\w+)` \(", words.split("Module names occur once, but for ")[1]))
    names = Counter(file.stem for file in PACKAGE.rglob("*.py") if not file.name.startswith("__"))
    assert {name for name, count in names.items() if count > 1} <= explained
    assert len(explained) <= 4


@pytest.mark.parametrize("room", sorted(NO_TUNING))
def test_numbers_that_steer_are_in_the_tuning_of_their_room(room: str) -> None:
    assert (PACKAGE / room / "tuning.py").exists()
    found = {name for file in (PACKAGE / room).rglob("*.py") for name in _constants(file)}
    assert found <= NO_TUNING[room]


def test_the_page_names_every_room_with_a_tuning() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    row = next(line for line in page.splitlines() if "number that steers a search" in line)
    rooms = {file.parent.name for file in PACKAGE.glob("*/tuning.py")}
    assert rooms == set(re.findall(r"`(\w+)/", row)) == set(NO_TUNING)


def test_the_picture_shows_all_rooms() -> None:
    picture = (ROOT / "docs" / "assets" / "house.svg").read_text()
    drawn = set(re.findall(r"font-weight=\"bold\"[^>]*>([^<]+)<", picture))
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms - {"program"} <= drawn
    assert any(name.startswith("program") for name in drawn)


@pytest.mark.parametrize(
    "room", ["mechanism", "privacy", "privacy/audits", "privacy/ledger", "protocol", "streams"]
)
def test_the_menu_of_a_room_lists_its_modules(room: str) -> None:
    """The last block of the package's docstring: names of modules, then what is in them."""
    text = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())) or ""
    lines = re.findall(r"^    ([a-z_]+(?:, [a-z_]+)*)  +\S", text.split("::\n\n")[-1], re.MULTILINE)
    listed = [name for line in lines for name in line.split(", ")]
    modules = [file.stem for file in (PACKAGE / room).glob("*.py") if file.stem != "__init__"]
    assert sorted(listed) == sorted(modules)


@pytest.mark.parametrize("file", [*PACKAGE.rglob("__init__.py"), *PACKAGE.rglob("tuning.py")], ids=str)
def test_files_that_a_room_names_are_there(file: Path) -> None:
    for name in re.findall(r"[`(]([a-z_/]+\.py)\b", file.read_text()):
        homes = (file.parent, PACKAGE / file.relative_to(PACKAGE).parts[0], PACKAGE)
        assert any((home / name).is_file() for home in homes), name
