"""Say what a field of a record may hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shipmate.priming.script.record import BLANKS


class Kind(NamedTuple):
    """A test of a value, and what to write instead of a bad one."""

    test: Callable[[Any], bool]
    want: str


def one_of(*values: str) -> Kind:
    """Allow only these texts."""

    def test(value: Any) -> bool:
        return isinstance(value, str) and value in values

    return Kind(test, " or ".join(f"`{value}`" for value in values))


def list_of(kind: Kind, want: str) -> Kind:
    """Allow a list whose every item fits."""

    def test(value: Any) -> bool:
        return isinstance(value, list) and all(map(kind.test, value))

    return Kind(test, want)


def shape(required: dict[str, Kind], optional: dict[str, Kind], want: str) -> Kind:
    """Allow an object with these keys; others are kept and not looked at."""

    def test(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(key in value and kind.test(value[key]) for key, kind in required.items())
            and all(value.get(key) is None or kind.test(value[key]) for key, kind in optional.items())
        )

    return Kind(test, want)


def either(first: Kind, second: Kind, want: str) -> Kind:
    """Allow what either kind allows."""

    def test(value: Any) -> bool:
        return first.test(value) or second.test(value)

    return Kind(test, want)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.strip(BLANKS + "\n") != ""


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_course(value: Any) -> bool:
    return _is_count(value) and value >= 1


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_envelope(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("id"), str)
        and isinstance(value.get("role"), str)
        and "parts" not in value
    )


def _is_part(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _is_true(value: Any) -> bool:
    return value is True


_QUOTE = "quote it when it looks like a number, true or null"
TEXT = Kind(_is_text, f"a text ({_QUOTE})")
NAME = Kind(_is_name, f"a text that is not blank ({_QUOTE})")
FLAG = Kind(_is_flag, "true or false")
COUNT = Kind(_is_count, "a whole number, 0 or more")
COURSE = Kind(_is_course, "a whole number, 1 or more")
OBJECT = Kind(_is_object, "an object of `key: value`")
TEXTS = list_of(TEXT, "a list of texts")
ENVELOPE = Kind(_is_envelope, "{id, role, metadata?}")
PART = Kind(_is_part, "an object, or null for no part")
TRUE = Kind(_is_true, "true")

ARTIFACT = shape(
    {"rootId": TEXT, "selfId": TEXT, "status": one_of("running", "completed", "archived"), "relPath": TEXT},
    {},
    "{rootId, selfId, status: running|completed|archived, relPath}",
)
_INPUT_TEXT = shape({"type": one_of("input_text"), "text": TEXT}, {}, "")
_INPUT_IMAGE = shape(
    {"type": one_of("input_image"), "mimeType": TEXT, "byteLength": COUNT, "artifact": ARTIFACT}, {}, ""
)
CONTENT_ITEMS = list_of(
    either(_INPUT_TEXT, _INPUT_IMAGE, ""),
    "a list of {type: input_text, text} and {type: input_image, mimeType, byteLength, artifact}",
)
_REASONING_TEXT = shape({"type": one_of("reasoning_text", "text"), "text": TEXT}, {}, "")
REASONING = shape(
    {"summary": list_of(shape({"type": one_of("summary_text"), "text": TEXT}, {}, ""), "")},
    {
        "content": list_of(_REASONING_TEXT, ""),
        "encrypted_content": TEXT,
        "metadata": shape(
            {},
            {
                "itemId": TEXT,
                "itemType": one_of("reasoning"),
                "status": one_of("in_progress", "completed", "incomplete"),
            },
            "",
        ),
    },
    "{summary: [{type: summary_text, text}], content?, encrypted_content?, metadata?}",
)
