"""A login from end to end, against the SDK's authorization server (W6)."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from shipmate.errors import ToolError
from shipmate.tools.mcp.auth.credential import LoginCredential
from shipmate.tools.mcp.auth.endpoint import LoginError
from shipmate.tools.mcp.auth.login import LoginFlow, NoLoginNeededError, log_out
from shipmate.tools.mcp.auth.login_file import LoginFile, ServerLogin
from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import ToolContext
from shipmate.workspace.config import McpLogin, McpServer
from shipmate.workspace.layout import Layout
from tests.support.mcp_auth import Issuer, browse, browse_to_the_last_step, guarded
from tests.support.mcp_host import Harbour, script
from tests.support.page import reserve_port
from tests.support.wait import LONG

Show = Callable[[str, Callable[[str], None]], None]


@pytest.fixture
def file(root: Path) -> LoginFile:
    return LoginFile(Layout(root).mcp_login("g"))


async def log_in(url: str, file: LoginFile, show: Show | None = None, **settings: Any) -> ServerLogin:
    tasks: list[asyncio.Task[Any]] = []

    def visit(address: str, take: Callable[[str], None]) -> None:
        tasks.append(asyncio.create_task(browse(address)))

    async with asyncio.timeout(LONG):
        login = await LoginFlow("g", McpServer(url=url, **settings), file).run(show or visit)
        await asyncio.gather(*tasks)
    return login


async def test_w6_a_login_lets_calls_through_and_lies_where_only_its_owner_reads(
    root: Path, file: LoginFile, context: ToolContext
) -> None:
    issuer = Issuer()
    async with guarded(issuer) as url:
        servers = McpServers({"g": McpServer(url=url)}, Layout(root))
        await servers.load(is_patient=True)
        (finding,) = servers.findings()
        assert finding.message == "not available: it wants a login; run `shipmate mcp login g`"
        assert finding.fix == "Run `shipmate mcp login g`."
        login = await log_in(url, file)
        # No restart is needed: the login is seen.
        (tool,) = await servers.load(is_patient=True)
        assert (await tool.run(tool.parse({}), context)).output == "acted"
        await servers.close()
    (asked,) = issuer.asked
    assert asked.resource == url, "the token is asked for this resource (RFC 8707)"
    assert (login.resource, login.scope) == (url, "sail")
    path = Layout(root).mcp_login("g")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not any(secret in repr(login) for secret in issuer.secrets)


async def test_w6_a_browser_on_another_machine_is_answered_for_by_hand(file: LoginFile) -> None:
    issuer, wrong = Issuer(), list[str]()

    def show(address: str, take: Callable[[str], None]) -> None:
        async def paste() -> None:
            end = await browse_to_the_last_step(address)
            for bad in ("nonsense", end.replace("state=", "state=x"), end.partition("?")[0]):
                try:
                    take(bad)
                except LoginError as error:
                    wrong.append(str(error))
            take(end)

        tasks.append(asyncio.create_task(paste()))

    tasks: list[asyncio.Task[None]] = []
    async with guarded(issuer) as url:
        assert (await log_in(url, file, show)).access_token in issuer.access
    assert len(wrong) == 3


async def test_w6_strangers_at_the_port_are_turned_away_and_the_login_goes_on(file: LoginFile) -> None:
    issuer = Issuer()
    statuses: list[int] = []

    def show(address: str, take: Callable[[str], None]) -> None:
        async def visit() -> None:
            back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
            for path in (f"{back}?code=x&state=guess", f"{back}?error=access_denied", back[:-8] + "etc"):
                statuses.append((await browse(path)).status_code)
            statuses.append((await browse(address)).status_code)

        tasks.append(asyncio.create_task(visit()))

    tasks: list[asyncio.Task[None]] = []
    async with guarded(issuer) as url:
        await log_in(url, file, show)
        await asyncio.gather(*tasks)
    assert statuses == [400, 400, 404, 200]


async def test_w6_a_refusal_of_the_person_is_told(file: LoginFile) -> None:
    issuer = Issuer()
    issuer.error = "access_denied"
    async with guarded(issuer) as url:
        with pytest.raises(LoginError, match=r"did not let you in \(access_denied\)"):
            await log_in(url, file)
    assert file.read() is None


async def test_w6_a_server_that_lets_everyone_in_wants_no_login(file: LoginFile) -> None:
    async with script(Harbour()) as port:
        with pytest.raises(NoLoginNeededError):
            await log_in(f"http://127.0.0.1:{port}/mcp", file)


async def test_w6_a_refused_token_is_renewed_once_and_the_call_made(
    root: Path, file: LoginFile, context: ToolContext
) -> None:
    issuer = Issuer()
    async with guarded(issuer) as url:
        before = await log_in(url, file)
        servers = McpServers({"g": McpServer(url=url)}, Layout(root))
        (tool,) = await servers.load(is_patient=True)
        issuer.access.clear()
        assert (await tool.run(tool.parse({}), context)).output == "acted"
        assert issuer.renewals == 1
        after = file.read()
        assert after is not None
        assert after.access_token != before.access_token
        # Nothing that could renew it is left: one line says what to do, and no key stands in it.
        issuer.access.clear()
        issuer.refresh.clear()
        with pytest.raises(ToolError) as caught:
            await tool.run(tool.parse({}), context)
        assert "it wants a login; run `shipmate mcp login g`. Nothing ran." in str(caught.value)
        assert "\n" not in str(caught.value)
        await servers.close()


async def test_w6_a_token_about_to_end_is_renewed_before_it_does(root: Path, file: LoginFile) -> None:
    issuer = Issuer()
    issuer.lifetime = 30
    async with guarded(issuer) as url:
        await log_in(url, file)
        credential = LoginCredential("g", file)
        issuer.lifetime = 3600
        await credential.header(url)
        await credential.header(url)
        assert issuer.renewals == 1


async def test_w6_many_that_renew_at_once_spend_one_refresh_token(file: LoginFile) -> None:
    issuer = Issuer()
    async with guarded(issuer) as url:
        login = await log_in(url, file)
        spent = f"Bearer {login.access_token}"
        others = [LoginCredential("g", file) for _ in range(6)]
        assert all(await asyncio.gather(*(each.renew(spent) for each in others)))
        assert issuer.renewals == 1
        headers = {await each.header(url) for each in others}
        assert len(headers) == 1


async def test_w6_a_token_is_sent_to_its_resource_and_nowhere_else(file: LoginFile) -> None:
    login = ServerLogin(
        resource="https://a.example/mcp",
        issuer="https://a.example",
        token_endpoint="https://a.example/token",
        client_id="c",
        access_token="at-1",
    )
    file.write(login)
    credential = LoginCredential("g", file)
    assert await credential.header("https://a.example/mcp") == "Bearer at-1"
    assert await credential.header("https://a.example/mcp/") == "Bearer at-1"
    for other in (
        "https://b.example/mcp",
        "http://a.example/mcp",
        "https://a.example:8443/mcp",
        "https://a.example/mcp2",
        "https://a.example/",
        "https://a.example/mcp/../admin",
        "https://a.example/mcp/%2e%2e/admin",
        "https://a.example@b.example/mcp",
    ):
        assert await credential.header(other) is None, other


async def test_w6_a_client_registered_by_hand_logs_in_and_out_and_all_is_revoked(file: LoginFile) -> None:
    issuer = Issuer()
    async with guarded(issuer) as url:
        with reserve_port() as held:
            port = held.getsockname()[1]
        client = issuer.add_client(f"http://127.0.0.1:{port}/callback")
        given = McpLogin(client_id="by-hand", client_secret="client-secret-1", redirect_port=port)
        login = await log_in(url, file, login=given)
        assert login.access_token in issuer.access
        # The SDK takes a revocation only from a client that sends its secret in the form.
        client.token_endpoint_auth_method = "client_secret_post"
        file.write(replace(login, client_auth="client_secret_post"))
        assert await log_out(file)
        assert (file.read(), issuer.access, issuer.refresh) == (None, {}, {})
        assert not await log_out(file)


async def test_w6_keys_of_a_login_reach_no_result_and_no_log(
    root: Path, file: LoginFile, context: ToolContext
) -> None:
    harbour = Harbour()
    file.write(
        ServerLogin(
            resource="http://127.0.0.1:9/mcp", issuer="x", token_endpoint="x", client_id="c",
            access_token="at-secret-1", refresh_token="rt-secret-2",
        )
    )  # fmt: skip
    async with script(harbour) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        login = file.read()
        assert login is not None
        stored = json.loads(Layout(root).mcp_login("g").read_bytes())
        Layout(root).mcp_login("g").write_text(json.dumps({**stored, "resource": url}))

        async def repeat(asked: Any, reply: Any) -> None:
            said = f"{asked.headers['authorization']} rt-secret-2"
            reply.send(500 if len(harbour.calls) == 2 else 200, said.encode())

        harbour.on_call = repeat
        servers = McpServers({"g": McpServer(url=url)}, Layout(root))
        tools = {each.name: each for each in await servers.load(is_patient=True)}
        tool = tools["mcp__g__act"]
        for _ in range(2):
            with pytest.raises(ToolError) as caught:
                await tool.run(tool.parse({}), context)
            assert "secret" not in str(caught.value)
        await servers.close()
