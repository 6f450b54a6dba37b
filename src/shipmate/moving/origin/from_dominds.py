"""Take what dominds keeps: the team, dialogs with their courses, memory, priming scripts, MCP servers."""

from __future__ import annotations

import contextlib
from typing import Any

from shipmate.moving.move_plan import MovePlan
from shipmate.moving.move_wording import refuse
from shipmate.moving.origin.chat_row import read_arguments
from shipmate.moving.setting_entry import take_model, take_servers
from shipmate.moving.talk_writer import TalkWriter, read_moment, read_text
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import object_at, text_at
from shipmate.workspace.yaml.yaml import YamlError, read_yaml

MINDS, DIALOGS = ".minds", ".dialogs"
MIND_FILES = {
    "persona": "Agent.md",
    "knowhow": "memory/topics/knowhow.md",
    "pitfalls": "memory/topics/pitfalls.md",
}
OLD_NAMES = {"knowledge": "knowhow", "lessons": "pitfalls"}


def read_dominds(plan: MovePlan) -> None:
    """Take from a workspace of dominds: the folder with `.minds/` and `.dialogs/`."""
    if not {MINDS, DIALOGS} & set(plan.source.folders()):
        raise refuse(
            "no-such-folder", program="dominds", path=plan.source.root, wanted=f"{MINDS}/, {DIALOGS}/"
        )
    team = _read_yaml(plan, f"{MINDS}/team.yaml")
    members = _take_team(plan, team)
    _take_settings(plan, team)
    for path in plan.source.walk(f"{MINDS}/memory/team_shared", ".md"):
        plan.words(f"memory/topics/{path.removeprefix(f'{MINDS}/memory/')}", path)
    # The format and the places are the same here.
    for path in plan.source.walk(f"{MINDS}/priming", ".md"):
        plan.words(path, path)
    for status in ("run", "done", "archive"):
        for path in plan.source.walk(f"{DIALOGS}/{status}"):
            if path.endswith("/dialog.yaml"):
                _take_dialog(plan, path.removesuffix("/dialog.yaml"), members)


def _read_yaml(plan: MovePlan, name: str) -> JsonObject:
    if not plan.source.has(name):
        return {}
    found: Any = None
    with contextlib.suppress(YamlError):
        found, _ = read_yaml(plan.source.text(name))
    if not isinstance(found, dict):
        plan.leave(name, "settings-broken")
        return {}
    return found


def _take_team(plan: MovePlan, team: JsonObject) -> dict[str, str]:
    """Take the members: those of the list, and those that have words of their own."""
    listed: Any = team.get("members")
    stated = dict(listed) if isinstance(listed, dict) else {}
    if isinstance(listed, list):
        stated = {text_at(each, "id"): each for each in listed if text_at(each, "id")}
    names = dict.fromkeys((*stated, *plan.source.folders(f"{MINDS}/team")))
    found: dict[str, str] = {}
    for name in map(str, names):
        settings = {
            key: value
            for key, value in (
                ("name", text_at(stated.get(name), "name")),
                ("description", text_at(stated.get(name), "role")),
            )
            if value
        }
        files: dict[str, bytes] = {}
        for path in plan.source.walk(f"{MINDS}/team/{name}", ".md"):
            # `persona.md`, or `persona.zh.md`; the first of several languages counts.
            kind = path.rpartition("/")[2].partition(".")[0]
            place = MIND_FILES.get(OLD_NAMES.get(kind, kind))
            if place and place not in files:
                files[place] = plan.agent_text(path, plan.source.text(path))
            else:
                plan.leave(path, "file-unlike")
        for path in plan.source.walk(f"{MINDS}/memory/individual/{name}", ".md"):
            files[f"memory/topics/{path.rpartition('/')[2]}"] = plan.source.text(path).encode()
        if toolsets := object_at(stated, name).get("toolsets"):
            plan.leave(f"{MINDS}/team.yaml: {name}.toolsets {str(toolsets)[:60]}", "setting-unlike")
        found[name] = plan.add_member(name, settings, files)
    return found


def _take_settings(plan: MovePlan, team: JsonObject) -> None:
    defaults = object_at(team, "member_defaults")
    provider = text_at(defaults, "provider") or text_at(team, "default_provider")
    model = text_at(defaults, "model")
    entry = object_at(_read_yaml(plan, f"{MINDS}/llm.yaml"), "providers", provider)
    if model and provider:
        kind = text_at(entry, "apiType").partition("-")[0] or provider
        take_model(plan, f"{MINDS}/team.yaml", kind, model, "", text_at(entry, "baseUrl"))
    take_servers(plan, f"{MINDS}/mcp.yaml", _read_yaml(plan, f"{MINDS}/mcp.yaml").get("servers"))


def _take_dialog(plan: MovePlan, folder: str, members: dict[str, str]) -> None:
    about = _read_yaml(plan, f"{folder}/dialog.yaml")
    courses = [name for name in plan.source.names(folder, ".jsonl") if name.startswith("course-")]
    rows = [row for name in courses for row in plan.rows(f"{folder}/{name}")]

    def write(talk: TalkWriter) -> None:
        for row in rows:
            _write(talk, row)

    plan.talk(
        text_at(about, "id") or folder.partition("/")[2],
        "",
        write,
        title=text_at(about, "taskDocPath").removesuffix("/").removesuffix(".tsk"),
        member=members.get(text_at(about, "agentId"), ""),
        began=read_moment(about.get("createdAt")),
    )


def _write(talk: TalkWriter, row: JsonObject) -> None:
    at, text = row.get("ts"), text_at(row, "content")
    match row.get("type"):
        case "human_text_record":
            talk.person(text, at, text_at(row, "msgId"))
        case "agent_words_record":
            talk.answer(text, at)
        case "func_call_record" | "tellask_call_record":
            talk.call(
                text_at(row, "id"), text_at(row, "name"), read_arguments(text_at(row, "rawArgumentsText")), at
            )
        case "func_result_record":
            talk.result(text_at(row, "id"), text or read_text(row.get("contentItems")))
        case "tellask_result_record":
            talk.result(text_at(row, "callId"), text, is_error=row.get("status") == "failed")
        case "tellask_carryover_record" | "teammate_response_record":
            talk.person(text_at(row, "response") or text, at)
        case _:
            pass
