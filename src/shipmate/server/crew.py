"""List the members of a workspace from their files."""

from __future__ import annotations

import re

import msgspec

from shipmate.server.guard.error import missing
from shipmate.workspace.config import Config
from shipmate.workspace.frontmatter import read_frontmatter
from shipmate.workspace.layout import CAPTAIN, MEMBER_ID, Layout

HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
DESCRIPTION_LIMIT = 200


class Member(msgspec.Struct, frozen=True):
    """Describe a member for a list."""

    id: str
    name: str
    description: str
    kind: str


def list_members(layout: Layout, config: Config) -> list[Member]:
    """List the captain and every folder of members/ that has an Agent.md."""
    captain = _member(layout, CAPTAIN, config.name, config.description)
    if not layout.members.is_dir():
        return [captain]
    names = sorted(entry.name for entry in layout.members.iterdir() if (entry / "Agent.md").is_file())
    others = [name for name in names if MEMBER_ID.fullmatch(name) and name != CAPTAIN]
    return [captain, *(_member(layout.member(name), name, None, None) for name in others)]


def find_member(layout: Layout, config: Config, member_id: str) -> Member:
    """Give one member, or say that there is none."""
    for member in list_members(layout, config):
        if member.id == member_id:
            return member
    raise missing("such member")


def _member(layout: Layout, member_id: str, name: str | None, description: str | None) -> Member:
    found = read_frontmatter(layout.agent.read_text(encoding="utf-8", errors="replace"))
    heading = HEADING.search(found.body)
    return Member(
        member_id,
        name or _word(found.data.get("name")) or (str(heading[1]) if heading else member_id),
        (description or _word(found.data.get("description")) or _first_paragraph(found.body))[
            :DESCRIPTION_LIMIT
        ],
        _word(found.data.get("kind")) or "native",
    )


def _word(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _first_paragraph(body: str) -> str:
    blocks = (" ".join(block.split()) for block in body.split("\n\n"))
    return next((block for block in blocks if block and not block.startswith(("#", "<!--"))), "")
