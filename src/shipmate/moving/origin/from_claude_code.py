"""Take what Claude Code keeps: sessions, words, agents, skills, rights, MCP servers."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shipmate.moving.move_plan import MovePlan
from shipmate.moving.move_wording import refuse
from shipmate.moving.origin.chat_row import write_anthropic
from shipmate.moving.setting_entry import take_servers
from shipmate.moving.source_folder import SourceFolder
from shipmate.moving.talk_writer import TalkWriter
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import object_at, text_at
from shipmate.workspace.foreign.program.claude_agent import take_settings
from shipmate.workspace.foreign.program.coding_agent import convert_rules
from shipmate.workspace.frontmatter import read_frontmatter

WORDS = ("CLAUDE.md", ".claude/CLAUDE.md")
SETTINGS = (".claude/settings.json", ".claude/settings.local.json")


def read_claude_code(plan: MovePlan) -> None:
    """Take from a project and its sessions, or from sessions alone: `~/.claude`, or a folder of them."""
    source = plan.source
    if "projects" in source.folders() and not source.has("CLAUDE.md"):
        for name in source.folders("projects"):
            _take_sessions(plan, source, f"projects/{name}")
        _take_home(plan)
        return
    if source.names("", ".jsonl"):
        _take_sessions(plan, source, "")
        return
    is_project = (
        any(source.has(name) for name in (*WORDS, *SETTINGS, ".mcp.json")) or ".claude" in source.folders()
    )
    if not is_project:
        raise refuse(
            "no-such-folder", program="Claude Code", path=source.root, wanted="~/.claude, CLAUDE.md, .claude/"
        )
    _take_project(plan)
    home = SourceFolder(Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude"))
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(source.root))
    _take_sessions(plan, home, f"projects/{slug}")


def _take_home(plan: MovePlan) -> None:
    """Take what holds for all projects: words, agents, skills."""
    _take_agents(plan, "agents")
    _take_skills(plan, "skills")
    _take_rights(plan, "settings.json")
    if plan.source.has("CLAUDE.md"):
        plan.words("CLAUDE.md", "CLAUDE.md")


def _take_project(plan: MovePlan) -> None:
    for name in WORDS:
        if plan.source.has(name):
            plan.words(name.rpartition("/")[2], name)
            plan.setting("context", "instructions", value=[name.rpartition("/")[2]])
    _take_agents(plan, ".claude/agents")
    _take_skills(plan, ".claude/skills")
    for name in SETTINGS:
        _take_rights(plan, name)
    take_servers(plan, ".mcp.json", object_at(plan.source.settings(".mcp.json"), "mcpServers"))
    for name in (".claude/commands", ".claude/hooks"):
        if plan.source.walk(name):
            plan.leave(name, "commands-of-others")


def _take_agents(plan: MovePlan, folder: str) -> None:
    for name in plan.source.names(folder, ".md"):
        text = plan.source.text(f"{folder}/{name}")
        front = read_frontmatter(text)
        plan.add_member(
            name.removesuffix(".md"),
            take_settings(front.data),
            {"Agent.md": front.body.strip().encode() + b"\n"},
        )


def _take_skills(plan: MovePlan, folder: str) -> None:
    for path in plan.source.walk(folder):
        plan.file(f"skills/{path.removeprefix(folder + '/')}", path)


def _take_rights(plan: MovePlan, name: str) -> None:
    if plan.source.is_broken(name):
        plan.leave(name, "settings-broken")
    settings = plan.source.settings(name)
    plan.rules(name, *(convert_rules(settings, key) for key in ("allow", "ask", "deny")))
    if settings.get("hooks"):
        plan.leave(f"{name}: hooks", "commands-of-others")
    for variable in object_at(settings, "env"):
        plan.leave(f"{name}: env.{variable}", "variable-plain")


def _take_sessions(plan: MovePlan, source: SourceFolder, folder: str) -> None:
    for name in source.names(folder, ".jsonl"):
        path = f"{folder}/{name}" if folder else name
        found = source.rows(path)
        plan.note_rows(path, found)
        _take_session(plan, name.removesuffix(".jsonl"), found.rows)


def _take_session(plan: MovePlan, session: str, rows: list[JsonObject]) -> None:
    said = [row for row in rows if row.get("type") in ("user", "assistant") and not row.get("isMeta")]
    main = [row for row in said if not row.get("isSidechain")]
    summary = next((text_at(row, "summary") for row in rows if row.get("type") == "summary"), "")
    title = next((text_at(row, "customTitle") for row in rows if text_at(row, "customTitle")), summary)
    if len(main) < len(said):
        plan.leave(f"{session}.jsonl", "sidechains", count=len(said) - len(main))

    def write(talk: TalkWriter) -> None:
        for row in main:
            message = object_at(row, "message")
            write_anthropic(
                talk, row["type"], message.get("content"), row.get("timestamp"), text_at(row, "uuid")
            )

    plan.talk(session, "", write, title=title)
