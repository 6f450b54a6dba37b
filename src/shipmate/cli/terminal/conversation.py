"""Hold a conversation in the terminal: what is typed goes in, what happens comes out."""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import time
from collections.abc import Coroutine

from shipmate.app import Shipmate
from shipmate.approvals.question import describe
from shipmate.cli.place import new_thread_id, parse_thread_id
from shipmate.cli.ship import YOLO, make_text
from shipmate.cli.terminal.card import clean, describe_time, shorten
from shipmate.cli.terminal.leaving import is_leaving
from shipmate.cli.terminal.note import hand_over, pin_lines, read_note
from shipmate.cli.terminal.prompt import Prompt
from shipmate.cli.terminal.rewind import rewind
from shipmate.cli.terminal.screen import Screen
from shipmate.cli.terminal.show import write_message
from shipmate.cli.terminal.slash import Slash, help_lines, parse_slash
from shipmate.cli.terminal.transcript import Item, Transcript
from shipmate.cli.terminal.watching import Watching
from shipmate.cli.threads import EMPTY, format_threads
from shipmate.context.request import ContextRequest
from shipmate.errors import ShipmateError, UserError
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.feed import FeedEvent
from shipmate.thread.service import Thread
from shipmate.values.message import UIMessage, metadata_of, text_of
from shipmate.values.primed import hides_priming, is_primed
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

log = logging.getLogger(__name__)
LIVE_LINES = 8
RECAP_MESSAGES = 6
LISTED_THREADS = 12
# Redrawing more often than people can see would only make slow connections flicker.
FRAME_SECONDS = 0.04
TICK_SECONDS = 0.25
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Conversation:
    """The talk at one terminal, in one thread at a time; runs go on while the next line is typed."""

    def __init__(
        self, ship: Shipmate, thread_id: ThreadId, model: str | None = None, member: str | None = None
    ) -> None:
        self.thread_id = thread_id
        self._ship = ship
        self._model = model
        # Who answers, when it is not the thread's own member.
        self._member = member
        self._prompt = Prompt(ship.layout.history, live=self._live, interrupt=self._stop_soon)
        self._screen = Screen(self._prompt.print)
        self._transcript = Transcript()
        self._watching = Watching()
        self._tasks: set[asyncio.Task[None]] = set()
        self._follower: asyncio.Task[None] | None = None
        # Messages sent here whose run has not ended: their words, by message id.
        self._open: dict[str, str] = {}
        self._busy_since = time.monotonic()
        # The run whose time is shown.
        self._timed = ""
        # What was sent from here, by message id, and which messages of others have been shown.
        self._sent: set[str] = set()
        self._seen: set[str] = set()

    async def hold(self) -> None:
        """Talk until the person leaves."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop_soon)
        await self._greet()
        await self._enter(self.thread_id)
        if unfinished := self._ship.keeper.taken_up:
            self._screen.say(f"taking up what was left unfinished in {', '.join(unfinished)}")
        try:
            with self._prompt.hold():
                await self._read_lines()
        finally:
            await self._leave()

    async def _read_lines(self) -> None:
        while True:
            try:
                text = await self._prompt.read()
            except EOFError:
                return
            self._screen.note_input()
            try:
                if text.strip() and await self._take(text):
                    return
            except ShipmateError as error:
                # A disk that refuses or a keeper that is halted ends no conversation.
                self._screen.say(clean(str(error)), "red")

    async def _take(self, text: str) -> bool:
        """Do what a line says; tell whether it ends the conversation."""
        slash = parse_slash(text)
        if slash is None:
            await self._say(text.strip())
        elif slash.problem:
            self._screen.say(slash.problem, "red")
        else:
            return await self._command(slash)
        return False

    async def _command(self, slash: Slash) -> bool:
        match slash.name:
            case "help":
                self._say_lines(help_lines())
            case "new":
                await self._enter(new_thread_id())
            case "threads":
                found = await self._ship.store.threads.list(limit=LISTED_THREADS)
                self._say_lines(format_threads(found) or [EMPTY])
            case "thread":
                await self._enter(parse_thread_id(slash.rest))
            case "course" | "pin" | "unpin" | "model":
                self._model = None if slash.name == "model" and slash.rest else self._model
                event = read_note(self.thread_id, slash, self._member)
                self._start(await hand_over(self._ship, event, self._screen.say))
            case "pins":
                self._say_lines(await pin_lines(self._ship.threads, self.thread_id))
            case "stop":
                if not await self._ship.keeper.stop(str(self.thread_id)):
                    self._screen.say("nothing is running")
            case "prompt":
                await self._say(f"/prompt {slash.rest}")
            case "steer":
                await self._say(slash.rest, steer=True)
            case "rewind":
                await self._rewind(slash.rest)
            case "member":
                await self._choose_member(slash.rest)
            case "context":
                await self._show_context()
            case _:
                return True
        return False

    async def _say(self, text: str, *, steer: bool = False) -> None:
        event = make_text(self.thread_id, text, steer=steer, model=self._model, member=self._member)
        if self._open:
            self._screen.say(f"{'steering' if steer else 'queued'}: {shorten(text)}")
        else:
            self._busy_since = time.monotonic()
        self._open[event.message_id] = text
        self._sent.add(event.message_id)
        if len(self._open) == 1:
            self._start(self._tick())
        try:
            receipt = await self._ship.receive(event)
        except BaseException:
            self._open.pop(event.message_id, None)
            raise

        async def wait() -> None:
            try:
                await receipt.outcome()
            finally:
                self._open.pop(event.message_id, None)
                self._prompt.redraw()

        self._start(wait())

    async def _tick(self) -> None:
        """Keep the clock of the status line going while something runs."""
        while self._open:
            self._prompt.redraw()
            await asyncio.sleep(TICK_SECONDS)

    async def _follow(self, thread_id: ThreadId) -> None:
        """Show what happens in a thread, whoever caused it."""
        async with self._ship.keeper.watch(str(thread_id)) as queue:
            while True:
                told = [await queue.get()]
                while not queue.empty():
                    told.append(queue.get_nowait())
                try:
                    await self._show(told)
                except Exception as error:
                    log.exception("%s cannot be shown", thread_id)
                    self._screen.say(
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
        self._screen.show(item for item in items if item.kind != "question")
        if questions:
            await self._show_questions({item.text for item in questions})
        if ended:
            self._screen.gap()
        self._prompt.redraw()

    async def _words_of_others(self, answered: frozenset[str]) -> list[Item]:
        """Return what others said that a run answers: its answer alone would be to nothing."""
        if answered <= self._sent or not await self._ship.threads.exists(self.thread_id):
            return []
        messages = (await self._ship.threads.read(self.thread_id)).messages
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
        if not await self._ship.threads.exists(self.thread_id):
            return []
        thread = await self._ship.threads.read(self.thread_id)
        run = self._ship.keeper.running(str(self.thread_id))
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

    async def _show_questions(self, ids: set[str] | None = None) -> None:
        waiting = await self._ship.approvals.pending(str(self.thread_id))
        for approval in waiting:
            if ids is None or approval.id in ids:
                self._screen.show([Item("question", describe(approval, self._ship.config.language))])

    async def _enter(self, thread_id: ThreadId) -> None:
        """Follow a thread from here on; show how it stands when it has been used before."""
        if self._follower is not None:
            self._follower.cancel()
        self.thread_id, self._transcript, self._watching = thread_id, Transcript(), Watching()
        self._screen.say(f"thread {thread_id}")
        if await self._ship.threads.exists(thread_id):
            thread = await self._ship.threads.read(thread_id)
            self._transcript.remember(thread.messages)
            run = self._ship.keeper.running(str(thread_id))
            # What is being written is told by the keeper, from its beginning.
            stored = [
                each for each in await self._visible(thread) if run is None or each["id"] != run.message_id
            ]
            for message in stored:
                self._watching.remember(message)
            self._seen = {message["id"] for message in stored}
            shown = stored
            recap = [write_message(message, with_output=False) for message in shown[-RECAP_MESSAGES:]]
            self._screen.show(Item("text", clean(text)) for text in recap if text)
            await self._show_questions()
        self._screen.gap()
        self._follower = self._start(self._follow(thread_id))

    async def _visible(self, thread: Thread) -> list[UIMessage]:
        """Return the messages people are shown: without replayed ones where the thread hides them."""
        info = await self._ship.store.threads.find(str(thread.id))
        if info is None or not hides_priming(info.settings):
            return thread.messages
        return [row for row in thread.messages if not is_primed(row)]

    async def _rewind(self, wanted: str) -> None:
        """Put the files of a run back, once the person has seen which and said yes."""
        if self._ship.keeper.running(str(self.thread_id)) is not None:
            self._screen.say("a run is going on; /stop it first", "red")
            return
        try:
            done = await rewind(self._ship.layout, str(self.thread_id), wanted, self._ask)
        except UserError as error:
            self._screen.say(clean(str(error)), "red")
        else:
            self._say_lines(done)

    async def _ask(self, lines: list[str]) -> str:
        """Show something and read one line in answer; leaving counts as no answer."""
        self._say_lines([clean(line) for line in lines])
        try:
            return (await self._prompt.read()).strip()
        except EOFError:
            return ""

    async def _equipment(self) -> Equipment:
        """Return the member who answers here, with what it works with."""
        info = await self._ship.store.threads.find(str(self.thread_id))
        return self._ship.equip(self._member or (info.member if info else CAPTAIN))

    async def _choose_member(self, name: str) -> None:
        """Say who answers, or let another member answer from here on."""
        if name:
            self._member = self._ship.crew.choose(name).id
        member = (await self._equipment()).member
        others = [f"{each.id} ({each.name})" for each in self._ship.crew.list() if each.id != member.id]
        lines = [f"{member.name} ({member.id}) answers here"]
        self._say_lines([*lines, f"also here: {', '.join(others)}"] if others and not name else lines)

    async def _show_context(self) -> None:
        """List the sections of the prompt as it would be built now."""
        equipment = await self._equipment()
        asked = ContextRequest(
            thread_id=str(self.thread_id),
            platform=self.thread_id.platform,
            model=equipment.models.named(self._model).name,
            tools=tuple(equipment.toolset.specs()),
            window=equipment.models.recall_window(self._model).tokens,
        )
        built = equipment.context.build(asked)
        lines = [f"{part.tokens:>6}  {part.name}" for part in built.sections if part.included]
        total = f"{built.tokens:>6}  tokens with {len(asked.tools)} tools, before the conversation"
        self._say_lines([*lines, total, "`shipmate context` shows each in full."])

    async def _greet(self) -> None:
        equipment = await self._equipment()
        model = equipment.models.named(self._model).name
        self._screen.say(f"{equipment.member.name} · {model} · /help for help, Ctrl-D to leave")
        if self._ship.config.permissions.mode == "yolo":
            self._screen.say(YOLO, "red")

    async def _leave(self) -> None:
        run = self._ship.keeper.running(str(self.thread_id))
        # Only what was asked here: a run that others wait for goes on, and so does one of a closed terminal.
        is_own = run is not None and not run.answers.isdisjoint(self._open)
        if is_own and not is_leaving() and await self._ship.keeper.stop(str(self.thread_id)):
            self._screen.say("the run is stopped")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if await self._ship.threads.exists(self.thread_id):
            self._screen.say(f"Go on with: shipmate chat --thread {self.thread_id}")

    def _stop_soon(self) -> bool:
        """Stop the run; tell whether there is one."""
        is_running = self._ship.keeper.running(str(self.thread_id)) is not None
        self._start(self._stop())
        return is_running

    async def _stop(self) -> None:
        try:
            await self._ship.keeper.stop(str(self.thread_id))
        except ShipmateError as error:
            self._screen.say(clean(str(error)), "red")

    def _live(self) -> list[tuple[str, str]]:
        """Return the lines above the prompt: what is being said and done, and how long it has taken."""
        width = shutil.get_terminal_size().columns
        style = "italic fg:ansibrightblack" if self._transcript.is_thinking else ""
        lines = [(style, line) for line in _wrap(self._transcript.live(), width)[-LIVE_LINES:]]
        run = self._ship.keeper.running(str(self.thread_id))
        if not self._open and run is None:
            return lines
        spent = time.monotonic() - self._busy_since
        waiting = len(set(self._open) - run.answers) if run is not None else 0
        status = (
            f"{SPINNER[int(spent / TICK_SECONDS) % len(SPINNER)]} {describe_time(round(spent * 10) * 100)}"
        )
        queued = f" · {waiting} queued" if waiting else ""
        return [*lines, ("fg:ansibrightblack", f"{status}{queued} · Ctrl-C stops")]

    def _say_lines(self, lines: list[str]) -> None:
        for line in lines:
            self._screen.say(line, "")

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _wrap(lines: list[str], width: int) -> list[str]:
    """Break lines at the width of the screen, so that a count of lines is a count of rows."""
    room = max(20, width - 1)
    return [line[at : at + room] for line in lines for at in range(0, max(1, len(line)), room)]
