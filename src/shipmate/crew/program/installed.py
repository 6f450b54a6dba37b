"""Find the program of a member on this machine, its version and its login."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from shipmate.crew.crew_wording import say
from shipmate.crew.program.acp_adapter import ClaudeAcp, CodexAcp
from shipmate.crew.program.claude_code import ClaudeCode
from shipmate.crew.program.codex import Codex
from shipmate.crew.program.gemini_cli import GeminiCli
from shipmate.crew.program.program import Program, ProgramError
from shipmate.errors import ModelAuthError
from shipmate.tools.exec.command import find_program
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.finding import Finding
from shipmate.workspace.member import Member

PROGRAMS: dict[str, Program] = {each.kind: each for each in (ClaudeCode(), Codex(), GeminiCli())}
# Programs through which one of these is reached, chosen by the command a member names.
ADAPTERS: tuple[Program, ...] = (ClaudeAcp(), CodexAcp())
VERSION = re.compile(r"(\d+)\.(\d+)\.\d+")
VERSION_SECONDS = 20


def program_of(member: Member) -> Program:
    """Return the kind of program that answers for a member."""
    named = Path(member.settings.command or "").name
    chosen = (each for each in ADAPTERS if (each.kind, each.command) == (member.kind, named))
    return next(chosen, PROGRAMS[member.kind])


def locate(member: Member) -> Path:
    """Return where a member's program lies; one in the workspace could have been put there by a command."""
    program, named = program_of(member), member.settings.command
    root = member.layout.root.resolve()
    if named and "/" in named:
        path = Path(named).expanduser()
        if not path.is_absolute() or path.resolve().is_relative_to(root):
            raise ProgramError(say("inside", program=program.title, path=named))
        found = path if os.access(path, os.X_OK) and path.is_file() else None
    else:
        name = find_program(named or program.command, root)
        found = Path(name) if name else None
    if found is None:
        raise ProgramError(
            say("missing", program=program.title, command=named or program.command, package=program.package)
        )
    return found


def package_of(path: Path) -> Path:
    """Return the folder a program cannot do without: its packages, or what it lies in."""
    real = path.resolve()
    packages = [parent for parent in real.parents if parent.name == "node_modules"]
    return packages[-1] if packages else real.parent


def find_home(member: Member, host: str) -> tuple[Path | None, tuple[Path, ...]]:
    """Return the home a program finds its login in, and what of it is its own; None for a passing one."""
    program = program_of(member)
    if member.settings.home == "private":
        home = member.layout.program_home(member.id)
        make_private(home)
        return home, (home,)
    home = Path(host) if host else None
    own = tuple(place for name in program.logins if home and (place := home / name).exists())
    if own:
        return home, own
    if not has_key(member):
        raise ModelAuthError(say("no-login", program=program.title, command=program.command, key=program.key))
    return None, ()


def has_key(member: Member) -> bool:
    """Return whether a member's own variables may stand for a login."""
    return bool(member.settings.env)


def read_version(path: Path) -> tuple[int, int] | None:
    """Return the version a program says it has."""
    try:
        done = subprocess.run(
            [str(path), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = VERSION.search(done.stdout)
    return (int(found[1]), int(found[2])) if found else None


def explain_version(program: Program, path: Path) -> str:
    """Return what is wrong with a program's version, if anything is."""
    if program.oldest == (0, 0):
        return ""
    version = read_version(path)
    oldest = ".".join(map(str, program.oldest))
    if version is None:
        return say("version-unknown", program=program.title, oldest=oldest)
    if version < program.oldest:
        own = ".".join(map(str, version))
        return say("version-old", program=program.title, version=own, oldest=oldest, package=program.package)
    return ""


def check_program(member: Member) -> list[Finding]:
    """Tell `doctor` how the program of a member stands."""
    program, subject = program_of(member), f"member {member.id}"
    try:
        path = locate(member)
        wrong = explain_version(program, path)
        home, _ = find_home(member, os.environ.get("HOME", ""))
    except (ProgramError, ModelAuthError) as error:
        return [Finding("error", subject, error.args[0])]
    if wrong:
        return [Finding("warn", subject, wrong)]
    where = say("login-here", place=str(home)) if home else say("login-key")
    return [Finding("ok", subject, say("found", program=program.title, path=str(path), where=where))]
