"""In mode `preview` a person is asked about effects, not words, through the whole product."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.approvals.question import describe
from shipmate.approvals.value import Approval
from shipmate.models.scripted import ScriptedModel, call
from shipmate.tools.exec.preview.trial import Trials
from shipmate.tools.file.change.changeset import MARK
from shipmate.tools.tool import ToolContext, ToolResult
from tests.support.tree import read_tree
from tests.support.workspace import ROOM, messages_of, talk, tools_of


@asynccontextmanager
async def open_ship(folder: Path, *steps: list[Any], **permissions: Any) -> AsyncGenerator[Shipmate]:
    """Open a workspace in mode preview with the tools it really has."""
    (folder / "Agent.md").write_text("# Captain\n")
    (folder / "ship.json").write_text(json.dumps({"permissions": {"mode": "preview", **permissions}}))
    model = ScriptedModel({"": [*steps, "Done."]})
    app = await Shipmate.open(folder, model=model, environ={"PATH": os.environ["PATH"]})
    try:
        if not app.sandbox.works:
            pytest.skip("no sandbox works here")
        yield app
    finally:
        await app.close()


async def waiting(app: Shipmate) -> Approval:
    (found,) = await app.approvals.pending(ROOM)
    return found


async def results(app: Shipmate) -> list[tuple[str, str]]:
    return [(state, str(output)) for _, state, output in tools_of((await messages_of(app))[1])]


async def test_no_effect_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("b\na\n")
    async with open_ship(tmp_path, [call("exec", command="sort a.txt | head -1 && echo ok")]) as app:
        assert (await talk(app, "go")).text == "Done."
        assert await results(app) == [("output-available", "a\nok\n[exit 0]")]
        assert await app.approvals.list() == []


async def test_a_yes_applies_the_effects_that_were_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with open_ship(tmp_path, [call("exec", command="echo two >> a.txt; date +%N > now")]) as app:
        assert (await talk(app, "go")).status == "suspended"
        asked = await waiting(app)
        question = describe(asked)
        assert "Nothing has changed yet" in question
        assert "whatever it then changes" in question
        assert "+two" in question
        assert (tmp_path / "a.txt").read_text() == "one\n"
        assert (await talk(app, "yes")).text == "Done."
        # Not run again: the very bytes that were shown.
        assert f"+{(tmp_path / 'now').read_text().strip()}" in (asked.preview or "")
        assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"
        assert await results(app) == [("output-available", "[exit 0]\n[done: 1 added, 1 changed, 0 removed]")]
        assert list(app.layout.trials.iterdir()) == []


async def test_a_no_leaves_everything(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with open_ship(tmp_path, [call("exec", command="rm a.txt; echo x > y")]) as app:
        before = read_tree(tmp_path)
        await talk(app, "go")
        assert read_tree(tmp_path) == before
        await talk(app, "no")
        assert read_tree(tmp_path) == before
        assert (await results(app))[0][0] == "output-denied"
        assert list(app.layout.trials.iterdir()) == []


async def test_a_changed_base_is_tried_and_asked_anew(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with open_ship(tmp_path, [call("exec", command="sed -i s/$/!/ a.txt")]) as app:
        await talk(app, "go")
        first = await waiting(app)
        (tmp_path / "a.txt").write_text("mine\n")
        assert (await talk(app, "yes")).status == "suspended"
        assert (tmp_path / "a.txt").read_text() == "mine\n"
        second = await waiting(app)
        assert (second.round, second.id != first.id) == (2, True)
        assert "+mine!" in (second.preview or "")
        assert (await talk(app, "yes")).text == "Done."
        assert (tmp_path / "a.txt").read_text() == "mine!\n"


async def test_c7_a_base_changed_between_answer_and_act_is_tried_and_asked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "a.txt"
    note.write_text("one\n")
    apply = Trials.apply

    def be_late(self: Trials, context: ToolContext) -> ToolResult:
        monkeypatch.setattr(Trials, "apply", apply)
        note.write_text("mine\n")
        return apply(self, context)

    monkeypatch.setattr(Trials, "apply", be_late)
    async with open_ship(tmp_path, [call("exec", command="sed -i s/$/!/ a.txt")]) as app:
        await talk(app, "go")
        assert (await talk(app, "yes")).status == "suspended"
        assert note.read_text() == "mine\n"
        assert "+mine!" in ((await waiting(app)).preview or "")
        assert (await talk(app, "yes")).text == "Done."
    assert note.read_text() == "mine!\n"


async def test_a_change_somebody_else_made_meanwhile_needs_no_second_question(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with open_ship(tmp_path, [call("exec", command="echo two > a.txt")]) as app:
        await talk(app, "go")
        (tmp_path / "a.txt").write_text("two\n")
        assert (await talk(app, "yes")).text == "Done."
        assert await results(app) == [("output-available", "[exit 0]")]


async def test_an_answer_counts_after_a_restart(tmp_path: Path) -> None:
    calls = [call("exec", command="echo x > y")]
    async with open_ship(tmp_path, calls) as app:
        await talk(app, "go")
    async with open_ship(tmp_path, calls) as app:
        assert (await talk(app, "yes")).text == "Done."
    assert (tmp_path / "y").read_text() == "x\n"


async def test_a_later_call_is_tried_when_the_earlier_is_decided(tmp_path: Path) -> None:
    calls = [call("write", path="a.txt", content="tea\n"), call("exec", command="cp a.txt b.txt")]
    async with open_ship(tmp_path, calls) as app:
        await talk(app, "go")
        assert (await waiting(app)).tool == "write"
        assert (await talk(app, "yes")).status == "suspended"
        asked = await waiting(app)
        assert asked.tool == "exec"
        assert "+tea" in (asked.preview or "")
        assert (await talk(app, "yes")).text == "Done."
    assert (tmp_path / "b.txt").read_text() == "tea\n"


async def test_a_denied_command_is_not_tried(tmp_path: Path) -> None:
    async with open_ship(tmp_path, [call("exec", command="rm a.txt | cat")], deny=["exec(rm *)"]) as app:
        (tmp_path / "a.txt").write_text("one\n")
        await talk(app, "go")
        ((state, words),) = await results(app)
        assert (state, "not allowed" in words) == ("output-error", True)
        assert not app.layout.trials.exists()


@pytest.mark.parametrize(
    "more",
    [{"network": True}, {"background": True}, {"variables": ["KEY"]}],
    ids=lambda more: next(iter(more)),
)
async def test_what_reaches_out_is_asked_by_its_words(tmp_path: Path, more: dict[str, Any]) -> None:
    async with open_ship(tmp_path, [call("exec", command="echo x > y", **more)]) as app:
        await talk(app, "go")
        asked = await waiting(app)
        assert "trial" not in asked.target
        assert "Tried" not in (asked.preview or "")


async def test_what_a_rule_allows_runs_directly(tmp_path: Path) -> None:
    async with open_ship(tmp_path, [call("exec", command="touch y")], allow=["exec(touch y)"]) as app:
        assert (await talk(app, "go")).text == "Done."
        assert (tmp_path / "y").exists()


async def test_the_default_mode_tries_nothing(tmp_path: Path) -> None:
    async with open_ship(tmp_path, [call("exec", command="echo a && echo b")], mode="ask") as app:
        await talk(app, "go")
        assert "trial" not in (await waiting(app)).target


async def test_opening_finishes_what_a_crash_cut_off(tmp_path: Path) -> None:
    async with open_ship(tmp_path, [call("exec", command="echo x > y; echo z > z")]) as app:
        await talk(app, "go")
        (trial,) = app.layout.trials.iterdir()
    # As if the process had ended right after the decision to put it in place was on disk.
    (trial / MARK).write_bytes(b"")
    async with open_ship(tmp_path):
        assert (tmp_path / "y").read_text() == "x\n"
        assert (tmp_path / "z").read_text() == "z\n"
        assert not trial.exists()


async def test_too_much_to_show_is_asked_by_its_words(tmp_path: Path) -> None:
    command = "head -c 2000000 /dev/zero | tr '\\0' 'a' | fold -w 80 > big.txt; split -b 900000 big.txt part"
    async with open_ship(tmp_path, [call("exec", command=command)]) as app:
        await talk(app, "go")
        asked = await waiting(app)
        assert "trial" not in asked.target
        assert "could not be tried" in (asked.preview or "")
        assert list(app.layout.trials.iterdir()) == []


READING = ("cat private/x | cat", "cat priv*/x", "p=private; cat $p/x", "tar c . | strings", "cat private/x")


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("kind", ["deny", "ask"])
async def test_what_rules_keep_from_reading_is_not_tried(tmp_path: Path, kind: str, command: str) -> None:
    """What a trial prints is a result that nobody was asked about."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "x").write_text("swordfish\n")
    async with open_ship(tmp_path, [call("exec", command=command)], **{kind: ["read(private/**)"]}) as app:
        await talk(app, "go")
        assert "swordfish" not in str(await messages_of(app))


async def test_a_command_that_an_ask_rule_names_is_not_tried(tmp_path: Path) -> None:
    steps = [call("exec", command="ls | sort; touch new")]
    async with open_ship(tmp_path, steps, ask=["exec(ls *)"]) as app:
        assert (await talk(app, "go")).status == "suspended"
        assert "ls | sort" in describe(await waiting(app))
        assert not (await waiting(app)).target.get("trial")


async def test_effects_that_rules_or_rights_deny_are_never_applied(tmp_path: Path) -> None:
    meta = tmp_path / "projects" / "closed" / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text('{"name": "closed", "editors": ["nobody"]}')
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "old").write_text("old\n")
    command = "for p in kept/new kept/old projects/closed/x plain; do echo x > $p; done; mv kept gone"
    async with open_ship(tmp_path, [call("exec", command=command)], deny=["write(kept/**)"]) as app:
        assert (await talk(app, "go")).status == "suspended"
        await talk(app, "yes")
        assert (tmp_path / "plain").read_text() == "x\n"
        assert [path.name for path in (tmp_path / "kept").iterdir()] == ["old"]
        assert (tmp_path / "kept" / "old").read_text() == "old\n"
        assert not (meta.parent / "x").exists()
