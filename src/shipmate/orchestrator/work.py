"""Work the calls of a step: judge each, ask where needed, run the rest, keep every result as it lands."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping

from msgspec.structs import replace

from shipmate.approvals.question import explain
from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import Call, Verdict
from shipmate.errors import NotFoundError, ShipmateError, TargetChangedError, ToolError
from shipmate.orchestrator.guide import Guides
from shipmate.orchestrator.taint import Taint, tell_gone
from shipmate.orchestrator.turn import INTERRUPTED, Turn
from shipmate.telemetry import watch_tool
from shipmate.thread.service import Thread
from shipmate.tools.file.sharing import Shares
from shipmate.tools.tool import ToolContext, ToolResult
from shipmate.tools.toolset import AnyTool, Toolset
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.event import TYPED_MODEL
from shipmate.values.message import JsonObject, tool_name
from shipmate.values.reason import Why
from shipmate.workspace.upload import Uploads

log = logging.getLogger(__name__)


class Worker:
    """Runs calls: read-only neighbours together, what acts in call order, nothing that acts twice."""

    def __init__(
        self,
        toolset: Toolset,
        approvals: ApprovalService,
        uploads: Uploads,
        guides: Guides | None = None,
        shares: Shares | None = None,
        # Questions of our own that are put as calls are; no model can make them.
        own: Mapping[str, AnyTool] | None = None,
    ) -> None:
        self._own = {} if own is None else own
        self._uploads = uploads
        self._shares = shares
        self._approvals = approvals
        self._audit = approvals.audit
        self._taint = Taint(toolset)
        self._guides = guides or Guides()

    def is_tainted(self, thread: Thread) -> bool:
        """Return whether strangers may have written into a thread."""
        return self._taint.covers(thread)

    async def work(self, turn: Turn) -> bool:
        """Work the open calls of a message; tell whether all are settled."""
        together: list[Call] = []
        for part in turn.open_calls():
            call = await self._ready(turn, part)
            if call is None:
                continue
            if call.tool.labels_for(call.arguments).is_read_only:
                together.append(call)
                continue
            await self._run_all(turn, together)
            together = []
            # An acting call waits behind an earlier one that a person or a program has not settled yet.
            if not _waits_for_others(turn, call.call_id):
                await self._run(turn, call)
        await self._run_all(turn, together)
        return not turn.open_calls()

    async def _ready(self, turn: Turn, part: JsonObject) -> Call | None:
        """Return a call that may run now; settle or leave one that may not."""
        if part["state"] == "approval-requested" or turn.is_clients(part["toolCallId"]):
            return None
        is_decided = part["state"] == "approval-responded"
        if is_decided and not part["approval"].get("approved"):
            await self._forget(turn, part["approval"]["id"])
            await turn.commit(chunks.tool_output_denied(part["toolCallId"]))
            return None
        call = self._call(turn, part)
        if isinstance(call, str):
            if is_decided:
                await self._approvals.abandon(part["approval"]["id"], call)
            await turn.commit(chunks.tool_output_error(part["toolCallId"], call))
            return None
        if turn.has_begun(call.call_id):
            await turn.commit(chunks.tool_output_error(call.call_id, INTERRUPTED))
            self._audit.ended(call, "interrupted")
            return None
        if _must_plan(turn, call):
            why = Why("planning")
            words = explain(turn.language, why)
            await self._refuse(turn, call, Verdict("deny", why, reason=words), f"not allowed: {words}")
            return None
        if is_decided:
            return await self._confirm(turn, part, call)
        if call.tool.is_tried(call.arguments) and _waits_for_others(turn, call.call_id):
            # Tried now, it would not see what the call before it is going to change.
            return None
        return await self._judge(turn, call)

    async def _forget(self, turn: Turn, approval_id: str) -> None:
        """Forget what a refused call had done aside."""
        with contextlib.suppress(NotFoundError):
            approval = await self._approvals.get(approval_id)
            from shipmate.tools.exec.preview.trial import Trials

            await asyncio.to_thread(Trials(turn.equipment.member.layout).discard, approval.target)

    async def _confirm(self, turn: Turn, part: JsonObject, call: Call) -> Call | None:
        if verdict := self._approvals.forbid(call):
            await self._refuse(turn, call, verdict, f"not allowed: {verdict.reason}")
            await self._forget(turn, part["approval"]["id"])
            return None
        try:
            confirmed = await self._approvals.confirm(part["approval"]["id"], call)
        except TargetChangedError:
            await self._ask_anew(turn, call)
            return None
        except ToolError as error:
            await self._refuse(turn, call, Verdict("deny", reason=str(error)), str(error))
            return None
        except ShipmateError:
            raise
        # The tool boundary: what can no longer be shown does not run; it is told in the thread and logged.
        except Exception as error:
            log.exception("tool %s cannot be shown", call.tool.name)
            words = f"{call.tool.name} cannot be shown any more: {type(error).__name__}. It did not run."
            await self._refuse(turn, call, Verdict("deny", reason=words), words)
            return None
        if confirmed is None:
            words = "the stored approval does not cover this call, so it did not run"
            await self._refuse(turn, call, Verdict("deny", reason=words), words)
            return None
        return replace(confirmed, approval=await self._approvals.get(part["approval"]["id"]))

    async def _refuse(self, turn: Turn, call: Call, verdict: Verdict, words: str) -> None:
        """Record that a call may not run, then tell it in the thread."""
        self._audit.refused(call, verdict)
        await turn.commit(chunks.tool_output_error(call.call_id, words))

    async def _ask_anew(self, turn: Turn, call: Call) -> None:
        """Put a call to a person again whose target changed after they approved it."""
        part = next(part for part in turn.open_calls() if part["toolCallId"] == call.call_id)
        call = replace(call, context=replace(call.context, expected=None), approval=None)
        try:
            approval = await self._approvals.renew(part["approval"]["id"], call)
        except ToolError as error:
            await self._refuse(turn, call, Verdict("deny", reason=str(error)), str(error))
            return
        if isinstance(approval, ToolResult):
            await self._tell_tried(turn, call, approval)
            return
        await turn.commit(chunks.tool_approval_request(call.call_id, approval.id))

    async def _judge(self, turn: Turn, call: Call) -> Call | None:
        verdict = await self._verdict(call)
        if verdict.action == "allow":
            return replace(call, verdict=verdict)
        if verdict.action == "deny":
            await self._refuse(turn, call, verdict, f"not allowed: {verdict.reason}")
            return None
        if verdict.picture is not None and verdict.picture.result is not None:
            await self._tell_tried(turn, replace(call, verdict=verdict), verdict.picture.result)
            return None
        approval = await self._approvals.request(call, verdict)
        await turn.commit(chunks.tool_approval_request(call.call_id, approval.id))
        return None

    async def _tell_tried(self, turn: Turn, call: Call, result: ToolResult) -> None:
        """Keep the result of a call that was tried aside and changed nothing."""
        self._audit.allowed(call)
        await turn.commit(*_told(call, result))
        self._audit.ended(call, "ok")

    async def _verdict(self, call: Call) -> Verdict:
        try:
            return await self._approvals.judge(call)
        except ShipmateError:
            raise
        # The tool boundary: what cannot be shown to a person cannot run; it is told in the thread and logged.
        except Exception as error:
            log.exception("tool %s cannot be judged", call.tool.name)
            return Verdict("deny", reason=f"{call.tool.name} cannot be judged: {type(error).__name__}")

    def _call(self, turn: Turn, part: JsonObject) -> Call | str:
        """Make a call of a stored part; a text says why there is none."""
        name = tool_name(part)
        tool = self._own.get(name) or turn.equipment.toolset.get(name)
        if tool is None:
            return tell_gone(name)
        try:
            arguments = tool.parse(part["input"])
        except ToolError as error:
            return str(error)
        is_tainted = self._taint.covers(turn.thread)
        context = ToolContext(
            is_tainted=is_tainted,
            member=turn.equipment.member,
            thread_id=turn.thread_id,
            run_id=turn.run_id,
            call_id=part["toolCallId"],
            files=self._uploads,
            sharing=self._shares,
            user_id=turn.user_id,
            initiators=turn.initiators,
        )
        return Call(
            call_id=part["toolCallId"],
            message_id=turn.message["id"],
            tool=tool,
            arguments=arguments,
            raw=tool.translate(part["input"]),
            context=context,
            tainted=is_tainted,
        )

    async def _run_all(self, turn: Turn, calls: list[Call]) -> None:
        if len(calls) == 1:
            await self._run(turn, calls[0])
        elif calls:
            # All of them end before trouble with one is told: nothing may go on when the run is over.
            ends = await asyncio.gather(*(self._run(turn, call) for call in calls), return_exceptions=True)
            for trouble in filter(None, ends):
                raise trouble

    async def _run(self, turn: Turn, call: Call) -> None:
        if call.tool.labels_for(call.arguments).is_read_only:
            self._audit.allowed(call)
            await self._act(turn, call)
            return
        async with turn.control.acting():
            # Recorded before it is claimed: what cannot be recorded does not run.
            self._audit.allowed(call)
            if await turn.claim(call.call_id):
                await self._act(turn, call)
            else:
                await turn.commit(chunks.tool_output_error(call.call_id, INTERRUPTED))
                self._audit.ended(call, "interrupted")

    async def _act(self, turn: Turn, call: Call) -> None:
        """Run a call and keep its result."""
        began = time.perf_counter()
        try:
            result = await _result_of(call)
        except TargetChangedError:
            # Nothing was done, so there is nothing to guard against: the claim goes back.
            if turn.has_begun(call.call_id):
                await turn.release(call.call_id)
            self._audit.ended(call, "changed")
            await self._ask_anew(turn, call)
            return
        except asyncio.CancelledError:
            self._audit.ended(call, "interrupted")
            raise
        result = self._guides.add_to(turn, call, result)
        spent = round((time.perf_counter() - began) * 1000)
        await turn.commit(*result, chunks.message_metadata({"toolMs": {call.call_id: spent}}))
        self._audit.ended(call, "error" if result[0]["type"] == "tool-output-error" else "ok")


async def _result_of(call: Call) -> list[Chunk]:
    try:
        with watch_tool(call.tool.name, call.call_id):
            result = await call.tool.run(call.arguments, call.context)
        # What cannot be written would break the row, and with it the run.
        chunks.storable(result.output)
    except ToolError as error:
        if isinstance(error, TargetChangedError) and call.context.expected is not None:
            raise
        return [chunks.tool_output_error(call.call_id, str(error))]
    # The tool boundary: a bug in one tool is shown in the thread and logged; its siblings go on. A library
    # below a tool may cancel itself; only when our own task is cancelled too is the run meant.
    except (Exception, asyncio.CancelledError) as error:
        if is_cancelled():
            raise asyncio.CancelledError from error
        log.exception("tool %s failed", call.tool.name)
        return [chunks.tool_output_error(call.call_id, f"{call.tool.name} broke: {type(error).__name__}")]
    return _told(call, result)


def _told(call: Call, result: ToolResult) -> list[Chunk]:
    shown = [chunks.file(part["url"], part["mediaType"]) for part in result.files]
    if result.data is not None:
        name, content = result.data
        shown.append(chunks.data(name, content, name))
    return [chunks.tool_output(call.call_id, result.output), *shown]


def is_cancelled() -> bool:
    """Return whether the task that asks is meant to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _must_plan(turn: Turn, call: Call) -> bool:
    """Return whether a call has to wait for a plan; what a person typed themselves does not."""
    acts = call.tool.delegates or call.tool.labels_for(call.arguments).acts
    return turn.is_planning and acts and turn.model != TYPED_MODEL


def _waits_for_others(turn: Turn, call_id: str) -> bool:
    for part in turn.open_calls():
        if part["toolCallId"] == call_id:
            return False
        if part["state"] == "approval-requested" or turn.is_clients(part["toolCallId"]):
            return True
    return False
