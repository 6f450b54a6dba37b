"""Find messages by words with SQLite FTS5, over our own tokens: Chinese is found by any two characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shipmate.store.database import Database, statements
from shipmate.store.port import SearchHit
from shipmate.values.message import UIMessage, metadata_of, text_of

# A run of CJK characters, or a word of letters, digits and underscores outside them.
FIRST_CJK = "\u2e80"
CJK_RUN = (
    r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# Compiled when first needed: classes of so many characters take milliseconds.
TOKEN = rf"({CJK_RUN})|((?:(?!{CJK_RUN[:-1]})\w)+)"
PLAIN_WORD = r"()(\w+)"


class SqliteSearch:
    """Find messages by words, in any language."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("search")

    async def index(self, thread_id: str, messages: Sequence[UIMessage]) -> None:
        with self._database.transaction(is_hurried=True):
            for message in messages:
                self._index(thread_id, message)

    def _index(self, thread_id: str, message: UIMessage) -> None:
        key = {"thread_id": thread_id, "message_id": message["id"]}
        for known in self._database.rows(self._sql["known"], key):
            self._database.run(self._sql["drop_row"], {"row": known["row"]})
        text = text_of(message)
        if not text:
            return
        at = str(metadata_of(message).get("timestamp", ""))
        values = {**key, "tokens": " ".join(tokens(text)), "role": message["role"], "at": at, "text": text}
        row = self._database.run(self._sql["add"], values).lastrowid
        self._database.run(self._sql["remember"], {**key, "row": row})

    async def find(self, query: str, limit: int = 50) -> list[SearchHit]:
        match = match_expression(query)
        if not match:
            return []
        rows = self._database.rows(self._sql["find"], {"match": match, "limit": limit})
        return [SearchHit(**{key: row[key] for key in SearchHit.__struct_fields__}) for row in rows]

    async def drop(self, thread_id: str) -> None:
        with self._database.transaction():
            self._database.run(self._sql["drop_thread_rows"], {"thread_id": thread_id})
            self._database.run(self._sql["drop_thread_known"], {"thread_id": thread_id})

    async def clear(self) -> None:
        with self._database.transaction():
            self._database.run(self._sql["clear"])
            self._database.run(self._sql["clear_known"])


def tokens(text: str) -> list[str]:
    """Cut a text into words, and CJK runs into overlapping pairs ending in the last character alone."""
    found: list[str] = []
    for run, word in _find_tokens(text.lower()):
        found += [run[place : place + 2] for place in range(len(run))] if run else [word]
    return found


def _find_tokens(text: str) -> list[tuple[str, str]]:
    """List the CJK runs and the words of a text, one of each pair empty."""
    return re.findall(PLAIN_WORD if text.isascii() or max(text) < FIRST_CJK else TOKEN, text)


def match_expression(query: str) -> str:
    """Turn a person's words into an FTS5 expression: every word must occur, CJK runs as substrings."""
    terms: list[str] = []
    for run, word in _find_tokens(query.lower()):
        if word:
            terms.append(f'"{word}"*')
        elif len(run) == 1:
            terms.append(f'"{run}"*')
        else:
            pairs = [run[place : place + 2] for place in range(len(run) - 1)]
            terms.append('"' + " ".join(pairs) + '"')
    return " AND ".join(terms)
