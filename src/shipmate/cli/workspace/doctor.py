"""Check a workspace and say what to mend."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

import click
import msgspec

from shipmate import __version__
from shipmate.cli.place import find_layout, open_records
from shipmate.cli.terminal.tongue import language, say
from shipmate.cli.terminal.width import fit
from shipmate.crew.roster import Roster
from shipmate.errors import ShipmateError
from shipmate.recall.vector import check_recall
from shipmate.thread.row import RowProblem
from shipmate.values.reveal import reveal
from shipmate.values.saying import Saying
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.file import FileCache
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import Loaded, load_config
from shipmate.workspace.secret.exposure import findings as find_exposure
from shipmate.workspace.secret.secret import Mask, secret_values

if TYPE_CHECKING:
    from shipmate.workspace.member import Member

MARKS = {"ok": "✓", "warn": "!", "error": "✗"}
LOW_SPACE = 200 * 1024 * 1024


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--live", is_flag=True, help="Also ask the model: one question, and one call of a tool.")
@click.pass_context
def command(context: click.Context, as_json: bool, live: bool) -> int:
    """Check the workspace and say what to mend; exit code 1 when something does not work."""
    findings = asyncio.run(examine(find_layout(context), live=live))
    failed = any(finding.level == "error" for finding in findings)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings)))
        return int(failed)
    colon = "：" if language() == "zh" else ": "
    for finding in findings:
        click.echo(fit(f"{MARKS[finding.level]} {say(finding.subject)}{colon}{say(finding.message)}", "  "))
        if finding.fix:
            click.echo(fit(f"    → {say(finding.fix)}", "      "))
    click.echo(say(_sum_up(findings)))
    return int(failed)


async def examine(layout: Layout, *, live: bool = False) -> list[Finding]:
    """Collect what every room finds; trouble in one check does not hide the others. `live` asks the model."""
    findings = [
        Finding("ok", "shipmate", f"{__version__}, Python {sys.version.split()[0]}, {sys.platform}"),
        *await _guard("workspace", lambda: _check_agent(layout)),
        *await _guard("disk", lambda: _check_disk(layout)),
        *await _guard("other programs", lambda: _check_others(layout)),
    ]
    mask = Mask(secret_values(os.environ))
    try:
        loaded = load_config(layout)
    except ShipmateError as error:
        findings.append(Finding("error", "ship.json", str(error)))
    else:
        mask = loaded.mask
        findings += await _check_rooms(layout, loaded, live=live)
    findings += await _guard("secrets", lambda: find_exposure(layout))
    findings += await _guard("tasks", lambda: _check_tasks(layout))
    findings += await _guard("recall", check_recall)
    findings += await _guard("threads", lambda: _check_threads(layout))
    findings += await _guard("keeper", lambda: _check_keeper(layout))
    findings += await _guard("damaged", lambda: _check_damaged(layout))
    findings += await _guard("audit", lambda: _check_audit(layout))
    return [_cover(finding, mask) for finding in findings]


async def _check_rooms(layout: Layout, loaded: Loaded, *, live: bool) -> list[Finding]:
    from shipmate.approvals.policy.policy import findings as find_permissions
    from shipmate.approvals.policy.preference import findings as find_preferences
    from shipmate.moving.archive.backup import findings as find_backups
    from shipmate.priming.check import findings as find_priming
    from shipmate.priming.library import Library
    from shipmate.speech.speech import findings as find_speech
    from shipmate.tools.exec.sandbox.sandbox import Sandbox

    permissions = loaded.config.permissions
    read = "can be read" if layout.config.exists() else "not there, so everything has its default"
    return [
        *(loaded.findings or [Finding("ok", "ship.json", read)]),
        *await _guard("model", lambda: _check_model(layout, loaded, live=live)),
        *await _guard("members", lambda: _check_models(layout, loaded)),
        *await _guard("programs", lambda: _check_programs(layout, loaded)),
        *await _guard("permissions", lambda: find_permissions(permissions)),
        *await _guard("Agent.md", lambda: find_preferences(layout)),
        *await _guard("context", lambda: _check_context(layout, loaded)),
        *await _guard("priming", lambda: find_priming(Library(layout))),
        *await _guard("sandbox", lambda: Sandbox(layout).findings()),
        *await _guard("mcp", lambda: _check_servers(layout, loaded)),
        *await _guard("adapters", lambda: _check_adapters(layout, loaded)),
        *await _guard("speech", lambda: find_speech(loaded.config.speech)),
        *_check_telemetry(),
        *await _guard("backup", lambda: find_backups(layout, loaded.config)),
    ]


def _check_telemetry() -> list[Finding]:
    from shipmate.telemetry import find_trouble, is_wanted

    if not is_wanted(os.environ):
        return []
    trouble = find_trouble(os.environ)
    return [Finding("warn" if trouble else "ok", "OpenTelemetry", trouble or "traces and metrics are sent")]


async def _guard(
    subject: str, check: Callable[[], Iterable[Finding] | Awaitable[Iterable[Finding]]]
) -> list[Finding]:
    """Run one check; what stops it becomes its finding."""
    try:
        found = check()
        return list(await found if isinstance(found, Awaitable) else found)
    except OSError as error:
        return [Finding("error", subject, f"{error.filename}: {error.strerror}", "mend this and try again")]
    except ShipmateError as error:
        return [Finding("error", subject, str(error))]


def _check_agent(layout: Layout) -> list[Finding]:
    if not layout.agent.exists() and (found := layout.recognised):
        said = f"opens as a folder of {found.program}, by {', '.join(found.signs)}"
        return [Finding("ok", "workspace", said)]
    if FileCache(layout.root).read(layout.agent).is_unread:
        # The check of the members says so, and what to do.
        return []
    try:
        text = layout.agent.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        message = f"{layout.agent.name} is not UTF-8 at byte {error.start:,}"
        return [Finding("error", "Agent.md", message, "save it as UTF-8")]
    if not text.strip():
        return [Finding("warn", "Agent.md", f"{layout.agent.name} is empty", "say who the member is")]
    return [Finding("ok", "Agent.md", f"{len(text):,} characters")]


def _check_others(layout: Layout) -> list[Finding]:
    """Return what of other programs is seen and not used."""
    from shipmate.cli.workspace.adopt import format_lines
    from shipmate.workspace.foreign.recognition import survey

    found = [
        Finding(
            "warn",
            reveal(each.what),
            f"not used: {reveal(each.why)}",
            f"ship.json: {reveal(format_lines(each.lines))}" if each.lines else "",
        )
        for each in survey(layout.root)
    ]
    known = layout.recognised
    if known is not None and known.secrets:
        said = f"{len(set(known.secrets))} keys stand in the clear in the settings of {known.program}"
        found.append(
            Finding(
                "warn", "keys", said, "they are masked wherever text is shown; move them to the environment"
            )
        )
    return found


def _check_disk(layout: Layout) -> list[Finding]:
    try:
        make_private(layout.ship)
        with tempfile.TemporaryFile(dir=layout.ship) as file:
            file.write(b"x")
            os.fsync(file.fileno())
    except OSError as error:
        message = f"{layout.ship.name} cannot be written: {error.strerror}"
        return [Finding("error", "disk", message, "mend its permissions or free some space")]
    free = shutil.disk_usage(layout.ship).free
    said = f"{layout.ship.name} can be written, {free / 1e9:.1f} GB free"
    return [
        Finding(
            "ok" if free > LOW_SPACE else "warn", "disk", said, "" if free > LOW_SPACE else "free some space"
        )
    ]


async def _check_servers(layout: Layout, loaded: Loaded) -> list[Finding]:
    """Ask every MCP server for its tools."""
    from shipmate.tools.toolset import default_toolset
    from shipmate.workspace.member import captain_of

    toolset = default_toolset(captain_of(layout, loaded.config))
    try:
        await toolset.load(is_patient=True)
        return toolset.findings()
    finally:
        await toolset.close()


def _check_adapters(layout: Layout, loaded: Loaded) -> list[Finding]:
    """Check that each adapter can be made and somebody may talk to it, and that everything was sent."""
    if not loaded.config.adapters:
        return []
    from shipmate.adapters.adapter_registry import AdapterRegistry
    from shipmate.delivery.reception.people import People
    from shipmate.delivery.settling import is_open
    from shipmate.residence import open_shelf
    from shipmate.workspace.crew import Crew

    registry = AdapterRegistry(loaded.config.adapters)
    with open_shelf(layout) as shelf:
        people = People(layout, loaded.config.people, shelf.papers)
        found = registry.check(people, Crew(layout, loaded).ids())
        rows = [row for row in shelf.sends() if is_open(row) and row.status != "waiting"]
    words = "everything was sent" if not rows else f"{len(rows)} sends are held, failed or uncertain"
    fix = "see `shipmate outbox`" if rows else ""
    return [*found, Finding("warn" if rows else "ok", "outbox", words, fix)]


def _check_tasks(layout: Layout) -> list[Finding]:
    """Name the tasks that cannot be read, and say whether nobody knows what became of some."""
    if not layout.tasks.is_dir():
        return []
    from shipmate.residence import open_shelf
    from shipmate.schedule.task_folder import TaskFolder
    from shipmate.store.journal.occurrence import JournalOccurrences

    with open_shelf(layout) as shelf:
        records = JournalOccurrences(layout, shelf.papers).look().values()
    uncertain = sum(each.status == "uncertain" for record in records for each in record.known.values())
    found = TaskFolder(layout).findings()
    if uncertain:
        found.append(
            Finding("warn", "tasks", f"{uncertain} due times are uncertain", "see `shipmate tasks log`")
        )
    return found


async def _check_model(layout: Layout, loaded: Loaded, *, live: bool) -> list[Finding]:
    """Say how the captain's model stands, and what it answers when it is asked."""
    from shipmate.models.selection.readiness import ask_live, findings
    from shipmate.workspace.crew import Crew

    llm = Crew(layout, loaded).find(CAPTAIN).config.llm
    found = findings(llm, loaded.environ)
    if not live:
        return found
    told = await ask_live(llm, loaded.environ)
    unasked = [each for each in found if each.level != "ok" or each.subject != "model"]
    return [*(unasked if told else found), *told]


def _check_models(layout: Layout, loaded: Loaded) -> list[Finding]:
    """Name the members whose own model cannot answer."""
    from shipmate.models.selection.readiness import findings as find_model
    from shipmate.workspace.crew import Crew

    members = [each for each in Crew(layout, loaded).list() if not each.is_program]
    own = [each for each in members if each.settings.model is not None]
    found = [(each.id, finding) for each in own for finding in find_model(each.config.llm, loaded.environ)]
    return [
        msgspec.structs.replace(finding, subject=f"member {member_id}: model")
        for member_id, finding in found
        if finding.level == "error"
    ]


async def _check_programs(layout: Layout, loaded: Loaded) -> list[Finding]:
    """Tell how the programs stand that answer for members; each is asked for its version."""
    from shipmate.workspace.crew import Crew

    members = [each for each in Crew(layout, loaded).list() if each.is_program]
    if not members:
        return []
    from shipmate.crew.program.installed import check_program

    found = await asyncio.gather(*(asyncio.to_thread(check_program, each) for each in members))
    return [finding for each in found for finding in each]


def _check_context(layout: Layout, loaded: Loaded) -> list[Finding]:
    """Look at every file that may enter a prompt, for each member."""
    from shipmate.context.builder import ContextBuilder
    from shipmate.workspace.crew import Crew

    crew = Crew(layout, loaded)
    builders = [ContextBuilder(member, environ=loaded.environ) for member in crew.list()]
    skills = builders[0].skills.find().skills if builders else ()
    usable = sum(skill.is_available for skill in skills)
    told = [*crew.findings(), *Roster(crew).findings()]
    found = {(each.subject, each.message): each for each in told}
    for builder in builders:
        for each in builder.findings():
            # What all share is said once; what is a member's own names the member, or a path of its folder.
            if (each.subject, each.message) not in found:
                found[each.subject, each.message] = _name_member(each, builder.member)
    counted = Finding("ok", "skills", f"{usable} of {len(skills)} can be used")
    return [counted, *found.values()]


def _name_member(finding: Finding, member: Member) -> Finding:
    folder = member.layout.name_of(member.own.root)
    return finding if f"{folder}/" in f"{finding.subject} {finding.message}" else finding.about(member.id)


async def _check_threads(layout: Layout) -> list[Finding]:
    """Read every thread; also brings the index up to date, which proves that it can be used."""
    async with open_records(layout) as records:
        compared = await records.store.reconcile()
        broken: list[Finding] = []
        ids = await records.threads.ids()
        for thread_id in ids:
            thread = await records.threads.read(thread_id)
            place = layout.name_of(layout.thread(thread_id))
            broken += [_describe(place, problem) for problem in thread.problems]
        listed = Finding("ok", "threads", f"{len(ids)} can be read" if ids else "none yet")
        behind = compared.changed + compared.dropped
        said = f"{behind} threads differed from their files and were read again" if behind else "as the files"
        return [listed, Finding("ok", "index", said), *broken]


def _describe(place: str, problem: RowProblem) -> Finding:
    if not problem.line:
        return Finding(
            "warn", place, problem.message, "put it back from a copy, or move the thread to the bin"
        )
    fix = "the rest of the thread is used; mend or delete this line"
    return Finding("warn", f"{place}:{problem.line}", f"cannot be read: {problem.message}", fix)


def _check_keeper(layout: Layout) -> list[Finding]:
    from shipmate.orchestrator.keeper.unix_socket import UnixSocket

    pid = UnixSocket(layout).holder()
    words = "no process keeps this workspace" if pid is None else f"process {pid} keeps this workspace"
    return [Finding("ok", "keeper", words)]


def _check_damaged(layout: Layout) -> list[Finding]:
    """Return what could not be read and was set aside."""
    kept = sorted(layout.damaged.iterdir()) if layout.damaged.is_dir() else []
    fixes = {
        False: "look at it, and delete it when nothing in it is missed",
        True: "delete it; a new index was made from the files",
    }
    what = "could not be read and was set aside"
    return [
        Finding("warn", layout.name_of(path), what, fixes[path.name.startswith("state-")]) for path in kept
    ]


def _check_audit(layout: Layout) -> list[Finding]:
    """Check that the audit log is as it was written."""
    from shipmate.residence import open_shelf

    with open_shelf(layout) as shelf:
        found = shelf.audit.verify()
    folder = layout.audit.relative_to(layout.root)
    broken = [
        Finding(
            "error",
            f"audit {folder}/{each.file}{f':{each.line}' if each.line else ''}",
            each.message,
            "find out who changed it; `shipmate audit` shows what is left",
        )
        for each in found.breaks
    ]
    if found.torn:
        said = "the last line is unfinished, as a crash leaves it"
        broken.append(Finding("warn", "audit", said, "nothing to do; the next entry cuts it off and says so"))
    counted = "1 entry" if found.entries == 1 else f"{found.entries:,} entries"
    said = f"{counted}, none cut or changed" if found.entries else "nothing recorded yet"
    return broken or [Finding("ok", "audit", said)]


def _cover(finding: Finding, mask: Mask) -> Finding:
    said = finding.message
    message = said.change(mask) if isinstance(said, Saying) else mask(said)
    return msgspec.structs.replace(
        finding, subject=mask(finding.subject), message=message, fix=mask(finding.fix)
    )


def _sum_up(findings: list[Finding]) -> str:
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warn" for finding in findings)
    if errors:
        return f"{errors} must be mended, {warnings} to look at."
    return f"All works; {warnings} to look at." if warnings else "All is well."
