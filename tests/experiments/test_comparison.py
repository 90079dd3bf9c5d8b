"""``ppsm compare`` from the outside: what is shared, what stays with the owner, stopping and going on."""

import json
import re
import shutil
import stat
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import escape
from typer.testing import CliRunner

from ppsm import Ledger, Sensitive, load_case
from ppsm.cases.schema import builtin_directory
from ppsm.cli import app
from ppsm.errors import InputError, PrivacyError
from ppsm.experiments import RowStore
from ppsm.experiments.conclusion import Comparison
from ppsm.experiments.pages import ExampleRelease, Setting, shareable_page
from ppsm.mechanism import Dossier
from ppsm.owner.private_release import KEPT, KeptNoise, mark_of
from ppsm.owner.release_files import read_release
from tests.commands import interrupted, ppsm

CELL = ["compare", "--case", "two_node", "--power-stress", "0"]
QUICK = ["--alphas", "300", "--draws", "1", "--time-limit", "10"]
BOOK = ["--ledger", "ledger.db"]
SECRET = 812.3456789
EMBEDDED = ("#", "data:image/png;base64,")
VOID = {"meta", "br", "use", "path", "rect"}


class Page(HTMLParser):
    """Tags that are not closed, names used twice, and everything that a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: Counter[str] = Counter()
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.note(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids[value or ""] += 1
            elif name.split(":")[-1] in ("src", "href", "data") and not (value or "").startswith(EMBEDDED):
                self.fetched.append(f"{tag} {name}={value}")
        if tag in ("link", "iframe", "img", "object"):
            self.fetched.append(tag)


def our_part(text: str) -> str:
    """A page without the library that draws its pictures, the first of its scripts."""
    return re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.DOTALL)


def check_page(text: str) -> None:
    page, text = Page(text), our_part(text)
    assert "http" not in text
    assert len(text) < 200_000
    assert page.open == []
    assert page.fetched == []
    assert [name for name, count in page.ids.items() if count > 1] == []
    assert re.findall(r"url\((?!#)|@import", text) == []
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(page.ids)


def forms_of(value: float, least_digits: int) -> set[str]:
    """A number as people and programs write it, with all roundings that have some digits left."""
    exact = repr(value)
    rounded = {f"{value:.{digits}f}" for digits in range(1, 8)}
    cut = {exact[:length] for length in range(1, len(exact) + 1)}
    forms = {exact, f"{value:.3e}", f"{value:.6e}", value.hex(), *rounded, *cut}
    return {form for form in forms if sum(letter.isdigit() for letter in form) >= least_digits}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison on public data."""
    directory = tmp_path_factory.mktemp("shared")
    options = ["--gas-stress", "0", "--alphas", "100,1000", "--draws", "2", "--time-limit", "10"]
    done = ppsm(*CELL, *options, "--out", "out", cwd=directory)
    assert done.returncode == 0, done.stderr
    (directory / "stdout.txt").write_text(done.stdout)
    return directory


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison on a secret demand."""
    directory = tmp_path_factory.mktemp("private")
    (directory / "demand.csv").write_text(f"node,demand_mwh\nhomes,{SECRET}\n")
    given = [*CELL, *QUICK, "--demand", "demand.csv", "--out", "out", *BOOK, "--json"]
    refused = ppsm(*given, cwd=directory)
    assert refused.returncode == 4
    assert "ppsm ledger init --ledger" in refused.stderr
    granted(directory)
    done = ppsm(*given, cwd=directory)
    assert done.returncode == 0, done.stderr
    (directory / "stdout.json").write_text(done.stdout)
    (directory / "stderr.txt").write_text(done.stderr)
    return directory


def granted(directory: Path, dataset: str = "gas-demand/two_node") -> None:
    """A ledger with a budget for one release."""
    ledger = Ledger.create(directory / "ledger.db")
    ledger.grant(dataset, epsilon=1.0, alpha=300.0, unit="MWh")


def test_a_public_comparison_is_shared_as_a_whole(shared: Path) -> None:
    out, printed = shared / "out", (shared / "stdout.txt").read_text()
    text = (out / "report.html").read_text()
    check_page(text)
    assert "<strong>Not private.</strong>" in text
    assert "repaired by PPSM, in 2 of 2" in text
    assert "public demonstration data" in text
    assert "The mechanisms at every size of the noise" in text
    assert re.search(r"release \d of \d junctions keep their price within \$0\.05 per MMBtu", text)
    assert "pale where they keep their price" in text
    assert printed.count("PPSM_p") >= 2
    rows = RowStore(out).rows()
    assert len(rows) == 18
    for row in rows:
        assert row.feasible or row.mechanism == "laplace"
    lines = (out / "compare.csv").read_text().splitlines()
    assert len(lines) == 10
    learned = next(line for line in lines if line.startswith("ppsm+learned,1000"))
    assert learned.split(",")[3] == "100.0"
    assert "PPSM learned" in printed
    assert '<tr class="ppsm learned">' in text
    assert "In the row &ldquo;PPSM learned&rdquo; nothing is published" in text
    said = next(row for row in rows if row.mechanism == "ppsm+learned")
    sentence = f"off by {said.cross_validated_value_percent:.3f} % (the gas market's cost)"
    assert sentence in " ".join(printed.split())
    assert str(escape(sentence)) in text
    laplace = next(line for line in lines if line.startswith("laplace,1000"))
    assert f"{float(laplace.split(',')[4]):,.0f}" in text
    assert "With plain Laplace noise the markets could be cleared in" in " ".join(printed.split())
    dossier = read_release(out)
    assert dossier is not None
    assert dossier.evaluation is not None
    assert dossier.mechanism.alpha == 1000.0


def test_the_owners_report_is_for_one_reader(shared: Path, private: Path) -> None:
    for directory, true in ((shared, load_case("two_node").demand_mwh(0.0)[0]), (private, SECRET)):
        owner = directory / "out" / "owner"
        assert stat.S_IMODE(owner.stat().st_mode) == 0o700
        assert stat.S_IMODE((owner / "report.html").stat().st_mode) == 0o600
        text = (owner / "report.html").read_text()
        check_page(text)
        assert "SECRET: for the owner's eyes only." in text
        assert f"{true:,.1f}" in text
        assert "The mechanisms side by side" in text


def test_nothing_shared_holds_the_secret(private: Path) -> None:
    out = private / "out"
    rows = RowStore(out / "owner").rows()
    refused = ppsm("report", "out/owner", "--out", "shared", cwd=private)
    assert refused.returncode == 2
    assert "measured against a secret demand" in refused.stderr
    assert not (private / "shared").exists()
    assert sorted(row.mechanism for row in rows) == [
        "laplace",
        "ppsm",
        "ppsm+learned",
        "ppsm+measured",
        "ppsm-p",
    ]
    for name in ("rows.parquet", "originals.json", "settings.json", "grids.json", "compare.csv"):
        assert stat.S_IMODE((out / "owner" / name).stat().st_mode) == 0o600
    # the secret, and what only a comparison with it can tell
    hidden = forms_of(SECRET, 4)
    for row in rows:
        for value in (row.l1_noisy, row.l1_released, row.l2_released):
            assert value is not None
            hidden |= forms_of(value, 6)
        hidden.add(row.case.split("/")[1])
        for error in (row.error_predicted_value_percent, row.error_predicted_prices_percent):
            hidden |= forms_of(error, 6) if error else set()
    shared = [file for file in out.rglob("*") if file.is_file() and out / "owner" not in file.parents]
    assert {file.name for file in shared} == {
        "report.html",
        "dossier.json",
        "released.csv",
        "evaluation.json",
    }
    for file in shared:
        found = [form for form in hidden if form in our_part(file.read_text())]
        assert found == [], file.name
    # the search does find it where it is
    mine = (out / "owner" / "report.html").read_bytes()
    assert any(form.encode() in mine for form in forms_of(SECRET, 4))


def test_a_private_report_shows_a_private_release(private: Path) -> None:
    out = private / "out"
    text = (out / "report.html").read_text()
    check_page(text)
    assert "<strong>Private.</strong>" in text
    assert "seeded" not in text
    assert "The mechanisms at every" not in text
    assert "learned" not in text
    assert "known to the owner alone" in text
    assert "The cost with the release is known to a MIP gap of" in text
    dossier = Dossier.from_json((out / "dossier.json").read_text())
    assert dossier.private
    assert dossier.publication is None
    assert "The original market published nothing" in text
    ledger = Ledger(private / "ledger.db")
    assert "publication" not in [entry.kind for entry in ledger.entries()]
    assert ledger.confirm(dossier.released)
    summary = json.loads((private / "stdout.json").read_text())
    assert summary["owner_only"]
    assert summary["statement"] == dossier.statement
    # what is measured against the secret is no part of what is printed for everybody
    assert set(summary) == {"report", "owner_report", "owner_only", "statement"}
    assert "for the owner only, and so not printed" in (private / "stderr.txt").read_text()


def test_going_on_spends_nothing_and_other_jobs_are_refused(private: Path) -> None:
    given = [*CELL, "--time-limit", "10", "--demand", "demand.csv", "--out", "out", "--draws", "1", *BOOK]
    before = (private / "out" / "dossier.json").read_bytes()
    again = ppsm(*given, "--alphas", "300", cwd=private)
    assert again.returncode == 0, again.stderr
    assert (private / "out" / "dossier.json").read_bytes() == before
    (private / "other.csv").write_text("node,demand_mwh\nhomes,700\n")
    other = [text if text != "demand.csv" else "other.csv" for text in given]
    for arguments, message in (
        ([*given, "--alphas", "200"], "with other parameters"),
        ([*other, "--alphas", "300"], "of another demand or cell"),
        ([*given, "--alphas", "300", "--time-limit", "9"], "were made with clear_seconds = 10.0"),
        ([*CELL, *QUICK, "--gas-stress", "0", "--out", "out"], "holds a private release"),
    ):
        refused = ppsm(*arguments, cwd=private)
        assert refused.returncode == 2
        assert message in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    # stopped after the charge, before the release was written
    kept = Dossier.from_json(before.decode())
    for name in ("dossier.json", "released.csv", "evaluation.json"):
        (private / "out" / name).unlink()
    demand = Sensitive([SECRET], dataset="gas-demand/two_node", unit="MWh", entry_names=("homes",))
    noise = KeptNoise(kept.noisy, kept.publication)
    mark = mark_of(demand, "two_node 0.0", Ledger(private / "ledger.db"))
    noise.write(private / "out" / "owner" / KEPT, mark)
    resumed = ppsm(*given, "--alphas", "300", cwd=private)
    assert resumed.returncode == 0, resumed.stderr
    after = Dossier.from_json((private / "out" / "dossier.json").read_text())
    assert after.noisy.values.tolist() == kept.noisy.values.tolist()
    assert after.publication is None


def test_nothing_is_learned_from_a_demand_that_is_the_secret_itself(tmp_path: Path) -> None:
    shutil.copytree(builtin_directory("two_node"), tmp_path / "mine")
    given = ["--case", "mine", "--power-stress", "0", "--gas-stress", "0.25", "--out", "out", *BOOK]
    granted(tmp_path)
    done = ppsm("compare", *given, *QUICK, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = RowStore(tmp_path / "out" / "owner").rows()
    assert sorted(row.mechanism for row in rows) == ["laplace", "ppsm", "ppsm+measured", "ppsm-p"]
    # the stress of a secret case tells every entry of it
    for text in (done.stdout, done.stderr, (tmp_path / "out" / "report.html").read_text()):
        assert "25%" not in text
    assert "25%" in (tmp_path / "out" / "owner" / "report.html").read_text()
    refused = ppsm("release", *given, "--alpha", "300", "--predictor", "learned", cwd=tmp_path)
    assert refused.returncode == 2
    assert "is the secret itself" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_figures_measured_against_a_secret_are_refused(private: Path) -> None:
    dossier = read_release(private / "out")
    assert dossier is not None
    setting = Setting(case=load_case("two_node"), power_stress=0.0, gas_stress=None, eta_p=0.001, eta_d=0.001)
    rows = tuple(RowStore(private / "out" / "owner").rows())
    with pytest.raises(PrivacyError, match="give those to the owner's page only"):
        shareable_page(setting, ExampleRelease(dossier), Comparison(rows, 3))


def test_a_comparison_can_be_stopped_and_continued(tmp_path: Path) -> None:
    cell = [*CELL, "--gas-stress", "0"]
    options = ["--alphas", "100,1000", "--draws", "40", "--out", "out"]
    out = tmp_path / "out"
    errors = interrupted(*cell, *options, cwd=tmp_path, rows=out, count=4)
    assert "run the same command again to go on" in errors
    kept = RowStore(out).rows()
    assert 4 <= len(kept) < 360
    text = (tmp_path / "out" / "report.html").read_text()
    check_page(text)
    assert f"It is incomplete: {len(kept)} of 360 runs are done." in text
    options[3] = str(len(kept) // 9 + 1)
    done = ppsm(*cell, *options, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = RowStore(out).rows()
    assert all(row in rows for row in kept)  # with their times: nothing was run twice
    assert json.loads(done.stdout)["complete"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gas-stress", "0", "--draws", "0"], "0 draws from number 0"),
        (["--gas-stress", "0", "--seed", "-1"], "from number -1"),
        (["--gas-stress", "0", "--eta-d", "0.1"], "may mean 0.1 % or 10 %"),
        (["--gas-stress", "9"], "the gas stress is 9; expected a number from 0 to 1"),
        ([], "neither of --gas-stress and --demand"),
        (["--gas-stress", "0", "--time-limit", "0"], "the time limit is 0 s"),
        (["--gas-stress", "0", "--alphas", "x"], "alphas is 'x'"),
        (["--gas-stress", "0", "--out", "file/below"], "cannot write to 'file/below'"),
    ],
)
def test_bad_input_is_one_sentence(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a directory")
    error = CliRunner().invoke(app, [*CELL, "--out", "out", *options]).exception
    assert isinstance(error, InputError)
    assert message in str(error)
    assert len(str(error).splitlines()) == 1
