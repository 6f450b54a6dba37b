"""Judge calls, put questions to people, take their answers. All state is on disk: nothing waits in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol, TypeAlias

import msgspec

from shipmate.approvals.approval_file import ApprovalFiles, ApprovalRecords, DecisionLog
from shipmate.approvals.audit import Audit
from shipmate.approvals.policy.grant import Lease, make_grant
from shipmate.approvals.policy.preference import MemberPolicy
from shipmate.approvals.question import explain, say
from shipmate.approvals.reply.reply import ReplyService, may_decide
from shipmate.approvals.value import (
    Approval,
    Call,
    Coverage,
    DecidedCall,
    Grant,
    ReplyEffect,
    Status,
    Suggestion,
    Verdict,
    decision_of,
)
from shipmate.errors import NotFoundError, TargetChangedError, ToolError
from shipmate.store.port import Consents
from shipmate.tools.tool import Picture, ToolResult
from shipmate.values.event import ApprovalReplyEvent, TextEvent
from shipmate.values.message import new_id, timestamp
from shipmate.values.reason import Why
from shipmate.workspace.config import Config, Permissions
from shipmate.workspace.disk.disk import DISK, Disk
from shipmate.workspace.layout import Layout

Suggest: TypeAlias = Callable[[str, Sequence[Approval]], Awaitable[Suggestion | None]]
LIST_LIMIT = 500
# How many approvals of a thread are looked through for decisions its file does not show yet.
RECENT = 100
# How often a call is put to a person whose target keeps changing.
ROUNDS_LIMIT = 5


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Consenting(Protocol):
    """What keeps the index of approvals and the grants, such as a store."""

    @property
    def consents(self) -> Consents: ...


class ApprovalService:
    """The lifecycle of approvals: requested, then approved, denied, expired or superseded."""

    def __init__(
        self,
        layout: Layout,
        permissions: Permissions,
        store: Consenting,
        language: str = "en",
        *,
        # Asked only when a command is judged: finding out runs a probe.
        sandbox_works: Callable[[], bool] = lambda: False,
        suggest: Suggest | None = None,
        # In which `until tomorrow` is meant.
        zone: str = "",
        clock: Callable[[], datetime] = utc_now,
        mask: Callable[[str], str] | None = None,
        # Says what else forms a member here.
        config: Config | None = None,
        # The rules as they are written now, where they may be written anew.
        current: Callable[[], Permissions] | None = None,
        disk: Disk = DISK,
        # Where approvals are kept, and who is told of calls; files of the workspace unless said otherwise.
        records: ApprovalRecords | None = None,
        audit: Audit | None = None,
    ) -> None:
        self.language = language
        self.policy = MemberPolicy(
            layout, permissions, sandbox_works=sandbox_works, config=config, current=current
        )
        self._permissions = permissions
        self._consents = store.consents
        self.audit = audit or Audit(layout, mask, disk)
        self._records: ApprovalRecords = records or ApprovalFiles(layout, self.audit, disk)
        self._clock = clock
        self._decisions = DecisionLog(self._records, self._consents, clock)
        self._replies = ReplyService(
            self._records,
            self._consents,
            self._decisions,
            language=language,
            zone=zone,
            clock=clock,
            suggest=suggest,
            allowed=lambda event, approval: may_decide(permissions, event, approval),
            deciders=permissions.deciders,
            shown_on={} if config is None else {name: _shows(raw) for name, raw in config.adapters.items()},
        )

    async def judge(self, call: Call) -> Verdict:
        """Return whether a call may run, must be asked about, or may not run at all."""
        try:
            verdict = self.policy.judge(call, await self._grants_for(call))
        except ToolError as error:
            return Verdict("deny", reason=str(error))
        if verdict.action == "ask":
            return await self._ask(call, verdict)
        return msgspec.structs.replace(verdict, reason=self._explain(call, verdict.why))

    def _explain(self, call: Call, why: Why) -> str:
        """Return a reason in the language of the member whose call it is."""
        return explain(call.context.member.settings.language or self.language, why)

    async def _grants_for(self, call: Call) -> list[Grant]:
        """Return the grants of the call's tool that were given when it was what it is now."""
        found = [grant for grant in await self.grants() if grant.tool == call.tool.name]
        meaning = await call.tool.meaning() if found else None
        return [grant for grant in found if grant.meaning == meaning]

    async def _ask(self, call: Call, verdict: Verdict) -> Verdict:
        why, forbids = verdict.why, partial(self.policy.forbids, call)
        context = msgspec.structs.replace(call.context, is_tried=not verdict.by_words, forbids=forbids)
        try:
            picture = await call.tool.picture(call.arguments, context)
        except ToolError as error:
            # Nobody should be asked about a call that can only fail; the model is told why instead.
            return Verdict("deny", reason=str(error))
        why = why if picture.result is None else Why("tried")
        return Verdict("ask", why, reason=self._explain(call, why), picture=picture)

    async def request(self, call: Call, verdict: Verdict, *, round_number: int = 1) -> Approval:
        """Put a call to a person; the question is on disk when this returns."""
        picture = verdict.picture or Picture(None)
        waiting = await self.pending(call.context.thread_id)
        digest = call.bind(picture.target)
        known = next((each for each in waiting if each.digest == digest and _is_about(each, call)), None)
        approval = known or await self._write_question(call, verdict, picture, waiting, round_number)
        await self._supersede_equals(approval, waiting)
        return approval

    async def renew(self, approval_id: str, call: Call) -> Approval | ToolResult:
        """Put an approved call to a person anew, because what it acts on is no longer what they saw.

        Returns the call's result when it was tried again and there is nothing left to ask about.
        """
        old = await self.get(approval_id)
        verdict = self.policy.judge(call, ())
        if verdict.action == "deny":
            raise ToolError(f"not allowed: {self._explain(call, verdict.why)}")
        verdict = await self._ask(call, msgspec.structs.replace(verdict, why=Why("changed")))
        if verdict.action == "deny":
            raise ToolError(f"not allowed: {verdict.reason}")
        await self._decisions.complete()
        # The old answer first: whatever happens next, it lets nothing through any more.
        await self._withdraw(old)
        if verdict.picture is not None and verdict.picture.result is not None:
            return verdict.picture.result
        if old.round >= ROUNDS_LIMIT:
            raise ToolError(say(self.language, "changed-too-often", count=ROUNDS_LIMIT))
        return await self.request(call, verdict, round_number=old.round + 1)

    async def _write_question(
        self, call: Call, verdict: Verdict, picture: Picture, waiting: Sequence[Approval], round_number: int
    ) -> Approval:
        context, now = call.context, self._clock()
        approval = Approval(
            id=new_id("apr"),
            status="requested",
            thread_id=context.thread_id,
            member=context.member.id,
            run_id=context.run_id,
            call_id=call.call_id,
            message_id=call.message_id,
            number=max((each.number for each in waiting), default=0) + 1,
            tool=call.tool.name,
            input=call.raw,
            folder=call.folder,
            digest=call.bind(picture.target),
            preview=picture.text,
            target=picture.target,
            round=round_number,
            reason=verdict.reason,
            why=verdict.why,
            initiators=await self._initiators(call),
            tone=self.policy.tone(context.member),
            requested_at=timestamp(now),
            expires_at=timestamp(now + timedelta(minutes=self._permissions.expires_minutes)),
        )
        approval = msgspec.structs.replace(approval, coverage=self._coverage(call, approval))
        self._records.write(approval)
        await self._index(approval)
        return approval

    def _coverage(self, call: Call, approval: Approval) -> Coverage | None:
        """Return what a longer answer would cover, if policy would let the same call through by it."""
        lease = Lease(span="thread", minutes=None, by="", words="", at=self._clock())
        grant = make_grant(approval, "", lease)
        if not isinstance(grant, Grant) or self.policy.judge(call, [grant]).grant_id != grant.id:
            return None
        return Coverage(None if grant.pattern is None else grant.rule)

    async def answer(self, event: TextEvent | ApprovalReplyEvent, pending: Sequence[Approval]) -> ReplyEffect:
        """Take a person's message as an answer, if it is one."""
        return await self._replies.answer(event, pending)

    def stop(self, thread_id: str) -> bool:
        """End what a model is suggesting about a message of a thread; tell whether it was."""
        return self._replies.stop(thread_id)

    def forbid(self, call: Call) -> Verdict | None:
        """Return why an approved call may not run after all: by a rule or mode that no answer lifts."""
        verdict = self.policy.judge(call, ())
        if verdict.action != "deny":
            return None
        reason = self._explain(call, verdict.why)
        return msgspec.structs.replace(verdict, reason=reason)

    async def confirm(self, approval_id: str, call: Call) -> Call | None:
        """Return the call with the target it must find, if a stored decision approves it; None if none does.

        Asked right before it runs. Raises `TargetChangedError` when its target is not what was shown.
        """
        approval = self._records.read(approval_id)
        if approval is None or approval.decision is None or not _is_about(approval, call):
            return None
        if approval.status == "superseded":
            # A crash came between the withdrawal of this answer and the question that follows it.
            raise TargetChangedError
        if approval.status != "approved":
            return None
        bound = msgspec.structs.replace(call.context, expected=approval.target)
        picture = await call.tool.picture(call.arguments, bound)
        if call.bind(picture.target) != approval.digest:
            raise TargetChangedError
        return msgspec.structs.replace(call, context=bound)

    async def pending(self, thread_id: str | None = None) -> list[Approval]:
        """List what waits for a person, in the order of its numbers."""
        await self._decisions.complete()
        ids = await self._consents.approvals(status="requested", thread_id=thread_id, limit=LIST_LIMIT)
        now = timestamp(self._clock())
        waiting: list[Approval] = []
        for approval in self._read_all(ids):
            if approval.has_expired(now):
                await self._close(approval, "expired")
            elif approval.is_open:
                waiting.append(approval)
            else:
                # The file is the decision; a crash kept the index from learning of it.
                await self._index(approval)
        return sorted(waiting, key=lambda each: (each.thread_id, each.number, each.id))

    def was_asked_by(self, approval: Approval, moment: str) -> bool:
        """Return whether a question had been put by a moment, as far as the clock can be believed.

        A question from the future shows that the clock was set back since; moments say nothing then.
        """
        return approval.requested_at <= moment or approval.requested_at > timestamp(self._clock())

    async def list(self, status: Status | None = None, thread_id: str | None = None) -> list[Approval]:
        """List approvals, newest first."""
        await self.expire()
        ids = await self._consents.approvals(status=status, thread_id=thread_id, limit=LIST_LIMIT)
        return [each for each in self._read_all(ids) if status is None or each.status == status]

    async def get(self, approval_id: str) -> Approval:
        """Return one approval."""
        found = self._records.read(approval_id)
        if found is None:
            raise NotFoundError(say(self.language, "unknown", id=approval_id))
        return found

    async def abandon(self, approval_id: str, why: str) -> None:
        """Record that a call which was approved will not run, and why."""
        if (found := self._records.read(approval_id)) is not None:
            self.audit.abandoned(found, why)

    async def decisions_for(self, thread_id: str) -> list[DecidedCall]:
        """List what was decided in a thread lately, so that calls still shown as waiting can be settled."""
        await self.pending(thread_id)
        ids = await self._consents.approvals(thread_id=thread_id, limit=RECENT)
        return [self._decision(each) for each in reversed(self._read_all(ids)) if not each.is_open]

    async def expire(self) -> list[Approval]:
        """Close the questions nobody answered in time, and give them."""
        await self._decisions.complete()
        now = timestamp(self._clock())
        ids = await self._consents.approvals(status="requested", limit=LIST_LIMIT)
        due = [each for each in self._read_all(ids) if each.has_expired(now)]
        return [await self._close(approval, "expired") for approval in due]

    async def supersede(self, thread_id: str, message_id: str) -> None:
        """Close the questions of a message that another one took the place of."""
        for approval in await self.pending(thread_id):
            if approval.message_id == message_id:
                await self._close(approval, "superseded")

    async def grants(self) -> list[Grant]:
        """List the grants in force."""
        await self._decisions.complete()
        rows = await self._consents.grants()
        # Read after the rows: none of them can have been granted later, unless the clock was set back.
        now = timestamp(self._clock())
        found = [msgspec.convert(row.data, Grant) for row in rows]
        for grant in found:
            if not grant.is_in_force(now):
                # For good: no clock that is set back afterwards gives it new life.
                await self._consents.revoke_grant(grant.id)
        return [grant for grant in found if grant.is_in_force(now)]

    async def revoke(self, grant_id: str) -> None:
        """Take a grant back; the next call it covered asks again."""
        await self._decisions.complete()
        if not await self._consents.revoke_grant(grant_id):
            raise NotFoundError(
                f"there is no grant {grant_id} in force. `shipmate approvals grants` lists them."
            )

    async def _initiators(self, call: Call) -> tuple[str, ...]:
        """Return whose words started the run; a decider's answer only takes it up again."""
        newest = self._read_all(await self._consents.approvals(thread_id=call.context.thread_id, limit=1))
        is_same_run = bool(newest) and newest[0].run_id == call.context.run_id
        own = call.context.initiators or ((call.context.user_id,) if call.context.user_id else ())
        return newest[0].initiators if is_same_run else own

    async def _supersede_equals(self, approval: Approval, waiting: Sequence[Approval]) -> None:
        """Close what the same call asked before; calls that stand beside it are questions of their own."""
        for older in waiting:
            is_beside = older.message_id == approval.message_id and older.call_id != approval.call_id
            if older.call_digest == approval.call_digest and older.id != approval.id and not is_beside:
                await self._close(older, "superseded", superseded_by=approval.id)

    async def _close(
        self, approval: Approval, status: Status, *, superseded_by: str | None = None
    ) -> Approval:
        with self._records.lock():
            current = self._records.read(approval.id)
            if current is None or not current.is_open:
                return current or approval
            closed = msgspec.structs.replace(
                current, status=status, superseded_by=superseded_by, proposed=None
            )
            self._records.write(closed)
        await self._index(closed)
        return closed

    async def _withdraw(self, approval: Approval) -> None:
        """Take the force from an answer that was given; who gave it stays on record."""
        with self._records.lock():
            current = self._records.read(approval.id) or approval
            withdrawn = msgspec.structs.replace(current, status="superseded")
            self._records.write(withdrawn)
        await self._index(withdrawn)

    async def _index(self, approval: Approval) -> None:
        await self._consents.put_approval(
            approval.id, approval.thread_id, approval.status, approval.requested_at, approval.expires_at
        )

    def _read_all(self, ids: Sequence[str]) -> list[Approval]:
        return [found for each in ids if (found := self._records.read(each)) is not None]

    def _decision(self, approval: Approval) -> DecidedCall:
        decision = decision_of(approval)
        if approval.decision is not None:
            return decision
        return msgspec.structs.replace(decision, reason=say(self.language, f"{approval.status}-reason"))


def _is_about(approval: Approval, call: Call) -> bool:
    """Return whether an approval is about this very call, whatever has become of its target."""
    asked = (approval.thread_id, approval.message_id, approval.call_id, approval.call_digest)
    return asked == (call.context.thread_id, call.message_id, call.call_id, call.call_digest)


def _shows(raw: object) -> bool:
    """Return whether people may approve on an adapter's platform, as its settings say."""
    return isinstance(raw, dict) and raw.get("approvals", True) is True
