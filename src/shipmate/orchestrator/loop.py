"""The loop: ask the model, work its calls, ask again, until it has replied or must wait for a person."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b

import msgspec

from shipmate.approvals.service import ApprovalService
from shipmate.context.budget import fit_tools
from shipmate.context.kept.request_log import RequestLog, SentRequest
from shipmate.context.request import Context, ContextRequest, choose_fresh
from shipmate.context.trace import Trace
from shipmate.errors import (
    ContextTooLongError,
    ModelStreamError,
    ShipmateError,
    StorageError,
    UserError,
)
from shipmate.models.neutral import describe_message
from shipmate.models.port import Finish, ModelRequest, RunOrigin, ToolSpec
from shipmate.models.to_model import messages_of
from shipmate.orchestrator.carried_file import Attachments
from shipmate.orchestrator.compaction.compactor import Compactor, squeeze
from shipmate.orchestrator.compaction.remembering import Remembering, tell_remembered
from shipmate.orchestrator.feed import let_watchers_hear
from shipmate.orchestrator.guide import Guides
from shipmate.orchestrator.run_wording import say
from shipmate.orchestrator.sealing import seal_input
from shipmate.orchestrator.seat import take_seat
from shipmate.orchestrator.spending import Spending
from shipmate.orchestrator.step import PROGRAM, StepReader, explain_empty, refuse_call, tell_cut
from shipmate.orchestrator.turn import Turn
from shipmate.orchestrator.work import Worker
from shipmate.store.allowance import Allowance
from shipmate.store.port import Ledger, StepUsage
from shipmate.telemetry import watch_run
from shipmate.thread.errand import errand_of
from shipmate.thread.service import Thread
from shipmate.tools.file.sharing import Shares
from shipmate.tools.toolset import AnyTool, Toolset
from shipmate.values import chunk as chunks
from shipmate.values.event import TYPED_MODEL, Outcome
from shipmate.values.message import UIMessage, text_of, timestamp, tool_name
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import Uploads

MAX_STEPS = 30
# How often in a row a model may reach its limit in the midst of a call.
CUT_STEPS = 3
FILTERED = "the provider's filter cut off the answer this call was part of; it did not run"


class StepLimitError(ShipmateError):
    """Stopped after 30 steps without a reply. Say "go on" to let it continue."""


class RefusedLengthError(ContextTooLongError):
    """The provider found the request too long for the model."""


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
        # What covers secrets in what threads leave to remember; without, they leave nothing.
        memory_mask: Callable[[str], str] | None = None,
    ) -> None:
        self._attachments = Attachments(layout, uploads)
        self._ledger = ledger
        self._trace = trace
        self._requests = requests
        self._spending = None if allowance is None else Spending(allowance)
        own: dict[str, AnyTool] = {}
        self._worker = Worker(toolset, approvals, uploads, guides, shares, own)
        self.remembering = memory_mask and Remembering(layout, memory_mask, ledger, self._worker)
        own.update({each.question.name: each.question for each in (self._spending, self.remembering) if each})
        self.compactor = Compactor(layout, ledger, self.is_tainted, self.remembering)

    async def run(self, turn: Turn, earlier: Sequence[Turn] = ()) -> Outcome:
        """Run a turn to its end, after earlier ones that were decided on; what was said and done is kept."""
        if turn.ending is not None:
            return turn.outcome(turn.ending)
        turn.start()
        try:
            member = turn.equipment.member
            with watch_run(member.id, member.name, turn.thread_id):
                return await self._steps(turn, earlier)
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

    async def _steps(self, turn: Turn, earlier: Sequence[Turn]) -> Outcome:
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
        if tell_remembered(turn, earlier):
            return await turn.reply("stop")
        if turn.model is None and turn.equipment.member.config.routing:
            turn.model, turn.route = turn.equipment.route(turn.thread)
        context = await self._build_context(turn)
        if await self.compactor.make_room(turn, context):
            context = await self._build_context(turn)
        cuts = 0
        refused: ContextTooLongError | None = None
        while turn.steps < MAX_STEPS:
            if self._spending is not None and await self._spending.asks(turn):
                if not await self._worker.work(turn):
                    return await turn.suspend()
                continue
            try:
                finish, has_calls = await self._step(turn, context)
            except ContextTooLongError as error:
                context = await self._squeeze(turn, context, error, refused)
                refused = error
                continue
            if finish is None:
                continue
            cuts = cuts + 1 if finish.reason == "length" else 0
            if not has_calls:
                if self.remembering is not None and await self.remembering.asks(turn):
                    return await turn.suspend()
                return await turn.reply(finish.reason)
            if not await self._worker.work(turn):
                return await turn.suspend()
            if cuts >= CUT_STEPS:
                return await turn.reply(finish.reason)
            if turn.control.steer_asked:
                return await turn.steer()
            turn.tell(chunks.finish_step())
        raise StepLimitError(say("step-limit", steps=str(MAX_STEPS)))

    async def _squeeze(
        self, turn: Turn, context: Context, error: ContextTooLongError, before: ContextTooLongError | None
    ) -> Context:
        """Make room for one more try after a provider found a request too long, whatever was estimated."""
        is_final = not isinstance(error, RefusedLengthError) or turn.equipment.member.is_program
        if before is not None or is_final:
            raise self.compactor.blame(turn, self._show(turn)) or before or error
        used = self.compactor.used(turn.thread, context)
        if await self.compactor.make_room(turn, context, is_refused=True):
            return await self._build_context(turn)
        turn.window, turn.is_window_guessed = squeeze(turn.window, used), False
        return context

    async def _step(self, turn: Turn, context: Context) -> tuple[Finish | None, bool]:
        """Ask the model once; its calls are on disk when this returns. None when it is to be asked again."""
        # What servers of tools offer may have changed since the last step.
        await turn.equipment.toolset.load()
        await self.compactor.clear(turn, context)
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

        seal = partial(seal_input, turn)
        reader = StepReader(turn.tell, known, str(turn.steps), turn.language, keep, seal)
        await turn.count_attempt()
        began = time.perf_counter()
        try:
            finish = await reader.read(turn.equipment.models.named(turn.model).stream(request))
        except ContextTooLongError as error:
            raise RefusedLengthError(*error.args) from error
        except ModelStreamError as error:
            if turn.has_begun(PROGRAM) or not turn.can_resume(begun=reader.has_begun):
                raise
            await turn.resume(reader.unfinished, error)
            await self._keep_signatures(turn, reader)
            return None, False
        if turn.is_watched:
            await let_watchers_hear()
        await turn.equipment.toolset.load(called=[each.name for each in reader.calls])
        is_filtered = finish.reason == "content-filter"
        for asked in reader.calls:
            if is_filtered:
                turn.tell(chunks.tool_input_error(asked.call_id, asked.name, asked.input, FILTERED))
            elif (error := asked.error or refuse_call(turn, asked)) is not None:
                turn.tell(chunks.tool_input_error(asked.call_id, asked.name, asked.input, error))
            elif asked.name in turn.client_tools:
                turn.tell(chunks.message_metadata({"clientCalls": {asked.call_id: True}}))
        tell_cut(turn, reader, finish)
        if not (reader.calls or _has_said_something(turn.message)):
            raise ModelStreamError(explain_empty(reader, finish))
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
        window = await equipment.models.window(turn.model)
        turn.window, turn.is_window_guessed = window.tokens, window.source == "default"
        tools = _offer(turn)
        context = equipment.context.build(
            ContextRequest(
                thread_id=turn.thread_id,
                user_id=turn.user_id,
                platform=turn.thread.id.platform,
                model=model,
                tools=tools,
                last_text=said,
                extra_context="\n\n".join(filter(None, (_tell_planning(turn), turn.extra_context))) or None,
                window=window.tokens,
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
        here = {each["id"] for each in messages}
        told = {line for at in here & sidecars.keys() for line in sidecars[at].context.splitlines()}
        if fresh := choose_fresh(context.notes, told):
            await self._ledger.keep_context(turn.thread_id, last, fresh)

    async def _request(self, turn: Turn, context: Context) -> ModelRequest:
        return ModelRequest(
            system=context.lasting,
            messages=self.compactor.fit(turn, context, self._show(turn)),
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

    def _show(self, turn: Turn) -> list[UIMessage]:
        shown = self.compactor.show(turn.thread, self._attachments.show(turn.thread))
        return take_seat(shown, turn.equipment.member.id, turn.owner)

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
        estimated = round(context.tokens / context.ratio) + self.compactor.history_tokens(turn.thread)
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
                route="; ".join(filter(None, (turn.route, finish.instead))),
                **msgspec.structs.asdict(finish.usage),
            )
        )


def _tell_planning(turn: Turn) -> str:
    return say("planning").tell(turn.language) if turn.is_planning else ""


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


def _has_said_something(message: UIMessage) -> bool:
    return any(part["type"] in ("text", "file") for part in message["parts"])
