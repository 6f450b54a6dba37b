"""Take people's answers: find what they are about, check who gives them, and have them decided."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta

import msgspec

from shipmate.approvals.approval_file import ApprovalRecords, DecisionLog, Wish
from shipmate.approvals.policy.grant import WINDOW_LIMIT_DAYS, Lease, make_grant
from shipmate.approvals.question import describe_covered, explain, is_shown_whole, list_items, moment, say
from shipmate.approvals.reply.naming import ReplyProblem, Selection, names_of, resolve
from shipmate.approvals.reply.reading import Clause, Reply
from shipmate.approvals.reply.table import REPLY_LIMIT
from shipmate.approvals.value import (
    Approval,
    DecidedCall,
    Decision,
    Grant,
    Proposal,
    ReplyEffect,
    Suggestion,
    decision_of,
)
from shipmate.errors import ModelError
from shipmate.store.port import Consents
from shipmate.values.event import GUEST, ApprovalReplyEvent, TextEvent, surface_of
from shipmate.values.message import timestamp
from shipmate.values.reason import Why
from shipmate.workspace.config import Permissions

Event = TextEvent | ApprovalReplyEvent
ORDINARY = ReplyEffect()
STOPPED = ReplyEffect(stopped=True)
MINUTES = re.compile(r"([1-9]\d{0,4})m")
RECENT = 50


class ReplyService:
    """The service that turns messages into decisions."""

    def __init__(
        self,
        records: ApprovalRecords,
        consents: Consents,
        decisions: DecisionLog,
        *,
        language: str,
        zone: str,
        clock: Callable[[], datetime],
        suggest: Callable[[str, Sequence[Approval]], Awaitable[Suggestion | None]] | None,
        allowed: Callable[[Event, Approval], bool],
        deciders: str,
        # Whether people are shown the calls and may approve them, by the names of adapters.
        shown_on: Mapping[str, bool] = {},
    ) -> None:
        self._records = records
        self._consents = consents
        self._decisions = decisions
        self._language = language
        self._zone = zone
        self._clock = clock
        self._suggest = suggest
        self._allowed = allowed
        self._deciders = deciders
        self._shown_on = shown_on
        # What a model is suggesting, by thread: a person may stop it.
        self._suggesting: dict[str, asyncio.Future[Suggestion | None]] = {}

    async def answer(self, event: Event, pending: Sequence[Approval]) -> ReplyEffect:
        """Take a message as an answer, or give it back as an ordinary one."""
        if isinstance(event, ApprovalReplyEvent) and event.approval_id is not None:
            return await self._answer_one(event, event.approval_id)
        if isinstance(event, ApprovalReplyEvent) and event.approval_ids:
            return await self._answer_several(event)
        if repeated := await self._repeated(event):
            return ReplyEffect(decisions=repeated, consumed=True)
        waiting = self._fresh(pending)
        # The recording of spoken words is nothing beside them.
        if isinstance(event, TextEvent) and event.attachments and not event.spoken:
            return self._ordinary(event, waiting)
        if not waiting:
            is_reply = isinstance(event, ApprovalReplyEvent) and _parse(event.text) is not None
            return ReplyEffect(say=self._say("nothing-waits"), consumed=True) if is_reply else ORDINARY
        proposed = [each for each in waiting if each.proposed and each.proposed.by == _who(event)]
        reply = _pressed(event) or _parse(event.text, [name for each in waiting for name in names_of(each)])
        self._drop_proposals(waiting)
        if reply is None:
            return await self._read_unclear(event, waiting)
        if proposed and reply.clauses[0].kind == "it" and reply.span == "once":
            return await self._decide(event, reply, [Selection(each, reply.approves) for each in proposed])
        return await self._apply(event, reply, waiting)

    def stop(self, thread_id: str) -> bool:
        """End what a model is suggesting about a message of a thread; tell whether it was."""
        suggesting = self._suggesting.get(thread_id)
        return suggesting is not None and suggesting.cancel()

    def _ordinary(self, event: Event, waiting: Sequence[Approval]) -> ReplyEffect:
        """Return an ordinary message, and tell someone who could answer what would have been an answer."""
        mine = [each for each in waiting if self._allowed(event, each)]
        if not mine:
            return ORDINARY
        key = (
            "understood"
            if not self._shows_calls(event)
            else "understood-several"
            if mine[1:]
            else "understood-one"
        )
        return ReplyEffect(say=self._say(key))

    async def _answer_one(self, event: ApprovalReplyEvent, approval_id: str) -> ReplyEffect:
        """Take an answer that says which approval it is about."""
        approval = self._records.read(approval_id)
        if approval is None:
            return self._refuse("unknown", id=approval_id)
        if approval.thread_id != event.thread_id:
            return self._refuse("elsewhere")
        if not approval.is_open or approval.has_expired(timestamp(self._clock())):
            return self._answered_before(event, approval)
        reply = _pressed(event) or _parse(event.text, names_of(approval))
        if reply is None:
            return self._refuse("unclear")
        self._drop_proposals([approval])
        return await self._apply(event, reply, [approval])

    async def _answer_several(self, event: ApprovalReplyEvent) -> ReplyEffect:
        """Take a button pressed for several approvals: it decides all that were named, or none of them."""
        found = [self._records.read(each) for each in event.approval_ids]
        approvals = [each for each in found if each is not None and each.thread_id == event.thread_id]
        reply = _pressed(event)
        if len(approvals) < len(found) or reply is None:
            return self._refuse("elsewhere")
        if all(_is_decided_by(each, event) for each in approvals):
            return ReplyEffect(decisions=[decision_of(each) for each in approvals], consumed=True)
        now = timestamp(self._clock())
        if closed := [each for each in approvals if not each.is_open or each.has_expired(now)]:
            return self._answered_before(event, closed[0])
        self._drop_proposals(approvals)
        return await self._decide(event, reply, [Selection(each, reply.approves) for each in approvals])

    def _answered_before(self, event: Event, approval: Approval) -> ReplyEffect:
        decision = approval.decision
        if decision is None:
            status = "expired" if approval.is_open else approval.status
            return self._refuse(f"already-{status}", at=self._moment(approval.expires_at))
        if _is_decided_by(approval, event):
            return ReplyEffect(decisions=[decision_of(approval)], consumed=True)
        return self._refuse(f"already-{approval.status}", by=decision.by, at=self._moment(decision.at))

    async def _repeated(self, event: Event) -> list[DecidedCall]:
        """Find the decisions this very message made before a crash kept the thread from showing them."""
        decided: list[DecidedCall] = []
        for approval_id in await self._consents.approvals(thread_id=event.thread_id, limit=RECENT):
            approval = self._records.read(approval_id)
            if approval is None or approval.is_open:
                continue
            if not _is_decided_by(approval, event):
                break
            decided.append(decision_of(approval))
        return decided[::-1]

    def _fresh(self, pending: Sequence[Approval]) -> list[Approval]:
        """Read again what is said to wait: another process may have decided meanwhile."""
        now = timestamp(self._clock())
        current = [found for each in pending if (found := self._records.read(each.id)) is not None]
        return [each for each in current if each.is_open and not each.has_expired(now)]

    async def _read_unclear(self, event: Event, waiting: Sequence[Approval]) -> ReplyEffect:
        """Let a model suggest a reading; consent so read is confirmed first, a refusal harms nobody."""
        mine = [each for each in waiting if self._allowed(event, each)]
        try:
            suggestion = await self._ask_model(event, mine)
        except ModelError:
            return self._ordinary(event, waiting)
        except asyncio.CancelledError:
            if _is_ending():
                raise
            return STOPPED
        meant = [each for each in mine if suggestion and each.id in suggestion.approval_ids]
        if suggestion is None or not meant:
            return self._ordinary(event, waiting)
        if not suggestion.approved:
            reply = Reply(clauses=(Clause(False, "it"),), reason=event.text)
            return await self._decide(event, reply, [Selection(each, False) for each in meant])
        return self._propose(event, meant, "confirm")

    async def _ask_model(self, event: Event, mine: Sequence[Approval]) -> Suggestion | None:
        if self._suggest is None or not mine or len(event.text) > REPLY_LIMIT:
            return None
        asked = asyncio.ensure_future(self._suggest(event.text, mine))
        self._suggesting[event.thread_id] = asked
        try:
            return await asked
        finally:
            del self._suggesting[event.thread_id]

    def _propose(self, event: Event, meant: Sequence[Approval], key: str) -> ReplyEffect:
        """Put consent that may have been misread back as a question; only the next message can confirm it."""
        if unseen := self._unseen(event, meant):
            return unseen
        at = timestamp(self._clock())
        proposal = Proposal(by=_who(event), at=at, message_id=event.message_id, words=event.text)
        for each in meant:
            self._decisions.change(
                each.id, lambda current: msgspec.structs.replace(current, proposed=proposal)
            )
        return self._refuse(key, list=list_items(meant, self._language))

    def _drop_proposals(self, waiting: Sequence[Approval]) -> None:
        """Forget what a model suggested: only the very next message can confirm it."""
        for each in waiting:
            if each.proposed is not None:
                self._decisions.change(
                    each.id, lambda current: msgspec.structs.replace(current, proposed=None)
                )

    async def _apply(self, event: Event, reply: Reply, waiting: Sequence[Approval]) -> ReplyEffect:
        choices = resolve(reply, waiting)
        if isinstance(choices, ReplyProblem):
            items = list_items(waiting, self._language)
            return self._refuse(choices.kind, count=len(waiting), number=choices.number, list=items)
        return await self._decide(event, reply, choices)

    async def _decide(self, event: Event, reply: Reply, choices: Sequence[Selection]) -> ReplyEffect:
        """Check and store decisions; all of an answer counts or none of it."""
        if not all(self._allowed(event, choice.approval) for choice in choices):
            return self._refuse("may-not-decide", who=self._say(f"deciders-{self._deciders}"))
        approved = [choice.approval for choice in choices if choice.approved]
        if unseen := self._unseen(event, approved):
            return unseen
        if approved and isinstance(event, TextEvent) and event.spoken:
            return self._propose(event, approved, "confirm-spoken")
        lease = self._lease(event, reply)
        if lease.is_too_long:
            return self._refuse("window-limit", days=WINDOW_LIMIT_DAYS)
        made = {choice.approval.id: _grant(choice, lease) for choice in choices if choice.approved}
        wishes = [self._wish(event, reply, choice, made.get(choice.approval.id)) for choice in choices]
        decided = await self._decisions.decide(wishes)
        if not decided and choices:
            current = self._records.read(choices[0].approval.id) or choices[0].approval
            return self._answered_before(event, current)
        sayings = [words for each in decided for words in self._about_grant(made.get(each.id))]
        return ReplyEffect(
            decisions=[decision_of(each) for each in decided],
            say="\n\n".join(sayings) or None,
            consumed=True,
        )

    def _lease(self, event: Event, reply: Reply) -> Lease:
        now = self._clock()
        minutes = reply.minutes if reply.until is None else minutes_until(reply.until, now, self._zone)
        return Lease(span=reply.span, minutes=minutes, by=_who(event), words=event.text, at=now)

    def _wish(self, event: Event, reply: Reply, choice: Selection, made: Grant | Why | None) -> Wish:
        grant = made if isinstance(made, Grant) else None
        decision = Decision(
            by=_who(event),
            at=timestamp(self._clock()),
            platform=event.platform,
            thread_id=event.thread_id,
            message_id=event.message_id,
            words=event.text,
            reason=reply.reason,
            grant_id=grant.id if grant else None,
        )
        return Wish(approval_id=choice.approval.id, approved=choice.approved, decision=decision, grant=grant)

    def _unseen(self, event: Event, approvals: Sequence[Approval]) -> ReplyEffect | None:
        """Refuse consent to what a person could not see whole, or not at all."""
        if approvals and not self._shows_calls(event):
            return self._refuse("not-shown-here", id=approvals[0].id)
        for each in approvals:
            shown = each.preview is not None if _sees_whole(event) else is_shown_whole(each)
            if not shown:
                return self._refuse("not-shown", number=each.number, id=each.id)
        return None

    def _shows_calls(self, event: Event) -> bool:
        """Return whether an event comes from where calls are shown, so that it can approve one."""
        return self._shown_on.get(event.platform, surface_of(event.platform).shows_calls)

    def _about_grant(self, made: Grant | Why | None) -> list[str]:
        if made is None:
            return []
        if isinstance(made, Why):
            return [self._say("not-granted", reason=explain(self._language, made))]
        key = "granted-until" if made.expires_at else f"granted-{made.scope}"
        covers = describe_covered(made, self._language)
        until = self._moment(made.expires_at) if made.expires_at else ""
        return [self._say(key, covers=covers, id=made.id, until=until)]

    def _refuse(self, key: str, **values: object) -> ReplyEffect:
        return ReplyEffect(say=self._say(key, **values), consumed=True)

    def _moment(self, timestamp: str) -> str:
        from shipmate.context.section import find_zone

        return moment(timestamp, find_zone(self._zone))

    def _say(self, key: str, **values: object) -> str:
        return say(self._language, key, **values)


def _who(event: Event) -> str:
    return f"{event.platform}:{event.user_id}"


def _sees_whole(event: Event) -> bool:
    """Return whether the answer comes from where the calls it names are shown whole."""
    names_calls = isinstance(event, ApprovalReplyEvent) and bool(event.approval_id or event.approval_ids)
    return names_calls and surface_of(event.platform).shows_whole


def _is_decided_by(approval: Approval, event: Event) -> bool:
    decision = approval.decision
    return decision is not None and (decision.platform, decision.message_id) == (
        event.platform,
        event.message_id,
    )


def _pressed(event: Event) -> Reply | None:
    """Read a pressed button."""
    if not isinstance(event, ApprovalReplyEvent) or event.approved is None:
        return None
    clauses = (Clause(event.approved, "it"),)
    reason = event.text.strip() or None
    if minutes := MINUTES.fullmatch(event.scope):
        return Reply(clauses=clauses, reason=reason, span="window", minutes=int(minutes[1]))
    span = "always" if event.scope == "always" else "thread" if event.scope == "thread" else "once"
    return Reply(clauses=clauses, reason=reason, span=span)


def _grant(choice: Selection, lease: Lease) -> Grant | Why | None:
    """Return the grant that an answer amounts to; what was not offered is not granted either."""
    made = make_grant(choice.approval, choice.named, lease)
    return Why("not-offered") if isinstance(made, Grant) and choice.approval.coverage is None else made


def _is_ending() -> bool:
    """Return whether the whole process is meant to end, not only what a model was asked."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _parse(text: str, names: Sequence[str] = ()) -> Reply | None:
    # The table is large, and most runs end before anybody answers anything.
    from shipmate.approvals.reply.parser import parse

    return parse(text, names)


def minutes_until(point: str, now: datetime, zone: str) -> int:
    """Return the minutes to the next `midnight` or time of day (`18:00`) in a zone, at least one."""
    # Only answers with such a point need time zones.
    from shipmate.context.section import tell_time

    here = tell_time(now, zone)
    at = time() if point == "midnight" else time.fromisoformat(point)
    aim = datetime.combine(here.date(), at, here.tzinfo)
    if aim <= here:
        aim = datetime.combine(here.date() + timedelta(days=1), at, here.tzinfo)
    # In UTC: a day on which the clocks change is not 24 hours long.
    left = aim.astimezone(UTC) - here.astimezone(UTC)
    return max(1, int(left.total_seconds() // 60))


def may_decide(permissions: Permissions, event: TextEvent | ApprovalReplyEvent, approval: Approval) -> bool:
    """Return whether the person who sent an event may answer an approval."""
    if event.user_id.startswith(GUEST):
        return False
    is_owner = surface_of(event.platform).is_owner
    if permissions.deciders == "anyone" or is_owner or is_admin(permissions, event):
        return True
    if permissions.deciders == "admins" or not event.user_id:
        return False
    # Ids are only unique within a platform; that of the thread goes without saying.
    is_same_platform = approval.thread_id.partition(":")[0] == event.platform
    called = event.user_id if is_same_platform else f"{event.platform}:{event.user_id}"
    return called in approval.initiators


def is_admin(permissions: Permissions, event: TextEvent | ApprovalReplyEvent) -> bool:
    """Return whether a person is listed, as `platform:id` or by an id alone."""
    return bool(event.user_id) and not {event.user_id, f"{event.platform}:{event.user_id}"}.isdisjoint(
        permissions.admins
    )
