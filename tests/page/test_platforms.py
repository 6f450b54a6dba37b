"""See how it stands with the platforms, settle what was not sent, and let people in."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import expect

from shipmate.delivery.reception.people import People
from shipmate.store.journal.outbox_line import Intend
from shipmate.store.port import OutboxRow, SendStatus
from shipmate.tools.file.sharing import Shares
from shipmate.tools.tool import ToolContext
from shipmate.values.event import EgressMessage
from shipmate.values.message import timestamp
from shipmate.workspace.config import Server
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of
from tests.support.page import PHONE, OpenPage, Serving, violations

pytestmark = pytest.mark.browser

THREAD = "memory:dm:7"
PERSON = {"ann": ["memory:1", "pigeon:ou_1"]}


def store_send(folder: Path, number: int, status: SendStatus, text: str, error: str | None = None) -> None:
    row = OutboxRow(
        id=number,
        run_id=f"run_{number}",
        segment=0,
        platform="memory",
        message=EgressMessage(thread_id=THREAD, text=text, extra={"name": "words.0", "kind": "words"}),
        created_at=timestamp(),
        status=status,
        attempts=1,
        error=error,
    )
    with Layout.at(folder).outbox.open("ab") as file:
        file.write(msgspec.json.encode(Intend(row=row, key=str(number), closed_at=timestamp())) + b"\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a workspace with platforms that work, are broken and are off, and with what happens there."""
    (tmp_path / "Agent.md").write_text("# Captain\n")
    # The platform cannot be asked what became of a send.
    adapters = {
        "memory": {"capabilities": {"supportsEdits": False}},
        "pigeon": {"kind": "telegram", "member": "captain"},
        "quiet": {"kind": "memory", "enabled": False},
    }
    server = {"publicUrl": "https://ship.example"}
    config = {"adapters": adapters, "people": PERSON, "server": server}
    (tmp_path / "ship.json").write_text(json.dumps(config))
    (tmp_path / ".ship").mkdir()
    store_send(tmp_path, 1, "uncertain", "Low water is at 14:20.", "the process ended while sending")
    store_send(tmp_path, 2, "failed", "High water <b>is</b> at 20:40.", "they take no letters from us")
    layout = Layout.at(tmp_path)
    people = People(layout, PERSON)
    people.pair(people.offer("memory", "2", "Bob"))
    (tmp_path / "film.bin").write_bytes(b"x" * 2_000)
    context = ToolContext(member=captain_of(layout), thread_id=THREAD, run_id="run_1", call_id="c1")
    Shares(layout, Server(public_url="https://ship.example")).share(context, "film.bin")
    return tmp_path


def test_platforms_are_seen_their_sends_settled_and_their_people_let_in(
    open_page: OpenPage, serving: Serving
) -> None:
    people = People(Layout.at(serving.folder), PERSON)
    watched = open_page("#/platforms")
    page = watched.page
    for name, state in (("memory", "listening"), ("pigeon", "hears nothing"), ("quiet", "off")):
        expect(page.locator(".card", has_text=f"{name}{state}")).to_be_visible()
    expect(page.locator(".card", has_text="adapters.pigeon.token")).to_be_visible()
    # Somebody writes while the page is open.
    page.get_by_text("Bob").wait_for()
    code = people.offer("memory", "3", "Eve")
    people.offer("memory", "4", "Mallory <img src=x>")
    stranger = page.locator(".card", has_text="Eve")
    expect(stranger).to_contain_text(code)
    assert violations(page) == []
    watched.shoot("platforms")
    lost = page.locator(".card", has_text="Low water")
    refused = page.locator(".card", has_text="High water <b>is</b> at 20:40.")
    expect(lost).to_contain_text("the process ended while sending")
    expect(refused).to_contain_text("they take no letters from us")
    # Only what may be there already is asked about before it is sent again.
    lost.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("dialog")).to_contain_text("twice")
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    expect(lost).to_have_count(0)
    refused.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(page.get_by_text("Everything was sent.")).to_be_visible()
    shared = page.locator(".card", has_text="film.bin")
    expect(shared).to_contain_text("2 KB")
    shared.get_by_role("button", name="Take back").click()
    expect(shared).to_have_count(0)
    stranger.get_by_label("Who they are").select_option("ann")
    stranger.get_by_role("button", name="Let in").click()
    expect(stranger.get_by_role("button", name="Shut out")).to_be_visible()
    page.locator(".card", has_text="Mallory <img src=x>").get_by_role("button", name="Refuse").click()
    expect(page.get_by_text("Mallory")).to_have_count(0)
    bob = page.locator(".card", has_text="Bob")
    bob.get_by_role("button", name="Shut out").click()
    page.get_by_role("dialog").get_by_role("button", name="Shut out").click()
    expect(bob).to_have_count(0)
    assert [(each.id, each.person) for each in people.paired()] == [("memory:3", "ann")]
    assert people.waiting() == {}
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
