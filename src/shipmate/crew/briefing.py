"""Gather what a member's program is told: who it is, what was said before, and what is said now."""

from __future__ import annotations

from collections.abc import Sequence

from shipmate.crew.prompt_build import CONTEXT_MESSAGES, SUMMARY_LIMIT, ContextMessage, PromptInput
from shipmate.errors import ConfigError, PathError
from shipmate.models.port import RunOrigin
from shipmate.values.message import UIMessage, metadata_of, text_of
from shipmate.workspace.file import FileCache
from shipmate.workspace.frontmatter import read_frontmatter
from shipmate.workspace.member import Member


def split_turn(messages: Sequence[UIMessage], run_id: str) -> tuple[Sequence[UIMessage], Sequence[UIMessage]]:
    """Return what was said before, and what is to be answered: the last words of people in a row."""
    before = [each for each in messages if metadata_of(each).get("runId") != run_id or each["role"] == "user"]
    place = len(before)
    while place and before[place - 1]["role"] == "user":
        place -= 1
    return before[:place], before[place:]


def find_session(member: Member, before: Sequence[UIMessage], origin: RunOrigin) -> str | None:
    """Return the program's own name for this conversation, when it knows what was said here and no more.

    It does not after a turn that ended badly, for an answer in the place of another, and in a branch.
    """
    own = (each for each in reversed(before) if is_own(member, each, owns_thread=origin.owns_thread))
    found = metadata_of(last) if (last := next(own, None)) is not None else {}
    session = found.get("session")
    if not isinstance(session, dict) or found.get("outcome") != "replied" or origin.is_retry:
        return None
    is_here = session.get("threadId") == origin.thread_id
    return str(session.get("id")) if is_here else None


def is_own(member: Member, message: UIMessage, *, owns_thread: bool) -> bool:
    """Return whether a member wrote a message."""
    wrote = metadata_of(message).get("member")
    return message["role"] == "assistant" and (owns_thread if wrote is None else wrote == member.id)


def brief(
    member: Member, messages: Sequence[UIMessage], origin: RunOrigin, *, session: str | None = None
) -> PromptInput:
    """Return what a prompt is made of; a program that knows the conversation is told what is new to it."""
    before, now = split_turn(messages, origin.run_id)
    heard = [each for each in before if each["role"] != "system"]
    if session is not None:
        own = [
            place for place, each in enumerate(heard) if is_own(member, each, owns_thread=origin.owns_thread)
        ]
        heard = heard[own[-1] + 1 :] if own else heard
    settings = member.settings
    stated = settings.system_instruction
    limit = settings.context_messages
    return PromptInput(
        agent_type=member.kind,
        role_summary=settings.role_summary or _summary_of(member),
        system_instruction_text=stated if isinstance(stated, str) or stated is None else "\n".join(stated),
        instruction_file_text=read_instructions(member),
        context_messages=[_context_of(member, each, origin) for each in heard],
        context_limit=CONTEXT_MESSAGES if limit is None else limit,
        message="\n\n".join(_words_of(each) for each in now),
        token_cap=settings.token_cap,
    )


def read_instructions(member: Member) -> str | None:
    """Return the text of a member's instruction file: the one it names, else its Agent.md."""
    own, named = member.own, member.settings.instruction_file
    path = own.root / named if named else own.agent
    if not path.resolve().is_relative_to(member.layout.root.resolve()):
        raise PathError(f"instructionFile of member {member.id} leads out of the workspace: {named}.")
    file = FileCache(member.layout.root).read(path)
    if named and (file.is_missing or file.problem):
        raise ConfigError(f"{member.layout.name_of(path)}: {file.problem or 'there is no such file'}.")
    text = file.text
    return (read_frontmatter(text).body if text.startswith("---") else text) or None


def _summary_of(member: Member) -> str:
    return f"You are {member.name}. {member.description}".strip()[:SUMMARY_LIMIT]


def _context_of(member: Member, message: UIMessage, origin: RunOrigin) -> ContextMessage:
    found = metadata_of(message)
    person = str(found.get("speaker") or found.get("userId") or origin.user_id or "person")
    if message["role"] == "user":
        return ContextMessage(sender=person, content=_words_of(message))
    is_self = is_own(member, message, owns_thread=origin.owns_thread)
    sender = member.name if is_self else str(found.get("member") or "member")
    return ContextMessage(sender=sender, content=_words_of(message))


def _words_of(message: UIMessage) -> str:
    files = [part for part in message["parts"] if part.get("type") == "file"]
    # A path the program can read, not the bytes.
    named = [f"[attached: {part.get('path') or str(part.get('url'))[:200]}]" for part in files]
    return "\n".join(filter(None, [text_of(message), *named]))
