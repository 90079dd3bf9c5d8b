"""The study that the documentation quotes, on a network small enough for a test."""

import json
import math

from benchmarks.fidelity import study, tables
from benchmarks.fidelity_cells import draw, synthetic_cells


def test_the_study_reports_what_machines_read() -> None:
    cells = synthetic_cells(10, (1.0,))
    report = study(
        cells, draws=1, scip_instances=1, scip_cap_s=5.0, small_junctions=10, sizes=(10, 20), prior_draws=1
    )
    assert report["instances"] == 3
    assert report["certified_share"] == 1.0
    assert 0.0 < report["p50_s"] <= report["p95_s"] <= report["max_s"]
    assert report["scip"]["finished"] + report["scip_small"]["finished"] > 0
    assert report["max_rel_diff"] < 1e-3
    assert report["speedup_median"] > 1.0
    assert math.isfinite(report["growth"]["exponent"])
    assert json.loads(json.dumps(report)) == report
    fields = tables(report)[0].columns
    assert fields == ("instances", "certified_share", "p50_s", "p95_s", "speedup_median", "max_rel_diff")


def test_draws_are_numbered() -> None:
    cells = synthetic_cells(10, (1.0,))
    three = draw(cells, 3, prices=True)
    later = draw(cells, 2, prices=True, first=1)
    assert [one.released.tolist() for one in three[1:3]] == [one.released.tolist() for one in later[:2]]
