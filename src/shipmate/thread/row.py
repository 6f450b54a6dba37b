"""Read and write the lines of a thread file."""

from __future__ import annotations

from typing import Any

import msgspec

from shipmate.values.message import UIMessage

_decode = msgspec.json.Decoder[Any]().decode


class RowProblem(msgspec.Struct, frozen=True):
    """A line of a thread file that cannot be read, and why; the line stays in the file."""

    line: int
    message: str


def encode_row(row: UIMessage) -> bytes:
    """Write a row as one line."""
    return msgspec.json.encode(row) + b"\n"


def decode_row(line: bytes) -> UIMessage:
    """Read a line; raise ValueError when it is no message."""
    try:
        row = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    if not isinstance(row.get("id"), str) or not isinstance(row.get("role"), str):
        raise ValueError("a message needs a text id and a role")
    parts = row.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError("a message needs a list of parts")
    return row  # pyright: ignore[reportReturnType]  (checked above, field by field)


def split_lines(data: bytes, first: int) -> tuple[list[UIMessage], list[RowProblem], int]:
    """Read complete lines; give the rows, what could not be read, and the number of lines."""
    rows: list[UIMessage] = []
    problems: list[RowProblem] = []
    lines = data.split(b"\n")[:-1]
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            rows.append(decode_row(line))
        except ValueError as error:
            problems.append(RowProblem(number, str(error)))
    return rows, problems, len(lines)
