"""Offer three members to begin with, and write the chosen one's Agent.md."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from shipmate.server.guard.error import ApiError, missing
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import Layout

LIST = Path(__file__).with_name("examples.json")


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One member to begin with; words for people are kept in both languages."""

    id: str
    name: str
    title: JsonObject
    description: JsonObject
    text: str = ""


def list_examples(folder: Path) -> list[Example]:
    """Read the examples that ship with the package; their texts are those `shipmate init` writes."""
    found = msgspec.json.decode(LIST.read_bytes(), type=list[Example])
    return [msgspec.structs.replace(example, text=_text(folder, example, example.name)) for example in found]


def write_agent(layout: Layout, folder: Path, example_id: str, name: str | None, text: str | None) -> None:
    """Write Agent.md; an existing one is never touched, and a folder of another agent needs none."""
    if not layout.agent.exists() and (found := layout.recognised):
        said = f"This is a folder of {found.program} and opens as it is."
        raise ApiError(409, "conflict", said, "Edit its own files, or run `shipmate adopt`.")
    example = next((one for one in list_examples(folder) if one.id == example_id), None)
    if example is None:
        raise missing("such example")
    chosen = text or _text(folder, example, name or example.name)
    try:
        with layout.agent.open("x", encoding="utf-8") as file:
            file.write(chosen)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        raise ApiError(409, "conflict", "There is an Agent.md already.", "Edit it under Members.") from error


def _text(folder: Path, example: Example, name: str) -> str:
    return (folder / f"{example.id}.md").read_text(encoding="utf-8").replace("{name}", name)
