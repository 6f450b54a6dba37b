"""Make scripts and performances for tests of rehearsals."""

from __future__ import annotations

import copy
import json
from typing import Any

from shipmate.priming.convert import TYPE, to_messages
from shipmate.priming.rehearsal.performed import Heard, Performed
from shipmate.priming.rehearsal.recorded import split_answers
from shipmate.priming.script.metadata import write_mapping
from shipmate.priming.script.parse import parse_script
from shipmate.priming.script.record import Script
from shipmate.values.message import JsonObject, UIMessage


def record(kind: str, body: str | None = None, **metadata: Any) -> str:
    """Write one record block."""
    if kind == "func_call_record":
        return f"### record {kind}\n```json\n{json.dumps({'genseq': 1, **metadata})}\n```\n"
    lines = write_mapping({"genseq": 1, **metadata})
    return f"### record {kind}\n``````markdown\n---\n{lines}---\n{body or ''}\n``````\n"


def said(text: str, **metadata: Any) -> str:
    """Write what a person says."""
    return record("human_text_record", text, msgId=f"m-{text}", **metadata)


def answered(text: str, **metadata: Any) -> str:
    """Write what a member says."""
    return record("agent_words_record", text, **metadata)


def called(name: str, call_id: str, arguments: JsonObject, **metadata: Any) -> str:
    """Write a call."""
    return record("func_call_record", id=call_id, name=name, arguments=arguments, **metadata)


def returned(name: str, call_id: str, text: str, **metadata: Any) -> str:
    """Write what a call returned."""
    return record("func_result_record", text, id=call_id, name=name, **metadata)


def make(*records: str, head: str = "") -> Script:
    """Parse records as a script."""
    return parse_script((f"---\n{head}\n---\n" if head else "") + "".join(records))


def as_recorded(script: Script) -> Performed:
    """Perform a script exactly as it was recorded."""
    pairs = split_answers(to_messages(script.records))
    return Performed(turns=[Heard(messages=list(map(_perform, answers))) for _, answers in pairs])


def _perform(message: UIMessage) -> UIMessage:
    parts = [part for part in message["parts"] if part["type"] != TYPE]
    return {"id": message["id"], "role": message["role"], "parts": copy.deepcopy(parts)}


def parts_of(performed: Performed, turn: int = 0) -> list[JsonObject]:
    """Return the parts of the first message that answered a turn, to be changed by a test."""
    return performed.turns[turn].messages[0]["parts"]
