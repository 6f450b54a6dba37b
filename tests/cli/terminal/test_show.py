from __future__ import annotations

from shipmate.cli.terminal.show import fence_output, write_markdown, write_message
from shipmate.values.message import UIMessage


def test_every_part_a_person_should_see_is_written() -> None:
    message: UIMessage = {
        "id": "m1",
        "role": "system",
        "parts": [
            {"type": "step-start"},
            {"type": "data-course", "data": {"course": 2, "summary": "Tea."}},
            {"type": "data-error", "data": {"message": "broke"}},
            {"type": "data-notice", "data": {"text": "stopped"}},
            {"type": "data-other", "data": {"text": "hidden"}},
            {"type": "file", "url": "data:image/png;base64,AAAA", "mediaType": "image/png"},
            {"type": "newer-part", "x": 1},
        ],
    }
    assert write_message(message) == (
        "## Note\n\n*Course 2 begins.* Tea.\n\n**Error:** broke\n\n*stopped*\n\nfile: image/png"
    )


def test_a_message_with_nothing_to_see_is_left_out() -> None:
    empty: UIMessage = {"id": "m1", "role": "assistant", "parts": [{"type": "step-start"}]}
    assert write_markdown("Title", [empty]) == "# Title\n"


def test_long_output_is_cut_and_says_by_how_much() -> None:
    shown = fence_output("x" * 5_000)
    assert shown.endswith("… 1,000 more characters\n```")
    assert fence_output(" \n") == ""
