"""The auditor reads shareable pages: what they say of the secret is what the release says of it."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ppsm import Ledger, Sensitive, audit_mechanism, load_case
from ppsm.arrays import FloatArray
from ppsm.coordinations import GaucCoordination
from ppsm.experiments import pages
from ppsm.experiments.pages import ExampleRelease, Setting, shareable_page
from ppsm.mechanism import PPSM, PublicOutcome
from ppsm.privacy import AuditReport, PublishedFigures, note_publication

ALPHA, SAMPLES = 100.0, 200
TRUTH, NEIGHBOUR = (800.0,), (900.0,)


def figures_of(page: str) -> FloatArray:
    """The numbers of a page that depend on the release: both vectors, and the sentences on what happened."""
    dossier = json.loads(html.unescape(page.split("<pre>")[1].split("</pre>")[0]))
    sentences = page.split("<ul>")[1].split("</ul>")[0]
    said = [float(text.replace(",", "")) for text in re.findall(r"-?\d[\d,]*(?:\.\d+)?", sentences)]
    return np.array([*dossier["noisy"]["values"], *dossier["released"]["values"], *said])


@pytest.fixture
def page_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[FloatArray], str]:
    """The whole way from a secret to the page but for maps and clearing, which see the release only."""
    monkeypatch.setattr(pages, "installed", lambda _: False)
    case = load_case("two_node")
    game = GaucCoordination(case, 0.0, time_limit=10.0)
    ledger = Ledger.create(tmp_path / "audit.db")
    ledger.grant("demand", epsilon=1e6, alpha=ALPHA, unit="MWh")

    def sensitive(values: FloatArray) -> Sensitive:
        return Sensitive(values, dataset="demand", unit="MWh", entry_names=game.entry_names)

    figures = PublishedFigures.rounded(
        game.market_result(np.array(TRUTH)),
        day="2026-01-15",
        source="market report",
        value_step=1.0,
        price_step=0.01,
    )
    publication = note_publication(figures, dataset="demand", ledger=ledger)
    outcome = game.clear(np.array(TRUTH))
    setting = Setting(case=case, power_stress=0.0, gas_stress=None, eta_p=0.001, eta_d=0.001)

    def page(values: FloatArray) -> str:
        released = PPSM(alpha=ALPHA).release(
            sensitive(values), game, PublicOutcome(publication, seed=1), ledger=ledger, purpose="audit"
        )
        return shareable_page(setting, ExampleRelease(released.dossier.with_evaluation(outcome)), None)

    return page


def audited(run: Callable[[FloatArray], FloatArray]) -> AuditReport:
    return audit_mechanism(run, TRUTH, NEIGHBOUR, claimed_epsilon=1.0, samples=SAMPLES)


def test_a_shareable_page_passes(page_of: Callable[[FloatArray], str]) -> None:
    report = audited(lambda values: figures_of(page_of(values)))
    assert report.passes, report.findings


def test_a_page_that_says_how_far_the_release_is_off_is_caught(
    page_of: Callable[[FloatArray], str],
) -> None:
    def leaking(values: FloatArray) -> FloatArray:
        page = page_of(values)
        distance = float(np.abs(figures_of(page)[1] - values).sum())
        return figures_of(page.replace("<ul>", f"<ul><li>The release is off by {distance:.1f} MWh.</li>", 1))

    report = audited(leaking)
    assert not report.passes
