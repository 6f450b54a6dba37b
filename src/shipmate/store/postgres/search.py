"""Find messages by words in PostgreSQL, over our own tokens: Chinese is found by any two characters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from shipmate.store.port import SearchHit
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, plain, statements
from shipmate.store.sqlite.search import find_tokens, tokens
from shipmate.values.message import UIMessage, metadata_of, text_of

# PostgreSQL takes no longer word, and no more of them in one message.
WORD_LENGTH = 500
TOKENS_BYTES = 500_000


async def put_words(link: AsyncLink, edition: int, messages: Sequence[UIMessage], *, anew: bool) -> None:
    """Add messages in place of what was known of them; `anew` in place of all that a thread has."""
    sql = statements("search")
    if anew:
        await link.execute(sql["drop_all"], {"edition": edition})
    else:
        await link.execute(sql["drop"], {"edition": edition, "ids": [plain(each["id"]) for each in messages]})
    added = [
        {
            "edition": edition,
            "message_id": plain(message["id"]),
            "role": plain(message["role"]),
            "at": plain(str(metadata_of(message).get("timestamp", ""))),
            "text": plain(text),
            "tokens": _words(text),
        }
        for message in messages
        if (text := text_of(message))
    ]
    if added:
        async with link.cursor() as cursor:
            await cursor.executemany(sql["add"], added)


class PostgresSearch:
    """The search for messages by words, in any language."""

    def __init__(self, database: PostgresDatabase, catch_up: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._catch_up = catch_up
        self._sql = statements("search")

    async def find(
        self, query: str, limit: int = 50, viewer: str | None = None, within: str = ""
    ) -> list[SearchHit]:
        """Find messages that have all words of a query, in all threads or in one, the last indexed first."""
        match, runs = _match(plain(query))
        if not match:
            return []
        await self._catch_up()
        values = {"match": match, "runs": runs, "limit": limit, "viewer": viewer, "within": within}
        return [
            SearchHit(**dict(zip(SearchHit.__struct_fields__, row, strict=True)))
            for row in await self._database.rows(self._sql["find"], values)
        ]


def _words(text: str) -> list[str]:
    """Return the different tokens of a text, as many as can be kept."""
    found: list[str] = []
    room = TOKENS_BYTES
    for token in dict.fromkeys(each[:WORD_LENGTH] for each in tokens(text)):
        room -= len(token.encode()) + 4
        if room < 0:
            break
        found.append(token)
    return found


def _match(query: str) -> tuple[str, list[str]]:
    """Return what tokens a message must have, and which runs of CJK characters its words."""
    terms: list[str] = []
    runs: list[str] = []
    for run, word in find_tokens(query.lower()):
        if word or len(run) == 1:
            terms.append(f"'{(word or run)[:WORD_LENGTH]}':*")
        else:
            terms += [f"'{run[place : place + 2]}'" for place in range(len(run) - 1)]
            runs.append(run)
    return " & ".join(dict.fromkeys(terms)), runs
