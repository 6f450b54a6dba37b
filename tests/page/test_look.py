"""Check every view for both languages, dark and light, a phone's width, the keyboard and WCAG AA."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.support.node import install_packages
from tests.support.page import PHONE, ROOT, OpenPage, Serving, Watched, say

pytestmark = pytest.mark.browser

WEBUI = ROOT / "webui"
VIEWS = ("", "approvals", "members", "memory", "skills", "priming", "usage", "audit", "settings")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page: Page) -> list[str]:
    """Ask axe-core what breaks WCAG 2.2 AA on the page as it stands."""
    install_packages(WEBUI)
    page.evaluate((WEBUI / "node_modules/axe-core/axe.min.js").read_text())
    found = page.evaluate(
        "(tags) => axe.run({ runOnly: { type: 'tag', values: tags } }).then((result) => result.violations)",
        RULES,
    )
    return [
        f"{one['id']}: {node['target']} {json.dumps(node.get('any', [])[:1])[:300]}"
        for one in found
        for node in one["nodes"]
    ]


def fill_workspace(watched: Watched) -> None:
    """Have a conversation that shows most of what a thread can hold, and wait for an approval."""
    page = watched.page
    for text in ("markdown", "think about boats", "read Agent.md and missing.md"):
        say(page, text)
        expect(page.locator(".message.user").last).to_contain_text(text)
        expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    say(page, "edit Agent.md: replace briefly with kindly")
    expect(page.locator(".confirmation")).to_be_visible()


def settle(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    expect(page.locator(".spinner")).to_have_count(0)


@pytest.mark.parametrize(("name", "dark", "language"), [("light-en", False, "en"), ("dark-zh", True, "zh")])
def test_every_view_meets_wcag_and_fits_a_phone(
    open_page: OpenPage, serving: Serving, name: str, dark: bool, language: str
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
    desk = open_page(dark=dark, language=language)
    phone = open_page(dark=dark, language=language, size=PHONE)
    for view in (*VIEWS, thread.lstrip("/")):
        label = "thread" if view.startswith("t/") else view or "home"
        for watched, size in ((desk, "desk"), (phone, "phone")):
            page = watched.page
            page.goto(f"{serving.address}/#/{view}")
            settle(page)
            broken += [f"{label} {size}: {trouble}" for trouble in violations(page)]
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > page.evaluate("window.innerWidth"):
                broken.append(f"{label} {size}: {width} px wide")
            watched.shoot(f"{label}-{size}-{name}")
    assert broken == []


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
    dialog = page.get_by_role("dialog", name="New dialog")
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
