"""Take what ZyHive keeps: agents, sessions, memory, relations, projects, models, channels, cron."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from shipmate.moving.move_plan import MovePlan
from shipmate.moving.move_wording import refuse, say
from shipmate.moving.origin.agent_folder import take_agent
from shipmate.moving.origin.chat_row import thread_of_chat, write_anthropic
from shipmate.moving.setting_entry import take_channel, take_job, take_model
from shipmate.moving.talk_writer import TalkWriter, read_moment
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import dig, object_at, text_at

PANEL = "aipanel.json"
CONFIG = "config.json"


def read_zyhive(plan: MovePlan) -> None:
    """Take from the data folder, or from the folder of one agent."""
    source = plan.source
    found = {
        name: f"agents/{name}" for name in source.folders("agents") if source.has(f"agents/{name}/{CONFIG}")
    }
    if not found and "workspace" in source.folders() and (own := text_at(source.settings(CONFIG), "id")):
        found = {own: ""}
    if not found:
        raise refuse("no-such-folder", program="ZyHive", path=source.root, wanted="agents/<id>/config.json")
    panel = source.settings(PANEL)
    for name in (PANEL, "cron/jobs.json"):
        if source.is_broken(name):
            plan.leave(name, "settings-broken")
    names = [text_at(source.settings(_join(folder, CONFIG)), "name") for folder in found.values()]
    known = (*found, *filter(None, names))
    members = {name: _take_agent(plan, name, folder, known) for name, folder in found.items()}
    _take_panel(plan, panel)
    _take_projects(plan, set(members))
    jobs: Any = source.settings("cron/jobs.json")
    listed = jobs.get("jobs") if isinstance(jobs.get("jobs"), list) else _read_list(plan, "cron/jobs.json")
    for job in listed or ():
        if isinstance(job, dict):
            take_job(plan, "cron/jobs.json", job, member=members.get(text_at(job, "agentId"), ""))


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _read_list(plan: MovePlan, name: str) -> list[Any]:
    """Return a file that is a list of objects, as ZyHive writes its jobs."""
    try:
        found = msgspec.json.decode(plan.source.read(name) or b"[]")
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return []
    return found if isinstance(found, list) else list(found.values())


def _take_agent(plan: MovePlan, name: str, folder: str, known: tuple[str, ...]) -> str:
    place, inner = _join(folder, CONFIG), _join(folder, "workspace")
    settings = plan.source.settings(place)
    if plan.source.is_broken(place):
        plan.leave(place, "settings-broken")
    stated = {key: text_at(settings, key) for key in ("name", "description") if text_at(settings, key)}
    if variables := plan.private(place, settings.get("env")):
        stated |= {"env": variables}
    if isinstance(settings.get("toolPolicy"), dict):
        plan.leave(f"{place}: toolPolicy", "rights-unlike")
    if settings.get("heartbeat"):
        plan.leave(f"{place}: heartbeat", "heartbeat")
    member = plan.add_member(name, stated, take_agent(plan, inner, (name, text_at(settings, "name")), known))
    channels: Any = settings.get("channels")
    for channel in channels if isinstance(channels, list) else ():
        kind = text_at(channel, "type")
        take_channel(plan, f"{place}: {kind}", kind, object_at(channel, "config"), member)
    _take_sessions(plan, _join(folder, "sessions"), member)
    return member


def _take_sessions(plan: MovePlan, folder: str, member: str) -> None:
    index = object_at(plan.source.settings(f"{folder}/sessions.json"), "sessions")
    for name in plan.source.names(folder, ".jsonl"):
        read = plan.later(f"{folder}/{name}")
        session = name.removesuffix(".jsonl")
        known = object_at(index, session)

        def write(talk: TalkWriter, read: Callable[[], list[JsonObject]] = read) -> None:
            _write(talk, read())

        plan.talk(
            f"{member}/{session}",
            _find_thread(session),
            write,
            title=text_at(known, "title"),
            member=member,
            began=read_moment(known.get("createdAt")),
        )


def _find_thread(session: str) -> str:
    """Return the thread of a session that a platform's chat is named in: `telegram-4242`."""
    channel, _, chat = session.replace("tg-", "telegram-", 1).partition("-")
    return thread_of_chat(channel, chat) if channel == "telegram" else ""


def _write(talk: TalkWriter, rows: list[JsonObject]) -> None:
    for row in rows:
        at = row.get("timestamp") or row.get("ts")
        if row.get("type") == "compaction":
            talk.person(f"{say('summary')}\n\n{text_at(row, 'summary')}", at)
            continue
        message = object_at(row, "message") or row
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            continue
        write_anthropic(talk, role, content, at, text_at(row, "id"))
        shown = message.get("toolCalls")
        has_calls = isinstance(content, list) and any(
            text_at(block, "type") == "tool_use" for block in content
        )
        for call in shown if isinstance(shown, list) and not has_calls else ():
            talk.call(text_at(call, "id"), text_at(call, "name"), text_at(call, "input"), at)
            if text_at(call, "result"):
                talk.result(text_at(call, "id"), text_at(call, "result"))


def _take_panel(plan: MovePlan, panel: JsonObject) -> None:
    models = [each for each in dig(panel, "models") or () if isinstance(each, dict)]
    providers = {
        text_at(each, "id"): each for each in dig(panel, "providers") or () if isinstance(each, dict)
    }
    chosen = next((each for each in models if each.get("isDefault") is True), models[0] if models else None)
    for each in models:
        owner = providers.get(text_at(each, "providerId"), {})
        key = text_at(owner, "apiKey") or text_at(each, "apiKey")
        if each is chosen:
            address = text_at(each, "baseUrl") or text_at(owner, "baseUrl")
            take_model(plan, PANEL, text_at(each, "provider"), text_at(each, "model"), key, address)
        else:
            plan.mask.cover([key])
            plan.leave(f"{PANEL}: {text_at(each, 'model')}", "model-further")
    for channel in dig(panel, "channels") or ():
        kind = text_at(channel, "type")
        take_channel(plan, f"{PANEL}: {kind}", kind, object_at(channel, "config"))
    for key in ("toolPolicy", "budget", "acpAgents"):
        if panel.get(key):
            plan.leave(f"{PANEL}: {key}", "rights-unlike" if key == "toolPolicy" else "setting-unlike")


def _take_projects(plan: MovePlan, members: set[str]) -> None:
    """Take the shared projects with who may write in them."""
    for name in plan.source.folders("projects"):
        editors = dig(plan.source.settings(f"projects/{name}/meta.json"), "editors")
        strangers = [each for each in editors if each not in members] if isinstance(editors, list) else []
        if strangers:
            plan.leave(f"projects/{name}: editors {', '.join(map(str, strangers))[:80]}", "editor-unknown")
        for path in plan.source.walk(f"projects/{name}"):
            plan.file(path, path)
