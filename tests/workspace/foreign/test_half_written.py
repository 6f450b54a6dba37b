"""Whatever a program left half-written, looking at a folder raises nothing and shows no key."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import ShipmateError
from shipmate.workspace.config import Config
from shipmate.workspace.foreign.recognition import recognise, survey
from shipmate.workspace.foreign.root import find_root
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config

KEY = "sk-ant-aVeryLongAndSecretKey0123456789"
NAMES = (
    *("AGENTS.md", "SOUL.md", "USER.md", "IDENTITY.md", "TOOLS.md", "BOOTSTRAP.md", "CLAUDE.md", "GEMINI.md"),
    *(
        ".cursorrules",
        ".cursor/rules/a.mdc",
        ".cursor/mcp.json",
        ".mcp.json",
        ".claude/settings.json",
        "Agent.md",
    ),
    *(".claude/agents/a.md", ".claude/skills/x/SKILL.md", ".codex/config.toml", ".gemini/settings.json"),
    *(
        "config.json",
        "openclaw.json",
        "aipanel.json",
        "ship.json",
        "workspace/SOUL.md",
        "workspace/IDENTITY.md",
    ),
    *("agents/a/config.json", "agents/a/workspace/SOUL.md", "memory/INDEX.md", "memory/MEMORY.md"),
)
KEYS = st.sampled_from(
    [
        *(
            "agents",
            "defaults",
            "mcpServers",
            "mcp_servers",
            "servers",
            "env",
            "headers",
            "command",
            "args",
            "url",
        ),
        *(
            "permissions",
            "allow",
            "deny",
            "hooks",
            "id",
            "name",
            "channels",
            "models",
            "model",
            "integrations",
        ),
        *("start", "exec_shell", "write_repo", "context", "fileName", "apiKey", "token", "list", "entries"),
        *("enabled", "identity", "url", "integrations"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8) | st.just(KEY) | st.just("a"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
TEXTS = (
    st.binary(max_size=40)
    | VALUES.map(msgspec.json.encode)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace"))
    | st.just(b"---\nalwaysApply: true\n---\n@SOUL.md\n")
)


@given(st.dictionaries(st.sampled_from(NAMES), TEXTS | st.none(), max_size=8))
def test_any_folder_can_be_looked_at(files: dict[str, bytes | None]) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for name, data in files.items():
            path = root / name
            if data is None:
                path.mkdir(parents=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        found = recognise(root)
        told = [survey(root), found and (found.defaults(), found.signs, found.members)]
        assert KEY.encode() not in msgspec.json.encode(told)
        find_root(root)
        if found is not None:
            msgspec.convert(found.defaults(), Config)
        try:
            assert KEY not in load_config(Layout(root), {}).mask(f"the key is {KEY}.")
        except ShipmateError as error:
            # A ship.json may be broken in any way.
            assert "ship.json" in str(error)  # noqa: PT017
