"""Read the bootstrap files that agents of several programs share."""

from __future__ import annotations

from pathlib import Path

from shipmate.workspace.foreign.foreign_file import is_file, read_head
from shipmate.workspace.foreign.given_name import name_in_identity, name_in_soul
from shipmate.workspace.foreign.recognised import Unused

# Files of a workspace that other programs act on, and why they have no effect here.
IDLE = {
    "HEARTBEAT.md": "nothing runs by the clock here; ask for what it lists",
    "BOOTSTRAP.md": "it is the first conversation of another program; delete it when it was held",
    "WISHLIST.md": "nobody reads wishes here; the member can read the file",
    "prompts/dream.md": "memory is not rewritten in the background here",
    "prompts/evaluator.md": "there is no heartbeat here whose results need a judge",
    "skills/INDEX.md": "the list of skills is made from their own files",
    "conversations/INDEX.md": "conversations of another program are not shown; the member can read the files",
    "network/INDEX.md": "contacts are not put into the prompt; the member can read the file",
}


def has(root: Path, *names: str) -> list[str]:
    """Return the names of those files that are there."""
    return [name for name in names if is_file(root / name)]


def find_name(root: Path) -> str:
    """Return what the files of an agent call it."""
    return name_in_identity(read_head(root / "IDENTITY.md")) or name_in_soul(read_head(root / "SOUL.md"))


def find_idle(root: Path, prefix: str = "") -> list[Unused]:
    """Return the files that have no effect here."""
    return [Unused(what=f"{prefix}{name}", why=why) for name, why in IDLE.items() if is_file(root / name)]
