"""Take what nanobot keeps: sessions, memory, skills, models, channels, MCP servers, cron."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from shipmate.moving.move_plan import MovePlan
from shipmate.moving.move_wording import refuse
from shipmate.moving.origin.agent_folder import place_agent, take_agent
from shipmate.moving.origin.chat_row import thread_of_chat, write_openai
from shipmate.moving.setting_entry import take_channel, take_job, take_model, take_servers
from shipmate.moving.talk_writer import TalkWriter, read_moment
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import dig, object_at, text_at

CONFIG = "config.json"
INNER = "workspace"


def read_nanobot(plan: MovePlan) -> None:
    """Take from nanobot's home folder, or from its workspace alone."""
    source = plan.source
    is_home = source.has(CONFIG) or source.folders(INNER) or INNER in source.folders()
    folder = INNER if is_home and INNER in source.folders() else ""
    if not is_home and not any(source.has(name) for name in ("SOUL.md", "AGENTS.md", "memory/MEMORY.md")):
        raise refuse("no-such-folder", program="nanobot", path=source.root, wanted=f"{CONFIG}, {INNER}/")
    if source.is_broken(CONFIG):
        plan.leave(CONFIG, "settings-broken")
    settings = source.settings(CONFIG)
    place_agent(plan, take_agent(plan, folder), text_at(settings, "agents", "defaults", "botName"))
    _take_settings(plan, settings)
    for name in dict.fromkeys((f"{folder}/cron/jobs.json" if folder else "cron/jobs.json", "cron/jobs.json")):
        _take_jobs(plan, name)
    for root in dict.fromkeys(("sessions", f"{folder}/sessions" if folder else "sessions")):
        # A folder a workspace since 0.3, all sessions side by side before.
        for path in source.walk(root, ".jsonl"):
            _take_session(plan, path)
    if source.has(f"{folder}/memory/history.jsonl" if folder else "memory/history.jsonl"):
        plan.leave("memory/history.jsonl", "history-file")


def _take_settings(plan: MovePlan, settings: JsonObject) -> None:
    defaults = object_at(settings, "agents", "defaults")
    preset = object_at(settings, "modelPresets", text_at(defaults, "modelPreset") or "-")
    model = text_at(preset, "model") or text_at(defaults, "model")
    provider = text_at(preset, "provider") or text_at(defaults, "provider")
    providers = object_at(settings, "providers")
    named = model.partition("/")[0] if provider in ("", "auto") and "/" in model else provider
    entry = object_at(providers, named)
    if model and (entry or named):
        take_model(plan, CONFIG, named, model, text_at(entry, "apiKey"), text_at(entry, "apiBase"))
    for name, other in providers.items():
        if name != named and text_at(other, "apiKey"):
            plan.leave(f"{CONFIG}: providers.{name}", "key-unused")
            plan.mask.cover([text_at(other, "apiKey")])
    for name, channel in object_at(settings, "channels").items():
        if isinstance(channel, dict) and (channel.get("enabled") is True or text_at(channel, "token")):
            take_channel(plan, f"{CONFIG}: channels.{name}", name, channel)
    servers = dig(settings, "tools", "mcpServers") or dig(settings, "mcpServers")
    take_servers(plan, CONFIG, servers)
    disabled = dig(defaults, "disabledSkills")
    if isinstance(disabled, list) and disabled:
        plan.setting("skills", "disabled", value=[name for name in disabled if isinstance(name, str)])


def _take_jobs(plan: MovePlan, name: str) -> None:
    if plan.source.is_broken(name):
        plan.leave(name, "settings-broken")
    jobs: Any = plan.source.settings(name).get("jobs")
    listed = list(jobs) if isinstance(jobs, list) else []
    # What was added while its gateway did not run waits beside the list.
    waiting = plan.rows(f"{name.removesuffix('jobs.json')}action.jsonl")
    listed += [object_at(row, "params") for row in waiting if row.get("action") == "add"]
    for job in listed:
        if text_at(job, "payload", "kind") == "system_event":
            plan.leave(f"{name}: {text_at(job, 'name')}", "job-own")
            continue
        payload = object_at(job, "payload")
        channel = _first(payload, "originChannel", "origin_channel", "channel")
        chat = _first(payload, "originChatId", "origin_chat_id", "to")
        target = thread_of_chat(channel, chat)
        take_job(
            plan,
            name,
            job,
            member="" if plan.member == "captain" else plan.member,
            deliver=(target,) if target else (),
        )


def _first(payload: JsonObject, *keys: str) -> str:
    return next((text_at(payload, key) for key in keys if text_at(payload, key)), "")


def _take_session(plan: MovePlan, path: str) -> None:
    first, read = plan.source.head(path), plan.later(path)
    head = first if first.get("_type") == "metadata" else {}
    key = text_at(head, "key") or _read_name(path)
    channel, _, chat = key.partition(":")

    def write(talk: TalkWriter) -> None:
        write_openai(talk, [row for row in read() if "_type" not in row and not row.get("_command")])

    plan.talk(
        key,
        thread_of_chat(channel, chat),
        write,
        title=text_at(head, "metadata", "title"),
        began=read_moment(head.get("created_at")),
    )


def _read_name(path: str) -> str:
    """Return the key of a session by the name of its file: in base64, or with `_` for the colon."""
    name = path.rpartition("/")[2].removesuffix(".jsonl")
    try:
        return base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
    except (binascii.Error, ValueError):
        return name.replace("_", ":", 1)
