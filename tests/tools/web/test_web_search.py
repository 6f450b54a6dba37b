"""Searching the web, against loopback servers that speak each engine's protocol."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from shipmate.errors import ConfigError, TargetChangedError, ToolError
from shipmate.tools.tool import ToolContext
from shipmate.tools.toolset import default_toolset
from shipmate.tools.web.web_search import WebSearch
from shipmate.workspace.config import Config, WebSearchSettings
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.member import captain_of
from tests.support.loopback import serving_routes

KEY = "sk-search-51c0"
FOUND = [
    {"title": "Tides &amp; winds", "url": "https://sea.example/tides", "text": "They <strong>rise</strong>."},
    {"title": "Printer", "url": "http://192.168.1.9/", "text": "inside"},
    {"title": "Metadata", "url": "http://metadata.google.internal/", "text": "inside"},
    {"title": "Odd", "url": "javascript:alert(1)", "text": "no page"},
    {"title": "", "url": "https://sea.example/漁", "text": "\x1b[31mred\u202e"},
]
SHOWN = """1. Tides & winds
   https://sea.example/tides
   They rise.
2. https://sea.example/漁
   https://sea.example/漁
   red
[3 left out: not on the public web]"""


class Engines:
    """All three protocols, each refusing what it does not know."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.status = 200

    async def searxng(self, request: Request) -> Response:
        if dict(request.query_params).get("format") != "json":
            return Response("<html>", 403)
        return self._answer(request.query_params["q"], {"results": self._named("content")})

    async def brave(self, request: Request) -> Response:
        if request.headers.get("x-subscription-token") != KEY:
            return JSONResponse({"error": f"bad key {request.headers}"}, 401)
        assert request.query_params["count"] == "5"
        return self._answer(request.query_params["q"], {"web": {"results": self._named("description")}})

    async def tavily(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return JSONResponse({"detail": "unauthorised"}, 401)
        asked: dict[str, Any] = await request.json()
        assert asked == {"query": asked["query"], "max_results": 5}
        return self._answer(asked["query"], {"results": self._named("content"), "answer": None})

    async def elsewhere(self, _request: Request) -> Response:
        return RedirectResponse("http://127.0.0.1:1/")

    def _answer(self, query: str, answer: object) -> Response:
        self.queries.append(query)
        return JSONResponse(answer) if self.status == 200 else Response(f"no {KEY}", self.status)

    def _named(self, name: str) -> list[Any]:
        return [{"title": each["title"], "url": each["url"], name: each["text"]} for each in FOUND] + [7]

    def routes(self) -> list[Route]:
        return [
            Route("/searxng/search", self.searxng),
            Route("/brave/web/search", self.brave),
            Route("/tavily/search", self.tavily, methods=["POST"]),
            Route("/moved/search", self.elsewhere),
        ]


async def search(context: ToolContext, query: str, **settings: Any) -> str:
    tool = WebSearch(WebSearchSettings(**settings))
    assert tool.labels.reads_untrusted
    assert tool.labels.acts
    return (await tool.run(tool.parse({"query": query, "count": 5}), context)).output


async def test_three_engines_give_one_kind_of_answer(context: ToolContext) -> None:
    engines = Engines()
    async with serving_routes(engines.routes()) as url:
        for engine in ("searxng", "brave", "tavily"):
            key = None if engine == "searxng" else KEY
            shown = await search(
                context, "潮汐 & tides", engine=engine, base_url=f"{url}/{engine}/", api_key=key
            )
            assert shown == SHOWN, engine
        assert engines.queries == ["潮汐 & tides"] * 3
        for engine in ("brave", "tavily"):
            with pytest.raises(ToolError, match=r"answered 401\. Check the key") as caught:
                await search(context, "x", engine=engine, base_url=f"{url}/{engine}", api_key="sk-wrong-77")
            assert "sk-wrong" not in str(caught.value)
            with pytest.raises(ToolError, match="wants a key"):
                await search(context, "x", engine=engine, base_url=f"{url}/{engine}")
        # The key goes to no other address.
        with pytest.raises(ToolError, match="could not be asked"):
            await search(context, "x", engine="searxng", base_url=f"{url}/moved", api_key=KEY)
        engines.status = 429
        with pytest.raises(ToolError, match=r"answered 429\. Too much was asked") as caught:
            await search(context, "x", engine="brave", base_url=f"{url}/brave", api_key=KEY)
        assert KEY not in str(caught.value)
    with pytest.raises(ToolError, match="could not be asked"):
        await search(context, "x", engine="searxng", base_url=url)
    with pytest.raises(ToolError, match=r"set webSearch\.baseUrl"):
        await search(context, "x", engine="searxng")


SERVER = r"""
import json, sys
schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
for line in sys.stdin:
    told = json.loads(line)
    if "id" not in told:
        continue
    asked = told.get("params", {})
    if told["method"] == "initialize":
        result = {"capabilities": {"tools": {}}, "serverInfo": {"name": "finder", "version": "1"}}
        result["protocolVersion"] = asked["protocolVersion"]
    elif told["method"] == "tools/list":
        result = {"tools": [{"name": "look", "description": "Look.", "inputSchema": schema}]}
    else:
        result = {"content": [{"type": "text", "text": "found " + json.dumps(asked["arguments"])}]}
    print(json.dumps({"jsonrpc": "2.0", "id": told["id"], "result": result}), flush=True)
"""


async def test_a_question_says_to_whom_the_words_go(context: ToolContext) -> None:
    for settings, whom in (
        (WebSearchSettings(engine="brave", api_key=KEY), "brave: api.search.brave.com"),
        (WebSearchSettings(engine="searxng", base_url="http://u:p@find.lan:8080/x"), "searxng: find.lan"),
        (WebSearchSettings(engine="mcp", server="finder", tool="look"), "mcp: finder, look"),
    ):
        tool = WebSearch(settings)
        shown = await tool.picture(tool.parse({"query": "my words"}), context)
        assert shown.text is not None
        assert shown.text.startswith(f"{whom}\n")
        assert "my words" in shown.text
        moved = msgspec.structs.replace(context, expected={"engine": "brave: elsewhere.example"})
        with pytest.raises(TargetChangedError):
            await tool.run(tool.parse({"query": "x"}), moved)


async def test_an_mcp_server_searches_and_nothing_is_offered_unasked(
    root: Path, context: ToolContext
) -> None:
    assert "web_search" not in default_toolset(captain_of(Layout(root)))
    (root / "finder.py").write_text(SERVER)
    server = {"command": sys.executable, "args": [str(root / "finder.py")]}
    given: dict[str, Any] = {
        "mcp": {"servers": {"finder": server}},
        "webSearch": {"engine": "mcp", "server": "finder", "tool": "look"},
    }
    (root / "ship.json").write_text(json.dumps(given))
    config = load_config(Layout(root)).config
    toolset = default_toolset(captain_of(Layout(root), config))
    try:
        tool = toolset.get("web_search")
        assert tool is not None
        result = await tool.run(tool.parse({"query": "harbour"}), context)
        assert result.output == 'found {"q": "harbour"}'
        lost = WebSearch(WebSearchSettings(engine="mcp", server="nobody", tool="look"))
        with pytest.raises(ToolError, match=r"must name one of mcp\.servers"):
            await lost.run(lost.parse({"query": "x"}), context)
    finally:
        await toolset.close()


def test_a_key_is_named_by_its_variable_only(root: Path) -> None:
    (root / ".env").write_text(f"FIND_KEY={KEY}\n")
    place = root / "ship.json"
    place.write_text(json.dumps({"webSearch": {"engine": "brave", "apiKey": "${FIND_KEY}"}}))
    loaded = load_config(Layout(root))
    assert loaded.config.web_search.api_key == KEY
    assert KEY not in loaded.mask(f"a {KEY} b")
    place.write_text(json.dumps({"webSearch": {"engine": "brave", "apiKey": KEY}}))
    with pytest.raises(ConfigError, match=r"webSearch\.apiKey must name a variable") as caught:
        load_config(Layout(root))
    assert KEY not in str(caught.value)
    assert Config().web_search.engine is None
