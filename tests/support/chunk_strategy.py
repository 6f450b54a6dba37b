"""Generate the chunk streams a run can send."""

from __future__ import annotations

from hypothesis import strategies as st

from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk

words = st.text(max_size=8)
inputs = st.dictionaries(
    st.sampled_from(["path", "limit", "文"]), st.none() | st.integers(-9, 9) | words, max_size=2
)
outputs = st.none() | words | inputs | st.lists(words, max_size=2)


@st.composite
def streams(draw: st.DrawFn) -> list[Chunk]:
    """Draw a whole message: steps with texts, thinking, calls in every ending, data and files."""
    stream = [chunks.start("msg_1", draw(st.dictionaries(st.sampled_from(["runId", "course"]), words)))]
    for step in range(draw(st.integers(1, 3))):
        stream.append(chunks.start_step())
        for place in range(draw(st.integers(0, 4))):
            stream += draw(_piece(f"{step}-{place}"))
        stream.append(chunks.finish_step())
    stream.append(
        chunks.message_metadata({"toolMs": draw(st.dictionaries(words, st.integers(0, 9), max_size=2))})
    )
    return [*stream, chunks.finish("stop")]


@st.composite
def _piece(draw: st.DrawFn, name: str) -> list[Chunk]:
    kind = draw(st.sampled_from(["text", "reasoning", "call", "data", "named-data", "file"]))
    match kind:
        case "text" | "reasoning":
            deltas = [
                chunks.text(f"{kind}-delta", name, delta) for delta in draw(st.lists(words, max_size=3))
            ]
            return [chunks.text(f"{kind}-start", name), *deltas, chunks.text(f"{kind}-end", name)]
        case "call":
            return draw(_call(name))
        case "data":
            return [chunks.data("notice", {"text": draw(words)})]
        case "named-data":
            return [chunks.data("error", draw(st.integers(-9, 9)), draw(st.sampled_from(["a", "b"])))]
        case _:
            return [chunks.file("data:text/plain;base64,aGk=", "text/plain")]


@st.composite
def _call(draw: st.DrawFn, name: str) -> list[Chunk]:
    given = draw(inputs)
    begun = [chunks.tool_input_start(name, "read")] if draw(st.booleans()) else []
    if begun and draw(st.booleans()):
        begun.append(chunks.tool_input_delta(name, '{"pa'))
    available = [*begun, chunks.tool_input_available(name, "read", given)]
    ending = draw(st.sampled_from(["open", "asked", "output", "error", "rubbish"]))
    match ending:
        case "asked":
            return [*available, chunks.tool_approval_request(name, f"approval-{name}")]
        case "output":
            return [*available, chunks.tool_output(name, draw(outputs))]
        case "error":
            return [*available, chunks.tool_output_error(name, draw(words))]
        case "rubbish":
            return [*begun, chunks.tool_input_error(name, "read", "{no json", "not JSON")]
        case _:
            return available
