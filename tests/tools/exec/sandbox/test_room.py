"""What a hostile command can do in its room, judged by effect in each confinement."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.exec.command import find_program
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.sandbox.sandbox import Confinement
from shipmate.tools.tool import ToolContext
from tests.tools.exec.conftest import Run

PROTECTED = {
    "Agent.md": "# Captain\n",
    "SOUL.md": "kind\n",
    "skills/one/SKILL.md": "skill\n",
    "members/bo/Agent.md": "# Bo\n",
    "members/bo/ship.json": "{}\n",
    ".minds/priming/x.md": "prime\n",
    ".vscode/tasks.json": "{}\n",
    "sub/.vscode/tasks.json": "{}\n",
    "projects/p/meta.json": "{}\n",
}


@pytest.fixture
def repository(root: Path) -> Path:
    """Return a workspace that is a git repository, with a file and all that is protected."""
    for name, text in PROTECTED.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "src").mkdir()
    (root / "src/a.txt").write_text("visible\n")
    git(root, "init", "-q")
    git(root, "add", "src")
    git(root, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "one")
    git(root, "init", "-q", "sub")
    return root


def git(folder: Path, *words: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def state(root: Path) -> dict[str, bytes]:
    """Return what is protected and how it stands, the repositories' settings and hooks included."""
    names = [*PROTECTED, ".git/config", "sub/.git/config"]
    found = {name: (root / name).read_bytes() for name in names}
    hooks = [*(root / ".git/hooks").iterdir(), *(root / "sub/.git/hooks").iterdir()]
    return found | {str(hook): hook.read_bytes() for hook in hooks}


@pytest.mark.parametrize(
    "home_file",
    [".gitconfig", ".config/git/config", "home/.gitconfig", "tmp/.gitconfig", ".npmrc", ".bashrc"],
)
async def test_c1_nothing_written_beforehand_is_configuration_of_a_command(
    run: Run, repository: Path, home_file: str
) -> None:
    canary = repository / "src" / "canary"
    text = f'[core]\n\tfsmonitor = "touch {canary}; false"\n\tpager = "touch {canary}"\n'
    if home_file == ".bashrc":
        text = f"touch {canary}\n"
    for place in (repository / ".ship/scratch", repository / ".ship/scratch/home", repository):
        (place / home_file).parent.mkdir(parents=True, exist_ok=True)
        (place / home_file).write_text(text)
    for command in ("git status", "git log -1", "git diff", "bash -i -c true", "bash -l -c true"):
        await run(command)
    assert not canary.exists()


async def test_c1_each_command_has_an_empty_home_of_its_own_that_goes_with_it(run: Run, root: Path) -> None:
    first = await run("cd; pwd; ls -A; touch .gitconfig; ls -A $TMPDIR; touch $TMPDIR/x")
    assert first.endswith("[exit 0]")
    home = Path(first.splitlines()[0])
    assert len(first.splitlines()) == 2, "the home and the folder for temporary files are empty"
    assert not home.exists()
    assert not home.is_relative_to(root)
    second = await run("cd; pwd; ls -A")
    assert second.splitlines()[0] != str(home)
    assert len(second.splitlines()) == 2


async def test_c1_user_site_and_search_path_hold_nothing_of_the_member(run: Run, root: Path) -> None:
    shown = await run("python3 -c 'import site, sys; print(site.ENABLE_USER_SITE)'; echo $PATH; env")
    assert shown.startswith("False\n")
    path = shown.splitlines()[1].split(":")
    assert not any(Path(place).is_relative_to(root) for place in path)
    assert "BASH_ENV" not in shown


SETTING = "printf '[core]\\n\\tfsmonitor = \"touch {canary}; false\"\\n'"
HOSTILE = [
    f"mv .git .git2 && cp -r .git2 .git && {SETTING} >> .git/config",
    "cp -r .git g && rm -rf .git && mv g .git; printf '[core]\\n\\tpager = touch {canary}\\n' >> .git/config",
    "printf '[core]\\n\\tfsmonitor = \"touch {canary}; false\"\\n' >> .git/config",
    "git config core.fsmonitor 'touch {canary}; false'; git config core.hooksPath src",
    "printf '#!/bin/sh\\ntouch {canary}\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/*",
    f"mv sub sub2 && cp -r sub2 sub && {SETTING} >> sub/.git/config",
    "mv sub src/ && mkdir sub && cp -r src/sub/.git sub/ && "
    "printf '[core]\\n\\tfsmonitor = \"touch {canary}; false\"\\n' >> sub/.git/config",
    "echo ../src > .git/commondir; cp .git/config src/config; "
    "printf '[core]\\n\\tfsmonitor = \"touch {canary}; false\"\\n' >> src/config",
    "rm -rf members skills Agent.md .minds SOUL.md; mkdir members; echo evil > Agent.md",
    "mv members m2; mkdir -p members/bo; echo evil > members/bo/ship.json; echo evil > members/bo/Agent.md",
    "mv Agent.md a; echo evil > Agent.md; ln -sf src/a.txt SOUL.md; mv src/a.txt Agent.md",
    "ln Agent.md src/hard; echo evil >> src/hard; ln -s ../Agent.md src/soft; echo evil >> src/soft",
    "mv sub/.vscode sub/v; echo evil > sub/.vscode/tasks.json; mv projects p2; mkdir -p projects/p; "
    "echo evil > projects/p/meta.json",
    "umount Agent.md .git 2>&1; mount -o remount,rw .git; unshare -Ur true; chmod -R 777 .git Agent.md; "
    "echo evil >> Agent.md; echo evil >> .git/config",
    "python3 -c \"import os; os.rename('.git', 'x')\"; "
    "python3 -c \"open('Agent.md', 'w').write('evil')\"; truncate -s 0 Agent.md",
]


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_c2_what_forms_a_member_or_runs_outside_stays_as_it_is(
    run: Run, repository: Path, hostile: str
) -> None:
    canary = repository / "canary"
    before = state(repository)
    await run(hostile.replace("{canary}", str(canary)))
    moved = repository / "src/sub" if not (repository / "sub/.git").exists() else repository / "sub"
    if not (moved / ".git").exists():
        moved = repository / "sub2"
    assert "evil" not in (repository / "Agent.md").read_text()
    for folder in (repository, moved):
        git(folder, "status")
        git(folder, "log", "-1", "--oneline", "--all")
    assert not canary.exists()
    after = {name: data for name, data in before.items() if "sub/" not in name}
    assert {name: (repository / name).read_bytes() for name in after} == after
    for config in repository.rglob(".git/config"):
        if ".ship" not in config.parts:
            assert config.read_bytes() in (before[".git/config"], before["sub/.git/config"])


@pytest.mark.parametrize(
    "made",
    [
        "src/.git/config", "src/.vscode/tasks.json", "src/deep/er/.github/workflows/x.yml", "src/.env",
        "src/ship.json", "src/.husky/pre-commit", "src/.gitmodules", "src/.GIT/config",
    ],
)  # fmt: skip
async def test_c2_what_a_command_makes_and_may_not_make_is_taken_away(
    run: Run, repository: Path, made: str
) -> None:
    output = await run(f"mkdir -p {Path(made).parent}; echo evil > {made}")
    assert not (repository / made).exists()
    assert "[refused: src/" in output
    kept = [path for path in (repository / ".ship/refused").rglob("*") if path.is_file()]
    assert [path.read_text() for path in kept] == ["evil\n"]
    assert "[refused" not in await run("ls src")


async def test_c2_new_names_at_the_top_are_not_made(run: Run, root: Path) -> None:
    command = "echo evil > TOOLS.md; mkdir -p members/new .cursor skills/x; echo evil > members/new/Agent.md"
    await run(command)
    await run("ln -s src/x IDENTITY.md; ln -s src .vscode")
    left = {path.name for path in root.iterdir()}
    assert left <= {"Agent.md", "ship.json", ".ship"}


async def test_a_link_in_a_protected_place_is_put_back(run: Run, repository: Path) -> None:
    (repository / "notes.md").write_text("kind\n")
    (repository / "IDENTITY.md").symlink_to("notes.md")
    await run("echo evil >> IDENTITY.md; echo evil >> notes.md; rm -f IDENTITY.md; echo evil > IDENTITY.md")
    assert (repository / "IDENTITY.md").readlink() == Path("notes.md")
    assert (repository / "notes.md").read_text() == "kind\n"


async def test_what_a_person_saves_meanwhile_stays(run: Run, repository: Path) -> None:
    """An editor replaces the file it saves; that is not the command's doing."""
    fifo = repository / "src/go"
    os.mkfifo(fifo)

    def save() -> None:
        with fifo.open("w"):
            (repository / "new").write_text("# Captain, revised\n")
            (repository / "new").rename(repository / "Agent.md")

    saving = threading.Thread(target=save)
    saving.start()
    output = await run("cat src/go")
    saving.join()
    assert "refused" not in output
    assert (repository / "Agent.md").read_text() == "# Captain, revised\n"


async def test_git_commits_and_cannot_change_what_it_acts_on(run: Run, repository: Path) -> None:
    before = state(repository)
    (repository / "src/b.txt").write_text("b\n")
    assert "[exit 0]" in await run("git add src/b.txt")
    assert "[exit 0]" in await run("git commit -m two")
    assert "[exit 0]" in await run("git switch -q -c side")
    assert git(repository, "log", "-1", "--format=%s").strip() == "two"
    assert git(repository, "branch", "--show-current").strip() == "side"
    assert state(repository) == before


@pytest.mark.parametrize(
    "inner",
    [
        "git config core.fsmonitor 'touch {canary}'; git config alias.x '!touch {canary}'",
        "echo 'touch {canary}' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
        "echo ../src > .git/commondir; mv .git src/g; rm -rf .git/hooks",
        "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; touch .git/config.worktree",
    ],
)
async def test_c2_a_program_git_starts_cannot_change_what_git_acts_on(
    run: Run, repository: Path, inner: str
) -> None:
    before = state(repository)
    canary = repository / "canary"
    git(
        repository,
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b.c",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "two",
    )
    script = inner.replace("{canary}", str(canary)).replace('"', "'").replace("'", "")
    (repository / "src/x.sh").write_text(f"#!/bin/sh\n{script}\n")
    (repository / "src/x.sh").chmod(0o755)
    await run("git rebase -x src/x.sh HEAD~1")
    assert state(repository) == before
    assert not (repository / ".git/commondir").exists()
    assert not (repository / ".git/config.worktree").exists()
    git(repository, "status")
    assert not canary.exists()


async def test_git_in_a_shell_cannot_write_the_repository(run: Run, repository: Path) -> None:
    (repository / "src/b.txt").write_text("b\n")
    assert "[exit 0]" not in await run("git add src/b.txt && git commit -m two")
    assert git(repository, "log", "-1", "--format=%s").strip() == "one"


async def test_git_may_make_the_repository_it_is_told_to(run: Run, repository: Path) -> None:
    (repository / "docs").mkdir()
    output = await run("git init -q src/new")
    assert "refused" not in output
    assert (repository / "src/new/.git/HEAD").is_file()
    assert "refused" in await run("mkdir docs/other; git init -q docs/other; true")
    assert not (repository / "docs/other/.git").exists()


async def test_c10_secrets_are_hidden_at_any_depth(run: Run, repository: Path) -> None:
    secrets = [
        ".env", "src/.env", "src/deep/er/.env.local", "src/ship.json", "members/bo/.env", "skills/one/.netrc",
        "src/.git-credentials", "sub/ship.json",
    ]  # fmt: skip
    for name in secrets:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("KEY=hidden-value\n")
    (repository / "src/link").symlink_to("deep/er/.env.local")
    for command in (
        "grep -rn . . ; true",
        "diff -Nr src /dev; cat src/link src/.env members/bo/.env; true",
        "find . -type f -exec cat {} + ; tar cf - . | strings; true",
        "mv src/deep src/d2; cat src/d2/er/.env.local; cp -r src $HOME/x; grep -r hidden $HOME; true",
    ):
        assert "hidden-value" not in await run(command)
    found = [path for path in repository.rglob("*") if path.is_file() and not path.is_symlink()]
    kept = [path for path in found if path.name in {Path(name).name for name in secrets}]
    assert sum(path.read_text() == "KEY=hidden-value\n" for path in kept) == len(secrets)


async def test_c10_credentials_of_a_repository_are_hidden(
    run: Run, repository: Path, mode: Confinement
) -> None:
    git(repository, "remote", "add", "origin", "https://bob:hidden-value@git.example/x.git")
    git(repository, "config", "http.extraHeader", "Authorization: hidden-value")
    assert "hidden-value" not in await run("cat .git/config; git config -l; git remote -v; true")
    if mode.level == "bubblewrap":
        assert "https://git.example/x.git" in await run("git remote -v")


async def test_c10_settings_of_a_repository_that_are_a_link_are_not_followed(
    run: Run, repository: Path, mode: Confinement
) -> None:
    config = repository / ".git" / "config"
    config.rename(repository / "settings")
    git(repository, "config", "--file", "settings", "alias.greet", "!echo followed")
    git(repository, "config", "--file", "settings", "http.extraHeader", "Authorization: hidden-value")
    config.symlink_to(repository / "settings")
    told = await run("git greet; cat .git/config; git config -l; true")
    assert "hidden-value" not in told
    if mode.level == "bubblewrap":
        assert "followed" not in told


async def test_c10_settings_of_a_worktree_are_cleaned_as_the_repositorys_are(
    run: Run, repository: Path, mode: Confinement
) -> None:
    git(repository, "config", "extensions.worktreeConfig", "true")
    git(repository, "config", "--worktree", "alias.greet", "!echo followed")
    git(repository, "config", "--worktree", "http.extraHeader", "Authorization: hidden-value")
    told = await run("git greet; cat .git/config.worktree; git config -l; true")
    assert "hidden-value" not in told
    if mode.level == "bubblewrap":
        assert "followed" not in told


async def test_c10_private_variables_are_given_only_to_the_command_that_names_them(
    run: Run, confined: Exec, context: ToolContext
) -> None:
    assert "mine" not in await run("env")
    assert await run("echo ${#PRIVATE} ${#OTHER}", variables=["PRIVATE"]) == "4 0\n[exit 0]"
    with pytest.raises(ToolError, match="Known: OTHER, PRIVATE"):
        await run("env", variables=["PRIVAT"])
    picture = await confined.picture(confined.parse({"command": "env", "variables": ["PRIVATE"]}), context)
    assert picture.text is not None
    assert "PRIVATE" in picture.text


@pytest.mark.parametrize("network", [False, True])
async def test_c6_unix_sockets_of_the_host_are_closed(run: Run, tmp_path: Path, network: bool) -> None:
    named = str(tmp_path / "socket")
    for address in (named, f"\0shipmate-test-{os.getpid()}-{network}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(address)
            server.listen()
            server.settimeout(0.5)
            script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({address!r}); print('in')"
            assert "in\n" not in await run(
                f'{sys.executable} -I -S -c "{script}"'.replace("\0", "\\0"), network=network
            )
            with pytest.raises(TimeoutError):
                server.accept()


async def test_c6_programs_inside_can_still_talk_to_each_other(run: Run) -> None:
    script = "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))"
    assert await run(f'{sys.executable} -I -S -c "{script}"') == "b'x'\n[exit 0]"


async def test_npm_runs_the_scripts_of_a_project(run: Run, root: Path) -> None:
    if find_program("npm", root) is None:
        pytest.skip("there is no npm here")
    (root / "package.json").write_text('{"name": "x", "scripts": {"test": "echo tested"}}')
    output = await run("npm test --silent")
    assert output == "tested\n[exit 0]"


async def test_shell_text_that_cannot_commit_says_how_to_commit(run: Run, repository: Path) -> None:
    (repository / "src/a.txt").write_text("changed\n")
    output = await run("git add src && git commit -m done")
    assert "each as a command of its own" in output
    assert "of its own" not in await run("git status && git log")
    await run("git add src")
    assert (await run("git commit -m done")).endswith("[exit 0]")
