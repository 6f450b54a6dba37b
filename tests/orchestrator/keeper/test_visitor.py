"""Who may meet the keeper at its socket, and what it does with those who say nonsense."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from shipmate.models.scripted import ScriptedModel
from shipmate.orchestrator.keeper.unix_socket import StreamLink
from tests.support.visitor import Visitor
from tests.support.wait import LONG
from tests.support.workspace import open_workspace

SILENT = ScriptedModel([])
NOBODY = 65534
KNOCK = """
import socket, sys
knocking = socket.socket(socket.AF_UNIX)
knocking.settimeout(60)
knocking.connect(sys.argv[1])
print(knocking.recv(99))
"""


@pytest.fixture
def open_folder() -> Generator[Path]:
    """Make a folder that every user of the machine can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def test_lock_and_socket_are_their_owners_alone(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, SILENT) as app:
        modes = [path.stat().st_mode & 0o777 for path in (app.layout.keeper_socket, app.layout.keeper_lock)]
    assert modes == [0o600, 0o600]
    assert not app.layout.keeper_socket.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
async def test_another_user_is_not_let_in_though_the_folder_is_open(
    open_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_workspace(open_folder, SILENT) as app:
        app.layout.ship.chmod(0o777)
        app.layout.keeper_socket.chmod(0o777)
        with caplog.at_level(logging.WARNING):
            child = await asyncio.create_subprocess_exec(
                "python3", "-c", KNOCK, str(app.layout.keeper_socket),
                stdout=asyncio.subprocess.PIPE, user=NOBODY, group=NOBODY,
            )  # fmt: skip
            out, _ = await asyncio.wait_for(child.communicate(), LONG)
    assert out.decode().strip() == "b''"
    assert f"it runs as user {NOBODY}" in caplog.text


async def test_a_process_of_another_version_is_told_so(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, SILENT) as app:
        visitor = await Visitor.connect(app.layout)
        visitor.say({"is": "hello", "number": 1, "version": 99})
        heard = await visitor.hear()
        visitor.close()
    assert (heard["is"], heard["number"]) == ("refused", 1)
    assert "another version of Shipmate" in heard["words"]


@pytest.mark.parametrize(
    "said",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02{}",
        b"\x00\x00\x00\x01\xff",
        b'\x00\x00\x00\x06{"is":',
        b'\x00\x00\x00\x10{"is":"leaving"}',
    ],
    ids=["too long", "no frame", "no text", "half a frame", "only a keeper says so"],
)
async def test_who_does_not_speak_as_a_visitor_is_cut_off_and_the_keeper_goes_on(
    tmp_path: Path, said: bytes
) -> None:
    async with open_workspace(tmp_path, SILENT) as app:
        visitor = await Visitor.connect(app.layout)
        visitor.say_bytes(said)
        assert await visitor.is_cut_off()
        visitor.close()
        async with open_workspace(tmp_path, SILENT) as second:
            assert (app.keeper.keeps, second.keeper.keeps) == (True, False)


async def test_a_link_closed_before_all_was_handed_over_takes_nothing_more(tmp_path: Path) -> None:
    is_over = asyncio.Event()

    async def be_deaf(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await is_over.wait()
        writer.close()

    server = await asyncio.start_unix_server(be_deaf, tmp_path / "s")
    reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
    link = StreamLink(reader, writer)
    sending = asyncio.create_task(link.send(b"x" * (8 << 20)))
    await asyncio.sleep(0)
    link.close()
    with pytest.raises(ConnectionError):
        await asyncio.wait_for(link.send(b"more"), LONG)
    is_over.set()
    writer.transport.abort()
    await asyncio.gather(sending, return_exceptions=True)
    server.close()
