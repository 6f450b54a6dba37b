"""Draw what a model reads: rows with what they cost, the steps of a turn, what differs between two."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from shipmate.approvals.question import moment
from shipmate.cli.terminal import tongue
from shipmate.cli.terminal.card import clean, shorten
from shipmate.context.difference import Difference
from shipmate.context.kept.account import Account, AccountRow, KeptTurn
from shipmate.context.kept.kept_file import KeptStep
from shipmate.store.port import StepUsage
from shipmate.values.message import JsonObject
from shipmate.values.saying import Saying

FOLDER = Path(__file__).with_name("words")
BAR = 16
NAME_WIDTH = 22
# How many of the last messages have a line of their own.
SHOWN_MESSAGES = 20
WORDS_WIDTH = 60
BREAKS = ("model", "tools", "course")
COLOURS = {"stable": "green", "slow": "yellow", "volatile": "red"}


def say(key: str, **values: object) -> Saying:
    """Return words for people about what models read, in English as they stand."""
    return Saying(FOLDER, key, {name: str(value) for name, value in values.items()})


class Drawing:
    """Draws in the language of who reads: in colour for a person, plain for a pipe."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def words(self, key: str, **values: object) -> str:
        """Return words in the reader's language."""
        return tongue.say(say(key, **values))

    def draw(self, account: Account, model: str = "", window: int | None = None) -> None:
        """Draw the rows of a request, and what they add up to."""
        total = max(1, account.tokens)
        head = (self.words("head"), self.words("tokens"), self.words("share"), "", self.words("changes"))
        click.echo(self._line(*head, self.words("why")))
        for row in account.of("section"):
            cut = f"{self.words('cut')} " if row.is_cut else ""
            self._draw_row(row.name, row, total, f"{cut}{tongue.say(row.source)}: {tongue.say(row.reason)}")
        tools = account.of("tool")
        self._draw_sum(self.words("tools", count=len(tools)), tools, total)
        for row in tools:
            self._draw_row(f"  {row.name}", row, total, "")
        history = account.of("message")
        self._draw_sum(self.words("history", count=len(history)), history, total)
        if len(history) > SHOWN_MESSAGES:
            click.echo("  " + self.words("earlier", count=len(history) - SHOWN_MESSAGES))
        for row in history[-SHOWN_MESSAGES:]:
            words = shorten(row.text, WORDS_WIDTH) if row.is_known else self.words("gone")
            self._draw_row(f"  {row.name} {row.title}", row, total, words)
        click.echo(self._line(self.words("total"), f"{account.tokens:,}", "100%", "", "", ""))
        for line in self._totals(account, model, window):
            click.echo(clean(line))

    def _draw_sum(self, name: str, rows: Sequence[AccountRow], total: int) -> None:
        tokens = sum(row.tokens for row in rows)
        click.echo(self._line(name, f"{tokens:,}", f"{tokens / total:.0%}", _bar(tokens / total), "", ""))

    def _draw_row(self, name: str, row: AccountRow, total: int, why: str) -> None:
        share = row.tokens / total
        bar = _bar(share) if row.kind == "section" else ""
        line = self._line(name, f"{row.tokens:,}", f"{share:.0%}", bar, tongue.say(row.stability), clean(why))
        click.echo(click.style(line, fg=COLOURS.get(row.stability)) if self._is_terminal else line)

    def _line(self, name: str, tokens: str, share: str, bar: str, changes: str, why: str) -> str:
        figures = f"{_pad(tokens, -7)} {_pad(share, -5)}  {_pad(bar, BAR)} {_pad(changes, 8)}"
        return f"{_pad(name, NAME_WIDTH)} {figures} {why}".rstrip()

    def _totals(self, account: Account, model: str, window: int | None) -> Iterator[str]:
        tokens = account.tokens
        yield ""
        size = len(account.system.encode("utf-8", "replace"))
        yield self.words("profile", profile=account.profile, prompt=f"{size:,}", tokens=f"{tokens:,}")
        if window:
            share = f"{tokens / window:.1%}"
            yield self.words("window", share=share, window=f"{window:,}", model=model)
        stable = account.stable_tokens
        yield self.words("stable", tokens=f"{stable:,}", share=f"{stable / max(1, tokens):.1%}")
        if account.left_out:
            yield self.words("left-out")
        for row in account.left_out:
            yield f"  {row.name:<15} {tongue.say(row.reason)}"

    def name_turn(self, turn: KeptTurn) -> str:
        """Return what a turn is called: by the words it answered, and which attempt at that it was."""
        words = clean(shorten(turn.first.words, WORDS_WIDTH)) or self.words("no-words")
        if turn.attempts == 1:
            return self.words("turn", turn=turn.number, words=words)
        values = {"attempt": turn.attempt, "attempts": turn.attempts}
        return self.words("attempt", turn=turn.number, words=words, **values)

    def draw_turn(
        self, turn: KeptTurn, steps: Sequence[KeptStep], shown: int, used: Sequence[StepUsage]
    ) -> None:
        """Draw what a turn is, and what each of its steps cost as its provider counted."""
        click.echo(self.name_turn(turn))
        step = steps[shown - 1]
        values = {"at": moment(step.at), "model": clean(step.model), "steps": len(steps)}
        click.echo(self.words("step", step=shown, **values))
        click.echo(self.tell_break(turn.broken_by))
        click.echo(" ".join(_pad(word, -8) for word in self.words("costs").split("|")))
        for place, each in enumerate(steps, 1):
            usage = next((one for one in used if one.step == each.step), None)
            figures = [f"{'* ' if place == shown else ''}{each.step}", *_figures(usage)]
            click.echo(" ".join(_pad(figure, -8) for figure in figures))
        click.echo("")

    def tell_break(self, broken_by: str | None) -> str:
        """Return in words whether a request began with the one before it, and else what had changed."""
        if broken_by is None:
            return self.words("unknown")
        if not broken_by:
            return self.words("grew")
        kind, _, name = broken_by.partition(" ")
        what = self.words(f"what-{kind}") if kind in BREAKS else self.words(f"{kind}-kind", name=name)
        return self.words("broken", what=what)

    def draw_difference(self, found: Difference, before: KeptTurn, after: KeptTurn) -> None:
        """Draw what changed between two turns, and where the cached prefix broke."""
        click.echo(self.words("between", before=self.name_turn(before), after=self.name_turn(after)))
        if after.number == before.number + 1:
            click.echo(self.tell_break(after.broken_by))
        total = f"{found.total_tokens:,}"
        if not found.changes:
            click.echo(self.words("same", tokens=total))
            return
        kind, _, name = found.breaks_in.partition(" ")
        same, share = f"{found.same_tokens:,}", f"{found.same_tokens / max(1, found.total_tokens):.1%}"
        what = self.words(f"{kind}-kind", name=name)
        click.echo(self.words("breaks", what=what, same=same, tokens=total, share=share))
        if found.breaks_at is not None:
            click.echo(self.words("byte", byte=f"{found.breaks_at:,}"))
        for change in found.changes:
            named = self.words(f"{change.kind}-kind", name=change.name)
            figures = f"{change.tokens_before:,} → {change.tokens_after:,}"
            click.echo(f"{_pad(self.words(change.change), 8)} {named}  {figures} {self.words('tokens')}")
            for line in change.diff.splitlines():
                click.echo(self._paint(f"    {clean(line)}", line[:1]))
        if found.untold:
            click.echo(self.words("untold", count=found.untold))

    def text(self, text: str) -> str:
        """Return a text as it was sent; on a screen without what would steer it."""
        return clean(text) if self._is_terminal else text

    def _paint(self, line: str, sign: str) -> str:
        colour = {"+": "green", "-": "red"}.get(sign)
        return click.style(line, fg=colour) if self._is_terminal and colour else line


def describe(account: Account, model: str = "", window: int | None = None, *, with_text: bool) -> JsonObject:
    """Return an account as JSON."""
    rows = [_describe_row(row, with_text) for row in (*account.rows, *account.left_out)]
    return {
        "profile": account.profile,
        "model": model,
        "window": window,
        "systemBytes": len(account.system.encode("utf-8", "replace")),
        "bytes": account.bytes,
        "tokens": account.tokens,
        "stableTokens": account.stable_tokens,
        "sections": [row for row in rows if row["kind"] == "section"],
        "tools": [row for row in rows if row["kind"] == "tool"],
        "history": [row for row in rows if row["kind"] == "message"],
    }


def _describe_row(row: AccountRow, with_text: bool) -> JsonObject:
    found: JsonObject = {**msgspec.to_builtins(row), "included": bool(row.text)}
    if not with_text:
        found.pop("text")
    return found


def _figures(usage: StepUsage | None) -> list[str]:
    """Return what a step cost; a dash for what nobody told."""
    if usage is None:
        return ["–"] * 5
    tokens = (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens)
    counted = [f"{each:,}" for each in tokens] if usage.input_tokens else ["–"] * 3
    cost = "–" if usage.cost is None else f"${usage.cost:.4f}"
    return [*counted, cost, f"{usage.milliseconds / 1000:.1f} s"]


def _bar(share: float) -> str:
    return "#" * max(1, round(share * BAR)) if share else ""


def _pad(text: str, width: int) -> str:
    """Fill a text up to a width on the screen, from the left when it is negative."""
    wide = sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)
    blanks = " " * max(0, abs(width) - wide)
    return f"{blanks}{text}" if width < 0 else f"{text}{blanks}"
