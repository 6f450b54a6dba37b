"""What a model reads and has read, over HTTP."""

from __future__ import annotations

import os
from typing import Any

import pytest

from shipmate.server.routes import context
from tests.support.server import Served
from tests.support.wire import chat, messages, user

ROOM = "/api/threads/room"


async def get(served: Served, path: str) -> Any:
    response = await served.client.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def add_up(view: dict[str, Any]) -> int:
    groups = (view["tools"], view["history"])
    assert all(group["tokens"] == sum(row["tokens"] for row in group["items"]) for group in groups)
    return sum(row["tokens"] for row in view["sections"]) + sum(group["tokens"] for group in groups)


async def test_u5_the_numbers_of_the_next_turn_add_up_and_every_row_has_its_text(served: Served) -> None:
    (served.site.layout.root / "SOUL.md").write_text("Be kind.\n")
    await chat(served.client, "room", user("u1", "read two files"))
    now = (await get(served, f"{ROOM}/context"))["now"]
    assert now["totalTokens"] == add_up(now)
    assert now["window"] > now["totalTokens"] > now["stableTokens"] > 0
    assert any("Be kind." in section["text"] for section in now["sections"])
    assert {"name": "agents"}.items() <= now["leftOut"][0].items()
    rows = [*now["sections"], *now["leftOut"]]
    assert str(served.site.layout.root) not in str([(row["source"], row["reason"]) for row in rows])
    assert all(f'"name": "{row["name"]}"' in row["text"] for row in now["tools"]["items"])
    assert [row["title"] for row in now["history"]["items"]] == ["user", "assistant", "user", "assistant"]
    assert "← read (" in now["history"]["items"][2]["text"]
    bare = await get(served, "/api/context?profile=nanobot")
    assert (bare["profile"], bare["history"]["count"]) == ("nanobot", 0)


async def test_u5_each_step_of_a_turn_opens_to_what_was_sent_then(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    soul = served.site.layout.root / "SOUL.md"
    soul.write_text("Be kind.\n")
    await chat(served.client, "room", user("u2", "read two files"))
    soul.write_text("Be stern.\n")
    told = await get(served, f"{ROOM}/context")
    assert [(turn["turn"], turn["text"], turn["steps"]) for turn in told["turns"]] == [
        (1, "hello", 1),
        (2, "read two files", 2),
    ]
    rows = await messages(served.client, "room")
    assert [turn["messageId"] for turn in told["turns"]] == [row["id"] for row in rows[1::2]]
    assert [turn["askedId"] for turn in told["turns"]] == ["u1", "u2"]
    assert [turn["brokenBy"] for turn in told["turns"]] == [None, "section soul"]
    last = await get(served, f"{ROOM}/context/turns/2")
    assert (last["step"], len(last["steps"])) == (2, 2)
    first = await get(served, f"{ROOM}/context/turns/2?step=1")
    for opened, count in ((first, 3), (last, 5)):
        assert opened["read"]["history"]["count"] == count
        assert opened["read"]["totalTokens"] == add_up(opened["read"])
        # As it was sent, not as it would be now.
        (section,) = [each for each in opened["read"]["sections"] if each["name"] == "soul"]
        assert section["text"].endswith("Be kind.")
    used = last["steps"][0]
    assert (used["step"], used["model"]) == (1, "scripted")
    assert used["milliseconds"] >= 0
    refused = await served.client.get(f"{ROOM}/context/turns/2?step=3")
    assert (refused.status_code, refused.json()["error"]["message"]) == (404, "Turn 2 has 2 steps.")


async def test_u5_an_answer_that_was_asked_for_again_is_another_attempt(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    await chat(served.client, "room", user("u1", "hello"), trigger="regenerate-message")
    turns = (await get(served, f"{ROOM}/context"))["turns"]
    assert [(turn["askedId"], turn["attempt"], turn["attempts"]) for turn in turns] == [
        ("u1", 1, 2),
        ("u1", 2, 2),
    ]


async def test_u5_two_turns_are_compared_in_words(served: Served) -> None:
    soul = served.site.layout.root / "SOUL.md"
    soul.write_text("Be kind.\n")
    await chat(served.client, "room", user("u1", "hello"))
    soul.write_text("Be stern.\n")
    await chat(served.client, "room", user("u2", "again"))
    diff = await get(served, f"{ROOM}/context/diff?from=1")
    assert (diff["from"], diff["to"], diff["breaksIn"]) == (1, 2, "section soul")
    told = [(change["kind"], change["name"], change["change"]) for change in diff["changes"]]
    assert told == [("section", "soul", "changed"), ("message", "2", "added"), ("message", "3", "added")]
    assert diff["changes"][0]["diff"].endswith("-Be kind.\n+Be stern.")
    assert 0 < diff["sameTokens"] < diff["totalTokens"]
    same = await get(served, f"{ROOM}/context/diff?from=2&to=2")
    assert (same["changes"], same["sameTokens"]) == ([], same["totalTokens"])


async def test_u5_what_is_gone_or_no_file_of_ours_is_said_in_words(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    for path in ("turns/9", "turns/0", "diff?from=1&to=9"):
        gone = await served.client.get(f"{ROOM}/context/{path}")
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not-kept")
        assert "context.keepDays" in gone.json()["error"]["next"]
    kept = served.site.layout.kept_requests("web:room:room")
    kept.unlink()
    assert (await get(served, f"{ROOM}/context"))["turns"] == []
    os.mkfifo(kept)
    refused = await served.client.get(f"{ROOM}/context")
    assert refused.status_code >= 400
    assert "not a plain file" in refused.text
    # And the thread goes on.
    await chat(served.client, "room", user("u2", "again"))


async def test_u5_a_long_history_is_told_page_by_page(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await chat(served.client, "room", user(f"u{number}", "hello"))
    for path, limit in (("context", "PAGE"), ("context/turns/3", "PAGE"), ("context", "PAGE_BYTES")):
        monkeypatch.setattr(context, limit, 2)
        seen: list[str] = []
        before = ""
        while True:
            view = await get(served, f"{ROOM}/{path}{before}")
            group = (view.get("now") or view["read"])["history"]
            assert len(group["items"]) <= (2 if limit == "PAGE" else 1)
            seen = [*(row["name"] for row in group["items"]), *seen]
            if group["from"] == 1:
                break
            before = f"?before={group['from']}"
        assert seen == [str(number + 1) for number in range(group["count"])]
