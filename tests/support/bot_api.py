"""Serve Telegram's Bot API on loopback, and be the people who write to its bots.

    async with BotApi() as telegram:
        bot = telegram.add_bot("helper_bot")
        ...                                # an adapter with bot.token and api_url=telegram.url
        telegram.say("hello")              # waits for the bot until it says that it arrived
        await telegram.wait("You said")

It refuses what Telegram refuses: empty and long texts, entities outside of them, buttons with too much data.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from typing import Any, Self

from tests.support.raw_server import RawServer, Visit
from tests.support.wait import LONG

PATH = re.compile(r"POST /bot([^/ ]+)/(\w+) ")
FILE = re.compile(r"GET /file/bot([^/ ]+)/(\S+) ")
Json = dict[str, Any]
PERSON: Json = {"id": 1, "is_bot": False, "first_name": "Ann", "last_name": "Lee", "username": "ann"}
PRIVATE: Json = {"id": 1, "type": "private", "first_name": "Ann"}
GROUP: Json = {"id": -100200, "type": "supergroup", "title": "Harbour", "is_forum": True}
CHANNEL: Json = {"id": -100300, "type": "channel", "title": "News"}


class RefusedError(Exception):
    """What the Bot API answers instead of a result."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.body: Json = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.body["parameters"] = parameters


class LostError(Exception):
    """The connection ends before the answer."""


class HungError(LostError):
    """Nobody answers, for as long as somebody waits."""


@dataclass
class Bot:
    """One bot: who it is, and what waits for it."""

    token: str
    me: Json
    updates: list[Json] = field(default_factory=list)
    # All that was ever there for it.
    history: list[Json] = field(default_factory=list)
    # What it told to have.
    confirmed: int = 0
    webhook: Json = field(default_factory=dict)
    # The question that is held; another one ends it.
    held: asyncio.Future[None] | None = None


class BotApi:
    """One Telegram with its chats."""

    def __init__(self) -> None:
        self.bots: dict[str, Bot] = {}
        # What bots wrote, as people see it now, by chat and number.
        self.shown: dict[tuple[int, int], Json] = {}
        self.calls: list[tuple[str, Json]] = []
        # What becomes of the next sends and edits: an error, or LostError once it was done.
        self.troubles: list[Exception] = []
        # How long it takes to say that a message was taken.
        self.slowness: Callable[[], float] = lambda: 0.0
        self.files: dict[str, bytes] = {}
        self.answered: list[Json] = []
        self.changed = asyncio.Event()
        self._count = 100
        self._server = RawServer(self._serve)

    @property
    def url(self) -> str:
        """Return the address."""
        return self._server.url

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._server.__aexit__(*error)

    def add_bot(self, username: str = "helper_bot") -> Bot:
        """Make a bot, as @BotFather does."""
        number = 7000 + len(self.bots)
        token = f"{number}:SECRET_{username}_token"
        me = {"id": number, "is_bot": True, "first_name": username.title(), "username": username}
        self.bots[token] = Bot(token, me)
        return self.bots[token]

    def say(self, text: str = "", chat: Json = PRIVATE, user: Json | None = PERSON, **values: Any) -> Json:
        """Write something into a chat; every bot gets it."""
        message = self.make_message(chat, user, **({"text": text} if text else {}), **values)
        if "entities" not in values and (found := _find_entities(text)):
            message["entities"] = found
        kind = "channel_post" if chat["type"] == "channel" else "message"
        self.update(**{kind: message})
        return message

    def make_message(self, chat: Json, user: Json | None, **values: Any) -> Json:
        """Make a message with a number of its own."""
        self._count += 1
        message = {"message_id": self._count, "date": int(time.time()), "chat": chat, **values}
        return {**message, "from": user} if user else message

    def press(self, message: Json, label: str, user: Json = PERSON) -> str:
        """Press a button by what stands on it; return the id of the press."""
        rows = message["reply_markup"]["inline_keyboard"]
        data = next(button["callback_data"] for row in rows for button in row if button["text"] == label)
        self._count += 1
        press_id = str(self._count)
        values = {"id": press_id, "from": user, "chat_instance": "1", "message": message, "data": data}
        self.update(callback_query=values)
        return press_id

    def update(self, **values: Any) -> None:
        """Let something happen."""
        self._count += 1
        for bot in self.bots.values():
            bot.updates.append({"update_id": self._count, **values})
            bot.history.append(bot.updates[-1])
            if bot.held and not bot.held.done():
                bot.held.set_result(None)

    def in_chat(self, chat_id: int = 1) -> list[Json]:
        """List what bots wrote in a chat, oldest first."""
        return [each for (chat, _), each in self.shown.items() if chat == chat_id]

    def texts(self, chat_id: int = 1) -> list[str]:
        """List what the messages of bots in a chat say now."""
        return [each.get("text", each.get("caption", "")) for each in self.in_chat(chat_id)]

    async def wait(self, *texts: str) -> None:
        """Wait until messages with these words are shown."""

        def are_there() -> bool:
            known = [each.get("text", each.get("caption", "")) for each in self.shown.values()]
            return all(any(text in each for each in known) for text in texts)

        await self.until(are_there)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(LONG):
            while not is_so():
                await self.changed.wait()

    def drop_connections(self) -> None:
        """End every connection, as a network does that goes away."""
        for visit in self._server.visits:
            visit.writer.transport.abort()

    def _note(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def _serve(self, visit: Visit) -> None:
        try:
            if found := FILE.match(visit.head):
                await self._hand_out(visit, found[1], found[2])
                return
            path = PATH.match(visit.head)
            if path is None or path[1] not in self.bots:
                raise RefusedError(401 if path else 404, "Unauthorized" if path else "Not Found")
            values = read_body(visit)
            self.calls.append((path[2], values))
            result = await self._answer(self.bots[path[1]], path[2], values)
            body: Json = {"ok": True, "result": result}
        except RefusedError as error:
            body = error.body
        except LostError as error:
            if isinstance(error, HungError):
                self._note()
                await visit.reader.read()
            visit.writer.transport.abort()
            return
        finally:
            self._note()
        code = body.get("error_code", 200)
        await visit.answer(json.dumps(body, default=str), status=f"{code} X", kind="application/json")

    async def _hand_out(self, visit: Visit, token: str, path: str) -> None:
        if token not in self.bots or path not in self.files:
            raise RefusedError(404, "Not Found")
        await visit.answer(self.files[path], kind="application/octet-stream")

    async def _answer(self, bot: Bot, method: str, values: Json) -> Any:
        match method:
            case "getMe":
                return bot.me
            case "getUpdates":
                return await self._look(bot, values)
            case "setWebhook":
                if not values["url"].startswith("https://"):
                    raise RefusedError(400, "Bad Request: bad webhook: An HTTPS URL must be provided")
                bot.webhook = values
            case "deleteWebhook":
                bot.webhook = {}
                bot.updates = [] if values.get("drop_pending_updates") else bot.updates
            case "answerCallbackQuery":
                self.answered.append(values)
            case "getFile":
                return self._find_file(values["file_id"])
            case "sendChatAction":
                pass
            case "editMessageText":
                return self._edit(values)
            case "sendMessage" | "sendDocument" | "sendPhoto" | "sendVoice":
                sent = self._send(bot, method, values)
                await asyncio.sleep(self.slowness())
                return sent
            case _:
                raise RefusedError(404, "Not Found")
        return True

    async def _look(self, bot: Bot, values: Json) -> list[Json]:
        if bot.webhook:
            raise RefusedError(
                409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook"
            )
        if bot.held and not bot.held.done():
            bot.held.set_exception(
                RefusedError(409, "Conflict: terminated by other getUpdates request; one bot only")
            )
            # Whoever asked may be gone.
            bot.held.exception()
        if (offset := values.get("offset")) is not None:
            bot.updates = [each for each in bot.updates if each["update_id"] >= offset]
            bot.confirmed = offset
        if not bot.updates and values.get("timeout"):
            held = bot.held = asyncio.get_running_loop().create_future()
            self._note()
            await asyncio.wait([held], timeout=values["timeout"])
            if held.done():
                held.result()
        allowed = values.get("allowed_updates") or []
        # What came while the request was held counts from its offset on as well.
        new = [each for each in bot.updates if each["update_id"] >= (offset or 0)]
        return [each for each in new if not allowed or set(each) & set(allowed)][:100]

    def _find_file(self, file_id: str) -> Json:
        if file_id not in self.files:
            raise RefusedError(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        size = len(self.files[file_id])
        if size > 20 * 1024 * 1024:
            raise RefusedError(400, "Bad Request: file is too big")
        return {"file_id": file_id, "file_unique_id": file_id, "file_size": size, "file_path": file_id}

    def _send(self, bot: Bot, method: str, values: Json) -> Json:
        lost = self._take_trouble()
        chat_id = int(values["chat_id"])
        kind = {GROUP["id"]: GROUP, CHANNEL["id"]: CHANNEL}.get(chat_id, {"id": chat_id, "type": "private"})
        message = self.make_message(kind, bot.me, **_check_words(values, method))
        if (topic := values.get("message_thread_id")) is not None:
            if topic == 1:
                raise RefusedError(400, "Bad Request: message thread not found")
            message |= {"message_thread_id": topic, "is_topic_message": True}
        if reply := values.get("reply_parameters"):
            message["reply_to_message"] = {"message_id": reply["message_id"], "chat": kind, "date": 1}
        self.shown[chat_id, message["message_id"]] = message
        if lost:
            raise lost
        return message

    def _edit(self, values: Json) -> Json:
        lost = self._take_trouble()
        known = self.shown.get((int(values["chat_id"]), values["message_id"]))
        if known is None:
            raise RefusedError(400, "Bad Request: message to edit not found")
        words = _check_words(values, "sendMessage")
        names = ("text", "entities", "reply_markup")
        if all(known.get(name) == words.get(name) for name in names):
            raise RefusedError(400, "Bad Request: message is not modified: specified new message content")
        for name in names:
            known.pop(name, None)
        known.update(words, edit_date=int(time.time()))
        if lost:
            raise lost
        return known

    def _take_trouble(self) -> LostError | None:
        trouble = self.troubles.pop(0) if self.troubles else None
        if isinstance(trouble, LostError):
            return trouble
        if trouble is not None:
            raise trouble
        return None


def _check_words(values: Json, method: str) -> Json:
    """Return what a message shows; refuse what Telegram refuses."""
    found: Json = {}
    name, limit = ("text", 4096) if method == "sendMessage" else ("caption", 1024)
    if method == "sendMessage" and not values.get("text", "").strip():
        raise RefusedError(400, "Bad Request: message text is empty")
    units = len(values.get(name, "").encode("utf-16-le")) // 2
    if units > limit:
        raise RefusedError(400, "Bad Request: message is too long")
    if values.get(name):
        found[name] = values[name]
    for entity in values.get("entities") or ():
        if not (0 <= entity["offset"] < entity["offset"] + entity["length"] <= units):
            raise RefusedError(400, "Bad Request: ENTITY_BOUNDS_INVALID: can't parse entities")
    if values.get("entities"):
        found["entities"] = values["entities"]
    if keys := values.get("reply_markup"):
        for row in keys["inline_keyboard"]:
            for button in row:
                if not 1 <= len(button["callback_data"].encode()) <= 64:
                    raise RefusedError(400, "Bad Request: BUTTON_DATA_INVALID")
        found["reply_markup"] = keys
    for kind in ("document", "photo", "voice"):
        if file := values.get(kind):
            sizes = {"file_id": file["name"], "file_unique_id": file["name"], "file_size": len(file["data"])}
            found[kind] = [{**sizes, "width": 1, "height": 1}] if kind == "photo" else sizes
            found["data"] = file["data"]
    return found


def read_body(visit: Visit) -> Json:
    """Return the fields of a body, JSON or a form."""
    kind = visit.headers.get("content-type", "")
    if not kind.startswith("multipart/"):
        return json.loads(visit.body or b"{}")
    parsed = BytesParser().parsebytes(f"content-type: {kind}\r\n\r\n".encode() + visit.body)
    found: Json = {}
    for part in parsed.get_payload():
        assert isinstance(part, Message)
        name = str(part.get_param("name", header="content-disposition"))
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        raw = {key.lower(): value for key, value in part.raw_items()}["content-disposition"]
        if filename := re.search(r'filename="?([^";]*)', raw):
            shown = filename[1].encode("utf-8", "surrogateescape").decode()
            found[name] = {"name": shown, "data": data, "type": part.get_content_type()}
        else:
            found[name] = json.loads(data) if data[:1] in (b"{", b"[") else data.decode()
            if name in ("message_thread_id",):
                found[name] = int(found[name])
    # A file may stand in a part of another name.
    named = {name: str(value).removeprefix("attach://") for name, value in found.items()}
    return {name: found.get(named[name], value) for name, value in found.items()}


def _find_entities(text: str) -> list[Json]:
    """Find what Telegram marks by itself: mentions and commands."""
    found: list[Json] = []
    for match in re.finditer(r"(?<!\w)@\w+|^/\w+(?:@\w+)?", text):
        units = len(text[: match.start()].encode("utf-16-le")) // 2
        kind = "mention" if match[0].startswith("@") else "bot_command"
        found.append({"type": kind, "offset": units, "length": len(match[0])})
    return found
