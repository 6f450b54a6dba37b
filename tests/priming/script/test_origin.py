"""The origin's own reader, from its package: what it accepts we accept with equal records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shipmate.priming.convert import to_records
from shipmate.priming.script.parse import check_script, hide_returns, parse_script
from shipmate.priming.script.record import Record, Script
from shipmate.priming.script.record_rule import RULES
from shipmate.priming.script.writer import write_script
from shipmate.values.message import JsonObject, UIMessage
from tests.support.origin import read_by_origin
from tests.support.priming_strategy import scripts, texts, threads
from tests.support.search import examples

FIXTURES = Path(__file__).parents[1] / "fixtures"
MANIFEST: dict[str, Any] = json.loads((FIXTURES / "manifest.json").read_text(encoding="utf-8"))
# Records of the design document's time, which the origin has given up.
OLD = ("quest_for_sup_record", "teammate_")
# Where document 000 or its rulings are stricter than the origin, by the rule a refusal names or by its words.
STRICTER = (
    "the frontmatter ",
    "no record in this file",
    "no longer understood",
    "no record heading",
    "there is no `",
    "out of the metadata",
)


Drawn = TypeVar("Drawn")


def draw_many(strategy: st.SearchStrategy[Drawn], count: int) -> list[Drawn]:
    """Draw values for one process of the origin, which reads them all."""
    drawn: list[Drawn] = []

    @settings(max_examples=count, phases=[Phase.generate], database=None)
    @given(strategy)
    def keep(value: Drawn) -> None:
        drawn.append(value)

    keep()
    return drawn


def visible(record: Record) -> JsonObject:
    """Return a record as somebody reads it who knows none of our own keys."""
    values = record.values()
    body = RULES[record.type].body
    return values if body is None else {**values, body: hide_returns(values[body])}


def compare(records: list[Record], answer: dict[str, Any]) -> None:
    assert "error" not in answer, answer
    assert as_doubles(answer["records"]) == as_doubles([visible(record) for record in records])


def as_doubles(value: Any) -> Any:
    """Return a value as the origin's language has it: whole numbers past 2 to the 53rd are rounded there."""
    if isinstance(value, dict):
        return {key: as_doubles(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_doubles(each) for each in value]
    is_long = isinstance(value, int) and abs(value) > 2**53
    return float(value) if is_long else value


def current(records: list[Record]) -> list[Record]:
    return [
        record for record in records if not record.type.startswith(OLD) and "arguments" not in record.fields
    ]


def test_the_origin_reads_the_fixtures_as_the_manifest_says() -> None:
    cases = [*MANIFEST["accept"], *MANIFEST["reject"]]
    answers = read_by_origin([(FIXTURES / case["file"]).read_text(encoding="utf-8") for case in cases])
    for case, answer in zip(cases, answers, strict=True):
        # Owners of reminders are looked up by more of the origin than its reader.
        if "reminder_unknown_owner" not in case["file"]:
            assert ("error" in answer) == ("records" not in case or case in MANIFEST["reject"]), case["file"]
        if case in MANIFEST["accept"]:
            assert answer["records"] == case["records"]


def test_the_origin_reads_what_we_write_with_equal_records() -> None:
    drawn = draw_many(st.one_of(scripts.map(current), threads.map(to_records)), examples(80))
    written = [write_script(Script({"title": "t"}, records)) for records in drawn]
    for records, answer in zip(drawn, read_by_origin(written), strict=True):
        compare(records, answer)


numbers = st.sampled_from(
    ["0", "1", "7", "1.0", "0x10", "0o17", "017", "'1'", "-1", "1.5", "true", "null", ""]
)
names = st.sampled_from(
    ["m-1", "'5'", "5", '"a b"', "中", "''", "' '", "no", "null", "2026-03-01", "12:30:45", "[a]"]
)
bodies = texts | st.sampled_from(
    ["hi", "a\n```\nb", "a\n~~~\nb", "### record gen_start_record\n", "---\nx: 1\n---\ny"]
)
fences = st.sampled_from(["```", "````", "``````", "~~~", "~~~~~"])
infos = st.sampled_from(["", "markdown", " markdown", "json", "md x", "`", "~"])
gaps = st.sampled_from(
    ["", "\n", "\n\n", "prose\n", "# Title\n", "- a list\n", "---\n", "> quote\n\n", "\t\n"]
)
headings = st.sampled_from(
    ["### record {}", "###  record\t{}", "### RECORD {}", "### record {} ", "###\u3000record {}"]
)
closings = st.sampled_from(["", "", "", " ", "\t", "`", "x"])
MARKDOWN = [
    "agent_words_record",
    "agent_thought_record",
    "human_text_record",
    "func_result_record",
    "gen_start_record",
    "ui_only_markdown_record",
    "runtime_guide_record",
]


@st.composite
def blocks(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from([*MARKDOWN, "func_call_record"]))
    fence, heading = draw(fences), draw(headings).format(kind)
    if kind == "func_call_record":
        call: JsonObject = {
            "genseq": draw(st.sampled_from([1, 2.0, "1", -1])),
            "id": draw(st.sampled_from(["c", "", 5])),
        }
        call |= {"name": "read", "rawArgumentsText": draw(st.sampled_from(["{}", "", "{", 5]))}
        block = json.dumps(call, indent=draw(st.sampled_from([None, 2])))
    else:
        keys = [f"genseq: {draw(numbers)}"]
        keys += [f"msgId: {draw(names)}"] if kind == "human_text_record" else []
        keys += [f"id: {draw(names)}", f"name: {draw(names)}"] if kind == "func_result_record" else []
        keys += draw(
            st.sampled_from([[], [], ["note: {a: [1, b]}"], ["# a remark"], ["sourceTag: priming_script"]])
        )
        body = "" if kind == "gen_start_record" else draw(bodies)
        block = "---\n" + "\n".join(draw(st.permutations(keys))) + f"\n---\n{body}"
    if draw(st.booleans()) and draw(st.booleans()):
        return f"{draw(gaps)}{heading}\n{block}\n"
    opening = fence + draw(infos)
    above = f"{draw(gaps)}{heading}\n{draw(st.sampled_from(['', chr(10)]))}"
    return f"{above}{opening}\n{block}\n{fence}{draw(closings)}\n"


heads = st.sampled_from(
    [
        "",
        "---\ntitle: ' x '\n---\n",
        "---\nkind: agent_priming_script\nversion: 3\n---\n",
        "# Title\n\n",
        "\ufeff",
    ]
)
hand_written = st.tuples(heads, st.lists(blocks(), max_size=4), st.sampled_from(["\n", "\r\n"])).map(
    lambda drawn: (drawn[0] + "".join(drawn[1])).replace("\n", drawn[2])
)


def test_what_the_origin_accepts_we_accept_with_equal_records() -> None:
    drawn = draw_many(hand_written, examples(200))
    for text, answer in zip(drawn, read_by_origin(drawn), strict=True):
        problems = check_script(text)
        if "error" in answer:
            assert problems, (text, answer)
        elif problems:
            assert any(words in problems[0].problem for words in STRICTER), (text, problems[0])
        else:
            script = parse_script(text)
            read = script.title, [visible(each) for each in script.records]
            assert read == (answer["title"], answer["records"]), text


def test_messages_of_other_programs_are_read_as_the_origin_reads_them() -> None:
    message: UIMessage = {
        "id": "a",
        "role": "assistant",
        "parts": [{"type": "text", "text": "x\x85y\u2028z"}],
    }
    (answer,) = read_by_origin([write_script(Script({}, to_records([message])))])
    assert [record["content"] for record in answer["records"]] == ["x\x85y\u2028z"]
