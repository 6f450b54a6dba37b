"""List what of the machine a sandboxed command may read."""

from __future__ import annotations

import os
import sys
from functools import cache, lru_cache
from pathlib import Path

import shipmate

# Programs and libraries.
PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
# Of /etc only what programs need: the rest holds keys and password hashes that root could read.
SETTINGS = (
    "alternatives", "bash.bashrc", "ca-certificates", "debian_version", "fonts", "gai.conf", "group",
    "host.conf", "hostname", "hosts", "inputrc", "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
    "locale.alias", "localtime", "magic", "mime.types", "nsswitch.conf", "os-release", "passwd",
    "pki/ca-trust", "pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf", "profile", "protocols",
    "python3", "redhat-release", "resolv.conf", "services", "shells", "ssl/certs", "ssl/openssl.cnf",
    "terminfo", "timezone",
)  # fmt: skip


def readable_places(workspace: Path) -> tuple[Path, ...]:
    """List existing files and folders, apart from the workspace, that commands may read."""
    return _readable_places(workspace, tuple(search_path()), _interpreter())


@lru_cache(maxsize=64)
def _readable_places(
    workspace: Path, path: tuple[Path, ...], interpreter: tuple[Path, ...]
) -> tuple[Path, ...]:
    places = [Path(name) for name in PROGRAMS] + [Path("/etc") / name for name in SETTINGS]
    there = [place for place in dict.fromkeys((*places, *interpreter, *path)) if os.access(place, os.R_OK)]
    # Each costs a mount; what lies in another that is open has no need of its own.
    known = set(there)
    return tuple(
        place for place in there if not _overlaps(place, workspace) and known.isdisjoint(place.parents)
    )


def _overlaps(place: Path, workspace: Path) -> bool:
    return workspace.is_relative_to(place) or place.is_relative_to(workspace)


def own_code(workspace: Path) -> tuple[Path, ...]:
    """List folders of Shipmate's own code inside the workspace; commands must not change them."""
    return _own_code(workspace, _interpreter())


@lru_cache(maxsize=64)
def _own_code(workspace: Path, interpreter: tuple[Path, ...]) -> tuple[Path, ...]:
    package = Path(shipmate.__file__).resolve().parent
    return tuple(
        place for place in (*interpreter, package) if place != workspace and place.is_relative_to(workspace)
    )


def search_path() -> list[Path]:
    """Return the absolute folders on PATH."""
    folders = [Path(name) for name in os.environ.get("PATH", os.defpath).split(os.pathsep)]
    return [folder for folder in folders if folder.is_absolute()]


def _interpreter() -> tuple[Path, ...]:
    return _resolve(sys.prefix), _resolve(sys.base_prefix)


@cache
def _resolve(place: str) -> Path:
    return Path(place).resolve()
