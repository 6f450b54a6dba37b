"""Know whether untrusted content has ever entered a thread."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from shipmate.errors import ToolError
from shipmate.thread.service import Thread
from shipmate.tools.toolset import Toolset
from shipmate.values.message import JsonObject, UIMessage, metadata_of, tool_name, tool_parts
from shipmate.values.tool_name import OWN_QUESTIONS

# What the loop answers when a model makes up a name: names of tools and nothing else.
NEVER_THERE = re.compile(r"there is no tool '[^']*'\. There are: [\w-]+(, [\w-]+)*\. Nothing ran\.")


class Taint:
    """Remembers how far each thread was looked through, so that long threads cost nothing anew."""

    def __init__(self, toolset: Toolset) -> None:
        self._toolset = toolset
        self._seen: WeakKeyDictionary[Thread, tuple[int, int, bool]] = WeakKeyDictionary()

    def covers(self, thread: Thread) -> bool:
        """Return whether the thread holds a result that strangers may have written, in whichever course.

        A new course begins with a summary, and a summary repeats what it was told. What a row of the system
        says of itself counts too: where it was copied to, the results may be missing.
        """
        edition, count, tainted = self._seen.get(thread, (thread.edition, 0, False))
        if edition != thread.edition:
            count, tainted = 0, False
        tainted = tainted or any(map(self._taints, thread.messages[count:]))
        # A message that may still grow is looked at again.
        self._seen[thread] = (thread.edition, thread.settled(), tainted)
        return tainted

    def _taints(self, message: UIMessage) -> bool:
        if message["role"] == "system":
            return any(map(_says_tainted, message["parts"]))
        if (errand := metadata_of(message).get("errand")) is not None:
            # A member that read strangers' words may repeat them.
            return not isinstance(errand, dict) or bool(errand.get("isTainted"))
        # What a program's own tools bring nobody here can vouch for, whatever they are called.
        theirs = metadata_of(message).get("clientCalls") or {}
        for part in tool_parts(message):
            # What a failing tool says may be a stranger's words too.
            if ("output" in part or "errorText" in part) and (
                part["toolCallId"] in theirs or self._is_untrusted(part)
            ):
                return True
        return False

    def _is_untrusted(self, part: JsonObject) -> bool:
        if tool_name(part) in OWN_QUESTIONS:
            return False
        tool = self._toolset.get(tool_name(part))
        if tool is None:
            # A tool that is gone can no longer vouch for what it brought in; its absence we tell ourselves.
            told = str(part.get("errorText"))
            return "output" in part or not (told == tell_gone(tool_name(part)) or NEVER_THERE.fullmatch(told))
        if tool.vouches(part.get("output")):
            return False
        try:
            return tool.labels_for(tool.parse(part.get("input") or {})).reads_untrusted
        except ToolError:
            return tool.labels.reads_untrusted


def _says_tainted(part: JsonObject) -> bool:
    data = part.get("data")
    told = [data, *data.get("pins", ())] if isinstance(data, dict) else []
    return any(isinstance(each, dict) and bool(each.get("tainted")) for each in told)


def tell_gone(name: str) -> str:
    """Return what a call of a tool that no longer exists is answered with."""
    return f"there is no tool {name!r} any more; it did not run"
