"""Print a chat: finished pieces above the prompt, once and for good."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.padding import Padding
from rich.panel import Panel
from rich.styled import Styled
from rich.text import Text

from shipmate.cli.terminal.transcript import Item
from shipmate.values.reveal import reveal

STYLES = {"thought": "dim italic", "notice": "yellow", "error": "bold red"}
MARK_STYLES = {"✓": "green", "✗": "red", "⊘": "red"}


class LeftHeading(Heading):
    """A heading at the left, without the box rich draws around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class ChatMarkdown(Markdown):
    """Markdown in the terminal's own colours."""

    elements = {**Markdown.elements, "heading_open": LeftHeading}  # noqa: RUF012 (as the base class declares it)

    def __init__(self, text: str) -> None:
        super().__init__(text, code_theme="ansi_dark", hyperlinks=False)


class Screen:
    """Renders items and writes them above whatever prompt is shown."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._console = Console(highlight=False)
        self._last = ""

    def show(self, items: Iterable[Item]) -> None:
        """Print items in order."""
        text = "".join(self._render(item) for item in items)
        if text:
            self._write(text)

    def say(self, line: str, style: str = "dim") -> None:
        """Print a line of Shipmate's own."""
        self._write(self._print(Text(line, style)))
        self._last = "line"

    def gap(self) -> None:
        """Leave a line empty, unless one was just left."""
        if self._last not in ("", "gap"):
            self._write("\n")
        self._last = "gap"

    def note_input(self) -> None:
        """Know that a line was typed, so that the answer keeps its distance."""
        self._last = "input"

    def _render(self, item: Item) -> str:
        match item.kind:
            case "text":
                shown, before = ChatMarkdown(item.text), "\n"
            case "said":
                shown, before = Text(item.text, "dim"), "\n"
            case "thought":
                shown, before = Padding(Text(item.text.strip(), STYLES["thought"]), (0, 0, 0, 2)), "\n"
            case "card":
                style = MARK_STYLES.get(item.text[:1], "")
                shown = Text.assemble(
                    (item.text[:1], style), (item.text[1:], "dim"), overflow="ellipsis", no_wrap=True
                )
                before = "" if self._last == "card" else "\n"
            case "question":
                shown, before = Panel(ChatMarkdown(reveal(item.text)), border_style="yellow"), "\n"
            case "notice":
                shown, before = Styled(ChatMarkdown(item.text), STYLES["notice"]), "\n"
            case "error":
                shown, before = Text(f"✗ {item.text}", STYLES["error"]), "\n"
        gap = "" if self._last in ("", "gap") else before
        self._last = item.kind
        return gap + self._print(shown)

    def _print(self, shown: object) -> str:
        with self._console.capture() as capture:
            self._console.print(shown)
        # Lists, tables and code come with empty lines of their own; the spacing is ours.
        lines = capture.get().split("\n")
        while lines and not lines[0].strip():
            del lines[0]
        return "\n".join(lines).rstrip() + "\n"
