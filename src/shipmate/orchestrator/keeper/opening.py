"""Something that is opened when it is awaited, and closed as well when it is entered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar


class Closing(Protocol):
    """What is closed at its end."""

    async def close(self) -> None: ...


Opened = TypeVar("Opened", bound=Closing)


class Opening(Generic[Opened]):
    """What is about to be opened: awaited, it is open; entered, it is closed at the end as well."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Opened]]) -> None:
        self._work = work
        self._open: Opened | None = None

    def __await__(self) -> Generator[Any, Any, Opened]:
        return self._work().__await__()

    async def __aenter__(self) -> Opened:
        self._open = await self
        return self._open

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            await self._open.close()
