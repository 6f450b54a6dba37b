"""Open workspaces as the origins of documents 001 and 003 write them, unchanged."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from shipmate.context.builder import ContextBuilder
from shipmate.context.request import ContextRequest
from shipmate.workspace.config import Config, ContextSettings
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.relation import read_relations
from tests.support.prompt import MOMENT, TOOLS, write_files

RELATIONS = """\
| 成员ID | 成员名称 | 关系类型 | 关系程度 | 说明 |
|---|---|---|---|---|
| yinyin | 引引 | 上级 | 核心 | |"""


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def nanobot(tmp_path: Path) -> Path:
    return write_files(
        tmp_path,
        AGENTS="# Agent Instructions\n\nBe concise.",
        SOUL="# Soul\n\nI am kind.",
        USER="# User\n\nName: Kim",
        TOOLS="# Tools\n\nUse them.",
        IDENTITY="# Identity\n\nnanobot",
        memory__MEMORY="# Long-term\n\n- likes tea",
        **{
            "memory__2026-02-23": "# 2026-02-23\n\n- met Lee",
            "skills__weather__SKILL": "---\nname: weather\ndescription: Get the weather.\nhomepage: https://wttr.in\n"
            'metadata: {"nanobot":{"emoji":"x","requires":{"bins":["curl-not-here"]}}}\n---\n# Weather\n',
            "skills__memory__SKILL": "---\nname: memory\ndescription: Two.\nalways: true\n---\n# Memory\n",
        },
    )


def test_a_nanobot_workspace_gives_the_parts_of_document_001_in_order(nanobot: Path) -> None:
    before = snapshot(nanobot)
    builder = ContextBuilder(nanobot, Config(context=ContextSettings(profile="nanobot")))
    parts = builder.build(ContextRequest(now=MOMENT, tools=TOOLS)).system.split("\n\n---\n\n")
    assert len(parts) == 5
    identity, files, memory, active, summary = parts
    assert "2026-02-23" in identity
    assert str(nanobot) in identity
    assert "read, write, exec" in identity
    order = [files.index(f"## {name}.md\n\n") for name in ("AGENTS", "SOUL", "USER", "TOOLS", "IDENTITY")]
    assert order == sorted(order)
    assert memory.startswith("# Memory\n\n## Long-term Memory\n# Long-term")
    assert "## Today's Notes\n# 2026-02-23" in memory
    assert active == "# Active Skills\n\n### Skill: memory\n\n# Memory"
    assert summary.startswith("# Skills\n\n")
    assert '<skill available="false"><name>weather</name>' in summary
    assert "<requires>CLI: curl-not-here</requires>" in summary
    assert "<name>memory</name>" not in summary
    assert snapshot(nanobot) == before


def test_an_absent_part_leaves_no_separator(tmp_path: Path) -> None:
    builder = ContextBuilder(
        write_files(tmp_path, SOUL="kind"), Config(context=ContextSettings(profile="nanobot"))
    )
    prompt = builder.build_system_prompt()
    assert prompt.count("\n\n---\n\n") == 2
    assert "# Memory" not in prompt
    assert "---\n\n---" not in prompt


@pytest.fixture
def zyhive(tmp_path: Path) -> Path:
    root = write_files(
        tmp_path,
        IDENTITY="# IDENTITY.md - 我的身份\n- 名称：小流",
        SOUL="# SOUL.md - 我是谁\n## 核心准则",
        AGENTS="# 协议",
        RELATIONS=RELATIONS,
        memory__INDEX="## 近期主题",
        memory__core__personality="x",
        skills__search__SKILL="你有网络搜索能力，使用 web_fetch 工具…",
        skills__off__SKILL="不要",
    )
    (root / "skills/search/skill.json").write_text('{"id":"search","name":"搜索助手","enabled":true}')
    (root / "skills/off/skill.json").write_text('{"id":"off","name":"停用","enabled":false}')
    for name, meta in (
        ("proj_xxx", '{"id":"proj_xxx","name":"ZyHive 源码","description":"主项目代码","editors":[]}'),
        ("proj_yyy", '{"id":"proj_yyy","name":"收款日历","editors":["__none__"]}'),
    ):
        (root / "projects" / name).mkdir(parents=True)
        (root / "projects" / name / "meta.json").write_text(meta)
    return root


def test_a_zyhive_workspace_gives_the_twelve_sections_of_document_003(zyhive: Path) -> None:
    before = snapshot(zyhive)
    config = Config(
        context=ContextSettings(profile="zyhive"), env={"GITHUB_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}
    )
    request = ContextRequest(
        now=datetime(2026, 2, 23, 15, 45, tzinfo=ZoneInfo("UTC")),
        model="claude-sonnet-4-6",
        extra_context="当前用户在群聊 XXX 中发言",
    )
    assert ContextBuilder(zyhive, config).build(request).system == (
        "Current date and time: 2026-02-23 23:45:00 CST\n\n"
        "--- IDENTITY.md ---\n# IDENTITY.md - 我的身份\n- 名称：小流\n\n"
        "--- SOUL.md ---\n# SOUL.md - 我是谁\n## 核心准则\n\n"
        "--- memory/INDEX.md ---\n## 近期主题\n\n"
        "[Memory tree available. Use read tool to access: "
        "memory/core/, memory/projects/, memory/daily/, memory/topics/]\n\n"
        f"--- RELATIONS.md ---\n{RELATIONS}\n\n"
        "--- Skill: 搜索助手 ---\n你有网络搜索能力，使用 web_fetch 工具…\n\n"
        "--- AGENTS.md ---\n# 协议\n\n"
        "--- 共享团队项目工作区 ---\n"
        "• ZyHive 源码 (id: proj_xxx, 权限: 可读写) — 主项目代码\n"
        "• 收款日历 (id: proj_yyy, 权限: 只读)\n\n"
        "当前用户在群聊 XXX 中发言\n\n"
        "## 可用环境变量\n以下环境变量已配置，exec 工具运行时自动可用：\n"
        "- ANTHROPIC_API_KEY\n- GITHUB_TOKEN\n\n"
        f"## Runtime\nModel: claude-sonnet-4-6 | Agent: captain | Workspace: {zyhive}"
    )
    assert snapshot(zyhive) == before
    assert [each.target_id for each in read_relations((zyhive / "RELATIONS.md").read_text())] == ["yinyin"]


def test_without_an_index_the_whole_memory_is_given(zyhive: Path) -> None:
    (zyhive / "memory/INDEX.md").unlink()
    write_files(zyhive, MEMORY="# 旧格式\n- 全部")
    builder = ContextBuilder(zyhive, Config(context=ContextSettings(profile="zyhive")))
    assert "--- MEMORY.md ---\n# 旧格式\n- 全部" in builder.build_system_prompt()


def test_m3_the_memory_tree_of_a_member_is_named_from_the_workspace(zyhive: Path) -> None:
    write_files(zyhive, members__nina__IDENTITY="# 妮娜", members__nina__memory__core__x="x")
    layout = Layout(zyhive)
    nina = Crew(layout, load_config(layout, {})).find("nina")
    prompt = ContextBuilder(nina).build(ContextRequest(profile="zyhive")).system
    assert "access: members/nina/memory/core/, members/nina/memory/projects/, " in prompt
