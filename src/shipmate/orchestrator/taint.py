"""Know whether untrusted content has entered what the model sees of a thread."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from shipmate.errors import ToolError
from shipmate.thread.service import Thread
from shipmate.tools.toolset import Toolset
from shipmate.values.message import JsonObject, UIMessage, tool_name, tool_parts


class Taint:
    """Remember how far each thread was looked through, so that long threads cost nothing anew."""

    def __init__(self, toolset: Toolset) -> None:
        self._toolset = toolset
        self._seen: WeakKeyDictionary[Thread, tuple[tuple[int, int], int, bool]] = WeakKeyDictionary()

    def covers(self, thread: Thread) -> bool:
        """Tell whether the current course holds a result that strangers may have written."""
        messages = thread.current()
        stretch = (thread.edition, thread.course)
        seen, count, tainted = self._seen.get(thread, (stretch, 0, False))
        if seen != stretch:
            count, tainted = 0, False
        tainted = tainted or any(map(self._taints, messages[count:]))
        # A message that may still grow is looked at again.
        self._seen[thread] = (stretch, thread.firm(), tainted)
        return tainted

    def _taints(self, message: UIMessage) -> bool:
        for part in tool_parts(message):
            # What a failing tool says may be a stranger's words too.
            if ("output" in part or "errorText" in part) and self._is_untrusted(part):
                return True
        return False

    def _is_untrusted(self, part: JsonObject) -> bool:
        tool = self._toolset.get(tool_name(part))
        if tool is None:
            # A tool that is gone can no longer vouch for what it brought in; its absence we tell ourselves.
            return "output" in part
        try:
            return tool.labels_for(tool.parse(part.get("input") or {})).reads_untrusted
        except ToolError:
            return tool.labels.reads_untrusted
