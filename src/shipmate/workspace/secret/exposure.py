"""Find secrets that lie open: keys written out in ship.json, files that others on the machine can read."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import MIN_LENGTH, Mask
from shipmate.workspace.secret.setting import VARIABLE, KeyPath, find_secrets, looks_secret

# Places that hold nothing but secrets.
KEPT = ("apiKey", "headers")
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def findings(layout: Layout) -> list[Finding]:
    """Return the literal keys and the loose modes of a workspace, each with its fix."""
    members = sorted(layout.members.iterdir()) if layout.members.is_dir() else []
    homes = [layout, *(Layout(path) for path in members if path.is_dir())]
    files = [file for home in homes for file in (home.config, home.member_file)]
    found = [finding for file in files for finding in _find_literals(file, layout.root)]
    for home in homes:
        found += _find_loose(home.config, layout.root)
        # A repository often holds .env.example and its like; those are made to be read.
        found += _find_loose(home.env, layout.root)
    return [*found, *_find_loose(layout.ship, layout.root)]


def _find_literals(config: Path, root: Path) -> Iterator[Finding]:
    try:
        raw = msgspec.json.decode(config.read_bytes())
    except (OSError, ValueError):
        # Whether ship.json can be read is told elsewhere.
        return
    for place in dict.fromkeys(place for place, _ in find_secrets(raw)):
        if is_literal(raw, place):
            name = name_variable(place)
            yield Finding(
                "warn",
                f"{config.relative_to(root)} {'.'.join(place)}",
                "a secret is written out; whoever reads the file has it",
                f'write "${{{name}}}" there and put {name}=… into .env',
            )


def is_literal(raw: Any, place: KeyPath) -> bool:
    """Return whether a secret is surely written out at a place, and not named by a variable."""
    for key in place[:-1]:
        raw = raw[int(key) if isinstance(raw, list) else key]
    value = raw[int(place[-1]) if isinstance(raw, list) else place[-1]]
    if VARIABLE.search(value) or len(value) < MIN_LENGTH:
        return False
    before = raw[int(place[-1]) - 1] if isinstance(raw, list) and place[-1] != "0" else ""
    name = next((key for key in reversed(place) if not key.isdigit()), "")
    # `--token value`, `--token=value`, and whatever has the look of a key or a password in an address.
    hints = (
        name,
        str(before) if str(before).startswith("-") else "",
        value.partition("=")[0] if "=" in value else "",
    )
    return any(map(looks_secret, hints)) or any(key in KEPT for key in place) or Mask(())(value) != value


def name_variable(place: KeyPath) -> str:
    """Return the variable that should hold the secret at a place."""
    words = [each for each in place if not each.isdigit()]
    if words[0] == "env":
        # It is the name of a variable already.
        return words[-1]
    name = "_".join(words[-2:] if len(words) > 1 else words)
    return "".join(character if character.isalnum() else "_" for character in _snake(name)).upper()


def _snake(name: str) -> str:
    return "".join(f"_{each}" if each.isupper() and at else each for at, each in enumerate(name))


def _find_loose(path: Path, root: Path) -> Iterator[Finding]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if mode & OTHERS:
        shown = path.relative_to(root)
        wanted = "700" if path.is_dir() else "600"
        verb = "write" if mode & (stat.S_IWGRP | stat.S_IWOTH) else "read"
        said = f"others on this machine can {verb} it (mode {mode:o})"
        yield Finding("warn", f"{shown} mode", said, f"chmod {wanted} {shown}")
