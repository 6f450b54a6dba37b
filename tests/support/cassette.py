"""Make scripts of whole conversations, and workspaces to rehearse them in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shipmate.priming.convert import to_records
from shipmate.priming.rehearsal.answer_piece import AnswerPiece, read_pieces
from shipmate.priming.rehearsal.performed import Performed
from shipmate.priming.script.parse import parse_script
from shipmate.priming.script.record import Script
from shipmate.priming.script.writer import write_script
from shipmate.values.message import JsonObject, UIMessage
from shipmate.workspace.layout import Layout


def make_workspace(root: Path, *, permissions: JsonObject | None = None, **more: Any) -> Layout:
    """Make a workspace of one member."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "Agent.md").write_text("# Mate\n\nYou help aboard.\n")
    config = {**({"permissions": permissions} if permissions else {}), **more}
    if config:
        (root / "ship.json").write_text(json.dumps(config))
    return Layout(root)


def make_script(*turns: tuple[str, Sequence[JsonObject]], **frontmatter: Any) -> Script:
    """Make a script of what was said and the parts that answered it, as a file would hold it."""
    messages: list[UIMessage] = []
    for number, (said, parts) in enumerate(turns):
        messages.append({"id": f"u{number}", "role": "user", "parts": [{"type": "text", "text": said}]})
        if parts:
            messages.append({"id": f"a{number}", "role": "assistant", "parts": list(parts)})
    return parse_script(write_script(Script(frontmatter, to_records(messages))))


def words(text: str) -> JsonObject:
    """Return words of the member."""
    return {"type": "text", "text": text, "state": "done"}


def called(name: str, call_id: str = "c1", *, output: Any = None, **given: Any) -> JsonObject:
    """Return a call that returned something."""
    part: JsonObject = {"type": f"tool-{name}", "toolCallId": call_id, "input": given}
    return {**part, "state": "output-available", "output": output}


def failed(name: str, call_id: str = "c1", *, error: str, **given: Any) -> JsonObject:
    """Return a call that ended with an error."""
    part: JsonObject = {"type": f"tool-{name}", "toolCallId": call_id, "input": given}
    return {**part, "state": "output-error", "errorText": error}


def denied(name: str, call_id: str = "c1", **given: Any) -> JsonObject:
    """Return a call that a person refused."""
    part: JsonObject = {"type": f"tool-{name}", "toolCallId": call_id, "input": given}
    return {**part, "state": "output-denied", "approval": {"id": f"apr-{call_id}", "approved": False}}


def approved(part: JsonObject) -> JsonObject:
    """Return a call that a person let through."""
    return {**part, "approval": {"id": f"apr-{part['toolCallId']}", "approved": True}}


def wish(name: str, **given: Any) -> str:
    """Return words that the offline model answers with a call."""
    return f"call {name} {json.dumps(given)}"


STEP: JsonObject = {"type": "step-start"}


def pieces_of(performed: Performed) -> list[list[AnswerPiece]]:
    """Return what each turn was answered with."""
    return [read_pieces(turn.messages) for turn in performed.turns]


def told(performed: Performed) -> list[list[tuple[str, str]]]:
    """Return the kind of each piece, with its words or the name of its tool."""
    return [[(piece.kind, piece.name or piece.text) for piece in turn] for turn in pieces_of(performed)]


def snapshot(root: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
