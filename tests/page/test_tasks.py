"""Tasks on the page: made with their next times in sight, edited, paused, begun, and what became of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.support.page import PHONE, OpenPage, Serving, violations

pytestmark = pytest.mark.browser


def test_a_task_is_made_edited_begun_paused_and_deleted(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page("#/tasks")
    # A page may ask for a task in the moment in which it goes.
    watched.allow("404")
    page = watched.page
    expect(page.get_by_text("No tasks yet")).to_be_visible()
    page.get_by_role("button", name="New task").click()
    page.get_by_label("Title").fill("Count the files")
    page.get_by_label("When", exact=True).fill("0 0 31 2 *")
    expect(page.get_by_text("never comes")).to_be_visible()
    expect(page.get_by_role("button", name="Make the task")).to_be_disabled()
    page.get_by_label("When", exact=True).fill("every 2h")
    expect(page.get_by_role("dialog").locator("time")).to_have_count(3)
    page.get_by_label("What to do").fill("list files")
    watched.shoot("task-new")
    page.get_by_role("button", name="Make the task").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    path = serving.folder / ".ship/tasks/count-the-files.md"
    assert 'when: "every 2h"' in path.read_text()

    page.get_by_role("button", name="Run now").click()
    log = page.get_by_role("region", name="Past times")
    expect(log.locator("li")).to_have_count(1)
    expect(log).to_contain_text("done")
    expect(log).to_contain_text("by hand")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    text = page.get_by_role("textbox", name=".ship/tasks/count-the-files.md")
    expect(text).to_have_value(path.read_text())
    text.fill(path.read_text().replace("enabled: false\n", "").replace("every 2h", "0 9 * * *"))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("code", has_text="0 9 * * *").first).to_be_visible()

    # What another process left is shown as well, and a file that cannot be read is named.
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)
    line = {"task": "count-the-files", "due": f"{due:%Y-%m-%dT%H:%M:%SZ}", "status": "uncertain"}
    put = {"do": "put", "occurrence": {**line, "at": f"{due:%Y-%m-%dT%H:%M:%S}.000Z", "why": "nobody-knows"}}
    with (serving.folder / ".ship/occurrences.jsonl").open("a") as file:
        file.write(json.dumps(put) + "\n")
    (path.parent / "bad.md").write_text("---\nwhen: sometimes\n---\nx\n")
    expect(log).to_contain_text("nothing knows it any more")
    watched.shoot("tasks")
    assert violations(page) == []
    page.get_by_role("button", name="bad").click()
    expect(page.get_by_role("alert")).to_contain_text("has 1 fields")
    chinese = open_page("#/tasks/count-the-files", language="zh", size=PHONE, dark=True)
    chinese.allow("404")
    expect(chinese.page.get_by_text("不确定", exact=True)).to_be_visible()
    expect(chinese.page.get_by_role("textbox", name=".ship/tasks/count-the-files.md")).to_be_visible()
    chinese.shoot("tasks-zh-phone")
    page.get_by_role("button", name="Count the files").click()
    page.get_by_role("link", name="Open its thread").click()
    expect(page.get_by_role("article", name="From a task")).to_contain_text("list files")
    watched.shoot("task-thread")
    page.go_back()
    page.get_by_role("button", name="Delete task").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete task").click()
    expect(page.get_by_role("button", name="Count the files")).to_have_count(0)
    assert not path.exists()
