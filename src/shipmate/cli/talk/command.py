"""Do what the commands of a chat say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shipmate.approvals.question import summarise
from shipmate.cli.place import PLATFORM, new_thread_id, parse_thread_id
from shipmate.cli.ship import make_text
from shipmate.cli.talk.lookup import context_lines, cost_lines, member_lines
from shipmate.cli.talk.note import hand_over, pin_lines, read_note, retry_here
from shipmate.cli.talk.rewind import rewind
from shipmate.cli.talk.slash import Slash, help_lines
from shipmate.cli.terminal.tongue import say
from shipmate.cli.threads import EMPTY, format_hits, format_threads
from shipmate.crew.studio import read_draft, skill_of
from shipmate.errors import NotFoundError, UserError
from shipmate.values.reveal import reveal
from shipmate.values.thread_id import STUDIO, ThreadId

if TYPE_CHECKING:
    from shipmate.cli.talk.conversation import Conversation

LISTED_THREADS = 12
HITS = 20


async def do_command(talk: Conversation, slash: Slash) -> bool:
    """Do one command; return whether it ends the conversation."""
    match slash.name:
        case "help":
            talk.screen.list(help_lines())
        case "new":
            await talk.enter(new_thread_id())
        case "threads":
            found = await talk.ship.store.threads.list(limit=LISTED_THREADS)
            talk.screen.list(format_threads(found) or [say(EMPTY)])
        case "thread":
            await talk.enter(parse_thread_id(slash.rest))
        case "course" | "compact" | "pin" | "unpin" | "model" | "plan":
            talk.model = None if slash.name == "model" and slash.rest else talk.model
            event = read_note(talk.thread_id, slash, talk.member)
            talk.start(await hand_over(talk.ship, event, talk.screen.say))
        case "stop":
            if not await talk.ship.keeper.stop(str(talk.thread_id)):
                talk.screen.say("nothing is running")
        case "prompt":
            await talk.speak(f"/prompt {slash.rest}")
        case "steer":
            await talk.speak(slash.rest, steer=True)
        case "retry":
            await _retry(talk)
        case "edit":
            await _edit(talk)
        case "rewind":
            await _rewind(talk, slash.rest)
        case "studio":
            await _enter_studio(talk, slash.rest)
        case "try":
            await _try_out(talk, slash.rest)
        case _:
            return await _look_up(talk, slash)
    return False


async def _look_up(talk: Conversation, slash: Slash) -> bool:
    match slash.name:
        case "pins":
            talk.screen.list(await pin_lines(talk.ship.threads, talk.thread_id))
        case "member":
            talk.member = talk.ship.crew.choose(slash.rest).id if slash.rest else talk.member
            member = (await talk.equip()).member
            talk.screen.list(member_lines(talk.ship.crew, member, alone=bool(slash.rest)))
        case "context":
            talk.screen.list(context_lines(await talk.equip(), talk.thread_id, talk.model))
        case "cost":
            talk.screen.list(await cost_lines(talk.ship.store.ledger, str(talk.thread_id)))
        case "approvals":
            await _show_approvals(talk)
        case "search":
            hits = await talk.ship.store.search.find(slash.rest, HITS)
            talk.screen.list(format_hits(hits, slash.rest) or [say("No message matches.")])
        case _:
            return True
    return False


async def _show_approvals(talk: Conversation) -> None:
    """Show what waits for a person: whole where it can be answered here, in a line elsewhere."""
    await talk.show_questions()
    waiting = await talk.ship.approvals.pending()
    others = [each for each in waiting if each.thread_id != str(talk.thread_id)]
    talk.screen.list(reveal(f"{each.thread_id}  {each.tool}: {summarise(each)}") for each in others)
    if not waiting:
        talk.screen.say("nothing waits for an answer")


async def _retry(talk: Conversation) -> None:
    """Ask for another answer in place of the last one."""
    if not await talk.ship.threads.exists(talk.thread_id):
        raise NotFoundError("nothing was said here yet")
    await talk.send(retry_here(talk.thread_id), say("another answer"))


async def _edit(talk: Conversation) -> None:
    """Let the last words be said in another way: in a new thread that has all that was said before them."""
    from shipmate.server.routes.chat.branch import Branch, make_branch

    is_there = await talk.ship.threads.exists(talk.thread_id)
    messages = (await talk.ship.threads.read(talk.thread_id)).messages if is_there else []
    said = next((each for each in reversed(messages) if each["role"] == "user"), None)
    if said is None:
        raise NotFoundError("nothing was said here yet")
    branch = await make_branch(talk.ship, str(talk.thread_id), Branch(message_id=said["id"]))
    await talk.enter(ThreadId.parse(branch.thread_id))
    talk.draft = branch.text or ""


async def _enter_studio(talk: Conversation, skill_id: str) -> None:
    """Go on in the thread in which a skill is worked on."""
    thread_id = ThreadId(PLATFORM, STUDIO, skill_id)
    skill_of(thread_id)
    await talk.enter(thread_id)


async def _try_out(talk: Conversation, words: str) -> None:
    """Say something in a new thread, where the member has the draft before it."""
    skill_id = skill_of(talk.thread_id)
    if skill_id is None:
        raise UserError("/try belongs to the studio; /studio ID opens it")
    draft = read_draft((await talk.equip()).member, skill_id)
    await talk.enter(new_thread_id())
    event = make_text(talk.thread_id, words, model=talk.model, member=talk.member, extra_context=draft)
    await talk.send(event, words)


async def _rewind(talk: Conversation, wanted: str) -> None:
    """Put the files of a run back, once the person has seen which and said yes."""
    if talk.ship.keeper.running(str(talk.thread_id)) is not None:
        raise UserError("a run is going on; /stop it first")
    talk.screen.list(await rewind(talk.ship.layout, str(talk.thread_id), wanted, talk.ask))
