"""Take what ShipMyAgent keeps: chats, memory, tasks, settings, rights."""

from __future__ import annotations

from urllib.parse import unquote

from shipmate.errors import UserError
from shipmate.moving.move_plan import MovePlan
from shipmate.moving.move_wording import refuse
from shipmate.moving.origin.agent_folder import place_agent, take_agent
from shipmate.moving.origin.chat_row import thread_of_chat
from shipmate.moving.setting_entry import take_channel, take_model, take_servers
from shipmate.moving.talk_writer import TalkWriter, digest
from shipmate.schedule.task import make_slug, read_task, switch
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import object_at, text_at
from shipmate.workspace.foreign.program.ship_my_agent import AGENT, SHIP, take_over
from shipmate.workspace.frontmatter import read_frontmatter
from shipmate.workspace.load import parse_env, resolve_variables


def read_ship_my_agent(plan: MovePlan) -> None:
    """Take from a project of ShipMyAgent."""
    source = plan.source
    if not source.has(AGENT) or not (source.has(SHIP) or ".ship" in source.folders()):
        raise refuse("no-such-folder", program="ShipMyAgent", path=source.root, wanted=f"{AGENT}, {SHIP}")
    if source.is_broken(SHIP):
        plan.leave(SHIP, "settings-broken")
    # Its settings name variables of the .env beside them; those of this process are none of its business.
    raw = resolve_variables(source.settings(SHIP), parse_env(source.text(".env")), [])
    files = take_agent(plan, "")
    files[AGENT] = plan.agent_text(AGENT, source.text(AGENT))
    place_agent(plan, files, text_at(raw, "name"), text_at(raw, "description"))
    _take_settings(plan, raw)
    for name in (
        *source.names(".ship/tasks", ".md"),
        *(f"{each}/task.md" for each in source.folders(".ship/tasks")),
    ):
        _take_task(plan, f".ship/tasks/{name}")
    _take_chats(plan)
    _take_memory(plan)


def _take_settings(plan: MovePlan, raw: JsonObject) -> None:
    llm = object_at(raw, "llm")
    if text_at(llm, "model"):
        take_model(
            plan,
            SHIP,
            text_at(llm, "provider"),
            text_at(llm, "model"),
            text_at(llm, "apiKey"),
            text_at(llm, "baseUrl"),
        )
    ours, unused = take_over(raw)
    plan.left += unused
    plan.rules(SHIP, [], [], [str(rule) for rule in object_at(ours, "permissions").get("deny", ())])
    for kind, given in object_at(raw, "integrations").items():
        if isinstance(given, dict):
            take_channel(plan, f"{SHIP}: {kind}", kind, given)
    take_servers(plan, ".ship/mcp/mcp.json", plan.source.settings(".ship/mcp/mcp.json").get("servers"))


def _take_task(plan: MovePlan, path: str) -> None:
    """Take a task that can be read here, paused unless that was asked for."""
    if not plan.source.has(path):
        return
    text = plan.source.text(path)
    name = path.removesuffix("/task.md").removesuffix(".md").rpartition("/")[2]
    task_id = f"shipmyagent-{make_slug(name)[:28]}-{digest(path)[:6]}"
    try:
        read_task(task_id, text)
        plan.tasks[task_id] = text if "tasks" in plan.on else switch(text, on=False)
    except UserError as error:
        plan.leave(path, "job-refused", why=str(error))


def _take_chats(plan: MovePlan) -> None:
    """Take each chat with the older pieces of it that lie beside it."""
    pieces: dict[str, list[str]] = {}
    for name in plan.source.names(".ship/chats", ".jsonl"):
        stem, _, number = name.removesuffix(".jsonl").partition(".archive-")
        # The archives come first, in the order of their numbers; the chat itself ends with what is newest.
        pieces.setdefault(stem, []).append(f"{number.zfill(9) if number else '~'}|{name}")
    for stem, names in pieces.items():
        rows = [row for each in sorted(names) for row in plan.rows(f".ship/chats/{each.partition('|')[2]}")]
        key = unquote(stem)
        channel, _, rest = key.partition(":chat:")
        chat, topic, number = rest.partition(":topic:")
        wanted = thread_of_chat(channel, chat)

        def write(talk: TalkWriter, rows: list[JsonObject] = rows) -> None:
            for row in rows:
                said = talk.person if row.get("role") == "user" else talk.answer
                if row.get("role") in ("user", "assistant"):
                    said(text_at(row, "text"), row.get("ts"), text_at(row, "messageId") and _name(row))

        plan.talk(key, f"{wanted}{topic}{number}" if wanted else "", write)
    for path in plan.source.walk(".ship/session", "messages.jsonl"):
        _take_session(plan, path)


def _name(row: JsonObject) -> str:
    return f"{row.get('role')}|{text_at(row, 'messageId')}|{row.get('ts')}"


def _take_session(plan: MovePlan, path: str) -> None:
    """Take a session of the later form: rows that are UIMessages."""
    rows = plan.rows(path)

    def write(talk: TalkWriter) -> None:
        for row in rows:
            parts = row.get("parts")
            text = "\n\n".join(
                text_at(part, "text")
                for part in (parts if isinstance(parts, list) else ())
                if text_at(part, "text")
            )
            said = talk.person if row.get("role") == "user" else talk.answer
            if row.get("role") in ("user", "assistant"):
                said(text, object_at(row, "metadata").get("ts"), text_at(row, "id"))

    plan.talk(path.split("/")[-3], "", write)


def _take_memory(plan: MovePlan) -> None:
    """Take what was remembered of each chat, as a topic of memory; machine paths and the like with it."""
    for name in plan.source.names(".ship/memory", ".json"):
        entries = plan.source.settings(f".ship/memory/{name}").get("entries")
        lines = [
            f"- {' '.join(plan.mask(text_at(entry, 'content')).split())}"
            for entry in (entries if isinstance(entries, list) else ())
            if text_at(entry, "content")
        ]
        if lines:
            key = unquote(name.removesuffix(".json"))
            text = f"# {key}\n\n" + "\n".join(lines) + "\n"
            plan.files[f"memory/topics/shipmyagent-{digest(key)[:8]}.md"] = text.encode()
    for name in ("project.md",):
        if plan.source.has(f".ship/memory/{name}"):
            front = read_frontmatter(plan.source.text(f".ship/memory/{name}"))
            plan.files["memory/topics/shipmyagent-project.md"] = front.body.encode()
