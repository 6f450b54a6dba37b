"""Make calls, events and grants for tests of approvals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from shipmate.approvals.value import Call, Grant
from shipmate.errors import ToolError
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.event import ApprovalReplyEvent, TextEvent
from shipmate.values.message import new_id, timestamp
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member

THREAD = "telegram:group:7"
READING = ("read", "grep", "glob", "show_image")


class AnyArguments(msgspec.Struct, frozen=True, omit_defaults=True):
    """Take whatever a tool of ours takes."""

    command: str | None = None
    path: str | None = None
    url: str | None = None
    content: str | None = None
    old: str | None = None
    new: str | None = None
    text: str | None = None
    network: bool = False
    variables: tuple[str, ...] = ()


class StandIn(Tool[AnyArguments]):
    """Stand for a tool of any name; it is judged and asked about, never run."""

    description = "Stand in."
    arguments = AnyArguments

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels = Labels(acts=name not in READING, reads_untrusted=name == "web_fetch")

    async def picture(self, arguments: AnyArguments, context: ToolContext) -> Picture:
        if arguments.old == "missing":
            raise ToolError("The passage does not stand in the file.")
        if arguments.text == "unshowable":
            return Picture(None)
        shown = arguments.command or arguments.content
        return Picture(shown) if shown else await super().picture(arguments, context)

    async def run(self, arguments: AnyArguments, context: ToolContext) -> ToolResult:
        return ToolResult(output="done")


def member_of(root: Path, member_id: str) -> Member:
    """Return a member of a folder, with or without files."""
    layout = Layout(root)
    return Member(id=member_id, name=member_id, layout=layout, own=layout.member(member_id))


def make_call(
    root: Path,
    tool: str,
    raw: dict[str, Any],
    *,
    tainted: bool = False,
    call_id: str = "call-1",
    message_id: str = "msg-1",
    thread_id: str = THREAD,
    user_id: str = "ann",
    initiators: tuple[str, ...] = (),
    member: str = "captain",
) -> Call:
    """Make a call as the loop does."""
    stand_in = StandIn(tool)
    context = ToolContext(
        member=member_of(root, member),
        thread_id=thread_id,
        run_id="run-1",
        call_id=call_id,
        user_id=user_id,
        initiators=initiators,
    )
    return Call(
        call_id=call_id,
        message_id=message_id,
        tool=stand_in,
        arguments=stand_in.parse(raw),
        raw=raw,
        context=context,
        tainted=tainted,
    )


def make_grant(
    tool: str,
    pattern: str | None,
    *,
    digest: str | None = None,
    scope: Literal["thread", "member"] = "thread",
    thread_id: str = THREAD,
    member: str = "captain",
) -> Grant:
    """Make a grant in force."""
    return Grant(
        id=new_id("grant"),
        tool=tool,
        pattern=pattern,
        digest=digest,
        scope=scope,
        member=member,
        thread_id=thread_id if scope == "thread" else None,
        granted_by="telegram:ann",
        granted_at=timestamp(),
    )


def say(text: str, *, user: str = "ann", thread_id: str = THREAD, message_id: str | None = None) -> TextEvent:
    """Make the event of words said in the thread."""
    return TextEvent(
        platform=thread_id.partition(":")[0],
        thread_id=thread_id,
        user_id=user,
        message_id=message_id or new_id("m"),
        timestamp=timestamp(),
        text=text,
    )


def press(
    approval_id: str,
    approved: bool | None,
    *,
    text: str = "",
    scope: str = "once",
    user: str = "ann",
    thread_id: str = THREAD,
    platform: str | None = None,
    message_id: str | None = None,
) -> ApprovalReplyEvent:
    """Make the event of a pressed button, or of words about one approval."""
    return ApprovalReplyEvent(
        platform=platform or thread_id.partition(":")[0],
        thread_id=thread_id,
        user_id=user,
        message_id=message_id or new_id("m"),
        timestamp=timestamp(),
        text=text,
        approval_id=approval_id,
        approved=approved,
        scope=scope,
    )
