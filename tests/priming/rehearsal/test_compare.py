"""Every seeded regression is found, and none is reported without one (P2)."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import PrimingError
from shipmate.priming.convert import to_records
from shipmate.priming.rehearsal.compare import compare
from shipmate.priming.rehearsal.performed import Heard, Performed
from shipmate.priming.script.record import Script
from shipmate.values.message import JsonObject, UIMessage
from tests.support.rehearsed import (
    answered,
    as_recorded,
    called,
    make,
    parts_of,
    record,
    returned,
    said,
)

SCRIPT = make(
    said("tidy up"),
    answered("I look first."),
    called("read", "c1", {"path": "a.md", "limit": 3}),
    returned("read", "c1", "alpha"),
    called("exec", "c2", {"command": "make"}),
    returned("exec", "c2", "boom", uiResult="error"),
    called("write", "c3", {"path": "b.md"}, uiPart={"state": "output-denied", "approval": {"id": "a"}}),
    called("status", "c4", {}),
    returned("status", "c4", '{"ok": true, "n": 1}', uiResult="json"),
    record(
        "ui_only_markdown_record",
        "![image/png](u)",
        uiRaw={"type": "file", "mediaType": "image/png", "url": "u"},
    ),
    answered("All is tidy."),
    said("thanks"),
    answered("You are welcome."),
)


def find(parts: list[JsonObject], kind: str, number: int = 0) -> JsonObject:
    return [part for part in parts if part["type"] == kind][number]


def change(kind: str, number: int = 0, **values: Any) -> Callable[[list[JsonObject]], None]:
    def apply(parts: list[JsonObject]) -> None:
        part = find(parts, kind, number)
        part.update(values)
        for key in [key for key, value in part.items() if value is None]:
            del part[key]

    return apply


def drop(kind: str, number: int = 0) -> Callable[[list[JsonObject]], None]:
    return lambda parts: parts.remove(find(parts, kind, number))


def add(at: int, part: JsonObject) -> Callable[[list[JsonObject]], None]:
    return lambda parts: parts.insert(at, part)


def move(kind: str, number: int, to: int) -> Callable[[list[JsonObject]], None]:
    def apply(parts: list[JsonObject]) -> None:
        part = find(parts, kind, number)
        parts.remove(part)
        parts.insert(to, part)

    return apply


PNG = {"type": "file", "mediaType": "image/png", "url": "v"}
# What was seeded, and the kind under which it must be found.
REGRESSIONS: dict[str, tuple[Callable[[list[JsonObject]], None], str]] = {
    "other words": (change("text", 0, text="I act at once."), "words"),
    "lost words": (drop("text"), "missing"),
    "additional words": (add(2, {"type": "text", "text": "and more"}), "additional"),
    "words before the call": (move("text", 1, 2), "order"),
    "words after the call": (move("text", 0, 3), "order"),
    "calls in another order": (move("tool-exec", 0, 1), "order"),
    "other tool": (change("tool-read", type="tool-grep"), "tool"),
    "other arguments": (change("tool-read", input={"path": "a.md", "limit": 4}), "arguments"),
    "additional argument": (change("tool-status", input={"deep": True}), "arguments"),
    "truth for a number": (change("tool-read", input={"path": "a.md", "limit": True}), "arguments"),
    "other result": (change("tool-read", output="beta"), "result"),
    "other structure": (change("tool-status", output={"ok": False, "n": 1}), "result"),
    "error with the same text": (
        change("tool-read", state="output-error", output=None, errorText="alpha"),
        "error",
    ),
    "success with the error's text": (
        change("tool-exec", state="output-available", errorText=None, output="boom"),
        "result",
    ),
    "other error": (change("tool-exec", errorText="bang"), "error"),
    "denial for a result": (change("tool-read", state="output-denied", output=None), "denial"),
    "null for a denial": (
        lambda parts: find(parts, "tool-write").update({"state": "output-available", "output": None}),
        "result",
    ),
    "a denied call that ran": (change("tool-write", state="output-available", output="done"), "result"),
    "a call nobody answered": (change("tool-read", state="input-available", output=None), "missing"),
    "lost call": (drop("tool-read"), "missing"),
    "a call twice": (
        lambda parts: parts.append({**copy.deepcopy(find(parts, "tool-status")), "toolCallId": "c9"}),
        "additional",
    ),
    "additional file": (add(1, PNG), "additional"),
    "a file of another name": (change("file", filename="other.png"), "file"),
    "lost file": (drop("file"), "missing"),
    "other file": (change("file", mediaType="image/jpeg"), "file"),
    "additional part": (add(1, {"type": "source-url", "sourceId": "s", "url": "https://a"}), "additional"),
    "a part of data": (add(1, {"type": "data-chart", "data": [1]}), "additional"),
    "an answer cut off": (
        add(1, {"type": "data-notice", "data": {"kind": "length", "text": "x"}}),
        "additional",
    ),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_p2_every_seeded_regression_is_found(name: str) -> None:
    seed, kind = REGRESSIONS[name]
    performed = as_recorded(SCRIPT)
    seed(parts_of(performed))
    report = compare(SCRIPT, performed)
    assert report.verdict == "differs"
    assert kind in {deviation.kind for deviation in report.turns[0].deviations}
    assert report.turns[1].deviations == []
    assert report.reason.startswith("turn 1: ")


# What may vary without anybody being told.
VARIATIONS: dict[str, Callable[[list[JsonObject]], None]] = {
    "nothing": lambda parts: None,
    "ids": change("tool-read", toolCallId="other"),
    "a dynamic tool": change("tool-read", type="dynamic-tool", toolName="read"),
    "blanks around": change("text", 0, text="  I look first.\n"),
    "thoughts": add(0, {"type": "reasoning", "text": "hm"}),
    "steps": add(2, {"type": "step-start"}),
    "what the program keeps": add(2, {"type": "data-reply", "id": "r", "data": {}}),
    "blank words": add(2, {"type": "text", "text": " \n"}),
    "the order of keys": change("tool-read", input={"limit": 3, "path": "a.md"}),
    "a number written otherwise": change("tool-read", input={"limit": 3.0, "path": "a.md"}),
    "structure told as text": change("tool-status", output='{"n":1,"ok":true}'),
    "why a person said no": change("tool-write", approval={"id": "b", "reason": "not today"}),
    "what a finished part carries": change("tool-read", providerMetadata={"x": {}}, title="Read"),
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_p2_nothing_is_reported_without_a_regression(name: str) -> None:
    performed = as_recorded(SCRIPT)
    VARIATIONS[name](parts_of(performed))
    report = compare(SCRIPT, performed)
    assert (report.verdict, report.reason) == ("same", "")
    assert [turn.deviations for turn in report.turns] == [[], []]


def test_p2_each_deviation_shows_both_sides_and_where_they_stand() -> None:
    performed = as_recorded(SCRIPT)
    change("tool-read", state="output-error", output=None, errorText="alpha")(parts_of(performed))
    (deviation,) = compare(SCRIPT, performed).turns[0].deviations
    assert deviation.recorded is not None
    assert deviation.new is not None
    assert (deviation.place, deviation.recorded.kind, deviation.new.kind) == (3, "result", "error")
    assert deviation.reason == "the result of `read`: a result was recorded, now it is an error"


def test_one_regression_makes_one_deviation() -> None:
    performed = as_recorded(SCRIPT)
    drop("text")(parts_of(performed))
    change("tool-exec", input={"command": "make all"})(parts_of(performed))
    found = compare(SCRIPT, performed).turns[0].deviations
    assert [(deviation.kind, deviation.place) for deviation in found] == [("missing", 1), ("arguments", 4)]


@pytest.mark.parametrize("text", ["one\n\ntwo", "onetwo", "one \n\n\ntwo\n"])
def test_words_in_several_texts_are_the_words_in_one(text: str) -> None:
    script = make(said("hi"), answered("one"), answered("two"))
    performed = Performed(
        turns=[Heard(messages=[{"id": "a", "role": "assistant", "parts": [{"type": "text", "text": text}]}])]
    )
    assert compare(script, performed).verdict == "same"


@pytest.mark.parametrize(
    ("recorded", "new"),
    [
        (["not able", "two"], ["notable", "two"]),
        (["not able", "two"], ["notable\n\ntwo"]),
        (["no table", "two"], ["not able", "two"]),
        (["if x:\n    y", "two"], ["if x:\ny", "two"]),
        (["if x:\n    y\n\ntwo"], ["if x:\ny", "two"]),
        (["one", "two three"], ["one", "two  three"]),
    ],
)
def test_blanks_within_words_count_however_many_texts_there_are(recorded: list[str], new: list[str]) -> None:
    script = make(said("hi"), *map(answered, recorded))
    performed = as_recorded(script)
    assert compare(script, performed).verdict == "same"
    parts_of(performed)[:] = [{"type": "text", "text": text} for text in new]
    assert compare(script, performed).verdict == "differs"


def test_words_with_expectations_of_their_own_are_held_apart() -> None:
    script = make(said("hi"), answered("one", expect={"contains": "o"}), answered("two"))
    performed = as_recorded(script)
    assert compare(script, performed).verdict == "same"
    parts_of(performed)[0]["text"] = "so"
    assert [each.place for each in compare(script, performed).turns[0].deviations] == []
    parts_of(performed)[0]["text"] = "x"
    assert [each.place for each in compare(script, performed).turns[0].deviations] == [1]


def test_what_people_say_in_several_messages_is_one_turn() -> None:
    script = make(said("one"), said("two"), answered("both"))
    (turn,) = compare(script, as_recorded(script)).turns
    assert turn.said == "one\n\ntwo"


def test_what_was_told_to_the_member_is_not_expected_of_it() -> None:
    script = make(
        said("hi"),
        record("runtime_guide_record", "be brief"),
        answered("hello"),
        record("ui_only_markdown_record", "a note"),
    )
    new: UIMessage = {"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "hello"}]}
    assert compare(script, Performed(turns=[Heard(messages=[new])])).verdict == "same"


def slower(performed: Performed, ms: int, cost: float | None) -> Performed:
    turns = [msgspec.structs.replace(turn, ms=ms, cost_usd=cost) for turn in performed.turns]
    return Performed(turns=turns)


BOUNDED = make(said("hi", expect={"maxMs": 50, "maxCostUsd": 0.01}), answered("hello"))
WHOLE = make(said("hi"), answered("hello"), head="expect: {maxMs: 50, maxCostUsd: 0.01}")


@pytest.mark.parametrize("script", [BOUNDED, WHOLE])
@pytest.mark.parametrize(
    ("ms", "cost", "kinds"),
    [
        (50, 0.01, []),
        (51, 0.01, ["time"]),
        (50, 0.02, ["cost"]),
        (900, 0.5, ["time", "cost"]),
        (50, None, ["cost"]),
    ],
)
def test_slower_and_dearer_is_found(script: Script, ms: int, cost: float | None, kinds: list[str]) -> None:
    report = compare(script, slower(as_recorded(script), ms, cost))
    assert [deviation.kind for deviation in report.turns[0].deviations] == kinds


def test_bounds_given_from_outside_hold_for_the_whole() -> None:
    performed = slower(as_recorded(SCRIPT), 30, 0.003)
    assert compare(SCRIPT, performed, max_ms=60, max_cost_usd=0.006).verdict == "same"
    report = compare(SCRIPT, performed, max_ms=59, max_cost_usd=0.005)
    assert [deviation.kind for deviation in report.turns[-1].deviations] == ["time", "cost"]
    assert (report.ms, report.cost_usd) == (60, 0.006)


def test_a_turn_that_stops_and_those_never_said_are_deviations() -> None:
    performed = Performed(turns=[msgspec.structs.replace(as_recorded(SCRIPT).turns[0], stopped="cut off")])
    report = compare(SCRIPT, performed)
    assert [turn.deviations[0].kind for turn in report.turns] == ["stopped", "stopped"]
    assert (report.turns[0].stopped, report.reason) == ("cut off", "turn 1: cut off")


def test_a_call_no_recorded_result_answers_is_a_deviation() -> None:
    turns = [msgspec.structs.replace(turn, missed=["read a.md"]) for turn in as_recorded(SCRIPT).turns]
    report = compare(SCRIPT, Performed(turns=turns))
    assert [(each.kind, each.reason) for each in report.turns[1].deviations] == [("missed", "read a.md")]


def test_a_provider_that_cannot_be_asked_is_no_deviation() -> None:
    report = compare(SCRIPT, Performed(unusable="the key is refused"))
    assert (report.verdict, report.reason, report.turns) == ("unusable", "the key is refused", [])


def test_aspects_can_be_left_out() -> None:
    performed = as_recorded(SCRIPT)
    parts = parts_of(performed)
    change("text", 0, text="other")(parts)
    assert compare(SCRIPT, performed, ignore=["words"]).verdict == "same"
    change("tool-read", output="other")(parts)
    assert compare(SCRIPT, performed, ignore=["words"]).verdict == "differs"
    assert compare(SCRIPT, performed, ignore=["words", "results"]).verdict == "same"
    change("tool-read", type="tool-grep")(parts)
    assert compare(SCRIPT, performed, ignore=["words", "results"]).verdict == "differs"
    assert compare(SCRIPT, performed, ignore=["words", "results", "calls"]).verdict == "same"
    add(0, PNG)(parts)
    assert compare(SCRIPT, performed, ignore=["words", "results", "calls"]).verdict == "differs"
    assert compare(SCRIPT, performed, ignore=["words", "results", "calls", "files"]).verdict == "same"


def test_long_answers_that_have_nothing_in_common_are_compared_soon() -> None:
    script = make(
        said("go"),
        *[called("read", f"c{n}", {"path": str(n)}) + returned("read", f"c{n}", "x") for n in range(1500)],
    )
    performed = as_recorded(script)
    for part in parts_of(performed):
        if part["type"] == "tool-read":
            part.update(type="tool-grep", input={"pattern": part["toolCallId"]}, output="y")
    begun = time.process_time()
    assert len(compare(script, performed).turns[0].deviations) == 3000
    assert time.process_time() - begun < 10


def test_a_script_nobody_speaks_in_cannot_be_rehearsed() -> None:
    with pytest.raises(PrimingError, match="no user turn"):
        compare(make(answered("hi")), Performed())


TEXT = st.text(min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.dictionaries(TEXT, inner)
)
PART = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text, "state": "done"}, TEXT),
    st.builds(lambda text: {"type": "reasoning", "text": text, "state": "done"}, TEXT),
    st.just({"type": "step-start"}),
    st.builds(
        lambda name, given, found, number: {
            "type": f"tool-{name}",
            "toolCallId": f"c{number}",
            "input": given,
            **found,
        },
        st.sampled_from(["read", "exec"]),
        st.dictionaries(TEXT, JSON, max_size=2),
        st.one_of(
            st.builds(lambda value: {"state": "output-available", "output": value}, JSON),
            st.builds(lambda text: {"state": "output-error", "errorText": text}, TEXT),
            st.just({"state": "output-denied", "approval": {"id": "a", "approved": False}}),
            st.just({"state": "input-available"}),
        ),
        st.integers(0, 10**9),
    ),
    st.builds(lambda name: {"type": "file", "mediaType": "a/b", "url": name}, TEXT),
)


@given(st.lists(st.lists(PART, max_size=6), min_size=1, max_size=3))
def test_p2_any_thread_is_as_its_own_script_says(answers: list[list[JsonObject]]) -> None:
    messages: list[UIMessage] = []
    for number, parts in enumerate(answers):
        messages.append({"id": f"u{number}", "role": "user", "parts": [{"type": "text", "text": "go"}]})
        messages.append({"id": f"a{number}", "role": "assistant", "parts": parts})
    script = Script({}, to_records(messages))
    performed = Performed(turns=[Heard(messages=[message]) for message in messages[1::2]])
    report = compare(script, performed)
    assert (report.verdict, report.reason) == ("same", "")


def test_a_refusal_is_one_however_far_the_thread_came() -> None:
    performed = as_recorded(SCRIPT)
    answer = {"id": "a", "approved": False}
    find(parts_of(performed), "tool-write").update(state="approval-responded", approval=answer)
    assert compare(SCRIPT, performed).verdict == "same"


def test_what_a_refused_call_expects_is_not_expected_of_the_refusal() -> None:
    refused = {"state": "output-denied", "approval": {"id": "a"}}
    call = called("write", "c", {"path": "b"}, uiPart=refused, expect={"json": {"path": "b"}})
    script = make(said("hi"), call, answered("Then not."))
    assert compare(script, as_recorded(script)).verdict == "same"


def test_the_bytes_of_a_file_are_told_by_their_digest() -> None:
    performed = as_recorded(SCRIPT)
    find(parts_of(performed), "file").update(url="data:image/png;base64," + "A" * 1000)
    (found,) = compare(SCRIPT, performed).turns[0].deviations
    assert found.new is not None
    assert found.new.value["url"].startswith("sha256:")


def test_a_bound_on_the_whole_does_not_hold_when_the_cost_of_one_turn_is_not_known() -> None:
    performed = slower(as_recorded(SCRIPT), 30, 0.003)
    unknown = msgspec.structs.replace(performed.turns[1], cost_usd=None)
    report = compare(SCRIPT, Performed(turns=[performed.turns[0], unknown]), max_cost_usd=1)
    assert report.cost_usd is None
    assert [deviation.kind for deviation in report.turns[-1].deviations] == ["cost"]
