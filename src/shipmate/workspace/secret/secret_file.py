"""Know which files hold secrets: by custom, or because programs keep keys in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

SECRET_NAMES = frozenset(
    {
        ".env", ".envrc", ".netrc", ".git-credentials", ".pgpass", ".pypirc", ".ssh", ".gnupg", ".aws",
        "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
    }
)  # fmt: skip
SAMPLE_ENDINGS = (".example", ".sample", ".template")
# Settings of agents: their programs write keys into them in the clear.
SETTINGS = frozenset(
    {"ship.json", ".mcp.json", "openclaw.json", "moltbot.json", "clawdbot.json", "aipanel.json"}
)
PLACED_SETTINGS = frozenset(
    {
        (".claude", "settings.json"), (".claude", "settings.local.json"), (".claude", ".credentials.json"),
        (".codex", "config.toml"), (".codex", "auth.json"), (".gemini", "settings.json"),
        (".gemini", "oauth_creds.json"), (".cursor", "mcp.json"), (".git", "config"),
    }
)  # fmt: skip


@lru_cache(maxsize=65_536)
def fold(name: str) -> str:
    """Make names equal that a case-insensitive or normalising file system takes for one."""
    if name.isascii():
        return name.lower()
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold()


def is_secret(name: str) -> bool:
    """Return whether a folded file name holds secrets by custom."""
    if name.startswith(".env.") and name.endswith(SAMPLE_ENDINGS):
        return False
    return name in SECRET_NAMES or name.startswith(".env.")


def is_settings(names: Sequence[str]) -> bool:
    """Return whether a folded path is a file in which an agent's program keeps keys."""
    if names[-1:] and names[-1] in SETTINGS:
        return True
    # ZyHive keeps a folder an agent: agents/<id>/config.json.
    return tuple(names[-2:]) in PLACED_SETTINGS or (names[-3:-2] == ["agents"] and names[-1] == "config.json")


def holds_secrets(parts: Sequence[str]) -> bool:
    """Return whether a path names what no member may be shown."""
    names = [fold(part) for part in parts]
    return any(map(is_secret, names)) or is_settings(names) or ".ship" in names
