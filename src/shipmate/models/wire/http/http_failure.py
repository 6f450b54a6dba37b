"""Turn what the HTTP library raises into an `HttpFault`. Import this module only when a request is sent."""

from __future__ import annotations

import httpcore2

from shipmate.models.wire.http.trouble import HttpFault

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
        return HttpFault("timeout", f"{host} did not take the request in time")
    if isinstance(error, httpcore2.ProxyError):
        return HttpFault("proxy", f"the proxy refused to reach {host}: {error}")
    if isinstance(error, httpcore2.LocalProtocolError):
        return HttpFault("header", "the key or another header holds characters that cannot be sent")
    if isinstance(error, httpcore2.RemoteProtocolError) and not _is_cut(error):
        return HttpFault("protocol", f"{host} answered with something that is not HTTP")
    return HttpFault("cut", f"{host} ended the connection")


def explain_late(host: str, seconds: float | None) -> HttpFault:
    """Say that a host had `seconds` to begin an answer."""
    return HttpFault("timeout", f"{host} said nothing for {seconds or 0:g} s")


def _is_cut(error: Exception) -> bool:
    words = str(error)
    return "without sending" in words or "incomplete" in words
