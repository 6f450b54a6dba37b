"""What is written in an editor and not saved outlives the page, and nothing acts on the older text unsaid."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.page.test_look import violations
from tests.page.test_script import PROBE, edit, open_script, put
from tests.support.page import OpenPage, Serving

pytestmark = pytest.mark.browser

LOW = PROBE.replace("When is high water?", "When is low water?")
SCRIPT = "#/priming/team_shared%2Fprobe"


def written(page: Page) -> None:
    """Write in the script's editor and wait until the page says that it is not saved."""
    edit(page)
    page.get_by_label("Text of the script").fill(LOW)
    expect(page.locator(".editor-bar").get_by_text("not saved")).to_be_visible()


def stored(serving: Serving) -> str:
    return (serving.folder / ".minds/priming/team_shared/probe.md").read_text()


def test_a_script_not_saved_outlives_another_page_a_reload_and_a_closed_tab(
    open_page: OpenPage, serving: Serving
) -> None:
    watched = open_script(open_page, serving)
    page = watched.page
    written(page)
    page.get_by_role("link", name="Priming").last.click()
    card = page.locator(".script-card")
    expect(card).to_contain_text("not saved")
    # A dialog from the library says which text it begins with.
    card.get_by_role("button", name=re.compile("Begin a thread")).click()
    expect(page.get_by_role("dialog")).to_contain_text("begins with the saved text")
    page.get_by_role("dialog").get_by_role("button", name="Open the editor").click()
    text = page.get_by_label("Text of the script")
    expect(text).to_have_value(LOW)
    page.reload()
    expect(text).to_have_value(LOW)
    expect(page.get_by_text("what you wrote before")).to_be_visible()
    watched.shoot("script-draft")
    assert violations(page) == []
    again = open_page(SCRIPT, same_as=watched).page
    page.close(run_before_unload=True)
    expect(again.get_by_label("Text of the script")).to_have_value(LOW)
    assert stored(serving) == PROBE
    again.get_by_role("button", name="Discard").click()
    again.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(again.get_by_label("Text of the script")).to_have_value(PROBE)
    again.reload()
    expect(again.locator(".script-talk")).to_contain_text("When is high water?")


def test_a_dialog_begins_with_what_stands_in_the_editor(open_page: OpenPage, serving: Serving) -> None:
    page = open_script(open_page, serving).page
    written(page)
    page.get_by_role("button", name="Conversation", exact=True).click()
    expect(page.get_by_text("has changes that are not saved")).to_be_visible()
    page.get_by_role("button", name="Save and begin a thread").click()
    expect(page.locator(".primed")).to_contain_text("When is low water?")
    assert stored(serving) == LOW


def test_a_rehearsal_is_of_what_stands_in_the_editor(open_page: OpenPage, serving: Serving) -> None:
    page = open_script(open_page, serving).page
    written(page)
    page.get_by_role("button", name="Rehearsal", exact=True).click()
    page.get_by_label("Who answers").select_option("script")
    page.get_by_role("button", name="Save and rehearse").click()
    expect(page.locator(".rehearsal-turn summary")).to_contain_text("When is low water?")
    assert stored(serving) == LOW


def test_no_dialog_begins_over_somebody_elses_change(open_page: OpenPage, serving: Serving) -> None:
    watched = open_script(open_page, serving)
    watched.allow("409")
    page = watched.page
    written(page)
    theirs = PROBE.replace("At four", "At nine")
    put(serving, "team_shared/probe", theirs)
    page.get_by_role("button", name="Save and begin a thread").click()
    expect(page.get_by_role("alert")).to_contain_text("Someone else changed this file")
    expect(page.get_by_label("Text of the script")).to_have_value(LOW)
    assert stored(serving) == theirs
    # The draft still knows after a reload that it was written against an older text.
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("Someone else changed this file")
    expect(page.get_by_label("Text of the script")).to_have_value(LOW)
    page.get_by_role("button", name="Read theirs").click()
    expect(page.get_by_label("Text of the script")).to_have_value(theirs)


def test_a_members_file_not_saved_outlives_the_page(open_page: OpenPage, serving: Serving) -> None:
    (serving.folder / "Agent.md").write_bytes(b"# Captain\r\n\r\nYou hum.\r\n")
    page = open_page("#/members").page
    text = page.get_by_role("textbox", name="Agent.md")
    expect(text).to_have_value("# Captain\n\nYou hum.\n")
    text.fill("# Captain\n\nYou sing.\n")
    expect(page.locator(".editor-bar").get_by_text("not saved")).to_be_visible()
    page.goto(f"{serving.address}/#/skills")
    expect(page.get_by_role("heading", name="Skills")).to_be_visible()
    page.goto(f"{serving.address}/#/members")
    expect(text).to_have_value("# Captain\n\nYou sing.\n")
    page.reload()
    expect(text).to_have_value("# Captain\n\nYou sing.\n")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Agent.md is saved")
    # A file of Windows stays one.
    assert (serving.folder / "Agent.md").read_bytes() == b"# Captain\r\n\r\nYou sing.\r\n"
    page.reload()
    expect(text).to_have_value("# Captain\n\nYou sing.\n")
    expect(page.locator(".editor .badge")).to_have_count(0)


def test_a_browser_that_keeps_nothing_asks_before_it_leaves(open_page: OpenPage, serving: Serving) -> None:
    page = open_script(open_page, serving).page
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full') } }")
    written(page)
    page.goto(f"{serving.address}/#/skills")
    expect(page.get_by_role("heading", name="Skills")).to_be_visible()
    page.goto(f"{serving.address}/{SCRIPT}")
    expect(page.get_by_label("Text of the script")).to_have_value(LOW)
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    with page.expect_event("dialog"):
        page.close(run_before_unload=True)
    expect(page.get_by_label("Text of the script")).to_have_value(LOW)
    assert asked == ["beforeunload"]


def test_an_earlier_text_of_a_script_is_taken_again(open_page: OpenPage, serving: Serving) -> None:
    watched = open_script(open_page, serving)
    page = watched.page
    written(page)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("is saved")
    page.get_by_role("button", name="History", exact=True).click()
    card = page.locator("details.card")
    expect(card).to_have_count(1)
    card.locator("summary").click()
    expect(card).to_contain_text("When is high water?")
    expect(page.locator(".script-uses")).to_contain_text("No thread yet.")
    watched.shoot("script-history")
    assert violations(page) == []
    card.get_by_role("button", name="Take this version").click()
    expect(page.get_by_label("Text of the script")).to_have_value(PROBE)
    assert stored(serving) == LOW
