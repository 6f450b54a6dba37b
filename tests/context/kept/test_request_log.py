from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.context.kept.account import list_turns, read_account
from shipmate.context.kept.kept_file import read_kept
from shipmate.models.neutral import (
    Block,
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.kept import THREAD, TOOLS, build, make_log, said, send
from tests.support.prompt import write_files

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, TEXTS),
    st.builds(CallBlock, TEXTS, TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=2)),
    st.builds(ResultBlock, TEXTS, TEXTS, TEXTS, st.just("success")),
    st.builds(ReasoningBlock, TEXTS, st.just({"by": "m"})),
)
MESSAGES = st.lists(
    st.builds(ModelMessage, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, min_size=1, max_size=3)),
    max_size=5,
)


@given(st.lists(MESSAGES, min_size=1, max_size=5))
def test_u5_what_is_read_back_is_what_was_sent(
    tmp_path_factory: pytest.TempPathFactory, requests: list[list[ModelMessage]]
) -> None:
    root = write_files(tmp_path_factory.mktemp("kept"), Agent="Be kind.", USER="Lin")
    log, context = make_log(root), build(root)
    for number, messages in enumerate(requests, 1):
        log.write(send(context, messages, f"run_{number}"))
    kept = read_kept(Layout(root), THREAD)
    assert len(kept.steps) == len(requests)
    for place, messages in enumerate(requests):
        account = read_account(kept, place)
        assert account.system == context.lasting
        assert [row.name for row in account.of("tool")] == [tool.name for tool in TOOLS]
        rows = account.of("message")
        assert [row.title for row in rows] == [message.role for message in messages]
        for row, message in zip(rows, messages, strict=True):
            assert all(getattr(block, "text", "") in row.text for block in message.blocks)
        assert account.tokens == sum(row.tokens for row in account.rows)


def test_u5_secrets_are_masked_in_every_piece_and_in_the_step(tmp_path: Path) -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
    write_files(tmp_path, Agent="The word is swordfish.")
    log = make_log(tmp_path, "swordfish")
    message = ModelMessage(
        "user",
        [
            TextBlock(f"swordfish password: hunter2 {pem}"),
            CallBlock("c1", "read", {"swordfish": 'npm_abcdefghijklmnop "swordfish"'}),
            CallBlock(
                "c2", "login", {"password": "pear", "deep": [{"githubToken": "plumplum", "token": "few"}]}
            ),
            ResultBlock("c1", "read", "ya29.abcdefghijkl pypi-abcdefghijklmnop", "success"),
        ],
    )
    sent = send(build(tmp_path), [message], words="swordfish")
    log.write(msgspec.structs.replace(sent, sampling={"user": "swordfish"}))
    kept = read_kept(Layout(tmp_path), THREAD)
    told = repr([kept.piece(digest) for digest in kept.digests]) + repr(kept.steps)
    for secret in ("swordfish", "hunter2", "abc\\n", "npm_a", "ya29.a", "pypi-a", "pear", "plumplum"):
        assert secret not in told
    assert '"token":"few"' in told
    assert "The word is •••." in read_account(kept, 0).system
    path = Layout(tmp_path).kept_requests(THREAD)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_u5_nothing_is_kept_of_a_thread_that_was_deleted_meanwhile(tmp_path: Path) -> None:
    log, sent = make_log(tmp_path), send(build(tmp_path), said("Hello."))
    Layout(tmp_path).thread(ThreadId.parse(THREAD)).unlink()
    log.write(sent)
    assert not Layout(tmp_path).kept_requests(THREAD).exists()


def test_u5_masking_hides_digits_and_leaves_roles_and_names_of_sections(tmp_path: Path) -> None:
    # `postgres://user:…` makes a secret of `user`.
    log = make_log(tmp_path, "user", "48151623")
    call = CallBlock("c1", "pay", {"pin": 48151623, "of": "user", "sum": 12})
    log.write(send(build(tmp_path), [*said("The user is user."), ModelMessage("assistant", [call])]))
    account = read_account(read_kept(Layout(tmp_path), THREAD), 0)
    first, second = account.of("message")
    assert (first.title, first.text) == ("user", "The ••• is •••.")
    assert second.text == '→ pay {"pin":"•••","of":"•••","sum":12}'
    assert "user" in {row.name for row in account.left_out}


def test_u5_a_secret_that_was_learned_later_is_masked_from_then_on(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="The word is swordfish.")
    log, context = make_log(tmp_path), build(tmp_path)
    talk = said("swordfish", "yes")
    log.write(send(context, talk))
    log._mask.cover(["swordfish"])  # pyright: ignore[reportPrivateUsage]
    log.write(send(context, talk, "run_2"))
    kept = read_kept(Layout(tmp_path), THREAD)
    for place, word in enumerate(("swordfish", "•••")):
        account = read_account(kept, place)
        assert (word in account.system, account.of("message")[0].text) == (True, word)


def test_u5_files_and_signatures_are_named_and_not_kept(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x")
    message = ModelMessage(
        "user",
        [FileBlock("image/png", "QUJD" * 10_000, "cat.png", "cat"), ReasoningBlock("hm", {"s": "X" * 9})],
    )
    log = make_log(tmp_path)
    for run in ("run_1", "run_2"):
        log.write(send(build(tmp_path), [message], run))
    (row,) = read_account(read_kept(Layout(tmp_path), THREAD), 1).of("message")
    assert "[cat.png, image/png, 30000 bytes, not kept]" in row.text
    data = Layout(tmp_path).kept_requests(THREAD).read_bytes()
    assert b"QUJDQUJD" not in data
    assert len(data) < 10_000


def test_u5_a_turn_that_changes_nothing_adds_little(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x" * 5000, SOUL="calm " * 800)
    log, context = make_log(tmp_path), build(tmp_path)
    path = Layout(tmp_path).kept_requests(THREAD)
    talk = said(*(f"words {number}" for number in range(400)))
    log.write(send(context, talk))
    before = path.stat().st_size
    talk += said("what now?", "A plain answer of some length, as models give them.")
    log.write(send(build(tmp_path), talk, "run_2"))
    assert path.stat().st_size - before < 2_000


def test_u5_another_process_goes_on_where_the_last_was_killed(tmp_path: Path) -> None:
    """Kill a process in the midst of a line; the next one keeps on, and nothing whole is lost."""
    write_files(tmp_path, Agent="Be kind.")
    talk = said("one", "two", "three")
    make_log(tmp_path).write(send(build(tmp_path), talk[:1]))
    path = Layout(tmp_path).kept_requests(THREAD)
    with path.open("ab") as file:
        file.write(b'{"type":"piece","digest":"half')
    make_log(tmp_path).write(send(build(tmp_path), talk, "run_2"))
    kept = read_kept(Layout(tmp_path), THREAD)
    assert [step.run_id for step in kept.steps] == ["run_1", "run_2"]
    assert kept.steps[1].same == 1
    assert [row.text for row in read_account(kept, 1).of("message")] == ["one", "two", "three"]


KILLED = """
import sys
from pathlib import Path
from tests.support.kept import build, make_log, said, send
root = Path(sys.argv[1])
log, context = make_log(root), build(root)
number = 0
while True:
    number += 1
    log.write(send(context, said(*map(str, range(number % 40))), f"run_{number}"))
    if number == 20:
        print("going", flush=True)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_u5_killed_at_any_time_every_step_that_is_there_can_be_opened(tmp_path: Path, attempt: int) -> None:
    write_files(tmp_path, Agent="Be kind.")
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE, cwd=Path.cwd()
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    # Read while it is written, then after it was killed.
    for _ in range(5 + attempt):
        assert read_kept(Layout(tmp_path), THREAD).steps
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    kept = read_kept(Layout(tmp_path), THREAD)
    assert len(kept.steps) >= 20
    for place, step in enumerate(kept.steps):
        rows = read_account(kept, place).rows
        assert all(row.is_known for row in rows)
        number = int(step.run_id.removeprefix("run_"))
        assert [row.text for row in rows if row.kind == "message"] == list(map(str, range(number % 40)))


def test_u5_two_processes_that_keep_one_thread_lose_no_step(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="Be kind.")
    one, two = make_log(tmp_path), make_log(tmp_path)
    for number in range(10):
        (one if number % 2 else two).write(
            send(build(tmp_path), said("a", "b", str(number)), f"run_{number}")
        )
    kept = read_kept(Layout(tmp_path), THREAD)
    assert [read_account(kept, place).of("message")[2].text for place in range(10)] == list(
        map(str, range(10))
    )


async def test_u5_trouble_with_the_disk_is_said_once_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, Agent="x")
    log = make_log(tmp_path)
    log.keep(send(build(tmp_path), said("one")))
    await log.flush()
    write = os.write

    def refuse(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = Layout(tmp_path).kept_requests(THREAD)
    size = path.stat().st_size
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:9]))
    with pytest.raises(OSError, match="full"):
        log.write(send(build(tmp_path), said("one", "two"), "run_0"))
    # What fitted of it is taken back.
    assert path.stat().st_size == size
    monkeypatch.setattr(os, "write", refuse)
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            log.keep(send(build(tmp_path), said("one", "two"), f"run_{number}"))
            await log.flush()
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == 1
    assert "No space left" in caplog.records[0].message
    monkeypatch.setattr(os, "write", write)
    log.keep(send(build(tmp_path), said("one", "two"), "run_9"))
    await log.close()
    assert [step.run_id for step in read_kept(Layout(tmp_path), THREAD).steps] == ["run_1", "run_9"]


@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "hard link", "folder link", "locked"])
async def test_u5_a_file_that_is_none_of_ours_is_left_alone(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    root = write_files(tmp_path / "ship", Agent="x")
    path = Layout(root).kept_requests(THREAD)
    path.parent.parent.mkdir()
    outside = tmp_path / "outside"
    handle = None
    if kind == "folder link":
        outside.mkdir()
        path.parent.symlink_to(outside)
    else:
        path.parent.mkdir()
        outside.write_text("theirs")
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "link":
            path.symlink_to(outside)
        case "folder":
            path.mkdir()
        case "hard link":
            path.hardlink_to(outside)
        case "locked":
            handle = path.open("w")
            fcntl.flock(handle, fcntl.LOCK_EX)
        case _:
            assert kind == "folder link"
    log = make_log(root)
    async with asyncio.timeout(20):
        log.keep(send(build(root), said("one")))
        await log.close()
    assert "not kept" in caplog.text
    assert list(outside.iterdir()) == [] if outside.is_dir() else outside.read_text() == "theirs"
    if handle is not None:
        handle.close()


def test_u5_a_retried_turn_is_named_by_its_attempt(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x")
    log, context = make_log(tmp_path), build(tmp_path)
    for run, step, asked in (("a", 1, "m1"), ("a", 2, "m1"), ("b", 1, "m1"), ("c", 1, "m2")):
        log.write(send(context, said("hi"), f"run_{run}", step, asked=asked))
    turns = list_turns(read_kept(Layout(tmp_path), THREAD))
    assert [(turn.number, len(turn.places), turn.attempt, turn.attempts) for turn in turns] == [
        (1, 2, 1, 2),
        (2, 1, 2, 2),
        (3, 1, 1, 1),
    ]
