"""Find lines by a regular expression. Runs in a child process: one of ten characters can take all memory."""

from __future__ import annotations

from shipmate.errors import ToolError

PATTERN_LIMIT = 1_000


def find_lines(data: bytes, *, pattern: str, ignore_case: bool, sizes: str, limit: int) -> bytes:
    """Return the numbers of matching lines of texts of `sizes` bytes: a line of them for each text."""
    import regex

    try:
        search = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0).search
    except (regex.error, RecursionError, OverflowError) as error:
        raise ToolError(f"{pattern!r} is not a regular expression: {error}.") from error
    except MemoryError as error:
        raise ToolError(f"{pattern!r} repeats too much; give a simpler pattern.") from error
    at, left = 0, limit
    answers: list[str] = []
    for size in map(int, sizes.split(",") if sizes else ()):
        found: list[str] = []
        for number, line in enumerate(split_lines(data[at : at + size]), 1):
            if left <= 0:
                break
            if search(line) is not None:
                found.append(str(number))
                left -= 1
        answers.append(" ".join(found))
        at += size
    return "\n".join(answers).encode()


def split_lines(data: bytes) -> list[str]:
    """Return the lines of a text without their ends."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
