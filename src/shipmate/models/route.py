"""Find which model a message goes to, by the rules of ship.json; nobody is asked for that."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

from shipmate.values.message import UIMessage, text_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import RouteRule

Task = Literal["code", "chat", "analysis", "vision", "cheap"]
CHEAP = re.compile(r"/cheap\b", re.IGNORECASE)
# Fences, changes, traces, and names of files that hold code.
CODE = re.compile(
    r"^\s*(?:```|~~~|diff --git |Traceback \(most recent|#!/|@@ -\d)"
    r"|\b[\w./-]+\.(?:py|ts|tsx|js|jsx|go|rs|java|kt|c|h|cc|cpp|cs|rb|php|swift|sh|sql|html|css)\b",
    re.MULTILINE,
)
# From so many characters on there is something to read.
LONG = 1_500


def classify(message: UIMessage) -> Task:
    """Return what a message asks for, by its words and what is attached to it."""
    text = text_of(message)
    files = [part for part in message["parts"] if part["type"] == "file"]
    if CHEAP.match(text.lstrip()):
        return "cheap"
    if any(str(part.get("mediaType", "")).startswith("image/") for part in files):
        return "vision"
    if CODE.search(text) or any(CODE.search(str(part.get("filename", ""))) for part in files):
        return "code"
    return "analysis" if files or len(text) >= LONG else "chat"


def find_route(
    rules: Iterable[RouteRule], message: UIMessage, member: str, thread: ThreadId
) -> RouteRule | None:
    """Return the first rule that fits a message."""
    task = classify(message)
    for rule in rules:
        when = rule.when
        if (
            when.task in (None, task)
            and when.member in (None, member)
            and when.platform in (None, thread.platform)
            and (when.thread is None or fnmatchcase(str(thread), when.thread))
        ):
            return rule
    return None


def describe_route(rule: RouteRule) -> str:
    """Say when a rule holds, and why."""
    when = rule.when
    stated = {"task": when.task, "member": when.member, "thread": when.thread, "platform": when.platform}
    named = " ".join(f"{name}={value}" for name, value in stated.items() if value is not None)
    return ": ".join(filter(None, (named or "*", rule.why)))
