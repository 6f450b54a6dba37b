"""Save a dialog as a priming script and begin another with it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.page import Serving, Watched, say

pytestmark = pytest.mark.browser

FOLDER = ".minds/priming/individual/captain"


def save(page: Page, slug: str) -> None:
    page.get_by_role("button", name="Save priming script").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Slug").fill(slug)
    expect(dialog.locator(".path")).to_have_text(f"{FOLDER}/{slug}.md")


def talk(page: Page, text: str) -> None:
    say(page, text)
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()


def test_save_asks_before_it_overwrites(watched: Watched, serving: Serving) -> None:
    watched.allow("409")
    page = watched.page
    talk(page, "read Agent.md")
    save(page, "morning-check")
    watched.shoot("save-priming")
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("morning-check.md")
    saved = serving.folder / FOLDER / "morning-check.md"
    first = saved.read_text()
    assert "### record human_text_record" in first
    talk(page, "tools")
    save(page, "morning-check")
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("This file exists. Overwrite it?")).to_be_visible()
    assert saved.read_text() == first
    watched.shoot("overwrite-priming")
    page.get_by_role("button", name="Overwrite").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert saved.read_text() != first


def test_bad_slugs_cannot_be_saved(watched: Watched) -> None:
    page = watched.page
    talk(page, "tools")
    page.get_by_role("button", name="Save priming script").click()
    dialog = page.get_by_role("dialog")
    for slug in ("../up", "a b", "晨检", "/x", "a//b"):
        dialog.get_by_label("Slug").fill(slug)
        expect(dialog.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_dialog_begins_primed_shown_or_hidden_and_remembers_the_choice(watched: Watched) -> None:
    page = watched.page
    talk(page, "think about boats")
    save(page, "boats/first")
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.get_by_role("button", name="New thread").click()
    choice = page.get_by_role("combobox", name="Priming script")
    expect(page.get_by_label("Show the script's messages")).to_be_disabled()
    choice.select_option(label="More…")
    search = page.get_by_label("Search scripts by name or title")
    expect(search).to_be_focused()
    search.press_sequentially("boa")
    found = page.locator(".priming-search li")
    expect(found).to_contain_text("individual/captain/boats/first")
    watched.shoot("new-dialog-search")
    found.get_by_role("button", name="Choose").click()
    expect(choice).to_have_value("individual/captain/boats/first")
    expect(page.get_by_label("Show the script's messages")).to_be_checked()
    watched.shoot("new-dialog")
    page.get_by_role("button", name="Create", exact=True).click()

    expect(page.locator(".primed")).to_contain_text("think about boats")
    expect(page.locator(".primed")).to_contain_text("Primed with 2 messages")
    watched.shoot("primed-dialog")
    talk(page, "summarize")
    expect(page.locator(".message.assistant").last).to_contain_text("think about boats")

    page.get_by_role("button", name="New thread").click()
    expect(choice).to_have_value("individual/captain/boats/first")
    page.get_by_label("Show the script's messages").uncheck()
    page.get_by_role("button", name="Create", exact=True).click()
    mark = page.get_by_role("button", name="Primed with 2 messages")
    expect(mark).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".message")).to_have_count(0)
    mark.click()
    expect(page.locator(".primed")).to_contain_text("think about boats")


def test_escape_closes_the_search_before_the_dialog(watched: Watched) -> None:
    page = watched.page
    page.get_by_role("button", name="New thread").click()
    page.get_by_role("combobox", name="Priming script").select_option(label="More…")
    expect(page.locator(".priming-search")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".priming-search")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="New thread")).to_be_focused()


def test_answers_to_older_words_are_dropped(watched: Watched) -> None:
    page = watched.page

    held: list[Route] = []

    def tell(route: Route, title: str) -> None:
        script = {"scriptRef": f"team_shared/{title[:3]}", "title": title, "path": "", "records": 1}
        route.fulfill(json={"scripts": [script]})

    def hold_first(route: Route) -> None:
        if "query=a&" in route.request.url:
            held.append(route)
        else:
            tell(route, "new answer")

    page.route("**/api/priming/search*", hold_first)
    page.get_by_role("button", name="New thread").click()
    page.get_by_role("combobox", name="Priming script").select_option(label="More…")
    with page.expect_request(re.compile("query=a&")):
        page.get_by_label("Search scripts").press("a")
    page.get_by_label("Search scripts").press("b")
    expect(page.locator(".priming-search li")).to_contain_text("new answer")
    with page.expect_response(re.compile("query=a&")) as late:
        tell(held[0], "old answer")
    late.value.finished()
    # The page has heard the late answer once it has drawn twice.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator(".priming-search li")).to_contain_text("new answer")
