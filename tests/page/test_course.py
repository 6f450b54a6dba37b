"""Open a course and pin facts on the page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from shipmate.thread.row import encode_row
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.page import OpenPage, Serving, Watched, say, store_thread
from tests.support.terminal import shipmate

pytestmark = pytest.mark.browser


def talk(page: Page, text: str) -> None:
    say(page, text)
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()


def choose(page: Page, item: str) -> None:
    page.get_by_role("button", name="More for this thread").click()
    page.get_by_role("menuitem", name=item).click()


def test_m6_a_course_is_opened_and_pins_stay_in_sight(watched: Watched, serving: Serving) -> None:
    watched.allow("409")
    page = watched.page
    talk(page, "tools")
    page.locator(".message.assistant").hover()
    page.locator(".message.assistant").get_by_role("button", name="Pin a fact").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("The fact, in a few words")).not_to_be_empty()
    dialog.get_by_label("The fact, in a few words").fill("The port is 8022.")
    watched.shoot("pin-fact")
    dialog.get_by_role("button", name="Pin", exact=True).click()
    pins = page.get_by_role("region", name="Pinned facts")
    expect(pins).to_contain_text("The port is 8022.")
    # What was said before the pin can still be answered anew.
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    choose(page, "New course")
    expect(page.locator(".separator")).to_contain_text("Course 2")
    watched.shoot("course")
    choose(page, "New course")
    expect(page.locator(".toast.bad")).to_contain_text("course 2 has no message yet")
    talk(page, "hello")
    page.reload()
    expect(pins).to_contain_text("The port is 8022.")
    pins.get_by_role("button", name="Take pin 1 off").click()
    expect(pins).to_have_count(0)
    thread = page.url.rsplit("/", 1)[-1].replace("%3A", ":")
    assert "Nothing is pinned" in shipmate(serving.folder, "threads", "pins", thread).stdout


def test_what_another_process_does_reaches_the_page(watched: Watched, serving: Serving) -> None:
    page = watched.page
    talk(page, "tools")
    thread = page.url.rsplit("/", 1)[-1].replace("%3A", ":")
    assert shipmate(serving.folder, "threads", "pin", thread, "Not on Fridays.").returncode == 0
    assert shipmate(serving.folder, "threads", "new-course", thread).returncode == 0
    expect(page.get_by_role("region", name="Pinned facts")).to_contain_text("Not on Fridays.")
    expect(page.locator(".separator")).to_contain_text("Course 2")


def test_a_plan_is_agreed_first_and_steps_are_shown(open_page: OpenPage, serving: Serving) -> None:
    steps = [{"text": "measure <b>it</b>", "done": True}, {"text": "build it", "done": False}]
    address = store_thread(serving.folder, "plan", ["Build a table.", "So I go on."])
    more: UIMessage = {
        "id": "plan-1",
        "role": "assistant",
        "parts": [{"type": "data-steps", "id": "steps", "data": {"steps": steps}}],
    }
    with Layout.at(serving.folder).thread(ThreadId("web", "room", "plan")).open("ab") as file:
        file.write(encode_row(more))
    watched = open_page(address)
    page = watched.page
    listed = page.get_by_role("list", name="Steps").get_by_role("listitem")
    expect(listed).to_have_text(["measure <b>it</b>", "build it"])
    expect(listed.nth(0).get_by_role("checkbox")).to_be_checked()
    choose(page, "Plan first")
    badge = page.locator(".badge", has_text="Plan first: nothing acts yet")
    expect(badge).to_be_visible()
    watched.shoot("plan")
    say(page, "run touch made.txt")
    expect(page.locator(".message.assistant").last).to_contain_text("the plan is not agreed yet")
    assert not (serving.folder / "made.txt").exists()
    choose(page, "Agree to the plan")
    expect(badge).to_have_count(0)
    say(page, "run touch made.txt")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".message.assistant").last).to_contain_text("touch made.txt")
