"""Nothing that someone made is lost, and the focus is where people go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.support.page import REFUSED, OpenPage, Serving, Watched, log_in, say

pytestmark = pytest.mark.browser

DROP = """([selector, name]) => {
    const data = new DataTransfer();
    data.items.add(new File(["soundings"], name, { type: "text/plain" }));
    const drop = { dataTransfer: data, bubbles: true, cancelable: true };
    document.querySelector(selector).dispatchEvent(new DragEvent("dragover", drop));
    document.querySelector(selector).dispatchEvent(new DragEvent("drop", drop));
}"""


def answered(page: Page) -> None:
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()


def test_u2_a_draft_with_its_files_outlives_threads_reloads_and_restarts(
    open_page: OpenPage, serving: Serving, tmp_path: Path
) -> None:
    watched = open_page()
    watched.allow(REFUSED)
    page = watched.page
    say(page, "tools")
    answered(page)
    thread = page.url
    picture = tmp_path / "quay.png"
    Image.new("RGB", (12, 8), (11, 107, 116)).save(picture)
    page.locator("#prompt").fill("not sent yet")
    page.locator("input[type=file]").set_input_files(picture)
    # A drop anywhere on the page is one on the prompt.
    page.evaluate(DROP, [".side", "log.txt"])
    expect(page.locator(".chip")).to_have_count(2)
    expect(page.locator(".chip .spinner")).to_have_count(0)
    page.goto(f"{serving.address}/#/")
    expect(page.get_by_role("heading", name="What shall")).to_be_visible()
    expect(page.locator("#prompt")).to_have_value("")
    expect(page.locator(".chip")).to_have_count(0)
    page.locator("#prompt").fill("a new one")
    page.goto(thread)
    expect(page.locator("#prompt")).to_have_value("not sent yet")
    expect(page.locator(".chip")).to_have_text(["quay.png", "log.txt"])
    # What is attached while the server is away is uploaded when it is back.
    serving.kill()
    page.evaluate(DROP, [".rail", "late.txt"])
    expect(page.locator(".chip .spinner")).to_have_count(1)
    serving.start()
    expect(page.locator(".chip .spinner")).to_have_count(0)
    page.reload()
    expect(page.locator("#prompt")).to_have_value("not sent yet")
    expect(page.locator(".chip")).to_have_text(["quay.png", "log.txt", "late.txt"])
    page.locator("#prompt").press("Enter")
    mine = page.locator(".message.user").last
    expect(mine).to_contain_text("not sent yet")
    expect(mine.locator(".picture")).to_be_visible()
    answered(page)
    page.reload()
    expect(page.locator(".message.user")).to_have_count(2)
    expect(page.locator("#prompt")).to_have_value("")
    expect(page.locator(".chip")).to_have_count(0)


def test_u2_another_workspace_at_the_same_address_is_told_nothing_of_this_one(
    open_page: OpenPage, serving: Serving, tmp_path: Path
) -> None:
    here, other = serving.folder, tmp_path / "other"
    other.mkdir()
    (other / "Agent.md").write_text("# Bosun\n")

    def serve(folder: Path) -> None:
        serving.kill()
        serving.folder = folder
        serving.start()

    watched = open_page()
    watched.allow(REFUSED)
    # What this page asks for is refused where it is unknown.
    watched.allow("40[0-9]")
    # Nor can the worker's script be fetched while nobody serves it.
    watched.allow("when fetching the script")
    page = watched.page
    # The browser is let in at both.
    serve(other)
    log_in(page.context, serving)
    serve(here)
    page.reload()
    say(page, "tools")
    answered(page)
    thread = page.url
    serving.kill()
    say(page, "sail at dawn")
    expect(page.locator(".message.user")).to_have_count(2)
    page.goto(f"{serving.address}/#/")
    page.locator("#prompt").fill("with the tide")
    page.evaluate(DROP, [".side", "log.txt"])
    expect(page.locator(".chip")).to_have_count(1)
    serve(other)
    expect(page.locator(".side-name")).to_have_text("other")
    expect(page.locator("#prompt")).to_have_value("")
    expect(page.locator(".chip")).to_have_count(0)
    said = [path.read_bytes() for path in (other / ".ship").rglob("*.jsonl")]
    assert not any(b"sail at dawn" in text or b"tide" in text for text in said)
    serve(here)
    page.reload()
    expect(page.locator("#prompt")).to_have_value("with the tide")
    expect(page.locator(".chip")).to_have_text(["log.txt"])
    page.goto(thread)
    expect(page.locator(".message.user").last).to_contain_text("sail at dawn")
    expect(page.locator(".message.assistant")).to_have_count(2)


def test_u2_a_refused_message_comes_back_with_its_files_and_an_edit_stays_open(
    open_page: OpenPage, serving: Serving
) -> None:
    watched = open_page()
    watched.allow("413")
    page = watched.page
    say(page, "tools")
    answered(page)
    page.locator(".message.user").hover()
    page.get_by_role("button", name="Edit and send again").click()
    page.locator(".edit-message textarea").fill("half an edit")
    page.reload()
    expect(page.locator(".edit-message textarea")).to_have_value("half an edit")
    page.get_by_role("button", name="Cancel").click()
    page.evaluate(DROP, ["body", "log.txt"])
    expect(page.locator(".chip .spinner")).to_have_count(0)
    refusal = {"error": {"code": "too-large", "message": "Too much.", "next": "Send less."}}
    page.route("**/api/chat", lambda route: route.fulfill(status=413, json=refusal))
    say(page, "an answer to this is refused")
    expect(page.get_by_role("alert")).to_contain_text("Too much.")
    expect(page.locator("#prompt")).to_have_value("an answer to this is refused")
    expect(page.locator(".chip")).to_have_text(["log.txt"])
    expect(page.locator(".message.user")).to_have_count(1)
    page.unroute("**/api/chat")
    page.reload()
    expect(page.locator("#prompt")).to_have_value("an answer to this is refused")
    page.locator("#prompt").press("Enter")
    expect(page.locator(".message.user").last).to_contain_text("log.txt")
    answered(page)


def test_u1_the_focus_is_always_where_someone_goes_on(open_page: OpenPage) -> None:
    page = open_page().page
    prompt = page.locator("#prompt")
    expect(prompt).to_be_focused()
    page.keyboard.type("run echo ahoy")
    page.keyboard.press("Enter")
    approve = page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_enabled()
    expect(prompt).to_be_focused()
    approve.focus()
    page.keyboard.press("Enter")
    answered(page)
    expect(prompt).to_be_focused()
    # A key of an input method, and one while a message is begun, are words and no shortcuts.
    page.keyboard.type("begun")
    page.locator(".conversation").focus()
    page.evaluate(
        "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'n', keyCode: 229, bubbles: true }))"
    )
    page.keyboard.press("n")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(prompt).to_have_value("begunn")
    prompt.fill("")
    page.get_by_role("button", name="More for this thread").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_label("Title").fill("Ahoy")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate("document.activeElement !== document.body")


def test_u3_messages_sent_while_the_server_is_away_wait_in_sight_and_the_rerun_shows(
    watched: Watched, serving: Serving
) -> None:
    watched.allow(REFUSED)
    page = watched.page
    say(page, "count to 60 slowly")
    expect(page.locator(".message.assistant")).to_contain_text("1 2 3")
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    serving.kill()
    expect(page.get_by_text("The connection is lost")).to_be_visible()
    say(page, "tools")
    say(page, "help")
    expect(page.get_by_text("Waiting for the server")).to_have_count(2)
    watched.shoot("waiting-message")
    # The page may be closed meanwhile: what waits does so in the browser.
    page.reload()
    expect(page.get_by_role("heading", name="The server is away")).to_be_visible()
    serving.start()
    expect(page.get_by_text("The connection is lost")).to_have_count(0)
    # The run that was cut goes on in sight, and what waited is behind it.
    expect(page.locator(".message.assistant").first).to_contain_text("59 60")
    expect(page.locator(".message.assistant").last).to_contain_text("tools on offer")
    answered(page)
    expect(page.locator(".message.user")).to_have_count(3)
