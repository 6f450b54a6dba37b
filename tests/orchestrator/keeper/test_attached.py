"""An attached process knows at once when its keeper is gone."""

from __future__ import annotations

import asyncio

import pytest

from shipmate.orchestrator.keeper.attached import AttachedKeeper, KeeperGoneError
from shipmate.orchestrator.keeper.frame import Hello, Welcome, decode, encode
from tests.support.wait import LONG


class DeafLink:
    """A link that lets nothing more out after the greeting, and has not noticed its end."""

    def __init__(self) -> None:
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()

    async def send(self, frame: bytes) -> None:
        said = decode(frame)
        if not isinstance(said, Hello):
            raise ConnectionResetError
        self._answers.put_nowait(encode(Welcome(number=said.number, runs={})))

    async def receive(self) -> bytes | None:
        return await self._answers.get()

    def close(self) -> None: ...


async def test_a_keeper_that_takes_nothing_any_more_is_gone() -> None:
    keeper = AttachedKeeper(DeafLink())
    await asyncio.wait_for(keeper.greet(), LONG)
    assert not keeper.gone.done()
    with pytest.raises(KeeperGoneError):
        await keeper.stop("cli:dm:a")
    # Else whoever asks again asks the same one, for ever and without letting anything else run.
    assert keeper.gone.done()
    keeper.close()
