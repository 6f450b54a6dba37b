"""Keep passwords so that whoever reads the file cannot use them: scrypt, with a salt for each."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from concurrent.futures import ThreadPoolExecutor

from shipmate.errors import UserError

SHORTEST, LONGEST = 10, 200
# 32 MB and a tenth of a second for each try.
COST, BLOCK, LANES = 2**15, 8, 1
MEMORY = 128 * COST * BLOCK * 2
# Tries at once: more would fill the memory of a small machine.
TRIES = ThreadPoolExecutor(2, thread_name_prefix="password")


def check_password(text: str, user_id: str) -> str:
    """Return a password that is good enough to keep."""
    if not SHORTEST <= len(text) <= LONGEST or text.casefold() in (user_id.casefold(), user_id * 2):
        raise UserError(
            f"a password has {SHORTEST} to {LONGEST} characters, and is not the name it belongs to."
        )
    return text


async def seal_password(text: str) -> str:
    """Return what is kept of a password."""
    salt = secrets.token_bytes(16)
    derived = await asyncio.get_running_loop().run_in_executor(TRIES, _derive, text, salt, COST)
    return f"scrypt${COST}${BLOCK}${LANES}${_text(salt)}${_text(derived)}"


async def opens(sealed: str, text: str) -> bool:
    """Return whether a password is the one that was sealed; as slow where there is none to compare with."""
    kind, cost, _, _, salt, expected = (sealed or NOBODY).split("$")
    given = text[: LONGEST + 1], base64.b64decode(salt), int(cost)
    derived = await asyncio.get_running_loop().run_in_executor(TRIES, _derive, *given)
    is_same = hmac.compare_digest(_text(derived), expected)
    return is_same and bool(sealed) and kind == "scrypt" and len(text) <= LONGEST


def _derive(text: str, salt: bytes, cost: int) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(data, salt=salt, n=cost, r=BLOCK, p=LANES, maxmem=MEMORY, dklen=32)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


# What a password is compared with where nobody is called so, or has none.
NOBODY = f"scrypt${COST}${BLOCK}${LANES}${_text(bytes(16))}${_text(bytes(32))}"
