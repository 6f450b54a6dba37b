"""Know people: which ids are one person's, and who was let in by a code.

`people` of ship.json joins ids; `.ship/people.json` holds those a code let in, and the codes that wait.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from shipmate.errors import NotFoundError, UserError
from shipmate.values.adapter_event import PERSON
from shipmate.values.message import timestamp
from shipmate.workspace.disk.disk import DISK, Disk, locked, read_file, refusals, replace_file
from shipmate.workspace.layout import Layout

# Without letters and digits that look alike.
ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
CODE_LASTS = timedelta(hours=1)
# More would let strangers fill the file.
CODE_COUNT = 100


class Stranger(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody who asked to be let in, or was."""

    # As `platform:id`.
    id: str
    name: str
    at: str
    # The person of `people` they were said to be.
    person: str | None = None


class PeopleFile(msgspec.Struct, kw_only=True):
    """What `.ship/people.json` holds."""

    paired: list[Stranger] = []
    codes: dict[str, Stranger] = {}


class People:
    """Everybody a workspace knows."""

    def __init__(
        self,
        layout: Layout,
        people: Mapping[str, Sequence[str]],
        disk: Disk = DISK,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._layout = layout
        self._disk = disk
        self._clock = clock
        self._persons = {each: person for person, ids in people.items() for each in ids}

    def identify(self, platform: str, user_id: str) -> str:
        """Return what somebody is called in events: the same on every platform where they are joined."""
        person = self._persons.get(f"{platform}:{user_id}")
        if person is None:
            person = next((each.person for each in self.paired() if each.id == f"{platform}:{user_id}"), None)
        return user_id if person is None else f"{PERSON}{person}"

    def is_known(self, platform: str, user_id: str) -> bool:
        """Return whether somebody stands in `people`, or was let in by a code."""
        full = f"{platform}:{user_id}"
        return full in self._persons or any(each.id == full for each in self.paired())

    def has_any(self, platform: str) -> bool:
        """Return whether anybody is known on a platform."""
        ids = [*self._persons, *(each.id for each in self.paired())]
        return any(each.startswith(f"{platform}:") for each in ids)

    def paired(self) -> list[Stranger]:
        """List those who were let in by a code."""
        return self._read().paired

    def waiting(self) -> dict[str, Stranger]:
        """Return the codes that wait, each with who was told it."""
        return self._fresh(self._read().codes)

    def offer(self, platform: str, user_id: str, name: str) -> str:
        """Return the code with which the owner lets somebody in; they get the same while it lasts."""
        full = f"{platform}:{user_id}"
        with refusals(self._layout.people, self._layout.root), self._lock():
            found = self._read()
            found.codes = self._fresh(found.codes)
            known = next((code for code, each in found.codes.items() if each.id == full), None)
            if known is not None:
                return known
            if len(found.codes) >= CODE_COUNT:
                return ""
            code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
            found.codes[code] = Stranger(id=full, name=name, at=timestamp(self._clock()))
            self._write(found)
            return code

    def pair(self, code: str, person: str | None = None) -> Stranger:
        """Let in whoever was told a code, as a person of their own or as one of `people`."""
        if person is not None and not person.isidentifier():
            raise UserError(f"{person!r} is no name for a person: letters, digits and '_' only.")
        with refusals(self._layout.people, self._layout.root), self._lock():
            found = self._read()
            found.codes = self._fresh(found.codes)
            stranger = found.codes.pop(code.strip().upper(), None)
            if stranger is None:
                raise NotFoundError(
                    f"nobody was told the code {code}, or it is too old. They get a new one when they write."
                )
            let_in = msgspec.structs.replace(stranger, person=person, at=timestamp(self._clock()))
            found.paired = [each for each in found.paired if each.id != let_in.id] + [let_in]
            self._write(found)
            return let_in

    def refuse(self, code: str) -> Stranger:
        """Forget a code that waits: it lets nobody in any more."""
        with refusals(self._layout.people, self._layout.root), self._lock():
            found = self._read()
            stranger = found.codes.pop(code.strip().upper(), None)
            if stranger is None:
                raise NotFoundError(f"nobody was told the code {code}.")
            self._write(found)
            return stranger

    def part(self, user: str) -> Stranger:
        """Shut somebody out again who was let in by a code, by `platform:id`."""
        with refusals(self._layout.people, self._layout.root), self._lock():
            found = self._read()
            gone = next((each for each in found.paired if each.id == user), None)
            if gone is None:
                raise NotFoundError(f"{user} was not let in by a code. `shipmate people` lists who was.")
            found.paired.remove(gone)
            self._write(found)
            return gone

    def _fresh(self, codes: Mapping[str, Stranger]) -> dict[str, Stranger]:
        oldest = timestamp(self._clock() - CODE_LASTS)
        return {code: each for code, each in codes.items() if each.at >= oldest}

    def _lock(self):
        return locked(self._disk, self._layout.people.with_suffix(".lock"))

    def _read(self) -> PeopleFile:
        try:
            return msgspec.json.decode(read_file(self._disk, self._layout.people), type=PeopleFile)
        except FileNotFoundError:
            return PeopleFile()
        except msgspec.MsgspecError as error:
            # Nobody is let in by a file that cannot be read.
            name = self._layout.name_of(self._layout.people)
            raise UserError(
                f"{name} cannot be read: {error}. Mend it, or remove it and pair anew."
            ) from error

    def _write(self, found: PeopleFile) -> None:
        replace_file(self._disk, self._layout.people, msgspec.json.encode(found))
