from __future__ import annotations

from pathlib import Path

import msgspec

from shipmate.context.trace import Trace
from shipmate.models.port import ModelRequest, ToolSpec
from shipmate.values.message import user_message
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import Mask

SECRET = 'pa"ss\nword'
REQUEST = ModelRequest(
    system=f"The secret is {SECRET}.",
    messages=[user_message("m1", f"say {SECRET}")],
    tools=[ToolSpec("read", "Read.", {"type": "object", "default": SECRET})],
)


def test_without_debug_nothing_is_written(tmp_path: Path) -> None:
    for value in ("", "0", "false"):
        Trace(Layout(tmp_path), {"DEBUG": value}, Mask([SECRET])).write("web:room:1", "run_1", 1, REQUEST)
    assert list(tmp_path.iterdir()) == []


def test_under_debug_each_request_is_a_line_with_secrets_masked(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    trace = Trace(layout, {"DEBUG": "1"}, Mask([SECRET]))
    trace.write("web:room:1", "run_1", 1, REQUEST)
    trace.write("web:room:1", "run_1", 2, REQUEST)
    path = layout.trace("web:room:1")
    rows = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert [(row["runId"], row["step"]) for row in rows] == [("run_1", 1), ("run_1", 2)]
    assert rows[0]["request"]["system"] == "The secret is •••."
    assert rows[0]["request"]["messages"][0]["parts"][0]["text"] == "say •••"
    assert b"word" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
