"""What of a git repository commands see and may change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from shipmate.values.pattern import lazy_pattern

# Git acts on these; a command that may write the repository may still not write them.
GUARDED = ("config", "config.worktree", "hooks", "info", "modules", "worktrees", "commondir", "gitdir")
SETTINGS_FILES = ("config", "config.worktree")
# Verbs of git that have to write the repository to do their work.
WRITING_VERBS = frozenset(
    {
        "add", "am", "branch", "checkout", "cherry-pick", "clone", "commit", "fetch", "gc", "init", "merge",
        "mv", "notes", "pull", "push", "rebase", "reset", "restore", "revert", "rm", "stash", "switch", "tag",
    }
)  # fmt: skip
# Where git with such a verb stands within shell text.
WRITING_TEXT = lazy_pattern(rf"\bgit\s+(?:{'|'.join(sorted(WRITING_VERBS))})\b")
BY_ITSELF = (
    "[in shell text git can only look, since .git is read-only there: "
    "run git add, git commit and their like each as a command of its own]"
)
# What has git take in whatever changed, also what commands are not shown.
ADDING_VERBS = frozenset({"add", "commit"})
ADDING_WORDS = frozenset({".", "-A", "--all", "-a", "-am", "-u", "--update"})
BY_NAME = (
    "[what is kept from commands, such as ship.json and .env, cannot be added to the repository: "
    "name the files to add, or list it in .gitignore]"
)
MAKING_VERBS = frozenset({"clone", "init"})
# With these a repository is made as git alone makes it; a template or a setting would bring hooks along.
MAKING_OPTIONS = frozenset({"-q", "--quiet", "-v", "--verbose", "--single-branch", "--no-tags"})
MAKING_VALUES = frozenset({"-b", "--branch", "--initial-branch", "--depth", "-o", "--origin"})
# Settings that are plain values: no program, no credential, no path to more settings.
SETTINGS = {
    "core": {
        "abbrev", "autocrlf", "bare", "eol", "filemode", "ignorecase", "logallrefupdates",
        "precomposeunicode", "quotepath", "repositoryformatversion", "safecrlf", "sharedrepository",
        "symlinks", "worktree",
    },
    "branch": {"merge", "rebase", "remote"},
    "init": {"defaultbranch"},
    "merge": {"conflictstyle", "ff"},
    "pull": {"ff", "rebase"},
    "push": {"autosetupremote", "default"},
    "remote": {"fetch", "prune", "pushurl", "tagopt", "url"},
    "submodule": {"active", "branch", "ignore", "path", "url"},
    "user": {"email", "name"},
    "extensions": {"objectformat", "partialclone", "refstorage", "compatobjectformat"},
}  # fmt: skip
# Sections that hold programs and tastes, but no credentials.
OPEN_SECTIONS = frozenset(
    {
        "advice", "alias", "blame", "branch", "color", "column", "commit", "core", "diff", "difftool",
        "fetch", "filter", "format", "gc", "gui", "index", "interactive", "lfs", "log", "maintenance",
        "merge", "mergetool", "pack", "pager", "pull", "push", "rebase", "rerere", "status", "tag",
    }
)  # fmt: skip
SECTION = lazy_pattern(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
SETTING = lazy_pattern(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
PASSWORD = lazy_pattern(r"^([a-z][a-z0-9+.-]*://)[^/@\s]*@", re.IGNORECASE)


def list_settings(repository: Path) -> list[Path]:
    """Return the files a repository's settings lie in, those of its worktrees and modules included."""
    patterns = ("config", "config.worktree", "worktrees/*/config.worktree", "modules/**/config*")
    found = (file for pattern in patterns for file in repository.glob(pattern))
    return [file for file in found if file.name in SETTINGS_FILES]


def read_guarded(repository: Path) -> dict[Path, bytes]:
    """Return the files git acts on and their contents; those of modules are repositories of their own."""
    places = [repository / name for name in GUARDED if name not in ("modules", "worktrees")]
    files = (file for place in places for file in (place, *place.rglob("*")))
    return {file: file.read_bytes() for file in files if file.is_file() and not file.is_symlink()}


def restore_guarded(repository: Path, before: Mapping[Path, bytes]) -> list[Path]:
    """Put back the files git acts on where a command has changed them; return those it changed."""
    after = read_guarded(repository)
    changed = [file for file in {**before, **after} if before.get(file) != after.get(file)]
    for file in changed:
        file.unlink(missing_ok=True)
        if file in before:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(before[file])
    return changed


def writes_repository(words: Sequence[str] | None) -> bool:
    """Return whether the words of a plain command are a git command that writes the repository."""
    return words is not None and len(words) > 1 and words[0] == "git" and words[1] in WRITING_VERBS


def advise_on_git(command: str, words: Sequence[str] | None) -> list[str]:
    """Return what to say when a command has failed that had git write the repository."""
    if words is None:
        return [BY_ITSELF] if WRITING_TEXT.search(command) else []
    adds = writes_repository(words) and words[1] in ADDING_VERBS and ADDING_WORDS.intersection(words[2:])
    return [BY_NAME] if adds else []


def made_repository(words: Sequence[str] | None, folder: Path) -> Path | None:
    """Return the folder in which `git init` or `git clone` makes a repository."""
    if words is None or not writes_repository(words) or words[1] not in MAKING_VERBS:
        return None
    operands = _making_operands(words[2:])
    if operands is None:
        return None
    if words[1] == "init":
        return folder / operands[-1] if operands else folder
    if not operands:
        return None
    return folder / (operands[-1] if len(operands) > 1 else _clone_name(operands[0]))


def _making_operands(words: Sequence[str]) -> list[str] | None:
    """Return the words that are no options; None when an option is not known to bring nothing along."""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        name, joined, _ = word.partition("=")
        if not word.startswith("-"):
            operands.append(word)
        elif name in MAKING_VALUES:
            if not joined and next(rest, None) is None:
                return None
        elif word not in MAKING_OPTIONS:
            return None
    return operands


def _clone_name(address: str) -> str:
    name = re.split(r"[/:]", address.rstrip("/").removesuffix("/.git"))[-1]
    return name.removesuffix(".git")


def clean_config(text: str) -> str:
    """Return a repository's settings without programs and credentials."""
    lines: list[str] = []
    for section, name, key, value in read_settings(text):
        if key.lower() not in SETTINGS.get(section.lower(), ()):
            continue
        header = f'[{section} "{name}"]' if name is not None else f"[{section}]"
        lines += [header, f"\t{key}" if value is None else f"\t{key} = {_without_password(value)}"]
    return "".join(f"{line}\n" for line in lines)


def read_settings(text: str) -> Iterator[tuple[str, str | None, str, str | None]]:
    """Return section, name, key and value of each setting in the text of a git configuration."""
    section: str | None = None
    name: str | None = None
    # A value that goes on in the next line is left out with all its lines.
    for line in re.sub(r"^.*\\\n(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE).splitlines():
        rest = line.strip()
        if header := SECTION.match(rest):
            section, name = header[1], header[2]
            rest = rest[header.end() :].strip()
        if section is not None and (setting := SETTING.fullmatch(rest)):
            yield section, name, setting[1], setting[2]


def _without_password(value: str) -> str:
    return PASSWORD.sub(r"\1", value) if not value.lower().startswith("ssh:") else value


def has_credentials(text: str) -> bool:
    """Return whether a repository's settings may hold credentials: all not known to be free of them."""
    for section, name, key, value in read_settings(text):
        if PASSWORD.match(value or "") or PASSWORD.match(name or ""):
            return True
        if key.lower() not in SETTINGS.get(section.lower(), ()) and section.lower() not in OPEN_SECTIONS:
            return True
    return "\\\n" in text
