"""Keep secrets out of sight: know which values are secret, and mask them in any text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie|private", re.IGNORECASE)
# Keys of the large providers, bearer tokens, and keys in an address, for those nobody told us of.
SECRET_LOOK = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|AIza|hf|ghp|key)[-_]?[A-Za-z0-9*][A-Za-z0-9_*-]{10,}"
    r"|(?i:(?<=bearer )\S+)"
    r"|(?i:(?<=key=)[^\s&'\"]+)"
)
# Shorter values ("1", "on") would blot out ordinary words.
MIN_LENGTH = 4
MASK = "•••"


def looks_secret(name: str) -> bool:
    """Tell whether a variable or key of this name holds a secret."""
    return SECRET_NAME.search(name) is not None


class Mask:
    """Replace known secrets in text, and whatever looks like one."""

    def __init__(self, secrets: Iterable[str | None]) -> None:
        # Longest first: a secret may contain another.
        lengthy = {secret for secret in secrets if secret and len(secret) >= MIN_LENGTH}
        known = sorted(lengthy, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        covered = text if self._pattern is None else self._pattern.sub(MASK, text)
        return SECRET_LOOK.sub(MASK, covered)


def secret_values(environ: Mapping[str, str], *configs: Any) -> list[str]:
    """Gather the secret values of the environment and of configuration objects."""
    found = [value for name, value in environ.items() if looks_secret(name)]
    for config in configs:
        found += _walk("", config)
    return found


def _walk(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        # The member's private variables are secret whatever they are called.
        private = name in ("env", "headers")
        for key, inner in value.items():
            if private and isinstance(inner, str):
                yield inner
            else:
                yield from _walk(str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _walk(name, inner)
    elif isinstance(value, str) and looks_secret(name):
        yield value
