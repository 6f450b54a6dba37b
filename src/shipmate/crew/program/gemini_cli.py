"""Drive Gemini CLI: `gemini -o stream-json`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shipmate.crew.program.acp_stream import AcpStream
from shipmate.crew.program.program import (
    Access,
    Launch,
    ProgramOpening,
    ProgramReader,
    Unasking,
    explain_failure,
    field,
    name_tool,
    number,
    write_private,
)
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ProgramCall,
    ProgramResult,
    ProgramSession,
    TextDelta,
    Usage,
)
from shipmate.values.message import JsonObject

MODES = {"read": "default", "ask": "default", "edit": "auto_edit", "all": "yolo"}
# It would ask a busy provider for minutes.
SETTINGS: JsonObject = {"general": {"maxAttempts": 3, "enableAutoUpdate": False}}
PREFIX = "gemini"


class GeminiCli:
    """Google's Gemini CLI."""

    kind = "google-gemini"
    title = "Gemini CLI"
    command = "gemini"
    oldest = (0, 61)
    package = "@google/gemini-cli"
    prefix = PREFIX
    logins = (".gemini",)
    key = "GEMINI_API_KEY"

    def takes_system(self, system: str | None, *, is_asked: bool, is_private: bool) -> bool:
        """Return whether it was asked for, and the home whose GEMINI.md it reads is the member's own."""
        return is_asked and is_private

    def converses(self, access: Access) -> bool:
        """Return whether it is to ask."""
        return access == "ask"

    def line(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Return how it is called."""
        # Without --skip-trust it stops in a folder nobody vouched for in its own window.
        is_asking = launch.access == "ask"
        words = ["--acp"] if is_asking else ["-o", "stream-json"]
        words += ["--skip-trust", "--approval-mode", MODES[launch.access]]
        if launch.model:
            words += ["--model", launch.model]
        if launch.session and not is_asking:
            words += ["--resume", launch.session]
        if launch.system is not None:
            (launch.home / ".gemini").mkdir(exist_ok=True)
            write_private(launch.home / ".gemini" / "GEMINI.md", launch.system)
        settings = write_private(launch.temporary / "gemini.json", msgspec.json.encode(SETTINGS).decode())
        # It starts itself a second time otherwise.
        return words, {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(settings)}

    def reader(self, opening: ProgramOpening | None) -> ProgramReader:
        """Return a reader for one run."""
        return GeminiStream() if opening is None else AcpStream(opening, self.title, PREFIX)


class GeminiStream(Unasking):
    """What `-o stream-json` prints; the prompt is among it, in one line."""

    def read(self, event: JsonObject) -> Iterator[ModelEvent]:
        """Return what one event means."""
        match event.get("type"):
            case "init":
                yield ProgramSession(str(event.get("session_id")))
            case "message" if event.get("role") == "assistant":
                yield TextDelta(str(event.get("content") or ""))
            case "tool_use":
                name = name_tool(PREFIX, event.get("tool_name"))
                yield ProgramCall(str(event.get("tool_id")), name, event.get("parameters") or {})
            case "tool_result":
                is_error = event.get("status") == "error"
                said = event.get("output") or field(event, "error", "message") or ""
                yield ProgramResult(str(event.get("tool_id")), said, is_error=is_error)
            case "result" if event.get("status") == "success":
                usage = Usage(
                    input_tokens=number(event, "stats", "input_tokens"),
                    output_tokens=number(event, "stats", "output_tokens"),
                    cache_read_tokens=number(event, "stats", "cached"),
                )
                yield Finish("stop", usage)
            case "result":
                raise explain_failure(GeminiCli.title, str(field(event, "error", "message")))
            case _:
                pass
