"""Read RELATIONS.md, a table in one of three shapes; change rows of it and write the six-column one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

INVERSE = {"上级": "下级", "下级": "上级", "superior": "subordinate", "subordinate": "superior"}
FILE = "RELATIONS.md"
# Where later versions of ZyHive keep the file.
MOVED = f"network/{FILE}"
HEADER = ("成员ID", "成员名称", "类型", "关系类型", "关系程度", "说明")

_RULE = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")


class Relation(msgspec.Struct, frozen=True, kw_only=True):
    """How the owner of the file stands to another member or a contact."""

    target_id: str
    target_name: str = ""
    kind: str = "agent"
    # What the target is to the owner, for example 上级 (superior).
    relation: str = ""
    strength: str = ""
    note: str = ""
    # Set only for a row about two others, which a three-column table can hold.
    subject: str = ""

    @property
    def is_contact(self) -> bool:
        """Return whether the target is a person whom members know, not a member."""
        return self.kind.casefold() == "contact"


def read_relations(text: str, owner: Sequence[str] = ()) -> list[Relation]:
    """Read every row of every table; `owner` lists the names and ids of the member the file belongs to."""
    found: list[Relation] = []
    is_body = False
    for line in text.splitlines():
        cells = _cells(line)
        if not cells:
            is_body = False
        elif all(_RULE.fullmatch(cell) for cell in cells):
            is_body = True
        elif is_body and (relation := _read_row(cells, owner)) is not None:
            found.append(relation)
    return found


def _cells(line: str) -> list[str]:
    stripped = line.strip()
    if not stripped.startswith("|"):
        return []
    body = stripped[1:-1] if stripped.endswith("|") and not stripped.endswith("\\|") else stripped[1:]
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(body)]


def _read_row(cells: list[str], owner: Sequence[str]) -> Relation | None:
    if not cells[0]:
        return None
    if len(cells) == 3:
        return _read_triple(cells[0], cells[1], cells[2], owner)
    if len(cells) == 5:
        target, name, relation, strength, note = cells
        return Relation(target_id=target, target_name=name, relation=relation, strength=strength, note=note)
    if len(cells) == 6:
        target, name, kind, relation, strength, note = cells
        return Relation(
            target_id=target, target_name=name, kind=kind, relation=relation, strength=strength, note=note
        )
    return None


def _read_triple(member: str, relation: str, other: str, owner: Sequence[str]) -> Relation:
    """Read `A | superior | B`, A is B's superior, from the owner's point of view."""
    if other in owner:
        return Relation(target_id=member, target_name=member, relation=relation)
    if member in owner:
        return Relation(target_id=other, target_name=other, relation=INVERSE.get(relation, relation))
    return Relation(target_id=other, target_name=other, relation=relation, subject=member)


def write_relations(relations: Iterable[Relation]) -> str:
    """Write the six-column table; a row about two others keeps its subject in the note."""
    rows = [HEADER, ("---",) * len(HEADER)]
    for each in relations:
        note = (
            f"{each.subject} → {each.target_name or each.target_id} {each.note}".strip()
            if each.subject
            else each.note
        )
        rows.append((each.target_id, each.target_name, each.kind, each.relation, each.strength, note))
    return "".join(f"| {' | '.join(_escape(cell) for cell in row)} |\n" for row in rows)


def _escape(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|")


def with_relation(text: str, relation: Relation, owner: Sequence[str]) -> str:
    """Return a RELATIONS.md with this row in place of the one about the same member."""
    kept = [each for each in read_relations(text, owner) if each.subject or not _is_about(each, relation)]
    return _put_table(text, [*kept, relation])


def without_relation(text: str, target: Sequence[str], owner: Sequence[str]) -> str:
    """Return a RELATIONS.md without rows about a member of this id or name."""
    rows = read_relations(text, owner)
    kept = [each for each in rows if not {each.target_id, each.target_name, each.subject} & set(target)]
    return text if len(kept) == len(rows) else _put_table(text, kept)


def _is_about(one: Relation, other: Relation) -> bool:
    return one.target_id in (other.target_id, other.target_name)


def _put_table(text: str, relations: Sequence[Relation]) -> str:
    """Put all rows into one table where the first one stood; other words stay."""
    lines = text.splitlines()
    place = next((at for at, line in enumerate(lines) if _cells(line)), len(lines))
    words = [line for line in lines[place:] if not _cells(line)]
    before = "\n".join(lines[:place]).rstrip("\n")
    after = "\n".join(words).strip("\n")
    pieces = [before, write_relations(relations).rstrip("\n"), after]
    return "\n\n".join(piece for piece in pieces if piece) + "\n"
