"""Hand-written scripts reach a model in the order of their records, on all four wires (P1)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.catalog import WireName
from shipmate.models.wire.model import WireModel
from shipmate.models.wire.model_endpoint import Endpoint
from shipmate.models.wire.registry import find_wire
from shipmate.models.wire.wire import WireSettings
from shipmate.priming.convert import to_messages, to_records
from shipmate.priming.replay import build_rows
from shipmate.priming.script.parse import parse_script
from shipmate.priming.script.record import Record, Script
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.thread_id import ThreadId
from tests.support.provider_case import ask, collect
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import say
from tests.support.search import examples

DOCS = Path(__file__).parents[2] / "docs/priming.md"
THREAD = ThreadId("web", "room", "1")
WIRES: dict[WireName, tuple[str, str, str]] = {
    "anthropic": ("anthropic", "claude-sonnet-5-5", ""),
    "chat": ("openai", "gpt-4.1", "/v1"),
    "responses": ("openai-responses", "gpt-5.5", "/v1"),
    "gemini": ("google", "gemini-2.5-flash", ""),
}
every_wire = pytest.mark.parametrize("wire", WIRES)
# Who said what, or which call was made or answered.
Told = tuple[str, str]


def human(text: str, genseq: int = 1) -> Record:
    return Record(
        "human_text_record", {"genseq": genseq, "msgId": text, "grammar": "markdown", "content": text}
    )


def words(text: str, genseq: int = 1) -> Record:
    return Record("agent_words_record", {"genseq": genseq, "content": text})


def call(call_id: str, genseq: int = 1) -> Record:
    return Record(
        "func_call_record", {"genseq": genseq, "id": call_id, "name": "read", "arguments": {"path": call_id}}
    )


def result(call_id: str, genseq: int = 1) -> Record:
    fields = {"genseq": genseq, "id": call_id, "name": "read", "content": f"of {call_id}"}
    return Record("func_result_record", fields)


def mark(kind: str, genseq: int = 1) -> Record:
    return Record(kind, {"genseq": genseq})


def told_by(records: list[Record]) -> list[Told]:
    """Say what the origin tells a model of records: each of them, in their order."""
    told: list[Told] = []
    for record in records:
        match record.type:
            case "human_text_record":
                told.append(("user", record.fields["content"]))
            case "agent_words_record" | "runtime_guide_record":
                told.append(("assistant", record.fields["content"]))
            case "func_call_record":
                told.append(("call", record.fields["id"]))
            case "func_result_record":
                told.append(("result", record.fields["id"]))
            case _:
                pass
    return told


async def send(wire: WireName, rows: list[UIMessage]) -> list[Told]:
    """Ask a model over HTTP and read the request that arrived."""
    provider, model, path = WIRES[wire]
    async with ProviderServer() as server:
        server.script(say("Good."))
        wired = WireModel(
            find_wire(wire),
            WireSettings(provider=provider, model=model),
            Endpoint(base_url=server.url + path, key="sk-secret"),
        )
        try:
            await collect(wired, ask(*rows))
        finally:
            await wired.close()
        (request,) = server.requests
    return READERS[wire](request.body)


def read_anthropic(body: JsonObject) -> list[Told]:
    told: list[Told] = []
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                told.append((message["role"], block["text"]))
            elif block["type"] == "tool_use":
                told.append(("call", block["id"]))
            else:
                told.append(("result", block["tool_use_id"]))
    return told


def read_chat(body: JsonObject) -> list[Told]:
    told: list[Told] = []
    for message in body["messages"]:
        if message["role"] in ("system", "developer"):
            continue
        if message["role"] == "tool":
            told.append(("result", message["tool_call_id"]))
            continue
        content = message.get("content") or []
        texts = [content] if isinstance(content, str) else [block["text"] for block in content]
        told += [(message["role"], text) for text in texts]
        told += [("call", made["id"]) for made in message.get("tool_calls") or []]
    return told


def read_responses(body: JsonObject) -> list[Told]:
    told: list[Told] = []
    for item in body["input"]:
        if item.get("type") == "function_call":
            told.append(("call", item["call_id"]))
        elif item.get("type") == "function_call_output":
            told.append(("result", item["call_id"]))
        elif item["role"] in ("user", "assistant"):
            content = item["content"]
            texts = [content] if isinstance(content, str) else [block["text"] for block in content]
            told += [(item["role"], text) for text in texts]
    return told


def read_gemini(body: JsonObject) -> list[Told]:
    told: list[Told] = []
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionCall" in part:
                told.append(("call", next(iter(part["functionCall"]["args"].values()))))
            elif "functionResponse" in part:
                told.append(("result", part["functionResponse"]["response"]["output"].removeprefix("of ")))
            else:
                told.append(("assistant" if content["role"] == "model" else "user", part["text"]))
    return told


READERS: dict[WireName, Any] = {
    "anthropic": read_anthropic,
    "chat": read_chat,
    "responses": read_responses,
    "gemini": read_gemini,
}
HAND_WRITTEN = {
    "several generations without a mark": [
        human("probe"),
        words("I look", 1),
        call("a", 1),
        result("a", 1),
        words("Then there", 2),
        call("b", 2),
        result("b", 2),
        words("Linux", 3),
    ],
    "one generation for all": [
        human("probe"),
        words("I look"),
        call("a"),
        result("a"),
        words("Then there"),
        call("b"),
        result("b"),
        words("Linux"),
    ],
    "calls made at once": [
        human("both"),
        call("a"),
        call("b"),
        result("a"),
        result("b"),
        words("Both", 2),
    ],
    "calls made one after the other": [
        human("each"),
        call("a"),
        result("a"),
        call("b"),
        result("b"),
        words("Each"),
    ],
    "words of two generations": [
        human("go"),
        words("one", 1),
        words("two", 2),
        human("on", 3),
        words("three", 3),
    ],
    "marked and unmarked": [
        human("go"),
        mark("gen_start_record", 1),
        call("a", 1),
        result("a", 1),
        mark("gen_finish_record", 1),
        call("b", 2),
        result("b", 2),
        mark("gen_start_record", 3),
        words("done", 3),
    ],
    "a guide after a result": [
        human("go"),
        call("a"),
        result("a"),
        Record("ui_only_markdown_record", {"genseq": 1, "content": "shown"}),
        Record("runtime_guide_record", {"genseq": 1, "content": "guide"}),
        words("done"),
    ],
    "numbers that fall": [human("go", 5), call("a", 5), result("a", 5), words("done", 2), words("again", 5)],
    "a script that begins with the member": [
        words("hello", 1),
        call("a", 2),
        result("a", 2),
        words("there", 2),
    ],
}


@every_wire
@pytest.mark.parametrize("name", HAND_WRITTEN)
async def test_p1_hand_written_records_arrive_in_their_order(wire: WireName, name: str) -> None:
    records = HAND_WRITTEN[name]
    rows = build_rows([Script({}, records)], THREAD)
    asked: UIMessage = {"id": "now", "role": "user", "parts": [{"type": "text", "text": "And now?"}]}
    told = await send(wire, [*rows, asked])
    lead = [
        ("user", text) for kind, text in told[:1] if kind == "user" and records[0].type != "human_text_record"
    ]
    wanted = told_by(records)
    assert join(told[len(lead) :]) == join([*wanted, ("user", "And now?")])


def join(told: list[Told]) -> list[Told]:
    """Join what one side says in a row, which some wires send as one text, and sort calls made at once."""
    joined: list[Told] = []
    for kind, text in told:
        if joined and joined[-1][0] == kind and kind in ("user", "assistant"):
            joined[-1] = kind, "\n\n".join((joined[-1][1], text))
        else:
            joined.append((kind, text))
    return joined


def examples_of_documents() -> dict[str, str]:
    found = re.search(r"^~~~markdown\n(.*?)^~~~$", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    seed = Path(__file__).parent / "fixtures/seed_era/accept/s3_seed_doc_example.md"
    return {"documentation": found[1], "document 000": seed.read_text(encoding="utf-8")}


@every_wire
@pytest.mark.parametrize("name", ["documentation", "document 000"])
async def test_p1_the_examples_of_the_documents_arrive_in_order(wire: WireName, name: str) -> None:
    after = "### record agent_words_record\n```\n---\ngenseq: 1\n---\nIt is so.\n```\n"
    rows = build_rows([parse_script(f"{examples_of_documents()[name]}\n{after}")], THREAD)
    told = await send(
        wire, [*rows, {"id": "now", "role": "user", "parts": [{"type": "text", "text": "And?"}]}]
    )
    assert [kind for kind, _ in join(told)] == ["user", "call", "result", "assistant", "user"]


@every_wire
async def test_p1_what_was_said_between_a_call_and_its_result_is_not_lost(wire: WireName) -> None:
    records = [human("go"), call("a"), words("meanwhile"), result("a"), words("done")]
    told = await send(wire, build_rows([Script({}, [*records, human("on", 2)])], THREAD))
    assert sorted(told) == sorted([*told_by(records), ("user", "on")])
    assert told.index(("call", "a")) < told.index(("result", "a")) < told.index(("assistant", "done"))


steps = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), min_size=1, max_size=5)


@settings(max_examples=examples(60))
@given(steps, st.booleans())
def test_p1_steps_are_found_with_and_without_marks(
    drawn: list[tuple[int, bool, bool]], numbered: bool
) -> None:
    """The same generations, marked or not, make the same steps."""
    marked: list[Record] = [human("go")]
    bare: list[Record] = [human("go")]
    for number, (calls, talks, _) in enumerate(drawn, 1):
        genseq = number if numbered else 1
        step = [words(f"w{number}", genseq)] if talks or not calls else []
        ids = [f"c{number}-{at}" for at in range(calls)]
        step += [call(name, genseq) for name in ids] + [result(name, genseq) for name in ids]
        bare += step
        marked += [mark("gen_start_record", genseq), *step]
    if not numbered and any(not calls for calls, _, _ in drawn[:-1]):
        # Words of one number that follow each other are one generation, and nothing tells otherwise.
        return
    kinds = [
        [part["type"] for part in to_messages(records)[1]["parts"] if part["type"] != "data-priming"]
        for records in (marked, bare)
    ]
    assert kinds[0][1:] == kinds[1]
    assert to_records(to_messages(bare)) == bare


def test_p1_results_are_written_after_all_that_their_step_says() -> None:
    def tool(call_id: str) -> JsonObject:
        done = {"state": "output-available", "input": {}, "output": call_id}
        return {"type": "tool-read", "toolCallId": call_id, **done}

    parts = [tool("a"), {"type": "text", "text": "and", "state": "done"}, tool("b")]
    message: UIMessage = {
        "id": "m",
        "role": "assistant",
        "parts": [*parts, {"type": "step-start"}, tool("a")],
    }
    records = to_records([message])
    assert [(record.type, record.genseq) for record in records] == [
        ("func_call_record", 1),
        ("agent_words_record", 1),
        ("func_call_record", 1),
        ("func_result_record", 1),
        ("func_result_record", 1),
        ("gen_start_record", 2),
        ("func_call_record", 2),
        ("func_result_record", 2),
    ]
    assert to_messages(records) == [message]


def test_p1_a_rewritten_old_row_keeps_its_place() -> None:
    text = json.dumps([record.values() for record in HAND_WRITTEN["one generation for all"]])
    messages = to_messages([Record(v.pop("type"), v) for v in json.loads(text)])
    assert to_records(messages) == HAND_WRITTEN["one generation for all"]
