from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.context.reference import (
    BYTES_LIMIT,
    COUNT_LIMIT,
    DEPTH_LIMIT,
    find_references,
    follow,
    follow_all,
)
from shipmate.workspace.file import FileCache
from tests.support.prompt import write_files


def follow_in(root: Path) -> tuple[list[str], list[str]]:
    files = FileCache(root)
    found, problems = follow(files.read(root / "AGENTS.md"), root, files)
    return [each.text for each in found], problems


def test_only_whole_lines_are_references() -> None:
    prose = "@a.md\n  @dir/b c.md  \nsee @no.md\nmail@example.org\n- @no.md\n@\n@ x\n"
    text = f"{prose}```\n@no.md\n```\n~~~\n@no\n~~~\n@a.md"
    assert find_references(text) == ["a.md", "dir/b c.md"]


def test_files_are_pulled_in_once_in_order(tmp_path: Path) -> None:
    write_files(tmp_path, AGENTS="@b.md\n@docs/a.md\n@b.md", b="B", docs__a="A\n@../b.md\n@c.md", docs__c="C")
    assert follow_in(tmp_path) == (["B", "A\n@../b.md\n@c.md", "C"], [])


def test_cycles_end(tmp_path: Path) -> None:
    write_files(tmp_path, AGENTS="@a.md", a="@b.md", b="@a.md\n@AGENTS.md")
    assert follow_in(tmp_path) == (["@b.md", "@a.md\n@AGENTS.md"], [])


@pytest.mark.parametrize(
    "path", ["../secret.md", "/etc/hostname", "~/secret.md", "link.md", "docs/../../secret.md"]
)
def test_nothing_outside_the_workspace_is_read(tmp_path: Path, path: str) -> None:
    root = tmp_path / "workspace"
    write_files(root, AGENTS=f"@{path}", docs__x="x")
    write_files(tmp_path, secret="key")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    texts, problems = follow_in(root)
    assert texts == []
    assert problems == [f"@{path}: outside the workspace"]


def test_what_is_missing_empty_or_binary_is_said(tmp_path: Path) -> None:
    write_files(tmp_path, AGENTS="@gone.md\n@empty.md\n@bin.md\n@docs", empty="", docs__x="x")
    (tmp_path / "bin.md").write_bytes(b"\0")
    texts, problems = follow_in(tmp_path)
    assert texts == []
    assert [problem.split(":")[0] for problem in problems] == ["@gone.md", "@empty.md", "@bin.md", "@docs"]


def test_depth_count_and_size_are_bounded(tmp_path: Path) -> None:
    chain = {f"d{at}": f"@d{at + 1}.md" for at in range(DEPTH_LIMIT + 3)}
    many = {f"m{at}": "x" for at in range(COUNT_LIMIT + 5)}
    big = {"b1": "y" * (BYTES_LIMIT - 100), "b2": "z" * 200}
    lines = ["@d0.md", "@b1.md", "@b2.md", *(f"@{name}.md" for name in many)]
    write_files(tmp_path, AGENTS="\n".join(lines), **chain, **many, **big)
    texts, problems = follow_in(tmp_path)
    assert len(texts) <= COUNT_LIMIT
    assert sum(len(text) for text in texts) <= BYTES_LIMIT
    assert any("deeper than" in problem for problem in problems)
    assert any(problem.startswith("@b2.md: left out") for problem in problems)


def follow_bare(root: Path) -> tuple[list[str], list[str]]:
    files = FileCache(root)
    found, problems = follow_all([files.read(root / "AGENTS.md")], root, files, is_bare=True)
    return [each.text for each in found], problems


def test_m1_a_bare_line_that_is_the_path_of_a_file_counts(tmp_path: Path) -> None:
    lines = (
        "# docs/a.md\n- docs/a.md\nRead this.\ndocs/a.md\n  b.md  \n@c.md\n```\nd.md\n```\ngone.md\ndocs\n"
    )
    write_files(tmp_path, AGENTS=lines, docs__a="A", b="B", c="C", d="D")
    assert follow_bare(tmp_path) == (["A", "B", "C"], [])
    assert follow_in(tmp_path)[0] == ["C"]


@pytest.mark.parametrize(
    "path",
    [
        *("../secret.md", "/etc/hostname", "~/secret.md", "docs/../../secret.md", "docs/../x.md", "link.md"),
        *(".env", "sub/.env", ".mcp.json", ".claude/settings.json", ".ship/token", "agents/a/config.json"),
        "x" * 5000,
    ],
)
def test_m1_a_bare_line_leads_neither_out_nor_to_secrets(tmp_path: Path, path: str) -> None:
    root = tmp_path / "workspace"
    write_files(root, AGENTS=path, docs__y="y", x="inside")
    write_files(tmp_path, secret="key")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    for name in (
        ".env",
        "sub/.env",
        ".mcp.json",
        ".claude/settings.json",
        ".ship/token",
        "agents/a/config.json",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("KEY=1")
    assert follow_bare(root)[0] == []


@pytest.mark.parametrize("path", [".env", "sub/.env.local", ".mcp.json", ".ship/token"])
def test_a_marked_line_does_not_pull_secrets_in(tmp_path: Path, path: str) -> None:
    write_files(tmp_path, AGENTS=f"@{path}")
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("KEY=1")
    assert follow_in(tmp_path) == ([], [f"@{path}: it may hold secrets, which no prompt does"])
