"""Find out what people and chats are called; nothing waits long for a name, and nothing fails for one."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import quote

from shipmate.adapters.feishu.feishu_api import FeishuApi
from shipmate.errors import SendError

KEEP_SECONDS = 3600.0
# An event has to be confirmed within 3 seconds.
WAIT_SECONDS = 1.0
KEPT = 10_000


class FeishuNames:
    """The names one app may see; empty where it may not."""

    def __init__(self, api: FeishuApi) -> None:
        self._api = api
        self._kept: dict[str, tuple[float, str]] = {}

    async def person(self, open_id: str) -> str:
        """Return what a person is called."""
        path = f"/open-apis/contact/v3/users/{quote(open_id, safe='')}?user_id_type=open_id"
        return await self._find(path, "user") if open_id else ""

    async def chat(self, chat_id: str) -> str:
        """Return what a group is called."""
        return await self._find(f"/open-apis/im/v1/chats/{quote(chat_id, safe='')}", "")

    async def _find(self, path: str, key: str) -> str:
        now = time.monotonic()
        at, name = self._kept.get(path, (now - KEEP_SECONDS, ""))
        if now - at < KEEP_SECONDS:
            return name
        if len(self._kept) >= KEPT:
            self._kept.clear()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                found = (await self._api.call("GET", path)).get("data") or {}
            name = str((found.get(key) or {} if key else found).get("name") or "")
        except (SendError, TimeoutError):
            name = ""
        self._kept[path] = (now, name)
        return name
