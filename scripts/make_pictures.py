"""Make the pictures of docs/pictures from the running product, with the model that needs no key.

A picture that looks as before stays as it is, so that a time of day on it is no change.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
from pathlib import Path

from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page, expect, sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.support.page import CHROMIUM, FLAGS, Serving, log_in, say
from tests.support.terminal import SHIPMATE, environment
from tests.support.wait import LONG

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SIZE = {"width": 1120, "height": 700}
COLUMNS = 96
COLOURS = 96
# How much of a picture may differ before it counts as another: clocks and names of threads do.
SAME = 0.004
AGENT = "# Captain\n\nYou keep the ship on course and answer briefly.\n"
NOTES = "# Notes\n\n- The tide turns at four.\n- Tea is at five.\n"
SAID = ("think about the tide", "read notes.md")
CHANGE = "edit notes.md: replace four with half past four"


def keep(name: str, shot: bytes) -> None:
    """Write a picture in few colours, unless the one that is there looks the same."""
    path = FOLDER / f"{name}.png"
    made = Image.open(io.BytesIO(shot)).convert("RGB")
    few = made.quantize(COLOURS, dither=Image.Dither.NONE)
    if path.exists() and _is_same(Image.open(path).convert("RGB"), few.convert("RGB")):
        return
    few.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KB")


def _is_same(one: Image.Image, other: Image.Image) -> bool:
    if one.size != other.size:
        return False
    # Small shifts of a colour are the palette's.
    differs = (
        ImageChops.difference(one, other).convert("L").point([255 * (value > 24) for value in range(256)])
    )
    return differs.histogram()[255] / (one.width * one.height) < SAME


def open_page(browser: Browser, serving: Serving, *, dark: bool = False) -> Page:
    context = browser.new_context(
        viewport={"width": SIZE["width"], "height": SIZE["height"]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        locale="en-GB",
    )
    log_in(context, serving)
    page = context.new_page()
    page.set_default_timeout(LONG * 1000)
    page.goto(serving.address)
    return page


def shoot(page: Page, name: str) -> None:
    page.wait_for_load_state("networkidle")
    keep(name, page.screenshot(animations="disabled", caret="hide"))


def show_page(browser: Browser, serving: Serving) -> None:
    """Talk, look at the context, and come to a question; all of it in light and the talk in dark."""
    page = open_page(browser, serving)
    for text in SAID:
        say(page, text)
        expect(page.locator(".message.user").last).to_contain_text(text)
        expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    shoot(page, "page-light")
    dark = open_page(browser, serving, dark=True)
    dark.goto(page.url)
    expect(dark.get_by_role("button", name="Answer again")).to_be_visible()
    shoot(dark, "page-dark")
    page.get_by_role("button", name="Context", exact=True).click()
    expect(page.get_by_role("complementary", name="Context").get_by_text("History").first).to_be_visible()
    shoot(page, "context")
    page.keyboard.press("Escape")
    say(page, CHANGE)
    question = page.get_by_role("button", name="Approve", exact=True)
    expect(question).to_be_visible()
    question.scroll_into_view_if_needed()
    shoot(page, "approval")


def run_in_terminal(folder: Path, *arguments: str) -> str:
    """Return what a command shows in a terminal, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    with subprocess.Popen(
        [SHIPMATE, *arguments],
        cwd=folder,
        env=environment(folder, COLORTERM="truecolor"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ):
        os.close(theirs)
        shown = b""
        # Linux reports a terminal whose program has ended with an error.
        while data := _read(ours):
            shown += data
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:
        return b""


def show_terminal(folder: Path) -> None:
    """Draw two commands and what they print; letters are those of the reader's machine."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in (("ask", "read notes.md"), ("context",)):
        shown = " ".join(f"'{word}'" if " " in word else word for word in line)
        console.print(Text(f"$ shipmate {shown}", style="bold"))
        printed = run_in_terminal(folder, *line).partition("left out:")[0].rstrip()
        # How long a call took is another number each time.
        console.print(Text.from_ansi(re.sub(r"\(\d+ ms\)", "(2 ms)", printed)))
        console.print()
    drawn = console.export_svg(title="shipmate", theme=MONOKAI, unique_id="terminal")
    # Without the fonts that would be fetched from elsewhere.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL).replace("Fira Code", "ui-monospace")
    (FOLDER / "terminal.svg").write_text(drawn, "utf-8")


def main() -> None:
    expect.set_options(timeout=LONG * 1000)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "crew"
        folder.mkdir()
        (folder / "Agent.md").write_text(AGENT)
        (folder / "notes.md").write_text(NOTES)
        show_terminal(folder)
        serving = Serving(folder)
        serving.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
                show_page(browser, serving)
                browser.close()
        finally:
            serving.leave()


if __name__ == "__main__":
    main()
