"""The skill studio: tools see one draft alone, and only a yes to its diff puts it in place."""

from __future__ import annotations

import json
from pathlib import Path

from shipmate.app import Shipmate
from shipmate.models.scripted import Script, ScriptedModel, call
from shipmate.values.message import tool_parts
from tests.crew.test_self_tool import open_self
from tests.support.workspace import messages_of, talk

ROOM = "cli:studio:letters"
SKILL = "---\nname: letters\ndescription: Write letters.\n---\n# Letters\n"


async def results(app: Shipmate, thread_id: str = ROOM) -> list[str]:
    parts = [part for message in await messages_of(app, thread_id) for part in tool_parts(message)]
    return [str(part.get("output", part.get("errorText"))) for part in parts]


async def test_tools_see_the_draft_alone_and_commands_too(tmp_path: Path) -> None:
    (tmp_path / "skills" / "letters").mkdir(parents=True)
    (tmp_path / "skills" / "letters" / "SKILL.md").write_text(SKILL)
    (tmp_path / "secret.txt").write_text("harbour\n")
    script: Script = {
        "look": [
            [
                call("glob", pattern="**/*"),
                call("read", path="SKILL.md"),
                call("read", path="../../../../secret.txt"),
                call("read", path=str(tmp_path / "secret.txt")),
                call("self_rename", name="Eve"),
                call("memory_upsert", scope="project", heading="a", content="b"),
            ],
            "Seen.",
        ],
        "run": [
            call(
                "exec",
                command=f"echo done > made.txt; ls -a .; cat {tmp_path}/secret.txt ../../../../secret.txt",
            ),
            "Ran.",
        ],
        "publish": [call("publish_skill"), "Published."],
    }
    async with open_self(tmp_path, script, mode="yolo") as app:
        assert (await talk(app, "look", thread_id=ROOM)).text == "Seen."
        seen = await results(app)
        assert "SKILL.md" in seen[0]
        assert "secret" not in seen[0]
        assert "# Letters" in seen[1]
        assert not [each for each in seen if "harbour" in each]
        assert "there is no tool 'self_rename'" in seen[4]
        assert "there is no tool 'memory_upsert'" in seen[5]
        await talk(app, "run", thread_id=ROOM)
        ran = (await results(app))[-1]
        assert "SKILL.md" in ran
        assert "harbour" not in ran
        draft = tmp_path / ".ship" / "studio" / "captain" / "letters"
        assert (draft / "made.txt").read_text() == "done\n"
        # Nothing has changed but the draft, and nothing lets it be put in place unasked.
        assert not (tmp_path / "skills" / "letters" / "made.txt").exists()
        assert (await talk(app, "publish", thread_id=ROOM)).status == "suspended"
        (question,) = await app.approvals.pending(ROOM)
        assert question.reason == "this changes what the member is: `publish_skill`"
        assert "+ made.txt (5 bytes)" in str(question.preview)
        assert (await talk(app, "yes", thread_id=ROOM)).text == "Published."
    assert sorted(path.name for path in (tmp_path / "skills" / "letters").iterdir()) == [
        "SKILL.md",
        "made.txt",
    ]


async def test_a_studio_begins_a_new_skill_and_takes_no_id_that_leads_elsewhere(tmp_path: Path) -> None:
    model = ScriptedModel({"hello": ["Hello."]})
    (tmp_path / "Agent.md").write_text("# Captain\n")
    (tmp_path / "ship.json").write_text(json.dumps({"env": {"KEY": "v"}, "selfTools": True}))
    async with Shipmate.open(tmp_path, model=model, environ={}) as app:
        await talk(app, "hello", thread_id=ROOM)
        assert [spec.name for spec in model.requests[-1].tools] == [
            "read", "glob", "grep", "write", "edit", "exec", "job", "publish_skill",
        ]  # fmt: skip
        for wrong in ("cli:studio:..", "cli:studio:a/b", "cli:studio:../../x"):
            outcome = await talk(app, "hello", thread_id=wrong)
            assert outcome.status == "failed"
            assert "is no id of a skill" in str(outcome.error)
        # Whoever talks from a platform is in no studio, whatever their chat is called.
        await talk(app, "hello", thread_id="telegram:studio:letters", platform="telegram")
        assert "memory_upsert" in [spec.name for spec in model.requests[-1].tools]
    assert "name: letters" in (tmp_path / ".ship" / "studio" / "captain" / "letters" / "SKILL.md").read_text()
    assert [path.name for path in (tmp_path / ".ship" / "studio" / "captain").iterdir()] == ["letters"]
