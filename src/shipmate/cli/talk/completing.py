"""Complete what is typed into a chat: commands, threads, members, and files behind an `@`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from shipmate.cli.talk.slash import COMMANDS

# The beginning of a file's name behind an @, quoted if it holds spaces.
FILE_BEGUN = re.compile(r'(?:^|\s)@(?:"([^"\n]*)|([^\s"]*))$')
LISTED = 200


class ChatCompleter(Completer):
    """Completes commands with what may follow them, and names of files."""

    def __init__(self, root: Path, choices: dict[str, Callable[[], Iterable[str]]]) -> None:
        self._root = root
        # What may follow a command, by its name.
        self._choices = choices

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Return what the text before the cursor may go on with."""
        text = document.text_before_cursor
        begun = FILE_BEGUN.search(text)
        if begun is not None:
            name = begun[1] if begun[1] is not None else begun[2]
            yield from self._files(name)
        elif text.startswith("/") and " " not in text:
            yield from (_complete(f"/{name}", text) for name in COMMANDS if f"/{name}".startswith(text))
        elif text.startswith("/"):
            command, _, rest = text[1:].partition(" ")
            fits = (each for each in self._choices.get(command, tuple)() if rest in each)
            yield from (_complete(each, rest) for each in fits)

    def _files(self, name: str) -> Iterator[Completion]:
        folder, _, begun = name.rpartition("/")
        try:
            found = sorted(os.scandir(self._root / folder), key=lambda each: each.name)
        except OSError:
            return
        # What cannot be shown on one line cannot be chosen either.
        fits = [each for each in found if each.name.startswith(begun) and each.name.isprintable()]
        shown = fits if begun.startswith(".") else [each for each in fits if not each.name.startswith(".")]
        for each in shown[:LISTED]:
            path = f"{folder}/{each.name}" if folder else each.name
            rest = f"{path}/" if each.is_dir() else path
            quoted = f'"{rest}' if " " in rest else rest
            yield Completion(quoted, start_position=-len(name), display=rest)


def _complete(whole: str, begun: str) -> Completion:
    return Completion(whole, start_position=-len(begun))
