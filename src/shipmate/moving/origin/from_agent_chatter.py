"""Take what agent_chatter keeps: the members of a team, and its sessions."""

from __future__ import annotations

from typing import Any

from shipmate.moving.move_plan import MovePlan
from shipmate.moving.move_wording import refuse
from shipmate.moving.talk_writer import TalkWriter, read_moment
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import dig, object_at, text_at

FOLDERS = ("", ".agent-chatter/team-config", "team-config")
# Which of the programs that answer as members a kind of agent is.
KINDS = {"claude": "claude-code", "codex": "openai-codex", "gemini": "google-gemini"}


def read_agent_chatter(plan: MovePlan) -> None:
    """Take from a folder with a team's configuration, from `~/.agent-chatter`, or from one file of either."""
    teams = [
        (path, found)
        for folder in FOLDERS
        for name in plan.source.names(folder, ".json")
        if (path := f"{folder}/{name}" if folder else name)
        and object_at(found := plan.source.settings(path), "team")
    ]
    places = ("sessions", ".agent-chatter/sessions")
    sessions = [path for place in places for path in plan.source.walk(place, ".json")]
    if not teams and not sessions:
        raise refuse(
            "no-such-folder", program="agent_chatter", path=plan.source.root, wanted="team-config, sessions/"
        )
    names: dict[str, str] = {}
    for path, found in teams:
        _take_team(plan, path, object_at(found, "team"), names)
        if isinstance(found.get("agents"), list):
            plan.leave(f"{path}: agents", "programs-of-others")
    for path in sessions:
        _take_session(plan, path, names)


def _take_team(plan: MovePlan, path: str, team: JsonObject, names: dict[str, str]) -> None:
    roles = {
        text_at(each, "name"): text_at(each, "description") for each in team.get("roleDefinitions") or ()
    }
    for member in team.get("members") or ():
        name = text_at(member, "name")
        if text_at(member, "type") != "ai" or not name:
            continue
        said = member.get("systemInstruction")
        words = "\n".join(map(str, said)) if isinstance(said, list) else text_at(member, "systemInstruction")
        written = text_at(member, "instructionFile").removeprefix("./")
        if written and plan.source.has(written):
            words = f"{words}\n\n{plan.agent_text(written, plan.source.text(written)).decode()}"
        elif written:
            plan.leave(f"{path}: {written}", "file-gone")
        settings: JsonObject = {"name": text_at(member, "displayName") or name}
        settings |= {"description": roles[role]} if roles.get(role := text_at(member, "role")) else {}
        if text_at(member, "agentType") in KINDS:
            plan.leave(
                f"{path}: {name}: {text_at(member, 'agentType')}",
                "kind-native",
                kind=KINDS[text_at(member, "agentType")],
            )
        if variables := plan.private(f"{path}: {name}", member.get("env")):
            settings["env"] = variables
        names[name] = plan.add_member(name, settings, {"Agent.md": words.strip().encode() + b"\n"})


def _take_session(plan: MovePlan, path: str, names: dict[str, str]) -> None:
    """Take a session; its file is one object, so one that is cut off tells nothing for certain."""
    found = plan.source.document(path)
    messages: Any = dig(found, "context", "messages")
    if found is None or not isinstance(messages, list):
        plan.leave(path, "document-cut")
        return

    def write(talk: TalkWriter) -> None:
        for message in messages:
            speaker = text_at(message, "speaker", "name")
            kind = text_at(message, "speaker", "type")
            if kind == "human":
                talk.person(
                    text_at(message, "content"),
                    message.get("timestamp"),
                    text_at(message, "id"),
                    speaker=speaker,
                )
            elif kind == "ai":
                talk.answer(
                    text_at(message, "content"),
                    message.get("timestamp"),
                    text_at(message, "id"),
                    member=names.get(speaker, speaker),
                )

    summary = text_at(found, "metadata", "summary")
    plan.talk(
        text_at(found, "sessionId") or path,
        "",
        write,
        title=summary.partition('"')[2].rpartition('"')[0],
        began=read_moment(found.get("createdAt")),
    )
