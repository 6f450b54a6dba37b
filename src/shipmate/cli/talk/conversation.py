"""Hold a conversation in the terminal: what is typed goes in, what happens comes out."""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import time
from collections.abc import Coroutine, Sequence

from prompt_toolkit.formatted_text import StyleAndTextTuples

from shipmate.app import Shipmate
from shipmate.approvals.question import describe
from shipmate.cli.ship import YOLO, make_text
from shipmate.cli.talk.command import do_command
from shipmate.cli.talk.completing import ChatCompleter
from shipmate.cli.talk.prompt import Prompt
from shipmate.cli.talk.screen import Screen
from shipmate.cli.talk.slash import parse_slash
from shipmate.cli.terminal.attaching import attach_named
from shipmate.cli.terminal.card import clean, describe_time, shorten
from shipmate.cli.terminal.leaving import is_leaving
from shipmate.cli.terminal.show import write_message
from shipmate.cli.terminal.tongue import language, say, say_error
from shipmate.cli.terminal.transcript import Item, Transcript
from shipmate.cli.terminal.watching import Watching
from shipmate.cli.terminal.width import cut, fit, wrap
from shipmate.errors import ShipmateError
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.feed import FeedEvent
from shipmate.orchestrator.lane.owner import is_planning
from shipmate.thread.service import Thread
from shipmate.values.event import TYPED_MODEL, RetryEvent, TextEvent
from shipmate.values.message import UIMessage, metadata_of, text_of
from shipmate.values.primed import hides_priming, is_primed
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.upload import name_upload

log = logging.getLogger(__name__)
LIVE_LINES = 8
RECAP_MESSAGES = 6
LISTED_THREADS = 100
# Redrawing more often than people can see would only make slow connections flicker.
FRAME_SECONDS = 0.04
TICK_SECONDS = 0.25
LEAVE_HINT = "Ctrl-C again leaves, as Ctrl-D does"
YOLO_MARK: StyleAndTextTuples = [("bold fg:ansiwhite bg:ansired", " yolo "), ("bold", " › ")]
LEAVING = ("exit", "quit", "/exit", ":q", "退出")
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Conversation:
    """The talk at one terminal, in one thread at a time; runs go on while the next line is typed."""

    def __init__(
        self, ship: Shipmate, thread_id: ThreadId, model: str | None = None, member: str | None = None
    ) -> None:
        self.thread_id = thread_id
        self.ship = ship
        self.model = model
        # Who answers, when it is not the thread's own member.
        self.member = member
        self._prompt = Prompt(
            ship.layout.history,
            live=self._live,
            interrupt=self._stop_soon,
            warn=lambda: self.screen.say(LEAVE_HINT),
            completer=ChatCompleter(
                ship.layout.root, {"thread": lambda: self.listed, "member": self._name_members}
            ),
            mark=YOLO_MARK if ship.config.permissions.mode == "yolo" else None,
        )
        self.screen = Screen(self._prompt.print)
        self._transcript = self._new_transcript()
        self._watching = Watching()
        self._tasks: set[asyncio.Task[None]] = set()
        self._follower: asyncio.Task[None] | None = None
        # Messages sent here whose run has not ended: their words, by message id.
        self._open: dict[str, str] = {}
        # The threads that were used last, for completion.
        self.listed: list[str] = []
        self._busy_since = time.monotonic()
        # The run whose time is shown.
        self._timed = ""
        # What stands in the prompt for the next line, to be changed.
        self.draft = ""
        # What was sent from here, by message id, and which messages of others have been shown.
        self._sent: set[str] = set()
        self._seen: set[str] = set()

    async def hold(self) -> None:
        """Talk until the person leaves."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop_soon)
        await self._greet()
        await self.enter(self.thread_id)
        if unfinished := self.ship.keeper.taken_up:
            self.screen.say(f"taking up what was left unfinished in {', '.join(unfinished)}")
        try:
            with self._prompt.hold():
                await self._read_lines()
        finally:
            await self._leave()

    async def _read_lines(self) -> None:
        while True:
            draft, self.draft = self.draft, ""
            try:
                text = await self._prompt.read(draft)
            except EOFError:
                return
            self.screen.note_input()
            try:
                if text.strip() and await self._take(text):
                    return
            except ShipmateError as error:
                # A disk that refuses or a keeper that is halted ends no conversation.
                self.screen.list([clean(say_error(error))], "red")

    async def _take(self, text: str) -> bool:
        """Do what a line says; tell whether it ends the conversation."""
        if text.strip() in LEAVING:
            return True
        slash = parse_slash(text)
        if text.startswith("!") and text[1:].strip():
            event = make_text(self.thread_id, text.strip(), model=TYPED_MODEL, member=self.member)
            await self.send(event, text)
        elif slash is None:
            await self.speak(text.strip())
        elif slash.problem:
            self.screen.say(slash.problem, "red")
        else:
            return await do_command(self, slash)
        return False

    async def speak(self, text: str, *, steer: bool = False) -> None:
        """Say something in the thread, with the files it names behind an `@`."""
        attachments = attach_named(self.ship.uploads, self.ship.layout.root, text)
        for each in attachments:
            self.screen.say(f"attached: {clean(each.filename or '')}")
        event = make_text(
            self.thread_id, text, steer=steer, model=self.model, member=self.member, attachments=attachments
        )
        await self.send(event, text)

    async def send(self, event: TextEvent | RetryEvent, words: str) -> None:
        """Hand an event over and follow it; what waits behind a run is said to wait."""
        if self._open:
            steers = isinstance(event, TextEvent) and event.steer
            self.screen.say(f"{'steering' if steers else 'queued'}: {shorten(words)}")
        else:
            self._busy_since = time.monotonic()
        self._open[event.message_id] = words
        self._sent.add(event.message_id)
        if len(self._open) == 1:
            self.start(self._tick())
        try:
            receipt = await self.ship.receive(event)
        except BaseException:
            self._open.pop(event.message_id, None)
            raise

        async def wait() -> None:
            try:
                outcome = await receipt.outcome()
                if not outcome.run_id and outcome.error:
                    self.screen.say(clean(outcome.error), "red")
            finally:
                self._open.pop(event.message_id, None)
                self._prompt.redraw()

        self.start(wait())

    async def _tick(self) -> None:
        """Keep the clock of the status line going while something runs."""
        while self._open:
            self._prompt.redraw()
            await asyncio.sleep(TICK_SECONDS)

    async def _follow(self, thread_id: ThreadId) -> None:
        """Show what happens in a thread, whoever caused it."""
        async with self.ship.keeper.watch(str(thread_id)) as queue:
            while True:
                told = [await queue.get()]
                while not queue.empty():
                    told.append(queue.get_nowait())
                try:
                    await self._show(told)
                except Exception as error:
                    log.exception("%s cannot be shown", thread_id)
                    self.screen.say(
                        f"something that happened here cannot be shown ({type(error).__name__}). "
                        f"The thread has all of it: shipmate threads show {thread_id}",
                        "red",
                    )
                await asyncio.sleep(FRAME_SECONDS)

    async def _show(self, told: list[FeedEvent]) -> None:
        items: list[Item] = []
        ended = False
        for event in told:
            if event.run_id not in ("", self._timed):
                self._timed = event.run_id
                self._busy_since = self._busy_since if self._open else time.monotonic()
                items += await self._words_of_others(event.answers)
            items += await self._catch_up() if event.is_handed_over else []
            for chunk in self._watching.take(event):
                items += self._transcript.apply(chunk)
            items += self._transcript.end() if event.outcome is not None else []
            ended = ended or event.outcome is not None
        questions = [item for item in items if item.kind == "question"]
        self.screen.show(item for item in items if item.kind != "question")
        if questions:
            await self.show_questions({item.text for item in questions})
        if ended:
            self.screen.gap()
        self._prompt.redraw()

    async def _words_of_others(self, answered: frozenset[str]) -> list[Item]:
        """Return what others said that a run answers: its answer alone would be to nothing."""
        if answered <= self._sent or not await self.ship.threads.exists(self.thread_id):
            return []
        messages = (await self.ship.threads.read(self.thread_id)).messages
        found = (each for each in messages if metadata_of(each).get("messageId") in answered)
        return [item for message in found for item in self._unseen(message)]

    def _unseen(self, message: UIMessage) -> list[Item]:
        """Return the words of a message that others sent, unless they are shown already."""
        is_own = metadata_of(message).get("messageId") in self._sent
        if message["role"] != "user" or is_own or message["id"] in self._seen:
            return []
        self._seen.add(message["id"])
        return [Item("said", f"› {clean(text_of(message))}")]

    async def _catch_up(self) -> list[Item]:
        """Return what ended while one keeper took over from another: it is in the thread alone."""
        if not await self.ship.threads.exists(self.thread_id):
            return []
        thread = await self.ship.threads.read(self.thread_id)
        run = self.ship.keeper.running(str(self.thread_id))
        items: list[Item] = []
        for message in await self._visible(thread):
            items += self._unseen(message)
            # What goes on is told by the keeper.
            is_over = "outcome" in metadata_of(message) or message["id"] in thread.waiting
            is_live = run is not None and message["id"] == run.message_id
            if message["role"] == "assistant" and is_over and not is_live:
                told = self._watching.complete(message)
                items += [item for chunk in told for item in self._transcript.apply(chunk)]
                items += self._transcript.end() if told else []
        return items

    async def show_questions(self, ids: set[str] | None = None) -> None:
        """Show what waits for a person here: all of it, or some."""
        waiting = await self.ship.approvals.pending(str(self.thread_id))
        for approval in waiting:
            if ids is None or approval.id in ids:
                self.screen.show([Item("question", describe(approval, language()))])

    async def enter(self, thread_id: ThreadId) -> None:
        """Follow a thread from here on; show how it stands when it has been used before."""
        if self._follower is not None:
            self._follower.cancel()
        self.thread_id, self._transcript, self._watching = thread_id, self._new_transcript(), Watching()
        self.screen.say(f"thread {thread_id}")
        if is_planning(await self.ship.store.threads.find(str(thread_id))):
            self.screen.say("plan first: nothing acts here until /plan go")
        self.listed = [each.thread_id for each in await self.ship.store.threads.list(limit=LISTED_THREADS)]
        if await self.ship.threads.exists(thread_id):
            thread = await self.ship.threads.read(thread_id)
            self._transcript.remember(thread.messages)
            run = self.ship.keeper.running(str(thread_id))
            # What is being written is told by the keeper, from its beginning.
            stored = [
                each for each in await self._visible(thread) if run is None or each["id"] != run.message_id
            ]
            for message in stored:
                self._watching.remember(message)
            self._seen = {message["id"] for message in stored}
            shown = [each for each in stored if "replacedBy" not in metadata_of(each)]
            recap = [write_message(message, with_output=False) for message in shown[-RECAP_MESSAGES:]]
            self.screen.show(Item("text", clean(text)) for text in recap if text)
            await self.show_questions()
        self.screen.gap()
        self._follower = self.start(self._follow(thread_id))

    async def _visible(self, thread: Thread) -> Sequence[UIMessage]:
        """Return the messages people are shown: without replayed ones where the thread hides them."""
        info = await self.ship.store.threads.find(str(thread.id))
        if info is None or not hides_priming(info.settings):
            return thread.messages
        return [row for row in thread.messages if not is_primed(row)]

    async def ask(self, lines: list[str]) -> str:
        """Show something and read one line in answer; leaving counts as no answer."""
        self.screen.list([clean(line) for line in lines])
        try:
            return (await self._prompt.read()).strip()
        except EOFError:
            return ""

    async def equip(self) -> Equipment:
        """Return the member who answers here, with what it works with."""
        info = await self.ship.store.threads.find(str(self.thread_id))
        return self.ship.equip(self.member or (info.member if info else CAPTAIN))

    def _name_members(self) -> list[str]:
        return [member.id for member in self.ship.crew.list()]

    async def _greet(self) -> None:
        equipment = await self.equip()
        model = equipment.models.named(self.model).name
        how = say("/help for help, Ctrl-D to leave")
        self.screen.list([fit(f"{clean(equipment.member.name)} · {clean(model)} · {how}")], "dim")
        if self.ship.config.permissions.mode == "yolo":
            self.screen.say(f"⚠ {say(YOLO)}", "bold white on red")

    async def _leave(self) -> None:
        run = self.ship.keeper.running(str(self.thread_id))
        # Only what was asked here: a run that others wait for goes on, and so does one of a closed terminal.
        is_own = run is not None and not run.answers.isdisjoint(self._open)
        if is_own and not is_leaving() and await self.ship.keeper.stop(str(self.thread_id)):
            self.screen.say("the run is stopped")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if await self.ship.threads.exists(self.thread_id):
            self.screen.say(f"Go on with: shipmate chat --thread {self.thread_id}")

    def _stop_soon(self) -> bool:
        """Stop the run; tell whether there is one."""
        is_running = self.ship.keeper.running(str(self.thread_id)) is not None
        self.start(self._stop())
        return is_running

    async def _stop(self) -> None:
        try:
            await self.ship.keeper.stop(str(self.thread_id))
        except ShipmateError as error:
            self.screen.list([clean(say_error(error))], "red")

    def _live(self) -> list[tuple[str, str]]:
        """Return the lines above the prompt: what is being said and done, and how long it has taken."""
        width = shutil.get_terminal_size().columns
        style = "italic fg:ansibrightblack" if self._transcript.is_thinking else ""
        rows = [row for line in self._transcript.live() for row in wrap(line, width - 1)]
        lines = [(style, row) for row in rows[-LIVE_LINES:]]
        run = self.ship.keeper.running(str(self.thread_id))
        if not self._open and run is None:
            return lines
        spent = time.monotonic() - self._busy_since
        waiting = len(set(self._open) - run.answers) if run is not None else 0
        status = (
            f"{SPINNER[int(spent / TICK_SECONDS) % len(SPINNER)]} {describe_time(round(spent * 10) * 100)}"
        )
        queued = f" · {say(f'{waiting} queued')}" if waiting else ""
        shown = cut(f"{status}{queued} · {say('Ctrl-C stops')}", width - 1)
        return [*lines, ("fg:ansibrightblack", shown)]

    def _new_transcript(self) -> Transcript:
        return Transcript(lambda url: name_upload(self.ship.uploads, url))

    def start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
