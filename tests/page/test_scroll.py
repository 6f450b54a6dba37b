"""Read a long thread: the view follows the end, and whoever scrolls away from it is left where they are."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from shipmate.store.file_store import open_store
from shipmate.workspace.layout import Layout
from tests.support.page import OpenPage, Serving, Watched, say, store_thread

pytestmark = pytest.mark.browser

PLACE = "(message) => message.getBoundingClientRect().top"
REST = "(box) => box.scrollHeight - box.scrollTop - box.clientHeight"
AT_END = "() => [...document.querySelectorAll('.conversation')].every((box) => (" + REST + ")(box) < 2)"
# A busy machine tells of a scroll late; a page that waits for the event would take the reader back meanwhile.
DEAF = "window.addEventListener('scroll', (event) => event.stopImmediatePropagation(), { capture: true })"


def talk(page: Page, serving: Serving, turns: int) -> str:
    """Make a thread of so many turns; return the address of its view."""
    headers = {"authorization": f"Bearer {serving.token}"}
    made = page.request.post(f"{serving.address}/api/threads", headers=headers, data={"title": "Long"}).json()
    thread = made["threadId"]
    for number in range(turns):
        text = {"type": "text", "text": f"tools {number}"}
        body = {"id": thread, "messages": [{"id": f"m{number}", "role": "user", "parts": [text]}]}
        answer = page.request.post(f"{serving.address}/api/chat", headers=headers, data=body)
        assert answer.ok, answer.text()
    return f"{serving.address}/#/t/{thread.replace(':', '%3A')}"


def see_last_page(page: Page, turns: int) -> None:
    expect(page.locator(".message.user").last).to_contain_text(f"tools {turns - 1}")
    expect(page.locator(".message.user")).to_have_count(25)


@pytest.mark.parametrize("top", [0, 40])
def test_older_messages_are_loaded_when_scrolling_up(open_page: OpenPage, serving: Serving, top: int) -> None:
    page = open_page().page
    page.goto(talk(page, serving, 40))
    see_last_page(page, 40)
    first = page.locator(".message.user", has_text="tools 15")
    box = page.locator(".conversation")
    place = box.evaluate(
        """(box, top) => {
            box.scrollTop = top;
            return box.querySelector(".message.user").getBoundingClientRect().top;
        }""",
        top,
    )
    expect(page.locator(".message.user")).to_have_count(40)
    assert box.evaluate("(box) => box.scrollTop") > 0, "the reader's place was lost"
    # The button above the first message goes when nothing older is left; at the very top that shows.
    assert abs(first.evaluate(PLACE) - place) <= (60 if top == 0 else 2)


def test_h7_a_reader_who_scrolls_up_before_the_page_hears_of_it_is_left_there(
    open_page: OpenPage, serving: Serving
) -> None:
    page = open_page().page
    page.goto(talk(page, serving, 40))
    see_last_page(page, 40)
    box = page.locator(".conversation")
    page.wait_for_function(AT_END)
    page.evaluate(DEAF)
    box.evaluate("(box) => { box.scrollTop = 0 }")
    # Something changes the page while it still thinks to be at the end.
    page.locator("#prompt").fill("a\n" * 6)
    expect(page.locator(".message.user")).to_have_count(40)
    assert box.evaluate(REST) > 1_000


def test_h7_what_fits_on_the_screen_goes_on_loading_without_a_scroll(
    open_page: OpenPage, serving: Serving
) -> None:
    page = open_page(size=(1280, 20_000)).page
    page.goto(talk(page, serving, 30))
    expect(page.locator(".message.user")).to_have_count(30)
    expect(page.get_by_role("button", name="Show older messages")).to_have_count(0)


def test_h7_a_growing_answer_leaves_the_reader_where_they_scrolled_to(watched: Watched) -> None:
    page = watched.page
    for number in range(8):
        say(page, f"tools {number}")
        expect(page.locator(".message.assistant")).to_have_count(number + 1)
        expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    box = page.locator(".conversation")
    say(page, "count to 300 slowly")
    answer = page.locator(".message.assistant").last
    expect(answer).to_contain_text("1 2 3")
    page.wait_for_function(AT_END)
    page.evaluate(DEAF)
    place = box.evaluate("(box) => (box.scrollTop -= 40)")
    expect(answer).to_contain_text("60 61 62")
    assert box.evaluate("(box) => box.scrollTop") == pytest.approx(place, abs=1)


def test_the_view_follows_the_end_until_the_reader_leaves_it_and_when_they_come_back(
    watched: Watched,
) -> None:
    page = watched.page
    for number in range(8):
        say(page, f"tools {number}")
        expect(page.locator(".message.assistant")).to_have_count(number + 1)
        expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    box = page.locator(".conversation")
    box.evaluate("(box) => { box.scrollTop = 0 }")
    page.get_by_role("button", name="Jump to the latest message").click()
    page.wait_for_function(AT_END)
    say(page, "markdown")
    expect(page.locator(".message.assistant .code").first).to_be_visible()
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.wait_for_function(AT_END)


# Scrolls up a view at a time, as long as there is something above.
CLIMB = """async () => {
    const box = document.querySelector(".conversation");
    let most = 0;
    while (box.scrollTop > 0 || box.querySelector(".older")) {
        box.scrollBy(0, -2000);
        await new Promise(requestAnimationFrame);
        most = Math.max(most, box.querySelectorAll(".message").length);
    }
    return most;
}"""


# Scrolls down the list of threads to its end; tells how many were seen, and how many were drawn at once.
DESCEND = """async () => {
    const box = document.querySelector(".side-list");
    const rows = () => [...box.querySelectorAll(".thread-row")];
    const rest = () => box.scrollHeight - box.scrollTop - box.clientHeight;
    const isAtEnd = () => !box.querySelector(".more") && rest() < 2;
    const seen = new Set();
    let most = 0;
    for (let still = 0; still < 5; still = isAtEnd() ? still + 1 : 0) {
        rows().forEach((row) => seen.add(row.dataset.row));
        most = Math.max(most, rows().length);
        box.scrollBy(0, 400);
        await new Promise(requestAnimationFrame);
    }
    return [seen.size, most];
}"""


async def index(folder: Path) -> None:
    store = open_store(Layout.at(folder))
    await store.reconcile()
    await store.close()


def test_u7_long_lists_are_drawn_in_part_and_found_in_whole(open_page: OpenPage, serving: Serving) -> None:
    texts = [f"Sounding {number}: " + "fathoms " * (number % 40) for number in range(700)]
    texts[3] = "The lead touched amber sand."
    serving.kill()
    address = store_thread(serving.folder, "long", texts)
    for number in range(260):
        store_thread(serving.folder, f"small-{number}", [f"Harbour {number}"])
    # The browser has a loop of its own in this thread.
    with ThreadPoolExecutor() as aside:
        aside.submit(asyncio.run, index(serving.folder)).result()
    serving.start()
    page = open_page(address).page
    expect(page.locator(".message").last).to_contain_text("Sounding 699")
    assert page.evaluate(CLIMB) < 250
    first = page.locator(".message").first
    expect(first).to_contain_text("Sounding 0")
    assert abs(page.locator(".conversation").evaluate("(box) => box.scrollTop")) < 2
    page.get_by_role("button", name="Jump to the latest message").click()
    page.wait_for_function(AT_END)
    expect(page.locator(".message").last).to_contain_text("Sounding 699")
    # What is not drawn is found all the same.
    page.keyboard.press("Control+f")
    page.get_by_role("searchbox", name="Find in this thread").fill("amber sand")
    expect(page.locator(".message.found")).to_be_in_viewport()
    expect(page.locator(".message.found")).to_contain_text("amber sand")
    page.keyboard.press("Escape")
    # So are threads: by scrolling, and by their titles, further than one page of either.
    seen, most = page.evaluate(DESCEND)
    assert seen == 261
    assert most < 150
    page.get_by_role("searchbox", name="Search").fill("Harbour 1")
    rows = page.locator(".thread-row")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Show older threads").click()
    expect(rows).to_have_count(100)
