"""What rules allow by a grammar is what the kernel sees: no other program, no other file written."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shipmate.approvals.policy.policy import Policy
from shipmate.approvals.policy.subject import CommandSubject, find_subject
from shipmate.tools.exec.command import find_program
from shipmate.tools.exec.program.grammar import find_grammar, program_names
from shipmate.tools.exec.program.invocation import PathOperand
from shipmate.workspace.config import Permissions
from tests.support.approval import make_call
from tests.support.program import Effect, make_folder, trace, write_line

# More lines for a longer look: SHIPMATE_EXAMPLES=20000.
LINES = int(os.environ.get("SHIPMATE_EXAMPLES", "800"))
# The rules the documents show, and the mode that lets most through.
ALLOW = (
    "exec",
    "exec(git *)",
    "exec(git diff *)",
    "exec(git commit *)",
    "exec(cp *)",
    "write(docs/**)",
    "write(new*)",
)
GIT_HELPERS = ("/usr/lib/git-core/", "/usr/libexec/git-core/", "/Library/")


def can_trace() -> bool:
    if shutil.which("strace") is None or shutil.which("git") is None:
        return False
    return (
        subprocess.run(
            ["strace", "-qq", "-o", os.devnull, "true"], check=False, capture_output=True
        ).returncode
        == 0
    )


def judge(root: Path, line: str) -> str:
    policy = Policy(Permissions(mode="auto-edit", allow=ALLOW), sandbox_works=lambda: True)
    return policy.judge(make_call(root, "exec", {"command": line}), ()).action


IGNORE_FILES = ("/.git/info/exclude", "/.gitignore", "/.ignore", "/.fdignore", "/.rgignore")


def differences(subject: CommandSubject, effect: Effect, root: Path) -> list[str]:
    """List what a command did that its grammar does not say."""
    invocation, program = subject.invocation, subject.plan.argv[0]
    assert invocation is not None
    is_git = subject.plan.name == "git"
    others = [
        other
        for other in effect.programs
        if other != program and not (is_git and (other == "git" or other.startswith(GIT_HELPERS)))
    ]
    said = {
        os.path.realpath(root / (place.text or ".")) for operand, place in subject.places if operand.writes
    }
    said |= {os.path.normpath(root / place.text) for operand, place in subject.places if operand.writes}
    repository = f"{root}/.git"
    wrong = [
        path
        for path in effect.written
        if path not in said
        and not any(one.startswith(f"{path}/") for one in said)
        and not path.startswith("/dev/")
        and not (invocation.writes_repository and path.startswith(repository))
    ]
    known = {os.path.realpath(root / place.text): operand for operand, place in subject.places}
    unknown = (
        [] if is_git else [path for path in effect.read - effect.written if not is_known(path, known, root)]
    )
    network = ["the network"] if effect.reached_out else []
    return (
        [f"ran {other}" for other in others]
        + [f"wrote {path}" for path in wrong]
        + [f"read {path}" for path in unknown]
        + network
    )


def is_known(path: str, known: dict[str, PathOperand], root: Path) -> bool:
    """Tell whether a file that was opened is one the grammar names, or lies below such a folder.

    What a searcher leaves out it reads from the workspace's ignore files, and who puts a file somewhere opens
    the folder around it; neither is shown to anybody.
    """
    if not path.startswith(f"{root}/") or path.endswith(IGNORE_FILES):
        return True
    return any(
        path == one
        or ((operand.below or operand.writes) and path.startswith(f"{one}/"))
        or (operand.writes and str(Path(one).parent) == path)
        for one, operand in known.items()
    )


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Lie on a disk: programs that are given a folder for a file do other things with one in memory."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


@pytest.mark.skipif(not can_trace(), reason="strace cannot trace here")
def test_what_runs_and_what_is_written_is_what_the_grammar_says(tmp_path: Path) -> None:
    chance = random.Random(20_260)
    names = sorted(name for name in program_names() if find_program(name.split()[0], tmp_path))
    fresh, root, log = tmp_path / "fresh", tmp_path / "root", tmp_path / "log"
    make_folder(fresh)
    shutil.copytree(fresh, root, symlinks=True)
    counts = {"allow": 0, "ask": 0, "deny": 0}
    wrong: list[str] = []
    for number in range(LINES):
        grammar = find_grammar(names[number % len(names)])
        assert grammar is not None
        line = write_line(grammar, chance)
        if grammar.name == "sleep":
            continue
        subject = find_subject("exec", {"command": line}, root)
        assert isinstance(subject, CommandSubject)
        action = judge(root, line)
        counts[action] += 1
        if action != "allow":
            continue
        effect = trace(subject.plan.argv, root, log)
        wrong += [f"{line}: {difference}" for difference in differences(subject, effect, root)]
        if effect.written:
            shutil.rmtree(root)
            shutil.copytree(fresh, root, symlinks=True)
    assert not wrong, "\n".join(wrong)
    # A grammar so narrow that nothing passes, or so wide that everything does, would prove nothing.
    assert counts["allow"] > LINES / 4
    assert counts["ask"] > LINES / 20
