"""What a tried command did to one path, and whether that may ever be put in place."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.file.change.state import ABSENT, SET_ID, State, list_names, look
from shipmate.tools.file.protection import is_locked

# More than a person can judge; such a command is asked about by its words.
EFFECT_LIMIT = 20_000
CONTENT_LIMIT = 200_000_000
DEPTH_LIMIT = 100

Lock = Callable[[Sequence[str]], bool]


class TooMuchError(ToolError):
    """The command did more than can be shown."""


class Effect(msgspec.Struct, frozen=True):
    """One path before and after a trial; `refusal` says why it will stay as it was."""

    path: str
    before: State
    after: State
    # What holds its new content.
    source: Path | None = None
    refusal: str = ""


class Effects:
    """The effects of a trial, gathered within limits."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.found: list[Effect] = []
        self._size = 0

    def add(self, path: str, before: State, after: State, source: Path | None = None) -> None:
        """Note what happened to a path; what is as it was counts for nothing."""
        if before == after:
            return
        self._size += after.size
        if len(self.found) >= EFFECT_LIMIT or self._size > CONTENT_LIMIT:
            raise TooMuchError(
                f"it changed more than {EFFECT_LIMIT:,} files or {CONTENT_LIMIT // 1_000_000} MB"
            )
        self.found.append(Effect(path, before, after, source))

    def remove(self, path: str, before: State) -> None:
        """Note that a path is gone, with all that was in it."""
        self.add(path, before, ABSENT)
        if before.kind == "folder":
            self.empty(path)

    def empty(self, path: str, but: Iterable[str] = ()) -> None:
        """Note that what a folder of the workspace held is gone, but for some names."""
        check_depth(path)
        for name in list_names(self.root, path):
            if name not in but:
                self.remove(join(path, name), look(self.root, join(path, name)))


def check_depth(path: str) -> None:
    """Raise TooMuchError for folders nested deeper than tools go."""
    if path.count("/") > DEPTH_LIMIT:
        raise TooMuchError(f"it made or met folders more than {DEPTH_LIMIT} deep")


def join(folder: str, name: str) -> str:
    """Return the path of a name in a folder, from the workspace."""
    return f"{folder}/{name}" if folder else name


def refuse(
    effects: Sequence[Effect], root: Path, is_kept: Lock = is_locked, *, forbids: Lock | None = None
) -> list[Effect]:
    """Mark what is never put in place, and what cannot be without it; `forbids` speaks for the rules."""
    reasons = {effect.path: _refusal(effect, root, is_kept) for effect in effects}
    for path, reason in reasons.items():
        if forbids is not None and not reason and forbids(path.split("/")):
            reasons[path] = "denied"
    for effect in sorted(effects, key=lambda each: each.path.count("/")):
        parent = effect.path.rpartition("/")[0]
        if not reasons[effect.path] and reasons.get(parent) and effect.after.kind != "absent":
            reasons[effect.path] = "inside"
    for effect in sorted(effects, key=lambda each: -each.path.count("/")):
        parent = effect.path.rpartition("/")[0]
        if reasons[effect.path] and effect.before.kind != "absent" and parent in reasons:
            # What stays needs the folder it is in.
            reasons[parent] = reasons[parent] or "holds"
    return [msgspec.structs.replace(effect, refusal=reasons[effect.path]) for effect in effects]


def _refusal(effect: Effect, root: Path, is_kept: Lock) -> str:
    parts = effect.path.split("/")
    if not all(map(is_plain, parts)):
        return "name"
    if is_kept(parts):
        return "protected"
    if "special" in (effect.before.kind, effect.after.kind):
        return "special"
    if effect.before.kind == "unreachable":
        return "unreachable"
    if effect.after.mode & SET_ID and effect.after.mode & SET_ID & ~effect.before.mode:
        return "set-id"
    if effect.after.kind == "file" and effect.after.mode & SET_ID:
        return "set-id"
    if effect.after.kind == "link":
        if leads_out(root, effect):
            return "leads-out"
        return "protected" if _leads_to_kept(root, effect, is_kept) else ""
    return ""


def is_plain(name: str) -> bool:
    """Return whether a file name can be shown as it is and names one file only."""
    return not any(unicodedata.category(each) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp") for each in name)


def leads_out(root: Path, effect: Effect) -> bool:
    """Return whether a link would lead out of the workspace: by its text, or through links that are there."""
    target = effect.after.digest
    if not target or not is_plain(target):
        return True
    place = root.joinpath(*effect.path.split("/")[:-1])
    if target.startswith("/"):
        is_out = not Path(target).is_relative_to(root)
    else:
        is_out = _climbs_out([*effect.path.split("/")[:-1], *target.split("/")])
    return is_out or not Path(os.path.realpath(place / target)).is_relative_to(root)


def _climbs_out(steps: Sequence[str]) -> bool:
    """Return whether a path touches the outside anywhere on its way."""
    depth = 0
    for step in steps:
        if step not in ("", "."):
            depth += -1 if step == ".." else 1
        if depth < 0:
            return True
    return False


def _leads_to_kept(root: Path, effect: Effect, is_kept: Lock) -> bool:
    """Return whether a link would be another name of a protected file."""
    place = root.joinpath(*effect.path.split("/")[:-1], effect.after.digest)
    parts = Path(os.path.normpath(place)).relative_to(root).parts
    real = Path(os.path.realpath(place)).relative_to(root).parts
    return is_kept(parts) or is_kept(real)
