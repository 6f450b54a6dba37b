"""Lose the connection and get it back; have the same thread open twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, expect

from tests.support.page import REFUSED, OpenPage, Serving, Watched, say
from tests.support.proxy import Proxy
from tests.support.terminal import shipmate

pytestmark = pytest.mark.browser


def test_a_reload_in_the_middle_resumes_the_stream(watched: Watched) -> None:
    page = watched.page
    say(page, "count to 60 slowly")
    expect(page.locator(".message.assistant")).to_contain_text("1 2 3")
    page.reload()
    expect(page.locator(".message.assistant")).to_contain_text("1 2 3 4 5 6")
    expect(page.locator(".message.assistant")).to_contain_text("59 60")
    expect(page.locator(".message.assistant")).to_have_count(1)
    text = page.locator(".message.assistant .prose").inner_text()
    assert len(re.findall(r"\b17\b", text)) == 1, "a replayed stream must not double the words"


def test_a_lost_network_resumes_by_itself(watched: Watched) -> None:
    watched.allow("ERR_INTERNET_DISCONNECTED")
    page = watched.page
    say(page, "count to 80 slowly")
    expect(page.locator(".message.assistant")).to_contain_text("1 2 3")
    # Chromium's offline switch does not cut streams that are open, so the page is left and opened again.
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.context.set_offline(True)
    # Which of the two depends on how much of the page was there already.
    told = page.get_by_text("The connection is lost").or_(page.get_by_text("The server is away"))
    expect(told).to_be_visible()
    page.context.set_offline(False)
    expect(told).to_have_count(0)
    expect(page.locator(".message.assistant")).to_contain_text("79 80")
    expect(page.locator(".message.assistant")).to_have_count(1)


@pytest.fixture
def proxy(serving: Serving) -> Iterator[Proxy]:
    """Put a network between the browser and the server that can be cut."""
    between = Proxy(serving.port)
    serving.address = between.address
    yield between
    between.close()


def numbers(page: Page) -> list[int]:
    """Read the numbers that the last answer counts."""
    text = page.locator(".message.assistant").last.locator(".prose").inner_text()
    return [int(number) for number in re.findall(r"\b\d+\b", text)]


def counted(count: int) -> list[int]:
    """Return what is said when nothing is lost or doubled: each number, and the last once more at the end."""
    return [*range(1, count + 1), count]


def test_w1_a_cut_stream_goes_on_without_doubling_a_word(proxy: Proxy, open_page: OpenPage) -> None:
    watched = open_page()
    watched.allow(REFUSED)
    page = watched.page
    say(page, "count to 90 slowly")
    for seen in ("5 6 7", "25 26 27"):
        expect(page.locator(".message.assistant")).to_contain_text(seen)
        proxy.cut()
    expect(page.locator(".message.assistant")).to_contain_text("89 90")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    expect(page.locator(".message.assistant")).to_have_count(1)
    expect(page.locator(".message.user")).to_have_count(1)
    assert numbers(page) == counted(90)


def test_d2_a_retry_that_was_cut_runs_once(proxy: Proxy, open_page: OpenPage) -> None:
    watched = open_page()
    watched.allow(REFUSED)
    page = watched.page
    say(page, "count to 40 slowly")
    page.get_by_role("button", name="Answer again").click()
    expect(page.locator(".message.assistant").last).to_contain_text("5 6 7")
    proxy.cut()
    expect(page.locator(".message.assistant").last).to_contain_text("39 40")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    expect(page.locator(".message.assistant")).to_have_count(1)
    expect(page.locator(".versions")).to_contain_text("2 / 2")
    assert numbers(page) == counted(40)


def test_a_killed_server_in_the_middle_of_a_stream(watched: Watched, serving: Serving) -> None:
    watched.allow(REFUSED)
    page = watched.page
    say(page, "count to 50 slowly")
    expect(page.locator(".message.assistant")).to_contain_text("1 2 3")
    serving.kill()
    expect(page.get_by_text("The connection is lost")).to_be_visible()
    serving.start()
    expect(page.get_by_text("The connection is lost")).to_have_count(0)
    expect(page.locator(".conversation")).to_contain_text("49 50")
    expect(page.locator(".message.user")).to_have_count(1)
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    assert numbers(page) == counted(50)
    watched.shoot("resumed-after-restart")


def test_a_message_sent_while_the_server_is_away_arrives_once(watched: Watched, serving: Serving) -> None:
    watched.allow(REFUSED)
    page = watched.page
    say(page, "tools")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    serving.kill()
    say(page, "think about boats")
    expect(page.get_by_text("The connection is lost")).to_be_visible()
    expect(page.locator(".message.user").last).to_contain_text("think about boats")
    serving.start()
    expect(page.locator(".reasoning")).to_be_visible()
    expect(page.locator(".message.user")).to_have_count(2)
    expect(page.locator(".message.assistant")).to_have_count(2)


def test_two_tabs_see_the_same_thread_and_share_one_stream_of_news(
    open_page: OpenPage, serving: Serving
) -> None:
    first = open_page()
    say(first.page, "tools")
    expect(first.page.get_by_role("button", name="Answer again")).to_be_visible()
    streams: list[Page] = []
    context = first.page.context
    context.on(
        "request", lambda asked: streams.append(asked.frame.page) if "/api/events" in asked.url else None
    )
    second = open_page(first.page.url.split("/", 3)[3], same_as=first)
    expect(second.page.locator(".message.assistant")).to_have_count(1)
    say(second.page, "count to 40 slowly")
    expect(first.page.locator(".message.assistant").last).to_contain_text("1 2 3")
    expect(first.page.locator(".message.assistant").last).to_contain_text("39 40")
    for tab in (first, second):
        expect(tab.page.locator(".message.user")).to_have_count(2)
        expect(tab.page.locator(".message.assistant")).to_have_count(2)
    expect(second.page.locator(".thread-row")).to_have_count(1)
    # A browser opens six connections to a server: with a stream each, a seventh tab would wait for ever.
    assert streams == []
    for tab in (first, second):
        tab.allow(REFUSED)
    serving.kill()
    for tab in (first, second):
        expect(tab.page.get_by_text("The connection is lost")).to_be_visible()
    serving.start()
    for tab in (first, second):
        expect(tab.page.get_by_text("The connection is lost")).to_have_count(0)
    assert second.page not in streams
    # When the one that hears is closed, the other one hears.
    first.page.close()
    say(second.page, "run echo hello harbour")
    expect(second.page).to_have_title(f"(1) {serving.folder.name} · Shipmate")
    assert second.page in streams


def test_without_a_session_the_page_asks_for_the_token(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page()
    watched.allow("401")
    page = watched.page
    expect(page.locator("#prompt")).to_be_visible()
    page.context.clear_cookies()
    page.reload()
    token = page.get_by_label("Token")
    expect(token).to_be_visible()
    watched.shoot("login")
    token.fill("wrong")
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("alert")).to_be_visible()
    token.fill(serving.token)
    page.get_by_role("button", name="Enter").click()
    expect(page.locator("#prompt")).to_be_visible()


def test_u7_an_idle_page_asks_nothing_and_hears_what_others_do(open_page: OpenPage, serving: Serving) -> None:
    watched = open_page()
    page = watched.page
    say(page, "run echo hello harbour")
    expect(page.locator(".confirmation")).to_have_count(1)
    expect(page).to_have_title(f"(1) {serving.folder.name} · Shipmate")
    page.clock.install()
    page.reload()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    expect(page.locator(".rail-count")).to_have_text("1")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(40_000)
    assert asked == [], "nothing is asked by the clock"
    # Somebody answers in a terminal.
    approval = page.request.get(f"{serving.address}/api/approvals").json()["approvals"][0]["id"]
    answered = shipmate(serving.folder, "approvals", "answer", approval, "no")
    assert answered.returncode == 0, answered.stderr
    page.clock.resume()
    expect(page).to_have_title(f"{serving.folder.name} · Shipmate")
    expect(page.locator(".rail-count")).to_have_count(0)
    expect(page.locator(".confirmation")).to_have_count(0)
    expect(page.locator(".tool .badge")).to_have_text("denied")


def test_u7_the_page_opens_without_its_server_and_says_what_to_do(watched: Watched, serving: Serving) -> None:
    watched.allow(REFUSED)
    page = watched.page
    say(page, "tools")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.wait_for_function("navigator.serviceWorker.controller !== null")
    kept = page.evaluate(
        "caches.open('shipmate-page').then((cache) => cache.keys()).then((all) => all.map((one) => one.url))"
    )
    assert not [url for url in kept if "/api/" in url or "token" in url]
    serving.kill()
    page.reload()
    expect(page.get_by_role("heading", name="The server is away")).to_be_visible()
    expect(page.get_by_text("shipmate serve")).to_be_visible()
    watched.shoot("server-away")
    # Only the page itself is kept: an address with more in it, as a link to log in by, asks the server.
    other = page.context.new_page()
    with pytest.raises(PlaywrightError, match="ERR_CONNECTION_REFUSED"):
        other.goto(f"{serving.address}/?token=none")
    other.close()
    serving.start()
    expect(page.locator(".message.assistant")).to_have_count(1)
    manifest = page.request.get(f"{serving.address}/manifest.json").json()
    for icon in manifest["icons"]:
        answer = page.request.get(f"{serving.address}{icon['src']}")
        assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
