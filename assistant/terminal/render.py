"""The screen: the only place that writes to it, and only to the right stream.

Text of users, models, files and errors is printed as it is: control sequences are stripped, and
nothing in it is ever read as markup. rich is imported with the first thing that needs it.
"""

from __future__ import annotations

import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from assistant.commands.outputs import Bar, Table, Text, Transcript, local_time
from assistant.messages import BROKEN, INTERRUPTED, Message
from assistant.terminal.control import without_control

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text as RichText

    from assistant.terminal.markdown_stream import MarkdownStream

RECAP_CHARACTERS = 400
UNBROKEN = 10_000
NARROW = 60


class Screen:
    """Draws outputs. `answers` gets replies and what was asked for, `asides` the rest.

    In a conversation both are the terminal; in one-shot mode answers are stdout alone.
    """

    def __init__(self, answers: TextIO, asides: TextIO) -> None:
        self._answers = answers
        self._asides = asides
        self._consoles: dict[int, Console] = {}

    # --- plain lines ----------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Lines of ours beside the conversation, broken at words. They need no rich."""
        for line in without_control(text).splitlines():
            print(_wrapped(line, self._asides), file=self._asides, flush=True)

    def error(self, text: str) -> None:
        """A sentence about what went wrong."""
        self._styled(text, "red")

    def notice(self, text: str) -> None:
        """A sentence the user should know, that is no error."""
        self._styled(text, "yellow")

    def _styled(self, text: str, style: str) -> None:
        from rich.text import Text as RichText

        self._console(self._asides).print(RichText(without_control(text), style=style))

    def answer(self, text: str) -> None:
        """Text that was asked for, to the stream for answers; broken at words in a terminal."""
        for line in without_control(text).split("\n"):
            print(_wrapped(line, self._answers), file=self._answers, flush=True)

    def ask(self, question: str) -> None:
        """A question; the cursor stays behind it."""
        print(without_control(question), end="", file=self._asides, flush=True)

    # --- outputs of commands --------------------------------------------------------------------

    def show(self, output: Text | Table | Bar | Transcript) -> None:
        """Draw what a command returned."""
        match output:
            case Text():
                self.answer(output.text)
            case Table():
                self._table(output)
            case Bar():
                self._bar(output)
            case Transcript():
                self._transcript(output)

    def _table(self, output: Table) -> None:
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text as RichText

        if output.title:
            self._draw(RichText(without_control(output.title)))
        if self._console(self._answers).width < NARROW:
            # Columns would be a few letters wide: a row is a line, and its title can be copied.
            for row in output.rows:
                self.answer(" · ".join(cell for cell in row if cell))
            self._note(output.note)
            return
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in output.columns:
            table.add_column(column, overflow="fold")
        for row in output.rows:
            table.add_row(*(RichText(without_control(cell)) for cell in row))
        self._draw(table)
        self._note(output.note)

    def _bar(self, output: Bar) -> None:
        from rich.text import Text as RichText

        console = self._console(self._answers)
        total = max(1, sum(share.size for share in output.shares))
        width = max(4, min(48, console.width - 30))
        self._draw(RichText(without_control(output.title)))
        for share in output.shares:
            filled = round(width * share.size / total)
            glyph = "█" if share.used else "░"
            percent = 100 * share.size / total
            self._draw(
                RichText(
                    f"{share.name:<9}{output.mark}{share.size:>9,} {percent:5.1f} %  "
                    f"{glyph * filled}"
                )
            )
        self._note(output.note)

    def _transcript(self, output: Transcript) -> None:
        from rich.text import Text as RichText

        if output.title:
            self._draw(RichText(without_control(output.title), style="bold"))
        self._note(output.note)
        for message in output.messages:
            mark = " · undone" if message.turn in output.undone else ""
            self._message(message, output.failures.get(message.turn), mark=mark)

    def recap(self, output: Transcript) -> None:
        """The end of a conversation, each message shortened to a few lines."""
        self._styled(output.title, "bold")
        # Nobody asked for it: it stands beside the answers.
        aside = Screen(self._asides, self._asides)
        for message in output.messages:
            shortened = shorten(message.text, RECAP_CHARACTERS)
            aside._message(message, output.failures.get(message.turn), shortened)

    def _message(
        self, message: Message, failure: str | None, text: str | None = None, *, mark: str = ""
    ) -> None:
        from rich.text import Text as RichText

        when = local_time(message.ts)
        who = {"user": "You", "assistant": "Assistant", "tool": "Tool"}.get(message.role, "")
        head = RichText(f"{who} · {message.turn} · {when}{mark}", style="bold")
        self._draw(head)
        shown = message.text if text is None else text
        if message.role == "assistant":
            with self.reply() as view:
                view.feed(shown)
        else:
            self._draw(RichText(without_control(shown)))
        if message.finish_reason in (INTERRUPTED, BROKEN):
            self._draw(cut_mark(message.finish_reason))
        if failure is not None and message.role == "user":
            self._draw(RichText(f"(no reply: {without_control(failure)})", style="yellow"))
        self._draw(RichText())

    def _note(self, note: str) -> None:
        if note:
            from rich.text import Text as RichText

            self._draw(RichText(without_control(note), style="dim"))

    def _draw(self, renderable: RenderableType) -> None:
        self._console(self._answers).print(renderable)

    # --- a reply as it streams ------------------------------------------------------------------

    @contextmanager
    def reply(self) -> Iterator[ReplyView]:
        """Where a reply is drawn while it comes; closed, its last line is final."""
        view = ReplyView(self._console(self._answers), self._console(self._asides))
        try:
            yield view
        finally:
            view.finish()

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """A waiting sign while something is done; what it gives says how far that is."""
        asides = self._console(self._asides)
        if not asides.is_terminal:
            yield lambda _: None
            return
        with asides.status(without_control(text)) as status:
            yield lambda progress: status.update(without_control(progress))

    def _console(self, stream: TextIO) -> Console:
        if id(stream) not in self._consoles:
            from rich.console import Console

            class Pipe(Console):
                """Says that its reader has gone, where rich would end the program silently."""

                def on_broken_pipe(self) -> None:
                    raise BrokenPipeError

            # Lines into a pipe are not broken: what reads them may search them.
            width = None if stream.isatty() else UNBROKEN
            self._consoles[id(stream)] = Pipe(
                file=stream, markup=False, emoji=False, highlight=False, width=width
            )
        return self._consoles[id(stream)]


class ReplyView:
    """A waiting sign, then the reply as Markdown."""

    def __init__(self, console: Console, asides: Console) -> None:
        from assistant.terminal.markdown_stream import MarkdownStream

        self._console = console
        self._asides = asides
        self._stream: MarkdownStream = MarkdownStream(console)
        self._status = asides.status("Thinking …") if asides.is_terminal else None
        # What is waited for is told from the worker, at any moment.
        self._waiting = threading.Lock()

    def waiting(self, text: str) -> None:
        """Say what is waited for, until the first words come."""
        with self._waiting:
            if self._status is not None:
                self._status.update(without_control(text) or "Thinking …")
                self._status.start()

    def working(self, text: str) -> None:
        """Say what is done now, between what the model says; empty: the model goes on."""
        with self._waiting:
            waiting = self._status is not None
        if not waiting:
            self._end_text()
            with self._waiting:
                if self._asides.is_terminal:
                    self._status = self._asides.status("")
        self.waiting(text)

    def aside(self, text: str) -> None:
        """A line of ours between what the model says."""
        from rich.text import Text as RichText

        self.pause()
        self._asides.print(RichText(without_control(text), style="green"))

    def pause(self) -> None:
        """Make way for something else on the screen."""
        self._stop_waiting()
        self._end_text()

    def _end_text(self) -> None:
        from assistant.terminal.markdown_stream import MarkdownStream

        self._stream.finish()
        self._stream = MarkdownStream(self._console)

    def feed(self, text: str) -> None:
        self._stop_waiting()
        self._stream.feed(text)

    def finish(self, finish_reason: str | None = None) -> None:
        """Draw what is left; a reply that was cut short says so."""
        self._stop_waiting()
        self._stream.finish()
        if finish_reason in (INTERRUPTED, BROKEN, "length"):
            self._asides.print(cut_mark(finish_reason))

    def _stop_waiting(self) -> None:
        with self._waiting:
            if self._status is not None:
                self._status.stop()
                self._status = None


def _wrapped(line: str, stream: TextIO) -> str:
    if not stream.isatty():
        return line
    return textwrap.fill(line, max(10, os.get_terminal_size(stream.fileno()).columns))


def cut_mark(finish_reason: str) -> RichText:
    from rich.text import Text as RichText

    reasons = {
        INTERRUPTED: "(stopped here)",
        BROKEN: "(the connection broke here)",
        "length": "(cut here: the reply reached its limit; budget.reply raises it)",
    }
    return RichText(reasons[finish_reason], style="yellow")


def shorten(text: str, length: int) -> str:
    """The start of a text, on one line for a list or a few for a recap."""
    text = text.strip()
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def terminal_screen() -> Screen:
    """A conversation: everything goes to the terminal."""
    return Screen(sys.stdout, sys.stdout)


def one_shot_screen() -> Screen:
    """A script: the answer alone on stdout."""
    return Screen(sys.stdout, sys.stderr)
