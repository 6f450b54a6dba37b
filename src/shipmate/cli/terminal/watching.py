"""Follow the messages of a thread for a terminal: each is told once, however often the keeper changes."""

from __future__ import annotations

from shipmate.orchestrator.feed import FeedEvent
from shipmate.orchestrator.reduce import MessageSnapshot
from shipmate.server.stream.projection import Projection, difference
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import UIMessage

AGAIN = "it was taken up again after an interruption; from its beginning:"


class Watching:
    """What was shown of each message, and what is still to be shown."""

    def __init__(self) -> None:
        self._shown: dict[str, Projection] = {}
        # Messages as their thread told them whole: what was queued before may still tell how they grew.
        self._whole: dict[str, MessageSnapshot] = {}

    def remember(self, message: UIMessage) -> None:
        """Count a stored message as shown."""
        self._shown[message["id"]] = Projection(message["id"], message)

    def take(self, event: FeedEvent) -> list[Chunk]:
        """Return what is new to this terminal in something that happened."""
        if self._is_late(event):
            return []
        if event.snapshot is not None:
            return self._meet(event.snapshot)
        if event.chunk is None:
            return []
        return self._project(event.message_id).take(event.chunk)

    def complete(self, message: UIMessage) -> list[Chunk]:
        """Return what was not told of a message that nobody writes any more."""
        self._whole[message["id"]] = whole = MessageSnapshot(message=message)
        return self._meet(whole)

    def _is_late(self, event: FeedEvent) -> bool:
        """Return whether the thread told more of a message than this; a run that goes on says more still."""
        whole = self._whole.get(event.message_id)
        if whole is None:
            return False
        if event.snapshot is None or difference(event.snapshot, whole)[0]:
            return True
        del self._whole[event.message_id]
        return False

    def _meet(self, now: MessageSnapshot) -> list[Chunk]:
        known = self._project(now.message["id"])
        told = known.meet(now)
        if known.is_exact:
            return told
        # What is on a screen cannot be taken back: the message is shown anew, and it is said why.
        self._shown[now.message["id"]] = anew = Projection(now.message["id"])
        return [chunks.data("notice", {"text": AGAIN}, transient=True), *anew.meet(now)]

    def _project(self, message_id: str) -> Projection:
        return self._shown.setdefault(message_id, Projection(message_id))
