"""Take what OpenClaw keeps: sessions, memory, skills, agents, models, channels, MCP servers, cron."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from shipmate.moving.move_plan import MovePlan
from shipmate.moving.move_wording import refuse, say
from shipmate.moving.origin.agent_folder import place_agent, take_agent
from shipmate.moving.origin.chat_row import thread_of_chat
from shipmate.moving.setting_entry import take_channel, take_job, take_model, take_servers
from shipmate.moving.talk_writer import TalkWriter, read_moment, read_text
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import dig, object_at, text_at
from shipmate.workspace.layout import CAPTAIN

CONFIGS = ("openclaw.json", "clawdbot.json", "moltbot.json")
MAIN = "main"
SIZE_LIMIT = 4 * 1024**3
SESSIONS = Path(__file__).with_name("openclaw_session.sql")
EVENTS = Path(__file__).with_name("openclaw_event.sql")


def read_openclaw(plan: MovePlan) -> None:
    """Take from OpenClaw's home folder, or from a workspace of it alone."""
    source = plan.source
    config = next((name for name in CONFIGS if source.has(name)), "")
    if not config and not source.has("AGENTS.md") and "agents" not in source.folders():
        raise refuse(
            "no-such-folder", program="OpenClaw", path=source.root, wanted=f"{CONFIGS[0]}, workspace/"
        )
    if config and source.is_broken(config):
        plan.leave(config, "settings-broken")
    settings = source.settings(config) if config else {}
    folder = "workspace" if "workspace" in source.folders() else ""
    place_agent(plan, take_agent(plan, folder), "")
    members = {MAIN: plan.member, **_take_agents(plan, settings)}
    if config:
        _take_settings(plan, config, settings)
    for job in source.settings("cron/jobs.json").get("jobs") or ():
        _take_job(plan, job, members)
    for agent in source.folders("agents"):
        _take_sessions(plan, agent, members.get(agent, plan.member))


def _take_agents(plan: MovePlan, settings: JsonObject) -> dict[str, str]:
    """Take the further agents whose workspaces lie in the folder; others are left with their place."""
    entries: Any = dig(settings, "agents", "list") or object_at(settings, "agents", "entries")
    found: dict[str, str] = {}
    listed = (
        entries.items() if isinstance(entries, dict) else [(text_at(each, "id"), each) for each in entries]
    )
    for name, entry in listed:
        place = Path(text_at(entry, "workspace") or f"workspace-{name}").name
        if name == MAIN or not name:
            continue
        if place == "workspace" or place not in plan.source.folders():
            plan.leave(f"agents.{name}", "file-gone")
            continue
        stated = {"name": text_at(entry, "identity", "name") or text_at(entry, "name") or name}
        found[name] = plan.add_member(name, stated, take_agent(plan, place))
    return found


def _take_settings(plan: MovePlan, config: str, settings: JsonObject) -> None:
    model = dig(settings, "agents", "defaults", "model")
    named = model.strip() if isinstance(model, str) else text_at(model, "primary")
    provider = named.partition("/")[0]
    entry = object_at(settings, "models", "providers", provider)
    key = text_at(entry, "apiKey") or text_at(settings, "env", f"{provider.upper()}_API_KEY")
    if named:
        take_model(plan, config, provider, named, key, text_at(entry, "baseUrl"))
    plan.mask.cover([text_at(settings, "gateway", "auth", "token")])
    for kind, channel in object_at(settings, "channels").items():
        accounts = object_at(channel, "accounts")
        for name, given in accounts.items() if accounts else ((kind, channel),):
            if isinstance(given, dict):
                merged = {**channel, **given} if accounts else given
                take_channel(plan, f"{config}: channels.{kind}", kind, merged)
                if accounts and name != next(iter(accounts)):
                    plan.leave(f"{config}: channels.{kind}.{name}", "setting-differs")
    take_servers(plan, config, dig(settings, "mcp", "servers"))
    for key_name in ("hooks", "plugins", "tools", "bindings"):
        if settings.get(key_name):
            plan.leave(f"{config}: {key_name}", "setting-unlike")


def _take_job(plan: MovePlan, job: Any, members: dict[str, str]) -> None:
    agent = members.get(text_at(job, "agentId"), plan.member)
    target = thread_of_chat(text_at(job, "delivery", "channel"), text_at(job, "delivery", "to"))
    take_job(
        plan,
        "cron/jobs.json",
        job if isinstance(job, dict) else {},
        member="" if agent == CAPTAIN else agent,
        deliver=(target,) if target else (),
    )


def _take_sessions(plan: MovePlan, agent: str, member: str) -> None:
    """Take sessions from the database of newer versions, and from the files of older ones."""
    base = f"agents/{agent}"
    if plan.source.has(f"{base}/agent/openclaw-agent.sqlite"):
        _take_database(plan, f"{base}/agent/openclaw-agent.sqlite", agent, member)
    index = plan.source.settings(f"{base}/sessions/sessions.json")
    keys = {text_at(entry, "sessionId"): str(key) for key, entry in index.items()}
    for name in plan.source.names(f"{base}/sessions", ".jsonl"):
        session = name.removesuffix(".jsonl")
        path = f"{base}/sessions/{name}"
        began = plan.source.head(path).get("timestamp")
        _take_talk(plan, f"{agent}/{session}", keys.get(session, ""), plan.later(path), member, began)


def _take_database(plan: MovePlan, name: str, agent: str, member: str) -> None:
    """Read a copy: opening a database that others write changes what lies beside it."""
    origin = plan.source.root / name
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, origin.name)
        for ending in ("", "-wal"):
            piece = origin.with_name(origin.name + ending)
            if piece.is_file() and not piece.is_symlink() and piece.stat().st_size < SIZE_LIMIT:
                shutil.copyfile(piece, copy.with_name(copy.name + ending))
        try:
            with closing(sqlite3.connect(copy)) as database:
                database.set_authorizer(_allow)
                sessions = database.execute(SESSIONS.read_text("utf-8")).fetchall()
                for session, key in sessions:
                    rows, packed = _read_events(database, str(session))
                    if packed:
                        plan.leave(f"{name}: {session}", "rows-packed", count=packed)
                    began = rows[0].get("timestamp") if rows else None
                    _take_talk(plan, f"{agent}/{session}", str(key), partial(list, rows), member, began)
        except (sqlite3.Error, OSError):
            plan.leave(name, "database")


def _allow(action: int, *_: str | None) -> int:
    """Keep a view that stands in for a table from counting for ever."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_RECURSIVE else sqlite3.SQLITE_OK


def _read_events(database: sqlite3.Connection, session: str) -> tuple[list[JsonObject], int]:
    """Return the events of a session, and how many are compressed so that this Python cannot read them."""
    rows: list[JsonObject] = []
    packed = 0
    for (text,) in database.execute(EVENTS.read_text("utf-8"), (session,)):
        try:
            found: Any = msgspec.json.decode(text) if isinstance(text, str) else None
        except (ValueError, msgspec.MsgspecError, RecursionError):
            found = None
        if isinstance(found, dict):
            rows.append(found)
        else:
            packed += 1
    return rows, packed


def _take_talk(
    plan: MovePlan, name: str, key: str, read: Callable[[], list[JsonObject]], member: str, began: Any
) -> None:
    # `agent:main:telegram:direct:4242`, with `:topic:7` behind it.
    pieces = key.split(":")
    wanted = thread_of_chat(pieces[2], pieces[4]) if len(pieces) >= 5 else ""
    if wanted and len(pieces) >= 7 and pieces[5] in ("topic", "thread"):
        wanted = f"{wanted}:topic:{pieces[6]}"

    def write(talk: TalkWriter) -> None:
        for row in read():
            _write(talk, row)

    plan.talk(name, wanted, write, member=member, began=read_moment(began))


def _write(talk: TalkWriter, row: JsonObject) -> None:
    at, native = row.get("timestamp"), text_at(row, "id")
    if row.get("type") == "compaction":
        talk.person(f"{say('summary')}\n\n{text_at(row, 'summary')}", at, native)
    if row.get("type") != "message":
        return
    message = object_at(row, "message")
    content: Any = message.get("content")
    match message.get("role"):
        case "user":
            talk.person(read_text(content), at, native)
        case "toolResult":
            talk.result(text_at(message, "toolCallId"), content, is_error=message.get("isError") is True)
        case "assistant":
            for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
                if text_at(block, "type") == "toolCall":
                    talk.call(
                        text_at(block, "id"), text_at(block, "name"), block.get("arguments"), at, native
                    )
                else:
                    talk.answer(read_text([block]), at, native)
        case _:
            pass
