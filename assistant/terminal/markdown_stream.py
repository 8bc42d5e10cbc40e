"""A model's reply, drawn as Markdown while it streams, safe from whatever the window does.

What is settled is written at the cursor and never touched again. What is not is the tail: at
most a few cells, written behind the cursor, which then goes back to where it stood. So the
cursor always rests between the two, every terminal keeps it there when it reflows or crops its
lines, and erasing from the cursor on takes away the tail and nothing else, however many rows it
has become. No row is ever counted, and no cursor moved up.
"""

import time
from collections.abc import Callable, Iterable
from copy import copy
from types import TracebackType
from typing import Self

from rich.cells import cell_len, split_graphemes
from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.text import Text

from assistant.terminal.control import ControlFilter
from assistant.terminal.markdown_lines import (
    Cut,
    Line,
    MarkdownLines,
    Place,
    Resume,
    fold,
    settled_source,
    wrap,
)

_FRAME_SECONDS = 0.05

# A redraw that is slow itself (a very long paragraph that can't be settled) comes less often.
_REST_AFTER_DRAWING = 4

# Short enough to stay on the screen when a wide window becomes a tiny one.
_TAIL_CELLS = 20

# Prefixes of deeply nested lists give way to at least this many cells of text.
_MIN_TEXT = 10

_NEWLINE = Segment.line()
_ERASE_TAIL = Segment("\x1b[J")
# tmux moves a screen that is erased from its first cell on into the history, tail and all. So
# where nothing stands before the tail, all rows from there on are deleted instead.
_DELETE_TAIL = Segment("\x1b[999M")
# Without wrapping, a window that just got narrower cuts the tail off instead of scrolling.
_TAIL_BEGINS = Segment("\x1b7\x1b[?7l")
_TAIL_ENDS = Segment("\x1b8\x1b[?7h")


class MarkdownStream:
    """Draws a reply piece by piece.

    Where nothing can be drawn (a pipe, a dumb terminal) or `plain` asks for it, the text goes
    out as it comes, less its control sequences.
    """

    def __init__(
        self,
        console: Console,
        *,
        plain: bool = False,
        code_theme: str = "monokai",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._clock = clock
        self._plain = (
            plain or not console.is_terminal or console.is_dumb_terminal or console.legacy_windows
        )
        self._filter = ControlFilter()
        self._markdown = MarkdownLines(console, code_theme)
        self._source = ""
        self._line_open = False
        self._resume = Resume()
        self._pen = _Pen(console)
        self._tail: list[Segment] = []
        self._next_frame = clock()
        self._finished = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.finish()

    def feed(self, piece: str) -> None:
        self._take(self._filter.feed(piece))
        if not self._plain and self._clock() >= self._next_frame:
            self._draw_frame()

    def finish(self) -> None:
        """Draw what is left, also of a reply that was interrupted. May be called again."""
        if self._finished:
            return
        self._finished = True
        self._take(self._filter.finish())
        if self._plain:
            if self._line_open:
                self._write([_NEWLINE])
        else:
            self._draw(ended=True)

    def _take(self, text: str) -> None:
        if not self._plain:
            self._source += text
        elif text:
            self._write([Segment(text)])
            self._line_open = not text.endswith("\n")

    def _draw_frame(self) -> None:
        begun = self._clock()
        self._draw(ended=False)
        spent = self._clock() - begun
        self._next_frame = begun + max(_FRAME_SECONDS, spent * (1 + _REST_AFTER_DRAWING))

    def _draw(self, *, ended: bool) -> None:
        pen = copy(self._pen)
        pen.fit(max(1, self._console.size.width - 1))
        settled = self._source if ended else settled_source(self._source)
        layout = self._markdown.lay_out(settled, self._resume, ended=ended)
        body = pen.write(layout.lines, layout.settled)
        tail: list[Segment] = []
        if not ended:
            lines = layout.lines
            if settled != self._source:
                lines = self._markdown.lay_out(self._source, self._resume, ended=True).lines
            tail = pen.tail(lines)
        if ended or body or tail != self._tail:
            erase = [self._pen.eraser()] if ended or self._tail else []
            drawn = [_TAIL_BEGINS, *tail, _TAIL_ENDS] if tail else []
            self._write([*erase, *body, *drawn])
        # Only now: what an interrupt kept from being drawn is drawn by `finish`.
        self._pen, self._tail = pen, tail
        if layout.cut and layout.cut.line <= pen.line:
            self._cut(layout.cut)

    def _cut(self, cut: Cut) -> None:
        """Forget the source of what is drawn, so that a frame costs the same however long it is."""
        rest = self._source.split("\n", cut.source_line)[cut.source_line]
        self._source = cut.opening + rest
        self._resume = cut.resume
        self._pen.line -= cut.line

    def _write(self, segments: list[Segment]) -> None:
        """All of a frame in one write: a terminal never sees half of it."""
        encoding = self._console.encoding
        if not encoding.startswith("utf"):
            segments = [
                Segment(text.encode(encoding, "replace").decode(encoding), style)
                for text, style, _ in segments
            ]
        self._console.print(Segments(segments), soft_wrap=True)


class _Pen:
    """Where the settled text ends on the screen, and how it goes on from there."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = 1
        self.line = 0
        self._begin_line()

    def fit(self, width: int) -> None:
        """A row begun at another width stays as it is, wherever the terminal has put its end."""
        if width != self._width:
            self._width = width
            self._stale = self._offset > 0

    def write(self, lines: list[Line], until: Place) -> list[Segment]:
        segments: list[Segment] = []
        while self.line < until.line:
            segments += self._put(lines[self.line], None)
            segments.append(_NEWLINE)
            self.line += 1
            self._begin_line()
        if self.line == until.line and self._offset < until.offset:
            segments += self._put(lines[self.line], until.offset)
        return segments

    def tail(self, lines: list[Line]) -> list[Segment]:
        """The end of what is not settled, to stand behind the settled part of its row."""
        held = [line for line in lines[self.line :] if line.text.plain.strip()]
        if not held or self._stale:
            return []
        text, prefix = held[-1].text, Text()
        if held[-1] is lines[self.line]:
            text = text[self._offset :]
        if not self._column:
            prefix = self._shortened(held[-1].first)
        room = min(_TAIL_CELLS, self._width - self._column - len(prefix))
        if room < 2 or not text.plain.strip():
            return []
        if text.cell_len > room:
            text = Text("…").append_text(text[_start_of_last(text.plain, room - 1) :])
        return [*self._segments(prefix), *self._segments(text)]

    def eraser(self) -> Segment:
        return _ERASE_TAIL if self._column else _DELETE_TAIL

    def _begin_line(self) -> None:
        # Offsets into the text of the line: where the row under the cursor begins and ends.
        self._row = self._offset = 0
        self._column = 0
        self._stale = False

    def _put(self, line: Line, end: int | None) -> list[Segment]:
        """What the line still lacks up to `end`, or altogether."""
        prefix, rest = self._shortened(line.first), self._shortened(line.rest)
        room = max(1, self._width - len(prefix))
        if line.block is not None:
            return self._put_block(line.block, prefix, rest, room)
        text = line.text.plain[:end]
        segments: list[Segment] = []
        if self._stale:
            more = text[self._offset :].lstrip(" ")
            if not more:
                return []
            self._begin_line()
            self._row = self._offset = len(text) - len(more)
            segments.append(_NEWLINE)
        rows = fold(text, 0, room) if line.code else wrap(text, self._row, room)
        ends = [max(offset, self._offset) for row in rows for offset in row]
        # Every other piece is a row; those between are the spaces that wrapping drops.
        for index, piece in enumerate(line.text.divide(ends)[1::2]):
            if index:
                segments.append(_NEWLINE)
            if index or not self._column:
                segments += self._segments(rest if index or self._row else prefix)
            segments += self._segments(piece)
            if line.code:
                fill = Text(" " * (room - piece.cell_len), line.text.style)
                segments += self._segments(fill)
        self._row, self._offset = rows[-1]
        self._column = len(prefix) + cell_len(text[self._row : self._offset])
        return segments

    def _put_block(
        self, block: RenderableType, prefix: Text, rest: Text, room: int
    ) -> list[Segment]:
        segments: list[Segment] = []
        options = self._console.options.update(width=room, height=None)
        for index, row in enumerate(self._console.render_lines(block, options, pad=False)):
            if index:
                segments.append(_NEWLINE)
            segments += [*self._segments(rest if index else prefix), *row]
        return segments

    def _segments(self, text: Text) -> Iterable[Segment]:
        """Rich leaves out the style of a text as a whole if no part of it has one of its own."""
        style = self._console.get_style(text.style)
        return Segment.apply_style(text.render(self._console), style)

    def _shortened(self, prefix: Text) -> Text:
        """Each character of a prefix is one cell; its end says more than its start."""
        room = max(0, self._width - _MIN_TEXT)
        return prefix[len(prefix) - room :] if len(prefix) > room else prefix


def _start_of_last(text: str, cells: int) -> int:
    """Where the last `cells` cells of a text begin; a wide character that half fits is left out."""
    begin = len(text)
    for start, _, width in reversed(split_graphemes(text)[0]):
        cells -= width
        if cells < 0:
            break
        begin = start
    return begin
