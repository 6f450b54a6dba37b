"""Put what was gathered into a workspace: only what is not there, so that doing it again changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from shipmate.errors import UserError
from shipmate.moving.move_plan import MovePlan, TakenMember, TakenThread
from shipmate.moving.move_wording import say
from shipmate.schedule.task import TASK_ID
from shipmate.store.journal.mark import MarkFiles
from shipmate.thread.log import FileLog
from shipmate.thread.mark import ThreadMark
from shipmate.thread.row import part_key
from shipmate.thread.service import Thread, ThreadService
from shipmate.values.message import JsonObject, UIMessage, metadata_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK, create_file, refusals
from shipmate.workspace.foreign.adoption import Adoption, read_ship, write_adoption
from shipmate.workspace.foreign.recognised import Unused
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import read_env
from shipmate.workspace.secret.setting import VARIABLE
from shipmate.workspace.setting_file.env_file import set_variable

Progress = Callable[[int, int], None]


class MoveReport(msgspec.Struct, kw_only=True, rename="camel"):
    """What was taken, what was there already, and what was left with the reason."""

    program: str
    source: str
    is_dry: bool
    threads: dict[str, list[str]]
    messages: int = 0
    files: dict[str, list[str]]
    members: list[str] = []
    tasks: dict[str, list[str]]
    settings: dict[str, list[str]]
    # By name; values are in .env and nowhere else.
    variables: dict[str, list[str]]
    left: list[Unused]


class Landing:
    """One import into one workspace."""

    def __init__(self, layout: Layout, plan: MovePlan, progress: Progress, *, is_dry: bool) -> None:
        self._layout = layout
        self._plan = plan
        self._progress = progress
        self._is_dry = is_dry
        self._threads = ThreadService(FileLog(layout))
        self._marks = MarkFiles(layout, DISK)
        self._report = MoveReport(
            program=plan.program,
            source=str(plan.source.root),
            is_dry=is_dry,
            threads={"new": [], "grown": [], "same": []},
            files={"new": [], "same": []},
            tasks={"new": [], "same": []},
            settings={"new": [], "same": []},
            variables={"new": [], "same": []},
            left=plan.left,
        )

    async def run(self) -> MoveReport:
        """Write everything, keys before what names them; a run that is cut off is finished by the next."""
        for link in dict.fromkeys(self._plan.source.links):
            self._plan.leave(link, "link")
        for path, data in sorted(self._plan.files.items()):
            self._put(path, data)
        for member in self._plan.members:
            self._take_member(member)
        settings = self._plan_settings()
        self._take_variables(settings.after)
        if settings.added and not self._is_dry:
            write_adoption(self._layout, settings)
        for task_id, text in self._plan.tasks.items():
            if TASK_ID.fullmatch(task_id):
                self._note(
                    self._report.tasks, task_id, self._create(f".ship/tasks/{task_id}.md", text.encode())
                )
        await self._take_threads()
        return self._report

    def _note(self, into: dict[str, list[str]], name: str, is_new: bool) -> None:
        into["new" if is_new else "same"].append(name)

    def _put(self, path: str, data: bytes) -> None:
        """Put a file where none is; one that stands there and says something else is never changed."""
        place = self._layout.root / path
        try:
            known = place.read_bytes() if place.exists() or place.is_symlink() else None
        except OSError:
            known = b""
        if known is not None and known != data:
            self._plan.leave(path, "file-differs")
            return
        self._note(self._report.files, path, self._create(path, data))

    def _create(self, path: str, data: bytes) -> bool:
        """Make a file appear whole, if there is none; tell whether it is new."""
        place = self._layout.root / path
        if place.exists() or place.is_symlink():
            return False
        if not place.parent.resolve().is_relative_to(self._layout.root.resolve()):
            raise UserError(say("leads-out", path=path))
        if not self._is_dry:
            try:
                with refusals(place, self._layout.root):
                    create_file(DISK, place, data)
            except FileExistsError:
                return False
        return True

    def _take_member(self, member: TakenMember) -> None:
        """Take a member whose id is free, or who was taken before; settings first, they say whose it is."""
        folder = self._layout.name_of(self._layout.member(member.id).root)
        written = msgspec.json.format(msgspec.json.encode(member.settings), indent=2) + b"\n"
        place = self._layout.member(member.id).member_file
        known = place.read_bytes() if place.is_file() else None
        if (known is None and place.parent.exists()) or (known is not None and known != written):
            self._plan.leave(folder, "member-differs", member=member.id)
            return
        self._report.members.append(member.id)
        self._put(f"{folder}/{place.name}", written)
        for path, data in sorted(member.files.items()):
            self._put(f"{folder}/{path}", data)

    def _take_variables(self, settings: JsonObject) -> None:
        """Keep the keys that something taken names; the others are nobody's business here."""
        known = read_env(self._layout)
        taken = [settings, *(each.settings for each in self._plan.members if each.id in self._report.members)]
        named = set(VARIABLE.findall(msgspec.json.encode(taken).decode()))
        for name, value in self._plan.variables.items():
            if name not in named:
                continue
            if name in known and known[name] != value:
                self._plan.leave(f".env: {name}", "variable-differs")
            elif name in known:
                self._report.variables["same"].append(name)
            else:
                self._keep_variable(name, value)

    def _keep_variable(self, name: str, value: str) -> None:
        try:
            if not self._is_dry:
                set_variable(self._layout, name, value)
        except UserError:
            # Its words show nothing of the value, and ours must not either.
            self._plan.leave(f".env: {name}", "variable-odd")
            return
        self._report.variables["new"].append(name)

    def _plan_settings(self) -> Adoption:
        """Return ship.json with what it does not say yet."""
        before, raw = read_ship(self._layout)
        added: JsonObject = {}
        after: JsonObject = msgspec.json.decode(msgspec.json.encode(raw))
        for each in self._plan.settings:
            self._add(after, added, each.way, each.value)
        return Adoption(before, added, after)

    def _add(self, after: JsonObject, added: JsonObject, way: Sequence[str], value: Any) -> None:
        name = ".".join(way)
        inner: Any = after
        for key in way[:-1]:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                self._plan.leave(f"ship.json: {name}", "setting-differs")
                return
        known = inner.get(way[-1])
        if isinstance(value, list) and isinstance(known, list):
            value = [*known, *(item for item in value if item not in known)]
        elif known is not None and known != value:
            self._plan.leave(f"ship.json: {name}", "setting-differs")
            return
        self._note(self._report.settings, name, known != value)
        if known != value:
            inner[way[-1]] = added[name] = value

    async def _take_threads(self) -> None:
        total = len(self._plan.threads)
        for number, taken in enumerate(self._plan.threads, 1):
            await self._take_thread(taken)
            self._progress(number, total)

    async def _take_thread(self, taken: TakenThread) -> None:
        """Make a thread, or go on with the one that was made before."""
        rows = taken.write(taken.thread_id)
        if not rows:
            self._plan.leave(str(taken.thread_id), "thread-empty")
            return
        for place in dict.fromkeys((taken.thread_id, taken.spare)):
            rows = rows if place == taken.thread_id else taken.write(place)
            if await self._threads.is_binned(place):
                self._plan.leave(str(place), "thread-binned")
                return
            if not await self._threads.exists(place):
                await self._create_thread(place, taken, rows)
                return
            # Whoever began a thread by an import has its first row.
            thread = await self._threads.read(place)
            if thread.find(rows[0]["id"]) is not None:
                await self._continue_thread(thread, rows)
                return
        self._plan.leave(str(taken.thread_id), "thread-differs")

    async def _create_thread(self, place: ThreadId, taken: TakenThread, rows: list[UIMessage]) -> None:
        began = str(metadata_of(rows[0]).get("timestamp", ""))
        member = taken.member if taken.member in (CAPTAIN, *self._report.members) else CAPTAIN
        mark = ThreadMark(title=taken.title, member=member, created_at=began)
        if not self._is_dry:
            # The mark first: without a file nobody sees the thread, with both it is whole.
            if (taken.title or member != CAPTAIN) and not self._marks.stamp(place):
                self._marks.create(place, mark)
            await self._threads.create(place, rows)
        self._report.threads["new"].append(str(place))
        self._report.messages += len(rows) - 1

    async def _continue_thread(self, thread: Thread, rows: list[UIMessage]) -> None:
        """Append what was said over there since, unless the talk went on here."""
        if self._is_dry:
            more = self._find_more(thread, rows)
        else:
            async with self._threads.open(thread.id) as held:
                more = self._find_more(held, rows)
                if more:
                    await held.append(*more)
        self._report.threads["grown" if more else "same"].append(str(thread.id))
        self._report.messages += len(more)

    def _find_more(self, thread: Thread, rows: list[UIMessage]) -> list[UIMessage]:
        more = [row for row in rows if thread.find(row["id"]) is None]
        last = next((row for row in reversed(rows) if thread.find(row["id"]) is not None), None)
        known = thread.find(last["id"]) if last is not None else None
        if last is not None and known is not None and (grown := _find_grown(known, last)):
            more.insert(0, {**last, "parts": grown})
        if more and (last is None or thread.messages[-1]["id"] != last["id"]):
            self._plan.leave(str(thread.id), "thread-went-on", count=len(more))
            return []
        return more


def _find_grown(known: UIMessage, row: UIMessage) -> list[JsonObject]:
    """Return the parts that came since: those behind what is known, and calls whose results came."""
    before = known["parts"]
    return [
        part
        for at, part in enumerate(row["parts"])
        if at >= len(before) or (part != before[at] and part_key(part) is not None)
    ]
