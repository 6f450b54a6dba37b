"""Drive Codex: `codex exec --json`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

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
)
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelNotice,
    ProgramCall,
    ProgramResult,
    ProgramSession,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    Usage,
)
from shipmate.values.message import JsonObject

SANDBOXES = {"read": "read-only", "edit": "workspace-write", "all": "danger-full-access"}
# One argument holds 128 KiB; what is longer goes into the prompt.
ARGUMENT_LIMIT = 100_000
SAID = ("agent_message", "reasoning", "error")
# What of an item is told as its call's arguments; the rest is its result.
ASKED = ("command", "server", "tool", "arguments", "query", "changes", "items")
PREFIX = "codex"


class Codex:
    """OpenAI's Codex."""

    kind = "openai-codex"
    title = "Codex"
    command = "codex"
    oldest = (0, 166)
    package = "@openai/codex"
    prefix = PREFIX
    logins = (".codex",)
    key = "CODEX_API_KEY"

    def takes_system(self, system: str | None, *, is_asked: bool, is_private: bool) -> bool:
        """Return whether it was asked for, and its argument holds it."""
        return is_asked and len(_toml(system or "").encode()) < ARGUMENT_LIMIT

    def converses(self, access: Access) -> bool:
        """Return False: by itself it asks nobody."""
        return False

    def line(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Return how it is called."""
        words = ["exec", "--json", "--skip-git-repo-check", "--sandbox", SANDBOXES[launch.access]]
        if launch.model:
            words += ["--model", launch.model]
        if launch.system is not None:
            words += ["-c", f"developer_instructions={_toml(launch.system)}"]
        if launch.session:
            words += ["resume", launch.session]
        return [*words, "-"], name_home(launch)

    def reader(self, opening: ProgramOpening | None) -> ProgramReader:
        """Return a reader for one run."""
        return CodexStream()


def name_home(launch: Launch) -> dict[str, str]:
    """Return the variable that names its home; one that is not there it refuses."""
    home = launch.home / ".codex"
    home.mkdir(mode=0o700, exist_ok=True)
    return {"CODEX_HOME": str(home)}


class CodexStream(Unasking):
    """What `codex exec --json` prints: whole messages, no deltas."""

    def __init__(self) -> None:
        self._begun: set[str] = set()
        self._has_text = False

    def read(self, event: JsonObject) -> Iterator[ModelEvent]:
        """Return what one event means."""
        item = event.get("item")
        match event.get("type"):
            case "thread.started":
                yield ProgramSession(str(event.get("thread_id")))
            case "item.started" if field(item, "type") not in SAID:
                yield self._call(item or {})
            case "item.completed":
                yield from self._complete(item or {})
            case "error" if str(event.get("message")).startswith("Reconnecting"):
                yield ModelNotice(kind="retry", model=Codex.title, reason=str(event.get("message")))
            case "turn.failed":
                raise explain_failure(Codex.title, str(field(event, "error", "message")))
            case "turn.completed":
                usage = Usage(
                    input_tokens=number(event, "usage", "input_tokens"),
                    output_tokens=number(event, "usage", "output_tokens"),
                    cache_read_tokens=number(event, "usage", "cached_input_tokens"),
                )
                yield Finish("stop", usage)
            case _:
                pass

    def _call(self, item: JsonObject) -> ProgramCall:
        call_id = str(item.get("id"))
        self._begun.add(call_id)
        self._has_text = False
        asked = {key: item[key] for key in ASKED if key in item}
        return ProgramCall(call_id, name_tool(PREFIX, item.get("type")), asked)

    def _complete(self, item: JsonObject) -> Iterator[ModelEvent]:
        kind, text = item.get("type"), str(item.get("text") or "")
        if kind == "agent_message":
            # Each is a paragraph of its own.
            yield TextDelta(f"\n\n{text}" if self._has_text else text)
            self._has_text = True
        elif kind == "reasoning":
            yield ReasoningDelta(text)
            yield ReasoningEnd()
            self._has_text = False
        elif kind != "error":
            if str(item.get("id")) not in self._begun:
                yield self._call(item)
            output = item.get("aggregated_output")
            rest = {key: value for key, value in item.items() if key not in (*ASKED, "id", "type")}
            is_error = item.get("status") in ("failed", "declined") or item.get("exit_code") not in (None, 0)
            yield ProgramResult(
                str(item.get("id")), rest if output is None or is_error else output, is_error=is_error
            )


def _toml(text: str) -> str:
    # A string of JSON is one of TOML, but for this character.
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
