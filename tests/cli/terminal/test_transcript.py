from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shipmate.cli.terminal.transcript import Blocks, Item, Transcript
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import UIMessage


def follow(*told: Chunk) -> list[Item]:
    transcript = Transcript()
    return [*(item for chunk in told for item in transcript.apply(chunk)), *transcript.end()]


def said(text: str, *, kind: str = "text", size: int = 3) -> list[Chunk]:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [
        chunks.text(f"{kind}-start", "1"),
        *(chunks.text(f"{kind}-delta", "1", piece) for piece in pieces),
        chunks.text(f"{kind}-end", "1"),
    ]


def test_blocks_come_when_they_are_whole() -> None:
    blocks = Blocks()
    assert blocks.push("one\ntwo") == []
    assert blocks.rest == "one\ntwo"
    assert blocks.push("\n\nthree") == ["one\ntwo"]
    assert blocks.flush() == ["three"]


def test_a_code_block_with_empty_lines_stays_whole() -> None:
    code = "```py\na\n\nb\n````\n\nc\n```"
    assert [item.text for item in follow(*said(f"before\n\n{code}\n\nafter"))][:1] == ["before"]
    blocks = Blocks()
    assert blocks.push("````\na\n\n```\n\nb\n````\n\nafter") == ["````\na\n\n```\n\nb\n````"]


@given(st.text(alphabet="ab`~\n ", max_size=60), st.integers(1, 7))
def test_no_word_is_lost_however_the_text_is_cut(text: str, size: int) -> None:
    whole = [item.text for item in follow(*said(text, size=len(text) or 1))]
    pieces = [item.text for item in follow(*said(text, size=size))]
    assert pieces == whole
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_call_becomes_one_card_with_its_time() -> None:
    items = follow(
        chunks.tool_input_start("c1", "read"),
        chunks.tool_input_available("c1", "read", {"path": "a.md"}),
        chunks.tool_output("c1", "x"),
        chunks.message_metadata({"toolMs": {"c1": 7}}),
    )
    assert items == [Item("card", "✓ read a.md (7 ms)")]


def test_parallel_calls_each_get_their_card() -> None:
    items = follow(
        chunks.tool_input_available("c1", "read", {"path": "a"}),
        chunks.tool_input_available("c2", "read", {"path": "b"}),
        chunks.tool_output("c2", "x"),
        chunks.message_metadata({"toolMs": {"c2": 1}}),
        chunks.tool_output_error("c1", "gone"),
        chunks.message_metadata({"toolMs": {"c1": 2}}),
    )
    assert [item.text for item in items] == ["✓ read b (1 ms)", "✗ read a — gone (2 ms)"]


def test_running_calls_and_unfinished_text_are_live() -> None:
    transcript = Transcript()
    for chunk in (
        chunks.tool_input_available("c1", "exec", {"command": "ls"}),
        chunks.text("text-start", "1"),
        chunks.text("text-delta", "1", "half a"),
    ):
        transcript.apply(chunk)
    assert transcript.live() == ["… exec ls", "half a"]
    assert not transcript.is_thinking


def test_a_question_waits_until_a_later_run_ends_the_call() -> None:
    transcript = Transcript()
    asked: list[Item] = []
    for chunk in (
        chunks.tool_input_available("c1", "exec", {"command": "ls"}),
        chunks.tool_approval_request("c1", "apr_1"),
        chunks.finish("tool-calls"),
    ):
        asked += transcript.apply(chunk)
    assert [*asked, *transcript.end()] == [Item("question", "apr_1")]
    assert transcript.live() == []
    transcript.apply(chunks.tool_output_denied("c1"))
    assert transcript.end() == [Item("card", "⊘ exec ls — denied")]


def test_a_stored_question_is_remembered() -> None:
    part = {
        "type": "tool-exec",
        "toolCallId": "c1",
        "state": "approval-requested",
        "input": {"command": "ls"},
    }
    message: UIMessage = {"id": "a1", "role": "assistant", "parts": [part]}
    transcript = Transcript()
    transcript.remember([message])
    transcript.apply(chunks.tool_output("c1", "x"))
    assert transcript.end() == [Item("card", "✓ exec ls")]


def test_an_error_is_shown_once_after_what_was_said() -> None:
    items = follow(
        chunks.text("text-start", "1"),
        chunks.text("text-delta", "1", "half"),
        chunks.data("error", {"message": "broke off", "retryable": True}),
        chunks.error("broke off"),
        chunks.finish("error"),
    )
    assert items == [Item("text", "half"), Item("error", "broke off")]
    assert follow(chunks.error("disk full")) == [Item("error", "disk full")]


def test_thinking_notices_and_files_are_told_apart() -> None:
    items = follow(
        *said("hm\n\nwell", kind="reasoning"),
        chunks.data("notice", {"text": "stopped\x1b[2J"}),
        chunks.file("file:///a.png", "image/png"),
        {"type": "data-newer", "data": 1},
    )
    assert items == [
        Item("thought", "hm"),
        Item("thought", "well"),
        Item("notice", r"stopped\u{1b}[2J"),
        Item("notice", "file: file:///a.png"),
    ]


def test_a_notice_that_is_told_in_passing_and_kept_is_shown_once() -> None:
    told = chunks.data("notice", {"text": "Until noon I run it."}, transient=True)
    kept = chunks.data("notice", {"text": "Until noon I run it."}, "notice-1")
    assert follow(told, kept) == [Item("notice", "Until noon I run it.")]
    assert len(follow(told, told)) == len(follow(kept, kept)) == 2


def test_a_call_that_a_hand_over_left_open_goes_on_and_is_asked_about() -> None:
    transcript = Transcript()
    transcript.apply(chunks.tool_input_available("c1", "write", {"path": "log.md"}))
    transcript.end()
    assert transcript.apply(chunks.tool_approval_request("c1", "apr_1")) == [Item("question", "apr_1")]
    transcript.apply(chunks.tool_output("c1", "done"))
    (card,) = transcript.end()
    assert card.kind == "card"
    assert "write" in card.text


def test_a_question_about_a_call_that_was_never_shown_is_a_question_all_the_same() -> None:
    assert follow(chunks.tool_approval_request("c9", "apr_9"))[0] == Item("question", "apr_9")
