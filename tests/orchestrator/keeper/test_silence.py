"""An attached process asks over a link: silence, a refusal or the end of the keeper leaves nobody waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from shipmate.errors import KeeperError, NotFoundError
from shipmate.orchestrator.feed import Run
from shipmate.orchestrator.keeper import attached as attached_module
from shipmate.orchestrator.keeper import frame as frames
from shipmate.orchestrator.keeper.attached import AttachedKeeper, KeeperGoneError
from shipmate.orchestrator.keeper.frame import Frame
from shipmate.orchestrator.keeper.keeping import Keeping
from shipmate.orchestrator.lane.lanes import LocalKeeper
from shipmate.store.port import InboxRow
from tests.support.wait import LONG
from tests.support.workspace import ROOM, said

EVENT = said("hello", message_id="m1")
ROW = InboxRow(seq=1, event=EVENT, received_at="t", status="waiting")
RUN = Run(run_id="run_1", answers=frozenset({"m1"}), message_id="msg_1")


class Link:
    """A link whose other end is the test."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Frame] = asyncio.Queue()
        self.coming: asyncio.Queue[Frame | None] = asyncio.Queue()
        self.is_broken = False

    async def send(self, frame: bytes) -> None:
        if self.is_broken:
            raise ConnectionResetError
        self.sent.put_nowait(frames.decode(frame))

    async def receive(self) -> bytes | None:
        frame = await self.coming.get()
        return None if frame is None else frames.encode(frame)

    def close(self) -> None:
        self.coming.put_nowait(None)


async def attach(link: Link, runs: dict[str, Run] | None = None) -> AttachedKeeper:
    keeper = AttachedKeeper(link)
    link.coming.put_nowait(frames.Welcome(number=1, runs=runs or {}))
    await keeper.greet()
    await link.sent.get()
    return keeper


async def test_a_link_that_breaks_while_sending_ends_the_keeper_at_once() -> None:
    keeper = await attach(link := Link())
    link.is_broken = True
    with pytest.raises(KeeperGoneError):
        await keeper.stop(ROOM)
    # Else whoever asks the one who keeps would be given this one again.
    assert keeper.gone.done()
    keeper.close()


async def test_a_keeper_that_leaves_ends_what_waits_for_it() -> None:
    keeper = await attach(link := Link())
    asking = asyncio.create_task(keeper.queue(ROOM))
    await link.sent.get()
    link.coming.put_nowait(frames.Leaving())
    with pytest.raises(KeeperGoneError):
        await asyncio.wait_for(asking, LONG)
    assert keeper.gone.done()
    keeper.close()


async def test_a_keeper_that_never_answers_is_waited_for_only_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keeper = await attach(Link())
    monkeypatch.setattr(attached_module, "PATIENCE_SECONDS", 0.01)
    with pytest.raises(KeeperError):
        await asyncio.wait_for(keeper.stop(ROOM), LONG)
    keeper.close()


async def test_trouble_after_an_event_was_taken_is_its_outcome() -> None:
    keeper = await attach(link := Link())
    receiving = asyncio.create_task(keeper.receive(EVENT))
    number = (await link.sent.get()).number
    link.coming.put_nowait(frames.Received(number=number, row=ROW, is_new=True))
    receipt = await receiving
    link.coming.put_nowait(frames.refuse(number, NotFoundError("it is gone")))
    with pytest.raises(NotFoundError, match="it is gone"):
        await asyncio.wait_for(receipt.outcome(), LONG)
    keeper.close()


async def test_trouble_after_an_event_was_taken_reaches_who_waits_whoever_keeps() -> None:
    link = Link()

    class Socket:
        def hold(self) -> bool:
            return False

        def release(self) -> None: ...

        async def listen(self, welcome: Callable[[Any], Awaitable[None]]) -> None: ...

        async def connect(self) -> Link:
            return link

        async def close(self) -> None: ...

    async def begin() -> LocalKeeper:
        raise AssertionError("another process keeps")

    keeper = Keeping(Socket(), begin)
    link.coming.put_nowait(frames.Welcome(number=1))
    receiving = asyncio.create_task(keeper.receive(EVENT))
    assert isinstance(await link.sent.get(), frames.Hello)
    number = (await link.sent.get()).number
    link.coming.put_nowait(frames.Received(number=number, row=ROW, is_new=True))
    receipt = await receiving
    link.coming.put_nowait(frames.refuse(number, NotFoundError("it is gone")))
    with pytest.raises(NotFoundError, match="it is gone"):
        await asyncio.wait_for(receipt.outcome(), LONG)
    await keeper.close()


async def test_who_watches_is_let_go_on_when_the_keeper_watches_for_them() -> None:
    keeper = await attach(link := Link())
    watch = keeper.watch(ROOM)
    entering = asyncio.create_task(watch.__aenter__())
    number = (await link.sent.get()).number
    assert not entering.done()
    link.coming.put_nowait(frames.Done(number=number, value=True))
    await asyncio.wait_for(entering, LONG)
    await watch.__aexit__(None, None, None)
    assert link.sent.get_nowait() == frames.Unwatch(number=number)
    keeper.close()


async def test_runs_are_known_from_the_greeting_on_and_forgotten_with_the_keeper() -> None:
    keeper = await attach(link := Link(), {ROOM: RUN})
    assert keeper.running(ROOM) == RUN
    link.coming.put_nowait(None)
    await asyncio.wait_for(keeper.gone, LONG)
    assert keeper.running(ROOM) is None
    keeper.close()
