"""What must hold once every process has come back and nothing is left to do."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator

import httpx2
import msgspec

from shipmate.approvals.approval_file import ApprovalFiles
from shipmate.approvals.audit import Audit
from shipmate.approvals.value import Approval
from shipmate.orchestrator.turn import message_id_of
from shipmate.thread.row import merge_rows, split_lines
from shipmate.values.message import UIMessage, is_settled, metadata_of, text_of, tool_parts
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.crash.record import ROOMS, Record, Said
from tests.support.node import node_command
from tests.support.stamp import EFFECTS, Effect

ENDINGS = ("replied", "failed", "stopped", "steered")


def approval_ids(layout: Layout) -> list[str]:
    """List the approvals there are files of."""
    return sorted(path.stem for path in layout.approvals.glob("*.json"))


def open_calls(layout: Layout) -> list[str]:
    """List the calls that threads on disk do not tell the end of."""
    found: list[str] = []
    for room in ROOMS:
        path = layout.thread(ThreadId.parse(room))
        rows, _, _ = split_lines(path.read_bytes() if path.exists() else b"", 1)
        calls = [part for message in merge_rows(rows) for part in tool_parts(message)]
        found += [f"{room}: {part['toolCallId']}" for part in calls if not is_settled(part)]
    return found


class Check:
    """The files of a workspace at rest, compared with what people were told."""

    def __init__(self, layout: Layout, record: Record) -> None:
        self._layout = layout
        self._record = record
        self._rows: list[bytes] = []
        self._threads = {room: self._read(room) for room in ROOMS}
        lines = (layout.root / EFFECTS).read_bytes().splitlines()
        self.effects = [msgspec.json.decode(line, type=Effect) for line in lines]

    def troubles(self) -> Iterator[str]:
        """Go over everything that is not as it must be."""
        yield from self._record.troubles
        yield from self._said()
        yield from self._order()
        yield from self._acts()
        for room, messages in self._threads.items():
            for message in messages:
                yield from self._ended(room, messages, message)
        yield from self._refused_rows()
        found = Audit(self._layout).verify()
        if not found.holds:
            yield f"the audit log breaks: {found.breaks}"

    def _read(self, room: str) -> list[UIMessage]:
        path = self._layout.thread(ThreadId.parse(room))
        data = path.read_bytes() if path.exists() else b""
        rows, problems, _ = split_lines(data, 1)
        self._record.troubles += [f"{room}: line {each.line}: {each.message}" for each in problems]
        self._rows += data.splitlines()
        return merge_rows(rows)

    def _said(self) -> Iterator[str]:
        """Every acknowledged message stands once and is answered; its sender was told."""
        places = [
            (room, mark, message)
            for room, messages in self._threads.items()
            for message in messages
            if message["role"] == "user"
            for mark in text_of(message).removeprefix("please ").split()
        ]
        for said in self._record.said.values():
            found = [(room, message) for room, mark, message in places if mark == said.mark]
            if len(found) > 1 or (said.acknowledged and not found):
                yield f"{said.mark} stands {len(found)} times: {said}"
            for room, message in found:
                if room != said.thread_id:
                    yield f"{said.mark} stands in {room}: {said}"
                yield from self._answered(said, message)

    def _answered(self, said: Said, message: UIMessage) -> Iterator[str]:
        run_id = metadata_of(message).get("runId")
        messages = self._threads[said.thread_id]
        answer = next((each for each in messages if each["id"] == message_id_of(str(run_id))), None)
        if answer is None:
            yield f"{said.mark} has no answer: {said}"
            return
        # Words of a call that was decided after the talk went on are said to someone else.
        has_asked = any("approval" in part for part in tool_parts(answer))
        is_replied = metadata_of(answer).get("outcome") == "replied"
        if is_replied and not has_asked and said.mark not in text_of(answer):
            yield f"{said.mark} was answered without having been read: {text_of(answer)!r}"

    def _order(self) -> Iterator[str]:
        """What was known to be stored before another thing was sent stands before it."""
        for room, messages in self._threads.items():
            marks = [text_of(message).removeprefix("please ") for message in messages]
            said = [self._record.said[mark] for mark in marks if mark in self._record.said]
            for place, later in enumerate(said):
                for after in said[place + 1 :]:
                    if after.acknowledged is not None and after.acknowledged < later.sent:
                        yield f"{room}: {after.mark} stands behind {later.mark}: {after} {later}"

    def _ended(self, room: str, messages: list[UIMessage], message: UIMessage) -> Iterator[str]:
        if message["role"] != "assistant":
            return
        has_asked = any("approval" in part for part in tool_parts(message))
        if metadata_of(message).get("outcome") not in ENDINGS and not (has_asked and message != messages[-1]):
            yield f"{room}: {message['id']} has no outcome"
        for part in tool_parts(message):
            if not is_settled(part):
                yield f"{room}: {message['id']} {part['toolCallId']} is {part['state']}"

    def _acts(self) -> Iterator[str]:
        """Nothing acted twice, without leave, or before it was on disk; nothing is told that did not act."""
        calls = {
            part["toolCallId"]: part
            for messages in self._threads.values()
            for message in messages
            for part in tool_parts(message)
        }
        done = Counter(effect.mark for effect in self.effects)
        yield from (f"{mark} acted {count} times" for mark, count in done.items() if count > 1)
        approvals = self._approvals()
        for effect in self.effects:
            if not effect.is_claimed:
                yield f"{effect} was not on disk when it ran"
            if effect.call_id not in calls:
                yield f"{effect} stands in no thread"
            asked = approvals.get(effect.call_id)
            if effect.tool == "seal" and (asked is None or asked.status != "approved" or not asked.decision):
                yield f"{effect} had no leave: {asked}"
        for call_id, part in calls.items():
            is_done = part["state"] == "output-available" and part["type"] != "tool-look"
            if is_done and call_id not in {effect.call_id for effect in self.effects}:
                yield f"{call_id} is told to have been done and was not"

    def _approvals(self) -> dict[str, Approval]:
        records = ApprovalFiles(self._layout)
        found = [records.read(each) for each in approval_ids(self._layout)]
        return {each.call_id: each for each in found if each is not None}

    def _refused_rows(self) -> Iterator[str]:
        """Every row is a message for the real client."""
        node, folder = node_command()
        checked = subprocess.run(
            [node, "validate.mjs", "ai6"],
            cwd=folder,
            input=b"\n".join(self._rows),
            capture_output=True,
            timeout=120,
            check=True,
        )
        yield from (f"a row is refused: {line}" for line in checked.stdout.decode().splitlines())

    async def index_troubles(self, client: httpx2.AsyncClient) -> list[str]:
        """Say where lists and search differ from the files."""
        listed = (await client.get("/api/threads", params={"limit": 100})).json()["threads"]
        counts = {each["id"]: each["messageCount"] for each in listed}
        held = {room: len(messages) for room, messages in self._threads.items() if messages}
        troubles = [f"the list counts {counts}, the files hold {held}"] if counts != held else []
        for room, messages in self._threads.items():
            late = self._read(room)[len(messages) :]
            troubles += [f"{room}: {message} was written after all had come to rest" for message in late]
        for room, messages in self._threads.items():
            for message in messages:
                if message["role"] == "user" and not await _is_found(client, room, message):
                    troubles.append(f"{room}: {message['id']} is not found by its words")
        return troubles


async def _is_found(client: httpx2.AsyncClient, room: str, message: UIMessage) -> bool:
    found = await client.get("/api/search", params={"query": text_of(message), "limit": 100})
    return any((hit["threadId"], hit["messageId"]) == (room, message["id"]) for hit in found.json()["hits"])
