"""Make what was recognised lasting: the few lines of ship.json that say it, beside what it says already."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from shipmate.errors import WorkspaceError
from shipmate.values.message import JsonObject
from shipmate.workspace.disk.private import make_private, write_private
from shipmate.workspace.foreign.recognised import Recognised
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import decode_object


class Adoption(msgspec.Struct, frozen=True):
    """What ship.json is going to say, and what of it is new."""

    before: bytes | None
    added: JsonObject
    after: JsonObject

    @property
    def text(self) -> str:
        """Return the new ship.json."""
        return msgspec.json.format(msgspec.json.encode(self.after), indent=2).decode() + "\n"


def read_ship(layout: Layout) -> tuple[bytes | None, JsonObject]:
    """Return ship.json as it stands on disk, and what it says."""
    try:
        before = layout.config.read_bytes()
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise WorkspaceError(
            f"{layout.config} cannot be read: {error.strerror}. Mend its permissions."
        ) from error
    return before, decode_object(before, layout.config) if before and before.strip() else {}


def plan_adoption(layout: Layout, recognised: Recognised) -> Adoption:
    """Return what is to be added to ship.json; no value that stands there is changed."""
    before, raw = read_ship(layout)
    added = _missing(raw, recognised.defaults())
    return Adoption(before, added, _join(raw, added))


def write_adoption(layout: Layout, adoption: Adoption) -> None:
    """Write ship.json in one step; what stood in it before is kept among the revisions."""
    try:
        now = layout.config.read_bytes() if layout.config.exists() else None
        if now != adoption.before:
            raise WorkspaceError(f"{layout.config} changed meanwhile and stays as it is. Run it again.")
        if adoption.before is not None:
            kept = make_private(layout.revisions(layout.config.name))
            write_private(kept / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}.json", adoption.before)
        write_private(layout.config, adoption.text.encode())
    except OSError as error:
        raise WorkspaceError(
            f"{layout.config} cannot be written: {error.strerror}. Nothing was changed."
        ) from error


def _missing(raw: JsonObject, wanted: JsonObject) -> JsonObject:
    """Return what of the wanted settings is not there, key by key."""
    found: JsonObject = {}
    for key, value in wanted.items():
        if key not in raw:
            found[key] = value
        elif isinstance(value, dict) and isinstance(raw[key], dict) and (inner := _missing(raw[key], value)):
            found[key] = inner
    return found


def _join(raw: JsonObject, added: JsonObject) -> JsonObject:
    return {
        **raw,
        **{
            key: {**raw.get(key, {}), **value} if isinstance(value, dict) else value
            for key, value in added.items()
        },
    }
