"""The commands about MCP servers, as real processes (W6)."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from shipmate.workspace.layout import Layout
from tests.support.mcp_auth import Issuer, browse, browse_to_the_last_step, guarded
from tests.support.terminal import SHIPMATE, environment, make_workspace, shipmate
from tests.support.wait import LONG


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_workspace(tmp_path / "crew")


def configure(folder: Path, **servers: Any) -> None:
    (folder / "ship.json").write_text(json.dumps({"mcp": {"servers": servers}}))


async def start(folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        SHIPMATE, *arguments, cwd=folder, env=environment(folder), stdin=pipe, stdout=pipe, stderr=pipe
    )


async def find_address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async with asyncio.timeout(LONG):
        while True:
            line = (await process.stderr.readline()).decode()
            assert line, "it ended before it showed an address"
            if line.startswith("http"):
                return line.strip()


async def run(folder: Path, *arguments: str) -> tuple[int | None, str]:
    process = await start(folder, *arguments)
    out, err = await asyncio.wait_for(process.communicate(), LONG)
    return process.returncode, (out + err).decode()


def test_w6_a_workspace_without_servers_says_so(folder: Path) -> None:
    ran = shipmate(folder, "mcp", "list")
    assert (ran.returncode, ran.stdout) == (0, "No servers are named in `mcp.servers` of ship.json.\n")
    assert json.loads(shipmate(folder, "mcp", "list", "--json").stdout) == []


def test_w6_mistakes_are_told_in_one_line(folder: Path) -> None:
    configure(
        folder,
        local={"command": "x"},
        plain={"url": "http://far.example/mcp"},
        keyed={"url": "https://far.example/mcp", "headers": {"Authorization": "Bearer ${NOWHERE_KEY}"}},
    )
    for name, words in {
        "nowhere": "There are: local, plain, keyed",
        "local": "nothing to log in to",
        "plain": "not https",
    }.items():
        ran = shipmate(folder, "mcp", "login", name, NOWHERE_KEY="k-123456789")
        assert (ran.returncode, ran.stdout) == (2, "")
        assert words in ran.stderr
        assert ran.stderr.count("\n") == 1
    ran = shipmate(folder, "mcp", "login", "keyed", NOWHERE_KEY="k-123456789")
    assert "has a key in `headers`" in ran.stderr
    ran = shipmate(folder, "mcp", "logout", "plain")
    assert (ran.returncode, "there is no login" in ran.stderr) == (2, True)


async def test_w6_login_list_and_logout(folder: Path) -> None:
    issuer = Issuer()
    async with guarded(issuer) as url:
        configure(folder, g={"url": url}, gone={"command": "/nowhere/server"})
        code, words = await run(folder, "mcp", "list")
        assert code == 1
        assert "✗ g  http  it wants a login; run `shipmate mcp login g`" in words
        assert "✗ gone  stdio  '/nowhere/server' cannot be started: No such file or directory" in words
        process = await start(folder, "mcp", "login", "g", "--no-browser")
        response = await browse(await find_address(process))
        assert "You can close this window" in response.text
        out, err = await asyncio.wait_for(process.communicate(), LONG)
        assert (process.returncode, out.decode()) == (0, "Logged in at g. It allows: sail.\n")
        configure(folder, g={"url": url})
        code, listed = await run(folder, "mcp", "list")
        assert (code, listed) == (0, "✓ g  http  1 tool  logged in\n")
        code, doctor = await run(folder, "doctor")
        assert "mcp.g" in doctor
        assert "1 tool" in doctor
        seen = out.decode() + err.decode() + words + listed + doctor
        assert not any(secret in seen for secret in issuer.secrets)
        logs = [path.read_bytes() for path in Layout(folder).logs.rglob("*") if path.is_file()]
        assert not any(secret.encode() in log for secret in issuer.secrets for log in logs)
        code, words = await run(folder, "mcp", "logout", "g")
        assert (code, words) == (0, "Logged out of g.\n")
        assert (await run(folder, "mcp", "list"))[0] == 1


async def test_w6_a_machine_without_a_browser_takes_the_address_by_hand(folder: Path) -> None:
    issuer = Issuer()
    async with guarded(issuer) as url:
        configure(folder, g={"url": url})
        process = await start(folder, "mcp", "login", "g", "--no-browser")
        end = await browse_to_the_last_step(await find_address(process))
        out, err = await asyncio.wait_for(process.communicate(f"rubbish\n{end}\n".encode()), LONG)
        assert (process.returncode, out.decode()) == (0, "Logged in at g. It allows: sail.\n")
        assert "Paste the whole address." in err.decode()


async def test_w6_two_processes_that_renew_at_once_both_go_on(folder: Path) -> None:
    issuer = Issuer()
    async with guarded(issuer) as url:
        configure(folder, g={"url": url})
        process = await start(folder, "mcp", "login", "g", "--no-browser")
        await browse(await find_address(process))
        await asyncio.wait_for(process.communicate(), LONG)
        issuer.access.clear()
        ran = await asyncio.gather(*(run(folder, "mcp", "list") for _ in range(3)))
        assert [code for code, _ in ran] == [0, 0, 0]
        assert issuer.renewals == 1


def test_w6_a_started_server_is_listed(folder: Path) -> None:
    (folder / "server.py").write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('s')\n"
        "@server.tool()\ndef act() -> str:\n    return ''\n"
        "@server.resource('note://1')\ndef note() -> str:\n    return ''\n"
        "server.run('stdio')\n"
    )
    configure(folder, s={"command": sys.executable, "args": ["server.py"]})
    ran = shipmate(folder, "mcp", "list", "--json")
    (found,) = json.loads(ran.stdout)
    assert found == {
        "name": "s", "kind": "stdio", "tools": 1, "hasResources": True, "hasPrompts": False,
        "isLoggedIn": False, "failure": "", "fix": "",
    }  # fmt: skip
