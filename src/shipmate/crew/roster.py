"""Who stands to whom how: the relations of members, kept in step on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from shipmate.errors import NotFoundError, UserError
from shipmate.workspace.crew import Crew
from shipmate.workspace.disk.private import write_private
from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.member import Member
from shipmate.workspace.relation import (
    FILE,
    INVERSE,
    MOVED,
    Relation,
    read_relations,
    with_relation,
    without_relation,
)

# Hundreds of relations. What is larger is no table that somebody keeps, and it is read whenever one asks.
SIZE_LIMIT = 64 * 1024


class Standing(NamedTuple):
    """A row of a member's relations, the member it is about, and whether that one's file knows of it."""

    owner: Member
    row: Relation
    target: Member | None
    is_mutual: bool


class Roster:
    """The relations of one crew, read from the files of its members each time."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        # Links that lead out of the workspace and what is too large are told, not followed.
        self._files = FileCache(crew.layout.root)

    def relations(self, member: Member) -> list[Relation]:
        """List how a member stands to others: by its own file, and by the workspace's where that names it."""
        own = self._rows(member)
        found = [each for each in own if not each.subject]
        if member.id != CAPTAIN:
            captain = self._crew.find(CAPTAIN)
            shared = self._rows(captain)
            told = [each for each in shared if each.subject in _names(member)]
            known = {name for each in found for name in (each.target_id, each.target_name)}
            found += [each for each in told if each.target_id not in known]
        return found

    def colleagues(self, member: Member) -> list[Member]:
        """List the members that a member may ask."""
        named = {
            name
            for each in self.relations(member)
            if not each.is_contact
            for name in (each.target_id, each.target_name)
        }
        return [each for each in self._crew.list() if each.id != member.id and named & set(_names(each))]

    def relate(self, one: str, other: str, relation: str, strength: str = "", note: str = "") -> None:
        """Write how the other stands to the one into both their files."""
        first, second = self._crew.choose(one), self._crew.choose(other)
        if first.id == second.id:
            raise UserError(f"{first.id} cannot have a relation to itself.")
        for each in (first, second):
            # Neither side is written when the other cannot be.
            self._text_to_change(each)
        inverse = INVERSE.get(relation, relation)
        for owner, target, word in ((first, second, relation), (second, first, inverse)):
            row = Relation(
                target_id=target.id, target_name=target.name, relation=word, strength=strength, note=note
            )
            self._write(owner, with_relation(self._text_to_change(owner), row, _names(owner)))

    def part(self, one: str, other: str) -> None:
        """Take the relation of two members out of both their files; the other may be gone already."""
        first = self._crew.choose(one)
        try:
            second = self._crew.choose(other)
        except NotFoundError:
            second = None
        names = _names(second) if second else (other,)
        pairs = [(first, names)] + ([(second, _names(first))] if second else [])
        changed = False
        for owner, target in pairs:
            before = self._text_to_change(owner)
            after = without_relation(before, target, _names(owner))
            if after != before:
                changed = True
                self._write(owner, after)
        if not changed:
            raise NotFoundError(f"{first.id} has no relation to {other!r}.")

    def mend(self) -> list[str]:
        """Write the rows that only one side has into the other's file; return what was written."""
        written: list[str] = []
        for owner, target, row in self._one_sided():
            back = Relation(
                target_id=owner.id,
                target_name=owner.name,
                relation=INVERSE.get(row.relation, row.relation),
                strength=row.strength,
                note=row.note,
            )
            self._write(target, with_relation(self._text_to_change(target), back, _names(target)))
            written.append(f"{target.id} → {owner.id}: {back.relation}")
        return written

    def findings(self) -> list[Finding]:
        """Say which relations lead nowhere, and which only one side knows."""
        found: list[Finding] = []
        for member in self._crew.list():
            if problem := self._problem(member):
                found.append(Finding("warn", f"member {member.id}", problem))
        for owner, row, target, _ in self.standings():
            if target is None and not row.is_contact:
                words = f"a relation to {row.target_id!r}, and there is no such member"
                fix = f"take it out: shipmate members unrelate {owner.id} {row.target_id}"
                found.append(Finding("warn", f"member {owner.id}", words, fix))
        for owner, target, row in self._one_sided():
            words = f"{owner.id} calls it {row.relation or 'a relation'}, and its own file does not know"
            fix = "write it: shipmate members relate --mend"
            found.append(Finding("warn", f"member {target.id}", words, fix))
        return found

    def _rows(self, member: Member) -> list[Relation]:
        names = _names(member)

        def read(file: FileText) -> list[Relation]:
            return read_relations(file.text, names) if file.size <= SIZE_LIMIT else []

        return self._files.make(_place(member), f"relations of {names}", read)

    def _problem(self, member: Member) -> str:
        """Say why a file of relations is not read whole."""
        file = self._files.read(_place(member))
        why = f"more than {SIZE_LIMIT // 1024} KB; shorten it" if file.size > SIZE_LIMIT else file.problem
        is_told = bool(why) and (file.is_unread or file.size > 0)
        return f"{self._crew.layout.name_of(_place(member))}: {why}" if is_told else ""

    def _text_to_change(self, member: Member) -> str:
        """Return the words of a file that is written anew; what was not read whole would be lost."""
        if problem := self._problem(member):
            raise UserError(f"{problem}. Nothing was written.")
        return self._files.read(_place(member)).text

    def _write(self, member: Member, text: str) -> None:
        write_private(_place(member), text.encode())

    def standings(self) -> Iterator[Standing]:
        """Go over every relation of every member."""
        members = self._crew.list()
        rows = {each.id: self.relations(each) for each in members}
        for owner in members:
            for row in rows[owner.id]:
                about = (each for each in members if not row.is_contact and _is_about(row, each))
                target = next(about, None)
                back = rows[target.id] if target else ()
                yield Standing(owner, row, target, any(_is_about(each, owner) for each in back))

    def _one_sided(self) -> Iterator[tuple[Member, Member, Relation]]:
        for owner, row, target, is_mutual in self.standings():
            if target is not None and target.id != owner.id and not is_mutual:
                yield owner, target, row


def _is_about(row: Relation, member: Member) -> bool:
    return bool({row.target_id, row.target_name} & set(_names(member)))


def _names(member: Member) -> Sequence[str]:
    alias = member.layout.captain_alias if member.id == CAPTAIN else ""
    return [name for name in dict.fromkeys((member.id, member.name, alias)) if name]


def _place(member: Member) -> Path:
    """Return where a member's relations stand: in its own file, or where ZyHive moved it."""
    own, moved = member.own.bootstrap(FILE), member.own.root / MOVED
    return moved if moved.is_file() and not own.is_file() else own
