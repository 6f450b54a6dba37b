"""Answer approvals on the page: once, for ten minutes, for the thread, with a reason, and after a restart."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.page import FLAGS, PHONE, REFUSED, OpenPage, Serving, Watched, log_in, say
from tests.support.wire import user

pytestmark = pytest.mark.browser


def ask(page: Page, text: str) -> None:
    """Say something that needs an approval and wait for the question."""
    cards = page.locator(".confirmation")
    expect(cards).to_have_count(0)
    say(page, text)
    expect(cards).to_have_count(1)


def test_approve_runs_the_whole_command_that_was_shown(watched: Watched) -> None:
    page = watched.page
    ask(page, "run echo hello harbour > made.txt")
    card = page.locator(".confirmation")
    expect(card.locator(".command, .diff, .data pre")).to_contain_text("echo hello harbour > made.txt")
    expect(page.locator(".rail-count")).to_have_text("1")
    watched.shoot("approval")
    # A click this early was meant for what stood there before.
    page.clock.install()
    page.reload()
    page.clock.pause_at(page.evaluate("Date.now() + 60_000"))
    page.reload()
    approve = card.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    expect(approve).to_be_disabled()
    page.clock.run_for(600)
    page.clock.resume()
    approve.click()
    expect(page.locator(".tool .badge")).to_have_text("done")
    expect(page.locator(".confirmation")).to_have_count(0)
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    expect(page.locator(".message.assistant")).to_have_count(1)


def test_w1_a_reload_while_an_approved_call_runs_shows_the_whole_message(watched: Watched) -> None:
    page = watched.page
    ask(page, "run echo begun; sleep 3; echo hello harbour")
    page.locator(".confirmation").get_by_role("button", name="Approve").click()
    expect(page.locator(".confirmation")).to_have_count(0)
    page.reload()
    expect(page.locator(".tool .badge")).to_have_text("done")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    expect(page.locator(".tool")).to_have_count(1)
    expect(page.locator(".message.assistant")).to_have_count(1)
    shown = page.locator(".message.assistant .prose").all_inner_texts()
    page.reload()
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    assert page.locator(".message.assistant .prose").all_inner_texts() == shown


def test_d10_a_call_that_is_approved_late_appears(watched: Watched) -> None:
    page = watched.page
    ask(page, "run echo hello harbour > made.txt")
    say(page, "tools")
    expect(page.locator(".message.assistant")).to_have_count(2)
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.locator(".confirmation").get_by_role("button", name="Approve").click()
    expect(page.locator(".message.assistant").first.locator(".tool .badge")).to_have_text("done")
    expect(page.locator(".message.assistant")).to_have_count(3)
    expect(page.locator(".confirmation")).to_have_count(0)


def test_a_file_is_shown_as_a_diff_before_it_is_written(watched: Watched, serving: Serving) -> None:
    page = watched.page
    ask(page, "edit Agent.md: replace briefly with kindly")
    expect(page.locator(".confirmation .diff .added")).to_contain_text("kindly")
    expect(page.locator(".confirmation .diff .removed")).to_contain_text("briefly")
    watched.shoot("approval-diff")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".tool .badge")).to_have_text("done")
    assert "kindly" in (serving.folder / "Agent.md").read_text()


def test_deny_with_a_reason_reaches_the_member(watched: Watched, serving: Serving) -> None:
    page = watched.page
    ask(page, "run touch never.txt")
    page.get_by_role("button", name="Deny").click()
    reason = page.get_by_label(re.compile("Why not"))
    expect(reason).to_be_focused()
    reason.fill("not on a Sunday")
    watched.shoot("approval-deny")
    page.get_by_role("button", name="Deny", exact=True).click()
    badge = page.locator(".tool .badge")
    expect(badge).to_have_text("denied")
    page.locator(".tool summary").click()
    expect(page.locator(".tool")).to_contain_text("not on a Sunday")
    assert not (serving.folder / "never.txt").exists()


def test_ten_minutes_covers_the_same_call_again_and_can_be_revoked(watched: Watched) -> None:
    page = watched.page
    ask(page, "run date")
    page.get_by_role("button", name="For 10 minutes").click()
    expect(page.locator(".tool .badge")).to_have_text("done")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    say(page, "run date")
    expect(page.locator(".tool .badge")).to_have_text(["done", "done"])
    page.locator(".rail").get_by_role("link", name="Approvals").click()
    grant = page.locator(".card", has=page.get_by_role("button", name="Revoke"))
    expect(grant).to_contain_text("exec")
    watched.shoot("approvals-page")
    grant.get_by_role("button", name="Revoke").click()
    expect(grant).to_have_count(0)
    page.locator(".rail").get_by_role("link", name="Threads").click()
    page.locator(".thread-link").first.click()
    expect(page.locator(".tool")).to_have_count(2)
    ask(page, "run date")


def test_a_typed_answer_is_sent_once_and_the_talk_goes_on(watched: Watched, serving: Serving) -> None:
    page = watched.page
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    ask(page, "write hello to a.txt")
    say(page, "is it safe?")
    expect(page.locator(".note strong")).to_have_text(["yes", "no"])
    say(page, "yes until tomorrow")
    expect(page.locator(".tool .badge")).to_have_text("done")
    expect(page.locator(".message.user")).to_have_count(2)
    say(page, "write bye to a.txt")
    expect(page.locator(".tool .badge")).to_have_text(["done", "done"])
    assert (serving.folder / "a.txt").read_text() == "bye"
    assert len([url for url in sent if url.endswith("/api/chat")]) == 4


def test_approvals_can_be_answered_on_their_own_page(watched: Watched) -> None:
    page = watched.page
    ask(page, "run echo from the approvals page")
    page.locator(".rail").get_by_role("link", name="Approvals").click()
    page.get_by_role("button", name="In this thread").click()
    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    page.locator(".rail").get_by_role("link", name="Threads").click()
    page.locator(".thread-link").first.click()
    expect(page.locator(".tool .badge")).to_have_text("done")


def test_an_approval_survives_a_restart(watched: Watched, serving: Serving) -> None:
    watched.allow(REFUSED)
    page = watched.page
    ask(page, "run echo after the storm")
    serving.kill()
    expect(page.get_by_text("The connection is lost")).to_be_visible()
    watched.shoot("connection-lost")
    serving.start()
    expect(page.get_by_text("The connection is lost")).to_have_count(0)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".tool .badge")).to_have_text("done")
    expect(page.locator(".message.assistant")).to_have_count(1)
    expect(page.locator(".message.assistant")).to_contain_text("after the storm")


def test_two_tabs_answer_one_approval_once(open_page: OpenPage) -> None:
    first = open_page()
    ask(first.page, "run echo only once")
    second = open_page(first.page.url.split("/", 3)[3], same_as=first)
    expect(second.page.locator(".confirmation")).to_be_visible()
    second.page.get_by_role("button", name="Approve").click()
    expect(second.page.locator(".tool .badge")).to_have_text("done")
    expect(first.page.locator(".confirmation")).to_have_count(0)
    expect(first.page.locator(".tool .badge")).to_have_text("done")


def test_u6_a_long_command_shows_where_how_long_and_what_each_answer_covers(
    watched: Watched, serving: Serving
) -> None:
    page = watched.page
    command = "printf '%s\\n' " + " ".join(f"word-{number}" for number in range(120))
    ask(page, f"run {command}")
    card = page.locator(".confirmation")
    expect(card.locator(".command")).to_contain_text("word-119")
    expect(card).to_contain_text(f"in {serving.folder.name}")
    expect(card).to_contain_text(f"1 line · {len(command)} characters")
    expect(card.locator(".scopes li")).to_have_count(3)
    for scope in card.locator(".scopes li").all():
        expect(scope).to_contain_text("covers exactly: the command above, word for word")
    watched.shoot("approval-long")


def test_u6_a_long_text_is_read_to_its_end_before_it_is_approved(
    open_page: OpenPage, serving: Serving
) -> None:
    watched = open_page(size=PHONE)
    page = watched.page
    lines = "\\n".join(f"line {number}" for number in range(120))
    ask(page, f'call write {{"path": "long.txt", "content": "{lines}"}}')
    card = page.locator(".confirmation")
    approve = card.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_disabled()
    expect(card.locator(".scopes button").first).to_be_disabled()
    expect(card.get_by_text("Read the text to its end")).to_be_visible()
    watched.shoot("approval-unread-phone")
    card.get_by_role("button", name="Show its end").click()
    expect(approve).to_be_enabled()
    approve.click()
    expect(page.locator(".tool .badge")).to_have_text("done")
    assert (serving.folder / "long.txt").read_text().endswith("line 119")
    say(page, f"write {'tide ' * 1500}to a.txt and write beta to b.txt")
    both = page.get_by_role("button", name="Approve all 2")
    expect(card.nth(1).get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    expect(both).to_be_disabled()
    card.first.get_by_role("button", name="Show its end").click()
    expect(both).to_be_enabled()


@pytest.fixture
def notified(browser: Browser, serving: Serving) -> Iterator[Page]:
    """Open the settings in a whole browser: one without windows shows no notifications."""
    whole = browser.browser_type.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
    context = whole.new_context(permissions=["notifications"])
    log_in(context, serving)
    page = context.new_page()
    page.goto(f"{serving.address}/#/settings")
    yield page
    whole.close()


def test_u6_a_notification_comes_when_it_was_asked_for(notified: Page, serving: Serving) -> None:
    page = notified
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    switch = page.get_by_label("Notify me when something waits")
    expect(switch).not_to_be_checked()
    switch.check()
    expect(switch).to_be_checked()
    # A page in the background.
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
    request = {"id": "room", "messages": [user("u1", "run echo a secret word")]}
    page.request.post(f"{serving.address}/api/chat", data=request, headers=csrf(page, serving))
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    shown = """navigator.serviceWorker.ready.then((worker) => worker.getNotifications())
        .then((all) => all.map((one) => `${one.title} ${one.body}`))"""
    page.wait_for_function(f"({shown}).then((all) => all.length === 1)")
    (said,) = page.evaluate(shown)
    assert said == f"1 question waits for your answer {serving.folder.name}"


def csrf(page: Page, serving: Serving) -> dict[str, str]:
    return {"x-shipmate-csrf": page.request.get(f"{serving.address}/api/session").json()["csrf"]}


def test_u6_no_answer_is_offered_that_would_not_hold(watched: Watched, serving: Serving) -> None:
    page = watched.page
    ask(page, 'call write {"path": "Agent.md", "content": "x"}')
    approval = page.request.get(f"{serving.address}/api/approvals").json()["approvals"][0]
    offered = {each["scope"] for each in approval["scopes"]}
    expect(page.locator(".confirmation .scopes li")).to_have_count(len(offered))
    watched.shoot("approval-forms-member")


def test_u6_several_are_approved_in_one_step_by_keyboard(watched: Watched, serving: Serving) -> None:
    page = watched.page
    say(page, "write alpha to a.txt and write beta to b.txt and write gamma to c.txt")
    cards = page.locator(".confirmation")
    expect(cards).to_have_count(3)
    expect(page.get_by_role("button", name="Approve all 3")).to_be_enabled()
    watched.shoot("approval-several")
    approve = cards.first.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_enabled()
    approve.press("Enter")
    expect(cards).to_have_count(2)
    # The next card as a whole, so that a key held down approves nothing unseen.
    expect(cards.first).to_be_focused()
    both = page.get_by_role("button", name="Approve all 2")
    expect(both).to_be_enabled()
    with page.expect_request(lambda request: request.method == "POST") as sent:
        both.press("Enter")
    shown = page.request.get(f"{serving.address}/api/approvals").json()["approvals"]
    ids: list[str] = (sent.value.post_data_json or {})["ids"]
    assert len(ids) == 2
    assert set(ids) < {each["id"] for each in shown}
    # The calls of one step are one line that opens.
    expect(page.locator(".tools > summary")).to_contain_text("3 calls")
    expect(page.locator(".tools .tool .badge")).to_have_text(["done", "done", "done"])
    expect(cards).to_have_count(0)
    expect(page.locator(".composer textarea")).to_be_focused()
    assert [(serving.folder / name).exists() for name in ("a.txt", "b.txt", "c.txt")] == [True] * 3


def test_c7_a_file_changed_after_the_diff_was_shown_is_asked_anew(watched: Watched, serving: Serving) -> None:
    page = watched.page
    ask(page, "edit Agent.md: replace briefly with kindly")
    agent = serving.folder / "Agent.md"
    agent.write_text(f"Changed meanwhile.\n{agent.read_text()}")
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".confirmation")).to_contain_text("has changed since it was approved")
    expect(page.locator(".confirmation .diff")).to_contain_text("kindly")
    watched.shoot("approval-anew")
    assert "kindly" not in agent.read_text()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".tool .badge")).to_have_text("done")
    assert "kindly" in agent.read_text()


def test_u6_the_card_speaks_chinese(open_page: OpenPage) -> None:
    watched = open_page(language="zh")
    say(watched.page, "run git status")
    card = watched.page.locator(".confirmation")
    expect(card.get_by_role("button", name="同意", exact=True)).to_be_enabled()
    expect(card).to_contain_text("工作目录")
    # The workspace speaks English; its reader does not.
    expect(card.locator("p.muted").first).to_have_text(re.compile("[\u4e00-\u9fff]"))
    expect(card.locator(".scopes li")).to_have_text([re.compile("只包括：.*git status")] * 3)
    # The member goes by its name, here and in the list.
    expect(card.locator(".scopes li").last).to_contain_text("Captain 的所有对话")
    expect(watched.page.locator(".thread-sub").first).to_have_text("Captain")
    watched.shoot("approval-zh")
    say(watched.page, "yes for 10 minutes")
    expect(watched.page.locator(".message.assistant .note")).to_contain_text("在这个对话里以下操作不再询问")


def test_an_answer_s_file_changes_are_undone_and_done_again(watched: Watched, serving: Serving) -> None:
    page = watched.page
    ask(page, "write hello to notes.txt")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".tool .badge")).to_have_text("done")
    made = serving.folder / "notes.txt"
    before = made.read_text()
    undo = page.get_by_role("button", name="Undo file changes")
    undo.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("notes.txt")
    expect(dialog).to_contain_text("added")
    watched.shoot("rewind")
    dialog.get_by_role("button", name="Undo file changes").click()
    expect(page.get_by_text("One file is as it was.")).to_be_visible()
    assert not made.exists()
    undo.click()
    expect(dialog).to_contain_text("The changes of this answer were undone.")
    watched.shoot("rewind-again")
    dialog.get_by_role("button", name="Make file changes again").click()
    expect(page.get_by_text("One file is as this answer left it.")).to_be_visible()
    assert made.read_text() == before
    made.write_text("mine\n")
    undo.click()
    expect(dialog).to_contain_text("changed since")
    expect(dialog.get_by_role("button", name="Undo file changes")).to_be_disabled()
    watched.shoot("rewind-refused")
