"""Talk on the page: write, read, stop, queue, steer, retry, edit and attach."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from PIL import Image
from playwright.sync_api import Page, expect

from tests.support.page import Serving, Watched, say, store_thread

pytestmark = pytest.mark.browser


def test_first_chat_from_the_address_the_server_prints(browser_link: Watched, serving: Serving) -> None:
    page = browser_link.page
    expect(page.get_by_role("heading", name=re.compile("What shall"))).to_be_visible()
    assert "token" not in page.url
    browser_link.shoot("home")
    page.get_by_role("button", name=re.compile("See what it can do")).click()
    answer = page.locator(".message.assistant")
    expect(answer).to_contain_text("rehearsal model")
    expect(page.locator(".message.user")).to_contain_text("What can you do")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    expect(page.locator(".side-list .thread-link")).to_have_count(1)
    browser_link.shoot("first-chat")


def test_markdown_reasoning_and_code_with_copy(watched: Watched) -> None:
    page = watched.page
    say(page, "markdown")
    code = page.locator(".message.assistant .code").first
    expect(code).to_be_visible()
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    code.get_by_role("button", name="Copy").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == code.locator("pre").inner_text().strip()
    watched.shoot("markdown")
    say(page, "think about boats")
    reasoning = page.locator(".reasoning summary")
    expect(reasoning).to_be_visible()
    expect(page.locator(".reasoning .prose")).to_be_hidden()
    reasoning.click()
    expect(page.locator(".reasoning .prose")).to_contain_text("boats")


def test_tool_cards_show_input_output_duration_and_state(watched: Watched) -> None:
    page = watched.page
    say(page, "read Agent.md")
    card = page.locator(".tool")
    expect(card.locator(".badge")).to_have_text("done")
    expect(card.locator(".tool-ms")).to_have_text(re.compile(r"^<?\d+(\.\d+)? m?s$"))
    card.locator("summary").click()
    expect(card).to_contain_text("Input")
    expect(card).to_contain_text("You keep the ship on course")
    watched.shoot("tool-card")


def test_stop_ends_a_long_answer(watched: Watched) -> None:
    page = watched.page
    say(page, "count to 300 slowly")
    expect(page.locator(".message.assistant")).to_contain_text("5 6 7")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    expect(page.locator(".message.assistant")).not_to_contain_text("300")


def test_queue_is_shown_can_be_emptied_and_steer_reaches_the_run(watched: Watched) -> None:
    page = watched.page
    say(page, "count to 150 slowly")
    expect(page.locator(".message.assistant")).to_contain_text("1 2 3")
    say(page, "tools")
    say(page, "help")
    queue = page.locator(".queue li")
    expect(queue).to_have_count(2)
    watched.shoot("queue")
    queue.nth(1).get_by_role("button").click()
    expect(queue).to_have_count(1)
    page.locator("#prompt").fill("summarize")
    page.get_by_role("button", name="Steer").click()
    expect(page.locator(".message.assistant").last).to_contain_text("tools on offer")
    # A count is one step, so the steering words are taken when it ends.
    expect(page.locator(".message.user", has_text="summarize")).to_be_visible()
    expect(page.locator(".message.user", has_text="help")).to_have_count(0)
    expect(page.locator(".queue")).to_have_count(0)


def copy_thread(page: Page) -> str:
    page.get_by_role("button", name="More for this thread").click()
    page.get_by_role("menuitem", name="Copy as Markdown").click()
    expect(page.locator(".toast")).to_contain_text("Copied")
    return page.evaluate("navigator.clipboard.readText()")


def test_u3_a_retried_answer_stands_in_the_place_of_the_one_before(watched: Watched) -> None:
    page = watched.page
    say(page, "fail")
    failed = page.locator(".message .note.bad")
    expect(failed).to_have_count(1)
    watched.shoot("failed-answer")
    page.get_by_role("button", name="Answer again").click()
    versions = page.locator(".versions")
    expect(versions).to_contain_text("2 / 2")
    expect(failed).to_have_count(1)
    expect(page.locator(".message.assistant")).to_have_count(1)
    page.reload()
    expect(versions).to_contain_text("2 / 2")
    versions.get_by_role("button", name="The answer before").click()
    expect(versions).to_contain_text("1 / 2")
    expect(failed).to_have_count(1)
    watched.shoot("versions")
    # Words after it leave both where they are.
    say(page, "tools")
    expect(page.locator(".message.assistant")).to_have_count(2)
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    assert copy_thread(page).count("\n## Captain ·") == 2, "an answer that was replaced is not told"


def test_edit_and_resend_makes_a_branch_that_leads_to_its_parent(watched: Watched, serving: Serving) -> None:
    page = watched.page
    say(page, "tools")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    first = page.url
    say(page, "think about boats")
    expect(page.locator(".reasoning")).to_be_visible()
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.locator(".message.user").last.hover()
    page.get_by_role("button", name="Edit and send again").last.click()
    page.locator(".edit-message textarea").fill("help")
    watched.shoot("edit")
    page.get_by_role("button", name="Send in a new thread").click()
    expect(page.locator(".message.assistant").last).to_contain_text("Things to say")
    assert page.url != first
    expect(page.locator(".message.user")).to_have_count(2)
    # Lists tell the two apart.
    expect(page.locator(".thread-link", has_text="branch of tools")).to_contain_text("help")
    page.locator(".bar").get_by_role("link", name="branch of tools").click()
    expect(page.locator(".message.found")).to_contain_text("think about boats")
    assert page.url.startswith(first)


def test_u3_a_thread_is_copied_and_kept_whole_and_a_hit_is_shown_in_its_place(
    watched: Watched, serving: Serving
) -> None:
    page = watched.page
    with (serving.folder / "Agent.md").open("a") as agent:
        agent.write("\n```sh\nsail\n```\n\n# No heading of ours\n")
    say(page, "read Agent.md")
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    copied = copy_thread(page)
    assert copied.startswith("# read Agent.md\n\n## You · 2")
    # Another reader of Markdown takes it for what it is: nothing in a result ends its block.
    tokens = MarkdownIt().parse(copied)
    assert any("No heading of ours" in token.content for token in tokens if token.type == "fence")
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", "h2", "h2"]
    more = page.get_by_role("button", name="More for this thread")
    more.click()
    with page.expect_download() as taken:
        page.get_by_role("menuitem", name="Download as JSON").click()
    assert taken.value.suggested_filename == "read Agent.md.json"
    kept = json.loads(taken.value.path().read_text())
    assert [message["role"] for message in kept["messages"]] == ["user", "assistant"]
    long = store_thread(serving.folder, "long", [f"word {number}" for number in range(501)])
    page.goto(f"{serving.address}/{long}")
    expect(page.get_by_text("word 500", exact=True)).to_be_visible()
    more.click()
    with page.expect_download() as taken:
        page.get_by_role("menuitem", name="Download as JSON").click()
    words = [
        message["parts"][0]["text"] for message in json.loads(taken.value.path().read_text())["messages"]
    ]
    assert words == [f"word {number}" for number in range(501)]
    page.get_by_role("searchbox", name="Search").fill("course")
    page.locator(".side-list").get_by_role("link").first.click()
    expect(page.locator(".message.found")).to_be_visible()
    watched.shoot("search-hit")
    (serving.folder / "memory/topics").mkdir(parents=True)
    (serving.folder / "memory/MEMORY.md").write_text("Nothing of ropes.\n")
    (serving.folder / "memory/topics/ropes.md").write_text("# Ropes\n\n缆绳存放在三号仓库。\n")
    page.get_by_role("searchbox", name="Search").fill("三号仓库")
    expect(page.locator(".side-group")).to_have_text("In memory and scripts")
    page.locator(".side-list").get_by_role("link", name="memory/topics/ropes.md").click()
    expect(page.get_by_role("button", name="ropes.md")).to_have_attribute("aria-pressed", "true")
    watched.shoot("search-memory")


def test_attachments_by_button_and_paste(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    picture = tmp_path / "quay.png"
    Image.new("RGB", (120, 80), (11, 107, 116)).save(picture)
    page.locator("input[type=file]").set_input_files(picture)
    expect(page.locator(".chip")).to_contain_text("quay.png")
    page.locator("#prompt").evaluate(
        """(area) => {
            const data = new DataTransfer();
            data.items.add(new File(["log"], "log.txt", { type: "text/plain" }));
            const paste = { clipboardData: data, bubbles: true, cancelable: true };
            area.dispatchEvent(new ClipboardEvent("paste", paste));
        }"""
    )
    expect(page.locator(".chip")).to_have_count(2)
    expect(page.locator(".chip .spinner")).to_have_count(0)
    page.locator(".chip", has_text="log.txt").get_by_role("button").click()
    say(page, "tools")
    expect(page.locator(".message.user img")).to_be_visible()
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    page.reload()
    image = page.locator(".message.user img")
    expect(image).to_be_visible()
    assert image.evaluate("(element) => element.naturalWidth") > 0
    page.get_by_role("button", name="Show quay.png large").click()
    expect(page.get_by_role("dialog").get_by_role("img", name="quay.png")).to_be_visible()
    watched.shoot("attachment")
