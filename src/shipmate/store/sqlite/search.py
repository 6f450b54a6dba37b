"""Find messages by words with SQLite FTS5, over our own tokens: Chinese is found by any two characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shipmate.store.port import SearchHit
from shipmate.store.sqlite.database import Database, statements
from shipmate.values.message import UIMessage, metadata_of, text_of

# A run of CJK characters, or a word of letters, digits and underscores outside them.
FIRST_CJK = "\u2e80"
CJK_RUN = (
    r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# Compiled when first needed: classes of so many characters take milliseconds.
TOKEN = rf"({CJK_RUN})|((?:(?!{CJK_RUN[:-1]})\w)+)"
PLAIN_WORD = r"()(\w+)"


class SearchTable:
    """The table of messages by their words."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("search")

    def put(self, thread_id: str, messages: Sequence[UIMessage]) -> None:
        """Add messages, replacing what was known of them."""
        for message in messages:
            self._drop({"thread_id": thread_id, "message_id": message["id"]})
        self._add(thread_id, messages)

    def replace(self, thread_id: str, messages: Sequence[UIMessage]) -> None:
        """Let a thread have these messages and no others; what is known already is not touched."""
        rows = self._database.rows(self._sql["known_of_thread"], {"thread_id": thread_id})
        known = {row["message_id"]: row["text"] for row in rows}
        if not known:
            self._add(thread_id, messages)
            return
        self.put(thread_id, [each for each in messages if known.get(each["id"]) != text_of(each)])
        for message_id in known.keys() - {message["id"] for message in messages}:
            self._drop({"thread_id": thread_id, "message_id": message_id})

    def _add(self, thread_id: str, messages: Sequence[UIMessage]) -> None:
        """Add messages of which nothing is known."""
        last = self._database.rows(self._sql["last"])
        row = last[0]["row"] if last else 0
        added: list[dict[str, object]] = []
        for message in messages:
            if text := text_of(message):
                row += 1
                added.append(
                    {
                        "row": row,
                        "tokens": " ".join(tokens(text)),
                        "thread_id": thread_id,
                        "message_id": message["id"],
                        "role": message["role"],
                        "at": str(metadata_of(message).get("timestamp", "")),
                        "text": text,
                    }
                )
        self._database.run_many(self._sql["add"], added)
        self._database.run_many(self._sql["remember"], added)

    def _drop(self, key: dict[str, str]) -> None:
        for known in self._database.rows(self._sql["known"], key):
            self._database.run(self._sql["drop_row"], {"row": known["row"]})
            self._database.run(self._sql["forget"], key)

    def find(
        self, query: str, limit: int = 50, viewer: str | None = None, within: str = ""
    ) -> list[SearchHit]:
        """Find messages that have all words of a query, in all threads or in one, the last indexed first."""
        match = match_expression(query)
        if not match:
            return []
        values = {"match": match, "limit": limit, "viewer": viewer, "within": within}
        rows = self._database.rows(self._sql["find"], values)
        return [SearchHit(**{key: row[key] for key in SearchHit.__struct_fields__}) for row in rows]

    def drop(self, thread_id: str) -> None:
        """Forget the messages of a thread."""
        self._database.run(self._sql["drop_thread_rows"], {"thread_id": thread_id})
        self._database.run(self._sql["drop_thread_known"], {"thread_id": thread_id})

    def clear(self) -> None:
        """Forget all messages."""
        self._database.run(self._sql["clear"])
        self._database.run(self._sql["clear_known"])


def tokens(text: str) -> list[str]:
    """Cut a text into words, and CJK runs into overlapping pairs ending in the last character alone."""
    found: list[str] = []
    for run, word in find_tokens(text.lower()):
        found += [run[place : place + 2] for place in range(len(run))] if run else [word]
    return found


def find_tokens(text: str) -> list[tuple[str, str]]:
    """List the CJK runs and the words of a text, one of each pair empty."""
    return re.findall(PLAIN_WORD if text.isascii() or max(text) < FIRST_CJK else TOKEN, text)


def match_expression(query: str) -> str:
    """Turn a person's words into an FTS5 expression: every word must occur, CJK runs as substrings."""
    terms: list[str] = []
    for run, word in find_tokens(query.lower()):
        if word:
            terms.append(f'"{word}"*')
        elif len(run) == 1:
            terms.append(f'"{run}"*')
        else:
            pairs = [run[place : place + 2] for place in range(len(run) - 1)]
            terms.append('"' + " ".join(pairs) + '"')
    return " AND ".join(terms)
