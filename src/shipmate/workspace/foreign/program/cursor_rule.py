"""Read Cursor's rules: when each of them holds."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from shipmate.workspace.foreign.foreign_file import ENTRY_LIMIT, read_head
from shipmate.workspace.foreign.recognised import Unused

FOLDER = ".cursor/rules"
# Between braces a comma parts the ends of one pattern.
BETWEEN = re.compile(r",(?![^{]*\})")


def find_rules(root: Path) -> tuple[list[str], dict[str, tuple[str, ...]], list[Unused]]:
    """Return the rules that always hold, the patterns of those that hold for some files, and the others."""
    always: list[str] = []
    for_files: dict[str, tuple[str, ...]] = {}
    unused: list[Unused] = []
    for path in _find_files(root):
        globs, why = _judge(read_head(root / path))
        if globs:
            for_files[path] = globs
        elif why:
            unused.append(Unused(what=path, why=why, lines={"context": {"instructions": [path]}}))
        else:
            always.append(path)
    return always, for_files, unused


def _find_files(root: Path) -> list[str]:
    """Return the rules in the folder and those below it, without following a link."""
    found: list[str] = []
    for folder, folders, names in os.walk(root / FOLDER):
        folders.sort()
        found += [Path(folder, name).relative_to(root).as_posix() for name in names if name.endswith(".mdc")]
        if len(found) >= ENTRY_LIMIT:
            break
    return sorted(found)[:ENTRY_LIMIT]


def _judge(text: str) -> tuple[tuple[str, ...], str]:
    """Return the files a rule holds for, or why it is in no prompt; neither when it is in every one."""
    # Few folders have rules, and YAML takes long to load.
    from shipmate.workspace.frontmatter import read_frontmatter

    front = read_frontmatter(text)
    # `globs: *.ts` is no YAML, and yet how Cursor writes it.
    fields: dict[str, Any] = front.data or {
        key.strip(): value.strip()
        for line in front.raw.splitlines()
        for key, _, value in [line.partition(":")]
    }
    if str(fields.get("alwaysApply", "")).lower() == "true":
        return (), ""
    if globs := _read_globs(fields.get("globs")):
        return globs, ""
    if fields.get("description"):
        return (), "it is used only when it fits; add it to use it everywhere"
    return (), "it is used only when named; add it to use it everywhere" if front.raw else ""


def _read_globs(given: Any) -> tuple[str, ...]:
    """Return the patterns of a list, or of words between commas."""
    words = given if isinstance(given, list) else BETWEEN.split(str(given or "").strip("[] "))
    return tuple(found for word in words if (found := str(word).strip("\"' ")))
