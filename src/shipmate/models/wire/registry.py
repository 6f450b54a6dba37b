"""Find a wire by its name; each is loaded when first wanted."""

from __future__ import annotations

from shipmate.models.catalog import WireName
from shipmate.models.wire.wire import Wire


def find_wire(name: WireName) -> Wire:
    """Return the wire of a protocol."""
    match name:
        case "chat":
            from shipmate.models.wire.chat.chat import ChatWire

            return ChatWire()
        case "responses":
            from shipmate.models.wire.responses.responses import ResponsesWire

            return ResponsesWire()
        case "anthropic":
            from shipmate.models.wire.anthropic.anthropic import AnthropicWire

            return AnthropicWire()
        case "gemini":
            from shipmate.models.wire.gemini.gemini import GeminiWire

            return GeminiWire()
