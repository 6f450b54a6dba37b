"""What waiting calls may be called by: whoever writes a command could choose the words of a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.approvals.reply.parser import parse
from shipmate.models.scripted import ScriptedModel, call
from shipmate.tools.file.write import Write
from tests.support.workspace import open_workspace, talk

# What a person says of something else or under a condition, and the name that would make it consent.
SPEECH = [
    ("just kidding", "kidding"),
    ("only joking", "joking"),
    ("just testing", "testing"),
    ("just write", "write"),
    ("only edit", "edit"),
    ("approve conditionally", "conditionally"),
    ("accept partially", "partially"),
    ("accept defeat", "defeat"),
    ("allow more time", "more time"),
    ("approve tests pending", "tests pending"),
    ("yes to coffee", "coffee"),
    ("ok to disagree", "disagree"),
    ("accept 50/50", "50/50"),
    ("approve as-is", "as-is"),
    ("approve v1.2", "v1.2"),
    ("allow git push sparingly", "git push sparingly"),
    ("approve git commit reluctantly", "git commit reluctantly"),
    ("approve make happy", "make happy"),
    ("allow notes.md conditionally", "notes.md conditionally"),
    ("allow alice for 10 minutes", "alice"),
    ("approve sometimes always", "sometimes"),
    ("approve https://example.com/a,unless", "https://example.com/a,unless"),
    ("同意保留意见", "保留意见"),
]


def test_c3_a_message_that_two_names_read_differently_is_no_consent() -> None:
    message, clear = "allow git status for 10 minutes", "git status"
    assert parse(message, [clear]) is not None
    assert parse(message, [clear, "git status for 10 minutes"]) is None


@pytest.mark.parametrize(("message", "name"), SPEECH)
def test_c3_a_name_that_could_be_speech_is_no_consent_without_quotes(message: str, name: str) -> None:
    assert parse(message, [name, "exec", "write", "edit"]) is None


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("allow git status", "git status"),
        ("allow git status -s", "git status -s"),
        ("approve git push", "git push origin main"),
        ("only plan.md", "docs/plan.md"),
        ("approve make test", "make test"),
        ("approve ./deploy.sh --all", "./deploy.sh --all"),
        ("approve `make happy`", "make happy"),
        ('allow "kidding"', "kidding"),
        ("approve web_fetch", "web_fetch"),
        ("approve exec", "exec"),
        ("approve https://example.com/a", "https://example.com/a"),
        ("同意 git status", "git status"),
    ],
)
def test_a_name_that_only_code_has_or_in_quotes_is_understood(message: str, name: str) -> None:
    reply = parse(message, [name])
    assert reply is not None
    assert reply.approves


async def test_c3_a_file_named_so_that_an_innocent_message_names_it_is_not_written(tmp_path: Path) -> None:
    model = ScriptedModel([call("write", path="kidding", content="x"), "Done.", "Done."])
    async with open_workspace(tmp_path, model, [Write()]) as app:
        await talk(app, "go")
        await talk(app, "just kidding")
        assert not (tmp_path / "kidding").exists()
        assert len(await app.approvals.pending()) == 1
