"""A member whose program is a stand-in, or one of the real ones from npm."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from shipmate.workspace.layout import Layout
from tests.support.node import install_packages

FIXTURES = Path(__file__).parents[1] / "fixtures" / "programs"
FOLDER = Path(__file__).parents[1] / "node" / "agents"
COMMANDS = {"claude-code": "claude", "openai-codex": "codex", "google-gemini": "gemini"}

# Does what the variable `ACT` says, with the words of Claude Code.
STAND_IN = """#!{python}
import json, os, sys, time
from pathlib import Path
if sys.argv[1:] == ["--version"]:
    print(Path(sys.argv[0]).with_name("version").read_text()); sys.exit()
def tell(**event): print(json.dumps(event), flush=True)
def end(text, **more): tell(type="result", subtype="success", is_error=False, result=text, **more)
def can(work):
    try: return work() or True
    except OSError as error: return error.strerror
def hear(): return json.loads(sys.stdin.readline())
is_asking = "--permission-prompt-tool" in sys.argv
prompt = hear()["message"]["content"][0]["text"] if is_asking else sys.stdin.read()
act = os.environ["ACT"]
if act == "resume" and "--resume" in sys.argv:
    print("No conversation found with session ID: gone", file=sys.stderr); sys.exit(1)
if act == "old" and "--append-system-prompt-file" in sys.argv:
    print("error: unknown option '--append-system-prompt-file'", file=sys.stderr); sys.exit(1)
if act == "older":
    print("error: unknown option '--include-partial-messages'", file=sys.stderr); sys.exit(1)
if act == "line":
    for _ in range(100): sys.stdout.write("x" * 1_000_000)
    sys.exit()
if act == "fixture":
    sys.stdout.write(Path(os.environ["FILE"]).read_text()); sys.exit()
tell(type="system", subtype="init", session_id="s-1")
if act == "empty": sys.exit()
if act == "nothing": end("")
if act == "hang":
    Path("started").touch() if os.access(".", os.W_OK) else None
    tell(type="assistant", message={{"content": [{{"type": "text", "text": "Wait."}},
        {{"type": "tool_use", "id": "t1", "name": "Bash", "input": {{"command": "sleep"}}}}]}})
    time.sleep(300)
def use(call_id, **more):
    block = {{"type": "tool_use", "id": call_id, "name": "Bash", "input": {{}}}}
    tell(type="assistant", message={{"content": [block]}})
def result(call_id, text):
    block = {{"type": "tool_result", "tool_use_id": call_id, "content": text}}
    tell(type="user", message={{"content": [block]}})
if act == "steps":
    for number in range(1000):
        use(f"t{{number}}"); time.sleep(0.05); result(f"t{{number}}", "ok")
if act == "ask":
    use("t1")
    tell(type="control_request", request_id="r1", request={{"subtype": "can_use_tool", "tool_name": "Bash",
        "tool_use_id": "t1", "input": {{"command": "touch made"}}}})
    answer = hear()["response"]["response"]
    if answer["behavior"] == "allow": Path("made").touch()
    result("t1", answer["behavior"])
    tell(type="assistant", message={{"content": [{{"type": "text", "text": json.dumps(answer)}}]}})
    end("x"); sys.stdin.read(); Path("left").touch()
if act == "tick":
    while True:
        tell(type="system", subtype="status"); time.sleep(0.05)
if act == "half":
    tell(type="assistant", message={{"content": [{{"type": "text", "text": "Half"}}]}})
    print("fatal: sk-very-secret-key", file=sys.stderr); sys.exit(3)
if act == "flood":
    while True: tell(type="assistant", message={{"content": [{{"type": "text", "text": "y" * 500_000}}]}})
if act == "probe":
    end(json.dumps({{
        "write": can(lambda: Path("made").write_text("x")),
        "state": can(lambda: os.listdir(".ship/threads")),
        "env": can(lambda: Path(".env").read_text()),
        "home": can(lambda: Path(os.environ["HOME"], ".claude", "kept").write_text("x")),
        "beside": can(lambda: Path(os.environ["HOME"], "other").read_text()),
        "args": sys.argv[1:], "prompt": prompt,
        "system": Path(sys.argv[sys.argv.index("--append-system-prompt-file") + 1]).read_text(),
    }}))
if act in ("resume", "old"): end(prompt)
"""


def write_member(root: Path, kind: str, command: Path | str, env: dict[str, str], **more: Any) -> None:
    """Write a workspace with a member bo whose program is given."""
    own = root / "members" / "bo"
    own.mkdir(parents=True, exist_ok=True)
    (root / "Agent.md").write_text("# Captain\n")
    (own / "Agent.md").write_text("# Bo\n\nYou review.\n")
    stated = {"kind": kind, "command": str(command), "env": env, "home": "private", **more}
    (own / "member.json").write_text(json.dumps(stated))


def write_stand_in(root: Path, act: str, *, kind: str = "claude-code", **more: Any) -> Path:
    """Write a workspace with a member whose program is the stand-in; return the program."""
    place = root.with_name(f"{root.name}-bin")
    place.mkdir(exist_ok=True)
    program = place / COMMANDS[kind]
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    program.with_name("version").write_text("1.0.0" if act == "older" else "9.9.9")
    env = {"ACT": act, "KEY": "sk-very-secret-key", **more.pop("env", {})}
    write_member(root, kind, program, env, **more)
    return program


def write_real(root: Path, kind: str, url: str, **more: Any) -> None:
    """Write a workspace with a member whose program is the real one, with a home of its own."""
    try:
        install_packages(FOLDER)
    except (OSError, ImportError) as error:
        pytest.skip(f"node and npm are needed to install {kind}: {error}")
    home = Layout(root).program_home("bo")
    env: dict[str, str] = {"LOOP_KEY": "dummy-key"}
    if kind == "claude-code":
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy-key"}
    elif kind == "openai-codex":
        provider = f'name="loop"\nbase_url="{url}/v1"\nenv_key="LOOP_KEY"\nwire_api="responses"\n'
        (home / ".codex").mkdir(parents=True)
        settings = f'model="m"\nmodel_provider="loop"\n[model_providers.loop]\n{provider}'
        (home / ".codex" / "config.toml").write_text(settings)
    else:
        env = {"GEMINI_API_KEY": "dummy-key", "GOOGLE_GEMINI_BASE_URL": url}
        (home / ".gemini").mkdir(parents=True)
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
        more.setdefault("model", "gemini-2.5-pro")
    command = more.pop("command", FOLDER / "node_modules" / ".bin" / COMMANDS[kind])
    write_member(root, kind, command, env, **more)
