"""Read lines from the terminal while output goes on above."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session, get_app
from prompt_toolkit.completion import Completer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.utils import is_dumb_terminal

from shipmate.workspace.disk.private import make_private

MARK: tuple[str, str] = ("class:prompt bold", "› ")


class Prompt:
    """The prompt of the terminal: the live lines of a run and, below them, where to type."""

    def __init__(
        self,
        history: Path,
        *,
        live: Callable[[], Sequence[tuple[str, str]]],
        interrupt: Callable[[], bool],
        warn: Callable[[], object],
        completer: Completer,
        mark: StyleAndTextTuples | None = None,
    ) -> None:
        self._live = live
        self._interrupt = interrupt
        self._warn = warn
        self._mark = mark or [MARK]
        # Ctrl-C was pressed and nothing sent since: once more leaves.
        self._is_warned = False
        make_private(history.parent)
        # What people type may be private: made here, because FileHistory would make it readable to all.
        os.close(os.open(history, os.O_CREAT | os.O_APPEND, 0o600))
        self._session = self._open(history, completer)

    def _open(self, history: Path, completer: Completer) -> PromptSession[str]:
        # A dumb terminal would show the codes that every other one is greeted with.
        output = PlainTextOutput(sys.stdout) if is_dumb_terminal() else None
        with create_app_session(output=output):
            return PromptSession(
                message=self._message,
                history=FileHistory(str(history)),
                key_bindings=self._bindings(),
                completer=completer,
                enable_suspend=True,
                complete_style=CompleteStyle.READLINE_LIKE,
                complete_while_typing=False,
                reserve_space_for_menu=0,
            )

    @contextmanager
    def hold(self) -> Generator[None]:
        """Keep the keyboard between lines too, so that no key typed then is lost or ends the program."""
        with self._session.app.input.raw_mode():
            yield

    async def read(self, default: str = "") -> str:
        """Wait for a line; raise EOFError when the person leaves."""
        self._is_warned = False
        # Its own handler of exceptions would stop the conversation until Enter is pressed.
        return await self._session.prompt_async(
            default=default, handle_sigint=False, set_exception_handler=False
        )

    def print(self, text: str) -> None:
        """Write above the prompt and the live lines."""
        app = self._session.app
        # Not `run_in_terminal`: it lets go of the keyboard, and a Ctrl-C or Ctrl-D of that moment is lost.
        if app.is_running:
            app.renderer.erase()
        sys.stdout.write(text)
        sys.stdout.flush()
        if app.is_running:
            app.renderer.reset()
            app.renderer.request_absolute_cursor_position()
            app.invalidate()

    def redraw(self) -> None:
        """Show the live lines as they are now."""
        self._session.app.invalidate()

    def _message(self) -> StyleAndTextTuples:
        if get_app().is_done:
            return self._mark
        return [*((style, f"{text}\n") for style, text in self._live()), *self._mark]

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        def on_interrupt(event: KeyPressEvent) -> None:
            """Stop the run, or clear the line; pressed once more with neither, leave."""
            is_running = self._interrupt()
            if event.current_buffer.text and not is_running:
                event.current_buffer.reset()
            elif self._is_warned:
                event.app.exit(exception=EOFError)
            else:
                self._is_warned = True
                if not is_running:
                    self._warn()

        def on_newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        keys.add("c-c")(on_interrupt)
        keys.add("escape", "enter")(on_newline)
        return keys
