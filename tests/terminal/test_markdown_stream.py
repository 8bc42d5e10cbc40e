"""Streamed Markdown on emulated terminals, cropping and reflowing, and on a real one."""

import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyte import modes
from pyte.screens import Char, StaticDefaultDict
from rich.cells import cell_len
from rich.console import Console
from wcwidth import wcwidth

from assistant.terminal.control import ControlFilter
from assistant.terminal.markdown_stream import MarkdownStream


class Terminal(pyte.HistoryScreen):
    """A pyte screen whose window can be resized, with its history, as real terminals do it."""

    def __init__(self, columns: int, lines: int) -> None:
        super().__init__(columns, lines, history=100_000)

    def draw(self, data: str) -> None:
        if data.isascii() and self.cursor.x + len(data) <= self.columns:
            super().draw(data)
            return
        for char in data:
            if wcwidth(char) < 1:
                continue
            row = self.buffer[self.cursor.y]
            wraps = self.cursor.x == self.columns and modes.DECAWM in self.mode
            super().draw(char)
            if wraps:
                row.wrapped = True

    def linefeed(self) -> None:
        self.buffer[self.cursor.y].wrapped = False
        super().linefeed()

    def erase_in_display(self, how: int = 0, *args: object, **kwargs: object) -> None:
        if not self.cursor.x and not self.cursor.y:
            # tmux saves what is erased from the first cell on.
            self.history.top.extend(filter(self._used, self.buffer.values()))
            self.buffer.clear()
        for y in range(self.cursor.y, self.lines):
            self.buffer[y].wrapped = False
        super().erase_in_display(how, *args, **kwargs)

    def rows(self) -> list[StaticDefaultDict]:
        return [*self.history.top, *(self.buffer[y] for y in range(self.lines))]

    def text(self) -> str:
        lines = [
            "".join(row[x].data for x in range(max(row, default=-1) + 1)).rstrip()
            for row in self.rows()
        ]
        return "\n".join(lines).rstrip("\n")

    def cells(self) -> list[list[Char]]:
        """Everything that can be seen, with its colours."""
        rows = [self._used(row) for row in self.rows()]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def _used(self, row: StaticDefaultDict) -> list[Char]:
        """The cells of a row but for the empty ones at its end."""
        cells = [row[x] for x in range(max(row, default=-1) + 1)]
        while cells and cells[-1] == self.default_char:
            cells.pop()
        return cells

    def resize_window(self, columns: int, lines: int, *, reflow: bool) -> None:
        """Crop the rows, or join what was wrapped and wrap it anew as tmux does."""
        at = len(self.history.top) + self.cursor.y
        rows = self.rows()
        while len(rows) > at + 1 and not self._used(rows[-1]):
            rows.pop()
        if reflow:
            rows, at, column = self._reflowed(rows, at, columns)
        else:
            column = min(self.cursor.x, columns - 1)
            for row in rows:
                for x in [x for x in row if x >= columns]:
                    del row[x]
        top = max(0, len(rows) - lines)
        self.history.top.clear()
        self.history.top.extend(rows[:top])
        self.buffer.clear()
        self.buffer.update(enumerate(rows[top:]))
        self.columns, self.lines = columns, lines
        # tmux puts a cursor whose line has left the screen at the top left.
        self.cursor.y, self.cursor.x = (at - top, column) if at >= top else (0, 0)

    def _reflowed(
        self, rows: list[StaticDefaultDict], at: int, columns: int
    ) -> tuple[list[StaticDefaultDict], int, int]:
        result: list[StaticDefaultDict] = []
        line: list[Char] = []
        target: int | None = None
        new_at = new_column = 0
        for index, row in enumerate(rows):
            if index == at:
                target = len(line) + self.cursor.x
            wrapped = getattr(row, "wrapped", False)
            line += [row[x] for x in range(self.columns)] if wrapped else self._used(row)
            if wrapped:
                continue
            start = 0
            while True:
                stop = min(start + columns, len(line))
                if stop < len(line) and stop - start > 1 and line[stop].data == "":
                    stop -= 1
                last = stop >= len(line)
                if target is not None and (target < stop or last):
                    new_at, new_column = len(result), min(target - start, columns)
                    target = None
                fresh = StaticDefaultDict(self.default_char)
                fresh.update(enumerate(line[start:stop]))
                fresh.wrapped = not last
                result.append(fresh)
                start = stop
                if last:
                    break
            line = []
        return result, new_at, new_column


class Window:
    """A console on a terminal, and a stream that draws a frame at every piece."""

    def __init__(self, columns: int, lines: int) -> None:
        self.now = 0.0
        self.terminal = Terminal(columns, lines)
        self.output = _Output(pyte.Stream(self.terminal))
        self.console = Console(
            file=self.output,
            width=columns,
            height=lines,
            force_terminal=True,
            color_system="truecolor",
            _environ={"TERM": "xterm-256color"},
        )
        self.stream = MarkdownStream(self.console, clock=lambda: self.now)

    def feed(self, *pieces: str) -> None:
        for piece in pieces:
            self.now += 1
            self.stream.feed(piece)

    def resize(self, columns: int, lines: int, *, reflow: bool) -> None:
        self.terminal.resize_window(columns, lines, reflow=reflow)
        self.console.size = (columns, lines)


class _Output(io.StringIO):
    def __init__(self, stream: pyte.Stream) -> None:
        super().__init__()
        self._stream = stream
        self.writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        self._stream.feed(text.replace("\n", "\r\n"))
        return len(text)


def drawn(source: str, columns: int = 40, lines: int = 10, piece: int = 0) -> Terminal:
    window = Window(columns, lines)
    step = piece or len(source) or 1
    window.feed(*(source[start : start + step] for start in range(0, len(source), step)))
    window.stream.finish()
    return window.terminal


def letters(text: str) -> str:
    return "".join(re.findall("[a-z\u4e00-\u9fff]", text))


REPLY = """\
# A *title*

Some **bold words** and `inline code`, then a [link](http://a.example/x_y) in a long paragraph
whose second line stays a line.

1. first item, long enough to be wrapped in a narrow window
2. second item
   - nested 中文字符没有空格所以必须在字符之间断开。
   - with code:
     ```python
     def spam(): return 1
     ```
3. third item

> a quote that goes on
> - and lists a thing

| 名字 | Age |
|------|----:|
| 张三 | 3 |
| Bob | 45 |

<details>
raw html
</details>

```python
def ham(name: str) -> None:
    print(f"hello {name}")


    return None
```

---
The end.
"""

RENDERED = [
    (
        "markup of rich",
        "see [red]x[/red] [/x] list[int] x[i]",
        "see [red]x[/red] [/x] list[int] x[i]",
    ),
    ("soft line breaks", "roses are red\nviolets are blue", "roses are red\nviolets are blue"),
    ("hard line breaks", "one  \ntwo\\\nthree", "one\ntwo\nthree"),
    ("emphasis over lines", "a **b\nc** d", "a b\nc d"),
    ("inline html", "a <b>bold</b> <br> word", "a <b>bold</b> <br> word"),
    ("html block", "<div>\n  <p>in</p>\n</div>", "<div>\n  <p>in</p>\n</div>"),
    ("html comment", "<!-- a\n\nb -->", "<!-- a\n\nb -->"),
    ("link", '[text](http://a.b "c")', 'text (http://a.b "c")'),
    ("link to itself", "[http://a.b](http://a.b) <http://c.d>", "http://a.b http://c.d"),
    ("chinese link", "[维基](http://例子.cn/页)", "维基 (http://例子.cn/页)"),
    ("image", "![alt](a.png) ![](b.png)", "alt (a.png) (b.png)"),
    ("unlinked reference", "[a][b]\n\n[b]: http://c", "[a][b]\n\n[b]: http://c"),
    ("stray markers", "5*3 = 15, a_b_c, 2 ** 3, `x", "5*3 = 15, a_b_c, 2 ** 3, `x"),
    ("escapes", r"\*not\* &amp; &lt;", "*not* & <"),
    ("heading", "# Title\ntext\n### Third ##", "Title\n\ntext\n\nThird"),
    ("rule under text", "text\n---\nmore", "text\n\n" + "─" * 39 + "\n\nmore"),
    ("numbers", "7. a\n1. b\n\n   c\n1. d", " 7. a\n 8. b\n\n    c\n 9. d"),
    ("tasks", "- [ ] a\n- [x] b", " • [ ] a\n • [x] b"),
    ("empty item", "- a\n-\n- c", " • a\n •\n • c"),
    ("item on the next line", "-\n  foo", " • foo"),
    ("quote", "> a\n> > b\n\nc", "▌ a\n▌\n▌ ▌ b\n\nc"),
    ("code", "```py\na = 1\n\n\tb\n```", "\n a = 1\n\n     b"),
    ("empty code", "a\n\n```\n```\nb", "a\n\n\n\n\n\nb"),
    ("indented code", "a\n\n    b\n\n    c", "a\n\n\n b\n\n c"),
    (
        "wide words",
        "一二三四五六七八九十" * 2 + "。",
        "一二三四五六七八九十一二三四五六七八九\n十。",
    ),
    ("comma at the edge", "一" * 19 + "，二", "一" * 18 + "\n一，二"),
    ("long word", "see " + "x" * 50, "see\n" + "x" * 39 + "\n" + "x" * 11),
    ("table", "|a|名字|\n|-|-:|\n|bb|c|", "a    名字\n─────────\nbb      c"),
    ("table without edges", "a | b\n--|--\n1 | 2", "a   b\n─────\n1   2"),
    ("table after text", "text\n|a|\n|-|\n|1|", "text\n\na\n─\n1"),
    ("not a table", "a | b\nc | d", "a | b\nc | d"),
    ("cells without a column", "|a|\n|-|\n|1|2|3|", "a\n─────────\n1 | 2 | 3"),
    ("empty", "\n\n", ""),
]


@pytest.mark.parametrize(
    ("source", "expected"), [case[1:] for case in RENDERED], ids=[case[0] for case in RENDERED]
)
@pytest.mark.parametrize("piece", [0, 1, 7])
def test_renders(source: str, expected: str, piece: int) -> None:
    assert drawn(source, piece=piece).text() == expected.rstrip()


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 3), (12, 2), (120, 3)])
@pytest.mark.parametrize("piece", [1, 3, 50])
def test_pieces_make_no_difference(size: tuple[int, int], piece: int) -> None:
    assert drawn(REPLY, *size, piece=piece).cells() == drawn(REPLY, *size).cells()


@pytest.mark.parametrize("columns", [0, 1, 2, 3, 5, 9])
def test_survives_hardly_any_columns(columns: int) -> None:
    console = Console(
        file=io.StringIO(),
        width=columns,
        height=min(columns, 1),
        force_terminal=True,
        _environ={"TERM": "xterm"},
    )
    with MarkdownStream(console, clock=count().__next__) as stream:
        for character in REPLY:
            stream.feed(character)


def test_a_table_too_wide_becomes_rows() -> None:
    source = "|a|b|c|d|e|\n|-|-|-|-|-|\n|some|words|that|are|long|"
    assert drawn(source, 20).text() == "a | b | c | d | e\nsome | words | that\n| are | long"


def test_code_keeps_its_background_in_every_cell() -> None:
    source = "```python\nx = 'a long line that does not fit'\n\ny\n```"
    rows = drawn(source, 20, piece=3).cells()
    assert [len(row) for row in rows] == [19] * 6
    assert len({char.bg for row in rows for char in row}) == 1
    assert rows[0][0].bg != "default"


def test_a_long_fence_is_cut_without_a_trace() -> None:
    code = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(110))
    source = f"before\n\n```python\n{code}```\nafter"
    assert drawn(source, piece=97).cells() == drawn(source).cells()


def test_what_is_settled_is_shown_at_once_and_the_rest_as_tail() -> None:
    window = Window(40, 10)
    window.feed("Here are words that are **bold but unfin")
    assert window.terminal.text() == "Here are words that are…*bold but unfin"
    assert window.terminal.cursor.x == len("Here are words that are")
    window.feed("ished** now")
    assert window.terminal.text() == "Here are words that are bold but\nunfinished now"


def test_an_unfinished_table_shows_its_last_row_only() -> None:
    window = Window(40, 10)
    window.feed("| a | b |\n|---|---|\n| first | one |\n| second | two |")
    assert window.terminal.text() == "second | two"


def test_draws_at_most_twenty_frames_a_second() -> None:
    now = 0.0
    window = Window(40, 10)
    stream = MarkdownStream(window.console, clock=lambda: now)
    for _ in range(1000):
        stream.feed("word ")
        now += 0.001
    assert 15 <= window.output.writes <= 21


def test_a_slow_frame_makes_the_next_come_later() -> None:
    """The clock jumps a second at each look, as if every frame took one."""
    window = Window(40, 10)
    stream = MarkdownStream(window.console, clock=count().__next__)
    for _ in range(100):
        stream.feed("word ")
    assert window.output.writes < 60


def test_a_frame_costs_the_same_however_long_the_reply() -> None:
    short, long = (_seconds_to_stream(REPLY * times) for times in (10, 100))
    assert long < 20 * short


def _seconds_to_stream(source: str) -> float:
    now = 0
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "xterm"})
    begun = time.process_time()
    with MarkdownStream(console, clock=lambda: now) as stream:
        for start in range(0, len(source), 4):
            now += start % 400 == 0
            stream.feed(source[start : start + 4])
    return time.process_time() - begun


def test_finish_may_come_twice_and_after_an_exception() -> None:
    window = Window(40, 10)

    def interrupted() -> None:
        with window.stream:
            window.feed("a **bold | half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert window.terminal.text() == "a **bold | half"
    assert (window.terminal.cursor.x, window.terminal.cursor.y) == (0, 1)
    assert not window.terminal.cursor.hidden
    assert modes.DECAWM in window.terminal.mode
    window.stream.finish()
    assert window.terminal.text() == "a **bold | half"


# Control sequences


CONTROLS = "a\x1b[31mb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x9b2Je\x07\x08\x7f\rf\x1bcg\x9d0;t\x9ch\ti\nj"


@pytest.mark.parametrize("piece", range(1, 9))
def test_control_sequences_are_stripped_however_they_are_split(piece: int) -> None:
    filter_ = ControlFilter()
    pieces = [CONTROLS[n : n + piece] for n in range(0, len(CONTROLS), piece)]
    assert "".join(map(filter_.feed, pieces)) + filter_.finish() == "abcdefgh\ti\nj"


def test_an_unterminated_sequence_does_not_swallow_the_reply() -> None:
    filter_ = ControlFilter()
    text = filter_.feed("\x1b]0;rest\nof the reply \x1b[") + filter_.finish()
    assert text == "0;rest\nof the reply "


def test_split_surrogates_are_mended_and_lone_ones_replaced() -> None:
    filter_ = ControlFilter()
    pieces = ["a\ud83d", "\udc68\u200d", "\ud83d", "\udc69 \udce4 \ud83d"]
    assert "".join(map(filter_.feed, pieces)) + filter_.finish() == "a👨\u200d👩 \ufffd \ufffd"


def test_joined_emoji_are_never_split() -> None:
    family = "👨\u200d👩\u200d👧"
    output = io.StringIO()
    console = Console(file=output, width=12, force_terminal=True, _environ={"TERM": "xterm"})
    with MarkdownStream(console, clock=count().__next__) as stream:
        for character in family * 9:
            stream.feed(character)
    text = re.sub(r"\x1b7.*?\x1b8\x1b\[\?7h|\x1b\[J|\x1b\[\d+M", "", output.getvalue())
    rows = text.split("\n")
    assert rows == [family * 5, family * 4, ""]


# Where nothing is drawn


@pytest.mark.parametrize("source", ["**a** [red]\x1b[31m\n|b", "a\tb \n\n  c\n", ""])
@pytest.mark.parametrize("why", ["pipe", "dumb", "asked"])
def test_plain_text_goes_out_as_it_comes(source: str, why: str) -> None:
    text = source.replace("\x1b[31m", "")
    output = io.StringIO()
    environment = {"TERM": "dumb" if why == "dumb" else "xterm"}
    console = Console(file=output, force_terminal=why != "pipe", width=3, _environ=environment)
    with MarkdownStream(console, plain=why == "asked") as stream:
        for character in source:
            stream.feed(character)
            assert text.startswith(output.getvalue())
    assert output.getvalue() == text + "\n" * (bool(text) and not text.endswith("\n"))


def test_no_color_is_respected() -> None:
    output = io.StringIO()
    environment = {"TERM": "xterm", "NO_COLOR": "1"}
    console = Console(
        file=output, force_terminal=True, color_system="truecolor", _environ=environment
    )
    with MarkdownStream(console) as stream:
        stream.feed("```python\nx = 1\n```")
    assert not re.search(r"\x1b\[[\d;]*[34]8;", output.getvalue())


def test_a_narrow_encoding_is_no_error() -> None:
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="ascii")
    console = Console(
        file=output, force_terminal=True, color_system=None, _environ={"TERM": "xterm"}
    )
    with MarkdownStream(console) as stream:
        stream.feed("- né")
    output.flush()
    assert raw.getvalue().decode().endswith(" ? n?\n")


# Whatever comes, however it is cut


def _words(name: str) -> Iterator[str]:
    """Words that occur once: three letters each, after a name that tells where they stand."""
    for number in count():
        yield name + chr(97 + number // 22 % 22) + chr(97 + number % 22)


@st.composite
def inline(draw: st.DrawFn, word: Callable[[], str]) -> str:
    pieces = st.sampled_from(
        [
            "W", "W W W", "**W W**", "*W*", "_W_ W", "~~W~~", "`W W`", "``W` W``", "[W](W)",
            "[W W", "W]", "W(W)", "![W](W)", "<W>", "<http://W>", "W*W", "W_W", "**W", "W**",
            "*W", "W*", "`W", "W`", "~~W", "\\*W", "W\\", "&W", "W & W", "W | W", "2 * W", "W!",
            "中文W，字。W", "W\tW", "[W] W", "***W** W*", "*W **W*", "字！[W](W)", "W\n**W",
            "[W *W](W) W*", "W :W:",
        ]
    )  # fmt: skip
    text = draw(st.sampled_from([" ", "", " "])).join(
        draw(st.lists(pieces, min_size=1, max_size=6))
    )
    return re.sub("W", lambda _: word(), text)


@st.composite
def block(draw: st.DrawFn, word: Callable[[], str], depth: int = 0) -> str:
    kind = draw(st.sampled_from(KINDS if depth < 2 else KINDS[:11]))
    lines = draw(st.lists(inline(word), min_size=1, max_size=3))
    match kind:
        case "lines":
            return "\n".join(lines)
        case "heading":
            return f"## {lines[0]}\n{lines[-1] if len(lines) > 1 else ''}"
        case "fence":
            return (
                "```\n"
                + "\n\n".join(lines)
                + draw(st.sampled_from(["\n```", "\n\n```", "", "\n``"]))
            )
        case "indented":
            return "\n\n".join(f"    {line}" for line in lines)
        case "table":
            rows = [f"| {line} | {word()} |" for line in lines]
            return "\n".join([f"| {word()} | {word()} |", "|---|:-:|", *rows])
        case "bare table":
            return "\n".join([f"{word()} | {word()}", "---|---", *lines])
        case "html":
            return f"<div>\n{lines[0]}\n</div>"
        case "under":
            rules = st.sampled_from(["---", "===", "- - -", "***", "--", "-", "#"])
            return f"{lines[0]}\n{draw(rules)}"
        case "indent":
            return "\n".join(
                draw(st.sampled_from(["", " ", "  ", "     "])) + line for line in lines
            )
        case "number":
            dot = draw(st.sampled_from([".", ")", ". ", " "]))
            return f"{draw(st.integers(0, 2024))}{dot}{lines[0]}"
        case "definition":
            return f"[{word()}]: {word()}"
        case "items" | "numbers":
            mark = "- " if kind == "items" else "1. "
            inner = draw(st.lists(block(word, depth + 1), min_size=1, max_size=3))
            loose = draw(st.sampled_from(["\n", "\n\n"]))
            return loose.join(_indented(mark, item) for item in inner)
        case _:
            inner_block = draw(block(word, depth + 1))
            return "\n".join("> " + line for line in inner_block.split("\n"))


KINDS = ["lines", "heading", "fence", "indented", "table", "bare table", "html", "under", "indent"]
KINDS += ["number", "definition", "items", "numbers", "quote"]


def _indented(mark: str, text: str) -> str:
    return mark + text.replace("\n", "\n" + " " * len(mark))


@st.composite
def replies(draw: st.DrawFn) -> str:
    words = _words("w")
    blocks = draw(st.lists(block(lambda: next(words)), min_size=1, max_size=5))
    return draw(st.sampled_from(["\n\n", "\n", "\n\n\n"])).join(blocks)


cuts = st.lists(st.integers(1, 12), min_size=1, max_size=8)
sizes = st.tuples(st.integers(20, 90), st.integers(3, 12))


def cut(source: str, lengths: list[int]) -> Iterator[str]:
    start = 0
    for index in count():
        if start >= len(source):
            return
        length = lengths[index % len(lengths)]
        yield source[start : start + length]
        start += length


@settings(max_examples=25, deadline=None)
@given(source=replies(), lengths=cuts, size=sizes)
def test_any_pieces_draw_the_same_and_lose_nothing(
    source: str, lengths: list[int], size: tuple[int, int]
) -> None:
    window = Window(*size)
    window.feed(*cut(source, lengths))
    window.stream.finish()
    whole = drawn(source, *size)
    assert window.terminal.cells() == whole.cells()
    # Cells of a table wrap side by side, so the order of their letters is not that of the source.
    assert Counter(letters(whole.text())) == Counter(letters(source))
    assert max(map(cell_len, whole.text().split("\n")), default=0) < size[0]


def stream_resized(
    source: str, lengths: list[int], windows: list[tuple[int, int]], *, reflow: bool
) -> str:
    """The text on the screen of a reply during which the window changed before each piece."""
    window = Window(*windows[0])
    changes = cycle(windows)
    for piece in cut(source, lengths):
        window.feed(piece)
        window.resize(*next(changes), reflow=reflow)
    window.stream.finish()
    assert window.terminal.cursor.x == 0
    return window.terminal.text()


@settings(max_examples=20, deadline=None)
@given(source=replies(), lengths=cuts, windows=st.lists(sizes, min_size=1, max_size=9))
def test_nothing_is_lost_or_doubled_where_lines_reflow(
    source: str, lengths: list[int], windows: list[tuple[int, int]]
) -> None:
    text = stream_resized(source, lengths, windows, reflow=True)
    assert Counter(letters(text)) == Counter(letters(source))


@settings(max_examples=20, deadline=None)
@given(source=replies(), lengths=cuts, windows=st.lists(sizes, min_size=1, max_size=9))
def test_nothing_is_doubled_where_lines_are_cropped(
    source: str, lengths: list[int], windows: list[tuple[int, int]]
) -> None:
    text = stream_resized(source, lengths, windows, reflow=False)
    assert Counter(re.findall("w[a-v]{2}", text)) <= Counter(re.findall("w[a-v]{2}", source))


@settings(max_examples=10, deadline=None)
@given(source=replies(), lengths=cuts, heights=st.lists(st.integers(3, 12), min_size=2, max_size=9))
def test_nothing_is_lost_where_a_cropped_window_changes_its_height(
    source: str, lengths: list[int], heights: list[int]
) -> None:
    windows = [(40, height) for height in heights]
    text = stream_resized(source, lengths, windows, reflow=False)
    assert text == drawn(source, 40).text()


def test_a_paragraph_goes_on_at_the_new_width() -> None:
    window = Window(30, 5)
    window.feed("one two three four five six seven eight nine")
    window.resize(60, 5, reflow=True)
    window.feed(" ten eleven twelve thirteen fourteen fifteen sixteen seventeen")
    window.stream.finish()
    assert window.terminal.text().split("\n") == [
        "one two three four five six",
        "seven eight",
        "nine ten eleven twelve thirteen fourteen fifteen sixteen",
        "seventeen",
    ]


# A real terminal


MARKED = "".join(
    f"Words **of** mark {mark} go on for more than a row of 5*3 in most of the windows.\n\n"
    f"- item {mark} with 中文字符没有空格所以必须在字符之间断开 and `code`\n\n"
    f"| {mark} | b |\n|---|---|\n| c | d |\n\n```\nx = '{mark}'\n```\n\n"
    for mark in (f"m{chr(97 + number)}m" for number in range(20))
)
SCRIPT = f"""
import sys, time
from pathlib import Path
from rich.console import Console
from assistant.terminal.markdown_stream import MarkdownStream

reply = {MARKED!r}
hold, held = Path(sys.argv[1]), Path(sys.argv[2])
with MarkdownStream(Console()) as stream:
    for start in range(0, len(reply), 5):
        stream.feed(reply[start : start + 5])
        time.sleep(0.004)
        if hold.exists():
            held.touch()
            while hold.exists():
                time.sleep(0.004)
            held.unlink()
print("END")
sys.stdin.read()
"""


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_in_tmux_every_word_stands_once_whatever_the_window_did(tmp_path: Path) -> None:
    texts = []
    for attempt in ("one", "two", "three"):
        (tmp_path / attempt).mkdir()
        texts.append(letters(shown_in_tmux(tmp_path / attempt)))
        # A resize that falls into the write of a frame all the same costs a letter: tmux moves the
        # cursor that was saved. A fault of ours costs some every time.
        if texts[-1] == letters(MARKED):
            return
    assert texts[-1] == letters(MARKED)


def shown_in_tmux(tmp_path: Path) -> str:
    """What stands in a window that is resized while a reply streams into it."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    hold, held = tmp_path / "hold", tmp_path / "held"

    def tmux(*arguments: str) -> str:
        command = ["tmux", "-u", "-S", str(tmp_path / "tmux"), "-f", "/dev/null", *arguments]
        result = subprocess.run(
            command, check=True, capture_output=True, text=True, encoding="utf-8", env=environment
        )
        return result.stdout

    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONUTF8": "1"}
    for name in ("COLUMNS", "LINES", "NO_COLOR", "TMUX"):
        environment.pop(name, None)
    program = [sys.executable, str(script), str(hold), str(held)]
    tmux("new-session", "-d", "-x", "80", "-y", "24", *program)

    def ended() -> bool:
        assert time.monotonic() < deadline, tmux("capture-pane", "-p")
        return tmux("capture-pane", "-p").rstrip().endswith("END")

    try:
        tmux("set-option", "history-limit", "50000")
        changes = cycle([(20, 3), (90, 30), (33, 8), (120, 4), (25, 24), (80, 24), (21, 5)])
        deadline = time.monotonic() + 60
        while not ended():
            # Between two frames: within the write of one, tmux moves the cursor it has saved.
            hold.touch()
            while not held.exists() and not ended():
                time.sleep(0.004)
            columns, lines = next(changes)
            ended()
            tmux("resize-window", "-x", str(columns), "-y", str(lines))
            hold.unlink()
            while held.exists():
                time.sleep(0.004)
            time.sleep(0.07)
        text = tmux("capture-pane", "-p", "-J", "-S", "-")
    finally:
        tmux("kill-server")
    return text
