from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.support.page import CHROMIUM, DESK, FLAGS, OpenPage, Serving, Watched, log_in
from tests.support.wait import LONG

# Tests share the machine with others; what a person would wait for may take longer here.
expect.set_options(timeout=LONG * 1000)

AGENT = "# Captain\n\nYou keep the ship on course and answer briefly.\n"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Agent.md").write_text(AGENT)
    return tmp_path


@pytest.fixture
def serving(folder: Path) -> Iterator[Serving]:
    server = Serving(folder)
    try:
        server.start()
        yield server
    finally:
        server.leave()


@pytest.fixture
def open_page(browser: Browser, serving: Serving) -> Iterator[OpenPage]:
    """Open pages that are let in; when the test ends, none of them may have had trouble."""
    contexts: list[BrowserContext] = []
    opened: list[Watched] = []

    def open_one(
        path: str = "",
        *,
        size: tuple[int, int] = DESK,
        dark: bool = False,
        language: str | None = None,
        same_as: Watched | None = None,
    ) -> Watched:
        if same_as is None:
            context = browser.new_context(
                viewport={"width": size[0], "height": size[1]},
                color_scheme="dark" if dark else "light",
                permissions=["clipboard-read", "clipboard-write"],
            )
            contexts.append(context)
            log_in(context, serving)
            if language:
                context.add_init_script(f"localStorage.setItem('shipmate.language', '{language}')")
        else:
            context = same_as.page.context
        watched = Watched(context.new_page(), serving.address)
        watched.page.set_default_timeout(LONG * 1000)
        opened.append(watched)
        watched.page.goto(f"{serving.address}/{path}")
        return watched

    yield open_one
    troubles = [trouble for watched in opened for trouble in watched.troubles()]
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def watched(open_page: OpenPage) -> Watched:
    return open_page()


@pytest.fixture
def browser_link(browser: Browser, serving: Serving) -> Iterator[Watched]:
    """Open the address the server prints, in a browser that was never here."""
    context = browser.new_context(viewport={"width": DESK[0], "height": DESK[1]})
    watched = Watched(context.new_page(), serving.address)
    watched.page.goto(serving.link)
    yield watched
    troubles = watched.troubles()
    context.close()
    assert troubles == []
