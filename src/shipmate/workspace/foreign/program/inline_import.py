"""Find the files that a sentence of CLAUDE.md names as `@path`; only whole lines pull a file in."""

from __future__ import annotations

import re
from pathlib import Path

from shipmate.workspace.foreign.foreign_file import is_file, read_head
from shipmate.workspace.foreign.recognised import Unused

NAMED = re.compile(r"(?<![\w`@/])@([\w~][\w./~-]*\w)")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
COUNT_LIMIT = 20


def find_imports(root: Path, name: str) -> list[Unused]:
    """Return the imports of a file that are not followed."""
    text = CODE.sub("", read_head(root / name))
    found: list[Unused] = []
    for line in text.splitlines():
        if line.strip().startswith("@") and " " not in line.strip():
            continue
        for path in NAMED.findall(line):
            if is_file((root / name).parent / path):
                why = (
                    f"it is named inside a sentence: give @{path} a line of its own to put it into the prompt"
                )
                found.append(Unused(what=f"{name}: @{path}", why=why))
    return found[:COUNT_LIMIT]
