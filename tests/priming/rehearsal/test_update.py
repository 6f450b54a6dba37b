from __future__ import annotations

import copy
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.priming.rehearsal.answer_piece import AnswerPiece
from shipmate.priming.rehearsal.compare import compare
from shipmate.priming.rehearsal.performed import Heard, Performed
from shipmate.priming.rehearsal.update import update_script, write_diff
from shipmate.priming.script.parse import check_script, parse_script
from shipmate.values.message import JsonObject
from tests.support.rehearsed import answered, as_recorded, called, parts_of, record, returned, said

HEAD = "---\ntitle: Probe\n---\n\nWords of the author.\n\n"
TEXT = HEAD + "".join(
    [
        said("probe"),
        answered("I look."),
        called("read", "c1", {"path": "a"}),
        returned("read", "c1", "alpha"),
        "\nWhat the author thinks of this result.\n\n",
        called("exec", "c2", {"command": "make"}),
        returned("exec", "c2", "made"),
        answered("Done.", expect={"contains": "Done"}),
        said("thanks"),
        answered("You are welcome."),
    ]
)


def perform(parts: list[JsonObject], text: str = TEXT) -> Performed:
    performed = as_recorded(parse_script(text))
    performed.turns[0].messages[0]["parts"][:] = parts
    return performed


def parts() -> list[JsonObject]:
    return copy.deepcopy(parts_of(as_recorded(parse_script(TEXT))))


def call(name: str, given: JsonObject, **found: object) -> JsonObject:
    return {"type": f"tool-{name}", "toolCallId": "toolu_9x", "input": given, **found}


def assert_updated(performed: Performed, text: str = TEXT) -> str:
    """Update a script, see that it holds now, and return it."""
    new = update_script(text, performed)
    assert check_script(new) == []
    assert compare(parse_script(new), performed).reason == ""
    assert update_script(new, performed) == new
    return new


def test_what_is_as_recorded_stays_to_the_letter() -> None:
    assert update_script(TEXT, perform(parts())) == TEXT


def test_new_words_change_their_record_alone() -> None:
    new = parts()
    new[0]["text"] = "I look around."
    assert assert_updated(perform(new)) == TEXT.replace("I look.", "I look around.")


def test_a_new_result_changes_its_record_alone() -> None:
    new = parts()
    next(part for part in new if part["type"] == "tool-read")["output"] = "beta"
    assert assert_updated(perform(new)) == TEXT.replace("\nalpha\n", "\nbeta\n")


def test_an_additional_call_gets_a_name_that_is_free_and_a_lost_one_goes() -> None:
    new = [*parts()[:-1], call("grep", {"pattern": "x"}, state="output-available", output="1"), parts()[-1]]
    text = assert_updated(perform(new))
    assert "toolu_9x" not in text
    assert [r.fields["id"] for r in parse_script(text).records if r.type == "func_call_record"] == [
        "c1",
        "c2",
        "call_1",
    ]
    more = [
        {**call("grep", {"pattern": n}, state="output-available", output=n), "toolCallId": n} for n in "xyz"
    ]
    text = assert_updated(perform([*parts()[:-1], *more, parts()[-1]]))
    assert [f'"call_{n}"' in text for n in (1, 2, 3, 4)] == [True, True, True, False]
    lost = [part for part in parts() if part["type"] != "tool-read"]
    text = assert_updated(perform(lost))
    assert '"c1"' not in text
    assert "What the author thinks of this result." in text


@pytest.mark.parametrize(
    "found",
    [
        {"state": "output-error", "errorText": "no such file"},
        {"state": "output-denied", "approval": {"id": "a", "approved": False}},
        {
            "state": "output-available",
            "output": {"lines": [1, None, {"a": "`````` fence\n---\n### record x"}]},
        },
        {"state": "output-available", "output": "line\r\nline\u2028 ``````\n"},
        {"state": "input-available"},
    ],
)
def test_whatever_came_of_a_call_is_written_back(found: JsonObject) -> None:
    new = parts()
    at = next(at for at, part in enumerate(new) if part["type"] == "tool-exec")
    new[at] = call("exec", {"command": "make"}, **found)
    text = assert_updated(perform(new))
    # And from there to any other end.
    assert_updated(perform(parts()), text)


def test_calls_of_one_step_stand_before_what_came_of_them() -> None:
    new: list[JsonObject] = [
        {"type": "step-start"},
        {**call("read", {"path": "1"}, state="output-available", output="one"), "toolCallId": "x"},
        {**call("read", {"path": "2"}, state="output-available", output="two"), "toolCallId": "y"},
        {"type": "step-start"},
        {"type": "text", "text": "Done."},
    ]
    records = parse_script(assert_updated(perform(new))).records
    assert [r.type for r in records[1:6]] == [
        "func_call_record",
        "func_call_record",
        "func_result_record",
        "func_result_record",
        "agent_words_record",
    ]


def test_what_the_author_expects_stays_with_the_record() -> None:
    new = parts()
    new[-1]["text"] = "Finished."
    text = update_script(TEXT, perform(new))
    changed = parse_script(text).records[6]
    assert (changed.fields["content"], changed.extra) == ("Finished.", {"expect": {"contains": "Done"}})


def test_a_script_of_questions_alone_gets_its_answers() -> None:
    text = said("one") + record("human_text_record", "two", msgId="m-2")
    new: list[JsonObject] = [{"type": "text", "text": "both"}]
    performed = Performed(turns=[Heard(messages=[{"id": "a", "role": "assistant", "parts": new}])])
    assert "agent_words_record" in assert_updated(performed, text)


def test_what_is_no_answer_stays_where_it_stood() -> None:
    guide, note = record("runtime_guide_record", "be brief"), record("ui_only_markdown_record", "a note")
    start = record("gen_start_record")
    text = said("hi") + start + guide + answered("One.") + called("read", "c", {}) + note
    text += (
        returned("read", "c", "x")
        + answered("Two.")
        + record("gen_finish_record")
        + said("bye")
        + answered("Bye.")
    )
    new = copy.deepcopy(parts_of(as_recorded(parse_script(text))))
    next(part for part in new if part["type"] == "text")["text"] = "1."
    assert assert_updated(perform(new, text), text) == text.replace("One.", "1.")
    lost = [part for part in new if part["type"] != "tool-read"]
    kinds = [r.type for r in parse_script(assert_updated(perform(lost, text), text)).records]
    assert {"runtime_guide_record", "ui_only_markdown_record", "gen_start_record", "gen_finish_record"} < {
        *kinds
    }


def test_files_and_other_parts_are_written_back() -> None:
    new = [
        *parts(),
        {"type": "file", "mediaType": "image/png", "url": "https://a/b.png", "filename": "b.png"},
        {"type": "source-url", "sourceId": "s", "url": "https://a"},
    ]
    assert_updated(perform(new))


def test_turns_that_did_not_end_or_found_no_result_stay_as_they_are() -> None:
    new = parts()
    new[0]["text"] = "other"
    performed = perform(new)
    for change in ({"stopped": "cut off"}, {"missed": ["read b"]}):
        first = msgspec.structs.replace(performed.turns[0], **change)
        assert update_script(TEXT, Performed(turns=[first, *performed.turns[1:]])) == TEXT


def test_a_rubric_that_holds_keeps_the_recorded_words() -> None:
    text = said("hi") + answered("Hello!", expect={"rubric": "greets"})
    performed = perform([{"type": "text", "text": "Good day!"}], text)

    def holds(rubric: str, recorded: AnswerPiece, new: AnswerPiece) -> str:
        return ""

    assert update_script(text, performed, holds) == text
    assert "Good day!" in update_script(text, performed)


def test_the_difference_can_be_applied_by_other_tools(tmp_path: Path) -> None:
    new = parts()
    new[0]["text"] = "I look around."
    after = update_script(TEXT, perform(new))
    (tmp_path / "probe.md").write_text(TEXT, encoding="utf-8")
    difference = write_diff("probe.md", TEXT, after)
    assert difference.startswith("--- a/probe.md\n+++ b/probe.md\n")
    subprocess.run(
        ["git", "apply", "-"], input=difference, text=True, cwd=tmp_path, check=True, capture_output=True
    )
    assert (tmp_path / "probe.md").read_text(encoding="utf-8") == after


@pytest.mark.parametrize(
    "write",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r\n", 20),
        lambda text: text.replace("author", "au\u2028th\x85or\x0c"),
    ],
    ids=["mark", "windows", "windows with mark", "both ends", "ends of other kinds"],
)
def test_an_update_keeps_line_ends_and_shows_only_what_changed(
    write: Callable[[str], str], tmp_path: Path
) -> None:
    text, new = write(TEXT), parts()
    new[0]["text"] = "I look around."
    after = update_script(text, perform(new))
    assert after == text.replace("I look.", "I look around.")
    difference = write_diff("probe.md", text, after)
    changed = [line for line in difference.split("\n") if line[:1] in ("+", "-")][2:]
    assert [line.rstrip("\r") for line in changed] == ["-I look.", "+I look around."]
    (tmp_path / "probe.md").write_bytes(text.encode())
    apply = ["git", "-c", "core.autocrlf=false", "apply", "-"]
    subprocess.run(apply, input=difference.encode(), cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "probe.md").read_bytes() == after.encode()


TEXTS = st.text(min_size=1, max_size=6).filter(lambda text: text.strip() != "")
PARTS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
        st.builds(lambda text: {"type": "reasoning", "text": text}, TEXTS),
        st.just({"type": "step-start"}),
        st.builds(
            lambda name, given, found: {"type": f"tool-{name}", "input": given, **found},
            st.sampled_from(["read", "exec", "grep"]),
            st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=2),
            st.one_of(
                st.builds(lambda text: {"state": "output-available", "output": text}, TEXTS),
                st.builds(lambda text: {"state": "output-error", "errorText": text}, TEXTS),
                st.just({"state": "output-denied"}),
            ),
        ),
    ),
    max_size=6,
).filter(lambda parts: any(part["type"] not in ("step-start", "reasoning") for part in parts))


@given(PARTS)
def test_whatever_is_answered_is_as_recorded_after_an_update(new: list[JsonObject]) -> None:
    for number, part in enumerate(new):
        if part["type"].startswith("tool-"):
            part["toolCallId"] = f"n{number}"
    text = TEXT.replace('expect: {"contains": "Done"}\n', "")
    performed = perform(new, text)
    after = update_script(text, performed)
    assert check_script(after) == []
    report = compare(parse_script(after), performed)
    assert (report.verdict, report.reason) == ("same", "")
    assert update_script(after, performed) == after
