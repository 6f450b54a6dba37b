"""Start the command line; a command is imported only when used, so `--help` and `--version` cost nothing."""

from __future__ import annotations

import sys

COMMANDS = {
    "init": "Make a workspace: an Agent.md to begin with.",
    "adopt": "Show how a folder of another agent opens; make it lasting.",
    "import": "Move in from another program: threads, memory, skills, members, settings, tasks.",
    "model": "Choose the model that answers; test it, list others.",
    "chat": "Talk to a member in the terminal.",
    "ask": "Ask one question and print the answer; made for pipes.",
    "stop": "Stop the run of a thread, whichever process works it.",
    "serve": "Serve the web page and the API.",
    "worker": "Work threads of a fleet; list who takes part.",
    "threads": "List, show and export conversations.",
    "context": "Show what goes into the prompt, and why.",
    "prompt": "Show what the program of a member would be sent.",
    "approvals": "List and answer what waits for a person.",
    "outbox": "List what was not sent to platforms, or may not have been; send or forget it.",
    "members": "List, add, rename and remove members; say who stands to whom how.",
    "tasks": "List, make and begin what members do by the clock.",
    "people": "List who may talk from platforms; let somebody in by a code.",
    "memory": "Show, search and mend what is remembered.",
    "users": "List the team; take people in, give roles, passwords and tokens.",
    "audit": "List what acted and what was refused; check that the log is whole.",
    "usage": "Show what models used and cost, by day, member, thread or model.",
    "priming": "Check, search, save and rehearse priming scripts.",
    "mcp": "List MCP servers, log in at remote ones; be one.",
    "acp": "Offer the members to an editor (Agent Client Protocol).",
    "export": "Write the whole workspace into one file, without secrets.",
    "restore": "Make a workspace from such a file, in an empty folder.",
    "backup": "Make a backup now, or list those there are; `backup` of ship.json makes them by the clock.",
    "doctor": "Check the workspace and say what to mend.",
    "reindex": "Make the index of threads and search anew.",
    "db": "Look after the PostgreSQL of a fleet; move a workspace there and back.",
}
# The commands that stand in inner rooms.
ROOMS = {
    **dict.fromkeys(
        ("init", "adopt", "context", "prompt", "tasks", "usage", "doctor", "reindex", "db"), "workspace"
    ),
    **dict.fromkeys(("import", "export", "restore", "backup"), "workspace"),
    **dict.fromkeys(("members", "people", "users", "outbox", "worker", "memory"), "aboard"),
    "acp": "door",
}
# A word of Python cannot be the name of a module.
MODULES = {"import": "move_in"}


def main(arguments: list[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given in (["--version"], ["-V"]):
        from shipmate import __version__

        print(f"shipmate {__version__}")
        return
    from shipmate.cli.group import run

    sys.exit(run(given))
