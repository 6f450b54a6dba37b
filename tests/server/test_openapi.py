"""schemathesis over the API's own description: no server error, and every answer as described."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from shipmate.server.routes import ROUTERS
from tests.support.search import EXAMPLES, examples
from tests.support.server import Served
from tests.support.wire import chat, user

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "missing_required_header",
    "ignored_auth",
)
# One worker: what two ask for comes in an order nobody chose.
SAME_EACH_TIME = () if EXAMPLES else ("--generation-deterministic",)


# Every case of it is a run, so it gets examples and not each of the hundreds of cases its body has.
RUNNING = "/v1/chat/completions"
# What never ends.
ENDLESS = "/api/events"


@pytest.mark.parametrize(
    "options",
    [
        ("--phases", "examples,coverage,fuzzing", "--exclude-path", ENDLESS, "--exclude-path", RUNNING),
        ("--phases", "examples,fuzzing", "--include-path", RUNNING),
    ],
    ids=["cases", "runs"],
)
async def test_the_api_keeps_to_its_description(
    served: Served, tmp_path: Path, options: tuple[str, ...]
) -> None:
    # Strangers are to be seen refused, not told to wait.
    served.site.failures.burst = 1_000_000
    await chat(served.client, "room", user("u1", "hello"))
    await chat(served.client, "other", user("u2", "write one file"))
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        f"{served.address}/openapi.json",
        *("--header", f"Authorization:{served.bearer['authorization']}"),
        *options,
        *("--max-examples", str(examples(4))),
        *("--checks", ",".join(CHECKS)),
        *("--workers", "1"),
        *SAME_EACH_TIME,
        *("--rate-limit", "150/s"),
        "--continue-on-failure",
        "--no-color",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()[-12_000:]


async def test_every_route_is_described_once(served: Served) -> None:
    schema = (await served.client.get("/openapi.json")).json()
    described = {(path, method.upper()) for path, item in schema["paths"].items() for method in item}
    answered = {
        (route.path, method)  # pyright: ignore[reportAttributeAccessIssue]  (every route of ours is an APIRoute)
        for router in ROUTERS[:-1]
        for route in router.routes
        for method in route.methods  # pyright: ignore[reportAttributeAccessIssue]
    }
    # What comes to a hook is described by its platform.
    assert described == answered - {
        *(("/hooks/{name}", "GET"), ("/hooks/{name}", "POST"), ("/shared/{ticket}", "HEAD")),
        # MCP describes itself, by its own protocol.
        *(("/mcp", "GET"), ("/mcp", "POST"), ("/mcp", "DELETE")),
    }
    for path, item in schema["paths"].items():
        for operation in item.values():
            assert operation["description"], path
            assert "default" in operation["responses"], path
