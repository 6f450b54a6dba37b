"""Drive the built page in a real Chromium, served by a real `shipmate serve`."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect

from shipmate.thread.row import encode_row
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.node import install_packages
from tests.support.terminal import environment
from tests.support.wait import LONG
from tests.support.warm import Forked, Order, get_warm

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "src/shipmate/server/page/index.html"
WEBUI = ROOT / "webui"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
ARTEFACTS = ROOT / "artefacts/page"
# The shell has the same engine without a browser's windows around it, and a page in it costs a quarter less.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
)
DESK = (1280, 820)
PHONE = (360, 740)
# What Chromium writes on the console when a server is away.
REFUSED = (
    r"ERR_(CONNECTION_(REFUSED|RESET|CLOSED|ABORTED)|SOCKET_NOT_CONNECTED"
    r"|INCOMPLETE_|CONTENT_LENGTH_|EMPTY_RESPONSE)"
)


def reserve_port() -> socket.socket:
    """Hold a port for a server that sets SO_REUSEADDR: nobody else gets it while the server is away."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


class Serving:
    """Hold one `shipmate serve` process, which a test may kill and start again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._reserved = reserve_port()
        self.port: int = self._reserved.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.link = ""
        self._process: Forked | None = None

    @property
    def token(self) -> str:
        return (self.folder / ".ship" / "token").read_text().strip()

    def start(self, **more: str) -> None:
        """Start the server, with more in its environment, and wait until it says where it is."""
        arguments = ["serve", "--no-open", "--port", str(self.port)]
        order = Order(str(self.folder), environment(self.folder, **more), arguments)
        read, write = os.pipe()
        with Path(os.devnull).open("rb") as nothing, os.fdopen(write, "wb") as given:
            handles = [nothing.fileno(), given.fileno(), given.fileno()]
            self._process = get_warm().start(order, handles)
        self._output = os.fdopen(read, encoding="utf-8")
        said = ""
        for line in self._output:
            said += line
            if found := re.search(r"http://\S+\?token=\S+", line):
                self.link = found.group()
                return
        self.kill()
        raise AssertionError(f"the server ended before it was ready:\n{said}")

    def kill(self) -> None:
        """End the server as a power cut would."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait(LONG)
        self._output.close()
        self._process = None

    def leave(self) -> None:
        """End the server and let its port go."""
        self.kill()
        self._reserved.close()


class Watched:
    """Hold a browser page and note what should never happen: console errors and requests to other hosts."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self._allowed: list[str] = []
        self._host = urlsplit(address).netloc
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        page.on("request", self._see)

    def allow(self, pattern: str) -> None:
        """Expect a console error, such as the browser's own line about a refused request."""
        self._allowed.append(pattern)

    def troubles(self) -> list[str]:
        """List what happened and should not have."""
        unexpected = [
            error for error in self.errors if not any(re.search(pattern, error) for pattern in self._allowed)
        ]
        return [*unexpected, *(f"foreign request: {url}" for url in self.foreign)]

    def shoot(self, name: str) -> None:
        """Keep a picture for people to look at."""
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=ARTEFACTS / f"{name}.png", animations="disabled")

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _see(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != self._host:
            self.foreign.append(request.url)


OpenPage = Callable[..., Watched]


def violations(page: Page) -> list[str]:
    """Ask axe-core what breaks WCAG 2.2 AA on the page as it stands."""
    install_packages(WEBUI)
    page.evaluate((WEBUI / "node_modules/axe-core/axe.min.js").read_text())
    found = page.evaluate(
        "(tags) => axe.run({ runOnly: { type: 'tag', values: tags } }).then((result) => result.violations)",
        RULES,
    )
    return [
        f"{one['id']}: {node['target']} {json.dumps(node.get('any', [])[:1])[:300]}"
        for one in found
        for node in one["nodes"]
    ]


def log_in(context: BrowserContext, serving: Serving) -> None:
    """Give a browser context its session cookie."""
    answer = context.request.post(f"{serving.address}/api/login", data={"token": serving.token})
    assert answer.status == 204, answer.text()


def settle(page: Page) -> None:
    """Wait until a view shows what it has to show; its stream of changes stays open as long as it is."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator("h1").first).to_be_visible()
    expect(page.locator(".spinner, [aria-busy=true]")).to_have_count(0)


def say(page: Page, text: str) -> None:
    """Write a message and send it with Enter."""
    box = page.locator("#prompt")
    box.fill(text)
    box.press("Enter")


def store_thread(folder: Path, room: str, texts: Sequence[str]) -> str:
    """Write a thread as it lies on disk, a person and a member by turns; return the address of its view."""
    thread = ThreadId("web", "room", room)
    path = Layout.at(folder).thread(thread)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows: list[UIMessage] = [
        {
            "id": f"{room}-{number}",
            "role": "assistant" if number % 2 else "user",
            "metadata": {
                "threadId": str(thread),
                "timestamp": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
            },
            "parts": [{"type": "text", "text": text}],
        }
        for number, text in enumerate(texts)
    ]
    path.write_bytes(b"".join(map(encode_row, rows)))
    return f"#/t/{quote(str(thread), safe='')}"


def first_scripts(built: Path = BUILT) -> int:
    """Add up what the page loads before it can draw anything, packed as it is sent."""
    names = re.findall(r'(?:src|href)="/(assets/[^"]+\.js)"', built.read_text())
    return sum(len(gzip.compress((built.parent / name).read_bytes(), 6)) for name in names)
