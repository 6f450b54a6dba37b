"""Record every acting call and every refusal: what, who asked, and what or who decided."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from shipmate.approvals.policy.subject import KINDS, PATH_KEYS
from shipmate.approvals.value import Approval, Call, Verdict
from shipmate.errors import StorageError
from shipmate.store.chain import ChainedLog, JoinedChains
from shipmate.store.verification import Verification
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal_line
from shipmate.workspace.disk.disk import DISK, Disk
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import Mask

# `mended` and `broken` are the log's own notes on what it found at its end.
Event = Literal["asked", "decided", "allowed", "refused", "ran", "mended", "broken"]
# Who or what let a call pass or kept it from passing.
Basis = Literal["rule", "grant", "mode", "person", "policy"]
# `changed`: nothing was done, because the target is no longer what was shown; it is asked anew.
Ending = Literal["ok", "error", "interrupted", "changed"]
WHAT_LIMIT = 300
WORDS_LIMIT = 500
RULED = ("allowed", "denied", "asked")
MODES = ("yolo", "auto-edit", "read-only", "tried")
TELLING = {"command": ("command",), "host": ("url",), "path": PATH_KEYS}
log = logging.getLogger(__name__)


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One entry of the log; which fields it has depends on its event."""

    event: Event
    at: str = ""
    seq: int = 0
    thread_id: str = ""
    member: str = ""
    run_id: str = ""
    call_id: str = ""
    message_id: str = ""
    tool: str = ""
    # What the call is about, on one line, secrets masked.
    what: str = ""
    # Over tool, arguments, folder and whatever else an approval is bound to.
    digest: str = ""
    initiators: tuple[str, ...] = ()
    by: Basis | None = None
    # The key of the reason, and its words.
    why: str | None = None
    reason: str | None = None
    rule: str | None = None
    grant_id: str | None = None
    approval_id: str | None = None
    who: str | None = None
    where: str | None = None
    words: str | None = None
    # SHA-256 of what the person was shown.
    shown: str | None = None
    # How a call ended (`changed`: its target was no longer what was approved), or what a question became.
    outcome: str | None = None


class Audit:
    """The audit log of one workspace."""

    def __init__(
        self,
        layout: Layout,
        mask: Callable[[str], str] | None = None,
        disk: Disk = DISK,
        chain: ChainedLog | None = None,
    ) -> None:
        self._chain = chain or JoinedChains(layout.audit, disk)
        self._mask = mask or Mask(())

    def append(self, entry: AuditEntry) -> None:
        """Put an entry on disk, behind the last one."""
        bare: JsonObject = msgspec.to_builtins(entry)
        self._chain.append({key: value for key, value in bare.items() if key not in ("at", "seq")})

    def entries(self) -> Iterator[AuditEntry]:
        """Go over the entries, newest first."""
        for entry in self._chain.backward():
            try:
                yield msgspec.convert(entry, AuditEntry)
            except msgspec.ValidationError:
                # Verification names the line; a reader goes on with the rest.
                continue

    def verify(self) -> Verification:
        """Check that the log is what was written."""
        return self._chain.verify()

    def allowed(self, call: Call) -> None:
        """Record, before it begins, an acting call and what lets it pass."""
        if call.approval is not None:
            basis = self._person(call.approval)
        elif call.tool.labels_for(call.arguments).is_read_only:
            return
        else:
            basis = self._basis(call.verdict)
        self._note("allowed", call, basis)

    def refused(self, call: Call, verdict: Verdict) -> None:
        """Record a call that may not run, and why."""
        self._note("refused", call, self._basis(verdict))

    def ended(self, call: Call, outcome: Ending) -> None:
        """Record how an acting call ended; its result is kept already, so trouble here is only logged."""
        if call.approval is None and call.tool.labels_for(call.arguments).is_read_only:
            return
        try:
            # On disk like every other entry, though nothing waits for it: the head may reach the disk by
            # itself, and one that names a line which was lost would look like a cut.
            self._note("ran", call, {"outcome": outcome})
        except StorageError:
            log.exception("the end of a call is not in the audit log")

    def asked(self, approval: Approval) -> None:
        """Record a question put to a person."""
        shown = {"reason": self._line(approval.reason), "shown": _hash(approval.preview)}
        self._note_approval("asked", approval, {**shown, "approval_id": approval.id})

    def decided(self, approval: Approval) -> None:
        """Record what became of a question: a person's word, or that its time was over."""
        basis = self._person(approval) if approval.decision is not None else {"by": "policy"}
        known = {**basis, "outcome": approval.status, "approval_id": approval.id}
        self._note_approval("decided", approval, known)

    def abandoned(self, approval: Approval, why: str) -> None:
        """Record that a call will not run though it was approved, and why."""
        known = {"by": "policy", "why": "abandoned", "reason": self._line(why), "approval_id": approval.id}
        self._note_approval("refused", approval, known)

    def _note(self, event: Event, call: Call, more: JsonObject) -> None:
        context = call.context
        entry: JsonObject = {
            "event": event,
            "thread_id": context.thread_id,
            "member": context.member.id,
            "run_id": context.run_id,
            "call_id": call.call_id,
            "message_id": call.message_id,
            "tool": call.tool.name,
            "what": self._what(call.tool.name, call.raw),
            "digest": call.approval.digest if call.approval is not None else call.call_digest,
            "initiators": context.initiators or tuple(filter(None, [context.user_id])),
        }
        self.append(AuditEntry(**{**entry, **more}))

    def _note_approval(self, event: Event, approval: Approval, more: JsonObject) -> None:
        entry: JsonObject = {
            "event": event,
            "thread_id": approval.thread_id,
            "member": approval.member,
            "run_id": approval.run_id,
            "call_id": approval.call_id,
            "message_id": approval.message_id,
            "tool": approval.tool,
            "what": self._what(approval.tool, approval.input),
            "digest": approval.digest,
            "initiators": approval.initiators,
        }
        self.append(AuditEntry(**{**entry, **more}))

    def _basis(self, verdict: Verdict | None) -> JsonObject:
        """Say what a verdict rests on."""
        if verdict is None:
            return {"by": "policy"}
        why = verdict.why
        rule = verdict.rule or (why.what if why.key in RULED else None)
        by: Basis = "policy"
        if verdict.grant_id is not None:
            by = "grant"
        elif rule is not None:
            by = "rule"
        elif why.key in MODES:
            by = "mode"
        return {
            "by": by,
            "why": why.key or None,
            "reason": self._line(verdict.reason),
            "rule": self._line(rule) if rule is not None else None,
            "grant_id": verdict.grant_id,
        }

    def _person(self, approval: Approval) -> JsonObject:
        """Say who decided, where, in which words, and what that person was shown."""
        decision = approval.decision
        known: JsonObject = {"approval_id": approval.id, "shown": _hash(approval.preview)}
        if decision is None:
            return known
        return {
            **known,
            "by": "person",
            "who": self._line(decision.by),
            "where": decision.thread_id,
            "words": self._line(decision.words),
            "reason": self._line(decision.reason) if decision.reason else None,
            "grant_id": decision.grant_id,
        }

    def _what(self, tool: str, given: JsonObject) -> str:
        keys = TELLING.get(KINDS.get(tool) or "", ())
        telling = next((given[key] for key in keys if isinstance(given.get(key), str)), None)
        text = telling if telling is not None else msgspec.json.encode(given).decode()
        return reveal_line(self._mask(text), WHAT_LIMIT)

    def _line(self, text: str) -> str:
        return reveal_line(self._mask(text), WORDS_LIMIT)


def _hash(shown: str | None) -> str | None:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest() if shown is not None else None
