"""What commands print is kept without the private variables they were given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call
from shipmate.tools.output import Spool
from tests.support.workspace import messages_of, talk, tools_of

SECRET = "s3cr3t-value-s3cr3t-wert"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 23, 24, 25, 1000])
def test_a_secret_is_masked_wherever_the_stream_is_cut(tmp_path: Path, size: int) -> None:
    told = f"a{SECRET}b s3cr3t-value-s3cr3t-{SECRET}{SECRET} s3cr3t-val".encode()
    spool = Spool(tmp_path / "log", 10_000, [SECRET, "abc"])
    for start in range(0, len(told), size):
        spool.write(told[start : start + size])
    spool.close()
    shown = spool.text("")
    assert SECRET not in shown + (tmp_path / "log").read_text()
    assert shown == (tmp_path / "log").read_text() == told.decode().replace(SECRET, "•••")


async def test_a_private_variable_that_a_command_prints_reaches_no_file_of_ours(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    config = {"env": {"TOKEN": SECRET}, "permissions": {"mode": "yolo"}}
    (tmp_path / "ship.json").write_text(json.dumps(config))
    model = ScriptedModel({"": [call("exec", command="printenv TOKEN", variables=["TOKEN"]), "Done."]})
    app = await Shipmate.open(tmp_path, model=model, environ={"PATH": os.environ["PATH"]})
    await talk(app, "go")
    ((_, state, shown),) = tools_of((await messages_of(app))[1])
    await app.close()
    assert (state, shown) == ("output-available", "•••\n[exit 0]")
    kept = [path for path in (tmp_path / ".ship").rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
