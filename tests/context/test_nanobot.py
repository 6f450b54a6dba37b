"""What nanobot's own tests hold of its prompt, skills and pictures, asked of the whole product over the wire.

Numbers are those of the list of behaviours. Where we rule otherwise the test says so:

- 3: in profile `nanobot` the clock stands in the identity, as document 001 has it; our own profile keeps the
  system text of every turn the same instead.
- 6: no part depends on the channel; the runtime line of our own profile names the platform.
- 7: a member is the agent, the workspace its project: AGENTS.md is shared, SOUL.md and memory are its own.
- 13: the list is XML (document 001), not the bullets of later versions; paths are escaped too.
- 16: a picture that is missing or none is a clear error that names it, never left out in silence.
- 18: pictures go along for three turns and are named after that.

Held elsewhere: 2 (untouched templates) in the tests of foreign folders, 17 in those of attachments, 18 in
those of the models.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from shipmate import ContextBuilder, Shipmate
from shipmate.context import builder as builder_module
from shipmate.context.request import ContextRequest
from shipmate.errors import MediaError
from shipmate.skills.location import BUILTIN
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from tests.support.prompt import write_files
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, ask_tools, refuse, say
from tests.support.workspace import talk

SEPARATOR = "\n\n---\n\n"
ALWAYS = {
    "top": "always: true",
    "nested": "metadata:\n  nanobot:\n    always: true",
    "text": """metadata: '{"nanobot": {"always": true}}'""",
    "other": 'metadata: {"openclaw": {"always": true}}',
}


class Desk:
    """A workspace whose model is a server that keeps what it was asked."""

    def __init__(self, root: Path, server: ProviderServer) -> None:
        self.root = root
        self.server = server

    def configure(self, **settings: Any) -> None:
        llm = {"provider": "openai", "model": "m", "apiKey": "key-of-the-test", "maxRetries": 0}
        context = settings.pop("context", {"profile": "nanobot"})
        config = {"llm": {**llm, "baseUrl": f"{self.server.url}/v1"}, "context": context, **settings}
        (self.root / "ship.json").write_text(json.dumps(config))

    async def ask(self, *texts: str, **more: Any) -> list[dict[str, Any]]:
        """Say something in one thread and return the messages of the last request."""
        async with Shipmate.open(self.root, environ={"PATH": "/nowhere"}) as ship:
            for text in texts:
                await talk(ship, text, **more)
        return self.server.requests[-1].body["messages"]

    async def system(self, *texts: str, **more: Any) -> str:
        return (await self.ask(*texts or ("hello",), **more))[0]["content"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with ProviderServer() as server:
        found = Desk(tmp_path, server)
        write_files(tmp_path, Agent="# Ada\n\nYou count.")
        found.configure()
        yield found


def skill(root: Path, name: str, front: str = "", body: str = "") -> None:
    text = f"---\ndescription: About {name}.\n{front}\n---\n{body or f'Body of {name}.'}"
    write_files(root, **{f"skills__{name}__SKILL": text})


async def test_1_parts_are_joined_by_rules_and_an_absent_part_leaves_none(desk: Desk) -> None:
    desk.configure(skills={"disabled": sorted(_builtin())}, context={"profile": "nanobot"})
    assert (await desk.system()).count(SEPARATOR) == 1
    write_files(desk.root, memory__MEMORY="likes tea")
    skill(desk.root, "x", "always: true")
    skill(desk.root, "y")
    parts = (await desk.system()).split(SEPARATOR)
    starts = ("# Ada", "## Agent.md", "# Memory", "# Active Skills", "# Skills")
    assert [part.startswith(start) for part, start in zip(parts, starts, strict=True)] == [True] * 5


def _builtin() -> set[str]:
    return {path.name for path in BUILTIN.iterdir()}


async def test_2_bootstrap_files_stand_in_order_under_their_names(desk: Desk) -> None:
    write_files(desk.root, IDENTITY="五", SOUL="二 – naïve", AGENTS="一", TOOLS="", USER="   \n")
    files = (await desk.system()).split(SEPARATOR)[1]
    wanted = (
        ("Agent.md", "# Ada\n\nYou count."),
        ("AGENTS.md", "一"),
        ("SOUL.md", "二 – naïve"),
        ("IDENTITY.md", "五"),
    )
    assert files == "\n\n".join(f"## {name}\n\n{text}" for name, text in wanted)


async def test_3_the_system_text_stays_the_same_while_files_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter(range(100))
    began = datetime(2026, 2, 23, 23, 45, tzinfo=ZoneInfo("UTC"))
    monkeypatch.setattr(builder_module, "tell_time", lambda *_: began + timedelta(minutes=next(moments)))
    desk.configure(context={})
    write_files(desk.root, SOUL="calm", memory__MEMORY="tea")
    await desk.ask("one", "two")
    first, second = (request.body["messages"][0]["content"] for request in desk.server.requests[-2:])
    assert first == second
    write_files(desk.root, SOUL="wild", memory__MEMORY="coffee")
    changed = await desk.system("three")
    assert "wild" in changed
    assert "coffee" in changed
    assert "calm" not in changed
    desk.configure()
    await desk.ask("four", "five")
    first, second = (request.body["messages"][0]["content"] for request in desk.server.requests[-2:])
    assert first.partition("## Current Time\n")[2][:16] != second.partition("## Current Time\n")[2][:16]


async def test_4_memory_is_told_when_there_is_any_and_of_notes_only_todays(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = datetime(2026, 2, 23, 12, 0, tzinfo=ZoneInfo("UTC"))
    monkeypatch.setattr(builder_module, "tell_time", lambda *_: moment)
    assert "# Memory" not in await desk.system()
    write_files(
        desk.root, memory__MEMORY="tea", **{"memory__2026-02-23": "now", "memory__2026-02-22": "before"}
    )
    part = (await desk.system()).split(SEPARATOR)[2]
    assert part == "# Memory\n\n## Long-term Memory\ntea\n\n## Today's Notes\nnow"


@pytest.mark.parametrize("profile", ["shipmate", "nanobot", "zyhive"])
async def test_m3_what_was_remembered_is_in_the_next_request(desk: Desk, profile: str) -> None:
    desk.configure(context={"profile": profile}, permissions={"allow": ["memory_upsert"]})
    for scope, fact in (("project", "The mast is oak."), ("user", "Ann likes lists.")):
        arguments = json.dumps({"scope": scope, "heading": "Facts", "content": fact})
        desk.server.script(ask_tools(Call("memory_upsert", arguments)), say("Noted."))
        await desk.ask(f"remember for the {scope}")
        assert fact in json.dumps(await desk.ask("and now?"))
    assert "Ann likes lists." not in json.dumps(await desk.ask("hi", user_id="bob", thread_id="cli:dm:bob"))


@pytest.mark.parametrize("profile", ["shipmate", "nanobot"])
async def test_5_m9_words_nobody_answered_reach_the_model_in_one_turn(desk: Desk, profile: str) -> None:
    desk.configure(context={"profile": profile})
    desk.server.script(refuse(400, "no"))
    messages = await desk.ask("first words", "second words")
    roles = [message["role"] for message in messages]
    assert all(one != other for one, other in pairwise(roles))
    said = json.dumps(messages[-1]["content"])
    assert said.index("first words") < said.index("second words")


async def test_6_no_part_depends_on_the_channel(desk: Desk) -> None:
    shown = {
        (await desk.system(platform=name, thread_id=f"{name}:dm:ann")).partition("## Current Time")[0]
        for name in ("cli", "telegram", "nonesuch")
    }
    assert len(shown) == 1


def test_7_a_member_has_its_own_soul_and_the_workspaces_agents(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="# Ada", AGENTS="shared rules", SOUL="captain's", memory__MEMORY="captain's")
    write_files(tmp_path, members__nina__Agent="# Nina", members__nina__SOUL="nina's")
    layout = Layout(tmp_path)
    nina = Crew(layout, load_config(layout, {})).find("nina")
    context = ContextBuilder(nina).build(ContextRequest(profile="nanobot"))
    assert "shared rules" in context.system
    assert "nina's" in context.system
    assert "captain's" not in context.system


@pytest.mark.parametrize("shape", ALWAYS)
async def test_8_what_is_always_on_stands_in_full_and_not_in_the_list(desk: Desk, shape: str) -> None:
    skill(desk.root, "calm", ALWAYS[shape], "# Calm\n\nBreathe.")
    system = await desk.system()
    assert "# Active Skills\n\n### Skill: calm\n\n# Calm\n\nBreathe.\n\n---" in system
    assert "<name>calm</name>" not in system


async def test_9_what_lacks_something_is_listed_with_it_and_not_loaded(desk: Desk) -> None:
    skill(desk.root, "needy", "always: true\nrequires: {bins: [no-bin], env: [NO_VAR]}", "Secret way.")
    system = await desk.system("use $needy")
    assert '<skill available="false"><name>needy</name>' in system
    assert "<requires>CLI: no-bin, ENV: NO_VAR</requires>" in system
    assert "Secret way." not in system


@pytest.mark.parametrize("value", ["null", "5", "''", "[null, '']", "{a: 1}"])
async def test_10_odd_requirements_mean_none(desk: Desk, value: str) -> None:
    skill(
        desk.root,
        "odd",
        f"metadata:\n  nanobot:\n    requires: {{bins: {value}, anyBins: {value}, env: {value}}}",
    )
    assert '<skill available="true"><name>odd</name>' in await desk.system()


async def test_11_the_workspaces_skill_hides_the_packages_and_disabled_ones_vanish(desk: Desk) -> None:
    desk.configure(skills={"disabled": ["off", "scheduling"]}, context={"profile": "nanobot"})
    skill(desk.root, "git")
    skill(desk.root, "off", "always: true")
    system = await desk.system("use $off and $scheduling")
    assert system.count("<name>git</name>") == 1
    assert "<description>About git.</description>" in system
    assert "Body of off." not in system
    assert "scheduling" not in system.replace("$scheduling", "")


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("---\nname: [\n---\nBody.", "Body."),
        ("Only words.", "Only words."),
        ("---\r\ndescription: >\r\n  two\r\n  lines\r\n---\r\nBody.\r\n", "two lines"),
    ],
)
async def test_12_broken_front_matter_is_still_listed(desk: Desk, text: str, description: str) -> None:
    write_files(desk.root, skills__x__SKILL=text)
    system = await desk.system("use $x")
    assert f"<name>x</name><description>{description}</description>" in system
    assert text.rpartition("\n")[2].strip() in system or "Body." in system


async def test_13_the_list_is_escaped(desk: Desk) -> None:
    write_files(desk.root, **{"skills__a&b__SKILL": "---\ndescription: <b> & 'c'\n---\nx"})
    system = await desk.system()
    assert "<name>a&amp;b</name><description>&lt;b&gt; &amp; 'c'</description>" in system
    assert "<location>skills/a&amp;b/SKILL.md</location>" in system


async def test_14_a_named_skill_is_loaded_for_that_turn_alone_and_in_order(desk: Desk) -> None:
    skill(desk.root, "one")
    skill(desk.root, "two")
    skill(desk.root, "hidden", "disable-model-invocation: true")
    skill(desk.root, "inner", "user-invocable: false")
    first = await desk.system("$two then $one, $nothing, $hidden, $inner and $5")
    found = first.partition("# Requested Skills")[2].partition("---")[0]
    assert [found.index(f"Body of {name}.") for name in ("two", "one", "hidden")] == sorted(
        found.index(f"Body of {name}.") for name in ("two", "one", "hidden")
    )
    assert "Body of inner." not in first
    later = await desk.system("and now without")
    assert "# Requested Skills" not in later
    assert "hidden" not in later


@pytest.mark.parametrize("name", ["read", "read_file"])
async def test_15_the_listed_place_gives_the_whole_skill_by_either_name(desk: Desk, name: str) -> None:
    """M5: a model that was told of `read_file` calls it, and gets the tool."""
    skill(desk.root, "deep", body="The long way round.")
    place = (
        (await desk.system()).partition("<name>deep</name>")[2].partition("<location>")[2].partition("<")[0]
    )
    desk.server.script(ask_tools(Call(name, json.dumps({"path": place}))), say("Read."))
    messages = await desk.ask("load it")
    assert messages[-1]["role"] == "tool"
    assert "The long way round." in messages[-1]["content"]
    offered = [tool["function"]["name"] for tool in desk.server.requests[-1].body["tools"]]
    assert "read" in offered
    assert "read_file" not in json.dumps(desk.server.requests[-1].body["tools"]) + messages[0]["content"]


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_16_pictures_come_in_order_before_the_text_by_what_they_are(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="# Ada")
    (tmp_path / "a.txt").write_bytes(PNG)
    (tmp_path / "b.jpg").write_bytes(PNG)
    context = ContextBuilder(tmp_path)
    assert context.build_messages([], "look")[-1]["content"] == "look"
    content = context.build_messages([], "look", media=[tmp_path / "a.txt", tmp_path / "b.jpg"])[-1][
        "content"
    ]
    assert [part["type"] for part in content] == ["image_url", "image_url", "text"]
    assert all(part["image_url"]["url"].startswith("data:image/png;base64,") for part in content[:2])
    (tmp_path / "c.png").write_text("no picture")
    for wrong in ("c.png", "missing.png"):
        with pytest.raises(MediaError, match=wrong):
            context.build_messages([], "look", media=[tmp_path / wrong])
