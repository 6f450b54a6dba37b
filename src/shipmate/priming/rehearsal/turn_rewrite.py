"""Make the records of a new answer, keeping those recorded ones that still hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shipmate.priming.part import RESULTS, describe
from shipmate.priming.rehearsal.answer_piece import AnswerPiece, read_pieces
from shipmate.priming.rehearsal.compare import PiecePair
from shipmate.priming.rehearsal.fitting import OUTCOMES
from shipmate.priming.rehearsal.performed import Heard
from shipmate.priming.rehearsal.recorded import RecordedPiece, RecordedTurn
from shipmate.priming.script.metadata import write_json
from shipmate.priming.script.record import Record
from shipmate.priming.script.writer import write_record
from shipmate.values.message import JsonObject, UIMessage

_WORDS = {"words": "agent_words_record", "thought": "agent_thought_record"}


@dataclass(slots=True)
class WrittenRecord:
    """A record and the text it stands in; without a text it is written anew."""

    record: Record
    text: str | None
    # What people wrote below the block.
    below: str = ""

    def write(self) -> str:
        """Return the record and what stands below it."""
        return (write_record(self.record) if self.text is None else self.text) + self.below


class TurnRewrite:
    """Makes the records of one turn anew."""

    def __init__(
        self,
        turn: RecordedTurn,
        heard: Heard,
        pairs: Sequence[PiecePair],
        written: Sequence[WrittenRecord],
    ) -> None:
        self._turn = turn
        self._new = read_pieces(heard.messages)
        self._steps = _number_steps(heard.messages)
        self._pairs = pairs
        self._written = {id(each.record): each for each in written}
        self._taken = {each.record.fields.get("id") for each in written}
        # The id in the script of each new call.
        self._ids: dict[str, str] = {}
        self._genseq = next((g for r in (*turn.asked[-1:], *turn.records[:1]) if (g := r.genseq)), 1)

    def blocks(self) -> list[WrittenRecord]:
        """Return the records of the new answer in their order."""
        made: list[tuple[int, bool, WrittenRecord]] = []
        step = 0
        for pair in self._pairs:
            new = None if pair.new is None else self._new[pair.new]
            step = step if pair.new is None else self._steps[pair.new]
            record = self._make(
                None if pair.recorded is None else self._turn.pieces[pair.recorded], new, pair
            )
            if record is not None:
                made.append((step, new is not None and new.kind in OUTCOMES, record))
                self._genseq = record.record.genseq or self._genseq
        # Calls of one step stand before what came of them, as the model was told them.
        made.sort(key=lambda each: each[:2])
        blocks = [record for _, _, record in made]
        self._keep_name(blocks)
        return blocks

    def _make(
        self, recorded: RecordedPiece | None, new: AnswerPiece | None, pair: PiecePair
    ) -> WrittenRecord | None:
        """Return the record of a pair; None when none is to stand there."""
        if new is None:
            return self._written[id(recorded.record)] if recorded is not None and pair.holds else None
        # A refusal stands in the record of its call, and what is never expected is not written down.
        if new.kind == "denial" or (recorded is None and pair.holds):
            return None
        call_id = self._name_call(new, recorded)
        if recorded is not None and pair.holds and self._may_stay(recorded, new, call_id):
            return self._written[id(recorded.record)]
        is_own = recorded is not None and (new.kind == "call" or recorded.record.type in RESULTS)
        old = recorded.record if recorded is not None and (is_own or new.kind in _WORDS) else None
        if old is None:
            return WrittenRecord(self._begin(new, call_id), None)
        replaced = self._written[id(old)]
        below, replaced.below = replaced.below, ""
        return WrittenRecord(self._change(old, new), None, below)

    def _may_stay(self, recorded: RecordedPiece, new: AnswerPiece, call_id: str) -> bool:
        """Return whether a record says all of a new piece: its id, and how a call ended."""
        if new.kind in OUTCOMES:
            return recorded.piece.call_id == call_id and recorded.piece.kind != "denial"
        if new.kind != "call":
            return True
        mine = [each.piece.kind for each in self._turn.pieces if each.piece.call_id == recorded.piece.call_id]
        theirs = [each.kind for each in self._new if each.call_id == new.call_id]
        return mine == theirs

    def _name_call(self, piece: AnswerPiece, recorded: RecordedPiece | None) -> str:
        """Return the id a call has in the script: the recorded one, or a new one that is free."""
        if piece.kind == "call":
            number = 1
            while recorded is None and f"call_{number}" in self._taken:
                number += 1
            name = f"call_{number}" if recorded is None else recorded.piece.call_id
            self._taken.add(name)
            self._ids[piece.call_id] = name
        return self._ids.get(piece.call_id, piece.call_id)

    def _begin(self, new: AnswerPiece, call_id: str) -> Record:
        """Return a record of a piece for which none was recorded."""
        head: JsonObject = {"genseq": self._genseq}
        if new.kind in _WORDS:
            return Record(_WORDS[new.kind], {**head, "content": new.text})
        if new.kind == "call":
            return self._change(Record("func_call_record", {**head, "id": call_id, "name": new.name}), new)
        if new.kind in OUTCOMES:
            fields = {**head, "id": call_id, "name": new.name}
            return self._change(Record("func_result_record", fields), new)
        part = _make_part(new)
        return Record("ui_only_markdown_record", {**head, "content": describe(part)}, {"uiRaw": part})

    def _change(self, old: Record, new: AnswerPiece) -> Record:
        """Return a record with what a new piece says; what its author expects of it stays."""
        extra = {key: value for key, value in old.extra.items() if key not in ("uiPart", "uiResult")}
        if new.kind == "call":
            return Record(old.type, _write_arguments(old, new), {**extra, **self._tell_denial(new)})
        fields = {**old.fields, _BODIES.get(old.type, "content"): new.text}
        if new.value is not None:
            fields["content"] = write_json(new.value)
            extra["uiResult"] = "json"
        if new.kind == "error":
            extra["uiResult"] = "error"
        return Record(old.type, fields, extra)

    def _tell_denial(self, call: AnswerPiece) -> JsonObject:
        is_denied = any(each.kind == "denial" and each.call_id == call.call_id for each in self._new)
        return {"uiPart": {"state": "output-denied"}} if is_denied else {}

    def _keep_name(self, blocks: list[WrittenRecord]) -> None:
        """Let the first record name the message that the recorded answer began with."""
        name = self._turn.records[0].extra.get("uiMessage") if self._turn.records else None
        if blocks and name is not None and "uiMessage" not in blocks[0].record.extra:
            first = blocks[0].record
            extra = {"uiMessage": name, **first.extra}
            blocks[0] = replace(blocks[0], record=Record(first.type, first.fields, extra), text=None)


_BODIES = {"teammate_call_result_record": "result"}


def _write_arguments(old: Record, new: AnswerPiece) -> JsonObject:
    fields = {key: value for key, value in old.fields.items() if key not in ("arguments", "rawArgumentsText")}
    fields["name"] = new.name
    is_raw = "rawArgumentsText" in old.fields or not isinstance(new.value, dict)
    if is_raw:
        fields["rawArgumentsText"] = "" if new.value is None else write_json(new.value)
    else:
        fields["arguments"] = new.value
    return fields


def _make_part(piece: AnswerPiece) -> JsonObject:
    if piece.kind == "file":
        return {"type": "file", **piece.value, **({"filename": piece.name} if piece.name else {})}
    return {"type": piece.name, **piece.value}


def _number_steps(messages: Sequence[UIMessage]) -> list[int]:
    """Return the step of each piece that `read_pieces` finds; where none is marked, a result ends one."""
    steps: list[int] = []
    step = 0
    for message in messages:
        step += 1
        is_marked = any(part.get("type") == "step-start" for part in message["parts"])
        for part in message["parts"]:
            step += part.get("type") == "step-start"
            alone: UIMessage = {"id": "", "role": message["role"], "parts": [part]}
            pieces = read_pieces([alone])
            steps += [step] * len(pieces)
            step += not is_marked and len(pieces) > 1
    return steps
