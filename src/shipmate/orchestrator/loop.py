"""The loop: ask the model, work its calls, ask again, until it has replied or must wait for a person."""

from __future__ import annotations

import asyncio
import base64
import time
from weakref import WeakKeyDictionary

import msgspec

from shipmate.approvals.service import ApprovalService
from shipmate.context.request import Context, ContextRequest
from shipmate.context.snapshot import SnapshotLog
from shipmate.context.trace import Trace
from shipmate.errors import ModelStreamError, ShipmateError, StorageError, ToolError, UserError
from shipmate.models.port import Finish, ModelRequest, ToolSpec
from shipmate.orchestrator.step import Asked, StepReader
from shipmate.orchestrator.turn import Turn
from shipmate.orchestrator.work import Worker
from shipmate.store.port import Ledger, StepUsage
from shipmate.thread.service import Thread
from shipmate.tools.toolset import Toolset
from shipmate.values import chunk as chunks
from shipmate.values.event import Outcome
from shipmate.values.message import JsonObject, UIMessage, message_tokens, text_of, timestamp
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import ADDRESS

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class TokenCount:
    """What the histories of threads cost; a long one is not counted anew at each step."""

    def __init__(self) -> None:
        self._counted: WeakKeyDictionary[Thread, tuple[int, int, int]] = WeakKeyDictionary()

    def tokens(self, thread: Thread) -> int:
        """Estimate the tokens of what the model sees of a thread."""
        messages = thread.history()
        course, count, tokens = self._counted.get(thread, (thread.course, 0, 0))
        # The last message may still grow, so it is counted anew each time.
        settled = max(0, len(messages) - 1)
        if course != thread.course or count > settled:
            count, tokens = 0, 0
        tokens += sum(map(message_tokens, messages[count:settled]))
        self._counted[thread] = (thread.course, settled, tokens)
        return tokens + sum(map(message_tokens, messages[settled:]))


MAX_STEPS = 30
# From a chunk to the socket of an attached process: the watcher, its writer, the write itself.
HEARING_TURNS = 3


class StepLimitError(ShipmateError):
    """Stopped after 30 steps without a reply. Say "go on" to let it continue."""


class AgentOrchestrator:
    """The loop that takes a turn from its open message to a reply, a suspension or a failure."""

    def __init__(
        self,
        *,
        layout: Layout,
        # Every tool there is here: it knows what the results in a thread were brought in by.
        toolset: Toolset,
        approvals: ApprovalService,
        ledger: Ledger,
        trace: Trace,
        snapshots: SnapshotLog,
    ) -> None:
        self._attachments = Attachments(layout)
        self._ledger = ledger
        self._trace = trace
        self._snapshots = snapshots
        self._history = TokenCount()
        self._worker = Worker(toolset, approvals)

    async def run(self, turn: Turn) -> Outcome:
        """Run a turn to its end; what it had said or done before trouble is kept."""
        if turn.ending is not None:
            return turn.outcome(turn.ending)
        turn.start()
        try:
            return await self._steps(turn)
        except StorageError:
            # What the disk refuses cannot be told in the thread; the run stays open and is taken up again.
            raise
        except ShipmateError as error:
            return await turn.fail(error)

    def is_tainted(self, thread: Thread) -> bool:
        """Return whether strangers may have written into a thread."""
        # Tools of MCP servers need not be found for this: what they bring in taints, known or not.
        return self._worker.is_tainted(thread)

    async def work(self, turn: Turn) -> None:
        """Work the decided calls of a message without asking the model."""
        turn.open()
        try:
            await turn.equipment.toolset.load()
        except UserError as error:
            # The member is gone, or its settings cannot be read any more.
            await turn.close_calls(f"{error} Nothing ran.")
            return
        await self._worker.work(turn)
        await turn.commit()

    async def _steps(self, turn: Turn) -> Outcome:
        await turn.equipment.toolset.load()
        if turn.steps:
            # Calls that take the process down each time would else be begun for ever.
            await turn.count_attempt()
        if not await self._worker.work(turn):
            return await turn.suspend()
        context = self._build_context(turn)
        while turn.steps < MAX_STEPS:
            finish, has_calls = await self._step(turn, context)
            if not has_calls:
                return await turn.reply(finish.reason)
            if not await self._worker.work(turn):
                return await turn.suspend()
            if turn.control.steer_asked:
                return await turn.steer()
            turn.tell(chunks.finish_step())
        raise StepLimitError

    async def _step(self, turn: Turn, context: Context) -> tuple[Finish, bool]:
        """Ask the model once; its calls are on disk when this returns."""
        request = await self._request(turn, context)
        self._trace.write(turn.thread_id, turn.run_id, turn.steps + 1, request)
        turn.tell(chunks.start_step())
        known = {part["toolCallId"] for part in turn.message["parts"] if "toolCallId" in part}
        reader = StepReader(turn.tell, known, str(turn.steps))
        await turn.count_attempt()
        began = time.perf_counter()
        finish = await reader.read(turn.equipment.models.named(turn.model).stream(request))
        await _let_watchers_hear()
        for asked in reader.calls:
            if (error := asked.error or _refuse(turn, asked)) is not None:
                turn.tell(chunks.tool_input_error(asked.call_id, asked.name, asked.input, error))
            elif asked.name in turn.client_tools:
                turn.tell(chunks.message_metadata({"clientCalls": {asked.call_id: True}}))
        if not reader.calls and not _has_said_something(turn.message):
            raise ModelStreamError(
                "the model answered with nothing. Send the message again, or try another model."
            )
        if reader.calls:
            await turn.commit()
            await self._keep_signatures(turn, reader)
        await self._record(turn, finish, context, round((time.perf_counter() - began) * 1000))
        return finish, bool(reader.calls)

    def _build_context(self, turn: Turn) -> Context:
        messages = turn.thread.history()
        said = next((text_of(message) for message in reversed(messages) if message["role"] == "user"), "")
        equipment = turn.equipment
        context = equipment.context.build(
            ContextRequest(
                thread_id=turn.thread_id,
                user_id=turn.user_id,
                platform=turn.thread.id.platform,
                model=equipment.models.named(turn.model).name,
                tools=_offer(turn),
                last_text=said,
                extra_context=turn.extra_context,
            )
        )
        self._snapshots.record(turn.thread_id, turn.run_id, context)
        return context

    async def _request(self, turn: Turn, context: Context) -> ModelRequest:
        signatures = await self._ledger.signatures(turn.thread_id, turn.message["id"])
        return ModelRequest(
            system=context.system,
            messages=self._attachments.show(turn.thread),
            tools=_offer(turn),
            signatures={turn.message["id"]: signatures} if signatures else {},
            stable_bytes=context.stable_bytes,
            sampling=turn.options.sampling,
        )

    async def _keep_signatures(self, turn: Turn, reader: StepReader) -> None:
        """Keep what the provider needs to recognise its thinking while this turn is open."""
        if reader.signatures:
            where = turn.thread_id, turn.message["id"]
            known = await self._ledger.signatures(*where)
            await self._ledger.keep_signatures(*where, [*known, *reader.signatures])

    async def _record(self, turn: Turn, finish: Finish, context: Context, milliseconds: int) -> None:
        model = finish.model or turn.equipment.models.named(turn.model).name
        estimated = context.tokens + self._history.tokens(turn.thread)
        turn.equipment.context.calibrate(model, estimated, finish.usage.input_tokens)
        await self._ledger.add_usage(
            StepUsage(
                at=timestamp(),
                thread_id=turn.thread_id,
                member=turn.equipment.member.id,
                run_id=turn.run_id,
                step=turn.steps,
                model=model,
                estimated_tokens=estimated,
                milliseconds=milliseconds,
                **msgspec.structs.asdict(finish.usage),
            )
        )


def _offer(turn: Turn) -> list[ToolSpec]:
    """Return the tools a model is offered: the member's, and those of the program that asks.

    A program's tool takes the place of one of ours of the same name: the program means its own.
    """
    if not turn.options.offers_tools:
        return []
    own = [spec for spec in turn.equipment.toolset.specs() if spec.name not in turn.client_tools]
    return [*own, *(ToolSpec(each.name, each.description, each.schema) for each in turn.options.tools)]


def _refuse(turn: Turn, asked: Asked) -> str | None:
    """Return why a call cannot be made, if it cannot."""
    if not turn.options.offers_tools:
        return "no tool was offered: answer without one. Nothing ran."
    if asked.name in turn.client_tools:
        # Its arguments are the program's to check.
        return None
    toolset = turn.equipment.toolset
    tool = toolset.get(asked.name)
    if tool is None:
        return f"there is no tool {asked.name!r}. There are: {', '.join(toolset.names)}. Nothing ran."
    try:
        tool.parse(asked.input)
    except ToolError as error:
        return str(error)
    return None


def _has_said_something(message: UIMessage) -> bool:
    return any(part["type"] in ("text", "file") for part in message["parts"])


async def _let_watchers_hear() -> None:
    """Let the last words leave, also to other processes, before the disk is waited for."""
    for _ in range(HEARING_TURNS):
        await asyncio.sleep(0)


class Attachments:
    """Which messages hold kept files, remembered so that long threads are not looked through anew."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._seen: WeakKeyDictionary[Thread, tuple[int, int, frozenset[str]]] = WeakKeyDictionary()

    def show(self, thread: Thread) -> list[UIMessage]:
        """Return a thread's history, in which no file is named by an address only a browser can follow."""
        messages = thread.history()
        course, count, holders = self._seen.get(thread, (thread.course, 0, frozenset[str]()))
        if course != thread.course or count > len(messages):
            count, holders = 0, frozenset[str]()
        holders |= {message["id"] for message in messages[count:] if any(map(_is_kept, message["parts"]))}
        # The last message may still grow; it is looked at again.
        self._seen[thread] = (thread.course, max(0, len(messages) - 1), holders)
        if not holders:
            return messages
        return [self._show(message) if message["id"] in holders else message for message in messages]

    def _show(self, message: UIMessage) -> UIMessage:
        is_user = message["role"] == "user"
        parts = [
            self._resolve(part, is_user=is_user) if _is_kept(part) else part for part in message["parts"]
        ]
        return {**message, "parts": parts}

    def _resolve(self, part: JsonObject, *, is_user: bool) -> JsonObject:
        path = self._layout.upload(part["url"].removeprefix(ADDRESS))
        # Providers take pictures only from people; what a member showed before is named to it by its path.
        if is_user and part.get("mediaType") in PICTURES and path.is_file():
            data = base64.b64encode(path.read_bytes()).decode()
            return {**part, "url": f"data:{part['mediaType']};base64,{data}"}
        return {**part, "url": path.relative_to(self._layout.root).as_posix()}


def _is_kept(part: JsonObject) -> bool:
    url = part.get("url")
    return part.get("type") == "file" and isinstance(url, str) and url.startswith(ADDRESS)
