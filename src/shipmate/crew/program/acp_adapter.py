"""Drive Claude Code and Codex through the programs that let them speak ACP: what they ask is asked here."""

from __future__ import annotations

import msgspec

from shipmate.crew.program.acp_stream import AcpStream
from shipmate.crew.program.claude_code import DIALOGUES, MODES, ClaudeCode
from shipmate.crew.program.codex import Codex, name_home
from shipmate.crew.program.program import Access, Launch, ProgramOpening
from shipmate.values.message import JsonObject

# In the first it asks for what it may not do; in ours of that name nobody agrees.
CODEX_MODES = {
    "read": "read-only",
    "ask": "read-only",
    "edit": "workspace-write",
    "all": "agent-full-access",
}


class CodexAcp(Codex):
    """Codex behind `codex-acp`, which can ask."""

    command = "codex-acp"
    package = "@agentclientprotocol/codex-acp"
    oldest = (2, 6)

    def converses(self, access: Access) -> bool:
        """Return True: it is asked over the protocol, whatever it may do."""
        return True

    def line(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Return how it is called."""
        told = {"model": launch.model, "developer_instructions": launch.system}
        config = {key: value for key, value in told.items() if value is not None}
        return [], {
            **name_home(launch),
            "CODEX_CONFIG": msgspec.json.encode(config).decode(),
            "NO_BROWSER": "1",
        }

    def reader(self, opening: ProgramOpening | None) -> AcpStream:
        """Return a reader for one run."""
        assert opening is not None
        return AcpStream(opening, self.title, self.prefix, CODEX_MODES[opening.launch.access])


class ClaudeAcp(ClaudeCode):
    """Claude Code behind `claude-agent-acp`."""

    command = "claude-agent-acp"
    package = "@agentclientprotocol/claude-agent-acp"
    # It does not say which it is.
    oldest = (0, 0)

    def converses(self, access: Access) -> bool:
        """Return True: it is asked over the protocol, whatever it may do."""
        return True

    def line(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Return how it is called."""
        variables = super().line(launch)[1]
        return [], variables | ({"ANTHROPIC_MODEL": launch.model} if launch.model else {})

    def reader(self, opening: ProgramOpening | None) -> AcpStream:
        """Return a reader for one run."""
        assert opening is not None
        launch = opening.launch
        options: JsonObject = {"disallowedTools": list(DIALOGUES)}
        if launch.access == "ask":
            # What its own settings allow is not asked for; here our rules say what is.
            options["settingSources"] = []
        meta: JsonObject = {"claudeCode": {"options": options}}
        if launch.system is not None:
            meta["systemPrompt"] = {"append": launch.system}
        return AcpStream(opening, self.title, self.prefix, MODES[launch.access], meta)
