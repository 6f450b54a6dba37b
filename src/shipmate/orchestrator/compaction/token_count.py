"""Estimate what a model reads of a thread."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from shipmate.thread.service import Thread
from shipmate.values.message import UIMessage, message_tokens


class TokenCount:
    """What the histories of threads cost; a long one is not counted anew at each step."""

    def __init__(self) -> None:
        self._counted: WeakKeyDictionary[Thread, tuple[tuple[int, int], int, int]] = WeakKeyDictionary()

    def tokens(self, thread: Thread, messages: list[UIMessage]) -> int:
        """Estimate the tokens of what the model is shown of a thread."""
        now = thread.course, len(thread.cleared)
        view, count, tokens = self._counted.get(thread, (now, 0, 0))
        # The last message may still grow, so it is counted anew each time.
        settled = max(0, len(messages) - 1)
        if view != now or count > settled:
            count, tokens = 0, 0
        tokens += sum(map(message_tokens, messages[count:settled]))
        self._counted[thread] = (now, settled, tokens)
        return tokens + sum(map(message_tokens, messages[settled:]))
