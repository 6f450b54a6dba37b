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

# Keys of the large providers and platforms, and signed tokens, for those nobody told us of.
SECRET_LOOK = lazy_pattern(
    r"\b(?:(?:sk|pk|rk|gsk|xai|AIza|hf|key)[-_]?[A-Za-z0-9*][A-Za-z0-9_*-]{10,}"
    r"|(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|ghp[-_]?|npm_|pypi-|ya29\.)[A-Za-z0-9_-]{8,}"
    r"|SG\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|AKIA[0-9A-Z]{16}\b"
    r"|[0-9]{8,12}:[A-Za-z0-9_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?)"
)
# Words that merely begin as keys do: skill-matches, keyboard-shortcuts. What begins with `sk-` is none.
PLAIN_WORDS = lazy_pattern(r"(?!(?:gsk|xai|key)[-_])[a-z]{3,14}(?:[-_][a-z]{1,14})*")
# Where such a key can stand at all; to look for one everywhere takes ten times as long.
LONG_WORD = lazy_pattern(r"[A-Za-z0-9_*.:/-]{12,}")
# Passwords in an address, bearer tokens and keys. Each begins with letters, which is found at once.
PASSWORD_PLACE = lazy_pattern(r"(://)[^\s/@:?#]*:[^\s/@?#]+(?=@)")
BEARER_PLACE = lazy_pattern(r"([Bb][Ee][Aa][Rr][Ee][Rr] )\S+")
KEY_PLACE = lazy_pattern(r"([Kk][Ee][Yy]=)[^\s&'\"]+")
# A value in the query of an address whose name says that it is secret.
SECRET_QUERY = lazy_pattern(
    r"([?&][\w.-]{0,40}?(?:key|token|secret|passw|credential|auth|sig)[\w.-]{0,40}=)[^\s&#'\"]+",
    re.IGNORECASE,
)
# `password: x`, `API_KEY="x"`, but not `password: string`, as code says it.
NAMED_VALUE = lazy_pattern(
    r"(?<![\w-])([\w-]++[\"']?[ \t]{0,3}[:=：][ \t]{0,3}[\"']?)"
    r"(?!\$\{|(?:str|string|text|none|null|true|false|bool|required|optional)\b)([^\s\"',;，。；]+)",
    re.IGNORECASE,
)
PASSWORD_NAME = lazy_pattern(r"passw(?:or)?d|passphrase|(?:^|[_-])pwd$|密码|口令", re.IGNORECASE)
KEY_NAME = lazy_pattern(
    r"(?:^|[_-])(?:token|secret|secret_?key)$|(?:api|access|auth|private|client)[_-]?(?:key|token|secret)$"
    r"|^(?:proxy[_-])?authorization$|^(?:set[_-])?cookie$|(?:^|[_-])credentials?$|密钥$",
    re.IGNORECASE,
)
# Where `githubToken` has its next word.
HUMP = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
NAME_HINTS = ("passw", "passphrase", "pwd", "token", "secret", "key", "密码", "口令", "密钥")
# Shorter values of a name such as `token` are numbers and words.
KEY_LENGTH = 8
# Nothing that looks like a secret is shorter: `pwd=x`.
SHORTEST = 5
PRIVATE_KEY = lazy_pattern(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?!-----END )[\s\S])*+(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
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

    @property
    def count(self) -> int:
        """Return how many secrets are known; what was masked before there were more may show one."""
        return len(self._known)

    def __call__(self, text: str) -> str:
        return cover_looks(self.cover_known(text))

    def cover_known(self, text: str) -> str:
        """Replace the secrets that are known, and nothing that merely looks like one."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def cover_looks(text: str) -> str:
    """Replace what looks like a secret."""
    if "PRIVATE KEY" in text:
        text = PRIVATE_KEY.sub(MASK, text)
    if len(text) < SHORTEST:
        return text
    folded = text.lower()
    is_parted = "=" in text
    if is_parted:
        text = KEY_PLACE.sub(rf"\1{MASK}", SECRET_QUERY.sub(rf"\1{MASK}", text))
    if (is_parted or ":" in text or "：" in text) and any(hint in folded for hint in NAME_HINTS):
        text = NAMED_VALUE.sub(_cover_value, text)
    if "://" in text:
        text = PASSWORD_PLACE.sub(rf"\1{MASK}", text)
    if "bearer " in folded:
        text = BEARER_PLACE.sub(rf"\1{MASK}", text)
    return LONG_WORD.sub(lambda word: SECRET_LOOK.sub(_cover_word, word[0]), text)


def _cover_word(found: re.Match[str]) -> str:
    return found[0] if PLAIN_WORDS.fullmatch(found[0]) else MASK


def _cover_value(found: re.Match[str]) -> str:
    name = found[1].rstrip("\"' \t").rstrip(":=：").rstrip("\"' \t")
    return f"{found[1]}{MASK}" if is_named_secret(name, found[2]) else found[0]


def is_named_secret(name: str, value: Any) -> bool:
    """Return whether a value is secret by its name, as `password` is, and `token` when it is long enough."""
    if isinstance(value, list | tuple):
        return any(is_named_secret(name, each) for each in value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    is_password, is_key = _judge_name(name)
    return is_password or (is_key and len(str(value)) >= KEY_LENGTH)


@lru_cache(maxsize=4_096)
def _judge_name(name: str) -> tuple[bool, bool]:
    parted = HUMP.sub("_", name)
    return PASSWORD_NAME.search(parted) is not None, KEY_NAME.search(parted) is not None


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
