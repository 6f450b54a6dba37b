"""Make requests to keep, and say what they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shipmate.context.builder import ContextBuilder
from shipmate.context.kept.request_log import RequestLog, SentRequest
from shipmate.context.request import Context, ContextRequest, NamedTool
from shipmate.models.neutral import ModelMessage, TextBlock, describe_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import ContextSettings
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import Mask
from tests.support.prompt import MOMENT

THREAD = "web:room:1"
TOOLS = (NamedTool("read", "Read a file.", {"type": "object"}), NamedTool("write", "Write a file."))


def make_log(root: Path, *secrets: str) -> RequestLog:
    """Return a log of a workspace; its thread is there."""
    thread = Layout(root).thread(ThreadId.parse(THREAD))
    thread.parent.mkdir(parents=True, exist_ok=True)
    thread.touch()
    return RequestLog(Layout(root), ContextSettings(), Mask(secrets))


def build(root: Path) -> Context:
    """Return the prompt of a workspace as it is now."""
    return ContextBuilder(root).build(ContextRequest(now=MOMENT))


def said(*texts: str) -> list[ModelMessage]:
    """Return messages of both sides in turn, the person's first."""
    sides = ("user", "assistant")
    return [ModelMessage(sides[place % 2], [TextBlock(text)]) for place, text in enumerate(texts)]


def send(
    context: Context,
    messages: Sequence[ModelMessage],
    run: str = "run_1",
    step: int = 1,
    *,
    thread_id: str = THREAD,
    tools: Sequence[NamedTool] = TOOLS,
    asked: str = "m1",
    words: str = "",
    model: str = "m",
    course: int = 1,
) -> SentRequest:
    """Return a request that went out."""
    return SentRequest(
        thread_id=thread_id,
        run_id=run,
        step=step,
        model=model,
        context=context,
        tools=tools,
        messages=messages,
        describe=describe_message,
        course=course,
        window=1000,
        asked=asked,
        words=words,
    )
