"""Make the environment a command sees: little of the host's, no secrets, nothing a tool could write."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from shipmate.errors import ToolError
from shipmate.tools.exec.command import program_folders
from shipmate.tools.exec.sandbox.repository import read_settings
from shipmate.tools.exec.sandbox.room import Room
from shipmate.tools.tool import ToolContext

# The only variables a command gets from the host.
PASSED_ON = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "COLUMNS", "LINES")
# Files of settings that are read nowhere: neither those of the machine nor any that lies about.
NO_SETTINGS = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    # Npm refuses to read one file as two kinds of settings; its user's lie in the empty home.
    "NPM_CONFIG_GLOBALCONFIG": os.devnull,
    "NPM_CONFIG_SCRIPT_SHELL": "/bin/sh",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONNOUSERSITE": "1",
    "HISTFILE": os.devnull,
}
# Nobody sits at the terminal of a command.
NOBODY_THERE = {
    "TERM": "dumb",
    "PAGER": "cat",
    "EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}
# These win over what a repository's own settings say: what git would run, and where it would look for more.
GIT_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.editor": "true",
    "core.askPass": "true",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "credential.helper": "",
    "protocol.ext.allow": "never",
    # A folder that only looks like a repository could have been made by a tool.
    "safe.bareRepository": "explicit",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    # What git does behind a command's back would not outlive it.
    "gc.auto": "0",
    "maintenance.auto": "false",
}


def make_environment(
    context: ToolContext, room: Room, private: Mapping[str, str], host: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables of one command; `private` are those of the member's own it was given."""
    return {
        **private,
        **{name: host[name] for name in PASSED_ON if name in host},
        **NO_SETTINGS,
        **NOBODY_THERE,
        **_git_settings(context.folder),
        **_git_identity(context, host.get("HOME", ""), host.get("XDG_CONFIG_HOME", "")),
        "PATH": os.pathsep.join(program_folders(context.folder)),
        "HOME": str(room.home),
        "NPM_CONFIG_USERCONFIG": str(room.home / ".npmrc"),
        "TMPDIR": str(room.temporary),
        "XDG_CONFIG_HOME": str(room.home / ".config"),
        "XDG_CACHE_HOME": str(room.home / ".cache"),
        "XDG_DATA_HOME": str(room.home / ".local" / "share"),
        "XDG_STATE_HOME": str(room.home / ".local" / "state"),
        "XDG_RUNTIME_DIR": str(room.temporary),
        "SHIPMATE_WORKSPACE": str(context.folder),
        "SHIPMATE_THREAD": context.thread_id,
        "SHIPMATE_RUN": context.run_id,
        "SHIPMATE_MEMBER": context.member.id,
    }


def choose_private(private: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the private variables a call names; raise ToolError for one that is not there."""
    unknown = [name for name in names if name not in private]
    if unknown:
        known = ", ".join(sorted(private)) or "none"
        raise ToolError(f"There is no private variable {', '.join(unknown)}. Known: {known}. Nothing ran.")
    return {name: private[name] for name in names}


def _git_settings(folder: Path) -> dict[str, str]:
    settings = dict(GIT_SETTINGS)
    if folder.stat().st_uid != os.geteuid():
        # Git takes a repository of another user only when it is told to.
        settings["safe.directory"] = "*"
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return variables


def _git_identity(context: ToolContext, home: str, configuration: str) -> dict[str, str]:
    """Return in whose name git commits: the repository's own, else the person's, else the member's."""
    found = {"name": context.member.id, "email": f"{context.member.id}@localhost"}
    own = [Path(configuration or f"{home}/.config") / "git" / "config", Path(home) / ".gitconfig"]
    for place in [*(own if home else ()), context.folder / ".git" / "config"]:
        try:
            text = place.read_text("utf-8", "replace")
        except OSError:
            continue
        for section, name, key, value in read_settings(text):
            if section.lower() == "user" and name is None and key.lower() in found and value:
                found[key.lower()] = value.strip('"')
    return {
        f"GIT_{role}_{key.upper()}": value for role in ("AUTHOR", "COMMITTER") for key, value in found.items()
    }
