"""Move in from another program: gather what is there, then put it here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from pathlib import Path

from shipmate.moving.landing import Landing, MoveReport, Progress
from shipmate.moving.move_plan import MovePlan, Switch
from shipmate.moving.move_wording import refuse
from shipmate.moving.source_folder import SourceFolder
from shipmate.workspace.disk.disk import DISK, locked
from shipmate.workspace.layout import CAPTAIN, MEMBER_ID, Layout

# Each program by the name people type, and who reads its folder; only one of them is ever needed.
PROGRAMS = {
    "nanobot": "from_nanobot.read_nanobot",
    "zyhive": "from_zyhive.read_zyhive",
    "openclaw": "from_openclaw.read_openclaw",
    "claude-code": "from_claude_code.read_claude_code",
    "dominds": "from_dominds.read_dominds",
    "shipmyagent": "from_ship_my_agent.read_ship_my_agent",
    "agent-chatter": "from_agent_chatter.read_agent_chatter",
}


async def move_in(
    layout: Layout,
    program: str,
    folder: Path,
    *,
    on: Iterable[Switch] = (),
    member: str = CAPTAIN,
    is_dry: bool = False,
    progress: Progress = lambda number, total: None,
) -> MoveReport:
    """Take what a program keeps in a folder into a workspace; the folder stays as it is."""
    if not folder.is_dir():
        raise refuse("no-folder", path=folder)
    if not MEMBER_ID.fullmatch(member):
        raise refuse("member-bad", member=member)
    plan = MovePlan(program, SourceFolder(folder), on, member)
    _reader(program)(plan)
    landing = Landing(layout, plan, progress, is_dry=is_dry)
    if is_dry:
        return await landing.run()
    with locked(DISK, layout.move_lock):
        return await landing.run()


def _reader(program: str) -> Callable[[MovePlan], None]:
    module, _, name = PROGRAMS[program].partition(".")
    found: Callable[[MovePlan], None] = getattr(
        importlib.import_module(f"shipmate.moving.origin.{module}"), name
    )
    return found
