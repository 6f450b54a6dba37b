"""The first run: a folder without an Agent.md."""

from __future__ import annotations

from pathlib import Path

from tests.support.foreign import copy_folder, take_picture
from tests.support.script import TalkingModel
from tests.support.server import make_site, opener_for, serving
from tests.support.wire import chat, said, user


async def test_the_first_member_is_made_from_an_example(tmp_path: Path) -> None:
    async with serving(make_site(tmp_path, opener_for(TalkingModel()))) as served:
        session = (await served.client.get("/api/session")).json()
        assert (session["workspace"]["hasAgent"], session["members"]) == (False, [])
        early = await served.client.get("/api/threads")
        assert (early.status_code, early.json()["error"]["code"]) == (409, "setup")
        offer = (await served.client.get("/api/setup")).json()
        assert len(offer["examples"]) == 3
        assert all(set(example["title"]) == {"en", "zh"} and example["text"] for example in offer["examples"])
        assert (await served.client.post("/api/setup", json={"example": "nothing"})).status_code == 404
        made = await served.client.post("/api/setup", json={"example": "helper", "name": "Pim"})
        assert (made.status_code, made.json()["workspace"]["hasAgent"]) == (201, True)
        assert "You are Pim" in (tmp_path / "Agent.md").read_text()
        assert said(await chat(served.client, "room", user("u1", "hello"))) == "Hello there."
        session = (await served.client.get("/api/session")).json()
        assert session["members"][0]["name"] == "Pim"
        again = await served.client.post("/api/setup", json={"example": "helper"})
        assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


async def test_m1_a_folder_of_another_agent_is_served_as_it_is(tmp_path: Path) -> None:
    root = copy_folder("nanobot", tmp_path / "home") / "workspace"
    before = take_picture(root)
    async with serving(make_site(root, opener_for(TalkingModel()))) as served:
        session = (await served.client.get("/api/session")).json()
        assert session["workspace"]["hasAgent"] is True
        assert [member["name"] for member in session["members"]] == ["nanobot"]
        assert said(await chat(served.client, "room", user("u1", "hello"))) == "Hello there."
        refused = await served.client.post("/api/setup", json={"example": "helper"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert take_picture(root) == before


async def test_edited_words_are_taken_as_they_are(tmp_path: Path) -> None:
    async with serving(make_site(tmp_path, opener_for(TalkingModel()))) as served:
        body = {"example": "captain", "text": "# Eigen\n\nWords of my own.\n"}
        assert (await served.client.post("/api/setup", json=body)).status_code == 201
        assert (tmp_path / "Agent.md").read_text() == body["text"]
