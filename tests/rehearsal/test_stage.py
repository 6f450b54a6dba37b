"""What a script tries to reach from the stage, and what it reaches."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
from pathlib import Path

import pytest

from shipmate.approvals.audit import Audit
from shipmate.priming.rehearsal.answer_piece import AnswerPiece
from shipmate.rehearsal.perform import perform
from shipmate.rehearsal.rehearsal_setting import Setting, ToolMode
from shipmate.store.file_store import open_store
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import Layout
from tests.support.cassette import (
    STEP,
    approved,
    called,
    failed,
    make_script,
    make_workspace,
    pieces_of,
    snapshot,
    wish,
    words,
)
from tests.support.thread_strategy import PIXEL

needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "ship"


async def play(layout: Layout, *parts: JsonObject, tools: ToolMode = "sandbox") -> list[AnswerPiece]:
    """Rehearse calls, each of which a person approved, with the script as the model."""
    said = [part for each in parts for part in (STEP, approved(each))]
    script = make_script(("go", [*said, STEP, words("Done.")]))
    performed = await perform(layout, script, Setting(model="script", tools=tools))
    (turn,) = pieces_of(performed)
    assert turn[-1].text == "Done."
    return [piece for piece in turn[:-1] if piece.kind != "call"]


async def test_what_is_shown_in_the_copy_is_not_kept_in_the_workspace(root: Path) -> None:
    layout = make_workspace(root)
    (root / "dot.gif").write_bytes(base64.b64decode(PIXEL.partition(",")[2]))
    before = snapshot(root)
    results = await play(layout, called("show_image", "c1", output="recorded", path="dot.gif"))
    assert [piece.kind for piece in results] == ["result", "file"]
    assert results[0].text.startswith("Shown: dot.gif")
    assert snapshot(root) == before
    assert not layout.upload("up").parent.exists()


async def test_what_a_script_lets_through_acts_in_the_copy_alone(root: Path) -> None:
    layout = make_workspace(root)
    (root / "log.md").write_text("old\n")
    before = snapshot(root)
    results = await play(
        layout,
        called("write", "c1", output="recorded", path="log.md", content="new\n"),
        called("read", "c2", output="recorded", path="log.md"),
        called("read", "c3", output="recorded", path=str(root / "log.md")),
        called("memory_upsert", "c4", output="recorded", scope="project", heading="Sea", content="Wide."),
    )
    assert [piece.kind for piece in results] == ["result"] * 4
    assert results[0].text.startswith("Replaced log.md")
    assert "new" in results[1].text
    assert "new" in results[2].text
    assert results[3].text.startswith("Remembered")
    assert snapshot(root) == before


@needs_sandbox
async def test_a_command_runs_in_the_copy_and_sees_no_workspace(root: Path) -> None:
    layout = make_workspace(root)
    (root / ".env").write_text("KEY=s3cret-value\n")
    (root / "notes.md").write_text("plain\n")
    hidden = f"{root.parent}/./ship"
    before = snapshot(root)
    results = await play(
        layout,
        called("exec", "c1", output="recorded", command="pwd; cat notes.md; echo x > made.md"),
        called(
            "exec", "c2", output="recorded", command=f"cat {root}/.env {hidden}/.env .env; ls -a {hidden}"
        ),
        called("exec", "c3", output="recorded", command=f"echo gone > {root}/notes.md; rm -rf {hidden}"),
        called("exec", "c4", output="recorded", command="ls; cat notes.md"),
    )
    assert str(root) in results[0].text, "the copy is named as the workspace is"
    assert "plain" in results[0].text
    assert all("s3cret-value" not in piece.text for piece in results)
    assert "made.md" in results[3].text
    assert "gone" in results[3].text
    assert snapshot(root) == before


async def test_network_variables_and_sends_are_answered_from_the_script(root: Path) -> None:
    layout = make_workspace(root, env={"TOKEN": "s3cret-value"})
    (root / "a.txt").write_text("a")
    results = await play(
        layout,
        called("exec", "c1", output="recorded 1", command="id", network=True),
        called("exec", "c2", output="recorded 2", command="echo $TOKEN", variables=["TOKEN"]),
        called("send_file", "c3", output="recorded 3", path="a.txt"),
    )
    assert [piece.text for piece in results] == ["recorded 1", "recorded 2", "recorded 3"]


@pytest.mark.parametrize("tools", ["script", "sandbox"])
async def test_no_address_is_asked_and_no_server_started(root: Path, tools: ToolMode) -> None:
    marker = root.parent / "started"
    server = {"command": "touch", "args": [str(marker)]}
    layout = make_workspace(
        root, permissions={"mode": "yolo", "network": True}, mcp={"servers": {"sea": server}}
    )
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(100))
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    results = await play(
        layout,
        called("web_fetch", "c1", output="a page", url=address),
        called("mcp__sea__depth", "c2", output="12", place="here"),
        called("exec", "c3", output="recorded", command=f"exec 3<>/dev/tcp/127.0.0.1/{port}; echo hi >&3"),
        tools=tools,
    )
    listener.close()
    assert [piece.text for piece in results[:2]] == ["a page", "12"]
    assert asked == []
    assert not marker.exists()


async def test_links_that_lead_out_are_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("outside\n")
    layout = make_workspace(root)
    (root / "link.md").symlink_to(outside)
    (root / "own.md").symlink_to(root / "Agent.md")
    memory = root / ".ship" / "memory"
    memory.mkdir(parents=True)
    (memory / "project.md").symlink_to(outside)
    before = snapshot(root)
    results = await play(
        layout,
        called("write", "c1", output="recorded", path="link.md", content="in"),
        called("write", "c2", output="recorded", path="own.md", content="in"),
        called("write", "c3", output="recorded", path=f"../{outside.name}", content="in"),
        called("write", "c4", output="recorded", path=str(outside), content="in"),
        called("memory_upsert", "c5", output="recorded", scope="project", heading="Sea", content="Wide."),
    )
    assert "recorded" not in [piece.text for piece in results]
    assert outside.read_text() == "outside\n"
    assert snapshot(root) == before


async def test_p2_links_to_places_of_the_workspace_lead_to_those_of_the_copy(root: Path) -> None:
    layout = make_workspace(root)
    (root / "docs").mkdir()
    (root / "docs" / "log.md").write_text("08:00\n")
    (root / ".env").write_text("KEY=s3cret-value\n")
    (root / "file.md").symlink_to(root / "docs" / "log.md")
    (root / "folder").symlink_to(root / "docs")
    (root / "docs" / "round.md").symlink_to(root / "docs" / ".." / "docs" / "log.md")
    (root / "out.md").symlink_to(root / ".." / "outside.md")
    (root.parent / "outside.md").write_text("outside\n")
    (root / "keys.md").symlink_to(root / ".env")
    before = snapshot(root)
    results = await play(
        layout,
        called("read", "c1", output="recorded", path="file.md"),
        called("read", "c2", output="recorded", path="folder/log.md"),
        called("read", "c3", output="recorded", path="docs/round.md"),
        called("write", "c4", output="recorded", path="folder/new.md", content="in the copy\n"),
        called("read", "c5", output="recorded", path="docs/new.md"),
        called("read", "c6", output="recorded", path="out.md"),
        called("read", "c7", output="recorded", path="keys.md"),
    )
    assert all("08:00" in piece.text for piece in results[:3])
    assert "in the copy" in results[4].text
    assert [piece.kind for piece in results[5:]] == ["error", "error"]
    assert all("outside\n" not in piece.text and "s3cret" not in piece.text for piece in results)
    assert snapshot(root) == before


async def test_p2_refusals_in_the_copy_name_the_places_of_the_workspace(root: Path) -> None:
    layout = make_workspace(root, permissions={"deny": ["write(docs/**)"]})
    (root / "link.md").symlink_to(root.parent / "outside.md")
    results = await play(
        layout,
        called("read", "c1", output="recorded", path=str(root / "missing.md")),
        called("read", "c2", output="recorded", path=str(root / "link.md")),
        called("write", "c3", output="recorded", path=str(root / "docs" / "a.md"), content="x"),
        called("write", "c4", output="recorded", path=str(root / ".env"), content="x"),
        called("read", "c5", output="recorded", path=f"{root}/../outside.md"),
        called("edit", "c6", output="recorded", path=str(root / "Agent.md"), old="none", new="x"),
        called("exec", "c7", output="recorded", command=f"cat {root}/.env"),
        called("write", "c8", output="recorded", path=str(root), content="x"),
    )
    assert all("shipmate-" not in piece.text for piece in results), [piece.text for piece in results]


@needs_sandbox
async def test_a_link_made_in_the_copy_leads_nowhere(root: Path, tmp_path: Path) -> None:
    layout = make_workspace(root)
    (root / "notes.md").write_text("plain\n")
    outside = tmp_path / "outside.md"
    outside.write_text("outside\n")
    before = snapshot(root)
    target = os.path.relpath("/", root)
    results = await play(
        layout,
        called(
            "exec",
            "c1",
            output="recorded",
            command=f"ln -s {outside} a; ln -s /../{outside} b; ln -s {target} c",
        ),
        called("write", "c2", output="recorded", path="a", content="in"),
        called("write", "c3", output="recorded", path="b", content="in"),
        called("write", "c4", output="recorded", path=f"c{outside}", content="in"),
        called("edit", "c5", output="recorded", path=f"c{root}/notes.md", old="plain", new="gone"),
    )
    assert [piece.kind for piece in results[1:]] == ["error"] * 4
    assert outside.read_text() == "outside\n"
    assert snapshot(root) == before


@needs_sandbox
async def test_a_path_that_is_swapped_while_it_is_written_leads_nowhere(root: Path, tmp_path: Path) -> None:
    layout = make_workspace(root)
    (root / "inside").mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    before = snapshot(root)
    swap = f"while :; do ln -sfn {outside} a; ln -sfn inside a; sleep 0.001; done"
    await play(
        layout,
        called("exec", "c0", output="recorded", command=swap, background=True),
        *(called("write", f"c{n}", output="recorded", path=f"a/{n}.md", content="in") for n in range(1, 20)),
    )
    assert list(outside.iterdir()) == []
    assert snapshot(root) == before


@pytest.mark.parametrize("mode", ["yolo", "ask", "preview", "auto-edit"])
async def test_nothing_acts_when_the_script_answers(root: Path, mode: str) -> None:
    layout = make_workspace(root, permissions={"mode": mode, "allow": ["exec(touch *)", "write"]})
    before = snapshot(root)
    results = await play(
        layout,
        called("write", "c1", output="recorded", path="made.md", content="x"),
        called("exec", "c2", output="recorded", command="touch made.txt"),
        called("memory_upsert", "c3", output="recorded", scope="project", heading="Sea", content="Wide."),
        failed("exec", "c4", error="it failed", command="touch other.txt"),
        tools="script",
    )
    assert [piece.text for piece in results] == ["recorded", "recorded", "recorded", "it failed"]
    assert snapshot(root) == before


async def test_a_rehearsal_keeps_to_the_rules_of_the_workspace(root: Path) -> None:
    layout = make_workspace(root, permissions={"deny": ["write"]})
    (result,) = await play(layout, called("write", output="recorded", path="made.md", content="x"))
    assert result.kind == "error"
    assert result.text.startswith("not allowed")


async def test_live_tools_act_and_are_audited_and_no_list_shows_it(root: Path) -> None:
    layout = make_workspace(root, permissions={"allow": ["write", "exec(echo hello)"]})
    script = make_script(
        (wish("write", path="made.md", content="x\n"), [words("Done.")]),
        (
            wish("exec", command="touch other.md"),
            [approved(called("exec", "c2", output="recorded", command="touch other.md"))],
        ),
        (wish("exec", command="echo hello"), [words("Done.")]),
    )
    performed = await perform(layout, script, Setting(model="rehearsal", tools="live"))
    turns = pieces_of(performed)
    results = [piece for turn in turns for piece in turn if piece.kind not in ("call", "words")]
    assert results[0].text.startswith("Created made.md")
    assert results[1].kind == "denial", "a script approves nothing real"
    assert (root / "made.md").read_text() == "x\n"
    assert not (root / "other.md").exists()
    events = [(entry.event, entry.tool) for entry in Audit(layout).entries()]
    assert ("allowed", "write") in events
    assert ("ran", "write") in events
    assert events.count(("decided", "exec")) == events.count(("asked", "exec")) > 0
    assert not list(layout.logs.rglob("*.log"))
    store = open_store(layout)
    await store.reconcile()
    assert await store.threads.list() == []
    assert await store.threads.list(binned=True) == []
    assert await store.search.find("Done") == []
    assert await store.consents.approvals() == []
    await store.close()
    assert not list(layout.threads.glob("*"))
    assert not list(layout.bin.glob("*"))


async def test_p2_what_a_script_itself_calls_acts_nowhere_real_whatever_the_rules_allow(root: Path) -> None:
    """A script file never authorises anything real: no mode, rule or grant was given for what a file says."""
    layout = make_workspace(root, permissions={"mode": "yolo", "allow": ["write", "exec(touch made.md)"]})
    (root / "log.md").write_text("08:00\n")
    outside = root.parent / "outside.md"
    outside.write_text("private")
    before = snapshot(root)
    results = await play(
        layout,
        called("write", "c1", output="recorded", path="made.md", content="x"),
        called("exec", "c2", output="recorded", command="touch made.md"),
        called("web_fetch", "c3", output="recorded", url="http://127.0.0.1:9/"),
        called("read", "c4", output="recorded", path=str(outside)),
        called("read", "c5", output="recorded", path="log.md"),
        tools="live",
    )
    assert [piece.kind for piece in results] == ["error"] * 4 + ["result"]
    assert all("no file authorises what acts or reaches out" in piece.text for piece in results[:2])
    assert "08:00" in results[4].text
    assert all("private" not in piece.text for piece in results)
    after = snapshot(root)
    assert {name for name in after if not name.startswith(".ship/")} == set(before)
    refused = [entry.tool for entry in Audit(layout).entries() if entry.event == "refused"]
    assert {"write", "exec"} <= set(refused)


async def test_p2_a_rule_that_denies_is_named_also_where_a_script_may_not_act(root: Path) -> None:
    layout = make_workspace(root, permissions={"deny": ["write"]})
    (result,) = await play(
        layout, called("write", output="recorded", path="made.md", content="x"), tools="live"
    )
    assert result.text.startswith("not allowed: ")
    assert "`write`" in result.text


def test_the_proofs_run_with_a_sandbox_that_works(root: Path) -> None:
    """Without one the tests above would hold because nothing ran."""
    make_workspace(root)
    assert shutil.which("bwrap") is None or Sandbox(Layout(root)).works
