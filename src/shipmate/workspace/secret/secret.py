"""Keep secrets out of sight: know which values are secret, and mask them in any text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from shipmate.values.pattern import lazy_pattern
from shipmate.workspace.secret.setting import MASK, address_secrets, find_secrets, looks_secret

__all__ = ["MASK", "Mask", "looks_secret", "secret_values"]

# Keys of the large providers and platforms, bearer tokens, signed tokens, and keys in an address, for those
# nobody told us of.
SECRET_LOOK = lazy_pattern(
    r"\b(?:sk|pk|rk|gsk|xai|AIza|hf|key)[-_]?[A-Za-z0-9*][A-Za-z0-9_*-]{10,}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|ghp[-_]?)[A-Za-z0-9_-]{8,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\b[0-9]{8,12}:[A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"
    r"|(?<=://)[^\s/@:?#]*:[^\s/@?#]+(?=@)"
    r"|(?i:(?<=bearer )\S+)"
    r"|(?i:(?<=key=)[^\s&'\"]+)"
)
# A value in the query of an address whose name says that it is secret.
SECRET_QUERY = lazy_pattern(
    r"([?&][\w.-]{0,40}?(?:key|token|secret|passw|credential|auth|sig)[\w.-]{0,40}=)[^\s&#'\"]+",
    re.IGNORECASE,
)
# Shorter values ("1", "on") would blot out ordinary words.
MIN_LENGTH = 4
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


class Mask:
    """Replaces known secrets in text, and whatever looks like one."""

    def __init__(self, secrets: Iterable[str | None]) -> None:
        self._known: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self.cover(secrets)

    def cover(self, secrets: Iterable[str | None]) -> None:
        """Replace these from now on as well."""
        found = self._known | {secret for secret in secrets if secret and len(secret) >= MIN_LENGTH}
        if found != self._known:
            self._known = found
            # Longest first: a secret may contain another.
            known = sorted(found, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, known)))

    def __call__(self, text: str) -> str:
        return SECRET_LOOK.sub(MASK, SECRET_QUERY.sub(rf"\1{MASK}", self.cover_known(text)))

    def cover_known(self, text: str) -> str:
        """Replace the secrets that are known, and nothing that merely looks like one."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def secret_values(environ: Mapping[str, str], *configs: Any) -> list[str]:
    """Gather the secret values of the environment and of configurations, whatever they are called."""
    found = [value for name, value in environ.items() if looks_secret(name)]
    # An address such as DATABASE_URL holds a password under a harmless name.
    addresses = (value for value in environ.values() if "://" in value and "@" in value)
    found += [piece for value in addresses for piece in address_secrets(value)]
    for config in configs:
        found += [value for _, value in find_secrets(config)]
    return found


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
