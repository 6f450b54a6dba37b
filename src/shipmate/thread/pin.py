"""Pins: facts of a thread that every course of it shows, and the rows that keep them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from shipmate.values.message import JsonObject, UIMessage, data_part
from shipmate.values.saying import fill, load_sayings

FOLDER = Path(__file__).parent / "words"


class Pin(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One pinned fact; its number is never given to another of the thread."""

    number: int
    text: str
    # When and by whom it was pinned; a script's reminder names nobody.
    at: str = ""
    by: str = ""
    # The message it was taken from, if it was.
    source: str | None = None
    # Strangers may have written into the thread before, so that the fact may be theirs.
    tainted: bool = False


class PinList:
    """The pins of a thread, as its rows tell them."""

    def __init__(self) -> None:
        self._held: dict[int, Pin] = {}
        self._last = 0

    @property
    def next_number(self) -> int:
        """Return the number of the next pin."""
        return self._last + 1

    def list(self) -> list[Pin]:
        """List the pins in force, oldest first."""
        return list(self._held.values())

    def get(self, number: int) -> Pin | None:
        """Return a pin in force."""
        return self._held.get(number)

    def take(self, row: UIMessage) -> None:
        """Follow a row. Only rows of the system pin: what a member or a tool says never does."""
        if row["role"] != "system":
            return
        for part in row["parts"]:
            data = part.get("data")
            if not isinstance(data, dict):
                continue
            match part.get("type"):
                case "data-pin":
                    self._add(data)
                case "data-unpin" if isinstance(number := data.get("number"), int):
                    self._held.pop(number, None)
                case "data-course" if isinstance(data.get("pins"), list):
                    # The row that opens a course lists what is pinned, also what a lost row had said.
                    self._held = {}
                    for each in data["pins"]:
                        self._add(each)
                case _:
                    pass

    def _add(self, data: Any) -> None:
        if (pin := read_pin(data)) is not None:
            self._held[pin.number] = pin
            self._last = max(self._last, pin.number)


def read_pin(data: Any) -> Pin | None:
    """Read a pin as a row keeps it; None when it is none."""
    try:
        return msgspec.convert(data, Pin)
    except msgspec.ValidationError:
        return None


def pins_of(rows: Iterable[UIMessage]) -> list[Pin]:
    """List the pins that are in force after some rows."""
    pins = PinList()
    for row in rows:
        pins.take(row)
    return pins.list()


def pin_parts(pin: Pin, language: str) -> list[JsonObject]:
    """Make the parts of a row that pins a fact: the pin, and the words a model reads."""
    words = say(language, "pin", number=pin.number, text=pin.text)
    return [data_part("pin", msgspec.to_builtins(pin), "pin"), {"type": "text", "text": words}]


def unpin_parts(pin: Pin, language: str) -> list[JsonObject]:
    """Make the parts of a row that takes a pin off."""
    words = say(language, "unpin", number=pin.number, text=pin.text)
    data = {"number": pin.number, "text": pin.text}
    return [data_part("unpin", data, "unpin"), {"type": "text", "text": words}]


def has_words(part: JsonObject) -> bool:
    """Return whether the text behind a part says it in words: it changes pins or opens a course with some."""
    data = part.get("data")
    if part.get("type") == "data-course":
        return isinstance(data, dict) and bool(data.get("pins") or data.get("steps"))
    return part.get("type") in ("data-pin", "data-unpin")


def without_words(parts: Sequence[JsonObject]) -> list[JsonObject]:
    """Return parts without the texts that say in words what the part before them says."""
    return [part for before, part in pairwise([{}, *parts]) if not has_words(before)]


def is_pin_row(message: UIMessage) -> bool:
    """Return whether a message does nothing but change the pins."""
    return message["role"] == "system" and any(
        part.get("type") in ("data-pin", "data-unpin") for part in message["parts"]
    )


def list_pins(pins: Iterable[Pin]) -> str:
    """Write pins as lines, each with its number."""
    return "\n".join(f"{pin.number}. {pin.text}" for pin in pins)


def say(language: str, key: str, **values: object) -> str:
    """Return a saying of this room with its places filled."""
    return fill(load_sayings(FOLDER, language)[key], values)
