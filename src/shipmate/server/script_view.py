"""Read a script for people: its mistakes, the conversation it is, and the threads it began."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shipmate.errors import NotFoundError, PrimingError
from shipmate.priming.library import Library, Shown
from shipmate.priming.lint.lint import lint_script
from shipmate.priming.lint.lint_mark import Mark, mark_error
from shipmate.priming.ref import ScriptRef
from shipmate.priming.replay import build_rows
from shipmate.priming.script.parse import check_script, parse_script
from shipmate.priming.script.record import ScriptError
from shipmate.server.port import Ship
from shipmate.server.shape import Answer
from shipmate.values.message import JsonObject
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.earlier_text import version_of

# A problem of a list begins with the file it is about.
PROBLEM = re.compile(r"\.minds/priming/(?P<ref>.+?)\.md(?::(?P<line>[0-9]+))?: (?P<reason>.*)", re.DOTALL)
USES_SHOWN = 20
PAGE = 500
# A script is shown as the thread it would begin.
SHOWN_THREAD = ThreadId("web", "script", "shown")


class ScriptReading(Answer):
    """A text as a script: what is wrong with it, and the conversation it is, as far as it is one."""

    title: str | None
    records: int
    marks: list[Mark]
    messages: list[JsonObject]
    applicable_member_ids: tuple[str, ...] = ()


class BrokenScript(Answer):
    """A file of the library that cannot be replayed; the ref is None when its name is no slug."""

    script_ref: str | None
    path: str
    line: int
    reason: str


class ScriptUse(Answer):
    """A thread that was begun with a script."""

    thread_id: str
    title: str
    at: str


class ScriptView(Answer):
    """One script whole, broken or not; without a digest it cannot be edited here."""

    script_ref: str
    title: str | None
    path: str
    text: str
    digest: str | None
    records: int
    problems: list[str]
    marks: list[Mark]
    messages: list[JsonObject]
    applicable_member_ids: tuple[str, ...]
    uses: list[ScriptUse]


def find_broken(problems: Iterable[str]) -> Iterable[BrokenScript]:
    """Go over the problems that are about one file."""
    for problem in problems:
        if match := PROBLEM.fullmatch(problem):
            path = f".minds/priming/{match['ref']}.md"
            line = int(match["line"] or 0)
            yield BrokenScript(
                script_ref=_ref_or_none(match["ref"]), path=path, line=line, reason=match["reason"]
            )


def _ref_or_none(text: str) -> str | None:
    try:
        return str(ScriptRef.parse(text))
    except PrimingError:
        return None


def view_script(library: Library, ref: ScriptRef, language: str) -> ScriptView:
    """Return a script as it stands on disk; what is no text, or must not be read, as the reason why."""
    try:
        shown = library.show(ref)
    except NotFoundError:
        raise
    except PrimingError as error:
        path = f".minds/priming/{ref}.md"
        return _make_view(
            Shown(script_ref=str(ref), title=None, path=path, text="", records=0, problems=[str(error)]),
            None,
            ScriptReading(title=None, records=0, marks=[], messages=[]),
        )
    return _make_view(shown, version_of(shown.text.encode()), read_draft(shown.text, language))


def _make_view(shown: Shown, digest: str | None, reading: ScriptReading) -> ScriptView:
    return ScriptView(
        script_ref=shown.script_ref,
        title=shown.title,
        path=shown.path,
        text=shown.text,
        digest=digest,
        records=shown.records,
        problems=shown.problems,
        marks=reading.marks,
        messages=reading.messages,
        applicable_member_ids=reading.applicable_member_ids,
        uses=[],
    )


def read_draft(text: str, language: str) -> ScriptReading:
    """Read a text as a script, without keeping it."""
    marks = lint_script(text, "script")
    if check_script(text, "script"):
        return ScriptReading(title=None, records=0, marks=marks, messages=[])
    script = parse_script(text, "script")
    messages: list[JsonObject] = []
    try:
        rows = build_rows([script], SHOWN_THREAD, language)
        # When it was read and what it is shown as is no part of the conversation.
        messages = [{key: row[key] for key in ("id", "role", "parts")} for row in rows]
    except PrimingError as error:
        marks = [*marks, mark_error(ScriptError(str(error)))]
    return ScriptReading(
        title=script.title,
        records=len(script.records),
        marks=marks,
        messages=messages,
        applicable_member_ids=script.applicable,
    )


async def find_uses(ship: Ship, ref: str) -> list[ScriptUse]:
    """List the threads that were begun with a script, the one that changed last first."""
    found: list[ScriptUse] = []
    before: str | None = None
    while len(found) < USES_SHOWN:
        page = await ship.store.threads.list(archived=None, before=before, limit=PAGE)
        found += [
            ScriptUse(thread_id=each.thread_id, title=each.title, at=each.created_at)
            for each in page
            if ref in _refs_of(each.settings)
        ]
        if len(page) < PAGE:
            break
        before = page[-1].cursor
    return found[:USES_SHOWN]


def _refs_of(settings: JsonObject) -> list[str]:
    chosen = settings.get("priming")
    refs = chosen.get("scriptRefs") if isinstance(chosen, dict) else None
    return [ref for ref in refs if isinstance(ref, str)] if isinstance(refs, list) else []
