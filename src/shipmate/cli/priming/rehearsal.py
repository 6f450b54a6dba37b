"""Rehearse the scripts that a command names, and write what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from shipmate.cli.priming.option import check_member, print_json
from shipmate.cli.priming.rehearsal_table import show_script
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.tongue import echo
from shipmate.errors import NotFoundError, StorageError
from shipmate.priming.export import write_file
from shipmate.priming.library import Library
from shipmate.priming.ref import ScriptRef
from shipmate.priming.rehearsal.report.junit import write_junit
from shipmate.priming.rehearsal.report.kept import keep_report
from shipmate.priming.rehearsal.report.markdown_report import NAMES, write_markdown
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.priming.rehearsal.report.suite import RehearsalSuite, RehearsedScript, sum_script, sum_suite
from shipmate.priming.rehearsal.update import update_script, write_diff
from shipmate.priming.script.parse import parse_script, read_text
from shipmate.priming.script.record import Script, ScriptError
from shipmate.rehearsal.rehearsal_setting import Setting, ToolMode
from shipmate.rehearsal.service import Held, choose_member, hold, judge_script
from shipmate.workspace.layout import Layout


class RehearseOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of the command say."""

    member: str | None
    model: str | None
    tools: ToolMode
    forced: bool
    ignore: tuple[str, ...]
    judge: str | None
    max_ms: float | None
    max_cost: float | None
    repeat: int
    pass_rate: float
    update: bool
    junit: Path | None
    markdown: Path | None
    as_json: bool


async def run_rehearsals(layout: Layout, names: Sequence[str], options: RehearseOptions) -> int:
    """Rehearse all scripts that are named; return the exit code."""
    scripts: list[RehearsedScript] = []
    if options.member is not None:
        check_member(layout, options.member)
    for found in find_scripts(layout, names):
        scripts.append(await _rehearse_script(layout, found, options))
        if not options.as_json:
            show_script(scripts[-1])
    suite = sum_suite(scripts)
    _write(options.junit, write_junit(suite))
    _write(options.markdown, write_markdown(suite))
    if options.as_json:
        print_json(suite)
    elif len(scripts) > 1:
        click.echo(_count(suite))
    return suite.exit_code


def find_scripts(layout: Layout, names: Sequence[str]) -> list[ScriptRef | Report]:
    """Return the scripts that refs, files and folders name, each once; a file no ref can name is broken."""
    found: dict[str, ScriptRef | Report] = {}
    for name in names:
        for each in _find(layout, name):
            found.setdefault(each.ref if isinstance(each, Report) else str(each), each)
    return list(found.values())


def _find(layout: Layout, name: str) -> Iterator[ScriptRef | Report]:
    place = _inside(layout, name)
    folder = layout.priming / place
    kind, _, rest = place.partition("/")
    is_script = "/" in rest if kind == "individual" else kind == "team_shared" and bool(rest)
    if not folder.is_dir() or (is_script and not name.endswith("/") and _is_file(folder)):
        if not is_script:
            raise NotFoundError(_tell_missing(layout, place))
        ref = ScriptRef.parse(place)
        read_text(ref.path(layout), str(ref))
        yield ref
        return
    found = [(ref, path) for ref, path in Library(layout).every() if path.is_relative_to(folder)]
    if not found:
        raise NotFoundError(f"there is no script in {name}. `shipmate priming list` shows those there are.")
    for ref, path in found:
        named = path.relative_to(layout.priming).as_posix()
        yield ref or Report(
            ref=named, verdict="broken", reason=f"{named} has a name that is no ref. Rename it."
        )


def _is_file(folder: Path) -> bool:
    return folder.with_name(f"{folder.name}.md").is_file()


def _tell_missing(layout: Layout, place: str) -> str:
    """Say what a name could mean that is neither a ref nor a folder with scripts."""
    kind, _, member = place.partition("/")
    if kind in ("individual", "team_shared"):
        if member:
            check_member(layout, member)
        name = "MEMBER/NAME" if place == "individual" else "NAME"
        return f"there is no script in {place} yet. Make one with `shipmate priming new {place}/{name}`."
    refs = [str(ref) for ref, _ in Library(layout).every() if ref is not None]
    near = [ref for ref in refs if f"/{ref}/".endswith(f"/{place.removesuffix('.md')}/")]
    hint = f"Did you mean {' or '.join(near)}?" if near else "`shipmate priming list` shows those there are."
    return f"{place!r} is no ref and no folder of scripts. {hint}"


def _inside(layout: Layout, name: str) -> str:
    """Return a ref or folder of the library as a path inside it; files may be named by their path too."""
    library = layout.priming.resolve()
    for base in (Path.cwd(), layout.root):
        path = (base / name).resolve()
        if path.exists() and path.is_relative_to(library):
            return path.relative_to(library).as_posix()
    return name.strip("/")


async def _rehearse_script(
    layout: Layout, ref: ScriptRef | Report, options: RehearseOptions
) -> RehearsedScript:
    if isinstance(ref, Report):
        return sum_script(ref.ref, [ref])
    member = choose_member(layout, ref, options.member)
    try:
        check_member(layout, member)
    except NotFoundError as error:
        # Other scripts are rehearsed all the same.
        reason = f"{ref} is for {member}, but {error}"
        return sum_script(str(ref), [Report(ref=str(ref), member=member, verdict="broken", reason=reason)])
    reports: list[Report] = []
    for _ in range(options.repeat):
        reports.append(await _rehearse_once(layout, ref, member, options))
        if reports[-1].verdict in ("broken", "unusable"):
            # It would be no better the next time.
            break
    return sum_script(str(ref), reports, options.pass_rate)


async def _rehearse_once(layout: Layout, ref: ScriptRef, member: str, options: RehearseOptions) -> Report:
    setting = Setting(
        member=member,
        model=options.model,
        tools=options.tools,
        forced=options.forced,
        ignore=options.ignore,
        judge=options.judge,
        max_ms=options.max_ms,
        max_cost_usd=options.max_cost,
    )
    held = await hold(layout, str(ref), setting)
    report = held.report
    if options.update and report.verdict == "differs":
        report = _update(layout, ref, held, setting, is_shown=not options.as_json)
    if held.is_kept:
        keep_report(layout, report)
    return report


def _update(layout: Layout, ref: ScriptRef, held: Held, setting: Setting, *, is_shown: bool) -> Report:
    """Write the new answers into a script and return what a rehearsal would say of it now."""
    path = ref.path(layout)
    name = path.relative_to(layout.root).as_posix()
    before = read_text(path, name)
    if _read_script(before, name) != held.script:
        # The answers are to what stood there before; what somebody wrote meanwhile is theirs.
        echo(f"{name} was changed during the rehearsal, and was left alone. Rehearse it again.", err=True)
        return held.report
    after = update_script(before, held.performed, held.judge, ignore=setting.ignore)
    if after != before:
        write_file(path, after.encode(), ref, overwrite=True)
        if is_shown:
            click.echo(clean(write_diff(name, before, after)), nl=False)
    new = judge_script(parse_script(after, name), held.performed, held.judge, setting)
    return msgspec.structs.replace(held.report, verdict=new.verdict, reason=new.reason, turns=new.turns)


def _read_script(text: str, name: str) -> Script | None:
    """Return the script a text is; None when it is none."""
    try:
        return parse_script(text, name)
    except ScriptError:
        return None


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error


def _count(suite: RehearsalSuite) -> str:
    counts = {verdict: sum(each.verdict == verdict for each in suite.scripts) for verdict in NAMES}
    told = [f"{count} {NAMES[verdict]}" for verdict in NAMES if (count := counts[verdict])]
    return f"{len(suite.scripts)} scripts: {', '.join(told)}."
