"""Show a person what a tried command did: what it printed, each file it would change, and how."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shipmate.tools.exec.preview.effect import Effect, TooMuchError
from shipmate.tools.exec.preview.upper import open_left
from shipmate.tools.file.change.state import State, read_file
from shipmate.tools.file.diff import unified
from shipmate.tools.text import shorten
from shipmate.values.reveal import reveal
from shipmate.values.saying import fill, load_sayings

FOLDER = Path(__file__).parent / "words"
OUTPUT_LIMIT = 4_000
# A longer file is shown by its size and digest.
TEXT_LIMIT = 1_000_000
# Of what goes away, a long text is named without being shown.
REMOVED_LIMIT = 4_000
# More than a person reads; such a command is asked about by its words.
PICTURE_LIMIT = 1_000_000
# Modes that say nothing a person would want to know.
USUAL_MODES = {"file": (0o644, 0o664), "folder": (0o755, 0o775)}


def load_words(language: str) -> dict[str, str]:
    """Return this room's sayings in a language."""
    return load_sayings(FOLDER, language)


def say(language: str, key: str, **values: object) -> str:
    """Return a saying with its places filled."""
    return fill(load_words(language)[key], values)


class Painter:
    """Writes the picture of one trial."""

    def __init__(self, root: Path, language: str) -> None:
        self._root = root
        self._language = language

    def paint(self, command: str, note: str, printed: str, pointer: str, effects: Sequence[Effect]) -> str:
        """Return all that a person is shown; raise TooMuchError when it is more than can be."""
        done = [effect for effect in effects if not effect.refusal]
        output = shorten(printed, OUTPUT_LIMIT, pointer) if printed else ""
        pieces = [
            command,
            self._say("tried", note=note),
            f"{self._say('printed')}\n{output}" if output else self._say("silent"),
            "\n".join([self._say("effects", **count(done)), *map(self._line, done)]),
            self.name_refused(effects),
            *(self._diff(effect) for effect in done),
        ]
        text = reveal("\n\n".join(piece for piece in pieces if piece))
        if len(text) > PICTURE_LIMIT:
            raise TooMuchError(f"its effects take more than {PICTURE_LIMIT:,} characters to show")
        return text

    def name_refused(self, effects: Sequence[Effect]) -> str:
        """Name what will not be done; empty when all will."""
        refused = [effect for effect in effects if effect.refusal]
        lines = [
            self._say("refusal", path=effect.path, why=self._say(f"why-{effect.refusal}"))
            for effect in refused
        ]
        return reveal("\n".join([self._say("refused"), *lines])) if lines else ""

    def _line(self, effect: Effect) -> str:
        return self._say(sort_of(effect), path=effect.path, what=self._what(effect))

    def _what(self, effect: Effect) -> str:
        before, after = effect.before, effect.after
        shown = before if after.kind == "absent" else after
        words = self._describe(shown, effect)
        if before.kind == after.kind:
            if before.mode == after.mode:
                return words
            change = self._say("mode", before=f"{before.mode:o}", after=f"{after.mode:o}")
            is_all = before.digest == after.digest
            return change if is_all else f"{words}, {change}"
        is_usual = after.mode in USUAL_MODES.get(after.kind, (after.mode,))
        return words if is_usual else f"{words}, {after.mode:o}"

    def _describe(self, state: State, effect: Effect) -> str:
        if state.kind == "folder":
            return self._say("folder")
        if state.kind == "link":
            return self._say("link", target=state.digest)
        if self._new_text(effect) is None:
            return self._say("binary", size=f"{state.size:,}", digest=state.digest)
        return self._say("bytes", size=f"{state.size:,}")

    def _diff(self, effect: Effect) -> str:
        before, after = effect.before, effect.after
        if before.digest == after.digest or "file" not in (before.kind, after.kind):
            return ""
        if after.kind == "absent" and before.size > REMOVED_LIMIT:
            return ""
        old, new = self._old_text(effect), self._new_text(effect)
        return unified(effect.path, old, new).rstrip("\n") if old is not None and new is not None else ""

    def _old_text(self, effect: Effect) -> str | None:
        if effect.before.kind != "file":
            return ""
        data = read_file(self._root, effect.path, TEXT_LIMIT)
        return None if data is None else _decode(data)

    def _new_text(self, effect: Effect) -> str | None:
        if effect.after.kind != "file":
            return ""
        if effect.source is None or effect.after.size > TEXT_LIMIT:
            return None
        with open_left(effect.source) as handle, open(handle, "rb", closefd=False) as file:
            return _decode(file.read(TEXT_LIMIT))

    def _say(self, key: str, **values: object) -> str:
        return say(self._language, key, **values)


def sort_of(effect: Effect) -> str:
    """Return what happens to a path: added, changed or removed."""
    if effect.after.kind == "absent":
        return "removed"
    return "added" if effect.before.kind == "absent" else "changed"


def count(effects: Sequence[Effect]) -> dict[str, int]:
    """Count what is added, changed and removed."""
    sorts = [sort_of(effect) for effect in effects]
    return {sort: sorts.count(sort) for sort in ("added", "changed", "removed")}


def _decode(data: bytes) -> str | None:
    """Decode a text; None for what is none."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
