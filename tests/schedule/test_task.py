"""The files of tasks: what they may say, ShipMyAgent's keys, and what is wrong told in both languages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.schedule.schedule_wording import FOLDER, TaskError
from shipmate.schedule.task import make_slug, read_task, switch, write_task
from shipmate.values.event import is_quiet
from shipmate.values.saying import load_sayings, tell_error

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def text(*lines: str, body: str = "do it") -> str:
    return "\n".join(["---", *lines, "---", body])


def test_a_task_says_when_where_and_what() -> None:
    task = read_task(
        "report",
        text(
            'title: "Weekly: report"',
            "when: 0 9 * * 1",
            "zone: Asia/Shanghai",
            "member: scribe",
            "thread: telegram:group:-5",
            "deliver: [feishu:group:oc_1, telegram:dm:7]",
            "catch-up: all",
            "enabled: false",
            body="Write it.\n\nAnd send it.\n",
        ),
    )
    assert (task.title, task.member, task.thread_id) == ("Weekly: report", "scribe", "telegram:group:-5")
    assert task.deliver == ("feishu:group:oc_1", "telegram:dm:7")
    assert (task.is_enabled, task.is_fresh, task.catch_up) == (False, False, "all")
    assert task.prompt == "Write it.\n\nAnd send it."
    assert task.source == "task:report"
    assert task.when.after(NOW) == datetime(2026, 11, 23, 1, tzinfo=UTC)
    plain = read_task("plain", text("when: heartbeat"), "Europe/Berlin")
    assert (plain.title, plain.thread_id, plain.zone) == ("plain", "schedule:task:plain", "Europe/Berlin")
    assert (plain.is_fresh, plain.catch_up, plain.source) == (True, "skip", "heartbeat:plain")


def test_the_keys_of_ship_my_agent_are_read() -> None:
    older = text(
        "id: daily", "name: Daily", 'cron: "30 9 * * *"', "notify: true", "source: telegram", "chatId: 42"
    )
    task = read_task("daily", older)
    assert (task.title, task.rule, task.deliver) == ("Daily", "30 9 * * *", ("telegram:dm:42",))
    group = read_task("g", text("schedule: '@daily'", "source: telegram", "chatId: -100", "enabled: true"))
    assert (group.rule, group.deliver) == ("@daily", ("telegram:group:-100",))
    newer = text(
        "title: T", "when: time:2026-12-24T18:00:00+01:00", "status: paused", "kind: agent", "review: true"
    )
    paused = read_task("n", newer)
    assert not paused.is_enabled
    assert paused.when.after(NOW) == datetime(2026, 12, 24, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("do it", "no front matter"),
        (text("when: [", body="x"), "front matter cannot be read"),
        (text("title: x"), "there is no `when`"),
        (text("when: '@daily'", body=""), "nothing to do"),
        (text("when: 0 0 30 2 *"), "never comes"),
        (text("when: every soon"), "no span of time"),
        (text("when: every 1s"), "out of range"),
        (text("when: time:tomorrow"), "no moment"),
        (text("when: '@daily'", "zone: Mars/Base"), "no zone"),
        (text("when: '@daily'", "zone: ../../etc/passwd"), "no zone"),
        (text("when: '@daily'", "whn: x"), "no key “whn”"),
        (text("when: '@daily'", "enabled: maybe"), "`enabled` must be true or false"),
        (text("when: '@daily'", "catch-up: some"), "Write one of latest, skip, all"),
        (text("when: '@daily'", "status: gone"), "Write one of enabled"),
        (text("when: '@daily'", "thread: nowhere"), "`thread` is no thread"),
        (text("when: '@daily'", "deliver: {a: b}"), "a list of threads"),
        (text("when: [1, 2]"), "`when` must be a text"),
        (text("when: '@daily'", "kind: script"), "run a program"),
    ],
)
def test_what_is_wrong_is_told_in_both_languages(content: str, said: str) -> None:
    with pytest.raises(TaskError) as caught:
        read_task("x", content)
    assert said in str(caught.value)
    assert tell_error(caught.value, "zh") != str(caught.value)


def test_every_saying_is_there_in_chinese() -> None:
    assert load_sayings(FOLDER, "en").keys() == load_sayings(FOLDER, "zh").keys()


@pytest.mark.parametrize("task_id", ["..", "a/b", ".x", "", "a b", "x" * 65, "ü", "a\n"])
def test_an_id_stays_in_the_folder(task_id: str) -> None:
    with pytest.raises(TaskError, match="no id"):
        read_task(task_id, text("when: '@daily'"))


@given(
    title=st.text(min_size=1, max_size=40).map(lambda each: " ".join(each.split()) or "t"),
    prompt=st.text(min_size=1, max_size=80).filter(lambda each: each.strip() and "\r" not in each),
)
def test_what_is_written_is_read_back_whatever_it_says(title: str, prompt: str) -> None:
    task = read_task("x", write_task(title=title, when="every 2h", prompt=prompt, deliver=("telegram:dm:1",)))
    assert (task.title, task.prompt, task.deliver) == (
        title.strip() or "x",
        prompt.strip(),
        ("telegram:dm:1",),
    )


def test_a_switch_changes_one_line() -> None:
    before = text(
        "# mine", "when: '@daily'  # at night", "status: active", "title: enabled", body="enabled: true\n"
    )
    off = switch(before, on=False)
    assert not read_task("x", off).is_enabled
    assert "# mine" in off
    assert off.endswith("\nenabled: true\n")
    on = switch(off, on=True)
    assert read_task("x", on).is_enabled
    assert switch(on, on=True) == on


def test_silence_is_one_word_of_a_heartbeat_and_titles_make_ids() -> None:
    assert is_quiet("heartbeat:x", " **NOTHING_TO_SAY**.\n")
    assert not is_quiet("heartbeat:x", "NOTHING_TO_SAY but this")
    assert not is_quiet("task:x")
    assert not is_quiet(None)
    assert (make_slug("Weekly: Report!"), make_slug("周报")) == ("weekly-report", "task")
