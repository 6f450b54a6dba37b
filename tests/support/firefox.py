"""Drive a real Firefox through its own Marionette protocol: lengths and JSON over a socket."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.support.wait import LONG

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
# Nothing of the browser's own may call anybody.
QUIET = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.server": "",
}


class Firefox:
    """One browser with a profile of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        wanted = {**QUIET, "marionette.port": port}
        lines = [f"user_pref({json.dumps(key)}, {json.dumps(value)});" for key, value in wanted.items()]
        (folder / "user.js").write_text("\n".join(lines))
        arguments = [str(FIREFOX), "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
        environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "MOZ_DISABLE_CONTENT_SANDBOX": "1"}
        self._process = subprocess.Popen(
            arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._link = self._connect(port)
        self._number = 0
        self._read()
        self.ask("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"pageLoadStrategy": "none"}}})

    def ask(self, command: str, values: dict[str, Any]) -> Any:
        """Send a command and return its result."""
        self._number += 1
        body = json.dumps([0, self._number, command, values]).encode()
        self._link.sendall(b"%d:%s" % (len(body), body))
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def run(self, script: str, *values: object) -> Any:
        """Run the body of a function in the page."""
        asked = {"script": script, "args": list(values)}
        return self.ask("WebDriver:ExecuteScript", asked)["value"]

    def wait(self, script: str, *values: object) -> Any:
        """Wait until an expression is true in the page, and return it."""
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            if found := self.run(f"return {script}", *values):
                return found
            time.sleep(0.05)
        raise AssertionError(f"never so: {script}\n{self.run('return document.body.innerText')}")

    def press(self, selector: str, keys: str) -> None:
        """Type into an element as a person does."""
        found = self.ask("WebDriver:FindElement", {"using": "css selector", "value": selector})["value"]
        self.ask("WebDriver:ElementSendKeys", {"id": next(iter(found.values())), "text": keys})

    def shoot(self, path: Path) -> None:
        """Keep a picture for people to look at."""
        path.parent.mkdir(parents=True, exist_ok=True)
        taken = self.ask("WebDriver:TakeScreenshot", {"full": False})["value"]
        path.write_bytes(base64.b64decode(taken))

    def close(self) -> None:
        """End the browser."""
        self._link.close()
        self._process.terminate()
        self._process.wait(LONG)

    def _connect(self, port: int) -> socket.socket:
        end = time.monotonic() + LONG
        while time.monotonic() < end and self._process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=LONG)
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise AssertionError("Firefox does not listen")

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._link.recv(1) or self._fail()
        body = b""
        while len(body) < int(length[:-1]):
            body += self._link.recv(int(length[:-1]) - len(body)) or self._fail()
        return json.loads(body)

    def _fail(self) -> bytes:
        raise AssertionError("Firefox ended")
