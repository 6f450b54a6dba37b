"""The audit log: what acts is recorded before it begins, with what let it pass; refusals too (C17)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.approvals.audit import Audit, AuditEntry
from shipmate.approvals.audit_call import AuditCall, fold
from shipmate.approvals.value import Verdict
from shipmate.errors import ToolError
from shipmate.models.scripted import ScriptedModel, call
from shipmate.tools.tool import ToolContext, ToolResult
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import Mask
from tests.support.approval import make_call
from tests.support.workspace import Mark, Probe, messages_of, open_workspace, pressed, said, talk, tools_of


def entries_of(app: Shipmate | Path) -> list[AuditEntry]:
    layout = Layout(app) if isinstance(app, Path) else app.layout
    return list(reversed(list(Audit(layout).entries())))


def calls_of(app: Shipmate) -> list[AuditCall]:
    return fold(app.approvals.audit.entries(), 100).calls


class Watching(Probe):
    """Be a probe that looks at the log while it runs."""

    seen: tuple[str, ...] = ()

    async def run(self, arguments: Mark, context: ToolContext) -> ToolResult:
        self.seen = tuple(entry.event for entry in entries_of(context.layout.root))
        return await super().run(arguments, context)


async def test_c17_an_acting_call_is_on_disk_before_it_begins(tmp_path: Path) -> None:
    act = Watching("act", acts=True)
    model = ScriptedModel([[call("act", mark="a")], "Done."])
    async with open_workspace(tmp_path, model, [act], mode="yolo") as app:
        await talk(app, "go")
        allowed, ran = entries_of(app)
        (one,) = calls_of(app)
    assert act.seen == ("allowed",)
    assert (allowed.event, allowed.by, allowed.why, allowed.tool) == ("allowed", "mode", "yolo", "act")
    assert (allowed.member, allowed.initiators, allowed.thread_id) == ("captain", ("ann",), "cli:dm:ann")
    assert (ran.event, ran.outcome, ran.digest) == ("ran", "ok", allowed.digest)
    assert (one.outcome, one.basis) == ("ok", "yolo")


async def test_c17_what_cannot_be_recorded_does_not_run(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="a")], "Done."])
    (tmp_path / ".ship").mkdir()
    (tmp_path / ".ship" / "audit").write_text("a file in the way")
    async with open_workspace(tmp_path, model, [act], mode="yolo") as app:
        outcome = await talk(app, "go")
    assert outcome.status == "failed"
    assert "What cannot be recorded does not run" in (outcome.error or "")
    assert act.marks == []


async def test_calls_that_only_read_leave_no_entry(tmp_path: Path) -> None:
    model = ScriptedModel([[call("look", mark="a")], "Done."])
    async with open_workspace(tmp_path, model, [Probe("look")]) as app:
        await talk(app, "go")
        assert entries_of(app) == []


async def test_a_failed_call_ends_as_an_error(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    act.error = ToolError("no")
    model = ScriptedModel([[call("act", mark="a")], "Done."])
    async with open_workspace(tmp_path, model, [act], allow=["act"]) as app:
        await talk(app, "go")
        assert [(entry.event, entry.by, entry.rule, entry.outcome) for entry in entries_of(app)] == [
            ("allowed", "rule", "act", None),
            ("ran", None, None, "error"),
        ]


async def test_a_persons_word_is_kept_with_who_where_and_what_was_shown(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="a")], "Done."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        (waiting,) = await app.approvals.pending()
        await (await app.receive(pressed(waiting.id, approved=True))).outcome()
        asked, decided, allowed, ran = entries_of(app)
        (one,) = calls_of(app)
    assert [each.event for each in (asked, decided, allowed, ran)] == ["asked", "decided", "allowed", "ran"]
    assert {each.approval_id for each in (asked, decided, allowed)} == {waiting.id}
    assert asked.shown == decided.shown == allowed.shown
    assert (allowed.by, allowed.who, allowed.where) == ("person", "cli:ann", "cli:dm:ann")
    assert decided.outcome == "approved"
    assert (one.outcome, one.who, len(one.events)) == ("ok", "cli:ann", 4)


async def test_a_refusal_by_rule_is_kept_also_for_reading(tmp_path: Path) -> None:
    model = ScriptedModel([[call("look", mark="a"), call("act", mark="b")], "Done."])
    tools = [Probe("look"), Probe("act", acts=True)]
    async with open_workspace(tmp_path, model, tools, deny=["look", "act"]) as app:
        await talk(app, "go")
        found = [(entry.event, entry.tool, entry.by, entry.rule) for entry in entries_of(app)]
    assert found == [("refused", "look", "rule", "look"), ("refused", "act", "rule", "act")]


async def test_a_stopped_call_is_kept_as_interrupted(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    act.hold = asyncio.Event()
    model = ScriptedModel([[call("act", mark="a")], "Done."])
    async with open_workspace(tmp_path, model, [act], mode="yolo") as app:
        await app.receive(said("go"))
        await act.begun.wait()
    # The process ended while the call ran; the next one closes it.
    async with open_workspace(tmp_path, ScriptedModel(["Done."]), [act], mode="yolo") as app:
        await app.keeper.idle()
        (one,) = calls_of(app)
        assert tools_of((await messages_of(app))[1])[0][1] == "output-error"
    assert one.outcome == "interrupted"
    assert act.marks == ["a"]


def test_what_is_kept_shows_no_secret_and_hides_nothing(tmp_path: Path) -> None:
    audit = Audit(Layout(tmp_path), Mask(["hunter2hunter2"]))
    made = make_call(tmp_path, "exec", {"command": "curl -u x:hunter2hunter2 \u202e host\n\n" + "y" * 900})
    audit.allowed(made)
    (entry,) = entries_of(tmp_path)
    assert entry.what.startswith("curl -u x:••• \\u{202e} host yyy")
    assert len(entry.what) <= 301
    audit.refused(made, Verdict("deny", reason="no hunter2hunter2 \u202e", rule="exec(x hunter2hunter2)"))
    refused = entries_of(tmp_path)[-1]
    assert (refused.reason, refused.rule) == ("no ••• \\u{202e}", "exec(x •••)")


def note(audit: Audit, event: Any, call_id: str, **more: Any) -> None:
    audit.append(AuditEntry(event=event, thread_id="t", message_id="m", call_id=call_id, tool="exec", **more))


def test_calls_are_folded_and_paged_however_their_entries_interleave(tmp_path: Path) -> None:
    audit = Audit(Layout(tmp_path))
    note(audit, "asked", "a", approval_id="1")
    for name in "bcd":
        note(audit, "allowed", name, by="mode", why="yolo")
        note(audit, "ran", name, outcome="ok")
    note(audit, "decided", "a", approval_id="1", outcome="approved", by="person", who="ann")
    note(audit, "refused", "e", by="rule", rule="exec(x)")
    note(audit, "allowed", "a", approval_id="1", by="person", who="ann")
    whole = fold(audit.entries(), 100)
    assert [(each.events[0].call_id, each.outcome, len(each.events)) for each in whole.calls] == [
        ("a", "running", 3),
        ("e", "refused", 1),
        ("d", "ok", 2),
        ("c", "ok", 2),
        ("b", "ok", 2),
    ]
    assert not whole.has_more
    paged: list[AuditCall] = []
    before: int | None = None
    while True:
        page = fold(audit.entries(), 2, before=before)
        paged += page.calls
        before = page.calls[-1].seq
        if not page.has_more:
            break
    assert paged == whole.calls


def test_a_note_of_the_log_itself_stands_among_the_calls(tmp_path: Path) -> None:
    audit = Audit(Layout(tmp_path))
    note(audit, "refused", "a")
    (path,) = Layout(tmp_path).audit.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b"{half a li")
    note(audit, "refused", "b")
    assert [(each.kind, each.outcome) for each in fold(audit.entries(), 9).calls] == [
        ("call", "refused"),
        ("note", "mended"),
        ("call", "refused"),
    ]
