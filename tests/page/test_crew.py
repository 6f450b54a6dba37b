"""See several members in one thread, and the crew with its relations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from shipmate.thread.row import encode_row
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.page import PHONE, OpenPage, Serving, settle, violations

pytestmark = pytest.mark.browser

ROOM = ThreadId("web", "room", "crew")
ASKED = "crew:ask:0a1b"
OUTSIDE = "Low water <img src=x onerror=alert(1)> is at **14:20**."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a workspace of three, with a thread in which they asked each other and passed the word."""
    (tmp_path / "Agent.md").write_text("# Captain\n\nYou keep the course.\n")
    for name, colour in (("nina", "#3366cc"), ("bob", "red;background:url(//x)")):
        (tmp_path / "members" / name).mkdir(parents=True)
        (tmp_path / "members" / name / "Agent.md").write_text(
            f"# {name.title()}\n\nYou are {name.title()}.\n"
        )
        (tmp_path / "members" / name / "member.json").write_text(json.dumps({"colour": colour}))
    store_rows(
        tmp_path,
        ("user", {}, {"type": "text", "text": "When is low water?"}),
        (
            "assistant",
            {},
            asked("replied", OUTSIDE, tainted=True),
            {"type": "text", "text": "@nina Check it."},
        ),
        (
            "user",
            {"sourceTag": "member:captain"},
            {"type": "data-handoff", "data": {"from": "captain", "to": "nina", "marker": "@nina"}},
        ),
        ("assistant", {"member": "nina"}, {"type": "text", "text": "It is right."}),
        (
            "user",
            {"errand": {"chain": ["bob"], "threadId": ASKED, "isAnswer": True, "isTainted": True}},
            {"type": "text", "text": "The *chart* says so too."},
        ),
    )
    return tmp_path


def asked(status: str, answer: str, *, tainted: bool) -> dict[str, Any]:
    output = {"member": "nina", "thread": ASKED, "status": status, "answer": answer, "tainted": tainted}
    given = {"member": "nina", "message": "When?"}
    return {
        "type": "tool-ask_member",
        "toolCallId": "c1",
        "state": "output-available",
        "input": given,
        "output": output,
    }


def store_rows(folder: Path, *said: tuple[Any, ...]) -> None:
    rows: list[UIMessage] = [
        {
            "id": f"row-{number}",
            "role": role,
            "metadata": {"threadId": str(ROOM), "timestamp": f"2026-01-01T00:00:0{number}Z", **metadata},
            "parts": list(parts),
        }
        for number, (role, metadata, *parts) in enumerate(said)
    ]
    path = Layout.at(folder).thread(ROOM)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(encode_row, rows)))


def test_several_members_are_told_apart_in_a_thread_and_named_while_writing(open_page: OpenPage) -> None:
    watched = open_page(f"#/t/{quote(str(ROOM), safe='')}")
    page = watched.page
    card = page.get_by_role("region", name="Asked Nina")
    expect(card).to_contain_text("Low water <img src=x onerror=alert(1)> is at 14:20.")
    expect(card).to_contain_text("strangers' words")
    assert card.get_by_role("link").get_attribute("href") == f"#/t/{quote(ASKED, safe='')}"
    passed = page.locator(".handoff")
    expect(passed).to_contain_text("Captain passes the word to Nina")
    assert passed.get_attribute("title") == "@nina"
    # Who speaks, with the colour that was chosen; what is no colour is none.
    nina = page.get_by_role("article", name="Nina")
    expect(nina).to_contain_text("It is right.")
    colour = "(one) => getComputedStyle(one).backgroundColor"
    assert nina.locator(".member-dot").evaluate(colour) == "rgb(51, 102, 204)"
    bob = page.get_by_role("article", name="Bob")
    expect(bob).to_contain_text("The chart says so too.")
    assert bob.get_by_role("link").get_attribute("href") == f"#/t/{quote(ASKED, safe='')}"
    assert bob.locator(".member-dot").evaluate(colour) != "rgba(0, 0, 0, 0)"
    expect(page.get_by_role("article", name="You")).to_have_count(1)
    # The names of members are offered at the start of a line alone.
    box = page.locator("#prompt")
    box.press_sequentially("ask @n")
    expect(page.get_by_role("listbox")).to_have_count(0)
    box.press("Shift+Enter")
    box.press_sequentially("@")
    expect(page.get_by_role("option")).to_have_count(3)
    box.press("ArrowDown")
    chosen = page.locator(f"[id='{box.get_attribute('aria-activedescendant')}']")
    expect(chosen).to_contain_text("@bob")
    assert violations(page) == []
    watched.shoot("crew-thread")
    box.press_sequentially("N")
    expect(page.get_by_role("option")).to_have_count(1)
    box.press("Enter")
    box.press_sequentially("hello")
    expect(box).to_have_value("ask @n\n@nina hello")
    box.fill("@")
    box.press("Escape")
    expect(page.get_by_role("listbox")).to_have_count(0)
    box.fill("")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    watched.shoot("crew-thread-narrow")


def test_members_are_made_changed_related_and_removed_and_variables_stay_hidden(
    open_page: OpenPage, serving: Serving
) -> None:
    watched = open_page("#/members")
    page = watched.page
    page.get_by_role("button", name="Add member").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Id").fill("captain")
    dialog.get_by_role("button", name="Add member").click()
    expect(dialog.get_by_role("alert")).to_contain_text("is no id for a new member")
    watched.allow("400")
    dialog.get_by_label("Id").fill("eve")
    dialog.get_by_label("Name").fill("Eve")
    dialog.get_by_role("button", name="Researcher").click()
    assert violations(page) == []
    dialog.get_by_role("button", name="Add member").click()
    facts = page.get_by_role("region", name="Eve")
    expect(facts).to_contain_text("ask a person")
    facts.get_by_label("Name of a variable").fill("TIDE_KEY")
    facts.get_by_label("Value").fill("tide-table-7731")
    facts.get_by_role("button", name="Set").click()
    expect(facts.get_by_role("button", name="Forget TIDE_KEY")).to_be_visible()
    assert "tide-table-7731" not in page.content()
    facts.get_by_label("Name", exact=True).fill("Eva")
    facts.get_by_label("Colour").fill("#aa3366")
    facts.get_by_role("button", name="Change").click()
    eva = page.get_by_role("region", name="Eva")
    eva.get_by_role("button", name="Forget TIDE_KEY").click()
    expect(eva).to_contain_text("none of its own")
    eva.get_by_label("Model").fill("anthropic:tide")
    eva.get_by_role("button", name="Use").click()
    expect(eva.get_by_role("button", name="Use")).to_be_disabled()
    eva.get_by_label("Rights").select_option("yolo")
    expect(eva).to_contain_text("The workspace allows less: ask a person")
    eva.get_by_label("Rights").select_option("read-only")
    expect(eva.get_by_text("The workspace allows less")).to_have_count(0)
    assert violations(page) == []
    watched.shoot("crew-members")
    stated = json.loads((serving.folder / "members/eve/member.json").read_text())
    assert stated == {
        "name": "Eva",
        "colour": "#aa3366",
        "model": "anthropic:tide",
        "permissions": {"mode": "read-only"},
    }

    page.get_by_role("button", name="Relations", exact=True).click()
    relating = page.get_by_role("form", name="Add relation")
    relating.get_by_label("Member").select_option("captain")
    relating.get_by_label("of", exact=True).select_option("eve")
    relating.get_by_label("Note").fill("ask early")
    relating.get_by_role("button", name="Add relation").click()
    row = page.get_by_role("row", name="Captain superior Eva ask early")
    expect(row).to_be_visible()
    # A file that only one side knows of is mended while the page is open.
    table = "| a | b | c | d | e | f |\n|-|-|-|-|-|-|\n| nina | Nina | agent | peer | | |\n"
    (serving.folder / "members/bob/RELATIONS.md").write_text(table)
    page.get_by_role("button", name="Write it on both sides").click()
    expect(page.get_by_text("only one side knows")).to_have_count(0)
    assert "| bob | Bob |" in (serving.folder / "members/nina/RELATIONS.md").read_text()
    # The picture says the same, by keyboard too.
    node = page.get_by_role("link", name="Nina. Bob is peer of Nina")
    node.focus()
    expect(page.locator(".crew-line.on")).to_have_count(1)
    assert violations(page) == []
    watched.shoot("crew-relations")
    row.get_by_role("button", name="Take out").click()
    expect(row).to_have_count(0)
    page.get_by_role("link", name="Eva").press("Enter")
    eva.get_by_role("button", name="Remove member").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove member").click()
    expect(page.get_by_role("status").filter(has_text=".ship/removed/eve-")).to_be_visible()
    expect(eva).to_have_count(0)
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    for view in ("#/members", "#/members?view=relations"):
        page.goto(f"{serving.address}/{view}")
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_a_skill_is_worked_on_in_its_studio_and_tried_beside_it(
    open_page: OpenPage, serving: Serving
) -> None:
    watched = open_page("#/skills")
    page = watched.page
    page.get_by_role("button", name="New skill").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Skill").fill("no id")
    dialog.get_by_role("button", name="Open the studio").click()
    expect(dialog.get_by_role("alert")).to_contain_text("is no id of a skill")
    watched.allow("400")
    dialog.get_by_label("Skill").fill("tides")
    dialog.get_by_label("Who works on it").select_option("nina")
    assert violations(page) == []
    dialog.get_by_role("button", name="Open the studio").click()
    beside = page.get_by_role("complementary", name="Try it out")
    beside.get_by_label("What to say to it").fill("When is it high?")
    beside.get_by_role("button", name="Try it out").click()
    # The answer stands beside the studio, whose own thread stays empty.
    expect(beside.get_by_role("article", name="Nina")).to_be_visible()
    expect(beside.get_by_role("article", name="You")).to_contain_text("When is it high?")
    expect(page.get_by_role("article", name="You")).to_have_count(1)
    assert (serving.folder / ".ship/studio/nina/tides/SKILL.md").is_file()
    settle(page)
    assert violations(page) == []
    watched.shoot("crew-studio")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    watched.shoot("crew-studio-narrow")
