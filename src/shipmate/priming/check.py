"""Check the script files of a workspace."""

from __future__ import annotations

from pathlib import Path

from shipmate.errors import UserError
from shipmate.priming.library import Library
from shipmate.priming.ref import ScriptRef, is_own_place
from shipmate.priming.script.parse import check_script, read_text
from shipmate.priming.script.record import ScriptError
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout


def check_file(layout: Layout, name: str, path: Path) -> list[ScriptError]:
    """List every mistake in a file, its name and place among them; `name` is what messages call it."""
    try:
        if path.is_dir() and not is_own_place(path, path, layout):
            return [ScriptError("this is a link that leads elsewhere. Put the folder itself there", path=name)]
        if path.is_relative_to(layout.priming):
            ScriptRef.parse(path.relative_to(layout.priming).as_posix()).path(layout)
        return check_script(read_text(path, name), name)
    except ScriptError as error:
        return [error]
    except UserError as error:
        return [ScriptError(str(error), path=name)]


def findings(library: Library) -> list[Finding]:
    """Say how the scripts of a workspace stand."""
    root = library.layout.root
    files = [(path.relative_to(root).as_posix(), path) for _, path in library.every()]
    broken = [problems[0] for name, path in files if (problems := check_file(library.layout, name, path))]
    found = [
        Finding("error", "priming", str(problem), "Mend it; `shipmate priming check` shows every mistake.")
        for problem in broken
    ]
    whole = len(files) - len(broken)
    return [*found, Finding("ok", "priming", f"{whole} scripts can be replayed")] if whole else found
