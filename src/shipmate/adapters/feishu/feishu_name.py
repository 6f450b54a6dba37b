"""Find out what people and chats are called."""

from __future__ import annotations

from urllib.parse import quote

from shipmate.adapters.feishu.feishu_api import FeishuApi
from shipmate.adapters.name_book import NameBook


class FeishuNames:
    """The names one app may see; empty where it may not."""

    def __init__(self, api: FeishuApi) -> None:
        self._api = api
        self._book = NameBook()

    async def person(self, open_id: str) -> str:
        """Return what a person is called."""
        path = f"/open-apis/contact/v3/users/{quote(open_id, safe='')}?user_id_type=open_id"
        return await self._find(path, "user") if open_id else ""

    async def chat(self, chat_id: str) -> str:
        """Return what a group is called."""
        return await self._find(f"/open-apis/im/v1/chats/{quote(chat_id, safe='')}", "")

    async def _find(self, path: str, key: str) -> str:
        async def ask() -> str:
            found = (await self._api.call("GET", path)).get("data") or {}
            return str((found.get(key) or {} if key else found).get("name") or "")

        return await self._book.find(path, ask)
