"""What models used, in the terminal: tables, plots, files for others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec

from shipmate.values.message import timestamp
from shipmate.workspace.layout import Layout
from tests.store.test_tally import step
from tests.support.terminal import shipmate


def test_usage_is_shown_with_plots_and_exported(workspace: Path) -> None:
    assert shipmate(workspace, "usage").stdout == "No model was asked in this time.\n"
    layout, now = Layout(workspace), timestamp()
    steps = [
        step("captain", 0.25),
        step("nina", None),
        step("nina", 0.5, asker="captain", payer="cli:chat:captain"),
    ]
    lines = [msgspec.json.encode(msgspec.structs.replace(each, at=now)) + b"\n" for each in steps]
    layout.usage.mkdir(parents=True, exist_ok=True)
    (layout.usage / f"{now[:7]}.jsonl").write_bytes(b"".join([*lines, b'{"cut in half']))
    shown = shipmate(workspace, "usage", "--by", "member").stdout.splitlines()
    assert shown[0].split() == ["by", "member", "requests", "tokens", "in", "cached", "tokens", "out", "cost"]
    assert shown[1].split() == ["captain", "2", "200", "10", "20", "$0.7500", "█" * 24]
    assert shown[2].split() == ["nina", "1", "100", "5", "10", "?", "█" * 12]
    assert shown[3].split() == ["together", "3", "300", "15", "30", "?"]
    assert shown[4] == "The price of 1 of 3 requests is not known, so no sum of money is told."
    assert shown[-1] == "·" * 29 + "█"
    chinese = shipmate(workspace, "usage", "--by", "day", LANG="zh_CN.UTF-8").stdout
    assert "按天" in chinese
    assert "3 次请求中有 1 次价格未知，因此不给出总金额。" in chinese
    told = json.loads(shipmate(workspace, "usage", "--json", "--days", "1", "--by", "model").stdout)
    assert (told["rows"][0]["model"], told["total"]["unpriced"]) == ("openai:dear", 1)
    rows = [*csv.DictReader(shipmate(workspace, "usage", "--csv", "--by", "thread").stdout.splitlines())]
    assert [(row["thread"], row["cost"]) for row in rows] == [
        ("cli:chat:captain", "0.75"),
        ("cli:chat:nina", ""),
    ]
    only = json.loads(shipmate(workspace, "usage", "--json", "--thread", "captain").stdout)
    assert only["total"]["requests"] == 2
    assert shipmate(workspace, "usage", "--json", "--csv").returncode == 2
