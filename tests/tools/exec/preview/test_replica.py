"""A workspace is copied for a trial within limits, and what is beyond them is not tried."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shipmate.tools.exec.preview import replica
from shipmate.tools.exec.preview.effect import TooMuchError
from shipmate.tools.tool import ToolContext
from tests.support.tree import read_tree
from tests.tools.exec.preview.conftest import Bench


@pytest.fixture
def copying(root: Path, context: ToolContext) -> Bench:
    return Bench(root, overlay=False, context=context)


async def test_a_workspace_with_too_much_in_it_is_not_copied(copying: Bench, root: Path) -> None:
    (root / "large.bin").touch()
    os.truncate(root / "large.bin", replica.SIZE_LIMIT + 1)
    with pytest.raises(TooMuchError, match="too large to be copied"):
        await copying.try_out("true")
    assert not list(copying.context.layout.trials.iterdir())


async def test_a_workspace_with_too_many_files_is_not_copied(
    copying: Bench, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "FILE_LIMIT", 3)
    for number in range(4):
        (root / f"{number}.txt").write_text("x\n")
    with pytest.raises(TooMuchError, match="too large to be copied"):
        await copying.try_out("true")
    assert not list(copying.context.layout.trials.iterdir())


async def test_what_commands_cannot_see_is_not_copied(copying: Bench, root: Path) -> None:
    """A secret is not even there for a command that finds a way past its cover."""
    (root / "sub").mkdir()
    for path in (".env", "sub/.env", "plain.txt"):
        (root / path).write_text("KEY=s3cret\n")
    copy = replica.Replica(root, root.parent / "copy")
    copy.make()
    held = {path for path, entry in read_tree(copy.folder).items() if b"s3cret" in entry[2]}
    assert held == {"plain.txt"}
