"""Know the messages that were replayed from a script, and whether people are shown them."""

from __future__ import annotations

from shipmate.values.message import JsonObject, UIMessage, metadata_of

SOURCE_TAG = "priming_script"
# The thread setting that leaves replayed messages out of the display; models see them all the same.
HIDE_PRIMING = "hidePriming"


def is_primed(message: UIMessage) -> bool:
    """Return whether a message was replayed from a script."""
    return metadata_of(message).get("sourceTag") == SOURCE_TAG


def hides_priming(settings: JsonObject) -> bool:
    """Return whether a thread's settings leave replayed messages out of the display."""
    return settings.get(HIDE_PRIMING) is True
