"""Choose the model that answers, see it tested, and list what providers offer."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.tongue import echo, say
from shipmate.errors import ModelError, ShipmateError, UserError
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import Loaded, load_config

if TYPE_CHECKING:
    from shipmate.models.selection.listing import OfferedModel
    from shipmate.models.selection.probe import Measured
    from shipmate.models.selection.selection import KeptSelection, Plan, SelectedModel

KEY_OPTION = (
    "no key is taken as an argument: others on this machine could read it there, and shells remember it."
)
WHERE = {
    "ship.json": "llm.contextWindow in ship.json",
    "server": "the server tells",
    "family": "usual for models of this name",
    "default": "assumed; nobody tells",
}


@click.group(invoke_without_command=True, epilog="Without a command it asks what is needed, step by step.")
@click.pass_context
def command(context: click.Context) -> int | None:
    """Choose the model that answers: pick a provider, paste a key, see it tested."""
    if context.invoked_subcommand is not None:
        return None
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise UserError(
            "without a terminal say what is wanted: shipmate model set PROVIDER:MODEL, "
            "shipmate model list, shipmate model test, shipmate model show."
        )
    from shipmate.cli.terminal.choosing import choose

    layout = find_layout(context)
    selection = choose(load_config(layout))
    return _settle(layout, selection, CAPTAIN, force=False, asks=True)


@command.command("set")
@click.argument("name", metavar="PROVIDER:MODEL")
@click.argument("key", nargs=-1, metavar="")
@click.option("--key-stdin", is_flag=True, help="Read the key from standard input.")
@click.option("--base-url", default=None, metavar="URL", help="Another address that speaks its protocol.")
@click.option("--member", default=CAPTAIN, metavar="ID", help="For this member alone; else for the captain.")
@click.option("--force", is_flag=True, help="Keep it even if it did not answer.")
@click.pass_context
def set_model(
    context: click.Context,
    name: str,
    key: tuple[str, ...],
    key_stdin: bool,
    base_url: str | None,
    member: str,
    force: bool,
) -> int:
    """Test a model with one real request, then keep it: the key in .env, the rest in ship.json."""
    from shipmate.models.selection.selection import read_selection

    if key:
        raise UserError(f"{KEY_OPTION} Use --key-stdin: shipmate model set PROVIDER:MODEL --key-stdin < FILE")
    layout = find_layout(context)
    given = sys.stdin.readline() if key_stdin else None
    if key_stdin and not (given or "").strip():
        raise UserError("no key came in on standard input.")
    return _settle(layout, read_selection(name, base_url, given), member, force=force, asks=False)


@command.command("unset")
@click.option("--member", default=CAPTAIN, metavar="ID", help="Of this member; else of the captain.")
@click.pass_context
def unset_model(context: click.Context, member: str) -> None:
    """Take the choice out of the settings; keys stay in .env."""
    from shipmate.models.selection.selection import forget_selection

    layout = find_layout(context)
    kept = forget_selection(layout, _find_member(layout, member))
    if kept.before is None:
        echo(f"{kept.file} names no model; nothing was changed.")
        return
    echo(f"Taken out of {kept.file}: {_shown(kept.before, load_config(layout))}")
    echo("A key in .env stays there. `shipmate model show` says what answers now.")


@command.command("list")
@click.argument("provider", required=False, default=None)
@click.option("--base-url", default=None, metavar="URL", help="Another address that speaks its protocol.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def list_command(context: click.Context, provider: str | None, base_url: str | None, as_json: bool) -> None:
    """List the providers, or the models that one offers."""
    from shipmate.cli.terminal.choosing import describe_providers

    loaded = load_config(find_layout(context))
    if provider is None:
        found = asyncio.run(describe_providers(loaded.environ))
        if as_json:
            click.echo(_json([{"provider": each.name, "note": each.note} for each in found]))
            return
        for each in found:
            click.echo(f"{each.name:<20} {each.note}".rstrip())
        return
    offers = asyncio.run(_list_models(loaded, provider, base_url))
    if as_json:
        click.echo(_json(offers))
        return
    for offer in offers:
        window = f"{offer.window:>10,} tokens" if offer.window else ""
        click.echo(f"{provider}:{offer.name:<44} {window}".rstrip())


@command.command("test")
@click.argument("name", metavar="[PROVIDER:MODEL]", required=False, default=None)
@click.option("--member", default=CAPTAIN, metavar="ID", help="The model of this member.")
@click.pass_context
def test_model(context: click.Context, name: str | None, member: str) -> int:
    """Ask a model one short question; nothing is written."""
    layout = find_layout(context)
    loaded = load_config(layout)
    found = Crew(layout, loaded).choose(member)
    try:
        measured = asyncio.run(_check(found.config.llm, loaded, name))
    except ShipmateError as error:
        click.echo(f"✗ {loaded.mask(str(error))}", err=True)
        return 1
    click.echo(f"✓ {describe_measured(measured)}")
    return 0


@command.command("show")
@click.option("--member", default=CAPTAIN, metavar="ID", help="The model of this member.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def show_model(context: click.Context, member: str, as_json: bool) -> None:
    """Show which model answers, by what it was chosen, and how much it reads at once."""
    from shipmate.models.choice import ModelChoice
    from shipmate.models.choose import name_model
    from shipmate.models.selection.readiness import findings
    from shipmate.models.selection.window import Windows

    layout = find_layout(context)
    loaded = load_config(layout)
    chosen = Crew(layout, loaded).choose(member)
    model, lacks = name_model(chosen.config.llm, loaded.environ)

    async def find_window() -> Any:
        choice = ModelChoice(chosen.config.llm, loaded.environ, windows=Windows(layout.windows))
        try:
            return await choice.window(patient=True)
        finally:
            await choice.close()

    window = None if lacks else asyncio.run(find_window())
    notes = [each for each in findings(chosen.config.llm, loaded.environ) if each.level != "ok"]
    if as_json:
        click.echo(
            _json(
                {
                    "model": model,
                    "lacks": lacks or None,
                    "window": window and window.tokens,
                    "windowFrom": window and window.source,
                }
            )
        )
        return
    stated = bool(chosen.config.llm.provider or chosen.config.llm.model or chosen.config.llm.base_url)
    click.echo(f"{model} ({'named in the settings' if stated else 'found on this machine'})")
    if window is not None:
        echo(f"reads {window.tokens:,} tokens at once ({WHERE[window.source]})")
    for note in notes:
        click.echo(loaded.mask(f"! {note.message}{f'; {note.fix}' if note.fix else ''}"))
    echo("It was not asked anything; `shipmate model test` asks it.")


def describe_measured(measured: Measured) -> str:
    """Say what one request showed."""
    usage = measured.usage
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return (
        f"{measured.model} answered in {measured.total_ms / 1000:.2f} s "
        f"(first word after {measured.first_ms / 1000:.2f} s; {tokens})"
    )


def _settle(layout: Layout, selection: SelectedModel, member: str, *, force: bool, asks: bool) -> int:
    """Test a selection and keep it; one that failed is kept only when that is wanted."""
    from shipmate.models.selection.selection import keep_plan, plan_selection, try_plan

    who = _find_member(layout, member)
    loaded = load_config(layout)
    plan = plan_selection(selection, loaded)
    try:
        measured = asyncio.run(try_plan(plan))
    except ShipmateError as error:
        click.echo(f"✗ {_hide(plan, loaded, str(error))}", err=True)
        if not force and not (asks and click.confirm(say("Keep it all the same?"), default=False)):
            echo("Nothing was written.", err=True)
            return 1
    else:
        click.echo(f"✓ {describe_measured(measured)}")
    for line in _tell_kept(layout, keep_plan(layout, plan, who), loaded):
        click.echo(line)
    return 0


def _tell_kept(layout: Layout, kept: KeptSelection, loaded: Loaded) -> Iterable[str]:
    if kept.variable:
        yield f"Wrote {kept.variable} to .env (mode 0600)."
        if _is_tracked(layout):
            yield "! .env is not in .gitignore: add it, so that the key is never committed."
    key = "llm" if kept.file == "ship.json" else "model"
    yield f"Wrote {key} to {kept.file}: {_shown(kept.stated, loaded)}"
    before = "there was none" if kept.before is None else _shown(kept.before, loaded)
    yield f"Before: {before}. `shipmate model unset` takes it out again."


def _is_tracked(layout: Layout) -> bool:
    """Return whether a key in .env would be committed: a repository that does not leave it out."""
    if not (layout.root / ".git").exists():
        return False
    try:
        lines = (layout.root / ".gitignore").read_text("utf-8", "replace").split()
    except OSError:
        return True
    return not any(line in (".env", "/.env", ".env*", "*.env", ".*") for line in lines)


def _shown(stated: object, loaded: Loaded) -> str:
    """Return settings as they stand in the file; a key that is written out is not shown."""
    from shipmate.workspace.secret.setting import hide_secrets

    if isinstance(stated, dict):
        named = {key: value for key, value in stated.items() if not _names_variable(key, value)}
        hidden = hide_secrets({"llm": named}, loaded.mask)
        assert isinstance(hidden, dict)
        stated = {key: stated[key] if key not in named else hidden["llm"][key] for key in stated}
    return msgspec.json.encode(stated).decode()


def _names_variable(key: str, value: object) -> bool:
    from shipmate.workspace.secret.setting import VARIABLE

    return key == "apiKey" and isinstance(value, str) and VARIABLE.fullmatch(value) is not None


def _hide(plan: Plan, loaded: Loaded, words: str) -> str:
    from shipmate.workspace.secret.secret import Mask, secret_values

    return Mask([plan.key, *secret_values(os.environ)])(loaded.mask(words))


def _find_member(layout: Layout, name: str) -> str:
    return Crew(layout, load_config(layout)).choose(name).id


async def _list_models(loaded: Loaded, provider: str, base_url: str | None) -> list[OfferedModel]:
    from shipmate.models.selection.listing import OfferedModels
    from shipmate.models.selection.origin import fill_key
    from shipmate.models.selection.selection import read_selection
    from shipmate.workspace.config import Llm

    asked = Llm(provider=read_selection(provider).provider, base_url=base_url)
    try:
        return await OfferedModels().list(fill_key(asked, loaded.config.llm, loaded.environ), loaded.environ)
    except ModelError as error:
        raise UserError(loaded.mask(str(error))) from None


async def _check(llm: Any, loaded: Loaded, name: str | None) -> Measured:
    from shipmate.models.choice import ModelChoice
    from shipmate.models.selection.probe import ask_once

    choice = ModelChoice(llm, loaded.environ)
    try:
        if name is not None:
            return await choice.check(choice.complete(name))
        return await ask_once(choice.default)
    finally:
        await choice.close()


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
