"""Turn what the HTTP library raises into an `HttpFault`. Import this module only when a request is sent."""

from __future__ import annotations

import httpcore2

from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wording import say

FAILURES = (
    HttpFault,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)


def explain_failure(error: Exception, host: str, seconds: float | None) -> HttpFault:
    """Say what happened at a host, which had `seconds` to say something."""
    if isinstance(error, HttpFault):
        return error
    if isinstance(error, httpcore2.ReadTimeout):
        return explain_late(host, seconds)
    if isinstance(error, httpcore2.TimeoutException):
        return HttpFault("timeout", say("not-taken", host=host))
    if isinstance(error, httpcore2.ProxyError):
        return HttpFault("proxy", say("proxy-refused", host=host, why=error))
    if isinstance(error, httpcore2.LocalProtocolError):
        return HttpFault("header", say("odd-header"))
    if isinstance(error, httpcore2.RemoteProtocolError) and not _is_cut(error):
        return HttpFault("protocol", say("no-http", host=host))
    return HttpFault("cut", say("ended", host=host))


def explain_late(host: str, seconds: float | None) -> HttpFault:
    """Say that a host had `seconds` to begin an answer."""
    return HttpFault("timeout", say("silent", host=host, seconds=f"{seconds or 0:g}"))


def _is_cut(error: Exception) -> bool:
    words = str(error)
    return "without sending" in words or "incomplete" in words
