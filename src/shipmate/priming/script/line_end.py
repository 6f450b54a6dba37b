"""Keep the line ends and the byte order mark of a file whose text is written anew."""

from __future__ import annotations

import difflib
import re

MARK = "\ufeff"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def cut_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends; only `\\n` ends one, whatever else a page breaks at."""
    return _LINE.findall(text)


def plain_text(text: str) -> str:
    """Return a text without byte order mark, every line of it ended by `\\n` alone."""
    return text.removeprefix(MARK).replace("\r\n", "\n")


def restore_ends(original: str, plain: str) -> str:
    """Return a changed plain text as the original was written: lines that stayed keep their ends."""
    mark = MARK if original.startswith(MARK) else ""
    windows = original.count("\r\n")
    if not windows:
        return mark + plain
    if windows == original.count("\n"):
        return mark + plain.replace("\n", "\r\n")
    return mark + _restore_each(cut_lines(original.removeprefix(MARK)), cut_lines(plain))


def _restore_each(original: list[str], plain: list[str]) -> str:
    """Return the second lines, each ended as the first one that it is, replaces or follows."""
    found = difflib.SequenceMatcher(None, [plain_text(line) for line in original], plain, autojunk=False)
    restored: list[str] = []
    for _, start, end, first, last in found.get_opcodes():
        # What is additional is ended as the line above it.
        known = original[start:end] or original[start - 1 : start] or original[:1]
        for at, line in enumerate(plain[first:last]):
            is_windows = known[min(at, len(known) - 1)].endswith("\r\n")
            restored.append(line.replace("\n", "\r\n") if is_windows else line)
    return "".join(restored)
