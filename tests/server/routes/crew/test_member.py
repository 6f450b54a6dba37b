"""Members over HTTP: one whose files are broken is told as its own trouble, and the others work."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.models.scripted import ScriptedModel
from tests.support.server import make_site, make_workspace, opener_for, serving
from tests.support.wire import chat, said, user

BROKEN = {
    "member.json": "{nonsense",
    "Agent.md": "---\nname: [unclosed\n---\nYou are Bosun.\n",
}
TOLD = {"en": "member bosun cannot work:", "zh": "成员 bosun 现在无法工作："}


@pytest.mark.parametrize("language", TOLD)
@pytest.mark.parametrize("file", BROKEN)
async def test_h_a_broken_member_is_its_own_trouble_and_the_others_work(
    tmp_path: Path, file: str, language: str
) -> None:
    root = make_workspace(tmp_path)
    (root / "ship.json").write_text(f'{{"language": "{language}"}}')
    (root / "members" / "bosun").mkdir(parents=True)
    (root / "members" / "bosun" / file).write_text(BROKEN[file])
    async with serving(make_site(root, opener_for(ScriptedModel(["Aye."])))) as served:
        refused = await served.client.get("/api/members/bosun/files")
        problem = refused.json()["error"]
        # `setup` would make the page offer a first Agent.md.
        assert (refused.status_code, problem["code"]) == (409, "member")
        assert problem["message"].startswith(TOLD[language])
        assert f"members/bosun/{file}" in problem["message"]
        assert str(root) not in problem["message"]
        session = (await served.client.get("/api/session")).json()
        assert (session["workspace"]["hasAgent"], len(session["members"])) == (True, 1)
        assert (await served.client.get("/api/members/captain/files")).status_code == 200
        assert said(await chat(served.client, "web:room:1", user("u1", "hello"))) == "Aye."
        lost = await chat(served.client, "web:room:2", user("u2", "hello"), member="bosun")
        assert TOLD[language] in str(lost)


async def test_h_a_broken_captain_is_no_missing_one(tmp_path: Path) -> None:
    root = make_workspace(tmp_path)
    async with serving(make_site(root, opener_for(ScriptedModel([])))) as served:
        assert (await served.client.get("/api/members/captain/files")).status_code == 200
        (root / "Agent.md").write_text(BROKEN["Agent.md"])
        refused = await served.client.get("/api/members/captain/files")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "member")
        assert refused.json()["error"]["message"].startswith("Agent.md:")


async def test_a_name_cannot_turn_round_what_stands_beside_it(tmp_path: Path) -> None:
    root = make_workspace(tmp_path)
    (root / "members" / "bosun").mkdir(parents=True)
    (root / "members" / "bosun" / "Agent.md").write_text('---\nname: "Bo\u202esun"\n---\nBe brief.\n')
    async with serving(make_site(root, opener_for(ScriptedModel(["Aye."])))) as served:
        members = (await served.client.get("/api/session")).json()["members"]
        assert [each["name"] for each in members][1:] == [r"Bo\u{202e}sun"]
