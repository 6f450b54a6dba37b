"""A command that is tried ends with whoever waits for it."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest

from tests.support.running import command_lines
from tests.tools.exec.preview.conftest import Bench


def is_running(word: str) -> bool:
    """Return whether a process runs that has a word in its command line."""
    return any(word.encode() in line for line in command_lines())


async def test_a_cancelled_trial_ends_the_command_and_leaves_nothing(bench: Bench, root: Path) -> None:
    # A number of seconds that no other process sleeps.
    word = f"99.{secrets.randbelow(10**12):012}"
    trying = asyncio.create_task(bench.try_out(f"echo x > y; sleep {word}"))
    for _ in range(3000):
        if is_running(word):
            break
        await asyncio.sleep(0.01)
    assert is_running(word)
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    assert not is_running(word)
    assert not (root / "y").exists()
    assert not list(bench.context.layout.trials.iterdir())
