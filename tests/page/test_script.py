"""The library of scripts on the page: read, edit, begin, rehearse."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.test_look import settle, violations
from tests.support.page import PHONE, OpenPage, Serving, Watched
from tests.support.priming_script import words

pytestmark = pytest.mark.browser

CALL = """### record func_call_record
```json
{"type": "func_call_record", "genseq": 1, "id": "c1", "name": "read", "arguments": {"path": "tide.md"}}
```

### record func_result_record
``````markdown
---
genseq: 1
id: c1
name: read
---
High at four.
``````
"""
PROBE = (
    "---\nkind: agent_priming_script\nversion: 3\ntitle: Tide probe\n"
    "reminders:\n  - {content: Tea is at four., id: r1, scope: dialog}\n---\n\n"
) + words("When is high water?", "**At four.**").replace(
    "### record agent_words", CALL + "\n### record agent_words"
)
PIECES = [
    {"kind": "call", "name": "read", "value": {"path": "tide.md"}},
    {"kind": "words", "text": "At four."},
]
REPORT = {
    "ref": "team_shared/probe",
    "member": "captain",
    "tools": "script",
    "model": "rehearsal",
    "forced": False,
    "startedAt": "2026-03-01T09:30:00.000Z",
    "ms": 321,
    "costUsd": None,
    "verdict": "differs",
    "reason": "",
    "turns": [
        {
            "said": "When is high water?",
            "recorded": PIECES,
            "new": [PIECES[0], {"kind": "words", "text": "At six."}],
            "deviations": [
                {
                    "kind": "words",
                    "place": 2,
                    "recorded": PIECES[1],
                    "new": {"kind": "words", "text": "At six."},
                    "reason": "the words: not as recorded",
                }
            ],
            "ms": 321,
            "costUsd": None,
            "stopped": "",
        }
    ],
}


def put(serving: Serving, ref: str, text: str) -> None:
    path = serving.folder / f".minds/priming/{ref}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def open_script(open_page: OpenPage, serving: Serving, **more: object) -> Watched:
    put(serving, "team_shared/probe", PROBE)
    return open_page("#/priming/team_shared%2Fprobe", **more)


def edit(page: Page) -> None:
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.get_by_label("Text of the script")).to_be_visible()


def test_p5_broken_files_are_shown_with_their_reason(open_page: OpenPage, serving: Serving) -> None:
    put(serving, "team_shared/probe", PROBE)
    put(serving, "team_shared/bad", "### user\nhello\n")
    (serving.folder / ".minds/priming/team_shared/odd.md").write_bytes(b"\xff\xfe")
    watched = open_page("#/priming")
    page = watched.page
    broken = page.locator(".script-broken")
    expect(broken).to_contain_text("Files that cannot be replayed: 2")
    expect(broken).to_contain_text("Line 1: record 1: `### user` is no longer understood")
    expect(page.locator(".script-card")).to_have_count(1)
    watched.shoot("priming-library")
    assert violations(page) == []
    # The file itself is one step away, with its mistakes marked.
    broken.get_by_role("link", name=re.compile("bad")).click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be replayed until its mistakes are mended")
    expect(page.locator(".script-marks li")).to_contain_text("### user")
    expect(page.get_by_role("button", name="Begin a thread")).to_be_disabled()
    page.go_back()
    page.locator(".script-broken").get_by_role("link", name=re.compile("odd")).click()
    expect(page.get_by_role("alert")).to_contain_text("UTF-8")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_disabled()


def test_p5_the_search_of_a_new_dialog_says_which_files_it_cannot_offer(
    open_page: OpenPage, serving: Serving
) -> None:
    put(serving, "team_shared/bad", "### user\nhello\n")
    page = open_page().page
    page.get_by_role("button", name="New thread").click()
    page.get_by_role("combobox", name="Priming script").select_option(label="More…")
    page.get_by_label("Search scripts").fill("bad")
    note = page.locator(".priming-search details")
    expect(note).to_contain_text("Files that cannot be replayed: 1")
    note.locator("summary").click()
    expect(note).to_contain_text("bad.md:1")


@pytest.mark.parametrize(("language", "dark"), [("en", False), ("zh", True)])
def test_a_script_reads_as_the_conversation_it_is(
    open_page: OpenPage, serving: Serving, language: str, dark: bool
) -> None:
    for size in (None, PHONE):
        more = {} if size is None else {"size": size}
        watched = open_script(open_page, serving, language=language, dark=dark, **more)
        page = watched.page
        talk = page.locator(".script-talk")
        expect(talk.locator(".message.user")).to_contain_text("When is high water?")
        expect(talk.locator(".message.assistant strong", has_text="At four.")).to_be_visible()
        expect(talk.locator(".pin-mark")).to_contain_text("Tea is at four.")
        talk.locator("details.tool summary").click()
        expect(talk.locator("details.tool")).to_contain_text("High at four.")
        settle(page)
        watched.shoot(f"script-talk-{language}-{'desk' if size is None else 'phone'}")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_dialog_is_begun_in_one_click_and_the_script_names_it(
    open_page: OpenPage, serving: Serving
) -> None:
    watched = open_script(open_page, serving)
    page = watched.page
    expect(page.locator(".script-uses")).to_contain_text("No thread yet.")
    page.get_by_role("button", name="Begin a thread").click()
    expect(page.locator(".primed")).to_contain_text("When is high water?")
    page.goto(f"{serving.address}/#/priming")
    page.get_by_role("button", name="Begin a thread: team_shared/probe").click()
    expect(page.locator(".primed")).to_contain_text("When is high water?")
    page.goto(f"{serving.address}/#/priming/team_shared%2Fprobe")
    expect(page.locator(".script-uses li")).to_have_count(2)
    page.locator(".script-uses a").first.click()
    expect(page.locator(".primed")).to_be_visible()


def test_mistakes_are_marked_while_a_script_is_written(open_page: OpenPage, serving: Serving) -> None:
    watched = open_script(open_page, serving)
    page = watched.page
    edit(page)
    text = page.get_by_label("Text of the script")
    status = page.locator(".editor-bar [role=status]")
    expect(status).to_have_text("no mistakes")
    expect(page.locator(".script-side .message.user")).to_contain_text("When is high water?")
    text.fill(PROBE.replace("genseq: 1\nmsgId", "genseq: -1\nmsgId"))
    expect(status).to_have_text("Mistakes: 1")
    mark = page.locator(".script-marks li")
    expect(mark).to_contain_text("`genseq` must be a whole number")
    line = 1 + PROBE[: PROBE.index("genseq: 1\nmsgId")].count("\n")
    expect(page.locator(".script-gutter .error")).to_have_text(str(line))
    watched.shoot("script-edit-mistake")
    assert violations(page) == []
    mark.get_by_role("button").click()
    assert (
        page.evaluate(
            "getSelection().toString() || document.activeElement.value.slice("
            "document.activeElement.selectionStart, document.activeElement.selectionEnd)"
        )
        == "genseq: -1"
    )
    text.fill(PROBE.replace("When is high water?", "When is low water?"))
    expect(status).to_have_text("no mistakes")
    expect(page.locator(".script-side .message.user")).to_contain_text("When is low water?")
    watched.shoot("script-edit")
    # Looking at the other views takes nothing away.
    page.get_by_role("button", name="Conversation", exact=True).click()
    expect(page.locator(".script-talk:visible .message.user")).to_contain_text("When is high water?")
    edit(page)
    expect(text).to_have_value(re.compile("When is low water"))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("is saved")
    assert "low water" in (serving.folder / ".minds/priming/team_shared/probe.md").read_text()


def test_what_is_mechanical_is_mended_at_a_press(open_page: OpenPage, serving: Serving) -> None:
    page = open_script(open_page, serving).page
    edit(page)
    text = page.get_by_label("Text of the script")
    text.fill("### user\nhello\n\n### assistant\nhi\n")
    expect(page.locator(".script-gutter .error").first).to_have_text("1")
    page.get_by_role("button", name="Mend what is mechanical").click()
    expect(page.locator(".editor-bar [role=status]")).to_have_text("no mistakes")
    expect(page.locator(".script-side .message.user")).to_contain_text("hello")
    expect(text).to_have_value(re.compile("### record human_text_record"))


def test_a_second_editor_overwrites_nothing_unseen(open_page: OpenPage, serving: Serving) -> None:
    watched = open_script(open_page, serving)
    watched.allow("409")
    page = watched.page
    edit(page)
    page.get_by_label("Text of the script").fill(PROBE.replace("At four", "At five"))
    theirs = PROBE.replace("At four", "At nine")
    put(serving, "team_shared/probe", theirs)
    path = serving.folder / ".minds/priming/team_shared/probe.md"
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Someone else changed this file")
    assert path.read_text() == theirs
    page.get_by_role("button", name="Keep mine").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("is saved")
    assert "At five" in path.read_text()


def test_a_file_of_windows_stays_one_and_is_for_whom_it_says(open_page: OpenPage, serving: Serving) -> None:
    (serving.folder / "members/bosun").mkdir(parents=True)
    (serving.folder / "members/bosun/Agent.md").write_text("---\nname: Bosun\n---\nYou are Bosun.\n")
    path = serving.folder / ".minds/priming/team_shared/probe.md"
    put(serving, "team_shared/probe", "")
    text = PROBE.replace("title:", "applicableMemberIds: [bosun]\ntitle:")
    path.write_bytes(text.replace("\n", "\r\n").encode())
    page = open_page("#/priming/team_shared%2Fprobe").page
    edit(page)
    expect(page.locator(".editor-bar .badge.warn")).to_have_count(0)
    page.get_by_label("Text of the script").fill(text.replace("At four.", "At five."))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("is saved")
    expect(page.locator(".editor-bar .badge.warn")).to_have_count(0)
    assert path.read_bytes() == text.replace("At four.", "At five.").replace("\n", "\r\n").encode()
    page.get_by_role("button", name="Begin a thread").click()
    expect(page.locator(".primed")).to_contain_text("At five.")
    expect(page.locator(".message.assistant").first).to_contain_text("Bosun")


def test_a_new_script_is_made_and_opened(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page("#/priming")
    page = watched.page
    page.get_by_role("button", name="New script").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Slug").fill("../up")
    expect(dialog.get_by_role("button", name="Create")).to_be_disabled()
    dialog.get_by_label("Slug").fill("checks/morning")
    dialog.get_by_label("Title").fill("Morning check")
    expect(dialog.locator(".path")).to_have_text(".minds/priming/team_shared/checks/morning.md")
    watched.shoot("script-new")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Morning check")).to_be_visible()
    expect(page.locator(".script-talk")).to_contain_text("What the member answers.")
    assert (serving.folder / ".minds/priming/team_shared/checks/morning.md").is_file()


def test_recorded_and_new_stand_side_by_side(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page("#/priming")
    page = watched.page
    asked: list[object] = []

    def rehearse(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or "null"))
        route.fulfill(json=REPORT)

    page.route("**/api/priming/rehearse", rehearse)
    put(serving, "team_shared/probe", PROBE)
    page.goto(f"{serving.address}/#/priming/team_shared%2Fprobe")
    page.get_by_role("button", name="Rehearsal", exact=True).click()
    expect(page.get_by_text("Not rehearsed yet")).to_be_visible()
    page.get_by_label("Tool calls").select_option("sandbox")
    page.get_by_label("Put the script's own history").check()
    page.get_by_role("button", name="Rehearse", exact=True).click()
    turn = page.locator(".rehearsal-turn")
    expect(turn).to_contain_text("Deviations: 1")
    expect(turn.get_by_label("Recorded").locator("li.differs")).to_contain_text("At four.")
    expect(turn.get_by_label("Now").locator("li.differs")).to_contain_text("At six.")
    expect(turn).to_contain_text("the words: not as recorded")
    assert asked == [
        {"ref": "team_shared/probe", "member": "captain", "tools": "sandbox", "model": None, "forced": True}
    ]
    watched.shoot("script-rehearsal")
    assert violations(page) == []


def test_a_script_is_rehearsed_and_its_last_rehearsal_is_shown(open_page: OpenPage, serving: Serving) -> None:
    watched = open_script(open_page, serving)
    page = watched.page
    page.get_by_role("button", name="Rehearsal", exact=True).click()
    page.get_by_label("Who answers").select_option("script")
    page.get_by_role("button", name="Rehearse", exact=True).click()
    expect(page.locator(".rehearsal-turn summary")).to_contain_text("as recorded")
    page.get_by_label("Who answers").select_option("")
    page.get_by_role("button", name="Rehearse", exact=True).click()
    turn = page.locator(".rehearsal-turn")
    expect(turn.get_by_label("Recorded").locator("li.differs").last).to_contain_text("At four.")
    watched.shoot("script-rehearsed")
    # The verdict stands beside the script from now on.
    page.reload()
    expect(page.locator(".script-talk")).to_be_visible()
    page.locator(".script-place").get_by_role("button", name=re.compile("differs")).click()
    expect(page.locator(".rehearsal-turn")).to_be_visible()


def test_p3_a_part_nobody_knows_cannot_blank_the_page(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page("#/priming")
    page = watched.page
    odd: list[object] = [
        {},
        {"type": "text"},
        {"type": "data-notice"},
        {"type": "data-error", "data": None},
        {"type": "file"},
        {"type": "source-url"},
        {"type": "tool-x", "toolCallId": "c", "state": "of the future"},
        {"type": "data-unheard-of", "data": [1]},
        {"type": "text", "text": "still here"},
    ]

    def change(route: Route) -> None:
        answer = route.fetch().json()
        answer["messages"] = [{"id": "a", "role": "assistant", "parts": odd}]
        route.fulfill(json=answer)

    page.route("**/api/priming/script?*", change)
    put(serving, "team_shared/probe", PROBE)
    page.goto(f"{serving.address}/#/priming/team_shared%2Fprobe")
    expect(page.locator(".script-talk")).to_contain_text("still here")
    expect(page.locator(".script-talk .note", has_text="cannot be shown")).to_have_count(6)


def test_marks_and_reasons_are_told_in_the_language_of_the_page(
    open_page: OpenPage, serving: Serving
) -> None:
    put(serving, "team_shared/bad", "### user\nhello\n")
    watched = open_script(open_page, serving, language="zh")
    page = watched.page
    page.route("**/api/priming/rehearse", lambda route: route.fulfill(json=REPORT))
    page.get_by_role("button", name="编辑", exact=True).click()
    page.get_by_label("脚本原文").fill(PROBE.replace("genseq: 1\nmsgId", "genseq: -1\nmsgId"))
    mark = page.locator(".script-marks li")
    expect(mark).to_contain_text("human_text_record：`genseq` 必须是不小于 0 的整数")
    expect(mark).to_contain_text("请写成不小于 0 的整数")
    page.get_by_label("脚本原文").fill(PROBE.replace("title:", "colour: red\ntitle:"))
    expect(mark).to_contain_text("没有任何地方读取 `colour`")
    page.get_by_label("脚本原文").fill(PROBE)
    page.get_by_role("button", name="排练", exact=True).first.click()
    page.locator(".rehearsal-wishes").get_by_role("button").click()
    why = page.locator(".rehearsal-why")
    expect(why).to_contain_text("话语 话语：与记录不同")
    assert not re.search("[a-z]{3}", why.inner_text())
    page.goto(f"{serving.address}/#/priming")
    broken = page.locator(".script-broken")
    expect(broken).to_contain_text("第 1 条记录：已不再支持 `### user`。请写 `### record human_text_record`")


def test_what_differs_in_a_pair_is_marked_and_stands_together(open_page: OpenPage, serving: Serving) -> None:
    watched = open_script(open_page, serving, size=PHONE)
    page = watched.page
    page.route("**/api/priming/rehearse", lambda route: route.fulfill(json=REPORT))
    page.get_by_role("button", name="Rehearsal", exact=True).click()
    page.get_by_role("button", name="Rehearse", exact=True).click()
    turn = page.locator(".rehearsal-turn")
    expect(turn.locator("del")).to_have_text("four")
    expect(turn.locator("ins")).to_have_text("six")
    recorded = turn.get_by_label("Recorded").locator("li").last.bounding_box()
    now = turn.get_by_label("Now").locator("li").last.bounding_box()
    assert recorded
    assert now
    # The new piece stands right below its counterpart, with no other piece between.
    assert 0 <= now["y"] - (recorded["y"] + recorded["height"]) <= 20
    settle(page)
    watched.shoot("script-rehearsal-phone")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 1280, "height": 820})
    recorded = turn.get_by_label("Recorded").locator("li").last.bounding_box()
    now = turn.get_by_label("Now").locator("li").last.bounding_box()
    assert recorded
    assert now
    assert abs(recorded["y"] - now["y"]) < 1 < now["x"] - recorded["x"]


def test_a_long_path_is_read_whole_on_a_phone(open_page: OpenPage, serving: Serving) -> None:
    long = f"team_shared/{'checks-of-the-morning/' * 3}{'everything-that-floats-' * 3}"
    put(serving, long, words("When?", "At four."))
    watched = open_page("#/priming", size=PHONE)
    page = watched.page
    path = page.locator(".script-path")
    expect(path).to_have_text(f".minds/priming/{long}.md")
    assert path.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    expect(page.locator(".script-card")).to_contain_text("2 records")
    watched.shoot("priming-library-phone")
    assert violations(page) == []
