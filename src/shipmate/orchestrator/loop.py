"""The loop: ask the model, work its calls, ask again, until it has replied or must wait for a person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from hashlib import blake2b

import msgspec

from shipmate.approvals.service import ApprovalService
from shipmate.context.budget import fit_tools
from shipmate.context.kept.request_log import RequestLog, SentRequest
from shipmate.context.request import Context, ContextRequest, Section
from shipmate.context.trace import Trace
from shipmate.errors import ModelStreamError, ShipmateError, StorageError, ToolError, UserError
from shipmate.models.neutral import describe_message
from shipmate.models.port import Finish, ModelRequest, RunOrigin, ToolSpec
from shipmate.models.to_model import messages_of
from shipmate.orchestrator.carried_file import Attachments
from shipmate.orchestrator.guide import Guides
from shipmate.orchestrator.run_wording import CUT_ENDINGS, say
from shipmate.orchestrator.seat import take_seat
from shipmate.orchestrator.spending import Spending
from shipmate.orchestrator.step import PROGRAM, Asked, StepReader
from shipmate.orchestrator.token_count import TokenCount
from shipmate.orchestrator.turn import Turn
from shipmate.orchestrator.work import Worker
from shipmate.store.allowance import Allowance
from shipmate.store.port import Ledger, StepUsage
from shipmate.thread.errand import errand_of
from shipmate.thread.service import Thread
from shipmate.tools.file.sharing import Shares
from shipmate.tools.toolset import Toolset
from shipmate.values import chunk as chunks
from shipmate.values.event import TYPED_MODEL, Outcome
from shipmate.values.message import UIMessage, text_of, timestamp, tool_name
from shipmate.values.saying import Saying
from shipmate.values.tool_name import EXCEED_BUDGET
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import Uploads

MAX_STEPS = 30
# Notes whose lines stand for themselves.
LISTS = frozenset({"recall", "skill-matches"})
# From a chunk to the socket of an attached process: the watcher, its writer, the write itself.
HEARING_TURNS = 3
# How often in a row a model may reach its limit in the midst of a call.
CUT_STEPS = 3
FILTERED = "the provider's filter cut off the answer this call was part of; it did not run"


class StepLimitError(ShipmateError):
    """Stopped after 30 steps without a reply. Say "go on" to let it continue."""


class ProgramCutError(ShipmateError):
    """The program was cut off: interrupted, outcome unknown. Look at what it did, then send it anew."""


class SteeredError(ShipmateError):
    """A person said something that cannot wait."""


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
        uploads: Uploads,
        trace: Trace,
        # Without one no request is kept.
        requests: RequestLog | None,
        # Told with results; those of the workspace's folders unless said otherwise.
        guides: Guides | None = None,
        # Without, files that are too large to be sent are refused.
        shares: Shares | None = None,
        # Without one no budget binds.
        allowance: Allowance | None = None,
    ) -> None:
        self._attachments = Attachments(layout, uploads)
        self._ledger = ledger
        self._trace = trace
        self._requests = requests
        self._history = TokenCount()
        self._spending = None if allowance is None else Spending(allowance)
        own = {} if self._spending is None else {EXCEED_BUDGET: self._spending.question}
        self._worker = Worker(toolset, approvals, uploads, guides, shares, own)

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
        except SteeredError:
            return await turn.steer()
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
            await turn.equipment.toolset.load(called=map(tool_name, turn.open_calls()))
        except UserError as error:
            # The member is gone, or its settings cannot be read any more.
            await turn.close_calls(f"{error} Nothing ran.")
            return
        await self._worker.work(turn)
        await turn.commit()

    async def _steps(self, turn: Turn) -> Outcome:
        await turn.equipment.toolset.load(called=map(tool_name, turn.open_calls()))
        if words := turn.equipment.toolset.describe_starting(turn.equipment.member.config.language):
            turn.tell(chunks.data("notice", {"text": words}, transient=True))
        if turn.has_begun(PROGRAM) and not turn.equipment.models.holds(turn.run_id):
            # What it did by then nobody knows, and it must not do it twice.
            raise ProgramCutError(say("program-cut"))
        if turn.steps:
            # Calls that take the process down each time would else be begun for ever.
            await turn.count_attempt()
        if not await self._worker.work(turn):
            return await turn.suspend()
        if turn.model is None and turn.equipment.member.config.routing:
            turn.model, turn.route = turn.equipment.route(turn.thread)
        context = await self._build_context(turn)
        cuts = 0
        while turn.steps < MAX_STEPS:
            if self._spending is not None and await self._spending.asks(turn):
                if not await self._worker.work(turn):
                    return await turn.suspend()
                continue
            finish, has_calls = await self._step(turn, context)
            if finish is None:
                continue
            cuts = cuts + 1 if finish.reason == "length" else 0
            if not has_calls:
                return await turn.reply(finish.reason)
            if not await self._worker.work(turn):
                return await turn.suspend()
            if cuts >= CUT_STEPS:
                return await turn.reply(finish.reason)
            if turn.control.steer_asked:
                return await turn.steer()
            turn.tell(chunks.finish_step())
        raise StepLimitError(say("step-limit", steps=str(MAX_STEPS)))

    async def _step(self, turn: Turn, context: Context) -> tuple[Finish | None, bool]:
        """Ask the model once; its calls are on disk when this returns. None when it is to be asked again."""
        # What servers of tools offer may have changed since the last step.
        await turn.equipment.toolset.load()
        request = await self._request(turn, context)
        self._trace.write(turn.thread_id, turn.run_id, turn.steps + 1, request)
        self._keep_request(turn, context, request)
        turn.tell(chunks.start_step())
        known = {part["toolCallId"] for part in turn.message["parts"] if "toolCallId" in part}

        async def keep(*told: chunks.Chunk) -> None:
            await turn.commit(*told)
            # Between two calls of a program nothing of it is in the midst of something.
            is_between = told[0]["type"].startswith("tool-output") and not turn.open_calls()
            if is_between and turn.control.steer_asked:
                raise SteeredError

        reader = StepReader(turn.tell, known, str(turn.steps), turn.language, keep)
        await turn.count_attempt()
        began = time.perf_counter()
        try:
            finish = await reader.read(turn.equipment.models.named(turn.model).stream(request))
        except ModelStreamError as error:
            if turn.has_begun(PROGRAM) or not turn.can_resume(begun=reader.has_begun):
                raise
            await turn.resume(reader.unfinished, error)
            await self._keep_signatures(turn, reader)
            return None, False
        if turn.is_watched:
            await _let_watchers_hear()
        await turn.equipment.toolset.load(called=[each.name for each in reader.calls])
        is_filtered = finish.reason == "content-filter"
        for asked in reader.calls:
            if is_filtered:
                turn.tell(chunks.tool_input_error(asked.call_id, asked.name, asked.input, FILTERED))
            elif (error := asked.error or _refuse(turn, asked)) is not None:
                turn.tell(chunks.tool_input_error(asked.call_id, asked.name, asked.input, error))
            elif asked.name in turn.client_tools:
                turn.tell(chunks.message_metadata({"clientCalls": {asked.call_id: True}}))
        _tell_cut(turn, reader, finish)
        if not (reader.calls or _has_said_something(turn.message)):
            raise ModelStreamError(_explain_empty(reader, finish))
        await self._keep_signatures(turn, reader)
        if reader.calls:
            await turn.commit()
        await self._record(turn, finish, context, round((time.perf_counter() - began) * 1000))
        # Of an answer that was withheld nothing runs, and to ask on would only bring it up again.
        return finish, bool(reader.calls) and not is_filtered

    async def _build_context(self, turn: Turn) -> Context:
        messages = turn.thread.history()
        said = next((text_of(message) for message in reversed(messages) if message["role"] == "user"), "")
        equipment = turn.equipment
        model = equipment.models.named(turn.model).name
        window = (await equipment.models.window(turn.model)).tokens
        turn.window = window
        tools = _offer(turn)
        context = equipment.context.build(
            ContextRequest(
                thread_id=turn.thread_id,
                user_id=turn.user_id,
                platform=turn.thread.id.platform,
                model=model,
                tools=tools,
                last_text=said,
                extra_context=turn.extra_context,
                window=window,
            )
        )
        await self._keep_context(turn, context)
        return context

    async def _keep_context(self, turn: Turn, context: Context) -> None:
        """Keep what belongs to this turn with its words, but for what the course was told before."""
        messages = turn.thread.history()
        last = next((each["id"] for each in reversed(messages) if each["role"] == "user"), None)
        if last is None or not context.notes or turn.equipment.member.is_program:
            return
        sidecars = await self._ledger.sidecars(turn.thread_id)
        if last in sidecars and sidecars[last].context:
            return
        told = {line for sidecar in sidecars.values() for line in sidecar.context.splitlines()}
        if fresh := choose_fresh(context.notes, told):
            await self._ledger.keep_context(turn.thread_id, last, fresh)

    async def _request(self, turn: Turn, context: Context) -> ModelRequest:
        return ModelRequest(
            system=context.lasting,
            messages=take_seat(self._attachments.show(turn.thread), turn.equipment.member.id, turn.owner),
            tools=_offer(turn),
            sidecars=await self._ledger.sidecars(turn.thread_id),
            zone=context.zone,
            cache_key=_name_cache(turn.thread_id),
            sampling=turn.options.sampling,
            origin=RunOrigin(
                thread_id=turn.thread_id,
                run_id=turn.run_id,
                user_id=turn.user_id,
                owns_thread=turn.member is None,
                is_retry=turn.thread.replaces(turn.message["id"]),
            ),
        )

    def _keep_request(self, turn: Turn, context: Context, request: ModelRequest) -> None:
        # A command that a person typed is read by no model, and a program is sent something else.
        is_elsewhere = turn.model == TYPED_MODEL or turn.equipment.member.is_program
        if self._requests is None or not self._requests.is_on or is_elsewhere:
            return
        asked = next((each for each in reversed(request.messages) if each["role"] == "user"), None)
        model = turn.equipment.models.named(turn.model).name
        self._requests.keep(
            SentRequest(
                thread_id=turn.thread_id,
                run_id=turn.run_id,
                step=turn.steps + 1,
                model=model,
                context=context,
                tools=request.tools,
                messages=messages_of(request, model),
                describe=describe_message,
                course=turn.thread.course,
                member=turn.equipment.member.id,
                window=turn.window,
                asked=asked["id"] if asked else "",
                words=text_of(asked) if asked else "",
                sampling=request.sampling,
            )
        )

    async def _keep_signatures(self, turn: Turn, reader: StepReader) -> None:
        """Keep what the provider needs to recognise its thinking while the course lasts."""
        if reader.signatures:
            step = turn.steps
            signed = [{**each, "step": step} for each in reader.signatures]
            await self._ledger.keep_signatures(turn.thread_id, turn.message["id"], step, signed)

    async def _record(self, turn: Turn, finish: Finish, context: Context, milliseconds: int) -> None:
        models = turn.equipment.models
        model = finish.model or models.named(turn.model).name
        # The thread says so where it is not the member's own.
        turn.answered_by = "" if turn.model is None and model == models.default.name else model
        if turn.model == TYPED_MODEL:
            return
        errand = errand_of(turn.thread)
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
                asker=errand.chain[0] if errand else "",
                payer=errand.payer if errand else "",
                route=turn.route,
                **msgspec.structs.asdict(finish.usage),
            )
        )


def choose_fresh(notes: Sequence[Section], told: Collection[str]) -> str:
    """Return what of a turn's notes the course was not told yet: whole notes, of lists their new lines."""
    kept: list[str] = []
    for note in notes:
        lines = note.text.splitlines()
        if all(line in told for line in lines if line.strip()):
            continue
        if note.name in LISTS:
            lines = [line for line in lines if line not in told or not line.strip() or line.startswith("#")]
        kept.append("\n".join(lines))
    return "\n\n".join(kept)


def _offer(turn: Turn) -> list[ToolSpec]:
    """Return the tools a model is offered: the member's, and those of the program that asks.

    A program's tool takes the place of one of ours of the same name: the program means its own.
    """
    if not turn.options.offers_tools:
        return []
    fitting = fit_tools(turn.equipment.toolset.specs(), turn.window)
    own = [spec for spec in fitting if spec.name not in turn.client_tools]
    return [*own, *(ToolSpec(each.name, each.description, each.schema) for each in turn.options.tools)]


def _name_cache(thread_id: str) -> str:
    """Return a name for a thread that tells a provider nothing of whose it is."""
    return blake2b(thread_id.encode(), digest_size=12).hexdigest()


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


def _tell_cut(turn: Turn, reader: StepReader, finish: Finish) -> None:
    """Close the calls that were not written to their end, and tell the person that they did not run."""
    turn.drop_calls(reader.unfinished)
    if finish.reason == "length" and any(asked.error for asked in reader.calls):
        turn.notify("length-call")
    elif reader.unfinished and finish.reason not in CUT_ENDINGS:
        turn.notify("half-call")


def _explain_empty(reader: StepReader, finish: Finish) -> Saying:
    if reader.unfinished:
        return say("length-call" if finish.reason == "length" else "half-call")
    return say(f"nothing-{finish.reason if finish.reason in CUT_ENDINGS else 'stop'}")


def _has_said_something(message: UIMessage) -> bool:
    return any(part["type"] in ("text", "file") for part in message["parts"])


async def _let_watchers_hear() -> None:
    """Let the last words leave, also to other processes, before the disk is waited for."""
    for _ in range(HEARING_TURNS):
        await asyncio.sleep(0)
