"""The workspace over HTTP: members' files, memory, skills, tasks, uploads, priming, usage, settings."""

from __future__ import annotations

import asyncio

import pytest

from shipmate.memory.memory_entry import MemoryEntry
from shipmate.memory.service import EntryChange, MemoryService
from tests.support.server import Served
from tests.support.wire import chat, messages, user

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_a_members_file_is_edited_against_its_version(served: Served) -> None:
    address = "/api/members/captain/files/Agent.md"
    shown = (await served.client.get(address)).json()
    saved = await served.client.put(address, json={"text": "# New\n", "version": shown["version"]})
    assert saved.status_code == 200
    stale = await served.client.put(address, json={"text": "# Other\n", "version": shown["version"]})
    assert (stale.status_code, stale.json()["error"]["version"]) == (409, saved.json()["version"])
    history = (await served.client.get(f"{address}/history")).json()["versions"]
    assert [version["text"] for version in history] == [shown["text"]]
    assert served.site.layout.agent.read_text() == "# New\n"


async def test_a_new_file_of_a_member_is_made_and_listed(served: Served) -> None:
    member = served.site.layout.member("bosun")
    member.root.mkdir(parents=True)
    member.agent.write_text("---\nname: Bosun\ndescription: Keeps the deck.\n---\nYou are Bosun.\n")
    listed = (await served.client.get("/api/members")).json()["members"]
    told = [listed[1][key] for key in ("id", "name", "description", "kind", "variables")]
    assert told == ["bosun", "Bosun", "Keeps the deck.", "native", []]
    address = "/api/members/bosun/files/SOUL.md"
    assert (await served.client.get(address)).status_code == 404
    assert (await served.client.put(address, json={"text": "Calm.", "version": None})).status_code == 200
    files = {
        file["name"]: file for file in (await served.client.get("/api/members/bosun/files")).json()["files"]
    }
    assert files["SOUL.md"]["exists"]
    assert not files["USER.md"]["exists"]
    assert (member.root / "SOUL.md").read_text() == "Calm."


@pytest.mark.parametrize(
    "address",
    [
        "/api/members/nobody/files",
        "/api/members/..%2F..%2F/files",
        "/api/members/captain/files/ship.json",
        "/api/members/captain/files/..%2Ftoken",
        "/api/members/captain/files/.ship",
        "/api/skills/nothing",
        "/api/files/up_x",
        "/api/files/..%2Ftoken",
        "/api/priming/script?ref=team_shared/nothing",
    ],
)
async def test_what_does_not_exist_is_not_found(served: Served, address: str) -> None:
    response = await served.client.get(address)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not-found")


async def test_m5_no_link_in_memory_leads_into_a_project_or_to_secrets(served: Served) -> None:
    root = served.site.layout.root
    (root / "projects/moon").mkdir(parents=True)
    (root / "projects/moon/plan.md").write_text("as it was")
    (root / "projects/moon/meta.json").write_text('{"editors": ["__none__"]}')
    (root / "memory").mkdir(exist_ok=True)
    (root / "memory/moon").symlink_to("../projects/moon")
    (root / "memory/keys.md").symlink_to("../ship.json")
    for path in ("memory/moon/plan.md", "memory/moon/new.md", "memory/keys.md"):
        assert (await served.client.get("/api/memory/file", params={"path": path})).status_code in (400, 404)
        write = await served.client.put("/api/memory/file", params={"path": path}, json={"text": "changed"})
        assert write.status_code == 400
    assert (await served.client.get("/api/memory")).json()["files"] == []
    assert sorted(path.name for path in (root / "projects/moon").iterdir()) == ["meta.json", "plan.md"]


async def test_memory_files_are_listed_edited_and_confined(served: Served) -> None:
    root = served.site.layout.root
    saved = await served.client.put("/api/memory/file?path=memory/topics/tea.md", json={"text": "Green.\n"})
    assert saved.status_code == 200
    files = (await served.client.get("/api/memory")).json()["files"]
    assert [file["path"] for file in files] == ["memory/topics/tea.md"]
    assert (await served.client.get("/api/memory/file?path=memory/topics/tea.md")).json()[
        "text"
    ] == "Green.\n"
    (root / "memory" / "out.md").symlink_to("/etc/passwd")
    (root / "memory" / "dir").symlink_to("/etc")
    for path in (
        "Agent.md",
        "memory/../Agent.md",
        "/etc/hosts.md",
        "memory/out.md",
        "memory/dir/x.md",
        ".ship/token",
        "memory/a.txt",
    ):
        response = await served.client.get("/api/memory/file", params={"path": path})
        assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid"), path
        write = await served.client.put("/api/memory/file", params={"path": path}, json={"text": "x"})
        assert write.status_code == 400, path
        assert "/etc" not in write.text
    assert len((await served.client.get("/api/memory")).json()["files"]) == 1


async def test_uploads_come_back_safely_and_reach_the_thread(served: Served) -> None:
    sent = await served.client.post("/api/uploads", files={"file": ("dot.png", PNG, "text/html")})
    assert sent.status_code == 201
    upload = sent.json()
    assert (upload["mediaType"], upload["filename"], upload["bytes"]) == ("image/png", "dot.png", len(PNG))
    shown = await served.client.get(upload["url"])
    assert (shown.content, shown.headers["content-type"]) == (PNG, "image/png")
    page = await served.client.post("/api/uploads", files={"file": ("x.html", b"<script>alert(1)</script>")})
    answer = await served.client.get(page.json()["url"])
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert "sandbox" in answer.headers["content-security-policy"]
    message = user("u1", "hello")
    message["parts"].append(
        {"type": "file", **{key: upload[key] for key in ("url", "mediaType", "filename")}}
    )
    await chat(served.client, "room", message)
    parts = (await messages(served.client, "room"))[0]["parts"]
    assert upload["url"] in [part.get("url") for part in parts]


async def test_bad_uploads_are_refused(served: Served) -> None:
    assert (await served.client.post("/api/uploads", files={"file": ("a", b"")})).status_code == 415
    assert (await served.client.post("/api/uploads", files={"other": ("a", b"x")})).status_code == 400
    assert (await served.client.post("/api/uploads", content=b"x")).status_code == 400
    huge = await served.client.post("/api/uploads", files={"file": ("a", b"x" * 26_000_000)})
    assert (huge.status_code, huge.json()["error"]["code"]) == (413, "too-large")


async def test_a_thread_becomes_a_script_and_a_script_a_thread(served: Served) -> None:
    await chat(served.client, "room", user("u1", "read two files"))
    body = {"threadId": "room", "slug": "probe/files"}
    saved = await served.client.post("/api/priming/save", json=body)
    assert saved.status_code == 201
    assert saved.json()["path"] == ".minds/priming/individual/captain/probe/files.md"
    again = await served.client.post("/api/priming/save", json=body)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
    assert (
        await served.client.post("/api/priming/save", json={**body, "overwrite": True})
    ).status_code == 201
    ref = saved.json()["scriptRef"]
    assert (await served.client.get("/api/priming/recent")).json()["scripts"] == []
    found = (await served.client.get("/api/priming/search?query=files")).json()["scripts"]
    assert [script["scriptRef"] for script in found] == [ref]
    priming = {"scriptRefs": [ref], "showInUi": False}
    made = (await served.client.post("/api/threads", json={"priming": priming})).json()
    page = (await served.client.get(f"/api/threads/{made['threadId']}/messages")).json()
    assert page["hidePriming"]
    assert len(page["messages"]) == made["messages"] == 2
    assert {message["metadata"]["sourceTag"] for message in page["messages"]} == {"priming_script"}
    assert [s["scriptRef"] for s in (await served.client.get("/api/priming/recent")).json()["scripts"]] == [
        ref
    ]
    text = (await served.client.get("/api/priming/script", params={"ref": ref})).json()
    assert "### record" in text["text"]
    assert text["problems"] == []


@pytest.mark.parametrize("slug", ["../evil", "/etc/x", "a b", "", "a\u0000b", "x/../../y"])
async def test_a_slug_that_leaves_its_folder_is_refused(served: Served, slug: str) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    response = await served.client.post("/api/priming/save", json={"threadId": "room", "slug": slug})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid")


async def test_a_broken_script_makes_no_dialog(served: Served) -> None:
    path = served.site.layout.shared_priming / "broken.md"
    path.parent.mkdir(parents=True)
    path.write_text("### user\nhello\n")
    before = (await served.client.get("/api/threads")).json()["threads"]
    response = await served.client.post(
        "/api/threads", json={"priming": {"scriptRefs": ["team_shared/broken"]}}
    )
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid")
    assert str(served.site.layout.root) not in response.text
    assert (await served.client.get("/api/threads")).json()["threads"] == before


async def test_m6_a_skill_is_shown_with_all_its_author_stated(served: Served) -> None:
    skill = served.site.layout.skills / "knots" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(
        "---\nname: knots\ndescription: Tie.\ndisable-model-invocation: true\nuser-invocable: false\n"
        "allowed-tools: Bash(git *), Read\nrequires: {bins: [no-such-bin], env: [NO_SUCH]}\n"
        "metadata: '{'\n---\nOver, under.\n"
    )
    listed = {one["name"]: one for one in (await served.client.get("/api/skills")).json()["skills"]}
    one = (await served.client.get("/api/skills/knots")).json()
    assert one == {**listed["knots"], "text": one["text"]}
    assert (one["forModel"], one["forPeople"], one["available"]) == (False, False, False)
    assert one["allowedTools"] == ["Bash(git *)", "Read"]
    assert one["location"] == "skills/knots/SKILL.md"
    assert ["no-such-bin" in " ".join(one["missing"]), "NO_SUCH" in " ".join(one["missing"])] == [True, True]
    assert one["problems"] == ["its metadata is not JSON and is ignored"]


async def test_skills_and_usage_are_shown(served: Served) -> None:
    skill = served.site.layout.skills / "knots" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: knots\ndescription: Ties knots.\n---\nOver, under.\n")
    names = {one["name"]: one for one in (await served.client.get("/api/skills")).json()["skills"]}
    assert names["knots"]["description"] == "Ties knots."
    assert "Over, under." in (await served.client.get("/api/skills/knots")).json()["text"]
    await chat(served.client, "room", user("u1", "hello"))
    usage = (await served.client.get("/api/usage?days=1")).json()
    assert (usage["total"]["requests"], usage["models"][0]["model"]) == (1, "scripted")
    assert usage["days"][0]["inputTokens"] == usage["total"]["inputTokens"] > 0
    assert [each["member"] for each in usage["members"]] == ["captain"]
    assert usage["threads"] == [{**usage["total"], "thread": "web:room:room"}]


async def test_settings_hide_every_secret(served: Served) -> None:
    served.site.layout.config.write_text(
        '{"llm": {"provider": "anthropic", "apiKey": "sk-very-secret", "fallback": [{"apiKey": "${HOME}"}]},'
        ' "env": {"NAME": "private-value"}, "adapters": {"telegram": {"botToken": "123:abc"}},'
        ' "mcp": {"servers": {"x": {"headers": {"X": "hidden-header"}}}}}'
    )
    answer = await served.client.get("/api/settings")
    config = answer.json()["config"]
    assert config["llm"] == {"provider": "anthropic", "apiKey": "set", "fallback": [{"apiKey": "env:HOME"}]}
    for secret in ("sk-very-secret", "private-value", "123:abc", "hidden-header"):
        assert secret not in answer.text
    assert "ANTHROPIC_API_KEY" in answer.json()["keyHint"]["variables"]


async def test_c19_settings_show_no_secret_whatever_its_field_is_called(served: Served) -> None:
    served.site.layout.config.write_text(
        '{"llm": {"baseUrl": "https://ann:pw-hidden@gate.example/v1?k=query-hidden"},'
        ' "mcp": {"servers": {"x": {"command": "npx", "args": ["--anything", "args-hidden-1"],'
        ' "url": "https://mcp.example/sse?x=url-hidden"}}}, "adapters": {"x": {"plain": "adapter-hidden"}}}'
    )
    answer = await served.client.get("/api/settings")
    assert "hidden" not in answer.text
    config = answer.json()["config"]
    assert config["llm"]["baseUrl"] == "https://•••@gate.example/v1?k=•••"
    assert config["mcp"]["servers"]["x"] == {
        "command": "npx",
        "args": ["--anything", "set"],
        "url": "https://mcp.example/sse?x=•••",
    }


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama", "openai-compatible"])
async def test_c19_a_stored_key_is_not_sent_to_another_address(
    served: Served, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    """A listener that nobody configured hears no key of the environment or of ship.json."""
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 401 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(name, "stored-key-of-the-environment")
    served.site.layout.config.write_text(
        f'{{"llm": {{"provider": "{provider}", "apiKey": "stored-key-of-the-file", "baseUrl": "https://own.example"}}}}'
    )
    async with await asyncio.start_server(listen, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        body = {"provider": provider, "model": "m", "baseUrl": f"http://127.0.0.1:{port}/v1"}
        answer = (await served.client.post("/api/settings/test-key", json=body)).json()
    assert not answer["ok"]
    assert b"stored-key" not in b"".join(heard)
    if provider in ("openai", "anthropic"):
        assert heard == []
        assert answer["code"] == "config"
        assert "Nothing was sent" in answer["message"]


async def test_a_key_is_tried_live_and_never_repeated(served: Served) -> None:
    rehearsed = (await served.client.post("/api/settings/test-key", json={"provider": "rehearsal"})).json()
    assert rehearsed["ok"]
    assert rehearsed["reply"]
    unknown = (await served.client.post("/api/settings/test-key", json={"provider": "nobody"})).json()
    assert (unknown["ok"], unknown["code"]) == (False, "config")
    body = {
        "provider": "openai-compatible",
        "model": "m",
        "apiKey": "sk-secret-1234",
        "baseUrl": "http://127.0.0.1:9",
    }
    answer = await served.client.post("/api/settings/test-key", json=body)
    assert (answer.json()["ok"], answer.json()["code"]) == (False, "down")
    assert "sk-secret-1234" not in answer.text


async def test_the_doctor_speaks_without_paths(served: Served) -> None:
    answer = await served.client.get("/api/doctor")
    assert {finding["subject"] for finding in answer.json()["findings"]} >= {"Agent.md", "disk"}
    assert str(served.site.layout.root) not in answer.text


async def test_u8_entries_are_listed_with_their_source(served: Served) -> None:
    layout = served.site.layout
    entry = MemoryEntry(
        heading="Release day", text="Thursdays.", date="2026-11-16", source="web:room:1", is_tainted=True
    )
    MemoryService(layout).write([EntryChange(path=layout.project_memory, entry=entry)])
    (file,) = (await served.client.get("/api/memory")).json()["files"]
    assert file["entries"] == [
        {
            "heading": "Release day",
            "kind": "fact",
            "date": "2026-11-16",
            "source": "web:room:1",
            "isTainted": True,
        }
    ]


async def test_u8_a_memory_file_is_deleted_by_its_version_and_kept(served: Served) -> None:
    root = served.site.layout.root
    place = "/api/memory/file?path=memory/tides.md"
    version = (await served.client.put(place, json={"text": "High at four.\n"})).json()["version"]
    assert (await served.client.delete(f"{place}&version=old")).status_code == 409
    assert (root / "memory" / "tides.md").exists()
    assert (await served.client.delete(f"{place}&version={version}")).status_code == 204
    assert not (root / "memory" / "tides.md").exists()
    assert (await served.client.delete(f"{place}&version={version}")).status_code == 404
    (kept,) = (await served.client.get("/api/memory/file/history?path=memory/tides.md")).json()["versions"]
    assert kept["text"] == "High at four.\n"
    listed = (await served.client.get("/api/memory")).json()
    assert (listed["files"], listed["deleted"]) == ([], ["memory/tides.md"])
    restored = await served.client.put(place, json={"text": kept["text"], "version": None})
    assert restored.status_code == 200
    for path in ("Agent.md", "memory/../Agent.md", ".ship/token", "memory/a.txt"):
        gone = await served.client.delete("/api/memory/file", params={"path": path, "version": version})
        assert gone.status_code in (400, 404)
