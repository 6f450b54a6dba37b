"""Set variables in .env; every other line, comments too, stays as it was written."""

from __future__ import annotations

import re
from pathlib import Path

from shipmate.errors import UserError, WorkspaceError
from shipmate.workspace.disk.private import write_private
from shipmate.workspace.layout import Layout

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What read_env takes for a line that sets a variable.
LINE = re.compile(r"^(\s*(?:export\s+)?)([A-Za-z_][A-Za-z0-9_]*)(\s*=\s*)")
# Keys and addresses are made of these; anything else came from a slip of the clipboard.
VALUE = re.compile(r"[!-~]+")
PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")


def check_value(value: str) -> str:
    """Return a value without the blanks around it; raise UserError for one that no line can hold."""
    found = value.strip()
    if not VALUE.fullmatch(found) or ("'" in found and '"' in found):
        raise UserError("a key is one line of plain letters, digits and signs. Paste it again.")
    return found


def set_variable(layout: Layout, name: str, value: str | None) -> bool:
    """Set a variable in .env (mode 0600, in one step), or take it out; tell whether it stood there."""
    if not NAME.fullmatch(name):
        raise UserError(f"{name!r} is no name of a variable.")
    path = Path(layout.env).resolve()
    try:
        before = path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
        text, stood = _change(before, name, value)
        if text != before:
            write_private(path, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise WorkspaceError(f"{layout.env} cannot be written: {error.strerror}. Nothing was kept.") from None
    return stood


def _change(text: str, name: str, value: str | None) -> tuple[str, bool]:
    lines = text.splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if (found := LINE.match(line)) and found[2] == name]
    if value is None:
        return "".join(line for at, line in enumerate(lines) if at not in places), bool(places)
    written = _write(check_value(value))
    if not places:
        gap = "\n" if text and not text.endswith(("\n", "\r")) else ""
        return f"{text}{gap}{name}={written}\n", False
    # Of several lines the last one counts.
    found = LINE.match(lines[places[-1]])
    assert found is not None
    end = lines[places[-1]][len(lines[places[-1]].rstrip("\r\n")) :]
    lines[places[-1]] = f"{found[0]}{written}{end or chr(10)}"
    return "".join(lines), True


def _write(value: str) -> str:
    if PLAIN.fullmatch(value):
        return value
    return f'"{value}"' if '"' not in value else f"'{value}'"
