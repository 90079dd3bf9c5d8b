"""The games that the documentation compares solvers on: all families build, and on small ones all agree."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.game_families import FAMILIES, FIRST_SEED, game
from benchmarks.side_by_side import OURS, REFERENCE, SOLVERS, Row, Verdicts, run, tables

pytest.importorskip("pyscipopt")

SECONDS = 15.0


@pytest.mark.parametrize("family", FAMILIES)
def test_rivals_agree_with_us_on_the_smallest_game(family: str) -> None:
    rows = run([game(family, FAMILIES[family][0], 0)], SECONDS, None)
    verdicts = Verdicts(rows)
    assert [row.solver for row in rows] == list(SOLVERS)
    assert verdicts.is_proven(rows[0])
    assert sum(map(verdicts.is_proven, rows)) > 1
    assert not any(verdicts.is_wrong(row) for row in rows if row.solver in (OURS, REFERENCE))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("first", FIRST_SEED.values())
def test_every_size_builds(family: str, first: int) -> None:
    for size in FAMILIES[family]:
        program = game(family, size, first).build()
        assert program.leader_sign == program.follower_sign == 1.0


def row(solver: str, status: str, objective: float | None, reached: float | None) -> Row:
    return Row("toll", "small", 0, 60.0, solver, status, 1.0, objective, objective, reached)


def test_claims_that_a_verified_point_refutes_are_wrong() -> None:
    ours = row(OURS, "optimal", -10.0, -10.0)
    claims = {
        "too dear": row("a", "optimal", -9.9, -9.9),
        "not attained": row("b", "optimal", -10.5, -10.0),
        "no point of the game": row("c", "optimal", -10.0, None),
        "no point at all": row("d", "infeasible", None, None),
    }
    verdicts = Verdicts([ours, *claims.values()])
    assert verdicts.is_proven(ours)
    assert all(verdicts.is_wrong(claim) for claim in claims.values())
    assert not any(verdicts.is_proven(claim) for claim in claims.values())
    late = row("e", "time", -9.0, -9.0)
    assert not verdicts.is_wrong(late)
    assert verdicts.seconds(late) == 60.0


def test_a_run_goes_on_where_its_rows_end(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    chosen = game("toll", FAMILIES["toll"][0], 0)
    first = run([chosen], SECONDS, file)
    assert len(file.read_text().splitlines()) == len(SOLVERS)
    file.write_text("\n".join(json.dumps(vars(replace(one, seconds=7.0))) for one in first))
    again = run([chosen], SECONDS, file)
    assert [one.seconds for one in again] == [7.0] * len(SOLVERS)
    assert tables(again)[0].rows[0][:3] == ("toll", OURS, 1)
