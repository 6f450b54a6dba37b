"""Find the workspace and the thread a command is about, without composing the whole program."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec

from shipmate.store.port import Store
from shipmate.thread.service import ThreadService
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

if TYPE_CHECKING:
    from shipmate.residence import Residence

PLATFORM = "cli"
SCOPE = "chat"
Opened = TypeVar("Opened")
Result = TypeVar("Result")


class OpenWorkspace(msgspec.Struct, frozen=True):
    """What an open workspace has on disk: the threads, and the store beside them."""

    layout: Layout
    threads: ThreadService
    store: Store
    home: Residence


def find_layout(context: click.Context) -> Layout:
    """Find the workspace: the one of the folder given with -C, or the nearest upward from here."""
    given: Path | None = context.find_root().obj
    return Layout.find(given or Path.cwd())


@asynccontextmanager
async def open_records(layout: Layout) -> AsyncGenerator[OpenWorkspace]:
    """Open the threads and the store for reading and small changes; no model, no run."""
    from shipmate.residence import find_address, mask_of, open_residence

    address = find_address(layout)
    home = await open_residence(layout, address, mask_of(address))
    try:
        yield OpenWorkspace(layout, ThreadService(home.log), home.store, home)
    finally:
        await home.store.close()


def run_opened(
    context: click.Context,
    opener: Callable[[Layout], AbstractAsyncContextManager[Opened]],
    work: Callable[[Opened], Awaitable[Result]],
) -> Result:
    """Do a command's work on what is opened for its workspace."""
    layout = find_layout(context)

    async def opened() -> Result:
        async with opener(layout) as found:
            return await work(found)

    return asyncio.run(opened())


def new_thread_id() -> ThreadId:
    """Return the id of a new thread of the terminal, named after the moment it began."""
    return ThreadId(PLATFORM, SCOPE, f"{datetime.now():%y%m%d-%H%M}-{secrets.token_hex(2)}")


def parse_thread_id(text: str) -> ThreadId:
    """Read a thread id; a bare name is short for a thread of the terminal."""
    return ThreadId.parse(text) if ":" in text else ThreadId(PLATFORM, SCOPE, text)
