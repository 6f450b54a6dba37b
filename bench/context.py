"""The cost of a prompt: its size, the time to build it, and how much of it a provider's cache can keep."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.peer import VERSION, nanobot_python
from shipmate.context.builder import ContextBuilder
from shipmate.context.difference import count_common
from shipmate.context.request import ContextRequest
from shipmate.models.port import json_size
from shipmate.tools.toolset import default_toolset
from shipmate.values.message import user_message
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of

SKILLS = 200
BUILDS = 200
TURNS = 20
AGENT = Path(__file__).parents[1] / "src" / "shipmate" / "cli" / "workspace" / "examples" / "captain.md"
DRIVER = Path(__file__).with_name("context_child.py")
QUESTIONS = ("ping", "handle topic 17", "commit my work", "记住这件事", "what is overdue?")


def measure() -> list[dict[str, Any]]:
    """Measure size, time and stability, then nanobot's time with the same workspace."""
    with tempfile.TemporaryDirectory() as folder:
        plain, full = Path(folder) / "plain", Path(folder) / "full"
        write_workspace(plain, 0)
        write_workspace(full, SKILLS)
        return [
            *_sizes(plain),
            *_times(sys.executable, "shipmate", full),
            *_stability(plain, full),
            *_nanobot(full),
        ]


def write_workspace(root: Path, skills: int) -> None:
    """Write a workspace that Shipmate and nanobot both read."""
    root.mkdir()
    text = AGENT.read_text(encoding="utf-8").replace("{name}", "Captain")
    (root / "Agent.md").write_text(text, encoding="utf-8")
    for number in range(skills):
        folder = root / "skills" / f"skill-{number:03}"
        folder.mkdir(parents=True)
        front = (
            f"name: {folder.name}\ndescription: Handle topic {number} with care and report what was found\n"
        )
        needs = "metadata:\n  nanobot:\n    requires:\n      bins: [sh]\n"
        (folder / "SKILL.md").write_text(f"---\n{front}{needs}---\n# Skill {number}\n\n" + "Do it.\n" * 40)


def _request(root: Path, text: str, now: datetime | None = None) -> ContextRequest:
    tools = tuple(default_toolset(captain_of(Layout(root))).specs())
    return ContextRequest(
        platform="cli", model="anthropic:claude-sonnet-4-6", tools=tools, last_text=text, now=now
    )


def _sizes(root: Path) -> list[dict[str, Any]]:
    context = ContextBuilder(root).build(_request(root, "ping"))
    message = json_size([user_message("m", "ping")])
    return [
        {"name": "system prompt, fresh workspace", "value": len(context.system.encode()), "unit": "bytes"},
        {"name": "tool schemas", "value": context.tools_bytes, "unit": "bytes"},
        {"name": "request for `ping`", "value": context.bytes + message, "unit": "bytes", "bar": "<= 8000"},
    ]


def _times(python: str, who: str, root: Path) -> list[dict[str, Any]]:
    """Time builds in fresh processes: the first build is cold, the others are warm."""
    runs = [_child(python, who, root) for _ in range(5 if who == "shipmate" else 1)]
    is_ours = who == "shipmate"
    label = "shipmate" if is_ours else f"nanobot {VERSION}"
    return [
        {
            "name": f"{label}: build with {SKILLS} skills, {kind}",
            "value": statistics.median(run[kind] for run in runs),
            "unit": "ms",
            "bar": bar if is_ours else None,
        }
        for kind, bar in (("cold", "<= 150"), ("warm", "<= 2"))
    ]


def _child(python: str, who: str, root: Path) -> dict[str, float]:
    command = [python, str(DRIVER), who, str(root), str(BUILDS if who == "shipmate" else 3)]
    environ = {"PATH": os.environ["PATH"], "HOME": str(root.parent)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _stability(*roots: Path) -> list[dict[str, Any]]:
    """Let twenty turns pass, seven minutes apart, each with other words."""
    rows: list[dict[str, Any]] = []
    for root, label in zip(roots, ("fresh workspace", f"{SKILLS} skills"), strict=True):
        builder = ContextBuilder(root)
        began = datetime(2026, 2, 23, 8, 0, tzinfo=UTC)
        prompts = [
            builder.build(
                _request(root, QUESTIONS[turn % 5], began + timedelta(minutes=7 * turn))
            ).system.encode()
            for turn in range(TURNS)
        ]
        kept = sum(count_common(before, after) for before, after in pairwise(prompts))
        rows.append(
            {
                "name": f"prompt bytes kept from turn to turn, {label}",
                "value": 100 * kept / sum(len(prompt) for prompt in prompts[1:]),
                "unit": "%",
                "bar": ">= 99" if root is roots[0] else None,
            }
        )
    return rows


def _nanobot(root: Path) -> list[dict[str, Any]]:
    python = nanobot_python()
    if python is None:
        return [{"name": f"nanobot {VERSION}", "value": "not installed", "unit": ""}]
    try:
        return _times(python, "nanobot", root)
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        return [{"name": f"nanobot {VERSION}", "value": f"failed: {type(error).__name__}", "unit": ""}]


if __name__ == "__main__":
    for row in measure():
        print(row)
