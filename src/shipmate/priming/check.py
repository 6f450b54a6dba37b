"""Check the script files of a workspace, and mend what is mechanical."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from shipmate.errors import StorageError, UserError
from shipmate.priming.library import Library
from shipmate.priming.lint.fix import fix_script
from shipmate.priming.lint.lint import lint_script
from shipmate.priming.lint.lint_mark import Mark, mark_error
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef, is_own_place
from shipmate.priming.script.parse import check_script, read_text
from shipmate.priming.script.record import ScriptError
from shipmate.workspace.disk.private import sync_folder
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout


def check_file(layout: Layout, name: str, path: Path) -> list[ScriptError]:
    """List every mistake in a file, its name and place among them; `name` is what messages call it."""
    text, problem = _read(layout, name, path)
    return [problem] if problem else check_script(text, name)


def lint_file(layout: Layout, name: str, path: Path) -> list[Mark]:
    """List all that is wrong with a file, also what reading it passes over in silence."""
    text, problem = _read(layout, name, path)
    return [mark_error(problem)] if problem else lint_script(text, name)


def fix_file(layout: Layout, name: str, path: Path) -> bool:
    """Mend a file in place, and return whether anything was changed."""
    text, problem = _read(layout, name, path)
    fixed = text if problem else fix_script(text)
    if fixed != text:
        _replace(path.resolve(), fixed.encode())
    return fixed != text


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StorageError(f"{path} could not be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _read(layout: Layout, name: str, path: Path) -> tuple[str, ScriptError | None]:
    """Return the text of a file, and what keeps it from being one of the workspace's scripts."""
    try:
        if path.is_dir() and not is_own_place(path, path, layout):
            problem = "this is a link that leads elsewhere. Put the folder itself there"
            return "", ScriptError(problem, path=name)
        if path.is_relative_to(layout.priming):
            ScriptRef.parse(path.relative_to(layout.priming).as_posix()).path(layout)
        return read_text(path, name), None
    except ScriptError as error:
        return "", error
    except UserError as error:
        return "", ScriptError(str(error), path=name)


def findings(library: Library) -> list[Finding]:
    """Say how the scripts of a workspace stand."""
    root = library.layout.root
    files = [(path.relative_to(root).as_posix(), path) for _, path in library.every()]
    broken = [problems[0] for name, path in files if (problems := check_file(library.layout, name, path))]
    found = [
        Finding("error", "priming", str(problem), "Mend it; `shipmate priming check` shows every mistake.")
        for problem in broken
    ]
    names = {problem.path for problem in broken}
    found += [
        Finding("warn", "priming", f"{name}:{mark.line}: {mark.reason}", f"{mark.mend}.")
        for name, path in files
        if name not in names and (mark := _find_worst(library.layout, name, path))
    ]
    found += [Finding("warn", "priming", problem) for problem in Recents(library.layout).inspect()]
    whole = len(files) - len(broken)
    return [*found, Finding("ok", "priming", f"{whole} scripts can be replayed")] if whole else found


def _find_worst(layout: Layout, name: str, path: Path) -> Mark | None:
    """Return the first thing that is lost of a script though it can be read."""
    return next((mark for mark in lint_file(layout, name, path) if mark.level == "error"), None)
