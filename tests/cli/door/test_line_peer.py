"""Lines of any length, from a program of any manners (part 13, point 9)."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from typing import Any

from shipmate.cli.door import line_peer
from shipmate.cli.door.line_peer import LINE_LIMIT, LinePeer
from tests.support.wait import LONG


async def test_9_what_is_too_long_is_refused_and_the_next_is_answered() -> None:
    heard: list[str] = []

    async def answer(method: str, params: dict[str, Any]) -> Any:
        return {"method": method, **params}

    theirs, mine = os.pipe(), os.pipe()
    peer = LinePeer(answer, lambda method, _: heard.append(method), input_=theirs[0], output=mine[1])
    good = b'{"jsonrpc": "2.0", "id": "a", "method": "m", "params": {"x": 1}}\n{"method": "note"}\n'
    long = b"x" * (LINE_LIMIT + 70_000) + b"\n"

    def say() -> None:
        with os.fdopen(theirs[1], "wb") as file:
            file.write(long + good)

    saying = threading.Thread(target=say)
    saying.start()
    async with asyncio.timeout(LONG):
        await peer.serve()
    saying.join()
    os.close(mine[1])
    with os.fdopen(mine[0], "rb") as file:
        told = [json.loads(line) for line in file]
    assert (told[0]["id"], told[0]["error"]["code"]) == (None, line_peer.PARSE_ERROR)
    assert told[1] == {"jsonrpc": "2.0", "id": "a", "result": {"method": "m", "x": 1}}
    assert (len(told), heard) == (2, ["note"])
