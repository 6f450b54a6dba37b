"""The page in Firefox: asked, answered, approved, reloaded, in both languages. Part of the long proof."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.firefox import FIREFOX, Firefox
from tests.support.page import ARTEFACTS, Serving, store_thread

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not os.environ.get("SHIPMATE_FIREFOX"), reason="SHIPMATE_FIREFOX=1 goes through it"),
]
ENTER = "\ue007"
DRAWN = "Tide: $h = 4$\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```mermaid\nflowchart LR\n  A --> B\n```\n"
COUNT = "document.querySelectorAll(arguments[0]).length === arguments[1]"
# What a page may not do: script errors that nobody caught, and requests elsewhere.
WATCH = "window.troubles = []; window.addEventListener('error', (event) => troubles.push(event.message))"
FOREIGN = """return performance.getEntriesByType('resource').map((entry) => entry.name)
  .filter((name) => !name.startsWith(location.origin) && !/^(data|blob):/.test(name))"""


@pytest.fixture
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    assert FIREFOX is not None, "install firefox-esr"
    browser = Firefox(tmp_path_factory.mktemp("firefox"))
    yield browser
    browser.close()


def test_the_page_works_in_firefox(firefox: Firefox, serving: Serving) -> None:
    address = store_thread(serving.folder, "rich", ["Show all", DRAWN])
    firefox.ask("WebDriver:Navigate", {"url": serving.link})
    firefox.wait("document.querySelector('#prompt')")
    firefox.run(WATCH)
    firefox.press("#prompt", f"run echo hello harbour > made.txt{ENTER}")
    firefox.wait(COUNT, ".confirmation", 1)
    approve = "[...document.querySelectorAll('.confirmation .primary')].find((each) => !each.disabled)"
    firefox.wait(approve)
    firefox.shoot(ARTEFACTS / "firefox-approval.png")
    firefox.run(f"{approve}.click()")
    firefox.wait("document.querySelector('.tool .badge')?.textContent === 'done'")
    firefox.wait(COUNT, ".confirmation", 0)
    assert (serving.folder / "made.txt").read_text() == "hello harbour\n"
    # Only said by the browser when something grew while it was measured; it is drawn with the next frame.
    assert [each for each in firefox.run("return troubles") if not each.startswith("ResizeObserver")] == []
    # What is written and not sent outlives a reload.
    firefox.press("#prompt", "a draft")
    firefox.run("location.reload()")
    firefox.wait("!window.troubles && document.querySelector('#prompt')?.value === 'a draft'")
    firefox.wait(COUNT, ".message.assistant", 1)
    firefox.run("location.hash = arguments[0]", address.partition("#")[2])
    firefox.wait("document.querySelector('.diagram img')?.naturalWidth > 0")
    firefox.wait(COUNT, ".message.assistant .katex", 1)
    firefox.shoot(ARTEFACTS / "firefox-rich.png")
    assert firefox.run(FOREIGN) == []


def test_the_page_speaks_chinese_in_firefox(firefox: Firefox, folder: Path) -> None:
    (folder / "ship.json").write_text('{"language": "zh"}')
    serving = Serving(folder)
    serving.start()
    try:
        firefox.ask("WebDriver:Navigate", {"url": serving.link})
        firefox.wait("document.querySelector('#prompt')")
        firefox.wait("document.documentElement.lang.startsWith('zh')")
        firefox.press("#prompt", f"工具{ENTER}")
        firefox.wait(COUNT, ".message.assistant", 1)
        firefox.shoot(ARTEFACTS / "firefox-zh.png")
    finally:
        serving.leave()
