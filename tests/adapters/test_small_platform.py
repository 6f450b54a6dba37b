"""People write mail, or to WeCom, and members answer: from what arrives to what is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call, say
from shipmate.tools.tool import Tool
from shipmate.tools.toolset import Toolset
from tests.adapters.test_mail import text_of
from tests.adapters.test_wecom import AES_KEY, AGENT, CORP, SECRET, TOKEN, WecomPlatform, seal, sign, wrap
from tests.support.loopback import serving_routes
from tests.support.mail_server import AUTHSERV, OWN, PASSWORD, PERSON, MailServer
from tests.support.server import make_site, make_workspace, opener_for, serving
from tests.support.workspace import Probe


@asynccontextmanager
async def open_mail(
    folder: Path, model: ScriptedModel, server: MailServer, tools: Sequence[Tool[Any]] = (), **settings: Any
) -> AsyncGenerator[Shipmate]:
    (folder / "Agent.md").write_text("# Captain\n")
    places = {"imap": f"localhost:{server.imap_port}", "smtp": f"localhost:{server.smtp_port}"}
    common = {
        "address": OWN,
        "password": "${MAIL_PASSWORD}",
        "authserv": AUTHSERV,
        "security": "plain",
        **places,
    }
    (folder / "ship.json").write_text(json.dumps({"adapters": {"mail": common | settings}}))
    environ = {"MAIL_PASSWORD": PASSWORD}
    ship = await Shipmate.open(folder, model=model, environ=environ, toolset=Toolset(tools))
    ship.listen()
    try:
        yield ship
    finally:
        await ship.close()


async def until_sent(server: MailServer, count: int) -> list[str]:
    await asyncio.wait_for(server.until(lambda: len(server.sent) >= count), 20)
    return [text_of(each) for each in server.sent]


async def test_a_stranger_is_let_in_and_answered_once_across_restarts(tmp_path: Path) -> None:
    async with MailServer() as server:
        model = ScriptedModel(["High at noon.", "Low at six."])
        async with open_mail(tmp_path, model, server) as ship:
            first = server.deliver(server.write("When is the tide?"))
            server.deliver(server.write("I am away", Auto_Submitted="auto-replied"))
            server.deliver(server.write("forged", Authentication_Results=""))
            (told,) = await until_sent(server, 1)
            (code,) = ship.people.waiting()
            assert code in told
            ship.people.pair(code)
            server.deliver(server.write("When is the tide now?"))
            assert (await until_sent(server, 2))[-1] == "High at noon."
        # The mailbox lost its marks: all comes again, and nothing of it is answered twice.
        for each in server.stored:
            each.flags.clear()
        async with open_mail(tmp_path, model, server):
            await asyncio.wait_for(server.until(lambda: all(each.flags for each in server.stored)), 20)
            reply = {"In_Reply_To": server.sent[-1]["Message-ID"], "Subject": "Re: The tides"}
            server.deliver(server.write("And the ebb?\n\nOn Monday, Mate wrote:\n> High at noon.", **reply))
            assert (await until_sent(server, 3))[1:] == ["High at noon.", "Low at six."]
        assert server.sent[-1]["Subject"] == "Re: The tides"
        assert "High at noon." in str(model.requests[-1]), "it is one conversation"
        assert first.flags


@pytest.mark.parametrize("is_proven", [True, False])
async def test_calls_are_approved_by_mail_only_where_authors_are_proven(
    tmp_path: Path, is_proven: bool
) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("May I?"), call("act", mark="x")], "Done.", "Well."])
    settings: dict[str, Any] = {} if is_proven else {"authserv": "", "approvals": False}
    async with (
        MailServer() as server,
        open_mail(tmp_path, model, server, [act], allowFrom=[PERSON], **settings),
    ):
        server.deliver(server.write("go"))
        asked = await until_sent(server, 2)
        assert "May I?" in asked[0]
        reply = {"In_Reply_To": server.sent[-1]["Message-ID"]}
        server.deliver(server.write("yes", **reply))
        said = (await until_sent(server, 3))[2]
        assert act.marks == (["x"] if is_proven else [])
        assert (said == "Done.") is is_proven
        if not is_proven:
            # Whoever it was, a refusal harms nobody.
            server.deliver(server.write("no", **reply))
            await until_sent(server, 4)
            assert act.marks == []


async def test_wecom_tries_its_address_calls_and_is_answered_through_its_api(tmp_path: Path) -> None:
    platform = WecomPlatform()
    make_workspace(tmp_path)
    async with serving_routes(platform.routes()) as url:
        settings = {
            "corpId": CORP,
            "agentId": AGENT,
            "secret": SECRET,
            "token": TOKEN,
            "encodingAesKey": AES_KEY,
        }
        config = {"adapters": {"wecom": {**settings, "apiUrl": url, "open": True}}}
        (tmp_path / "ship.json").write_text(json.dumps(config))
        async with serving(make_site(tmp_path, opener_for(ScriptedModel(["Ahoy."])))) as served:
            async with served.stranger() as stranger:
                trial = seal("12345")
                tried = await stranger.get("/hooks/wecom", params={**sign(trial), "echostr": trial})
                assert (tried.status_code, tried.text) == (200, "12345")
                sealed = seal(platform.message("hello"))
                answers = [
                    await stranger.post(
                        "/hooks/wecom", params=sign(sealed, nonce=nonce), content=wrap(sealed)
                    )
                    for nonce in ("n1", "n2")
                ]
                assert [(each.status_code, each.content) for each in answers] == [(200, b"")] * 2
                assert (await stranger.post("/hooks/wecom", content=wrap(sealed))).status_code == 403
            await served.idle()
        assert [each["text"]["content"] for each in platform.sent] == ["Ahoy."]
