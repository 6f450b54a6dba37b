"""Write new answers back into a script, leaving every record as it stands that still holds."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from shipmate.priming.rehearsal.answer_piece import read_pieces
from shipmate.priming.rehearsal.compare import compare, pair_pieces
from shipmate.priming.rehearsal.fitting import Judge
from shipmate.priming.rehearsal.performed import Performed
from shipmate.priming.rehearsal.recorded import RecordedTurn, read_turns
from shipmate.priming.rehearsal.turn_rewrite import TurnRewrite, WrittenRecord
from shipmate.priming.script.line_end import cut_lines, plain_text, restore_ends
from shipmate.priming.script.parse import cut_blocks, parse_script
from shipmate.priming.script.record import Script
from shipmate.priming.script.writer import write_script


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
