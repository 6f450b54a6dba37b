"""Write priming scripts. No text inside a record can end its block, so nothing said can become a record."""

from __future__ import annotations

import json
import re
from typing import Any

from shipmate.errors import PrimingError
from shipmate.priming.script.metadata import write_key, write_mapping, write_value
from shipmate.priming.script.parse import hide_returns
from shipmate.priming.script.record import Record, Script
from shipmate.priming.script.record_rule import RULES
from shipmate.values.message import JsonObject

SHORTEST_FENCE = 6
_RUNS = re.compile(r"`+")


def write_script(script: Script) -> str:
    """Write a whole script; parsing it gives the same script."""
    try:
        head = f"---\n{_write_frontmatter(script.frontmatter)}---\n\n" if script.frontmatter else ""
        return f"{head}# Agent Priming Script\n\n## Records\n\n" + "\n".join(
            map(write_record, script.records)
        )
    except (RecursionError, ValueError) as error:
        raise PrimingError(f"this cannot be written as a script: {error}") from error


def write_record(record: Record) -> str:
    """Write one record block."""
    heading = f"### record {record.type}\n"
    if record.type == "func_call_record":
        values = {"type": record.type, **record.fields, **record.extra}
        text = json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False)
        # Every line of this JSON begins with a brace or a quote, so three backticks always suffice.
        return f"{heading}```json\n{text}\n```\n"
    body_field = RULES[record.type].body
    metadata = {**record.fields, **record.extra}
    body = None if body_field is None else metadata.pop(body_field)
    if body is not None and hide_returns(body) != body:
        # Reading turns CR LF into LF, so the exact text travels in the metadata as well.
        metadata["exactBody"] = body
        body = hide_returns(body)
    block = f"---\n{write_mapping(metadata)}---\n" + ("" if body is None else f"{body}\n")
    fence = "`" * max(SHORTEST_FENCE, 1 + max(map(len, _RUNS.findall(block)), default=0))
    return f"{heading}{fence}markdown\n{block}{fence}\n"


def _write_frontmatter(frontmatter: JsonObject) -> str:
    """Write the top frontmatter; flat objects and lists of texts stand on lines of their own, for people."""
    return "".join(_write_entry(key, value) for key, value in frontmatter.items())


def _write_entry(key: str, value: Any) -> str:
    if (
        isinstance(value, dict)
        and value
        and not any(isinstance(inner, dict | list) for inner in value.values())
    ):
        return f"{write_key(key)}:\n" + "".join(f"  {write_mapping({k: v})}" for k, v in value.items())
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return f"{write_key(key)}:\n" + "".join(f"  - {write_value(item)}\n" for item in value)
    return write_mapping({key: value})
