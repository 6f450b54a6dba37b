"""Write new answers back into a script, leaving every record as it stands that still holds."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from shipmate.priming.part import RESULTS, describe
from shipmate.priming.rehearsal.answer_piece import AnswerPiece, read_pieces
from shipmate.priming.rehearsal.compare import PiecePair, compare, pair_pieces
from shipmate.priming.rehearsal.fitting import OUTCOMES, Judge
from shipmate.priming.rehearsal.performed import Heard, Performed
from shipmate.priming.rehearsal.recorded import RecordedPiece, RecordedTurn, read_turns
from shipmate.priming.script.line_end import cut_lines, plain_text, restore_ends
from shipmate.priming.script.metadata import write_json
from shipmate.priming.script.parse import cut_blocks, parse_script
from shipmate.priming.script.record import Record, Script
from shipmate.priming.script.writer import write_record, write_script
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
        # The recorded record that each changed one stands for.
        self._origins: dict[int, Record] = {}
        self._genseq = next((g for r in (*turn.asked[-1:], *turn.records[:1]) if (g := r.genseq)), 1)

    def blocks(self) -> list[WrittenRecord]:
        """Return the records of the new answer in their order."""
        made: list[tuple[int, str, WrittenRecord]] = []
        step = 0
        for pair in self._pairs:
            new = None if pair.new is None else self._new[pair.new]
            step = step if pair.new is None else self._steps[pair.new]
            record = self._make(
                None if pair.recorded is None else self._turn.pieces[pair.recorded], new, pair
            )
            if record is not None:
                made.append((step, "" if new is None else new.kind, record))
                self._genseq = record.record.genseq or self._genseq
        blocks = self._weave(_order_steps(made))
        self._keep_name(blocks)
        return blocks

    def _weave(self, made: list[WrittenRecord]) -> list[WrittenRecord]:
        """Put what is no answer (what was told to the member, or is only shown) back where it stood."""
        answers = {id(each.record) for each in self._turn.pieces}
        places = {id(record): at for at, record in enumerate(self._turn.records)}
        woven: list[WrittenRecord] = []
        at = 0
        for block in made:
            end = places.get(id(self._origins.get(id(block), block.record)), -1)
            woven += [self._written[id(r)] for r in self._turn.records[at:end] if id(r) not in answers]
            woven.append(block)
            at = max(at, end + 1)
        rest = [record for record in self._turn.records[at:] if id(record) not in answers]
        return [*woven, *(self._written[id(record)] for record in rest)] if made else []

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
        block = WrittenRecord(self._change(old, new), None, below)
        self._origins[id(block)] = old
        return block

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


def _order_steps(made: list[tuple[int, str, WrittenRecord]]) -> list[WrittenRecord]:
    """Let the calls of one step stand before what came of them, as the model was told them."""
    ordered: list[WrittenRecord] = []
    waiting: list[WrittenRecord] = []
    for at, (step, kind, record) in enumerate(made):
        is_call_ahead = any(each[:2] == (step, "call") for each in made[at + 1 :])
        (waiting if kind in OUTCOMES and is_call_ahead else ordered).append(record)
        if kind == "call" and not is_call_ahead:
            ordered += waiting
            waiting = []
    return ordered


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


def update_script(
    text: str,
    performed: Performed,
    judge: Judge | None = None,
    *,
    ignore: Collection[str] = (),
) -> str:
    """Return the text of a script with the answers of a performance.

    A turn that was not said to its end, or in which a call found no recorded result, stays as it is.
    """
    plain = plain_text(text)
    script = parse_script(plain)
    head, blocks = _cut(plain, script)
    report = compare(script, performed, judge, ignore=ignore)
    for turn, heard, compared in zip(read_turns(script), performed.turns, report.turns, strict=False):
        if not heard.stopped and not heard.missed and any(each.place for each in compared.deviations):
            pairs = pair_pieces(script, turn, read_pieces(heard.messages), judge, ignore=ignore)
            blocks = _replace(blocks, turn, TurnRewrite(turn, heard, pairs, blocks).blocks())
    records = [block.record for block in blocks]
    updated = head + "".join(block.write() for block in blocks)
    if parse_script(updated).records != records:
        # Something stood between the records that is read otherwise now.
        updated = write_script(Script(script.frontmatter, records))
    return restore_ends(text, updated)


def write_diff(name: str, before: str, after: str) -> str:
    """Return what changed, as tools that review changes read it."""
    lines = difflib.unified_diff(cut_lines(before), cut_lines(after), f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _cut(text: str, script: Script) -> tuple[str, list[WrittenRecord]]:
    """Return what stands above the first record, and the text of each."""
    lines = text.split("\n")
    first = script.records[0].line
    ends = [block.start + len(block.lines) for block in cut_blocks(lines[first - 1 :], first, "")]
    bounds = [*(record.line for record in script.records), len(lines) + 1]
    blocks: list[WrittenRecord] = []
    for record, end, following in zip(script.records, ends, bounds[1:], strict=True):
        # The line that closes the block belongs to it; where none does, all up to the next heading does.
        end = min(end, following - 1)
        whole = _join(lines[record.line - 1 : end], is_last=end >= len(lines))
        below = _join(lines[end : following - 1], is_last=following > len(lines))
        blocks.append(WrittenRecord(record, whole, below))
    return _join(lines[: first - 1], is_last=False), blocks


def _join(lines: Sequence[str], *, is_last: bool) -> str:
    return "\n".join(lines) if is_last else "".join(f"{line}\n" for line in lines)


def _replace(
    blocks: list[WrittenRecord], turn: RecordedTurn, new: list[WrittenRecord]
) -> list[WrittenRecord]:
    """Put the new blocks of a turn where its answer stood."""
    old = {id(record) for record in (*turn.asked, *turn.records)}
    places = [at for at, block in enumerate(blocks) if id(block.record) in old]
    asked = {id(record) for record in turn.asked}
    start = max(at for at in places if id(blocks[at].record) in asked) + 1
    replaced = blocks[start : max(places) + 1]
    if not new:
        # No record can say that nothing was answered.
        return blocks
    kept = {id(block) for block in new}
    # What people wrote between records stays, though a record above it went.
    lost = "".join(block.below for block in replaced if id(block) not in kept and block.below.strip())
    if lost:
        new[-1].below += lost
    return [*blocks[:start], *new, *blocks[max(places) + 1 :]]
