"""A member installs skills from text, folders, archives and addresses; hostile ones are refused."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from shipmate.crew import self_skill
from shipmate.models.port import ModelRequest
from shipmate.models.scripted import Script, ScriptedCall, call
from shipmate.values.message import tool_parts
from tests.crew.test_self_tool import last_call, open_self
from tests.support.workspace import ROOM, messages_of, talk

SKILL = "---\nname: letters\ndescription: Write letters.\n---\n# Letters\n"


def zipped(path: Path, files: dict[str, str | bytes], **modes: int) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = modes.get(name.rpartition("/")[2].partition(".")[0], 0o100644) << 16
            archive.writestr(entry, content)


def tarred(path: Path, *entries: tuple[tarfile.TarInfo, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for entry, content in entries:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def commit_all(folder: Path) -> None:
    config = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*config, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def installing(**given: str) -> Script:
    return {"install": [call("self_install_skill", **given), "Well."]}


async def test_a_skill_from_text_is_listed_replaced_by_a_folder_and_moved_aside(tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    (draft / "scripts").mkdir(parents=True)
    (draft / "SKILL.md").write_text(SKILL + "Begin with the date.\n")
    (draft / "scripts" / "date.sh").write_text("touch ran\n")
    (draft / "scripts" / "date.sh").chmod(0o755)
    (draft / "seal.png").write_bytes(b"\x89PNG\0\1")
    script: Script = {
        "write": [
            call("self_install_skill", id="letters", promptContent="# Letters\n", description="L."),
            "Ok.",
        ],
        "better": [call("self_install_skill", id="letters", source="draft"), "Ok."],
        "list": [call("self_list_skills"), "Ok."],
        "drop": [call("self_uninstall_skill", id="letters"), "Ok."],
    }
    place = tmp_path / "skills" / "letters"
    async with open_self(tmp_path, script, mode="auto-edit", allow=["self_*"]) as app:
        assert (await talk(app, "write")).status == "suspended"
        (question,) = await app.approvals.pending(ROOM)
        assert "+ SKILL.md" in str(question.preview)
        assert not place.exists()
        await talk(app, "yes")
        assert (place / "SKILL.md").read_text() == '---\ndescription: "L."\n---\n# Letters\n'
        await talk(app, "better")
        (question,) = await app.approvals.pending(ROOM)
        for line in (
            "~ SKILL.md",
            "+ scripts/date.sh (10 bytes, program)",
            "+ seal.png (6 bytes)",
            "+touch ran",
        ):
            assert line in str(question.preview)
        # What a person saw is what is installed, or they are asked again.
        (draft / "SKILL.md").write_text(SKILL)
        await talk(app, "yes")
        (again,) = await app.approvals.pending(ROOM)
        assert "Begin with" not in str(again.preview)
        await talk(app, "yes")
        assert (place / "SKILL.md").read_text() == SKILL
        assert os.access(place / "scripts" / "date.sh", os.X_OK)
        assert not (tmp_path / "ran").exists()
        await talk(app, "list")
        listed = {each["name"]: each for each in (await last_call(app))["output"]}
        assert listed["letters"] == {
            "name": "letters",
            "description": "Write letters.",
            "location": "skills/letters/SKILL.md",
            "own": True,
            "missing": [],
        }
        assert not listed["git"]["own"]
        await talk(app, "drop")
        await talk(app, "yes")
        assert not place.exists()
    kept = sorted((tmp_path / ".ship" / "removed").glob("skill-letters-*"))
    assert [(each / "SKILL.md").is_file() for each in kept] == [True, True]


async def test_a_member_has_its_skills_in_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "members" / "nina").mkdir(parents=True)
    (tmp_path / "members" / "nina" / "Agent.md").write_text("# Nina\n")
    zipped(tmp_path / "a.zip", {"letters/SKILL.md": SKILL, "letters/run.sh": "true\n"}, run=0o100755)
    async with open_self(tmp_path, installing(id="letters", source="a.zip")) as app:
        await talk(app, "install", member="nina")
        await talk(app, "yes")
    place = tmp_path / "members" / "nina" / "skills" / "letters"
    assert sorted(path.name for path in place.iterdir()) == ["SKILL.md", "run.sh"]
    assert not (tmp_path / "skills").exists()


def hostile(root: Path) -> dict[str, tuple[dict[str, str], str]]:
    """Make what must not be installed: what is asked for, and what is said."""
    big = b"0" * 30_000_000
    zipped(root / "slip.zip", {"SKILL.md": SKILL, "../../Agent.md": "mine"})
    zipped(root / "root.zip", {"SKILL.md": SKILL, "/etc/cron.d/x": "mine"})
    zipped(root / "back.zip", {"SKILL.md": SKILL, "..\\Agent.md": "mine"})
    zipped(root / "link.zip", {"SKILL.md": SKILL, "out": "/etc/passwd"}, out=0o120777)
    zipped(root / "bomb.zip", {"SKILL.md": SKILL, "big": big})
    zipped(root / "many.zip", {"SKILL.md": SKILL, **{f"f{n}": "" for n in range(300)}})
    zipped(root / "case.zip", {"SKILL.md": SKILL, "skill.md": "mine"})
    zipped(root / "env.zip", {"SKILL.md": SKILL, ".env": "KEY=1"})
    zipped(root / "none.zip", {"README.md": "no skill"})
    (root / "torn.zip").write_bytes((root / "slip.zip").read_bytes()[:40])
    text = (tarfile.TarInfo("SKILL.md"), SKILL.encode())
    tarred(root / "slip.tar.gz", text, (tarfile.TarInfo("a/../../b"), b"mine"))
    tarred(root / "soft.tar.gz", text, (link("out", "/etc"), b""))
    tarred(root / "hard.tar.gz", text, (link("out", "SKILL.md", tarfile.LNKTYPE), b""))
    tarred(root / "node.tar.gz", text, (link("out", "", tarfile.CHRTYPE), b""))
    tarred(root / "bomb.tar.gz", text, (tarfile.TarInfo("big"), big))
    (root / "linked").mkdir()
    (root / "linked" / "SKILL.md").write_text(SKILL)
    (root / "linked" / "out").symlink_to("/etc/passwd")
    sources = {
        "slip.zip": "leads elsewhere",
        "root.zip": "leads elsewhere",
        "back.zip": "leads elsewhere",
        "link.zip": "a link or a special file",
        "bomb.zip": "longer than 4,000,000 bytes",
        "many.zip": "at most 200 files",
        "case.zip": "twice",
        "env.zip": "no tool may bring",
        "none.zip": "no SKILL.md",
        "torn.zip": "cannot be read",
        "slip.tar.gz": "leads elsewhere",
        "soft.tar.gz": "a link or a special file",
        "hard.tar.gz": "a link or a special file",
        "node.tar.gz": "a link or a special file",
        "bomb.tar.gz": "unpacks to more than",
        "linked": "a link or a special file",
        "../outside": "leaves the workspace",
        "ship.json": "not available to tools",
        "ext::sh -c touch% ran": "no address",
        "file:///etc": "no address",
        "-uhttps://example.com/a": "no address",
        "--upload-pack=touch ran": "no address",
        "git@example.com:a.git": "no address",
        "ssh://example.com/a": "no address",
        "https://user:key@example.com/a": "no address",
        "https://example.com/a;touch ran": "no address",
    }
    asked = {source: ({"id": "x", "source": source}, words) for source, words in sources.items()}
    for name in ("../x", "..", ".hidden", "a/b", "", "x" * 65):
        asked[f"id {name}"] = {"id": name, "content": SKILL}, "is no id"
    return asked | {"both": ({"id": "x", "content": SKILL, "source": "linked"}, "either")}


async def test_what_leads_out_is_too_large_or_no_skill_is_refused_before_anybody_is_asked(
    tmp_path: Path,
) -> None:
    asked = hostile(tmp_path)
    calls = [call("self_install_skill", **given) for given, _ in asked.values()]
    before = {path.name for path in tmp_path.iterdir()}
    async with open_self(tmp_path, {"install": [calls, "Well."]}, mode="yolo") as app:
        assert (await talk(app, "install")).text == "Well."
        assert await app.approvals.pending(ROOM) == []
        parts = [part for message in await messages_of(app) for part in tool_parts(message)]
    for (name, (_, words)), part in zip(asked.items(), parts, strict=True):
        assert words in part["errorText"], name
    assert {path.name for path in tmp_path.iterdir()} - before == {"Agent.md", "ship.json", ".ship"}


async def test_a_skills_folder_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "ship"
    root.mkdir()
    (root / "skills").symlink_to(outside)
    async with open_self(root, installing(id="letters", content=SKILL)) as app:
        await talk(app, "install")
        assert "behind a link" in (await last_call(app))["errorText"]
    assert list(outside.iterdir()) == []


async def test_a_repository_is_fetched_after_one_yes_and_installed_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "far" / "skill"
    (source / "sub").mkdir(parents=True)
    (source / "SKILL.md").write_text(SKILL)
    (source / ".gitattributes").write_text("*.md filter=evil\n")
    (source / "sub" / "a.txt").write_text("a\n")
    hook = source / ".git" / "hooks" / "post-checkout"
    commit_all(source)
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    # No server with a certificate stands here: the test lets the one protocol be another.
    monkeypatch.setattr(self_skill, "PROTOCOL", "file")
    monkeypatch.setattr(self_skill, "ADDRESS", re.compile(r"file:///[A-Za-z0-9._/-]+"))
    fetched: list[str] = []

    def install(request: ModelRequest) -> ScriptedCall:
        (done,) = [part for message in request.messages for part in tool_parts(message)]
        fetched.append(str(done.get("output", done)).split()[2].rstrip(";"))
        return call("self_install_skill", id="letters", source=fetched[0])

    script: Script = {
        "fetch": [call("self_install_skill", id="letters", source=f"file://{source}"), install, "Ok."]
    }
    async with open_self(tmp_path, script) as app:
        await talk(app, "fetch")
        (question,) = await app.approvals.pending(ROOM)
        assert str(question.preview).startswith(f"fetch file://{source}\n")
        assert not (tmp_path / ".ship" / "scratch").exists()
        await talk(app, "yes")
        (question,) = await app.approvals.pending(ROOM)
        assert "+ sub/a.txt (2 bytes)" in str(question.preview)
        assert not (tmp_path / "skills").exists()
        assert (await talk(app, "yes")).text == "Ok."
    assert (tmp_path / "skills" / "letters" / "SKILL.md").read_text() == SKILL
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "skills" / "letters" / ".git").exists()
