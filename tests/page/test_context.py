"""Look at what the model reads: every section with its text, price and reason, and a diff of two turns."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.support.page import PHONE, OpenPage, Serving, Watched, say, violations

pytestmark = pytest.mark.browser


def test_u5_every_row_opens_to_its_exact_text_and_the_numbers_add_up(watched: Watched) -> None:
    page = watched.page
    say(page, "read Agent.md")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    with page.expect_response(re.compile(r"/context$")) as answer:
        page.get_by_role("button", name="Context", exact=True).click()
    told = answer.value.json()["now"]
    panel = page.get_by_role("complementary", name="Context")
    expect(panel.locator(".context-total")).to_contain_text(f"{told['totalTokens']:,} tokens")
    expect(panel.locator(".context-window")).to_contain_text(f"of the {told['window']:,} tokens")
    expect(panel.locator(".stack-boundary")).to_be_visible()
    heads = panel.locator(".section-head")
    shown = [int(text.replace(",", "")) for text in heads.locator(".numeric").all_text_contents()]
    assert len(shown) == panel.locator(".stack-segments span").count() >= 5
    assert sum(shown) == told["totalTokens"]
    grown = [
        int(each.evaluate("box => box.style.flexGrow"))
        for each in panel.locator(".stack-segments span").all()
    ]
    assert grown == shown
    text = panel.locator(".section-body .data pre")
    for segment, section in zip(panel.locator(".stack-segments span").all(), told["sections"], strict=False):
        segment.click()
        expect(panel.locator(".section-body")).to_contain_text("Why")
        assert text.text_content() == section["text"]
        segment.click()
    heads.filter(has_text="Tools").click()
    rows = panel.locator(".row-head")
    assert rows.count() == told["tools"]["count"]
    rows.first.click()
    assert json.loads(text.text_content() or "")["name"] == told["tools"]["items"][0]["name"]
    watched.shoot("context")
    heads.filter(has_text="History").click()
    assert rows.count() == told["history"]["count"] == 4
    rows.nth(2).click()
    expect(text).to_contain_text("← read (success)")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


def test_u5_any_message_opens_to_what_the_model_read_and_turns_are_compared(
    open_page: OpenPage, serving: Serving
) -> None:
    watched = open_page()
    page = watched.page
    for count, text in enumerate(("tools", "read Agent.md"), 1):
        say(page, text)
        expect(page.locator(".message.assistant")).to_have_count(count)
        expect(page.get_by_role("button", name="Answer again")).to_be_visible()
        (serving.folder / "Agent.md").write_text("# Captain\n\nYou keep the ship on another course.\n")
    page.get_by_role("button", name="Answer again").click()
    expect(page.locator(".versions")).to_contain_text("2 / 2")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    panel = page.get_by_role("complementary", name="Context")
    # From a message: the answer's own turn, which was asked twice.
    page.locator(".message.assistant").last.get_by_role("button", name="What the model read").click()
    turn = panel.get_by_role("combobox", name="Turn")
    expect(turn).to_have_value("3")
    expect(turn.locator("option").nth(2)).to_contain_text("read Agent.md · attempt 2 of 2")
    steps = panel.get_by_role("region", name="Steps").locator("tbody tr")
    expect(steps).to_have_count(2)
    expect(panel.locator(".step[aria-pressed=true]")).to_have_text("2")
    panel.locator(".section-head", has_text="History").click()
    expect(panel.locator(".row-head").last).to_contain_text("← read (success)")
    watched.shoot("context-turn")
    assert violations(page) == []
    steps.first.get_by_role("button").click()
    expect(panel.locator(".step[aria-pressed=true]")).to_have_text("1")
    panel.locator(".section-head", has_text="History").click()
    expect(panel.locator(".row-head").last).to_contain_text("read Agent.md")
    # What a person said opens the turn that answered it.
    page.locator(".message.user").first.hover()
    page.locator(".message.user").first.get_by_role("button", name="What the model read").click()
    expect(turn).to_have_value("1")
    page.get_by_role("button", name="Compare").click()
    panel.get_by_label("From turn").select_option("1")
    expect(panel.locator(".note")).to_contain_text(
        re.compile(r"% is the same: [\d,]+ of [\d,]+ tokens, up to section agent")
    )
    changed = panel.locator(".changed", has_text="section agent")
    expect(changed.locator(".added")).to_contain_text("another course")
    expect(panel.locator(".changed", has_text="message 2")).to_contain_text("added")
    watched.shoot("context-diff")
    assert violations(page) == []


def test_u5_what_is_not_kept_is_said_with_what_to_do(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page(language="zh")
    page = watched.page
    for count in (1, 2):
        say(page, "tools")
        expect(page.locator(".message.assistant")).to_have_count(count)
        expect(page.get_by_role("button", name="重新回答")).to_be_visible()
        if count == 1:
            for path in (serving.folder / ".ship/context").iterdir():
                path.unlink()
    page.locator(".message.assistant").first.hover()
    page.locator(".message.assistant").first.get_by_role("button", name="模型读到的内容").click()
    panel = page.get_by_role("complementary", name="上下文")
    expect(panel.locator(".note.warn")).to_contain_text("已不再保存")
    expect(panel.locator(".note.warn")).to_contain_text("context.keepDays")
    panel.get_by_role("combobox", name="回合").select_option("1")
    expect(panel.get_by_role("region", name="步骤").locator("tbody tr")).to_have_count(1)
    expect(panel.locator(".context-window")).to_contain_text("一次可读的")
    expect(panel.get_by_role("button", name="核心身份")).to_be_visible()
    panel.get_by_role("button", name="核心身份").click()
    expect(panel.locator(".section-body")).to_contain_text("始终都有")
    watched.shoot("context-turn-zh")


def test_the_context_fits_a_phone(open_page: OpenPage) -> None:
    watched = open_page(size=PHONE, dark=True)
    page = watched.page
    say(page, "tools")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.get_by_role("button", name="Context", exact=True).click()
    expect(page.locator(".stack-bar")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    watched.shoot("context-phone-dark")
