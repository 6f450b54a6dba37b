"""Projects are listed with rights, made when a person allows it, and files are named by their project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call
from shipmate.values.message import JsonObject, tool_parts
from shipmate.values.thread_id import ThreadId
from tests.support.workspace import ROOM, said


async def results(root: Path, *calls: object, **permissions: object) -> list[JsonObject]:
    (root / "Agent.md").write_text("# Captain\n")
    (root / "ship.json").write_text(json.dumps({"permissions": permissions}))
    async with Shipmate.open(root, model=ScriptedModel([[*calls], "Done."]), environ={}) as app:  # pyright: ignore[reportArgumentType]
        await (await app.receive(said("go"))).outcome()
        thread = await app.threads.read(ThreadId.parse(ROOM))
    return list(tool_parts(thread.messages[-1]))


async def test_a_project_is_made_listed_and_its_files_are_named_by_it(tmp_path: Path) -> None:
    (tmp_path / "projects/old").mkdir(parents=True)
    (tmp_path / "projects/old/meta.json").write_text('{"name": "Old", "editors": ["nina"]}')
    made, listed, wrote, read, closed, found = await results(
        tmp_path,
        call("project_create", id="new", name="New\nOne", description="tables", editors=[]),
        call("project_list"),
        call("project_write", projectId="new", path="a.md", content="alpha\n"),
        call("project_read", project="new", file_path="a.md"),
        call("project_write", project="old", path="a.md", content="beta\n"),
        call("project_glob", project_id="new", pattern="*.md"),
        allow=["project_create", "write(projects/**)"],
    )
    assert made["output"] == "Made projects/new/."
    assert [(each["id"], each["may_write"]) for each in listed["output"]] == [("new", True), ("old", False)]
    assert listed["output"][0]["name"] == "New One"
    assert (tmp_path / "projects/new/a.md").read_text() == "alpha\n"
    assert "Created projects/new/a.md" in wrote["output"]
    assert "alpha" in str(read["output"])
    assert "old" in closed["errorText"]
    assert not (tmp_path / "projects/old/a.md").exists()
    assert "a.md" in found["output"]


@pytest.mark.parametrize("name", ["..", "a/b", "", ".git", "../../etc", "x" * 65])
async def test_a_project_that_leads_elsewhere_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "projects").mkdir()
    made, wrote = await results(
        tmp_path,
        call("project_create", id=name, name="X"),
        call("project_write", project=name, path="a.md", content="x"),
        mode="yolo",
    )
    assert "Nothing was made" in made["errorText"]
    assert "is no project" in wrote["errorText"]
    assert list((tmp_path / "projects").iterdir()) == []


async def test_a_project_that_is_there_is_not_made_again_and_one_asks(tmp_path: Path) -> None:
    (tmp_path / "projects/one").mkdir(parents=True)
    again, asked = await results(
        tmp_path, call("project_create", id="one", name="One"), call("project_create", id="two", name="Two")
    )
    assert "is there already" in again["errorText"]
    assert asked["state"] == "approval-requested"
    assert not (tmp_path / "projects/two").exists()
