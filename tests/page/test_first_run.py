"""Begin in an empty folder: an Agent.md from an example, the rehearsal model, and a key tested live."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.page import PHONE, OpenPage, Serving, Watched, say

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder without an Agent.md."""
    return tmp_path


def test_an_empty_folder_becomes_a_workspace(watched: Watched, serving: Serving) -> None:
    page = watched.page
    watched.allow("409")
    expect(page.get_by_role("heading", name="Welcome aboard")).to_be_visible()
    examples = page.locator(".examples button")
    expect(examples).to_have_count(3)
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("heading", name="欢迎上船")).to_be_visible()
    watched.shoot("first-run-zh")
    page.get_by_role("button", name="English").click()
    examples.nth(1).click()
    watched.shoot("first-run")
    text = page.get_by_label("Agent.md")
    text.fill(text.input_value() + "\nAlways speak of the sea.\n")
    page.get_by_role("button", name="Create Agent.md and begin").click()
    expect(page.locator("#prompt")).to_be_visible()
    assert "Always speak of the sea." in (serving.folder / "Agent.md").read_text()
    expect(page.get_by_text("The rehearsal model is answering.")).to_be_visible()
    say(page, "hello")
    expect(page.locator(".message.assistant")).to_contain_text("rehearsal model")


def test_the_first_run_fits_a_phone(open_page: OpenPage) -> None:
    watched = open_page(size=PHONE, dark=True)
    expect(watched.page.locator(".examples button")).to_have_count(3)
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    watched.shoot("first-run-phone-dark")


def test_a_key_is_tested_live(watched: Watched, serving: Serving) -> None:
    (serving.folder / "Agent.md").write_text("# Captain\n")
    page = watched.page
    watched.allow("409")
    page.reload()
    page.get_by_role("link", name="Add a key").click()
    expect(page.get_by_role("heading", name="Model")).to_be_visible()
    page.get_by_label("Provider").select_option("openai-compatible")
    page.get_by_label("Model", exact=True).fill("some-model")
    page.get_by_label("Key", exact=True).fill("sk-not-a-key")
    # A port nobody listens on stands for a provider that cannot be reached.
    page.get_by_label("Address").fill("http://127.0.0.1:1/v1")
    page.get_by_role("button", name="Test the key").click()
    expect(page.locator(".key-test .note.bad")).to_contain_text(re.compile("reach|network", re.IGNORECASE))
    expect(page.locator(".key-test .code")).to_contain_text("some-model")
    assert "sk-not-a-key" not in page.locator(".key-test .code").inner_text()
    watched.shoot("key-test")
