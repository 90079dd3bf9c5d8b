"""``ppsm bilevel``: one sentence and an exit code for bad input, clean JSON for scripts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.games.hard_game import hard_game
from typer.testing import CliRunner

from ppsm.cli import app, main
from ppsm.errors import PpsmError
from ppsm.program import BilevelProgram

DATA = Path(__file__).parents[1] / "data" / "bilevel"
FIELDS = [
    *("status", "leader_objective", "leader_bound", "gap", "follower_objective"),
    *("variables", "verified", "second_opinion", "bilevel_gap", "method", "solver"),
]
MPS = """NAME small
ROWS
 N cost
 L up
 G need
COLUMNS
 x cost 1 up 1
 x need 1
 y cost 1 need 1
RHS
 rhs up 4 need 2
BOUNDS
 UP b x 5
 UP b y 6
ENDATA
"""
AUX = "N 1\nM 1\nLC 1\nLR 1\nLO 1\nOS 1\n"


def run(*arguments: object) -> tuple[int, str, str]:
    """Run the command in this process; an error is turned into its exit code as ``main`` does."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, PpsmError):
        return result.exception.exit_code, result.stdout, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def files(folder: Path, mps: str = MPS, aux: str = AUX) -> tuple[Path, Path]:
    (folder / "m.mps").write_text(mps)
    (folder / "m.aux").write_text(aux)
    return folder / "m.mps", folder / "m.aux"


@pytest.mark.parametrize("method", ["auto", "big-m", "sos1", "indicator"])
def test_json_has_exactly_the_documented_fields(tmp_path: Path, method: str) -> None:
    """min x + y, the follower serves y >= 2 - x: 2 either way."""
    code, out, _ = run("bilevel", *files(tmp_path), "--json", "--method", method)
    record = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert code == 0
    assert list(record) == FIELDS
    assert record["status"] == "optimal"
    assert record["leader_objective"] == pytest.approx(2)
    assert record["leader_bound"] == pytest.approx(2)
    assert record["gap"] == pytest.approx(0, abs=1e-6)
    assert set(record["variables"]) == {"x", "y"}
    assert record["follower_objective"] == pytest.approx(record["variables"]["y"])
    assert record["verified"] is True
    assert record["bilevel_gap"] == pytest.approx(0, abs=1e-6)
    assert method in ("auto", record["method"])
    assert record["solver"].split()[0] in ("HiGHS", "SCIP")
    assert record["solver"].split()[1][0].isdigit()


def test_published_instance_of_both_forms() -> None:
    named = run("bilevel", DATA / "mersha_dempe_2006.mps", DATA / "mersha_dempe_2006.aux", "--json")
    indexed = run("bilevel", DATA / "mersha_dempe_2006.mps", DATA / "mersha_dempe_2006_indexed.aux", "--json")
    assert named[0] == indexed[0] == 0
    one, other = json.loads(named[1]), json.loads(indexed[1])
    assert one["leader_objective"] == pytest.approx(other["leader_objective"])
    assert one["status"] == "optimal"


def test_table_for_people(tmp_path: Path) -> None:
    code, out, _ = run("bilevel", *files(tmp_path))
    assert code == 0
    for word in ("optimal", "leader objective", "verified", "method", "HiGHS"):
        assert word in out


def test_infeasible_is_exit_code_1_and_explained(tmp_path: Path) -> None:
    """x + y >= 12 needs more than 5 + 6."""
    mps = files(tmp_path, MPS.replace("need 2\n", "need 12\n"))
    code, out, err = run("bilevel", *mps, "--json")
    record = json.loads(out)
    assert code == 1
    assert list(record) == FIELDS
    assert record["status"] == "infeasible"
    assert record["leader_objective"] is None
    assert record["variables"] == {}
    assert record["verified"] is False
    assert "need" in err
    code, out, _ = run("bilevel", *mps)
    assert code == 1
    assert "need" in out


def test_unbounded_is_exit_code_1(tmp_path: Path) -> None:
    mps = MPS.replace(" x cost 1 up 1\n", " x cost -1 need 1\n").replace(" x need 1\n", "")
    mps = mps.replace(" UP b x 5\n", " PL b x\n")
    code, out, _ = run("bilevel", *files(tmp_path, mps), "--json")
    assert code == 1
    assert json.loads(out)["status"] == "unbounded"


INTEGER = MPS.replace(" y cost", " M1 'MARKER' 'INTORG'\n y cost").replace(
    "RHS\n", " M2 'MARKER' 'INTEND'\nRHS\n", 1
)


@pytest.mark.parametrize(
    ("mps", "aux", "words"),
    [
        (
            INTEGER,
            AUX,
            ["lower-level columns 'y' are integer", "games with an integer follower"],
        ),
        (MPS.replace("ENDATA", "QUADOBJ\n y y 2\nENDATA"), AUX, ["a quadratic objective", "linear program"]),
        (MPS.replace("need 2\n", "need nan\n"), AUX, ["line 11", "'nan'", "expected a finite number"]),
        (MPS.replace(" y cost 1", " y cost inf"), AUX, ["line 9", "'inf'", "finite number"]),
        (MPS.replace("x need 1", "x needle 1"), AUX, ["line 8", "'needle' is not in section ROWS"]),
        (MPS[:100], AUX, ["m.mps"]),
        (MPS.replace("ENDATA\n", ""), AUX, ["ends without ENDATA", "cut short"]),
        ("", AUX, ["m.mps: the file is empty"]),
        (MPS, "", ["m.aux: the file is empty"]),
        (MPS, AUX[:-5], ["objective sense OS is missing"]),
        (MPS, AUX.replace("LC 1", "LC 7"), ["line 3", "found LC '7'", "from 0 to 1"]),
        (MPS, AUX.replace("N 1", "N 2"), ["found 1 lower-level columns", "announces 2"]),
        (MPS, AUX.replace("LO 1", "LO x"), ["line 5", "found 'x'"]),
        (MPS, AUX.replace("OS 1", "OS 0"), ["found OS '0'"]),
        (MPS, "@NUMVARS\n1\n@NUMCONSTRS\n1\n@VARSBEGIN\nz 1\n", ["column 'z' is not in the MPS file"]),
        (MPS, "not an aux file\n", ["found the key 'not'"]),
    ],
    ids=[
        *(
            "integer follower",
            "quadratic",
            "nan",
            "inf",
            "unknown row",
            "truncated",
            "no ENDATA",
            "empty mps",
        ),
        *("empty aux", "truncated aux", "index", "count", "cost", "sense", "unknown column", "not aux"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    tmp_path: Path, mps: str, aux: str, words: list[str]
) -> None:
    code, out, err = run("bilevel", *files(tmp_path, mps, aux), "--json")
    assert code == 2
    assert out == ""
    assert err.endswith(".")
    assert "\n" not in err
    for word in words:
        assert word in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "guess"], "guess"),
        (["--time-limit", "-1"], "expected seconds above 0"),
        (["--time-limit", "soon"], "--time-limit"),
        (["--gap", "nan"], "the gap is nan"),
        (["--method", "strong-duality"], "'x' enters the follower's rows and is not binary"),
        (["--colour"], "--colour"),
    ],
)
def test_bad_options_are_exit_code_2(tmp_path: Path, arguments: list[str], words: str) -> None:
    code, out, err = run("bilevel", *files(tmp_path), *arguments)
    assert code == 2
    assert out == ""
    assert words in err


def test_missing_file_is_exit_code_2(tmp_path: Path) -> None:
    code, _, err = run("bilevel", tmp_path / "no.mps", tmp_path / "no.aux")
    assert code == 2
    assert "there is no such file" in err


def process(*arguments: object, script: str = "from ppsm.cli import run; run()") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603


def test_error_of_the_real_command_is_one_line_without_traceback(tmp_path: Path) -> None:
    with process("bilevel", *files(tmp_path, aux="N 1\n")) as command:
        out, err = command.communicate(timeout=60)
    assert command.returncode == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_what_solvers_print_does_not_reach_the_json(tmp_path: Path) -> None:
    """A print from C, as HiGHS does in rare cases, in the middle of a solve."""
    script = (
        "import ctypes, ppsm.bilevel.files.exchange as b\n"
        "from ppsm.cli import run\n"
        "read = b.read_bilevel\n"
        "def noisy(*files):\n"
        "    ctypes.CDLL(None).puts(b'HighsPostsolveStack::DuplicateColumn::undo')\n"
        "    return read(*files)\n"
        "b.read_bilevel = noisy\n"
        "run()\n"
    )
    command = [sys.executable, "-c", script, "bilevel", *map(str, files(tmp_path)), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "optimal"
    assert "HighsPostsolveStack" in done.stderr


def write_exchange_files(program: BilevelProgram, folder: Path) -> tuple[Path, Path]:
    """A program without prices as an MPS and an indexed auxiliary file."""
    follower = program.follower
    matrix = np.block(
        [
            [program.leader_matrix.toarray(), program.response_matrix.toarray()],
            [program.coupling.toarray(), follower.matrix.toarray()],
        ]
    )
    cost = np.concatenate([program.leader_cost, program.response_cost])
    upper = np.concatenate([program.leader_upper, follower.row_upper])
    lines = ["NAME game", "ROWS", " N cost", *(f" L r{row}" for row in range(matrix.shape[0])), "COLUMNS"]
    for column in range(matrix.shape[1]):
        lines.append(f" c{column} cost {cost[column]:.17g}")
        rows = np.flatnonzero(matrix[:, column])
        lines += [f" c{column} r{row} {matrix[row, column]:.17g}" for row in rows]
    lines += ["RHS", *(f" rhs r{row} {upper[row]:.17g}" for row in range(upper.size)), "BOUNDS"]
    lines += [f" UP b c{column} 1" for column in range(len(program.variable_names))]
    n, leader_rows = len(program.variable_names), len(program.leader_row_names)
    aux = [f"N {follower.shape[1]}", f"M {follower.shape[0]}"]
    aux += [f"LC {n + k}" for k in range(follower.shape[1])]
    aux += [f"LR {leader_rows + k}" for k in range(follower.shape[0])]
    aux += [f"LO {value:.17g}" for value in follower.cost]
    return files(folder, "\n".join([*lines, "ENDATA", ""]), "\n".join([*aux, "OS 1", ""]))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
@pytest.mark.parametrize("method", ["auto", "sos1"])
def test_interrupt_leaves_with_the_best_so_far(tmp_path: Path, method: str) -> None:
    paths = write_exchange_files(hard_game(), tmp_path)
    announcing = (
        "import sys\n"
        "from ppsm.bilevel import portfolio, solve\n"
        "from ppsm.cli import run\n"
        "def announced(search):\n"
        "    def begin(*arguments, **options):\n"
        "        print('searching', file=sys.stderr, flush=True)\n"
        "        return search(*arguments, **options)\n"
        "    return begin\n"
        "solve.Methods._run = announced(solve.Methods._run)\n"
        "portfolio.searchers = announced(portfolio.searchers)\n"
        "run()\n"
    )
    limits = ("--method", method, "--time-limit", "120")
    with process("bilevel", *paths, "--json", *limits, script=announcing) as command:
        assert command.stderr is not None
        assert any(line == "searching\n" for line in command.stderr)
        time.sleep(2)  # the solver has its problem in a fraction of that
        assert command.poll() is None, "the game was meant to take longer"
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=60)
    assert "Traceback" not in err
    assert command.returncode == 0, err
    record = json.loads(out)
    assert record["status"] == "incumbent"
    assert record["verified"] is True
    assert record["leader_bound"] < record["leader_objective"]


def test_interrupt_before_anything_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ppsm.bilevel.solve.solve_bilevel", pressed)
    assert run("bilevel", *files(tmp_path)) == (130, "", "interrupted\n")


def test_demo_explains_a_game() -> None:
    code, out, _ = run("demo")
    assert code == 0
    for word in ("river authority", "proven bound", "independent check", "nothing wrong"):
        assert word in " ".join(out.split())


def test_main_reports_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["ppsm", "bilevel", "no.mps", "no.aux"])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 2
    assert capsys.readouterr().err.startswith("error: no.mps: there is no such file")
