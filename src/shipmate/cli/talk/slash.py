"""Read the commands a person types into a chat."""

from __future__ import annotations

import difflib

import msgspec

from shipmate.cli.terminal.tongue import say

# Each command, what follows it, and what it does.
COMMANDS: dict[str, tuple[str, str]] = {
    "help": ("", "show this"),
    "new": ("", "begin a new thread"),
    "threads": ("", "list the latest threads"),
    "thread": ("ID", "go on in another thread"),
    "course": ("", "open a new course: the model forgets what was said here, but for the pins"),
    "compact": ("[FOCUS]", "sum up what was said here, so that the model reads less of it"),
    "pin": ("TEXT", "pin a fact, so that every course of this thread shows it"),
    "pins": ("", "list what is pinned"),
    "unpin": ("NUMBER", "take a pin off"),
    "plan": ("[go|off]", "let nothing act here until you agree to a plan; go agrees, off drops it"),
    "prompt": ("NAME", "let the member take up a prompt of an MCP server: server:name key=value"),
    "stop": ("", "stop the run, as Ctrl-C does"),
    "steer": ("TEXT", "say something the running turn should heed at its next step"),
    "studio": ("ID", "work on a skill; the tools see its draft and nothing else"),
    "try": ("WORDS", "try the draft of this studio in a thread of its own"),
    "rewind": ("[RUN]", "put files back as they were before a run"),
    "member": ("[ID]", "show who answers, or let another member answer from here on"),
    "model": ("[NAME]", "show which model answers, or choose one for this thread (default takes it back)"),
    "retry": ("", "ask for another answer in place of the last one"),
    "edit": ("", "say your last words in another way, in a new thread with all that came before"),
    "search": ("WORDS", "find messages of all threads"),
    "approvals": ("", "show what waits for an answer"),
    "cost": ("", "show what the models of this thread used and cost"),
    "context": ("", "show what goes into the prompt"),
    "quit": ("", "leave, as Ctrl-D does"),
}
KEYS = (
    ("Enter", "sends; while a run goes on, what you send waits for it"),
    ("Alt-Enter", "begins a new line"),
    ("@FILE", "attaches a file; Tab completes its name"),
    ("!COMMAND", "runs a command, judged as those of the member are"),
    ("Ctrl-C", "stops the run; clears the line; twice leaves"),
    ("Ctrl-D", "leaves, as exit does"),
    ("Ctrl-Z", "puts the chat aside until fg"),
    ("↑ ↓", "go through what you sent before"),
)


class Slash(msgspec.Struct, frozen=True):
    """One command and the words after it; `problem` says why it cannot be done."""

    name: str
    rest: str = ""
    problem: str = ""


def parse_slash(text: str) -> Slash | None:
    """Read a line that begins with a slash; None when it is something to say, such as a path."""
    line = text.strip()
    name, _, rest = line.removeprefix("/").partition(" ")
    # What `/cheap` is written before is said to the member: rules of ship.json choose its model.
    if not line.startswith("/") or "/" in name or "\n" in line or (name == "cheap" and rest.strip()):
        return None
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean /{near[0]}?" if near else "/help lists them."
        return Slash(name, rest, f"there is no command /{name}. {hint}")
    argument = COMMANDS[name][0]
    if argument and not argument.startswith("[") and not rest.strip():
        return Slash(name, "", f"write /{name} {argument}")
    return Slash(name, rest.strip())


def help_lines() -> list[str]:
    """Write the help of a chat."""
    commands = [(f"/{name} {argument}".strip(), what) for name, (argument, what) in COMMANDS.items()]
    return [f"{key:<13} {say(what)}" for key, what in (*commands, *KEYS)]
