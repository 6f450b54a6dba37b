"""Begin a script: one exchange to write over."""

from __future__ import annotations

from pathlib import Path

from shipmate.priming.ref import ScriptRef
from shipmate.priming.script.parse import parse_script
from shipmate.priming.script.record import KIND, VERSION, Script
from shipmate.priming.script.writer import write_script

FOLDER = Path(__file__).parent / "words"


def write_sample(ref: ScriptRef, title: str = "", language: str = "en") -> str:
    """Return the text of a new script."""
    path = FOLDER / f"{language}.md"
    text = (path if path.is_file() else FOLDER / "en.md").read_text("utf-8")
    named = title.strip() or ref.slug.rpartition("/")[2]
    return write_script(
        Script({"kind": KIND, "version": VERSION, "title": named}, parse_script(text).records)
    )
