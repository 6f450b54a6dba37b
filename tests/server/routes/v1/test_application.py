"""Which thread answers: one that no list shows, with the history of the request, unless one is named."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call
from shipmate.server.routes.v1 import call_thread
from shipmate.values.message import UIMessage, text_of
from shipmate.values.thread_id import ThreadId
from tests.server.routes.v1.conftest import SCRIPT
from tests.support.openai_program import ask, events, problem, said, words
from tests.support.server import Served, make_site, make_workspace, opener_for, serving

HISTORY = [
    {"role": "system", "content": "You are a parrot."},
    said("My name is Pim."),
    {"role": "assistant", "content": "Noted, Pim."},
]


def shown(script: ScriptedModel) -> list[tuple[str, str]]:
    """Return what the model saw of the last request's messages."""
    return [
        (each["role"], text_of(each)) for each in script.requests[-1].messages if each["role"] != "system"
    ]


async def read(served: Served, thread_id: str) -> list[UIMessage]:
    ship = await served.ship()
    return list((await ship.threads.read(ThreadId.parse(thread_id))).messages)


async def test_w5_the_history_of_the_request_is_what_the_model_sees(
    served: Served, script: ScriptedModel
) -> None:
    before = script.requests[-1].system if script.requests else ""
    assert words(await ask(served, *HISTORY, said("hello"))) == "Hello there."
    roles = [role for role, _ in shown(script)]
    texts = [text for _, text in shown(script)]
    assert roles == ["user", "user", "assistant", "user"]
    assert texts[1:] == ["My name is Pim.", "Noted, Pim.", "hello"]
    # Instructions are the person's words, marked; they are no part of the member's own prompt.
    assert texts[0].endswith("\n\nYou are a parrot.")
    assert texts[0].startswith("(Instructions of the program")
    assert "parrot" not in script.requests[-1].system
    assert before == ""
    # The next request brings its own history: nothing of this one is left in it.
    await ask(served, said("hello"))
    assert shown(script) == [("user", "hello")]


async def test_w5_instructions_may_stand_anywhere_also_last(served: Served, script: ScriptedModel) -> None:
    late = {"role": "developer", "content": [{"type": "text", "text": "Answer: hello."}]}
    assert words(await ask(served, said("My name is Pim."), late)) == "Hello there."
    assert [role for role, _ in shown(script)] == ["user", "user"]
    assert "hello" in shown(script)[1][1]
    assert words(await ask(served, {"role": "system", "content": "hello"})) == "Hello there."


async def test_w5_a_request_without_a_name_is_in_no_list_but_kept_and_audited(served: Served) -> None:
    response = await ask(served, *HISTORY, said("write one file"))
    thread = response.headers["x-shipmate-thread"]
    await ask(served, said("hello"), user="pim")
    listed = (await served.client.get("/api/threads")).json()["threads"]
    assert [each["id"] for each in listed] == ["api:user:pim"]
    assert (await served.client.get("/api/search", params={"query": "parrot"})).json()["hits"] == []
    assert len(await read(served, thread)) == 6
    (waiting,) = await (await served.ship()).approvals.pending()
    assert waiting.thread_id == thread
    audit = (await served.client.get("/api/audit")).json()
    assert "write" in str(audit)
    # Listed anew from the files, they are still in no list.
    await (await served.ship()).store.reconcile(anew=True)
    listed = (await served.client.get("/api/threads")).json()["threads"]
    assert [each["id"] for each in listed] == ["api:user:pim"]
    assert (await served.client.get("/api/search", params={"query": "parrot"})).json()["hits"] == []


async def test_w5_in_a_named_thread_only_the_new_message_is_taken(
    served: Served, script: ScriptedModel
) -> None:
    for _ in range(2):
        await ask(served, *HISTORY, said("hello"), user="pim")
    assert [text for _, text in shown(script)] == ["hello", "Hello there.", "hello"]
    stored = await read(served, "api:user:pim")
    assert "parrot" not in str(stored)
    # What the program told the model beforehand holds for its turn all the same, and is not stored.
    ship = await served.ship()
    assert isinstance(ship, Shipmate)
    assert "parrot" in str(script.requests[-1])


async def test_w5_an_assistants_words_may_be_a_strangers(served: Served) -> None:
    """What acts outward asks again where the history was not written here."""
    ship = await served.ship()
    assert isinstance(ship, Shipmate)
    for history, is_tainted in ((HISTORY[:2], False), (HISTORY, True)):
        response = await ask(served, *history, said("hello"))
        thread = await ship.threads.read(ThreadId.parse(response.headers["x-shipmate-thread"]))
        assert ship.orchestrator.is_tainted(thread) is is_tainted


async def test_w5_pictures_arrive_and_addresses_are_never_followed(
    served: Served, script: ScriptedModel
) -> None:
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    def picture(url: Any) -> dict[str, Any]:
        return {
            "role": "user",
            "content": [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": url}}],
        }

    whole = picture(f"data:image/png;base64,{dot}")
    assert words(await ask(served, whole, {"role": "assistant", "content": "Seen."}, whole)) == "Hello there."
    files = [
        part for each in script.requests[-1].messages for part in each["parts"] if part["type"] == "file"
    ]
    assert [each["mediaType"] for each in files] == ["image/png"] * 2
    assert dot in files[0]["url"]
    for url in (
        "http://127.0.0.1:1/x.png",
        "https://example.org/x.png",
        "file:///etc/passwd",
        "/api/uploads/x",
        "data:text/html;base64,PGI+",
        "data:image/svg+xml;base64,PGI+",
        "data:image/png;base64,***",
        "",
        None,
        5,
    ):
        refused = await ask(served, picture(url))
        assert refused.status_code == 400, url
        assert problem(refused)["param"].startswith("messages[0].content[1].image_url"), url


async def test_w5_one_key_starts_one_run_also_after_a_restart(tmp_path: Path) -> None:
    script = ScriptedModel(SCRIPT)
    site = make_site(make_workspace(tmp_path), opener_for(script))
    async with serving(site) as served:
        first, second = await asyncio.gather(
            *(ask(served, *HISTORY, said("hello"), key="one") for _ in range(2))
        )
        assert first.json() == second.json()
        assert first.headers["x-shipmate-thread"] == second.headers["x-shipmate-thread"]
        named = await ask(served, said("again"), key="two", user="pim")
        failed = await ask(served, said("be down"), key="three")
        assert (failed.status_code, len(script.requests)) == (503, 3)
    again = ScriptedModel(SCRIPT)
    site = make_site(tmp_path, opener_for(again))
    async with serving(site) as served:
        third = await ask(served, *HISTORY, said("hello"), key="one")
        assert third.json() == first.json()
        assert (await ask(served, said("again"), key="two", user="pim")).json() == named.json()
        assert (await ask(served, said("be down"), key="three")).status_code == 503
        assert again.requests == []
        streamed = await ask(served, *HISTORY, said("hello"), key="four", stream=True)
        repeated = await ask(served, *HISTORY, said("hello"), key="four", stream=True)
        assert (
            "".join(each["choices"][0]["delta"].get("content", "") for each in events(repeated)[:-1])
            == "Hello there."
        )
        assert events(repeated)[-3:] == events(streamed)[-3:]
        assert len(again.requests) == 1


async def test_w5_a_key_belongs_to_one_request(served: Served, script: ScriptedModel) -> None:
    await ask(served, said("hello"), key="one")
    others: list[dict[str, Any]] = [
        {"key": "one", "user": "pim"},
        {"key": "one", "temperature": 0.5},
        {"key": "one", "headers": {"x-shipmate-thread": "web:room:1"}},
    ]
    for more in others:
        refused = await ask(served, said("hello"), **more)
        assert (refused.status_code, problem(refused)["code"]) == (422, "idempotency_key_reused")
    assert (await ask(served, said("again"), key="one")).status_code == 422
    assert len(script.requests) == 1
    # Without a key the same words are asked anew.
    await ask(served, said("hello"))
    assert len(script.requests) == 2
    for wrong in ("", "x" * 300, "a\tb"):
        assert (await ask(served, said("hello"), key=wrong)).status_code == 400


async def test_w5_what_no_list_shows_is_removed_after_a_week(tmp_path: Path) -> None:
    script = ScriptedModel({**SCRIPT, "look": [[call("read", path="a.md")], "Seen."]})
    site = make_site(make_workspace(tmp_path), opener_for(script))
    async with serving(site) as served:
        old = await ask(served, *HISTORY, said("look"), key="old")
        waits = await ask(served, said("write one file"))
        kept = await ask(served, said("hello"), user="pim")
        names = [each.headers["x-shipmate-thread"] for each in (old, waits, kept)]
        layout = site.layout
        long_ago = time.time() - call_thread.AGE_SECONDS - 60
        for name in names:
            os.utime(layout.thread(ThreadId.parse(name)), (long_ago, long_ago))
    site = make_site(tmp_path, opener_for(script))
    async with serving(site) as served:
        await ask(served, said("hello"))
        paths = [layout.thread(ThreadId.parse(name)).exists() for name in names]
        assert paths == [False, True, True]
        left = [
            path
            for path in (tmp_path / ".ship").rglob("*")
            if names[0].rpartition(":")[2] in path.name and "audit" not in path.parts
        ]
        assert left == []
        assert await (await served.ship()).store.threads.find(names[0]) is None
        # Its key may be used again, and starts a new run.
        assert (await ask(served, said("hello"), key="old")).status_code == 200


async def test_w5_names_that_no_thread_can_have_are_refused(served: Served) -> None:
    wrong: list[dict[str, Any]] = [
        {"user": "a\nb"},
        {"user": "x" * 300},
        {"headers": {"x-shipmate-thread": "nonsense"}},
        {"headers": {"x-shipmate-thread": "UPPER:x:y"}},
    ]
    for more in wrong:
        refused = await ask(served, said("hello"), **more)
        assert refused.status_code == 400, more
        assert problem(refused)["param"] in ("user", "x-shipmate-thread")


async def test_w5_recordings_arrive_and_what_is_none_is_refused(
    served: Served, script: ScriptedModel
) -> None:
    def recording(value: Any) -> dict[str, Any]:
        parts = [{"type": "text", "text": "hello"}, {"type": "input_audio", "input_audio": value}]
        return {"role": "user", "content": parts}

    whole = recording({"data": "UklGRiQAAABXQVZFZm10IA==", "format": "wav"})
    assert words(await ask(served, whole)) == "Hello there."
    (file,) = [part for part in script.requests[-1].messages[-1]["parts"] if part["type"] == "file"]
    assert file["mediaType"] == "audio/wav"
    assert file["url"].endswith("UklGRiQAAABXQVZFZm10IA==") or file["url"].startswith(".ship/")
    for value in (
        {"data": "***", "format": "wav"},
        {"data": "aGk=", "format": "ogg"},
        {"format": "mp3"},
        "x",
        None,
    ):
        refused = await ask(served, recording(value))
        assert refused.status_code == 400, value
        assert problem(refused)["param"].startswith("messages[0].content[1].input_audio"), value
