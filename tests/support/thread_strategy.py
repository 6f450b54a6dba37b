"""Generate arbitrary threads for hypothesis: every tool state, foreign parts, repeated ids, blank texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from shipmate.values.message import JsonObject, UIMessage

CALL_IDS = ("call_1", "call_2", "toolu_01A", "", "not an id!", "x" * 60)
TOOL_NAMES = ("read", "glob", "exec_shell", "weird name/with.dots", "")
STATES = (
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
    "a-state-of-the-future",
)
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
texts = st.text(max_size=20) | st.sampled_from(("", " ", "\n", "Hello.", "你好", "call read {}"))


@st.composite
def tool_parts(draw: st.DrawFn) -> JsonObject:
    """Make a tool part in any state, with or without what that state should carry."""
    name = draw(st.sampled_from(TOOL_NAMES))
    dynamic = draw(st.booleans())
    part: JsonObject = {"type": "dynamic-tool" if dynamic else f"tool-{name}"}
    if dynamic:
        part["toolName"] = name
    part["toolCallId"] = draw(st.sampled_from(CALL_IDS))
    part["state"] = draw(st.sampled_from(STATES))
    for key, values in (
        ("input", json_values | st.just({"path": "a.md"})),
        ("rawInput", st.just('{"path": "a')),
        ("output", json_values),
        ("errorText", texts),
        ("preliminary", st.booleans()),
        ("approval", st.fixed_dictionaries({"id": st.just("ap_1")}, optional={"approved": st.booleans()})),
        ("toolMetadata", json_values),
    ):
        if draw(st.booleans()):
            part[key] = draw(values)
    return part


def part_strategy() -> st.SearchStrategy[JsonObject]:
    """Make a part of any kind, known or not."""
    file = st.fixed_dictionaries(
        {
            "type": st.just("file"),
            "url": st.sampled_from(
                (PIXEL, "data:image/png;base64,@@@", "https://host/a.pdf", "media/a.png", "")
            ),
            "mediaType": st.sampled_from(("image/gif", "image/png", "application/pdf", "image/svg+xml")),
        },
        optional={"filename": texts},
    )
    foreign = st.sampled_from(
        (
            {"type": "source-url", "sourceId": "s", "url": "https://host"},
            {"type": "custom", "payload": [1, 2]},
            {"type": "reasoning-file", "url": "x"},
            {"type": "data-notice", "data": {"text": "shown to people"}},
            {"type": "data-error", "data": {"message": "broke off", "retryable": True}},
            {"type": "tool-read"},
            {"type": 7},
            {},
        )
    )
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("text"), "text": texts}, optional={"state": st.just("streaming")}
        ),
        st.fixed_dictionaries({"type": st.just("reasoning"), "text": texts}),
        st.just({"type": "step-start"}),
        tool_parts(),
        file,
        foreign,
    )


@st.composite
def threads(draw: st.DrawFn, max_messages: int = 8) -> list[UIMessage]:
    """Make a whole thread; ids are unique, roles come in any order."""
    roles = st.sampled_from(("user", "assistant", "assistant", "user", "system"))
    messages: list[UIMessage] = []
    for number in range(draw(st.integers(0, max_messages))):
        parts = draw(st.lists(part_strategy(), max_size=6))
        messages.append({"id": f"m{number}", "role": draw(roles), "parts": parts, "metadata": {"course": 1}})
    return messages
