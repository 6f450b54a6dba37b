"""Print a chat: finished pieces above the prompt, once and for good."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence

from rich.box import SIMPLE
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, TableElement
from rich.padding import Padding
from rich.panel import Panel
from rich.styled import Styled
from rich.table import Table
from rich.text import Text

from shipmate.cli.terminal.tongue import say
from shipmate.cli.terminal.transcript import Item
from shipmate.values.reveal import reveal, reveal_prose

STYLES = {"thought": "dim italic", "notice": "yellow", "error": "bold red"}
# A column of a table needs no more room than this to be read.
CELL_WIDTH = 12
MARK_STYLES = {"✓": "green", "✗": "red", "⊘": "red"}


class LeftHeading(Heading):
    """A heading at the left, without the box rich draws around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class WholeTable(TableElement):
    """A table of which nothing is left out: cells are broken, and without room for it rows become lists."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header = self.header.row.cells if self.header is not None and self.header.row is not None else []
        heads = [cell.content for cell in header]
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        sizes = [max(cell.cell_len for cell in column) for column in zip(heads, *rows, strict=False)]
        needed = sum(min(size, CELL_WIDTH) + 2 for size in sizes)
        yield _list_rows(heads, rows) if needed > options.max_width else _draw_table(heads, rows)


def _draw_table(heads: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Table:
    table = Table(box=SIMPLE, pad_edge=False, style="markdown.table.border", collapse_padding=True)
    for head in heads:
        table.add_column(Text.assemble(head, style="markdown.table.header"), overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _list_rows(heads: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Text:
    """Write each row as lines, each cell behind its heading."""
    records = [
        Text("\n").join(
            Text.assemble((head.plain, "bold"), ": ", cell) for head, cell in zip(heads, row, strict=False)
        )
        for row in rows
    ]
    return Text("\n\n").join(records)


class ChatMarkdown(Markdown):
    """Markdown in the terminal's own colours."""

    elements = {**Markdown.elements, "heading_open": LeftHeading, "table_open": WholeTable}  # noqa: RUF012 (as the base class declares it)

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
        """Print a line of Shipmate's own, in the reader's language."""
        self.list([say(line)], style)

    def list(self, lines: Iterable[str], style: str = "") -> None:
        """Print lines as they are; the terminal itself breaks long ones, so that they can be copied."""
        for line in lines:
            # Names of members, files and threads are others' words.
            self._write(self._print(Text(reveal_prose(line), style), soft_wrap=True))
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

    def _print(self, shown: object, *, soft_wrap: bool = False) -> str:
        # A terminal that calls itself dumb would be taken for one of 80 columns.
        self._console.width = shutil.get_terminal_size().columns
        with self._console.capture() as capture:
            self._console.print(shown, soft_wrap=soft_wrap)
        # Lists, tables and code come with empty lines of their own; the spacing is ours.
        lines = capture.get().split("\n")
        while lines and not lines[0].strip():
            del lines[0]
        return "\n".join(lines).rstrip() + "\n"
