"""Find a way to confine commands on this machine, and prove that it confines."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from shipmate.tools.exec.sandbox.bubblewrap import find_bubblewraps
from shipmate.tools.exec.sandbox.landlock import Landlock
from shipmate.tools.exec.sandbox.seatbelt import find_seatbelts
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout, make_private

PROBE_SECONDS = 10
# Given a file it may make, one it must not read and one it must not make; says `held` when all three hold.
PROBE = 'echo yes >"$1" || exit 1; cat "$2" && exit 2; (echo no >"$3"); echo held'


class Confinement(Protocol):
    """Be one way to confine commands."""

    @property
    def level(self) -> str: ...

    @property
    def limits(self) -> str:
        """Say what works differently for commands, empty when nothing does."""
        ...

    def describe(self) -> str: ...

    def wrap(self, command: Sequence[str], *, network: bool) -> list[str]: ...


class Sandbox:
    """Run commands in the strongest confinement that works here; it is tried once, when first asked for."""

    def __init__(self, layout: Layout, candidates: Sequence[Confinement] | None = None) -> None:
        self._layout = layout
        self._candidates = candidates

    @property
    def works(self) -> bool:
        """Tell whether commands are confined; where they are not, every command must ask."""
        return self._found is not None

    @property
    def level(self) -> str:
        return self._found.level if self._found else "none"

    def describe(self) -> str:
        """Say in a few words what confines commands."""
        return self._found.describe() if self._found else "none: commands run unconfined"

    def wrap(self, command: Sequence[str], *, network: bool) -> list[str]:
        """Give the command line to start instead of a command."""
        self._prepare()
        if self._found is None:
            return list(command)
        # What does not exist cannot be covered, and no command may make Shipmate's configuration.
        with contextlib.suppress(FileExistsError), self._layout.config.open("x") as file:
            file.write("{}\n")
        return self._found.wrap(command, network=network)

    def findings(self) -> list[Finding]:
        """Tell `doctor` how commands are confined."""
        if self._found is None:
            fix = "Install bubblewrap, or the extra: pip install 'shipmate[sandbox]'." if _is_linux() else ""
            message = "no sandbox works here, so every command asks first"
            return [Finding("warn", "sandbox", message, fix)]
        if self._found.limits:
            fix = "Allow user namespaces and install bubblewrap for a full sandbox."
            return [Finding("warn", "sandbox", f"{self._found.describe()}: {self._found.limits}", fix)]
        return [Finding("ok", "sandbox", self._found.describe())]

    @cached_property
    def _found(self) -> Confinement | None:
        self._prepare()
        candidates = list_confinements(self._layout) if self._candidates is None else self._candidates
        return next((each for each in candidates if holds(each, self._layout)), None)

    def _prepare(self) -> None:
        """Make the folders that are opened to commands, so that they exist when the rest is covered."""
        for name in ("home", "tmp"):
            make_private(self._layout.scratch / name)


def list_confinements(layout: Layout) -> list[Confinement]:
    """List what could confine commands here, strongest first."""
    if _is_linux():
        return [*find_bubblewraps(layout), Landlock(layout)]
    return [*find_seatbelts(layout)]


def holds(confinement: Confinement, layout: Layout) -> bool:
    """Run a command confined and see whether it could do what it must and nothing more."""
    name = f"probe-{secrets.token_hex(6)}"
    allowed, hidden = layout.scratch / name, layout.ship / name
    with tempfile.TemporaryDirectory() as folder:
        outside = Path(folder) / name
        hidden.write_text("hidden")
        try:
            printed = _try(confinement, ["sh", "-c", PROBE, "sh", str(allowed), str(hidden), str(outside)])
            return printed == "held\n" and allowed.is_file() and not outside.exists()
        finally:
            hidden.unlink(missing_ok=True)
            allowed.unlink(missing_ok=True)


def _try(confinement: Confinement, command: Sequence[str]) -> str:
    wrapped = confinement.wrap(command, network=False)
    try:
        done = subprocess.run(
            wrapped,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _is_linux() -> bool:
    return sys.platform == "linux"
