"""What forms a member is always asked about, and projects are written by their editors alone."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.approvals.policy.policy import Policy
from shipmate.approvals.value import Verdict
from shipmate.models.scripted import ScriptedModel, call
from shipmate.workspace.config import Permissions
from tests.support.approval import make_call, make_grant
from tests.support.workspace import talk

FORMING = (
    "Agent.md",
    "agent.md",
    "SOUL.md",
    "AGENTS.md",
    "CLAUDE.md",
    "skills/x/SKILL.md",
    ".minds/priming/x.md",
    "memory/INDEX.md",
    "members/new/Agent.md",
    ".vscode/tasks.json",
    ".husky/pre-commit",
    "sub/.github/workflows/x.yml",
    ".mcp.json",
    ".pre-commit-config.yaml",
    "projects/x/meta.json",
    "MEMORY.md",
    ".claude/settings.json",
    "docs/../Agent.md",
)
OPEN = ("exec", "exec(git *)", "exec(cp *)", "exec(mv *)", "exec(cat *)", "exec(uniq *)", "exec(xxd *)")

CONFIG: dict[str, Any] = {
    "permissions": {"mode": "auto-edit", "allow": ["write(docs/**)"]},
    "skills": {"paths": ["docs/skills"]},
    "context": {"instructions": ["docs/STYLE.md"]},
    "mcp": {
        "servers": {
            "notes": {"command": "python3", "args": ["tools/notes.py", "--root", "notes"]},
            "more": {"command": "python3", "args": ["-m", "more.server"]},
            "top": {"command": "./top.sh"},
        }
    },
}


def write(root: Path, path: str, member: str = "captain", **permissions: Any) -> Verdict:
    policy = Policy(Permissions(**permissions), sandbox_works=lambda: True)
    return policy.judge(make_call(root, "write", {"path": path, "content": "x"}, member=member), ())


@pytest.mark.parametrize("path", FORMING)
def test_c12_what_forms_a_member_is_asked_about_and_says_so(tmp_path: Path, path: str) -> None:
    for mode, allow in (("auto-edit", ()), ("ask", ("write",)), ("auto-edit", ("write(**)",))):
        verdict = write(tmp_path, path, mode=mode, allow=allow)
        assert (verdict.action, verdict.why.key) == ("ask", "forms-member")


def test_c12_a_link_to_what_forms_a_member_is_no_way_round(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("x")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "note.md").symlink_to("../Agent.md")
    for allow in (("write(docs/**)",), ("write(docs/note.md)",), ()):
        assert write(tmp_path, "docs/note.md", mode="auto-edit", allow=allow).why.key == "forms-member"


def test_c12_only_a_rule_or_grant_that_names_the_very_path_covers_it(tmp_path: Path) -> None:
    assert write(tmp_path, "Agent.md", allow=("write(Agent.md)",)).action == "allow"
    assert write(tmp_path, "Agent.md", allow=("write(*.md)",)).action == "ask"
    assert write(tmp_path, "Agent.md", mode="yolo").action == "allow"
    assert write(tmp_path, "Agent.md", mode="yolo", ask=("write(Agent.md)",)).action == "ask"
    policy = Policy(Permissions(), sandbox_works=lambda: True)
    call = make_call(tmp_path, "write", {"path": "Agent.md", "content": "x"})
    assert policy.judge(call, (make_grant("write", "Agent.md"),)).action == "allow"


def test_other_files_stay_as_they_were(tmp_path: Path) -> None:
    for path in ("docs/Agent.md", "src/main.py", "docs/members.md", "projects/x/notes.md"):
        assert write(tmp_path, path, mode="auto-edit").action == "allow"
    assert write(tmp_path, ".ship/scratch/x").action == "allow"


@pytest.mark.parametrize("text", ['{"editors": ["bosun"]}', '{"editors": ["__none__"]}', "not json"])
def test_c18_a_closed_project_is_denied_in_every_mode(tmp_path: Path, text: str) -> None:
    meta = tmp_path / "projects" / "moon" / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(text)
    for path in ("projects/moon/x", "projects/moon/a/b.md", "Projects/MOON/x", "docs/../projects/moon/x"):
        for mode in ("ask", "auto-edit", "yolo"):
            verdict = write(tmp_path, path, mode=mode, allow=("write", "write(projects/moon/x)"))
            assert (verdict.action, verdict.why.key, verdict.why.what) == ("deny", "project", "moon")
    may = "allow" if "bosun" in text else "deny"
    assert write(tmp_path, "projects/moon/x", member="bosun", mode="auto-edit").action == may


def test_c18_a_closed_project_is_denied_whatever_letters_its_folder_has(tmp_path: Path) -> None:
    meta = tmp_path / "projects" / "Moon" / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text('{"editors": ["bosun"]}')
    for path in ("projects/Moon/x", "projects/moon/x"):
        assert write(tmp_path, path, mode="auto-edit").action == "deny"


def test_c18_rights_are_read_anew_when_they_change(tmp_path: Path) -> None:
    meta = tmp_path / "projects" / "moon" / "meta.json"
    meta.parent.mkdir(parents=True)
    policy = Policy(Permissions(mode="auto-edit"), sandbox_works=lambda: True)
    call = make_call(tmp_path, "write", {"path": "projects/moon/x", "content": "x"})
    assert policy.judge(call, ()).action == "allow"
    meta.write_text('{"editors": ["bosun"]}')
    assert policy.judge(call, ()).action == "deny"


def test_the_rule_that_decided_is_named(tmp_path: Path) -> None:
    assert write(tmp_path, "docs/a", allow=("write(docs/**)",)).rule == "write(docs/**)"
    assert write(tmp_path, "docs/a", ask=("write(docs/**)",)).rule == "write(docs/**)"
    assert write(tmp_path, "docs/a", deny=("write(docs/**)",)).rule == "write(docs/**)"
    assert write(tmp_path, "docs/a").rule is None


def test_c12_a_link_out_of_scratch_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    for name in ("docs", ".ship/scratch"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".ship/scratch/link").symlink_to("../../docs")
    assert write(tmp_path, ".ship/scratch/plain.md").why.key == "scratch"
    verdict = write(tmp_path, ".ship/scratch/link/plan.md")
    assert (verdict.action, verdict.why.key) == ("ask", "no-rule")


def run(root: Path, command: str, *, allow: tuple[str, ...] = OPEN, **permissions: Any) -> Verdict:
    policy = Policy(Permissions(allow=allow, **permissions), sandbox_works=lambda: True)
    return policy.judge(make_call(root, "exec", {"command": command}), ())


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Lie on the system's own disk: a hard link to one of its programs is a case here."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "docs",
        "sub",
        "secrets",
        "members/ann",
        "projects/open",
        "projects/closed",
        ".ship/scratch",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in ("f", "docs/a.md", "secrets/a", "sub/.env", "sub/ship.json", "Agent.md", "ship.json"):
        (tmp_path / name).write_text("x")
    (tmp_path / "projects/closed/meta.json").write_text('{"editors": ["bosun"]}')
    (tmp_path / "link").symlink_to("sub/.env")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "docs/to-agent").symlink_to("../Agent.md")
    (tmp_path / "docs/to-secrets").symlink_to("../secrets")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd",
        "cat ../x",
        "cat out/passwd",
        "head docs/../../x",
        "grep x -f /etc/passwd",
        "grep -f/etc/shadow x",
        "diff f /etc/passwd",
        "diff --to-file=/etc/passwd f",
        "ls /",
        "find / -name x",
        "wc -l ~root/x",
        "date -r /etc/passwd",
        "sort --random-source=/etc/passwd f",
        "git diff /etc/passwd f",
        "git diff ../x",
        "git blame ../x",
        "cmp f /dev/sda",
        "cat sub/.env",
        "cat link",
        "cat sub/ship.json",
        "cat ship.json",
        "cat SUB/../sub/.ENV",
        "jq . ship.json",
        "stat link",
        "cat .git/config",
        "cat .ship/token",
        "git show HEAD:.env",
        "git show HEAD:sub/.env",
        "jq --rawfile x sub/.env . f",
        "cat .ssh/id_rsa",
        "base64 sub/.env",
        "cat file:///etc/passwd",
        "touch -r sub/.env f",
    ],
)
def test_c10_no_open_rule_covers_a_path_outside_or_a_secret(root: Path, command: str) -> None:
    assert run(root, command, mode="auto-edit").action == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cp f Agent.md",
        "uniq f Agent.md",
        "xxd f Agent.md",
        "shuf -o Agent.md f",
        "sort -o Agent.md f",
        "sort -oAgent.md f",
        "cp f docs/to-agent",
        "cp f docs/to-agent -f",
        "mv f Agent.md",
        "mv Agent.md f2",
        "mv members m2",
        "cp sub/ship.json .",
        "cp docs/a.md members/ann/Agent.md",
        "cp -t members/ann Agent.md",
        "cp f .vscode/tasks.json",
        "mkdir .husky",
        "mkdir -p .git/x",
        "touch SOUL.md",
        "touch aGeNT.md",
        "touch skills/x/SKILL.md",
        "touch .minds/x",
        "mv f .git/hooks/pre-commit",
        "cp f sub/.env",
        "cp f ../x",
        "cp f /tmp/x",
        "cp f out/x",
        "mkdir .claude",
        "touch .mcp.json",
        "cp f .ship/token",
        "cp f projects/open/meta.json",
        "cp Agent.md skills",
        "touch docs/.github/workflows/x.yml",
        "xxd -r f .pre-commit-config.yaml",
    ],
)
def test_c4_what_forms_a_member_is_never_written_by_an_open_rule(root: Path, command: str) -> None:
    for allow in (OPEN, (*OPEN, "write(**)", "write")):
        assert run(root, command, allow=allow, mode="auto-edit").action == "ask"


def test_a_command_writes_only_where_a_tool_could_write_unasked(root: Path) -> None:
    assert run(root, "cp f docs/b.md").why.key == "no-write-rule"
    assert run(root, "cp f docs/b.md", allow=(*OPEN, "write(docs/**)")).action == "allow"
    assert run(root, "cp f docs", allow=(*OPEN, "write(docs/f)")).action == "allow"
    assert run(root, "cp f docs/b.md", allow=(*OPEN, "write(sub/**)")).action == "ask"
    assert run(root, "cp f docs/b.md", mode="auto-edit").action == "allow"
    assert run(root, "mv f docs/b.md", allow=(*OPEN, "write(docs/**)")).action == "ask"
    assert run(root, "cp f .ship/scratch/b").action == "allow"
    assert run(root, "cp f docs/b.md", mode="auto-edit", ask=("write(docs/**)",)).why.key == "asked"
    assert run(root, "cp f docs/b.md", mode="auto-edit", deny=("write(docs/**)",)).action == "deny"
    assert run(root, "cp f docs/b.md", mode="auto-edit", deny=("write",)).action == "deny"
    assert run(root, "sort f", mode="auto-edit", deny=("write",)).action == "allow"


def test_c18_a_project_is_written_only_by_its_editors(root: Path) -> None:
    for command in (
        "cp f projects/closed/x",
        "touch projects/closed/a/b",
        "mkdir Projects/CLOSED/x",
        "sort -o projects/closed/x f",
    ):
        for mode in ("ask", "auto-edit", "yolo"):
            verdict = run(root, command, mode=mode, allow=(*OPEN, "write"))
            assert (verdict.action, verdict.why.key) == ("deny", "project"), command
    assert run(root, "cp f projects/open/x", mode="auto-edit").action == "allow"
    assert run(root, "cat projects/closed/meta.json").action == "allow"


def test_a_denied_path_is_denied_to_commands_and_doubt_asks(root: Path) -> None:
    deny = ("read(secrets/**)",)
    for command in ("cat secrets/a", "cat docs/to-secrets/a", "cp secrets/a docs/x", "cat SECRETS/a"):
        for mode in ("auto-edit", "yolo"):
            verdict = run(root, command, deny=deny, mode=mode)
            assert (verdict.action, verdict.rule) == ("deny", deny[0]), command
    for command in (
        "grep -r x",
        "find .",
        "git diff",
        "git log -p",
        "grep -R x docs",
        "diff -r docs sub",
        "cat f | wc",
        "make",
    ):
        assert run(root, command, deny=deny, mode="yolo").action == "ask", command
        assert run(root, command, deny=deny).action == "ask", command
    for command in ("cat f", "grep -r x docs", "git status", "git log --oneline", "diff f Agent.md"):
        assert run(root, command, deny=deny, mode="yolo").action == "allow", command
        assert run(root, command, deny=deny).action == "allow", command


def test_two_dots_behind_a_link_lead_where_the_kernel_goes(root: Path) -> None:
    (root / "secrets/deep").mkdir()
    (root / "docs/l").symlink_to("../secrets/deep")
    deny = ("read(secrets/**)",)
    assert (root / "docs/l/../a").read_text() == "x"
    assert run(root, "cat docs/l/../a", deny=deny).action == "deny"
    policy = Policy(Permissions(deny=deny), sandbox_works=lambda: True)
    assert policy.judge(make_call(root, "read", {"path": "docs/l/../a"}), ()).action == "deny"


def test_a_rule_that_asks_about_a_path_asks_for_commands_too(root: Path) -> None:
    for mode in ("ask", "yolo"):
        assert run(root, "cat docs/a.md", ask=("read(docs/**)",), mode=mode).action == "ask"
        assert run(root, "cat f", ask=("read(docs/**)",), mode=mode).action == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "declare 'a[$(rm x)]=1'",
        "x='$(rm x)'; echo ${x@P}",
        "mapfile -C 'rm x' -c 1 a < f",
        "git -c alias.x='!rm x' x",
        "./symlink x",
        "./hardlink x",
        "./copy x",
        "printf -v 'a[$(rm x)]' y",
        "test -v 'a[$(rm x)]'",
        "python3 -c 'import os'",
        "find . -delete",
        "busybox rm x",
        "r''m x",
        "$(echo r)m x",
        "eval r''m x",
        "perl -e unlink",
        "make clean",
        "xargs < f",
        "env -S 'r''m x'",
        "sort --compress-program=./symlink f",
        "git rm x",
        "sudo -s",
        "tar --checkpoint-action=x",
        "awk 1",
        "trap 'rm x' EXIT",
        "ls; unlink x",
        "command -p rm",
        "exec -a ls rm x",
        "nice ./symlink x",
        "git difftool -x rm",
    ],
)
def test_c4_what_is_not_proven_free_of_a_deny_never_runs_unasked(root: Path, command: str) -> None:
    (root / "symlink").symlink_to("/bin/rm")
    (root / "copy").write_bytes(Path("/bin/rm").read_bytes())
    (root / "copy").chmod(0o755)
    try:
        os.link("/bin/rm", root / "hardlink")
    except OSError:
        (root / "hardlink").symlink_to("/bin/rm")
    for mode in ("yolo", "auto-edit", "ask"):
        allow = (*OPEN, "exec(./symlink x)", "exec(make clean)", "exec(awk 1)", "exec(./copy x)")
        assert run(root, command, mode=mode, deny=("exec(rm *)",), allow=allow).action != "allow"


def test_c4_no_way_to_a_denied_program_is_open_in_yolo(root: Path) -> None:
    lines = (Path(__file__).parent / "removal.txt").read_text().splitlines()[1:]
    ways = {line: run(root, line, mode="yolo", deny=("exec(rm *)",)).action for line in lines}
    assert len(ways) > 300
    assert [line for line, action in ways.items() if action == "allow"] == []
    # `rm` is about a program: what another one overwrites is closed by a rule about the file.
    for line in ("mv f x", "mv x f", "cp f x", "cp /dev/null x", "sort -o x f", "uniq f x", "shuf -ox f"):
        assert run(root, line, mode="yolo", deny=("exec(rm *)",)).action == "allow", line
        assert run(root, line, mode="yolo", deny=("write(x)",)).action == "deny", line
    assert {run(root, line, mode="yolo", deny=("write(x)",)).action for line in lines} == {"ask"}


def test_c4_the_denied_program_under_another_name_is_denied(root: Path) -> None:
    (root / "symlink").symlink_to("/bin/rm")
    for command in ("./symlink x", f"{root}/symlink x", "/bin/rm x", "/usr/bin/rm x"):
        assert run(root, command, mode="yolo", deny=("exec(rm *)",)).action == "deny", command
        assert run(root, command, mode="yolo").action == "allow", command


def test_a_multi_call_file_proves_nothing(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where `ls` and `rm` are one file, its name alone does not tell what it does."""
    folder = tmp_path_factory.mktemp("system")
    (folder / "box").write_bytes(Path("/bin/true").read_bytes())
    (folder / "box").chmod(0o755)
    for name in ("fd", "drop-it"):
        (folder / name).symlink_to("box")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("shipmate.tools.exec.command.SYSTEM_FOLDERS", (str(folder),))
    verdict = run(root, "fd x", mode="yolo", deny=("exec(drop-it *)",))
    assert (verdict.action, verdict.why.key) == ("ask", "unproven")
    assert run(root, "fd x", mode="yolo", deny=("exec(rm *)",)).action == "allow"


def test_a_verb_under_another_name_of_the_file_proves_nothing(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git-upload-pack` is a link to `git`: what it names is not told by the verbs of `git`."""
    folder = tmp_path_factory.mktemp("system")
    (folder / "git").write_bytes(Path("/bin/true").read_bytes())
    (folder / "git").chmod(0o755)
    (folder / "git-sweep").symlink_to("git")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("shipmate.tools.exec.command.SYSTEM_FOLDERS", (str(folder),))
    verdict = run(root, "git status", mode="yolo", deny=("exec(git-sweep all)",))
    assert (verdict.action, verdict.why.key) == ("ask", "unproven")
    assert run(root, "git status", mode="yolo", deny=("exec(git sweep)",)).action == "allow"


def test_a_deny_of_one_verb_leaves_the_others(root: Path) -> None:
    deny = ("exec(git push)",)
    assert run(root, "git push", deny=deny, mode="yolo").action == "deny"
    assert run(root, "git push --force", deny=deny, mode="yolo").action == "deny"
    assert run(root, "git status", deny=deny, mode="yolo").action == "allow"
    assert run(root, "git commit -m push", deny=deny, allow=("exec(git *)",)).action == "allow"
    assert run(root, "git commit -am x", deny=("exec(git commit -a)",), mode="yolo").action == "ask"
    assert run(root, "cat ./f", deny=("exec(cat f)",), mode="yolo").action == "ask"


def test_an_exact_rule_vouches_for_its_words_but_not_for_links(root: Path) -> None:
    assert run(root, "cat ../x", allow=("exec(cat ../x)",)).action == "allow"
    assert run(root, "cp f docs/b.md", allow=("exec(cp f docs/b.md)",)).action == "allow"
    assert run(root, "cat link", allow=("exec(cat link)",)).action == "ask"
    assert run(root, "cp f docs/to-agent", allow=("exec(cp f docs/to-agent)",)).action == "ask"


@pytest.mark.parametrize("name", ["direnv", "conda", "shipmate", "claude", "flask", "uvicorn", "mytool"])
def test_c9_a_program_without_a_grammar_needs_every_word(
    root: Path, name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("programs")
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert (
        run(root, f"{name} run x", allow=("exec", f"exec({name} *)", f"exec({name} run *)")).action == "ask"
    )
    assert run(root, f"{name} run x", allow=(f"exec({name} run x)",)).action == "allow"


def test_a_grant_lifts_doubt_but_not_a_denied_path(root: Path) -> None:
    policy = Policy(Permissions(deny=("exec(rm *)", "read(secrets/**)")), sandbox_works=lambda: True)
    for command, action in (
        ("make test", "allow"),
        ("ls | wc", "allow"),
        ("grep -r x .", "ask"),
        ("rm x", "deny"),
    ):
        call = make_call(root, "exec", {"command": command})
        grant = make_grant("exec", None, digest=call.call_digest)
        assert policy.judge(call, (grant,)).action == action, command


@pytest.mark.parametrize("command", ["mv docs old", "rm -r docs"])
def test_a_folder_around_a_denied_path_is_not_written_unasked(root: Path, command: str) -> None:
    allow = ("exec(mv *)", "exec(rm *)", "write(**)", f"exec({command})")
    assert run(root, command, allow=allow).action == "allow"
    verdict = run(root, command, allow=allow, deny=("write(docs/plans/**)",))
    assert (verdict.action, verdict.rule or verdict.why.what) == ("ask", "write(docs/plans/**)")


async def _written(folder: Path, path: str) -> bool:
    """Tell whether a member writes a file unasked."""
    (folder / "Agent.md").write_text("# Captain\n")
    (folder / "AGENTS.md").write_text("@docs/rules.md\n@docs/coming.md\n")
    for name in ("docs/skills", "tools", "notes", "more", "members/ada"):
        (folder / name).mkdir(parents=True)
    (folder / "members" / "ada" / "AGENTS.md").write_text("@own.md\n@../../docs/ada.md\n")
    (folder / "docs" / "rules.md").write_text("Be kind.\n@deeper.md\n")
    (folder / "docs" / "STYLE.md").write_text("@more.md\n")
    (folder / "docs" / "link").symlink_to("skills")
    (folder / "tools" / "notes.py").write_text("import part\n")
    (folder / "top.sh").write_text("exit\n")
    (folder / "ship.json").write_text(json.dumps(CONFIG))
    model = ScriptedModel({"": [call("write", path=path, content="x\n"), "Done."]})
    app = await Shipmate.open(folder, model=model, environ={"PATH": os.environ["PATH"]})
    await talk(app, "go")
    asked = await app.approvals.pending()
    await app.close()
    assert not asked or "changes what the member is" in asked[0].reason
    return not asked


@pytest.mark.parametrize(
    "path",
    [
        "docs/skills/evil/SKILL.md",
        "docs/link/evil/SKILL.md",
        "docs/../docs/skills/evil/skill.json",
        "docs/rules.md",
        "docs/coming.md",
        "docs/deeper.md",
        "docs/ada.md",
        "tools/notes.py",
        "tools/part.py",
        "tools/new/part.py",
        "more/server.py",
        "more/__init__.py",
        "top.sh",
        "docs/STYLE.md",
        "docs/more.md",
        "src/AGENTS.md",
        "src/deep/CLAUDE.md",
    ],
)
async def test_c12_what_forms_a_member_in_this_workspace_asks(tmp_path: Path, path: str) -> None:
    assert not await _written(tmp_path, path)


@pytest.mark.parametrize("path", ["docs/plain.md", "notes/today.md", "other.md", "docs/skillset.md"])
async def test_what_forms_nothing_passes(tmp_path: Path, path: str) -> None:
    assert await _written(tmp_path, path)
