"""The names tools are offered by, and those that other agents have for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# What every member is offered unless told otherwise, in this order.
OFFERED = (
    "read", "glob", "grep", "write", "edit", "exec", "job", "web_fetch", "show_image", "send_file",
    "memory_upsert", "propose_task", "steps",
)  # fmt: skip
# Questions of our own that are put as calls are: no model makes them, and none is told of them.
EXCEED_BUDGET = "exceed_budget"
REMEMBER = "remember"
OWN_QUESTIONS = frozenset({EXCEED_BUDGET, REMEMBER})
# Names of the documents and of other agents. No prompt mentions them; a call or a rule may.
ALIASES = {
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "list_dir": "glob",
    "exec_shell": "exec",
    "project_read": "read",
    "project_write": "write",
    "project_edit": "edit",
    "project_glob": "glob",
}


def real_name(name: str) -> str:
    """Return the name a tool goes by here."""
    return ALIASES.get(name, name)


def names_of(tool: str) -> tuple[str, ...]:
    """Return every name a tool goes by, its own first."""
    return (tool, *(alias for alias, name in ALIASES.items() if name == tool))


def is_among(names: Sequence[str], wanted: Iterable[str]) -> bool:
    """Return whether a list names a tool by one of its names; `mcp__*` names all that begin so."""
    return any(
        name.startswith(each[:-1]) if each.endswith("*") else name == each
        for each in wanted
        for name in names
    )
