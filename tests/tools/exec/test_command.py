"""Plan commands: the system's program with the words as they stand, or a shell where the text needs one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shipmate.tools.exec.command import find_program, plan_command, program_folders


def make_program(path: Path, text: str = "#!/bin/sh\necho mine\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("text", ["echo a b", "  echo 'a' \"b\" ", "/usr/bin/echo a b"])
def test_a_plain_command_runs_its_program_without_a_shell(tmp_path: Path, text: str) -> None:
    plan = plan_command(text, tmp_path)
    assert plan.words is not None
    assert plan.words[1:] == plan.argv[1:] == ("a", "b")
    assert (plan.name, plan.program) == ("echo", Path(plan.argv[0]).resolve())
    assert subprocess.run(plan.argv, check=True, capture_output=True, text=True).stdout == "a b\n"


@pytest.mark.parametrize(
    "text",
    [
        "ls | wc",
        "ls > x",
        "ls *",
        "ls $HOME",
        "ls $(id)",
        "ls `id`",
        "A=1 ls",
        "ls ~",
        "ls && id",
        "ls; id",
        "ls\nid",
        "ls &",
        "cd docs",
        "export A=1",
        "alias x=y",
        "source x",
        "eval ls",
        "[[ -f x ]]",
        "ls ~/x",
        "ls a:~/x",
        "ls {a,b}",
        "nothing-of-this-name",
        "",
        "'",
        "ls '",
    ],
)
def test_what_needs_a_shell_has_no_words(tmp_path: Path, text: str) -> None:
    plan = plan_command(text, tmp_path)
    assert (plan.words, plan.program, plan.name) == (None, None, None)
    assert plan.why is not None
    assert plan.argv == (find_program("bash", tmp_path), "--noprofile", "--norc", "-c", text)


def test_no_program_of_the_workspace_stands_in_for_the_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = make_program(tmp_path / "bin" / "ls")
    only_mine = make_program(tmp_path / "bin" / "build-it")
    monkeypatch.setenv("PATH", f"{mine.parent}:/usr/bin:/bin:relative:")
    assert str(mine.parent) not in program_folders(tmp_path)
    assert plan_command("ls", tmp_path).argv != (str(mine),)
    assert plan_command("ls", tmp_path).name == "ls"
    own = plan_command("build-it x", tmp_path)
    assert (own.words, own.argv) == (("build-it", "x"), (str(only_mine), "x"))
    assert (own.name, own.program) == (None, None)


@pytest.mark.parametrize("text", ["./ls", "bin/ls", "{folder}/bin/ls", "./link", "./hard"])
def test_a_file_of_the_workspace_is_nobodys_known_program(tmp_path: Path, text: str) -> None:
    make_program(tmp_path / "bin" / "ls")
    make_program(tmp_path / "ls")
    (tmp_path / "link").symlink_to("/bin/sh")
    make_program(tmp_path / "hard")
    plan = plan_command(text.format(folder=tmp_path), tmp_path)
    assert plan.words is not None
    assert (plan.name, plan.program) == (None, None)
    assert plan.argv[0].startswith(str(tmp_path))


def test_a_link_on_the_path_into_the_workspace_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    make_program(workspace / "tool")
    outside.mkdir()
    (outside / "mytool").symlink_to(workspace / "tool")
    monkeypatch.setenv("PATH", f"{outside}:/usr/bin")
    assert find_program("mytool", workspace) is None
    outside.chmod(0o777)
    make_program(outside / "theirs")
    monkeypatch.setenv("PATH", f"{outside}:/bin")
    assert find_program("theirs", workspace) is None


def test_another_program_of_a_known_name_is_not_the_known_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`/opt/tools/ls` need not be the `ls` a grammar speaks of, though its folder is on PATH too."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    other = make_program(outside / "ls")
    monkeypatch.setenv("PATH", f"/usr/bin:{outside}")
    assert plan_command("ls", workspace).name == "ls"
    plan = plan_command(f"{other} x", workspace)
    assert (plan.words, plan.argv[0]) == ((str(other), "x"), str(other))
    assert (plan.name, plan.program) == (None, None)
    assert find_program("../bin/ls", workspace) is None


@pytest.mark.parametrize("text", ["cat 'a\u202eb'", "cat 'a\u200bb'", 'cat "a\nb"', "'./x=1' y", "./x=1 y"])
def test_what_does_not_show_or_could_be_an_assignment_is_not_plain(tmp_path: Path, text: str) -> None:
    make_program(tmp_path / "x=1")
    plan = plan_command(text, tmp_path)
    assert (plan.words, plan.name) == (None, None)


def test_a_tilde_inside_a_word_is_a_letter(tmp_path: Path) -> None:
    assert plan_command("git show HEAD~1", tmp_path).words == ("git", "show", "HEAD~1")


def test_a_program_reached_through_a_link_is_not_trusted(tmp_path: Path) -> None:
    """The link could lead elsewhere by the time the program starts."""
    (tmp_path / "tools").symlink_to("/usr/bin")
    (tmp_path / "list").symlink_to("/usr/bin/ls")
    for text in ("./tools/ls", f"{tmp_path}/tools/ls", "./list", f"/proc/self/cwd{tmp_path}/tools/ls"):
        assert plan_command(text, tmp_path).name is None, text
