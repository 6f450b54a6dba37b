"""Check every view for both languages, dark and light, a phone's width, the keyboard and WCAG AA."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.page import PHONE, OpenPage, Serving, Watched, say, settle, violations

pytestmark = pytest.mark.browser

VIEWS = (
    "",
    "approvals",
    "members",
    "memory",
    "skills",
    "priming",
    "platforms",
    "usage",
    "audit",
    "permissions",
    "settings",
)
CONTEXT = {"en": "Context", "zh": "上下文"}


def fill_workspace(watched: Watched) -> None:
    """Have a conversation that shows most of what a thread can hold, and wait for an approval."""
    page = watched.page
    for text in ("markdown", "think about boats", "read Agent.md and missing.md"):
        say(page, text)
        expect(page.locator(".message.user").last).to_contain_text(text)
        expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    say(page, "edit Agent.md: replace briefly with kindly")
    expect(page.locator(".confirmation")).to_be_visible()


def look(watched: Watched, name: str) -> list[str]:
    """Name what is wrong with a screen as it stands, in both themes, and keep a picture of each."""
    page = watched.page
    broken: list[str] = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        # Colours that are still on their way are those of neither theme.
        page.evaluate(
            """() => Promise.allSettled(document.getAnimations()
                .filter((each) => each instanceof CSSTransition).map((each) => each.finished))"""
        )
        broken += [f"{name} {theme}: {trouble}" for trouble in violations(page)]
        watched.shoot(f"{name}-{theme}")
    width = page.evaluate("document.documentElement.scrollWidth")
    return [*broken, f"{name}: {width} px wide"] if width > page.evaluate("window.innerWidth") else broken


def open_overlays(page: Page) -> Iterator[str]:
    """Open what lies over the pages, one after the other, by keys and names of no language."""
    for key, name in (("?", "shortcuts"), ("n", "new-dialog")):
        # The prompt has the focus, where keys are words.
        page.locator("body").evaluate("() => document.activeElement.blur()")
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_visible()
        yield name
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator(".composer textarea")).to_be_focused()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_screen_meets_wcag_in_both_themes_and_fits_a_phone(
    open_page: OpenPage, serving: Serving, browser: Browser, language: str
) -> None:
    (serving.folder / "skills/tides").mkdir(parents=True)
    (serving.folder / "skills/tides/SKILL.md").write_text(
        "---\nname: tides\ndescription: Compute the tides.\n---\n\n# Tides\n"
    )
    (serving.folder / "memory").mkdir()
    (serving.folder / "memory/MEMORY.md").write_text("# Memory\n\n- Tea is at four.\n")
    first = open_page()
    fill_workspace(first)
    thread = first.page.url.split("#", 1)[1]
    broken: list[str] = []
    desk = open_page(language=language)
    phone = open_page(language=language, size=PHONE)
    for view in (*VIEWS, thread.lstrip("/")):
        label = "thread" if view.startswith("t/") else view or "home"
        for watched, size in ((desk, "desk"), (phone, "phone")):
            watched.page.goto(f"{serving.address}/#/{view}")
            settle(watched.page)
            broken += look(watched, f"{label}-{size}-{language}")
    desk.page.get_by_role("button", name=CONTEXT[language], exact=True).click()
    expect(desk.page.get_by_role("complementary", name=CONTEXT[language])).to_be_visible()
    settle(desk.page)
    broken += look(desk, f"context-desk-{language}")
    desk.page.keyboard.press("Escape")
    for name in open_overlays(desk.page):
        broken += look(desk, f"{name}-desk-{language}")
    broken += look_at_the_door(browser, serving, language)
    assert broken == []


def look_at_the_door(browser: Browser, serving: Serving, language: str) -> list[str]:
    """Look at what a browser sees that was never let in."""
    context = browser.new_context(viewport={"width": PHONE[0], "height": PHONE[1]})
    context.add_init_script(f"localStorage.setItem('shipmate.language', '{language}')")
    stranger = Watched(context.new_page(), serving.address)
    stranger.page.goto(serving.address)
    expect(stranger.page.locator("input").first).to_be_visible()
    found = look(stranger, f"door-phone-{language}")
    context.close()
    return found


def test_the_language_is_switched_at_once_and_remembered(watched: Watched) -> None:
    page = watched.page
    page.locator(".rail").get_by_role("link", name="Settings").click()
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("heading", name="设置")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.reload()
    expect(page.get_by_role("heading", name="设置")).to_be_visible()
    page.locator(".rail").get_by_role("link", name="对话").click()
    say(page, "你好")
    expect(page.locator(".message.assistant")).to_contain_text("排练模型")


def test_no_english_word_is_left_in_chinese(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page("#/settings", language="zh")
    rail = watched.page.locator(".rail").inner_text()
    assert not any(character.isascii() and character.isalpha() for character in rail), rail
    # U9: what doctor finds is said in Chinese; names of files and programs stay as they are.
    findings = watched.page.locator(".finding")
    expect(findings.first).to_be_visible()
    for finding in findings.all():
        expect(finding.locator("div")).to_have_text(re.compile("[\u4e00-\u9fff，]"))


def test_the_theme_switch_wins_over_the_system(open_page: OpenPage) -> None:
    watched = open_page("#/settings", dark=True)
    page = watched.page

    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    expect(page.get_by_role("button", name="Light")).to_be_visible()
    dark = background()
    page.get_by_role("button", name="Light").click()
    assert background() != dark
    page.reload()
    expect(page.get_by_role("button", name="Light")).to_have_attribute("aria-pressed", "true")
    assert background() != dark


def test_everything_works_from_the_keyboard(watched: Watched) -> None:
    page = watched.page
    expect(page.locator("#prompt")).to_be_focused()
    page.get_by_role("link", name="Skip to the conversation").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    watched.shoot("shortcuts")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("i")
    expect(page.locator("#prompt")).to_be_focused()
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("tools")
    expect(page.locator("#prompt")).to_have_value("one\ntools")
    page.keyboard.press("Enter")
    expect(page.locator(".message.user")).to_contain_text("tools")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.locator("body").evaluate("() => document.activeElement.blur()")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("tools")
    expect(page.locator(".side-list .thread-link").first).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("#search").evaluate("(field) => field.blur()")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New thread")
    expect(dialog.get_by_role("combobox", name="Member")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_focus_can_be_seen(watched: Watched) -> None:
    page = watched.page
    expect(page.locator("#prompt")).to_be_focused()
    page.get_by_role("link", name="Skip to the conversation").focus()
    for _ in range(14):
        page.keyboard.press("Tab")
        marked = page.evaluate(
            """() => {
                const seen = (element) => {
                    const style = getComputedStyle(element);
                    return style.outlineStyle !== "none" || style.boxShadow !== "none";
                };
                const element = document.activeElement;
                return seen(element) || [...document.querySelectorAll(".prompt:focus-within")].some(seen);
            }"""
        )
        assert marked, page.evaluate("document.activeElement.outerHTML")


def test_yolo_is_loud(open_page: OpenPage, serving: Serving) -> None:
    (serving.folder / "ship.json").write_text(json.dumps({"permissions": {"mode": "yolo"}}))
    serving.kill()
    serving.start()
    watched = open_page()
    expect(watched.page.get_by_role("alert")).to_contain_text("every tool call runs without asking")
    watched.shoot("yolo")
