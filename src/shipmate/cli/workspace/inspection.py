"""Draw the table of sections and the difference between two prompts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import click

from shipmate.context.difference import Difference, SectionChange
from shipmate.context.request import Context, Section
from shipmate.context.snapshot import Snapshot
from shipmate.values.message import JsonObject

BAR = 16
BREAKS = {
    "tools": "the tools on offer",
    "model": "the model",
    "course": "the course",
    "files": "how many old files are only named",
}
COLOURS = {"stable": "green", "slow": "yellow", "volatile": "red"}


def describe(built: Context, *, with_text: bool) -> JsonObject:
    """Return a prompt's account as JSON."""
    return {
        "profile": built.profile,
        "systemBytes": len(built.system.encode()),
        "stableBytes": built.stable_bytes,
        "toolsBytes": built.tools_bytes,
        "tokens": built.tokens,
        "sections": [_describe_section(section, with_text) for section in built.sections],
    }


def _describe_section(section: Section, with_text: bool) -> JsonObject:
    found: JsonObject = {
        "name": section.name,
        "title": section.title,
        "source": section.source,
        "stability": section.stability,
        "start": section.start,
        "bytes": section.bytes,
        "tokens": section.tokens,
        "included": section.included,
        "isCut": section.is_cut,
        "reason": section.reason,
        "problem": section.problem,
    }
    return {**found, "text": section.text} if with_text else found


def draw(built: Context, *, is_terminal: bool) -> None:
    """Draw the table: in colour for a person, plain for a pipe."""
    if is_terminal:
        _draw_richly(built)
    else:
        for line in _draw_plainly(built):
            click.echo(line)


def _rows(built: Context) -> Iterator[tuple[Section, float]]:
    total = max(1, len(built.system.encode()))
    for section in built.sections:
        if section.included:
            yield section, section.bytes / total


def _draw_plainly(built: Context) -> Iterator[str]:
    yield f"{'section':<15} {'bytes':>7} {'tokens':>6} {'share':>5}  {'':<{BAR}} {'changes':<8} source: why"
    for section, share in _rows(built):
        why = f"{'CUT ' if section.is_cut else ''}{section.source}: {section.reason}"
        yield (
            f"{section.name:<15} {section.bytes:>7,} {section.tokens:>6,} {share:>5.0%}  "
            f"{'#' * round(share * BAR):<{BAR}} {section.stability:<8} {why}"
        )
    yield from _totals(built)


def _totals(built: Context) -> Iterator[str]:
    size = len(built.system.encode())
    yield ""
    yield (
        f"profile {built.profile}: prompt {size:,} bytes, tools {built.tools_bytes:,} bytes, "
        f"about {built.tokens:,} tokens together"
    )
    stable = built.stable_bytes / max(1, size)
    yield f"the first {built.stable_bytes:,} bytes ({stable:.1%}) stay the same from turn to turn"
    left_out = [section for section in built.sections if not section.included]
    if left_out:
        yield "left out:"
    for section in left_out:
        yield f"  {section.name:<15} {section.reason}"


def _draw_richly(built: Context) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("section", "bytes", "tokens", "share", "", "changes", "source"):
        table.add_column(name, justify="right" if name in ("bytes", "tokens", "share") else "left")
    table.add_column("why", overflow="fold")
    for section, share in _rows(built):
        colour = COLOURS[section.stability]
        mark = "[bold red]cut[/] " if section.is_cut else ""
        table.add_row(
            section.name,
            f"{section.bytes:,}",
            f"{section.tokens:,}",
            f"{share:.0%}",
            f"[{colour}]{'█' * max(1, round(share * BAR))}[/]",
            f"[{colour}]{section.stability}[/]",
            escape(section.source),
            mark + escape(section.reason),
        )
    console = Console(highlight=False)
    console.print(table)
    for line in _totals(built):
        console.print(escape(line), style="dim")


def draw_difference(found: Difference, before: Snapshot, after: Snapshot, turns: tuple[int, int]) -> None:
    """Say what changed between two turns, and where the cached prefix broke."""
    click.echo(f"turn {turns[0]} ({before.at}) → turn {turns[1]} ({after.at})")
    if turns[1] == turns[0] + 1:
        click.echo(tell_break(after.broken_by))
    if found.breaks_at is None:
        click.echo(f"the prompt is the same, {after.bytes:,} bytes")
        return
    about = "" if found.is_exact else "at or after "
    kept = found.breaks_at / max(1, after.bytes)
    click.echo(
        f"the first byte that differs is {about}{found.breaks_at:,} of {after.bytes:,}, "
        f"in section {found.breaks_in}: {kept:.1%} of the prompt could come from the cache"
    )
    for change in found.changes:
        click.echo(
            f"{change.kind:<8} {change.name:<15} {change.bytes_before:,} → {change.bytes_after:,} bytes"
        )
        for line in _lines(change):
            click.echo(f"    {line}")
    if not any(_has_text(change) for change in found.changes):
        click.echo("What the sections said is kept only under DEBUG=1.")


def tell_break(broken_by: str | None) -> str:
    """Say whether a request began with the whole of the one before it, and else what had changed."""
    if broken_by is None:
        return "whether the request began with the one before it is not known: the process was started since"
    if not broken_by:
        return "the request began with the whole of the one before it"
    return f"the request did not begin with the one before it: {BREAKS.get(broken_by, broken_by)} changed"


def _has_text(change: SectionChange) -> bool:
    return change.text_before is not None or change.text_after is not None


def _lines(change: SectionChange) -> list[str]:
    if not _has_text(change):
        return []
    before, after = (change.text_before or "").splitlines(), (change.text_after or "").splitlines()
    return list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=1))
