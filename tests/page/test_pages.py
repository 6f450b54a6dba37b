"""Use the pages of the workspace: threads, members, memory, skills, priming, usage, audit, settings."""

from __future__ import annotations

import gzip
import re

import pytest
from playwright.sync_api import expect

from shipmate.memory.memory_entry import MemoryEntry
from shipmate.memory.service import EntryChange, MemoryService
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.page import BUILT, PHONE, ROOT, OpenPage, Serving, Watched, say, store_thread

pytestmark = pytest.mark.browser

SCRIPT_LIMIT = 300_000


def answered(watched: Watched, text: str) -> None:
    say(watched.page, text)
    expect(watched.page.get_by_role("button", name="Answer again")).to_be_visible()


def test_threads_are_found_renamed_archived_binned_and_restored(watched: Watched, serving: Serving) -> None:
    page = watched.page
    layout = Layout.at(serving.folder)
    for number in range(120):
        thread = ThreadId("web", "room", f"old{number}")
        store_thread(serving.folder, thread.scope_id, [f"old words {number}"])
        layout.thread_bin(thread).parent.mkdir(exist_ok=True)
        layout.thread(thread).rename(layout.thread_bin(thread))
    answered(watched, "think about lighthouses")
    page.get_by_role("button", name="More for this thread").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_label("Title").fill("Lights")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Lights")).to_be_visible()
    page.get_by_label("Search").fill("lighthouses")
    expect(page.locator(".side-list .thread-link")).to_have_count(1)
    page.get_by_label("Search").fill("")
    page.get_by_role("button", name="More for this thread").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(page.locator(".side-list")).to_contain_text("No threads yet")
    page.get_by_role("button", name="Archived", exact=True).click()
    expect(page.locator(".thread-row")).to_contain_text("Lights")
    page.get_by_role("button", name="Restore").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator(".thread-row")).to_contain_text("Lights")
    page.get_by_role("button", name="More for this thread").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".side-list")).to_contain_text("No threads yet")
    page.get_by_role("button", name="Bin", exact=True).click()
    expect(page.locator(".thread-row").first).to_contain_text("Lights")
    # A shelf is read page by page, to its end.
    page.get_by_role("button", name="Show older threads").click()
    expect(page.get_by_role("button", name="Show older threads")).to_have_count(0)
    page.locator(".side-list").evaluate("(list) => list.scrollTo(0, list.scrollHeight)")
    expect(page.get_by_text("old words 99", exact=True)).to_be_visible()
    page.locator(".side-list").evaluate("(list) => list.scrollTo(0, 0)")
    page.get_by_role("button", name="Restore").first.click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator(".thread-row")).to_contain_text("Lights")


def test_a_members_file_is_edited_previewed_and_never_overwritten_unseen(
    open_page: OpenPage, serving: Serving
) -> None:
    watched = open_page("#/members")
    watched.allow("409")
    page = watched.page
    text = page.get_by_role("textbox", name="Agent.md")
    expect(text).to_have_value("# Captain\n\nYou keep the ship on course and answer briefly.\n")
    text.fill("# Captain\n\nYou sing.\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".editor-preview")).to_contain_text("You sing.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Agent.md is saved")
    assert "You sing." in (serving.folder / "Agent.md").read_text()
    page.get_by_role("button", name="History").click()
    page.locator(".editor details.card summary").first.click()
    expect(page.locator(".editor .diff .removed")).to_contain_text("You sing.")
    expect(page.locator(".editor .diff .added")).to_contain_text("You keep the ship on course")
    watched.shoot("member-history")
    page.get_by_role("button", name="Restore this version").click()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    assert "answer briefly" in (serving.folder / "Agent.md").read_text()
    undo.click()
    expect(undo).to_have_count(0)
    assert "You sing." in (serving.folder / "Agent.md").read_text()
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(text).to_have_value("# Captain\n\nYou sing.\n")
    text.fill("# Captain\n\nMine.\n")
    # An editor writes the file; the page hears of it.
    (serving.folder / "Agent.md").write_text("# Captain\n\nSomeone else was here.\n")
    expect(page.get_by_role("alert")).to_contain_text("Someone else changed this file")
    watched.shoot("member-clash")
    assert "Someone else" in (serving.folder / "Agent.md").read_text()
    page.get_by_role("button", name="Keep mine").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".editor .badge")).to_have_count(0)
    assert "Mine." in (serving.folder / "Agent.md").read_text()


def test_u8_memory_is_made_edited_and_deleted_here_or_on_disk(open_page: OpenPage, serving: Serving) -> None:
    (serving.folder / "memory").mkdir()
    (serving.folder / "memory" / "MEMORY.md").write_text("The harbour is north.\n")
    watched = open_page("#/memory")
    page = watched.page
    text = page.get_by_role("textbox", name="memory/MEMORY.md")
    text.fill("The harbour is south.\n")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast").first).to_be_visible()
    assert "south" in (serving.folder / "memory" / "MEMORY.md").read_text()
    (serving.folder / "memory" / "MEMORY.md").write_text("The harbour is west.\n")
    expect(text).to_have_value("The harbour is west.\n")
    page.get_by_role("button", name="New memory file").click()
    page.get_by_label("File name").fill("tides")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("textbox", name="memory/tides.md")).to_be_visible()
    made = serving.folder / "memory" / "tides.md"
    assert made.exists()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(text).to_be_visible()
    expect(page.locator(".file-list")).not_to_contain_text("tides.md")
    assert not made.exists()
    page.get_by_role("button", name="Restore memory/tides.md").click()
    expect(page.get_by_role("textbox", name="memory/tides.md")).to_be_visible()
    assert made.exists()
    # What members were allowed to remember says where it is from.
    page.get_by_role("button", name="New memory file").click()
    page.get_by_label("What it is about").select_option("project")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("textbox", name=".ship/memory/project.md")).to_be_visible()
    layout = Layout(serving.folder)
    entry = MemoryEntry(
        heading="Release day", text="Thursdays.", date="2026-11-16", source="web:room:1", is_tainted=True
    )
    MemoryService(layout).write([EntryChange(path=layout.project_memory, entry=entry)])
    item = page.locator("li", has_text="Release day")
    expect(item).to_contain_text("strangers' words")
    expect(item.get_by_role("link")).to_have_attribute("href", "#/t/web%3Aroom%3A1")
    watched.shoot("memory-entries")


def test_u8_rules_are_tried_out_before_they_are_saved(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page("#/permissions", size=PHONE)
    page = watched.page
    page.get_by_label("What exactly").fill("git status")
    judge = page.get_by_role("button", name="What would happen?")
    judge.click()
    verdict = page.locator(".note .badge")
    expect(verdict).to_have_text("a person is asked")
    page.get_by_role("textbox", name="Deny", exact=True).fill("exec(git status)")
    judge.click()
    expect(verdict).to_have_text("is refused")
    expect(page.get_by_text("by the rule exec(git status)")).to_be_visible()
    assert not (serving.folder / "ship.json").exists()
    watched.shoot("rules-phone")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("hold from the next call on")
    assert "exec(git status)" in (serving.folder / "ship.json").read_text()
    # Written elsewhere, shown here.
    (serving.folder / "ship.json").write_text('{"permissions": {"mode": "yolo", "allow": ["write"]}}')
    expect(page.get_by_role("textbox", name="Allow", exact=True)).to_have_value("write")
    expect(page.locator(".banner.loud")).to_be_visible()
    menu = page.get_by_role("button", name="Menu")
    menu.click()
    expect(page.locator(".shell")).to_have_class(re.compile("drawer-open"))
    page.keyboard.press("Escape")
    expect(page.locator(".shell")).not_to_have_class(re.compile("drawer-open"))
    expect(menu).to_be_focused()


def test_usage_audit_skills_priming_and_doctor_show_what_there_is(watched: Watched, serving: Serving) -> None:
    page = watched.page
    answered(watched, "read Agent.md")
    say(page, "run date")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".tool .badge")).to_have_text(["done", "done"])
    page.goto(f"{serving.address}/#/usage")
    # The rehearsal model costs nothing, so only the plot of tokens is there.
    expect(page.locator(".plot svg")).to_have_count(1)
    expect(page.locator(".plot rect").last).to_be_visible()
    expect(page.locator(".data-table")).to_contain_text("rehearsal")
    page.get_by_role("button", name="Member", exact=True).click()
    expect(page.locator(".data-table tbody")).to_contain_text("captain")
    with page.expect_download() as kept:
        page.get_by_role("button", name="CSV").click()
    assert kept.value.path().read_text().startswith("member,requests,inputTokens,")
    page.get_by_role("button", name="Thread", exact=True).click()
    expect(page.locator(".data-table tbody a")).to_have_count(1)
    page.goto(f"{serving.address}/#/audit")
    # One row for the call that acted, whatever happened to it; reading leaves no trace.
    expect(page.locator(".audit-row")).to_have_count(1)
    expect(page.locator(".audit-row")).to_contain_text("exec date")
    expect(page.get_by_text("4 entries, none cut or changed")).to_be_visible()
    page.locator(".audit-row").click()
    expect(page.locator(".audit-events > li")).to_have_count(4)
    expect(page.locator(".audit-events > li").nth(1)).to_contain_text("approved")
    page.goto(f"{serving.address}/#/settings")
    expect(page.locator(".finding").first).to_be_visible()
    page.goto(f"{serving.address}/#/priming")
    expect(page.get_by_text("No scripts yet")).to_be_visible()
    page.goto(f"{serving.address}/#/memory")
    expect(page.locator(".empty, .split").first).to_be_visible()
    page.goto(f"{serving.address}/#/skills")
    expect(page.locator(".empty, .grid").first).to_be_visible()


def test_an_unknown_thread_says_so(open_page: OpenPage) -> None:
    watched = open_page("#/t/web%3Aroom%3Anowhere")
    watched.allow("404")
    expect(watched.page.get_by_text("There is no such thread.")).to_be_visible()


def test_what_a_model_writes_cannot_run_or_call_home(watched: Watched) -> None:
    page = watched.page
    # The rehearsal model repeats words it does not understand, as Markdown.
    html = "<img src=https://evil.example/a onerror=alert(1)><script>alert(2)</script>"
    answered(watched, f"Ahoy {html} ![pixel](https://evil.example/b.png) [press](javascript:alert(3))")
    answer = page.locator(".message.assistant")
    expect(answer).to_contain_text("onerror=alert(1)")
    expect(answer.get_by_role("link", name="pixel")).to_have_attribute("rel", "noreferrer noopener")
    assert answer.locator("img, script").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0


def test_the_first_load_is_light() -> None:
    page = BUILT.read_text()
    scripts = [path for path in (BUILT.parent / "assets").glob("*.js") if path.name in page]
    size = sum(len(gzip.compress(path.read_bytes(), 6)) for path in scripts)
    assert scripts
    assert size <= SCRIPT_LIMIT, f"{size} bytes"
    assert "<script>" not in page
    assert "style=" not in page


def test_the_lock_file_names_no_address() -> None:
    lock = (ROOT / "webui/package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert '"integrity"' in lock
