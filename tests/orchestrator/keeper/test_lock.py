"""One process keeps a workspace, whatever becomes of the files that say so."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.models.scripted import ScriptedModel
from shipmate.orchestrator.keeper.unix_socket import UnixSocket
from shipmate.workspace.layout import Layout
from tests.support.wait import LONG
from tests.support.workspace import open_workspace, talk

FIRST, SECOND = ScriptedModel({"": ["From the first."]}), ScriptedModel({"": ["From the second."]})


@pytest.mark.parametrize(
    "names", [["keeper.lock"], ["keeper.sock"], ["keeper.lock", "keeper.sock"]], ids=" and ".join
)
async def test_deleting_its_files_neither_makes_a_second_keeper_nor_hides_the_first(
    tmp_path: Path, names: list[str]
) -> None:
    async with open_workspace(tmp_path, FIRST) as first:
        for name in names:
            (tmp_path / ".ship" / name).unlink()
        async with asyncio.timeout(LONG), open_workspace(tmp_path, SECOND) as second:
            assert (first.keeper.keeps, second.keeper.keeps) == (True, False)
            assert (await talk(second, "hello")).text == "From the first."


async def test_deleting_the_folder_of_state_makes_no_second_keeper(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, FIRST) as first:
        shutil.rmtree(tmp_path / ".ship")
        async with asyncio.timeout(LONG), open_workspace(tmp_path, SECOND) as second:
            assert (first.keeper.keeps, second.keeper.keeps) == (True, False)


@pytest.mark.parametrize("name", ["keeper.lock", "keeper.sock"])
async def test_what_stands_in_the_way_is_named_and_leaves_nothing_held(tmp_path: Path, name: str) -> None:
    obstacle = tmp_path / ".ship" / name
    (obstacle / "inner").mkdir(parents=True)
    with pytest.raises(StorageError, match=rf"cannot use \.ship/{name}"):
        async with open_workspace(tmp_path, FIRST):
            pass
    shutil.rmtree(obstacle)
    async with open_workspace(tmp_path, FIRST) as first:
        assert first.keeper.keeps


async def test_whoever_keeps_is_named_while_it_does(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert UnixSocket(layout).holder() is None
    one, two = UnixSocket(layout), UnixSocket(layout)
    assert (one.hold(), two.hold()) == (True, False)
    assert two.holder() is not None
    one.release()
    assert two.holder() is None
    assert two.hold() is True
    two.release()
