"""Answer commands of a chat that no member has to answer, and turn the pages of long answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from shipmate.approvals.service import ApprovalService
from shipmate.delivery.compose import make_file, make_send, page_out, words_of
from shipmate.delivery.delivery_wording import say
from shipmate.delivery.splitting import split
from shipmate.delivery.spoken_reply import VoicePreference
from shipmate.orchestrator.lane.outlet import CommandAnswer
from shipmate.store.port import Outbox, OutboxRow
from shipmate.thread.service import Thread
from shipmate.values.event import (
    AdapterCapabilities,
    CommandEvent,
    EgressMessage,
    IngressEvent,
    Outcome,
    TextEvent,
    surface_of,
)
from shipmate.values.message import message_tokens, metadata_of
from shipmate.workspace.upload import Uploads, attach

# Whole messages that turn the page, while there is one to turn; else they are said to the member.
MORE = frozenset({"继续", "下一页", "more", "next", "next page", "continue"})
FULL = frozenset({"发完整输出", "完整输出", "full output", "full", "send full output"})
WORD_LIMIT = 20
# What may stand behind /voice.
VOICE_WORDS: Mapping[str, str | None] = {
    "on": "voice",
    "voice": "voice",
    "always": "always",
    "off": "never",
    "never": "never",
    "default": None,
}


class Describe(Protocol):
    """Tells who answers in a thread, and with which model."""

    async def __call__(self, thread: Thread) -> tuple[str, str]: ...


class Commands:
    """The answers of one keeper to commands."""

    def __init__(
        self,
        outbox: Outbox,
        uploads: Uploads,
        approvals: ApprovalService,
        describe: Describe,
        voices: VoicePreference,
        language: str,
        wake: Callable[[str], None],
    ) -> None:
        self._outbox = outbox
        self._uploads = uploads
        self._approvals = approvals
        self._describe = describe
        self._voices = voices
        self._language = language
        self._wake = wake

    async def answer(
        self, thread: Thread, event: IngressEvent, capabilities: AdapterCapabilities
    ) -> CommandAnswer | None:
        """Return what comes of a command or of words that turn a page; None for what a member answers."""
        if isinstance(event, CommandEvent):
            return await self._obey(thread, event, capabilities)
        if not isinstance(event, TextEvent) or len(event.text) > WORD_LIMIT:
            return None
        if event.attachments and not event.spoken:
            return None
        words = event.text.strip().rstrip("。.!！").casefold()
        if words not in MORE | FULL or (shown := await self._shown(thread)) is None:
            return None
        return self._page(thread, shown, capabilities, is_full=words in FULL)

    async def _obey(
        self, thread: Thread, event: CommandEvent, capabilities: AdapterCapabilities
    ) -> CommandAnswer | None:
        match event.name:
            case "stop":
                last = thread.messages[-1] if thread.messages else None
                has_stopped = last is not None and metadata_of(last).get("outcome") == "stopped"
                return self._say("" if has_stopped else "nothing-runs")
            case "help":
                return self._say("help")
            case "context":
                return await self._tell_context(thread)
            case "voice":
                return await self._set_voice(event)
            case "more" | "full":
                shown = await self._shown(thread)
                is_full = event.name == "full"
                return (
                    self._page(thread, shown, capabilities, is_full=is_full)
                    if shown
                    else self._say("no-more")
                )
            case "release" | "drop":
                return await self._release(event)
            case "resend" | "forget" if surface_of(event.platform).is_owner:
                return await self._settle(event)
            case "stranger":
                return self._meet(thread, event)
            case _:
                return self._say("help")

    async def _tell_context(self, thread: Thread) -> CommandAnswer:
        member, model = await self._describe(thread)
        history = thread.history()
        tokens = sum(map(message_tokens, history))
        return self._say(
            "context",
            member=member,
            model=model,
            course=thread.course,
            count=len(history),
            tokens=f"{tokens:,}",
        )

    async def _set_voice(self, event: CommandEvent) -> CommandAnswer:
        """Choose when answers in a chat are spoken; without a word for it, say how it stands."""
        if event.text in VOICE_WORDS:
            await self._voices.set(event.thread_id, VOICE_WORDS[event.text])
        chosen = await self._voices.find(event.thread_id)
        return self._say(f"voice-{chosen or 'default'}")

    def _meet(self, thread: Thread, event: CommandEvent) -> CommandAnswer:
        if thread.id.scope_type != "dm":
            return self._say("stranger-group", chat=thread.id.scope_id)
        return self._say("stranger", code=event.text) if event.text else self._say("stranger-closed")

    async def _shown(self, thread: Thread) -> OutboxRow | None:
        """Return the last page of the last answer that was shown, while there are more."""
        rows = [row for row in await self._outbox.in_thread(str(thread.id)) if "pages" in row.message.extra]
        last = next((each for each in reversed(thread.messages) if each["role"] == "assistant"), None)
        if not rows or last is None or rows[-1].message.extra.get("of") != last["id"]:
            return None
        page, pages = rows[-1].message.extra["page"], rows[-1].message.extra["pages"]
        return rows[-1] if page + 1 < pages else None

    def _page(
        self, thread: Thread, shown: OutboxRow, capabilities: AdapterCapabilities, *, is_full: bool
    ) -> CommandAnswer:
        thread_id = str(thread.id)
        words = words_of(thread.find(shown.message.extra["of"]))
        page = shown.message.extra["page"] + 1
        if is_full:
            sends = self._send_all(thread_id, words, capabilities)
        else:
            sends = page_out(thread_id, words, capabilities, self._language, page, shown.message.extra["of"])
        return CommandAnswer(Outcome(run_id="", status="replied"), sends)

    def _send_all(self, thread_id: str, words: str, capabilities: AdapterCapabilities) -> list[EgressMessage]:
        """Return the original: as a file where the platform takes one, else in as many messages as needed."""
        if not capabilities.supports_files:
            return [
                make_send(thread_id, f"full.{place}", "words", text)
                for place, text in enumerate(split(words, capabilities))
            ]
        part = attach(self._uploads, words.encode(), "answer.md")
        return [make_file(thread_id, 0, part)]

    async def _release(self, event: CommandEvent) -> CommandAnswer:
        held = [row for row in await self._outbox.in_thread(event.thread_id) if row.status == "held"]
        for row in held:
            await self._outbox.mark(row, "waiting" if event.name == "release" else "dropped")
        self._wake(event.thread_id)
        return self._say("released" if event.name == "release" else "dropped", count=len(held))

    async def _settle(self, event: CommandEvent) -> CommandAnswer:
        """Send one message again, or forget it, because the owner says so."""
        row = await self._outbox.get(int(event.text)) if event.text.isdecimal() else None
        if (
            row is None
            or row.message.thread_id != event.thread_id
            or row.status in ("sent", "sending", "shown")
        ):
            return CommandAnswer(Outcome(run_id="", status="failed", error=self._tell("no-send")), ())
        await self._outbox.mark(row, "waiting" if event.name == "resend" else "dropped")
        self._wake(event.thread_id)
        return CommandAnswer(Outcome(run_id="", status="replied"), ())

    def _tell(self, key: str, **values: object) -> str:
        return say(self._language, key, **values)

    def _say(self, key: str, **values: object) -> CommandAnswer:
        text = self._tell(key, **values) if key else ""
        return CommandAnswer(Outcome(run_id="", status="replied", text=text))
