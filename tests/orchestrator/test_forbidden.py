"""A rule or mode that came between the question and the act holds at the act, whoever said yes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call
from tests.support.workspace import messages_of, talk, tools_of

TIGHTENED = "---\napprovals:\n  deny: [write]\n---\n# Captain\n"


async def _open(folder: Path, **permissions: Any) -> Shipmate:
    (folder / "Agent.md").write_text("# Captain\n")
    (folder / "ship.json").write_text(json.dumps({"permissions": permissions}))
    model = ScriptedModel({"": [call("write", path="canary.md", content="x\n"), "Done."]})
    return await Shipmate.open(folder, model=model, environ={"PATH": os.environ["PATH"]})


async def _answered(app: Shipmate) -> tuple[str, str]:
    ((_, state, told),) = tools_of((await messages_of(app))[1])
    return state, str(told)


async def test_a_deny_written_into_agent_md_after_the_question_holds(tmp_path: Path) -> None:
    app = await _open(tmp_path)
    await talk(app, "go")
    (tmp_path / "Agent.md").write_text(TIGHTENED)
    await talk(app, "yes")
    assert not (tmp_path / "canary.md").exists()
    assert await _answered(app) == ("output-error", "not allowed: a rule denies `write`")
    last = next(iter(app.approvals.audit.entries()))
    assert (last.event, last.by, last.rule) == ("refused", "rule", "write")
    await app.close()


@pytest.mark.parametrize(
    "permissions",
    [{"deny": ["write"]}, {"deny": ["write(*.md)"]}, {"mode": "read-only"}, {"ask": ["write("]}],
)
async def test_what_no_answer_lifts_holds_after_a_restart(
    tmp_path: Path, permissions: dict[str, Any]
) -> None:
    app = await _open(tmp_path)
    await talk(app, "go")
    await app.close()
    app = await _open(tmp_path, **permissions)
    await talk(app, "yes")
    assert not (tmp_path / "canary.md").exists()
    assert (await _answered(app))[0] == "output-error"
    assert next(iter(app.approvals.audit.entries())).event == "refused"
    await app.close()


async def test_what_became_unshowable_after_the_yes_is_a_refusal_on_record(tmp_path: Path) -> None:
    app = await _open(tmp_path)
    await talk(app, "go")
    (tmp_path / "canary.md").mkdir()
    await talk(app, "yes")
    assert (await _answered(app))[0] == "output-error"
    assert next(iter(app.approvals.audit.entries())).event == "refused"
    await app.close()
