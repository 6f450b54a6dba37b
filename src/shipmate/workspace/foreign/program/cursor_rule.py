"""Read Cursor's rules: those that always hold are used, the others are named."""

from __future__ import annotations

from pathlib import Path

from shipmate.workspace.foreign.foreign_file import list_names, read_head
from shipmate.workspace.foreign.recognised import Unused

FOLDER = ".cursor/rules"


def find_rules(root: Path) -> tuple[list[str], list[Unused]]:
    """Return the rules that always hold, and those that hold only at times."""
    always: list[str] = []
    unused: list[Unused] = []
    for name in list_names(root / FOLDER, ".mdc"):
        path = f"{FOLDER}/{name}"
        why = _judge(read_head(root / path))
        if why:
            unused.append(Unused(what=path, why=why, lines={"context": {"instructions": [path]}}))
        else:
            always.append(path)
    return always, unused


def _judge(text: str) -> str:
    """Return why a rule is not in every prompt; empty when it is."""
    # Few folders have rules, and YAML takes long to load.
    from shipmate.workspace.frontmatter import read_frontmatter

    front = read_frontmatter(text)
    fields = {
        key.strip(): value.strip()
        for line in front.raw.splitlines()
        for key, _, value in [line.partition(":")]
    }
    # `globs: *.ts` is no YAML, and yet how Cursor writes it.
    if fields.get("alwaysApply", "").lower() == "true":
        return ""
    if globs := fields.get("globs", "").strip("[]\"' "):
        return f"it holds only for {globs}; add it to use it everywhere"
    if fields.get("description"):
        return "it is used only when it fits; add it to use it everywhere"
    return "it is used only when named; add it to use it everywhere" if front.raw else ""
