"""Look through a thread for what is worth remembering, and ask a person before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

import msgspec

from shipmate.errors import ShipmateError, StorageError
from shipmate.memory.reader import user_key
from shipmate.orchestrator.compaction.cutting import write_transcript
from shipmate.orchestrator.compaction.digest import ask_aside, record_aside
from shipmate.orchestrator.run_wording import say
from shipmate.orchestrator.turn import Turn
from shipmate.orchestrator.work import Worker
from shipmate.store.port import Ledger
from shipmate.thread.errand import errand_of, is_persons
from shipmate.thread.service import Thread
from shipmate.tools.file.memory_upsert import (
    MemoryUpsert,
    check_changes,
    find_today,
    make_change,
    picture_changes,
    user_file,
    write_changes,
)
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values import chunk as chunks
from shipmate.values.event import TYPED_MODEL, surface_of
from shipmate.values.message import JsonObject, UIMessage, metadata_of, new_id, text_of, tool_name, tool_parts
from shipmate.values.saying import tell_error
from shipmate.values.tool_name import REMEMBER
from shipmate.workspace.layout import Layout
from shipmate.workspace.settings.memory_rule import EntryKind, MemoryRule

if TYPE_CHECKING:
    from shipmate.memory.service import EntryChange

# However long ago a thread was looked through, no more of it than this is.
MESSAGES = 400
READ_SHARE = 0.5
# A message that says how far its thread was looked through, and how far that was tried.
DONE, TRIED = "distilled", "undistilled"
SHARED = ("group", "channel")
QUESTIONS = ("?", "？")


class RememberedEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scope: Literal["project", "user"]
    heading: str
    content: str
    kind: EntryKind = "fact"


class RememberArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entries: tuple[RememberedEntry, ...]
    date: str


class Remember(Tool[RememberArguments]):
    """The question whether what a thread leaves may be remembered; no model can make this call."""

    name = REMEMBER
    description = "Remember what this conversation leaves."
    arguments = RememberArguments
    labels = Labels(acts=True, asks=True)

    async def picture(self, arguments: RememberArguments, context: ToolContext) -> Picture:
        return picture_changes(_changes(arguments, context), context)

    async def run(self, arguments: RememberArguments, context: ToolContext) -> ToolResult:
        changes = _changes(arguments, context)
        write_changes(changes, context)
        return ToolResult(output=[each.entry.heading for each in changes])


def _changes(arguments: RememberArguments, context: ToolContext) -> list[EntryChange]:
    made = [
        make_change(
            user_file(context) if each.scope == "user" else context.layout.project_memory,
            each.heading,
            each.content,
            context,
            kind=each.kind,
            day=arguments.date,
        )
        for each in arguments.entries
    ]
    check_changes(made, context)
    return made


class Findings(msgspec.Struct, frozen=True):
    """What was found in a thread: how far it was looked through, and what went wrong."""

    changes: list[EntryChange]
    mark: dict[str, str]
    problem: str = ""


class Remembering:
    """Distils threads by the rule of the member that answers; without one nothing is looked through."""

    def __init__(
        self,
        layout: Layout,
        # What covers secrets: nothing that it changes is remembered.
        mask: Callable[[str], str],
        ledger: Ledger,
        # Judges the open calls of a message, and so puts their questions.
        worker: Worker,
    ) -> None:
        self.question = Remember()
        self._layout = layout
        self._mask = mask
        self._ledger = ledger
        self._worker = worker
        # What was found in a run before its course was summed up, until its message is complete.
        self._found: WeakKeyDictionary[Turn, Findings] = WeakKeyDictionary()

    def rule(self, turn: Turn) -> MemoryRule | None:
        """Return the rule by which a run may remember, where there is one and a person can be asked."""
        member = turn.equipment.member
        rule, permissions = member.config.memory, member.config.permissions
        if not rule.every or member.is_program or turn.model == TYPED_MODEL or turn.is_planning:
            return None
        denied = {each.partition("(")[0] for each in permissions.deny}
        may_write = permissions.mode != "read-only" and denied.isdisjoint((MemoryUpsert.name, REMEMBER))
        may_ask = surface_of(turn.thread.id.platform).shows_calls and errand_of(turn.thread) is None
        is_offered = MemoryUpsert.name in turn.equipment.toolset
        # What needs no key only pretends to answer.
        is_real = not turn.equipment.models.named(turn.model).name.startswith("rehearsal")
        return rule if may_write and may_ask and is_offered and is_real else None

    async def look(self, turn: Turn) -> bool:
        """Look through what was said so far, before a summary takes its place; tell whether to say so."""
        rule = self.rule(turn)
        if rule is None or turn in self._found or not any(map(is_persons, _since(turn.thread, TRIED, DONE))):
            return False
        last = turn.thread.messages[-1]["id"]
        try:
            found = await self._distil(turn, rule, _since(turn.thread, DONE))
            self._found[turn] = Findings(found, {DONE: last})
        except StorageError:
            raise
        except ShipmateError as error:
            words = say("not-remembered", why=tell_error(error, turn.language)).tell(turn.language)
            self._found[turn] = Findings([], {TRIED: last}, words)
        return bool(self._found[turn].changes or self._found[turn].problem)

    async def asks(self, turn: Turn) -> bool:
        """Put a question into a message that is complete but for it; tell whether it waits for a person."""
        rule = self.rule(turn)
        # "Yes" must not answer two questions at once.
        if rule is None or text_of(turn.message).rstrip().endswith(QUESTIONS):
            return False
        rounds = sum(map(is_persons, _since(turn.thread, TRIED, DONE)))
        if turn not in self._found and rounds >= (rule.every or 0):
            turn.notify("remembering", transient=True)
            await self.look(turn)
        findings = self._found.pop(turn, None)
        if findings is None:
            return False
        turn.tell(chunks.message_metadata(dict(findings.mark)))
        if findings.problem:
            turn.tell(chunks.data("notice", {"kind": "not-remembered", "text": findings.problem}))
        if not (found := findings.changes):
            return False
        entries = [
            RememberedEntry(
                scope="project" if each.path == self._layout.project_memory else "user",
                heading=each.entry.heading,
                content=each.entry.text,
                kind=each.entry.kind,
            )
            for each in found
        ]
        asked = RememberArguments(entries=tuple(entries), date=found[0].entry.date)
        call = chunks.tool_input_available(new_id("call"), REMEMBER, msgspec.to_builtins(asked))
        await turn.commit(call)
        return not await self._worker.work(turn)

    async def offer(self, turn: Turn) -> None:
        """Offer what a thread holds that is about to be summed up, in a message of its own."""
        if await self.look(turn):
            turn.start()
            await (turn.suspend() if await self.asks(turn) else turn.reply("stop"))

    async def _distil(self, turn: Turn, rule: MemoryRule, stretch: Sequence[UIMessage]) -> list[EntryChange]:
        # Most threads leave nothing to remember.
        from shipmate.memory.service import MemoryService

        model = turn.equipment.models.named(turn.model)
        window = turn.window or (await turn.equipment.models.window(turn.model)).tokens
        # What tools brought is left out: nobody said it.
        said: list[UIMessage] = []
        for each in stretch[-MESSAGES:]:
            said.append({**each, "parts": [part for part in each["parts"] if part["type"] == "text"]})
        transcript = write_transcript(said, int(window * READ_SHARE))

        async def ask(system: str, request: str) -> str:
            text, finish = await ask_aside(model, system, request)
            await record_aside(self._ledger, turn.thread, turn.equipment, finish, model.name, turn.run_id)
            return text

        thread_id = turn.thread.id
        # Where people take turns, nobody can tell whose preference it was.
        is_single = bool(turn.user_id) and thread_id.scope_type not in SHARED
        key = user_key(thread_id.platform, turn.user_id)
        return await MemoryService(self._layout, mask=self._mask).distil(
            ask,
            transcript,
            rule=rule,
            user=self._layout.user_memory(key) if is_single else None,
            source=turn.thread_id,
            day=find_today(turn.equipment.member),
            is_tainted=self._worker.is_tainted(turn.thread),
        )


def tell_remembered(turn: Turn, earlier: Sequence[Turn] = ()) -> bool:
    """Return whether a run only had to write what a person agreed to remember: no model is asked then."""
    asked = [turn] if any(tool_parts(turn.message)) else earlier
    questions = [_find_question(each.message) for each in asked]
    if not questions or None in questions:
        return False
    history = () if turn in asked else turn.thread.history()
    if history and history[-1]["role"] == "user":
        return False
    for part in filter(None, questions):
        if "output" in part:
            words = say("remembered", what=", ".join(map(str, part["output"]))).tell(turn.language)
            turn.tell(chunks.data("notice", {"kind": "remembered", "text": words}))
    return True


def _find_question(message: UIMessage) -> JsonObject | None:
    """Return the question that a message ends with, if it does."""
    last = next(reversed(list(tool_parts(message))), None)
    return last if last is not None and tool_name(last) == REMEMBER else None


def _since(thread: Thread, *marks: str) -> list[UIMessage]:
    """Return the messages that came after the last that was looked through."""
    found: list[UIMessage] = []
    until: set[str] = set()
    for message in reversed(thread.messages):
        metadata = metadata_of(message)
        until = until or {str(metadata[mark]) for mark in marks if mark in metadata}
        if message["id"] in until:
            break
        found.append(message)
    return found[::-1]
