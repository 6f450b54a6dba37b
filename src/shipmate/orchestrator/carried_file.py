"""Show kept files to a model: those it can take as their bytes, others as a path its tools can read."""

from __future__ import annotations

import base64
from weakref import WeakKeyDictionary

from shipmate.thread.service import Thread
from shipmate.values.message import JsonObject, UIMessage
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import ADDRESS, Uploads

# What some provider takes; a wire that does not names the file instead.
CARRIED = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "audio/wav", "audio/mpeg"}
)
# No provider takes more in one request, and base64 adds a third.
LARGEST = 20_000_000


class Attachments:
    """Which messages hold kept files, remembered so that long threads are not looked through anew."""

    def __init__(self, layout: Layout, uploads: Uploads) -> None:
        self._layout = layout
        self._uploads = uploads
        self._seen: WeakKeyDictionary[Thread, tuple[int, int, frozenset[str]]] = WeakKeyDictionary()

    def show(self, thread: Thread) -> list[UIMessage]:
        """Return a thread's history, in which no file is named by an address only a browser can follow."""
        messages = thread.history()
        holders = self._find(thread, messages)
        if not holders:
            return messages
        return [self._show(message) if message["id"] in holders else message for message in messages]

    def _find(self, thread: Thread, messages: list[UIMessage]) -> frozenset[str]:
        course, count, holders = self._seen.get(thread, (thread.course, 0, frozenset[str]()))
        if course != thread.course or count > len(messages):
            count, holders = 0, frozenset[str]()
        holders |= {message["id"] for message in messages[count:] if any(map(_is_kept, message["parts"]))}
        # The last message may still grow; it is looked at again.
        self._seen[thread] = (thread.course, max(0, len(messages) - 1), holders)
        return holders

    def _show(self, message: UIMessage) -> UIMessage:
        is_user = message["role"] == "user"
        parts = [
            self._resolve(part, is_user=is_user) if _is_kept(part) else part for part in message["parts"]
        ]
        return {**message, "parts": parts}

    def _resolve(self, part: JsonObject, *, is_user: bool) -> JsonObject:
        upload_id = part["url"].removeprefix(ADDRESS)
        place = self._layout.upload(upload_id).relative_to(self._layout.root).as_posix()
        # Providers take files only from people; what a member showed before is named to it by its path.
        found = self._uploads.find(upload_id) if is_user and _is_carried(part) else None
        if found is not None and found[1].stat().st_size <= LARGEST:
            data = base64.b64encode(found[1].read_bytes()).decode()
            return {**part, "url": f"data:{part['mediaType']};base64,{data}", "path": place}
        return {**part, "url": place}


def _is_kept(part: JsonObject) -> bool:
    url = part.get("url")
    return part.get("type") == "file" and isinstance(url, str) and url.startswith(ADDRESS)


def _is_carried(part: JsonObject) -> bool:
    return _is_kept(part) and part.get("mediaType") in CARRIED
