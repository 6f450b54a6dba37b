"""Make a script to write over, and edit scripts."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from shipmate.cli.place import find_layout
from shipmate.cli.priming.option import JSON, REF, check_member, print_json
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.tongue import echo, say
from shipmate.errors import UserError
from shipmate.priming.export import Saved, ScriptExistsError, write_file
from shipmate.priming.lint.lint import lint_script
from shipmate.priming.lint.lint_mark import Mark
from shipmate.priming.ref import ScriptRef
from shipmate.priming.sample import write_sample
from shipmate.priming.script.parse import parse_script, read_text
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config


@click.command()
@REF
@click.option("--title", default="", help="A title; the slug's last part by default.")
@click.option("--edit", "is_edited", is_flag=True, help="Open it in your editor at once.")
@JSON
@click.pass_context
def new(context: click.Context, ref: str, title: str, is_edited: bool, as_json: bool) -> int:
    """Make a script of one exchange, to be written over."""
    layout = find_layout(context)
    name = ScriptRef.parse(ref)
    if name.member is not None:
        check_member(layout, name.member)
    text = write_sample(name, title, load_config(layout).config.language)
    path = name.path(layout)
    try:
        write_file(path, text.encode(), name, overwrite=False)
    except ScriptExistsError as error:
        raise ScriptExistsError(
            f"{name} exists already. Write in it with `shipmate priming edit {name}`, or choose another slug."
        ) from error
    shown = path.relative_to(layout.root).as_posix()
    if as_json:
        print_json(Saved(path=shown, script_ref=str(name), records=len(parse_script(text).records)))
    else:
        echo(f"Made {shown}. Write in it with `shipmate priming edit {name}`.")
    return edit_script(layout, name) if is_edited else 0


@click.command()
@REF
@click.pass_context
def edit(context: click.Context, ref: str) -> int:
    """Edit a script in your editor ($VISUAL or $EDITOR) and check it afterwards.

    What someone else changed meanwhile is not overwritten. Exit code 1 when there is a mistake.
    """
    return edit_script(find_layout(context), ScriptRef.parse(ref))


def edit_script(layout: Layout, ref: ScriptRef) -> int:
    """Let a person edit a copy, and put it in place when nobody wrote the script meanwhile."""
    path = ref.path(layout)
    name = path.relative_to(layout.root).as_posix()
    before = read_text(path, name)
    with tempfile.TemporaryDirectory(prefix="shipmate-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(before.encode())
        _edit_until_done(copy, name)
        after = copy.read_bytes()
    if after == before.encode():
        echo("Nothing changed.")
        return 0
    if read_text(path, name) != before:
        kept = path.with_name(f"{path.stem}.mine.md")
        mine = ScriptRef(ref.member, f"{ref.slug}.mine")
        write_file(kept, after, mine, overwrite=True)
        raise UserError(
            f"{name} was changed by someone else meanwhile. Your text is {mine}; "
            f"see `shipmate priming diff {ref} {mine}`."
        )
    write_file(path, after, ref, overwrite=True)
    is_broken = any(mark.level == "error" for mark in _lint(after, name))
    echo(f"Saved {name}, with mistakes in it." if is_broken else f"Saved {name}.")
    return 1 if is_broken else 0


def _lint(data: bytes, name: str) -> list[Mark]:
    return lint_script(data.decode("utf-8", "replace"), name)


def _edit_until_done(copy: Path, name: str) -> None:
    """Open the editor, and again while there are mistakes and the person wants to."""
    while True:
        click.edit(filename=str(copy))
        marks = _lint(copy.read_bytes(), name)
        for mark in marks:
            click.echo(clean(f"{name}:{mark.line}: {mark.reason}. {mark.mend}"), err=True)
        if not marks or not sys.stdin.isatty() or not click.confirm(say("Edit again?"), default=True):
            return
