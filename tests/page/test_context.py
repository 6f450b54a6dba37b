"""Look at what the model reads: every section with its text, price and reason, and a diff of two turns."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.page import PHONE, OpenPage, Serving, Watched, say

pytestmark = pytest.mark.browser


def test_every_section_opens_to_its_exact_text_source_cost_and_reason(watched: Watched) -> None:
    page = watched.page
    say(page, "read Agent.md")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.get_by_role("button", name="Context", exact=True).click()
    panel = page.get_by_role("complementary", name="Context")
    expect(panel.locator(".context-total")).to_contain_text(re.compile(r"[\d,]+ tokens"))
    expect(panel.locator(".stack-boundary")).to_be_visible()
    expect(panel.get_by_text("cacheable up to here")).to_be_visible()
    heads = panel.locator(".section-head")
    segments = panel.locator(".stack-segments button")
    assert heads.count() == segments.count() >= 4
    expect(heads.filter(has_text="Tools")).to_be_visible()
    expect(heads.filter(has_text="History")).to_be_visible()
    heads.first.click()
    body = panel.locator(".section-body")
    expect(body).to_contain_text("Why")
    expect(body).to_contain_text("Source")
    expect(body).to_contain_text(re.compile(r"\d+ tokens · "))
    watched.shoot("context")
    with page.expect_response(re.compile(r"/context$")) as answer:
        page.reload()
        page.get_by_role("button", name="Context", exact=True).click()
    included = [section for section in answer.value.json()["sections"] if section["included"]]
    for section in included:
        name = re.compile(rf"^{re.escape(section['title'] or section['name'])}: ")
        segment = panel.locator(".stack-segments").get_by_role("button", name=name).first
        segment.click()
        shown = panel.locator(".section-body .data pre")
        assert shown.text_content() == section["text"]
        segment.click()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


@pytest.mark.parametrize("debug", [True, False], ids=["debug", "plain"])
def test_two_turns_can_be_compared(open_page: OpenPage, serving: Serving, *, debug: bool) -> None:
    if debug:
        serving.kill()
        serving.start(DEBUG="1")
    watched = open_page()
    page = watched.page
    for count, text in enumerate(("tools", "help"), 1):
        say(page, text)
        expect(page.locator(".message.assistant")).to_have_count(count)
        expect(page.get_by_role("button", name="Answer again")).to_be_visible()
        (serving.folder / "Agent.md").write_text("# Captain\n\nYou keep the ship on another course.\n")
    page.get_by_role("button", name="Context", exact=True).click()
    page.get_by_role("button", name="Compare").click()
    panel = page.get_by_role("complementary", name="Context")
    expect(panel.get_by_text(re.compile(r"% of the bytes are the same"))).to_be_visible()
    changed = panel.locator(".changed", has_text="agent")
    if debug:
        expect(changed.locator(".added")).to_contain_text("another course")
        watched.shoot("context-diff")
    else:
        expect(changed).to_contain_text("DEBUG=1")


def test_the_context_fits_a_phone(open_page: OpenPage) -> None:
    watched = open_page(size=PHONE, dark=True)
    page = watched.page
    say(page, "tools")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.get_by_role("button", name="Context", exact=True).click()
    expect(page.locator(".stack-bar")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    watched.shoot("context-phone-dark")
