"""Ask another member of the crew, in a thread of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import Any

import msgspec

from shipmate.errors import NotFoundError, ThreadIdError, ToolError
from shipmate.orchestrator.feed import Receipt
from shipmate.thread.errand import count_rounds, errand_of, read_errand
from shipmate.thread.service import Thread, ThreadService
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.values.event import Errand, IngressEvent, Outcome, TextEvent
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.crew import Crew
from shipmate.workspace.member import Member

# The platform of threads in which members talk among themselves.
CREW = "crew"
ASK = "ask"
# How many members may stand behind one another: who is asked may ask, and once more.
MAX_DEPTH = 3
# How often a member may go on by itself with answers that came back.
MAX_ROUNDS = 10
ANSWER_LIMIT = 14_000


class AskMemberArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    member: str
    message: str
    # The thread of an earlier answer, to go on there.
    thread: str = ""
    background: bool = False


class AskMember(Tool[AskMemberArguments]):
    """The tool with which a member asks a colleague. Who is asked works with its own rights."""

    name = "ask_member"
    description = (
        "Ask a colleague of RELATIONS.md; it sees only this message. thread goes on where it answered; "
        "background returns at once, and the answer comes as a message."
    )
    arguments = AskMemberArguments
    # The owner's relation is the leave to ask; with strangers' words a person is asked (decision 32).
    # Asked again after a crash, the colleague does not begin again: the event is the same.
    labels = Labels(reads_untrusted=True)
    delegates = True

    def __init__(
        self,
        crew: Crew,
        threads: ThreadService,
        receive: Callable[[IngressEvent], Awaitable[Receipt]],
        is_tainted: Callable[[Thread], bool],
    ) -> None:
        self._crew = crew
        self._threads = threads
        self._receive = receive
        self._is_tainted = is_tainted

    def vouches(self, output: Any) -> bool:
        # An error is our own word; how a colleague failed is told in an output.
        return output is None or (isinstance(output, dict) and output.get("tainted") is False)

    async def run(self, arguments: AskMemberArguments, context: ToolContext) -> ToolResult:
        asked = self._find(arguments.member, context.member)
        if not arguments.message.strip():
            raise ToolError("The message is empty. Nobody was asked.")
        here = await self._threads.read(ThreadId.parse(context.thread_id))
        before = errand_of(here)
        chain = (*(before.chain if before else ()), context.member.id)
        _check_chain(chain, asked)
        if count_rounds(here) > MAX_ROUNDS:
            raise ToolError(
                f"{MAX_ROUNDS} answers came back here since a person spoke. Nobody was asked; sum up."
            )
        thread_id = await self._thread(arguments, context, asked)
        errand = Errand(
            chain=chain,
            thread_id=context.thread_id,
            run_id=context.run_id,
            asked=asked.id,
            payer=before.payer if before else context.thread_id,
            is_tainted=self._is_tainted(here),
            is_awaited=not arguments.background,
        )
        event = TextEvent(
            platform=CREW,
            thread_id=str(thread_id),
            user_id="",
            message_id=name_errand(context.run_id, context.call_id),
            timestamp=timestamp(),
            member=asked.id,
            speaker=context.member.name,
            text=arguments.message,
            errand=errand,
        )
        receipt = await self._receive(event)
        told: dict[str, Any] = {"member": asked.id, "thread": str(thread_id)}
        if arguments.background:
            told |= {"status": "asked", "answer": f"{asked.name} is at work; the answer comes as a message."}
            return ToolResult(output={**told, "tainted": False})
        outcome = await receipt.outcome()
        return ToolResult(
            output={**told, "status": outcome.status, **await self._answer(asked, thread_id, outcome)}
        )

    def _find(self, name: str, asker: Member) -> Member:
        from shipmate.crew.roster import Roster

        colleagues = Roster(self._crew).colleagues(asker)
        called = name.casefold()
        found = [each for each in colleagues if each.id.casefold() == called] or [
            each for each in colleagues if each.name.casefold() == called
        ]
        if len(found) > 1:
            ids = ", ".join(each.id for each in found)
            raise ToolError(
                f"{len(found)} members are called {name[:64]!r}: {ids}. Use an id. Nobody was asked."
            )
        if not found:
            known = ", ".join(each.id for each in colleagues) or "nobody yet"
            raise ToolError(
                f"RELATIONS.md of {asker.id} names no member {name[:64]!r}. It may ask: {known}. "
                "Nobody was asked."
            )
        return found[0]

    async def _thread(self, arguments: AskMemberArguments, context: ToolContext, asked: Member) -> ThreadId:
        if not arguments.thread:
            return ThreadId(CREW, ASK, name_errand(context.run_id, context.call_id))
        try:
            thread_id = ThreadId.parse(arguments.thread)
            known = await self._threads.read(thread_id)
        except (ThreadIdError, NotFoundError):
            known, thread_id = None, ThreadId(CREW, ASK, "none")
        first = next((each for each in known.messages if each["role"] == "user"), None) if known else None
        errand = read_errand(first)
        is_ours = (
            errand is not None
            and errand.asked == asked.id
            and errand.thread_id == context.thread_id
            and errand.chain[-1] == context.member.id
        )
        if thread_id.platform != CREW or not is_ours:
            raise ToolError(f"{arguments.thread!r} is no thread in which {asked.name} answered here before.")
        return thread_id

    async def _answer(self, asked: Member, thread_id: ThreadId, outcome: Outcome) -> dict[str, Any]:
        answer = outcome.text or outcome.error or ""
        if outcome.status == "suspended":
            answer = (
                f"{asked.name} waits until a person has allowed what it wants to do, in {thread_id}. "
                "The answer comes as a message after that."
            )
        if len(answer) > ANSWER_LIMIT:
            answer = f"{answer[:ANSWER_LIMIT]}\n[cut; the whole answer is in the thread {thread_id}]"
        thread = await self._threads.read(thread_id)
        return {"answer": answer, "tainted": self._is_tainted(thread)}


def name_errand(run_id: str, call_id: str) -> str:
    """Return the same name for the same call, also after a crash."""
    return blake2b(f"{run_id} {call_id}".encode(), digest_size=12).hexdigest()


def _check_chain(chain: tuple[str, ...], asked: Member) -> None:
    way = " → ".join((*chain, asked.id))
    if asked.id in chain:
        raise ToolError(
            f"{way} goes round in a circle; {asked.id} waits for this answer itself. Nobody was asked."
        )
    if len(chain) > MAX_DEPTH:
        raise ToolError(
            f"{way} is too long a chain; at most {MAX_DEPTH} may stand behind one another. Nobody was asked."
        )
