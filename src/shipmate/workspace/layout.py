"""Know every path of a workspace. No other module builds one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from shipmate.errors import PathError, WorkspaceError
from shipmate.values.thread_id import ThreadId, file_name
from shipmate.workspace.disk.disk import SHIP, name_of

if TYPE_CHECKING:
    from shipmate.workspace.foreign.recognised import Recognised

MEMBER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
CAPTAIN = "captain"


def _in_ship(*names: str) -> cached_property[Path]:
    """Make a property of a layout: a path in the folder of what is kept."""
    return cached_property(lambda layout: layout.ship.joinpath(*names))


@dataclass(frozen=True)
class Layout:
    """The paths of one workspace; nothing is created by asking."""

    root: Path
    # The folder, or the file that is its Agent.md, of each member that does not lie in `members/`, by its id.
    homes: tuple[tuple[str, str], ...] = ()
    agent_name: str = "Agent.md"
    # The id another program has for the captain, in its lists of who may do what.
    captain_alias: str = ""

    @classmethod
    def find(cls, start: Path) -> Layout:
        """Return the workspace a folder lies in, the nearest upward; docs/adopting.md says what counts."""
        folder = start.resolve()
        if (folder / "Agent.md").is_file():
            return cls(folder)
        # Most folders are ours; what others make takes more modules to read.
        from shipmate.workspace.foreign.root import find_root

        found = find_root(folder)
        if found is None:
            raise WorkspaceError(
                f"no Agent.md in {folder} or above it, and no folder of another agent. "
                "Run `shipmate init` to make one."
            )
        return cls.of(*found)

    @classmethod
    def at(cls, folder: Path) -> Layout:
        """Return the layout of this very folder, whether it is a workspace yet or not."""
        from shipmate.workspace.foreign.recognition import recognise

        found = recognise(folder)
        return cls.of(found.root if found else folder, found)

    @classmethod
    def of(cls, root: Path, recognised: Recognised | None) -> Layout:
        """Return the layout of a folder by what it was recognised as."""
        if recognised is None:
            return cls(root)
        first = [(CAPTAIN, recognised.captain)] if recognised.captain else []
        others = [
            (name, place)
            for name, place in recognised.members.items()
            if place != recognised.captain and name != CAPTAIN
        ]
        alias = next((name for name, place in recognised.members.items() if place == recognised.captain), "")
        return cls(root, (*first, *others), captain_alias=alias)

    @cached_property
    def recognised(self) -> Recognised | None:
        """Return what the folder is where another program made it; None for one of ours."""
        if self.agent.is_file():
            from shipmate.workspace.foreign.program.ship_my_agent import recognise_ship

            return recognise_ship(self.root)
        from shipmate.workspace.foreign.recognition import recognise

        return recognise(self.root)

    @property
    def is_workspace(self) -> bool:
        """Return whether there is a member here, by whoever's files."""
        return self.agent.is_file() or self.recognised is not None

    @cached_property
    def agent(self) -> Path:
        return self.root / self.agent_name

    @cached_property
    def member_file(self) -> Path:
        """Return where a member's settings lie."""
        return self.root / "member.json"

    @cached_property
    def config(self) -> Path:
        return self.root / "ship.json"

    # Where the schema of ship.json lies for editors.
    schema = _in_ship("ship.schema.json")
    # Where it is kept how much models read at once, as their servers told.
    windows = _in_ship("windows.json")

    @cached_property
    def env(self) -> Path:
        return self.root / ".env"

    @cached_property
    def skills(self) -> Path:
        return self.root / "skills"

    @cached_property
    def members(self) -> Path:
        return self.root / "members"

    @cached_property
    def projects(self) -> Path:
        return self.root / "projects"

    @cached_property
    def memory(self) -> Path:
        return self.root / "memory"

    def bootstrap(self, name: str) -> Path:
        """Return a bootstrap file such as SOUL.md."""
        return self.agent if name == "Agent.md" else self.root / name

    @cached_property
    def memory_index(self) -> Path:
        return self.memory / "INDEX.md"

    @cached_property
    def long_term_memory(self) -> tuple[Path, Path]:
        """Return where MEMORY.md may lie, the likelier place first."""
        return self.memory / "MEMORY.md", self.root / "MEMORY.md"

    def daily_note(self, day: date) -> Path:
        return self.memory / f"{day.isoformat()}.md"

    def filed_daily_note(self, day: date) -> Path:
        """Return the day's note where a memory tree keeps its days in a folder."""
        return self.memory / "daily" / f"{day.isoformat()}.md"

    def topic_note(self, slug: str) -> Path:
        return self.memory / "topics" / f"{file_name(slug)}.md"

    def member(self, member_id: str) -> Layout:
        """Return the layout of a member's own files; the captain's are the workspace's."""
        if home := dict(self.homes).get(member_id):
            place = self.root / home
            return Layout(place.parent, agent_name=place.name) if home.endswith(".md") else Layout(place)
        if member_id == CAPTAIN:
            return self
        return Layout(self.members / _checked(member_id))

    @cached_property
    def priming(self) -> Path:
        return self.root / ".minds" / "priming"

    @cached_property
    def shared_priming(self) -> Path:
        """Return the folder of the scripts that all members share."""
        return self.priming / "team_shared"

    def member_priming(self, member_id: str) -> Path:
        """Return the folder of one member's own scripts."""
        return self.priming / "individual" / _checked(member_id)

    def recent_priming(self, member_id: str) -> Path:
        return self.root / ".dialogs" / "recent-priming" / f"{_checked(member_id)}.json"

    @cached_property
    def ship(self) -> Path:
        return self.root / SHIP

    state = _in_ship("state.db")
    # The folder of what could not be read and was set aside.
    damaged = _in_ship("damaged")
    inbox = _in_ship("inbox.jsonl")
    outbox = _in_ship("outbox.jsonl")
    people = _in_ship("people.json")
    users = _in_ship("users.json")
    # The folder of members and skills that were removed.
    removed = _in_ship("removed")

    def studio(self, member_id: str, skill_id: str) -> Path:
        """Return the draft of a skill that a member works on."""
        return self.ship / "studio" / _checked(member_id) / file_name(skill_id)

    # The folder of values that calls wait with.
    sealed = _in_ship("sealed")
    # The folder of what people and members decided about threads.
    marks = _in_ship("marks")

    def mark(self, thread_id: ThreadId) -> Path:
        return _thread_file(self.marks, thread_id, ".json")

    # The folder of what runs used, a file a month.
    usage = _in_ship("usage")
    # What was said today about going on beyond a budget.
    budget = _in_ship("budget.json")
    grants = _in_ship("grants")

    def grant(self, grant_id: str) -> Path:
        return self.grants / f"{file_name(grant_id)}.json"

    def name_of(self, path: Path) -> str:
        """Return how a file is named to people: by its place in the workspace."""
        return name_of(path, self.root)

    # The file whose lock says which process keeps the workspace.
    keeper_lock = _in_ship("keeper.lock")
    keeper_socket = _in_ship("keeper.sock")
    threads = _in_ship("threads")
    bin = _in_ship("bin")

    def sidecar(self, thread_id: ThreadId) -> Path:
        """Return where lies what belongs to the messages of a thread and is in no row."""
        return _thread_file(self.threads, thread_id, ".sidecar")

    def thread(self, thread_id: ThreadId) -> Path:
        return _thread_file(self.threads, thread_id, ".jsonl")

    def thread_bin(self, thread_id: ThreadId) -> Path:
        return _thread_file(self.bin, thread_id, ".jsonl")

    locks = _in_ship("locks")
    # Held by who moves something into the workspace.
    move_lock = _in_ship("locks", "move.lock")
    # The folder of the workspace's own copies, unless ship.json names another.
    backups = _in_ship("backups")
    # When the last copy was made, and what came of it.
    backup_record = _in_ship("backups", "last.json")

    def thread_lock(self, thread_id: ThreadId) -> Path:
        return _thread_file(self.locks, thread_id, ".lock")

    approvals = _in_ship("approvals")

    def approval(self, approval_id: str) -> Path:
        return self.approvals / f"{file_name(approval_id)}.json"

    # The folder of tried commands whose effects wait for an answer.
    trials = _in_ship("trials")

    def trial(self, trial_id: str) -> Path:
        return self.trials / file_name(trial_id)

    # The folder that says what was locked when each command that runs now began.
    rooms = _in_ship("rooms")
    # The folder that keeps what files held before runs changed them.
    rewinds = _in_ship("rewind")

    def rewind(self, run_id: str) -> Path:
        return self.rewinds / file_name(run_id)

    changes_lock = _in_ship("changes.lock")

    @cached_property
    def joint_decisions(self) -> Path:
        """Decisions about several approvals at once, until each is in its own file."""
        return self.approvals / "joint"

    # The folder of the chained log of acting calls.
    audit = _in_ship("audit")

    def rehearsal(self, ref: str) -> Path:
        """Return where it is kept what came of the last rehearsal of a script."""
        return self.ship / "rehearsals" / f"{ref}.json"

    project_memory = _in_ship("memory", "project.md")
    # Held while a file of memory is read, compared and replaced.
    memory_lock = _in_ship("memory.lock")

    def user_memory(self, user_key: str) -> Path:
        return self.ship / "memory" / "users" / f"{file_name(user_key)}.md"

    tasks = _in_ship("tasks")
    occurrences = _in_ship("occurrences.jsonl")
    logs = _in_ship("logs")

    def call_log(self, thread_id: str, call_id: str) -> Path:
        """Return where the whole output of one tool call is kept."""
        return self.logs / "calls" / ThreadId.parse(thread_id).encode() / f"{file_name(call_id)}.log"

    def mcp_log(self, server: str) -> Path:
        """Return where an MCP server's complaints are kept."""
        return self.logs / "mcp" / f"{file_name(server)}.log"

    def mcp_offer(self, server: str) -> Path:
        """Return where it is remembered what an MCP server offers."""
        return self.ship / "mcp" / "offers" / f"{file_name(server)}.json"

    def mcp_login(self, server: str) -> Path:
        """Return where the login at an MCP server is kept."""
        return self.ship / "mcp" / "logins" / f"{file_name(server)}.json"

    def routing(self, thread_id: str) -> Path:
        """Return where it is kept who was asked by whom in a thread, and why."""
        return self.logs / "routing" / f"{ThreadId.parse(thread_id).encode()}.jsonl"

    def program_home(self, member_id: str) -> Path:
        """Return the home of a member's program that has a login of its own."""
        return self.ship / "homes" / _checked(member_id)

    def trace(self, thread_id: str) -> Path:
        return self.logs / "trace" / f"{ThreadId.parse(thread_id).encode()}.jsonl"

    kept = _in_ship("context")

    def kept_requests(self, thread_id: str) -> Path:
        """Return where what models were sent in a thread is kept."""
        return _thread_file(self.kept, ThreadId.parse(thread_id), ".jsonl")

    def thread_logs(self, thread_id: str) -> tuple[Path, ...]:
        """Return where a thread's logs are kept: files, and the folder of what its calls printed."""
        files = (self.trace, self.routing, self.kept_requests)
        return (*(file(thread_id) for file in files), self.call_log(thread_id, "call").parent)

    uploads = _in_ship("uploads")

    def upload(self, upload_id: str) -> Path:
        return self.uploads / file_name(upload_id)

    def revisions(self, relative: str) -> Path:
        """Return the folder that keeps a document's earlier texts."""
        return self.ship / "revisions" / file_name(relative)

    # The folder members may write without asking.
    scratch = _in_ship("scratch")

    def refused(self, call_id: str) -> Path:
        """Return where lies what a command made and may not make."""
        return self.ship / "refused" / file_name(call_id)

    token = _in_ship("token")
    history = _in_ship("chat-history")


def _checked(member_id: str) -> str:
    if MEMBER_ID.fullmatch(member_id):
        return member_id
    raise PathError(f"{member_id!r} is not a member id: letters, digits, '.', '_' and '-' only")


@lru_cache(maxsize=4096)
def _thread_file(folder: Path, thread_id: ThreadId, ending: str) -> Path:
    """Return a file of a thread; each turn asks for the same ones many times."""
    return folder / f"{thread_id.encode()}{ending}"
