"""Both pages in a real browser: nothing is loaded from elsewhere, and they fit a phone."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ppsm import load_case
from ppsm.protocol.service import make_app
from tests.protocol.parties import FOLLOWER, LEADER, Parties
from tests.protocol.wire import listening

CHROMIUM = shutil.which("chromium")
PHONE, DESK = (390, 844), (1280, 900)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
        )
        yield started
        started.close()


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_followers_page_fits_and_loads_nothing(
    browser: Any, parties: Parties, size: tuple[int, int]
) -> None:
    desk = parties.desk()
    parties.leader(parties.in_memory(desk)).run()
    desk.store.note_refusal(LEADER, "403 signature", "The message is not signed by its sender.")
    word = (parties.identities[FOLLOWER].directory / "page-token").read_text()
    with listening(make_app(desk)) as address:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            http_credentials={"username": "me", "password": word},
        )
        page, asked = context.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/")
        assert page.locator("#left").inner_text().startswith("left 999")
        headings = page.locator("h2").all_inner_texts()
        wide = page.evaluate("document.documentElement.scrollWidth")
        shown = page.locator("body").inner_text()
        context.close()
    assert headings == ["Budget", "Rounds", "Releases and their certificates", "Refused"]
    assert wide <= size[0]
    assert {url.split("/", 3)[2] for url in asked} == {address.split("/", 3)[2]}
    for said in ("done", "yes", "403 signature", LEADER):
        assert said in shown


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_leaders_page_fits_and_loads_nothing(
    browser: Any, leaders_page: Path, size: tuple[int, int]
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(leaders_page.as_uri())
    pictures = page.locator("figure svg")
    assert pictures.count() == 3
    for index in range(3):
        assert pictures.nth(index).bounding_box()["width"] > 300
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    plants = [link.fleet for link in load_case("medium").links]
    assert all(name in page.locator("body").inner_text() for name in plants)
    context.close()
    assert asked == [leaders_page.as_uri()]
