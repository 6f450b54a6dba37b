"""What can go wrong between two machines, each with its name and a few words without any secret."""

from __future__ import annotations

import ssl

from shipmate.models.wording import say

# Numbers that OpenSSL gives for what is wrong with a certificate.
EXPIRED, NOT_YET = 10, 9
UNTRUSTED = frozenset((2, 18, 19, 20, 21))
OTHER_HOST = frozenset((62, 64))
# What happens before the first byte of a request leaves.
UNSENT = frozenset(
    (
        "address",
        "model-name",
        "header",
        "unknown-host",
        "unreachable",
        "proxy",
        "connect-timeout",
        "certificate",
    )
)


class HttpFault(Exception):  # noqa: N818
    """Trouble on the way to a server or back; `kind` is one of a few names, `words` says what happened.

    address, model-name, header: the request cannot be sent as it is; unknown-host, unreachable, proxy,
    connect-timeout, certificate: nobody was asked; timeout: no answer in time; cut, stalled, protocol,
    too-large, encoding: the answer cannot be read; redirect: the answer is to be had elsewhere.
    """

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words

    @property
    def is_unsent(self) -> bool:
        """Return whether nothing of the request has left; else some or all of it may have arrived."""
        return self.kind in UNSENT


def explain_late(host: str, seconds: float | None) -> HttpFault:
    """Say that a host had `seconds` to say something."""
    return HttpFault("timeout", say("silent", host=host, seconds=f"{seconds or 0:g}"))


def explain_certificate(error: ssl.SSLError, host: str) -> HttpFault:
    """Say why an encrypted connection was not made."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        if "WRONG_VERSION_NUMBER" in str(error.reason):
            return HttpFault("certificate", say("no-encryption", host=host))
        return HttpFault("certificate", say("no-agreement", host=host))
    code = error.verify_code
    if code == EXPIRED:
        return HttpFault("certificate", say("expired", host=host))
    if code == NOT_YET:
        return HttpFault("certificate", say("not-yet", host=host))
    if code in UNTRUSTED:
        return HttpFault("certificate", say("nobody-trusted", host=host))
    if code in OTHER_HOST:
        return HttpFault("certificate", say("other-host", host=host))
    return HttpFault("certificate", say("not-valid", host=host))
