"""The library of scripts over HTTP: shown as conversations, edited without overwriting each other."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.priming_script import words
from tests.support.server import Served
from tests.support.wire import chat, user

SHARED = "team_shared/probe"


def put(served: Served, ref: str, text: str) -> Path:
    path = served.site.layout.priming / f"{ref}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def show(served: Served, ref: str = SHARED) -> Any:
    response = await served.client.get("/api/priming/script", params={"ref": ref})
    assert response.status_code == 200, response.text
    return response.json()


async def write(served: Served, text: str, digest: str | None, ref: str = SHARED) -> Any:
    return await served.client.put("/api/priming/script", json={"ref": ref, "text": text, "digest": digest})


async def test_p5_broken_files_are_listed_with_their_reason(served: Served) -> None:
    put(served, SHARED, words("hello", "hi"))
    put(served, "team_shared/bad", "### user\nhello\n")
    put(served, "individual/captain/no slug", words("a", "b"))
    for address in ("/api/priming/scripts", "/api/priming/search?query=probe"):
        found = (await served.client.get(address)).json()
        assert [script["scriptRef"] for script in found["scripts"]] == [SHARED]
        broken = {each["path"]: each for each in found["broken"]}
        assert broken[".minds/priming/team_shared/bad.md"]["scriptRef"] == "team_shared/bad"
        assert broken[".minds/priming/team_shared/bad.md"]["line"] == 1
        assert "### user" in broken[".minds/priming/team_shared/bad.md"]["reason"]
        assert broken[".minds/priming/individual/captain/no slug.md"]["scriptRef"] is None
        assert len(found["problems"]) == 2


async def test_p5_a_broken_file_is_shown_with_its_marks_or_the_reason_why_not(served: Served) -> None:
    put(served, "team_shared/bad", "### user\nhello\n")
    shown = await show(served, "team_shared/bad")
    assert shown["messages"] == []
    assert [(mark["line"], mark["level"]) for mark in shown["marks"]] == [(1, "error")]
    put(served, "team_shared/odd", "").write_bytes(b"\xff\xfe")
    odd = await show(served, "team_shared/odd")
    assert (odd["digest"], odd["text"]) == (None, "")
    assert len(odd["problems"]) == 1
    assert str(served.site.layout.root) not in odd["problems"][0]


async def test_a_script_is_shown_as_the_conversation_it_is_and_where_it_was_used(served: Served) -> None:
    put(served, SHARED, words("hello", "hi there"))
    shown = await show(served)
    assert [(each["role"], each["parts"][0]["text"]) for each in shown["messages"]] == [
        ("user", "hello"),
        ("assistant", "hi there"),
    ]
    assert shown["uses"] == []
    body = {"priming": {"scriptRefs": [SHARED], "showInUi": True}, "title": "Begun"}
    made = (await served.client.post("/api/threads", json=body)).json()
    await served.client.post("/api/threads", json={"title": "Other"})
    uses = (await show(served))["uses"]
    assert [(use["threadId"], use["title"]) for use in uses] == [(made["threadId"], "Begun")]


async def test_a_second_editor_is_refused_and_the_text_before_is_kept(served: Served) -> None:
    path = put(served, SHARED, words("hello", "hi"))
    shown = await show(served)
    first = await write(served, words("hello", "good day"), shown["digest"])
    assert (first.status_code, first.json()["marks"]) == (200, [])
    stale = await write(served, words("hello", "no"), shown["digest"])
    assert (stale.status_code, stale.json()["error"]["version"]) == (409, first.json()["digest"])
    assert "good day" in path.read_text("utf-8")
    assert (await show(served))["digest"] == first.json()["digest"]
    history = (await served.client.get("/api/priming/script/history", params={"ref": SHARED})).json()
    assert [each["text"] for each in history["versions"]] == [shown["text"]]
    # A text with mistakes is kept too, and says so.
    broken = await write(served, "### user\n", first.json()["digest"])
    assert [mark["line"] for mark in broken.json()["marks"]] == [1]


async def test_a_new_script_is_made_once_and_only_where_scripts_lie(served: Served, tmp_path: Path) -> None:
    sample = await served.client.get("/api/priming/sample", params={"ref": "team_shared/new", "title": "新"})
    text = sample.json()["text"]
    assert (await write(served, text, None, "team_shared/new")).status_code == 200
    assert (await show(served, "team_shared/new"))["title"] == "新"
    assert (await write(served, text, None, "team_shared/new")).status_code == 409
    assert (await write(served, text, None, "individual/nobody/new")).status_code == 404
    for ref in ("team_shared/../../x", "/etc/x", "elsewhere/x", "team_shared/a b"):
        assert (await write(served, text, None, ref)).status_code == 422
    outside = tmp_path / "outside"
    outside.mkdir()
    (served.site.layout.shared_priming / "out").symlink_to(outside)
    assert (await write(served, text, None, "team_shared/out/x")).status_code == 422
    assert list(outside.iterdir()) == []


async def test_half_a_character_is_refused(served: Served) -> None:
    body = b'{"ref": "team_shared/x", "text": "\\ud800"}'
    headers = {"content-type": "application/json"}
    for method, address in (
        ("PUT", "/api/priming/script"),
        ("POST", "/api/priming/check"),
        ("POST", "/api/priming/fix"),
    ):
        answer = await served.client.request(method, address, content=body, headers=headers)
        assert 400 <= answer.status_code < 500
    assert not served.site.layout.priming.exists()


async def test_a_draft_is_checked_without_being_kept(served: Served) -> None:
    good = await served.client.post("/api/priming/check", json={"text": words("hello", "hi")})
    assert (good.json()["marks"], len(good.json()["messages"]), good.json()["records"]) == ([], 2, 2)
    draft = words("a", "b").replace("genseq: 1", "genseq: -1")
    bad = (await served.client.post("/api/priming/check", json={"text": draft})).json()
    assert [mark["line"] for mark in bad["marks"]] == [4, 12]
    assert {mark["level"] for mark in bad["marks"]} == {"error"}
    assert not served.site.layout.priming.exists()


async def test_a_draft_is_mended_without_being_kept(served: Served) -> None:
    draft = "### user\nhello\n\n### assistant\nhi\n"
    fixed = (await served.client.post("/api/priming/fix", json={"text": draft})).json()["text"]
    again = (await served.client.post("/api/priming/check", json={"text": fixed})).json()
    assert (again["marks"], len(again["messages"])) == ([], 2)
    assert not served.site.layout.priming.exists()


async def test_what_can_be_read_is_shown_though_something_is_lost(served: Served) -> None:
    twice = words("hello", "hi") + words("more", "yes")
    found = (await served.client.post("/api/priming/check", json={"text": twice})).json()
    assert [mark["level"] for mark in found["marks"]] == ["error"]
    assert "m-1" in found["marks"][0]["reason"]
    assert len(found["messages"]) == 4


async def test_a_free_slug_is_offered_for_a_thread(served: Served) -> None:
    await chat(served.client, "room", user("u1", "Read two files, please"))
    await served.idle()
    offer = (await served.client.get("/api/priming/slug", params={"threadId": "room"})).json()
    assert offer == {
        "slug": "read-two-files-please",
        "title": "Read two files, please",
        "member": "captain",
    }
    put(served, "individual/captain/read-two-files-please", words("a", "b"))
    offer = (await served.client.get("/api/priming/slug", params={"threadId": "room"})).json()
    assert offer["slug"] == "read-two-files-please-2"


@pytest.mark.parametrize("full", [False, True])
async def test_p7_a_script_saved_over_http_names_the_owner_only_when_full(served: Served, full: bool) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    body = {"threadId": "room", "slug": "probe", "full": full}
    saved = (await served.client.post("/api/priming/save", json=body)).json()
    text = (served.site.layout.root / saved["path"]).read_text("utf-8")
    assert ("owner" in text.replace("ownerAgentId", "")) is full
    assert ("runId" in text) is full
    assert ("timestamp" in text) is full


async def test_what_is_no_file_is_never_waited_for_nor_written_over(served: Served) -> None:
    folder = put(served, SHARED, words("hello", "hi")).parent
    os.mkfifo(folder / "pipe.md")
    # Ends the wait of a server that reads the pipe, so that this fails and does not hang.
    rescue = threading.Timer(20, lambda: os.close(os.open(folder / "pipe.md", os.O_WRONLY | os.O_NONBLOCK)))
    rescue.start()
    (folder / "folder.md").mkdir()
    (folder / "dangling.md").symlink_to("nowhere.md")
    for name in ("pipe", "folder", "dangling"):
        refused = await write(served, words("a", "b"), None, f"team_shared/{name}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid"), name
        assert "no regular file" in refused.json()["error"]["message"]
    rescue.cancel()
    assert not (folder / "nowhere.md").exists()
    assert stat.S_ISFIFO((folder / "pipe.md").stat().st_mode)
    inside = await write(served, words("a", "b"), None, "team_shared/probe.md/below")
    assert (inside.status_code, inside.json()["error"]["code"]) == (400, "invalid")
    assert not [path for path in folder.iterdir() if path.suffix == ".tmp"]
