"""Find an Ollama on this machine, quickly and with nothing but the standard library."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import msgspec

from shipmate.models.selection.model_name import is_model_name
from shipmate.values.nesting import check_nesting

if TYPE_CHECKING:
    from http.client import HTTPConnection

DEFAULT_PORT = 11434
CONNECT_SECONDS = 0.15
ANSWER_LIMIT = 1_000_000
ANSWER_SECONDS = 0.5


class Ollama(NamedTuple):
    """Where an Ollama answers and which models it has, the most recent first."""

    url: str
    models: tuple[str, ...]


def locate_ollama(host: str | None) -> str:
    """Return the address Ollama is expected at, as OLLAMA_HOST says or its own default."""
    text = (host or "").strip().rstrip("/")
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        name, port = parts.hostname, parts.port
    except ValueError:
        parts, name, port = urlsplit(""), None, None
    # A server told to listen everywhere is asked here.
    if name in (None, "", "0.0.0.0", "::"):  # noqa: S104
        name = "127.0.0.1"
    default = {"https": 443}.get(parts.scheme, DEFAULT_PORT)
    return f"{parts.scheme or 'http'}://{f'[{name}]' if ':' in str(name) else name}:{port or default}"


def find_ollama(url: str) -> Ollama | None:
    """Ask the address for its models; None when nothing answers in time."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), CONNECT_SECONDS):
            pass
    except OSError:
        return None
    return _ask(url)


def _ask(url: str) -> Ollama | None:
    # Loaded only here, so that a machine without Ollama does not pay for it.
    import http.client
    from threading import Timer

    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=ANSWER_SECONDS)
    # For the whole answer: the connection's own limit is for each piece of it.
    limit = Timer(ANSWER_SECONDS, _cut, [connection])
    limit.start()
    try:
        connection.request("GET", "/api/tags")
        found = msgspec.json.decode(check_nesting(connection.getresponse().read(ANSWER_LIMIT)))
        names = [model["name"] for model in found["models"]]
    except (OSError, http.client.HTTPException, msgspec.DecodeError, UnicodeError, KeyError, TypeError):
        return None
    finally:
        limit.cancel()
        connection.close()
    return Ollama(url, tuple(name for name in names if is_model_name(name) and "embed" not in name))


def _cut(connection: HTTPConnection) -> None:
    """End a connection under whoever reads from it."""
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)
