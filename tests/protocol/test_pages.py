"""Both pages in a real browser: they load nothing from elsewhere, fit a phone, and are dark where asked."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppsm import load_case
from ppsm.experiments.charts import daily_chart
from ppsm.figures.embed import chart_scripts, embedded
from ppsm.figures.price_map import price_map
from ppsm.mechanism.dossier import Step
from ppsm.protocol.round_pages import PAGE, write_leader_page
from ppsm.protocol.round_store import RoundStore
from ppsm.protocol.service import make_app
from tests.protocol.parties import FOLLOWER, LEADER, Parties
from tests.protocol.wire import listening

CHROMIUM = shutil.which("chromium")
PHONE, DESK = (390, 844), (1280, 900)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
                *("--disable-component-update", "--disable-sync"),
            ],
        )
        yield started
        started.close()


def shown(browser: Any, size: tuple[int, int], **options: Any) -> Any:
    """A window of a size."""
    return browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_followers_page_fits_and_loads_nothing(
    browser: Any, parties: Parties, size: tuple[int, int]
) -> None:
    desk = parties.desk()
    parties.leader(parties.in_memory(desk)).run()
    desk.store.note_refusal(LEADER, "403 signature", "The message is not signed by its sender.")
    word = (parties.identities[FOLLOWER].directory / "page-token").read_text()
    with listening(make_app(desk)) as address:
        context = shown(browser, size, http_credentials={"username": "me", "password": word})
        page, asked = context.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/")
        assert page.locator("#left").inner_text().startswith("left 999")
        headings = page.locator("h2").all_inner_texts()
        wide = page.evaluate("document.documentElement.scrollWidth")
        text = page.locator("body").inner_text()
        cards = page.locator(".figure .number").all_inner_texts()
        budget = page.locator("meter").evaluate("each => [each.value, each.max]")
        context.close()
    assert headings == ["Budget", "Rounds", "Releases and their certificates", "Refused"]
    assert wide <= size[0]
    assert {url.split("/", 3)[2] for url in asked} == {address.split("/", 3)[2]}
    for said in ("done", "yes", "403 signature", LEADER):
        assert said in text
    assert budget == [999, 1000]
    assert cards == ["999 of 1,000", "999", "done"]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_leaders_page_fits_and_loads_nothing(
    browser: Any, leaders_page: Path, size: tuple[int, int]
) -> None:
    context = shown(browser, size)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(leaders_page.as_uri())
    pictures = page.locator("figure svg")
    assert pictures.count() == 3
    titles = page.locator("figcaption").all_inner_texts()
    assert titles == ["What we predicted", "What the follower predicted", "Cleared with the release"]
    for index in range(3):
        assert pictures.nth(index).bounding_box()["width"] > 300
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    plants = [link.fleet for link in load_case("medium").links]
    assert all(name in page.locator("body").inner_text() for name in plants)
    context.close()
    assert asked == [leaders_page.as_uri()]


def test_the_leaders_page_says_where_it_planned_with_a_vector_of_its_own(
    recorded: dict[str, Any], leaders_page: Path, tmp_path: Path
) -> None:
    result, said = recorded["result"], "a vector of our own making"
    own = {"reason": "no answer", "values": result.dossier.released.values.tolist(), "moved_l1": 0.0}
    moved = replace(result, repair=Step("3c", "leader", (), own, None, None))
    messages = RoundStore(recorded["root"] / "leader.db").messages(result.round_id)
    write_leader_page(tmp_path, recorded["leader"], moved, messages)
    assert said in (tmp_path / PAGE).read_text()
    assert said not in leaders_page.read_text()


def test_colours_of_maps_beside_each_other_mean_the_same() -> None:
    case = load_case("medium")
    low, high = np.full(len(case.junctions), 10.0), np.full(len(case.junctions), 90.0)
    scales = [
        re.findall(r'"domain": ?(\[[^]]*\])', price_map(case, one, beside=[other]).to_json(indent=None))
        for one, other in ((low, high), (high, low))
    ]
    assert scales[0] == scales[1] != []


def test_a_scale_of_one_price_has_its_numbers() -> None:
    case = load_case("medium")
    chart = price_map(case, np.full(len(case.junctions), 4.0 / 0.293071)).to_json(indent=None)
    (low, high) = re.findall(r'"domain": ?\[([\d.]+), ?([\d.]+)\]', chart)[0]
    assert float(high) - float(low) == pytest.approx(1.0)


def test_pages_are_dark_where_that_is_asked_for(browser: Any, leaders_page: Path) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        context = shown(browser, PHONE, color_scheme=scheme)
        page = context.new_page()
        page.goto(leaders_page.as_uri())
        style = page.locator("body").evaluate("each => getComputedStyle(each).backgroundColor")
        colours[scheme] = sum(int(part) for part in re.findall(r"\d+", style)[:3])
        context.close()
    assert colours["light"] > 700
    assert colours["dark"] < 150


def test_days_of_charts_are_those_of_the_data_wherever_they_are_read(browser: Any, tmp_path: Path) -> None:
    days = [f"2026-01-{day:02}" for day in range(1, 6)]
    chart = embedded(daily_chart(days, {"total": [1.0, 2.0, 3.0, 2.0, 1.0]}, "MWh"), "days", "Days")
    file = tmp_path / "days.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8><style>.chart {{ width: 100% }}</style>{chart_scripts()}{chart}",
        encoding="utf-8",
    )
    context = shown(browser, DESK, timezone_id="America/New_York")
    page = context.new_page()
    page.goto(file.as_uri())
    page.locator("svg").wait_for()
    labels = page.locator(".role-axis-label text").all_text_contents()
    context.close()
    assert [label for label in labels if "Jan" in label] == [f"{day} Jan" for day in range(1, 6)]
