"""Check who calls before anything is read, and open what Feishu sealed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable

from shipmate.delivery.adapter import HookRequest
from shipmate.values.message import JsonObject

BLOCK = 16
# Feishu delivers up to 7 h 5 min later what nobody confirmed, and does not say whether it signs anew. What
# comes twice within that time is known by its id on disk: a long patience lets nobody begin anything twice.
OLDEST_SECONDS = 7.5 * 3600
# How far the clocks of two machines may differ.
AHEAD_SECONDS = 300
CHALLENGE = "url_verification"


class FeishuHook:
    """The seal of one app: its encrypt key and its verification token."""

    def __init__(self, encrypt_key: str, token: str, clock: Callable[[], float] = time.time) -> None:
        self._key = encrypt_key.encode()
        self._token = token.encode()
        self._clock = clock

    def open(self, request: HookRequest) -> JsonObject | None:
        """Return what the platform says, or None for whatever is not surely its own.

        What tries the address when it is entered comes unsigned; it has to be sealed and to name the token,
        and nothing else may come so.
        """
        headers = request.headers
        at = headers.get("x-lark-request-timestamp", "")
        nonce = headers.get("x-lark-request-nonce", "")
        signature = headers.get("x-lark-signature", "")
        is_signed = bool(at or nonce or signature)
        if is_signed and not self._is_signed(at, nonce, signature, request.body):
            return None
        found = self._unseal(request.body)
        if found is None or not self._names_token(found):
            return None
        return found if is_signed or found.get("type") == CHALLENGE else None

    def _is_signed(self, at: str, nonce: str, signature: str, body: bytes) -> bool:
        made = hashlib.sha256(at.encode() + nonce.encode() + self._key + body).hexdigest()
        if not hmac.compare_digest(made.encode(), signature.encode()):
            return False
        if not (at.isascii() and at.isdigit() and len(at) < 12):
            return False
        age = self._clock() - int(at)
        return -AHEAD_SECONDS <= age <= OLDEST_SECONDS

    def _unseal(self, body: bytes) -> JsonObject | None:
        try:
            sealed = base64.b64decode(json.loads(body)["encrypt"], validate=True)
            found = json.loads(decrypt(self._key, sealed))
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def _names_token(self, found: JsonObject) -> bool:
        header = found.get("header")
        token = header.get("token") if isinstance(header, dict) else found.get("token")
        return isinstance(token, str) and hmac.compare_digest(token.encode("utf-8", "replace"), self._token)


def decrypt(key: bytes, sealed: bytes) -> bytes:
    """Open AES-256-CBC under the hash of a key, the first block being its beginning; raise ValueError."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    start, rest = sealed[:BLOCK], sealed[BLOCK:]
    if not rest or len(rest) % BLOCK:
        raise ValueError("no whole blocks")
    cipher = Cipher(AES(hashlib.sha256(key).digest()), CBC(start)).decryptor()
    padded = cipher.update(rest) + cipher.finalize()
    size = padded[-1]
    if not 1 <= size <= BLOCK or padded[-size:] != bytes([size]) * size:
        raise ValueError("no padding")
    return padded[:-size]
