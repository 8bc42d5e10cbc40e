"""Markdown as lines, and how far into them nothing that follows can change any more."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import table as table_rule
from markdown_it.token import Token
from rich import box
from rich.cells import cell_len, split_graphemes
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.measure import Measurement
from rich.rule import Rule
from rich.style import Style
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

# A table's header row must show its first pipe this early, or each line of prose would have to
# be held back until its end: a pipe might still come.
HEADER_REACH = 20

# A table whose columns get less than this is easier to read as plain rows.
_MIN_COLUMN = 8

# A long open fence is cut where a new lexer is likely to colour the rest the same; if there is
# no such place, it is cut anyway, so that a line costs the same however long the fence is.
_FENCE_CUT = 100
_FENCE_LIMIT = 400

# Characters that may not begin, and that may not end, a row of Chinese or Japanese.
_NO_START = set(
    "!%),.:;?]}¢°’”‰℃、。々〉》」』】〕〗〞︰︶︺︾﹀﹄﹚﹜﹞！％），．：；？］｀｜｝～ー…—·"
)
_NO_END = set("$([{£¥‘“〈《「『【〔〖〝﹙﹛﹝＄（．［｛￡￥")

_CONTAINERS = re.compile(r"(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*")
_ONLY_MARKERS = re.compile(r"[-+*_:|\s]*")
_PIPE = re.compile(r"(?<!\\)\|")

# Characters that may still turn out to be the start of a span. The possessive runs matter:
# "2 ** 3" opens nothing, though the first star has a star behind it.
_OPENERS = re.compile(
    r"`|\*++(?!\s)|(?<!\w)_++(?!\s)|~{2,}+(?!\s)|<[^\s<>]*\Z|&[#\w]*\Z|\\$",
)
_BRACKETS = re.compile(r"!?\[|\]")
_BOUNDARY = "\x01"


class Place(NamedTuple):
    line: int
    offset: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line before it is wrapped; its text holds no newline."""

    text: Text
    first: Text
    """What stands before the first row: a bullet, a number, the bar of a quote."""
    rest: Text
    """What stands before each further row."""
    code: bool = False
    """Folded at any character, and every row filled up with the style of the text."""
    block: RenderableType | None = None
    """Drawn instead of the text, at the width in force when it is drawn."""


@dataclass(frozen=True, slots=True)
class Resume:
    """What a layout must know of the source that was cut away before it."""

    gap: bool = False
    number: int | None = None
    """The source begins with this item of a list already begun."""
    code: bool = False
    """The source begins with a fence whose first lines are already out."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a layout can begin anew, given that all before `line` is drawn."""

    line: int
    source_line: int
    resume: Resume
    opening: str = ""
    """The opening line of the fence that is cut in two."""


@dataclass(frozen=True, slots=True)
class Layout:
    lines: list[Line]
    settled: Place
    cut: Cut | None


class _Parser(MarkdownIt):
    """CommonMark with tables, less what would change or hide lines already shown.

    Underlined headings and link definitions would; inline HTML would vanish. Nobody clicks on
    addresses here, so they stay as they were written, whatever they lead to.
    """

    def __init__(self) -> None:
        super().__init__("commonmark", {"maxNesting": 100})
        self.enable(["strikethrough", "table"])
        # Unjoined text keeps an escaped marker apart from one that may still open a span.
        self.disable(["lheading", "reference", "html_inline", "text_join"])
        self.block.ruler.at("table", _early_table, {"alt": ["paragraph"]})

    def normalizeLink(self, url: str) -> str:
        return url

    def normalizeLinkText(self, link: str) -> str:
        return link

    def validateLink(self, url: str) -> bool:
        return True


def _early_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    begin = state.bMarks[start] + state.tShift[start]
    header = state.src[begin : min(begin + HEADER_REACH, state.eMarks[start])]
    # An item of a list would be a table's header only where no item stands before it.
    in_reach = "|" in header and not _end_of_containers(header)
    return in_reach and table_rule(state, start, end, silent)


class MarkdownLines:
    """Lays Markdown out; keeps nothing but the parser and the lexers."""

    def __init__(self, console: Console, code_theme: str) -> None:
        self._console = console
        self._code_theme = code_theme
        self._parser = _Parser()
        self._lexers: dict[str, Syntax] = {}

    def lay_out(self, source: str, resume: Resume, *, ended: bool) -> Layout:
        """Unless the reply has `ended`, only what `settled_source` lets through is settled."""
        partial = not source.endswith("\n")
        text = source.expandtabs(4) + "\n" * partial
        builder = _Builder(self, text.split("\n")[:-1], resume, partial=partial)
        builder.build(self._parser.parse(text))
        settled = Place(len(builder.lines), 0) if ended else builder.settled()
        return Layout(builder.lines, settled, builder.cut)

    def style(self, name: str) -> Style:
        return self._console.get_style(name, default="none")

    def highlight(self, code: str, language: str) -> list[Text]:
        """One text a line of code, each with the background as its style."""
        if language not in self._lexers:
            # Given by its name, a lexer is searched for each time it colours something.
            lexer = Syntax("", language).lexer or "text"
            self._lexers[language] = Syntax("", lexer, theme=self._code_theme)
        text = self._lexers[language].highlight(code)
        if text.plain.rstrip("\n") != code:
            # Some lexers tidy up what they colour; the code counts more than its colours.
            text = Text(code, style=text.style)
        text.rstrip()
        return list(text.split("\n", allow_blank=True))


def settled_source(source: str) -> str:
    """The part whose blocks are known: an unfinished last line only once it can but be prose."""
    complete = source[: source.rfind("\n") + 1]
    # A marker at the very end may still grow, and what it closes depends on what follows it.
    partial = source[len(complete) :].rstrip("*_~`")
    prose = partial[_end_of_containers(partial) :]
    known = (
        len(prose) >= HEADER_REACH
        and "|" not in prose[:HEADER_REACH]
        and not prose.startswith(("<", "#", "```", "~~~"))
        and not _ONLY_MARKERS.fullmatch(prose)
    )
    return complete + partial if known else complete


def _end_of_containers(line: str) -> int:
    match = _CONTAINERS.match(line)
    return match.end() if match else 0


def units(text: str) -> Iterator[tuple[int, int]]:
    """The pieces no row may break: words with the spaces behind them, single Chinese characters."""
    for word in re.finditer(r"[^ ]+ *|^ +", text):
        if word[0].isascii():
            yield word.span()
        else:
            yield from _units_of_word(word[0], word.start())


def _units_of_word(word: str, base: int) -> Iterator[tuple[int, int]]:
    begin = 0
    before_width = 0
    for start, _, width in split_graphemes(word)[0]:
        wide = 2 in (width, before_width)
        tied = word[start] == " " or word[start] in _NO_START or word[start - 1] in _NO_END
        if start > begin and wide and not tied:
            yield base + begin, base + start
            begin = start
        before_width = width
    yield base + begin, base + len(word)


@dataclass(slots=True)
class _Frame:
    """A block that holds others, while its inside is laid out."""

    kind: str
    first: Text
    rest: Text
    number: int = 0
    used: bool = False
    previous: str = ""


class _Builder:
    """One pass over the tokens of one layout."""

    def __init__(
        self, owner: MarkdownLines, source: list[str], resume: Resume, *, partial: bool
    ) -> None:
        self._owner = owner
        self._source = source
        self._resume = resume
        self._partial = partial
        self._frames = [_Frame("root", Text(), Text(), previous="cut" if resume.gap else "")]
        self._gap_depth = 0
        self._leaf = Token("none", "", 0, map=[0, 0])
        self._leaf_line = 0
        self._text = Text()
        self._open_at = 0
        self.lines: list[Line] = []
        self.cut: Cut | None = None

    def build(self, tokens: Iterable[Token]) -> None:
        walk = iter(tokens)
        for token in walk:
            match token.type:
                case "bullet_list_open" | "ordered_list_open":
                    self._list(token)
                case "list_item_open":
                    self._item(token)
                case "list_item_close":
                    self._leave_item()
                case "blockquote_open":
                    self._begin("quote", token)
                    bar = Text("▌ ", self._owner.style("markdown.block_quote"))
                    self._frames.append(_Frame("quote", bar, bar))
                case "bullet_list_close" | "ordered_list_close" | "blockquote_close":
                    self._frames.pop()
                case "paragraph_open":
                    self._paragraph(token, next(walk))
                case "heading_open":
                    text, _ = self._inline(next(walk), self._owner.style(f"markdown.{token.tag}"))
                    self._add_leaf("heading", token, [text])
                case "fence" | "code_block":
                    self._code(token)
                case "html_block":
                    rows = token.content.rstrip("\n").split("\n")
                    self._add_leaf("html", token, [Text(row) for row in rows])
                case "hr":
                    rule = Rule(style=self._owner.style("markdown.hr"))
                    self._add_leaf("rule", token, [Text("───")], block=rule)
                case "table_open":
                    self._table(token, takewhile(lambda part: part.type != "table_close", walk))

    def settled(self) -> Place:
        """Everything but the last leaf is settled; that one as far as its kind allows."""
        end = Place(len(self.lines), 0)
        closed = _end_line(self._leaf) < len(self._source)
        match self._leaf.type:
            case "none" | "list_item_open":
                return Place(self._leaf_line, 0)
            case "paragraph_open":
                return end if closed else self._settled_text()
            case "table_open":
                return end if closed else Place(self._leaf_line, 0)
            case "fence":
                return end if closed or self._fence_is_closed() else self._settled_code()
            case "code_block":
                return self._settled_code()
            case "html_block":
                return end if closed else self._settled_code()
            case _:
                return end

    # Containers

    def _begin(self, kind: str, token: Token) -> None:
        """A block begins in the innermost frame; the gap before it waits for its first line."""
        frame = self._frames[-1]
        if frame.previous:
            if frame.kind == "root":
                self.cut = Cut(len(self.lines), _start_line(token), Resume(gap=True))
            if frame.kind != "item" or frame.previous == kind == "paragraph":
                self._gap_depth = len(self._frames)
        frame.previous = kind

    def _list(self, token: Token) -> None:
        start = int(token.attrs.get("start", 1))
        if len(self._frames) == 1 and self._resume.number and not self._frames[0].previous:
            start = self._resume.number
        self._begin("list", token)
        self._frames.append(_Frame("list", Text(), Text(), number=start))

    def _item(self, token: Token) -> None:
        parent = self._frames[-1]
        if parent.used and len(self._frames) == 2:
            resume = Resume(number=parent.number)
            self.cut = Cut(len(self.lines), _start_line(token), resume)
        if token.info:
            style = self._owner.style("markdown.item.number")
            first = Text(f" {parent.number}{token.markup} ", style)
        else:
            first = Text(" • ", self._owner.style("markdown.item.bullet"))
        parent.number += 1
        self._frames.append(_Frame("item", first, Text(" " * len(first))))

    def _leave_item(self) -> None:
        if not self._frames[-1].used:
            # Its text may stand on the next line.
            self._leaf = Token("list_item_open", "", 0, map=[0, len(self._source)])
            self._add_lines([Text()])
        self._frames.pop()

    def _prefix(self, depth: int | None = None) -> Text:
        frames = self._frames[:depth]
        return Text.assemble(*(frame.rest if frame.used else frame.first for frame in frames))

    # Leaves

    def _add_leaf(
        self,
        kind: str,
        token: Token,
        texts: list[Text],
        *,
        code: bool = False,
        block: RenderableType | None = None,
    ) -> None:
        self._begin(kind, token)
        self._leaf = token
        self._add_lines(texts, code=code, block=block)

    def _add_lines(
        self, texts: list[Text], *, code: bool = False, block: RenderableType | None = None
    ) -> None:
        if self._gap_depth:
            gap = self._prefix(self._gap_depth)
            self.lines.append(Line(Text(), gap, gap))
            self._gap_depth = 0
        self._leaf_line = len(self.lines)
        for text in texts:
            first = self._prefix()
            for frame in self._frames:
                frame.used = True
            rest = self._prefix()
            if code:
                # The column left of the code has its background.
                margin = Text(" ", text.style)
                first, rest = Text.assemble(first, margin), Text.assemble(rest, margin)
            self.lines.append(Line(text, first, rest, code, block))

    def _paragraph(self, token: Token, inline: Token) -> None:
        self._text, self._open_at = self._inline(inline, self._owner.style("markdown.paragraph"))
        self._add_leaf("paragraph", token, list(self._text.split("\n", allow_blank=True)))

    def _code(self, token: Token) -> None:
        language = token.info.split()[0] if token.info.strip() else "text"
        texts = self._owner.highlight(token.content.rstrip(), language)
        margin = Text(style=texts[0].style)
        top = [] if self._is_resumed_fence(token) else [margin]
        self._add_leaf("code", token, [*top, *texts, margin], code=True)

    def _table(self, token: Token, parts: Iterator[Token]) -> None:
        columns: list[Token] = []
        rows: list[list[Text]] = []
        sources: list[int] = []
        for part in parts:
            if part.type == "tr_open":
                rows.append([])
                sources.append(_start_line(part))
            elif part.type == "th_open":
                columns.append(part)
            elif part.type == "inline":
                rows[-1].append(self._inline(part, Style.null())[0])
        for cells, source in zip(rows, sources, strict=True):
            cells[-1].append("".join(f" | {cell}" for cell in self._excess(source, len(columns))))
        for heading in rows[0]:
            heading.stylize(self._owner.style("markdown.table.header"))
        grid = _Grid([_alignment(column) for column in columns], rows)
        self._add_leaf("table", token, [grid.row(rows[-1])], block=grid)

    def _excess(self, source_line: int, columns: int) -> list[str]:
        """The cells of a row that have no column: the parser drops them, a reader wants them."""
        row = self._source[source_line]
        cells = _PIPE.split(row[_end_of_containers(row) :].strip().removeprefix("|"))
        return [cell.strip() for cell in cells[columns:] if cell.strip()]

    # Inside a paragraph

    def _inline(self, token: Token, style: Style) -> tuple[Text, int]:
        """The text, and the offset of the first span that may still change."""
        text = Text()
        spans = _OpenSpans()
        styles = [style]
        links: list[tuple[Token, int]] = []
        for part in token.children or []:
            at = len(text)
            match part.type:
                case "text":
                    text.append(part.content, styles[-1])
                    spans.literal(part.content, at)
                case "softbreak" | "hardbreak":
                    text.append("\n")
                    spans.literal("\n", at)
                case "em_open" | "strong_open" | "s_open" | "link_open":
                    name = "link" if part.tag == "a" else part.tag
                    styles.append(styles[-1] + self._owner.style(f"markdown.{name}"))
                    spans.open(at)
                    if part.tag == "a":
                        links.append((part, at))
                case "em_close" | "strong_close" | "s_close" | "link_close":
                    styles.pop()
                    if part.tag == "a":
                        link, start = links.pop()
                        shown = text.plain[start:]
                        self._address(text, link, "href", shown, styles[-1])
                    spans.close(len(text))
                case "image":
                    text.append(part.content, styles[-1] + self._owner.style("markdown.link"))
                    self._address(text, part, "src", part.content, styles[-1])
                    spans.sealed(at)
                case "code_inline":
                    text.append(part.content, styles[-1] + self._owner.style("markdown.code"))
                    spans.sealed(at)
                case _:
                    text.append(part.content, styles[-1])
                    spans.sealed(at)
        return text, spans.first_open(len(text), partial=self._partial)

    def _address(self, text: Text, link: Token, name: str, shown: str, style: Style) -> None:
        address = str(link.attrs.get(name, ""))
        title = link.attrs.get("title")
        extra = f' "{title}"' if title else ""
        if extra or address.removeprefix("mailto:") != shown.removeprefix("mailto:"):
            text.append(" (" if shown else "(", style)
            text.append(address, style + self._owner.style("markdown.link_url"))
            text.append(f"{extra})", style)

    # How far the last leaf is settled

    def _settled_text(self) -> Place:
        plain = self._text.plain
        limit = min(len(plain), self._open_at)
        if not self._partial and "|" in self._source[-1]:
            # The next line may make a table of this one, and then a backslash before it is no
            # longer a line break.
            before = "".join(self._source[-2:-1])
            limit = max(0, min(limit, plain.rfind("\n") + 1 - before.endswith("\\")))
        if self._partial or limit < len(plain):
            limit = _last_break(plain, limit)
        elif limit == len(plain):
            return Place(len(self.lines), 0)
        line_start = plain.rfind("\n", 0, limit) + 1
        return Place(self._leaf_line + plain.count("\n", 0, line_start), limit - line_start)

    def _settled_code(self) -> Place:
        """Whole lines are; empty ones at the end wait, for they are dropped if nothing follows."""
        rows = self._leaf.content.removesuffix("\n").split("\n")
        if self._partial and _end_line(self._leaf) == len(self._source):
            rows.pop()
        while rows and not rows[-1].strip():
            rows.pop()
        has_margin = self._leaf.type != "html_block" and not self._is_resumed_fence(self._leaf)
        first = self._leaf_line + has_margin
        if self._leaf.type == "fence" and not self._leaf.level:
            self._cut_fence(rows, first)
        return Place(first + len(rows), 0)

    def _cut_fence(self, rows: list[str], first: int) -> None:
        start = _start_line(self._leaf)
        for row in range(len(rows) - 1, _FENCE_CUT, -1):
            if not rows[row - 1].strip() and rows[row][:1].strip():
                break
        else:
            row = len(rows)
        if row < len(rows) or row > _FENCE_LIMIT:
            opening = self._source[start] + "\n"
            self.cut = Cut(first + row, start + 1 + row, Resume(code=True), opening)

    def _fence_is_closed(self) -> bool:
        span = _end_line(self._leaf) - _start_line(self._leaf)
        return not self._partial and span - 1 > self._leaf.content.count("\n")

    def _is_resumed_fence(self, token: Token) -> bool:
        return self._resume.code and _start_line(token) == 0


class _OpenSpans:
    """Finds the first character of a paragraph that later text could still turn into markup.

    A marker the parser left in the text has no partner yet. All that stands behind it may
    change, and so may the whole of a span that holds it: what opens inside can reach past its
    end and undo it.
    """

    def __init__(self) -> None:
        self._mask: list[str] = []
        self._holds: list[int] = []
        self._depth = 0
        self._outermost = 0

    def literal(self, content: str, at: int) -> None:
        self._mask.append(content)
        if self._depth:
            self._holds += [self._outermost] * len(content)
        else:
            self._holds += range(at, at + len(content))

    def sealed(self, at: int) -> None:
        self.literal(_BOUNDARY, at)

    def open(self, at: int) -> None:
        if not self._depth:
            self._outermost = at
        self._depth += 1
        self.sealed(at)

    def close(self, at: int) -> None:
        self._depth -= 1
        self.sealed(at)

    def first_open(self, length: int, *, partial: bool) -> int:
        mask = "".join(self._mask) + ("" if partial else "\n")
        starts = [match.start() for match in _OPENERS.finditer(mask)]
        starts += _open_brackets(mask)
        return min((self._holds[start] for start in starts), default=length)


def _open_brackets(mask: str) -> list[int]:
    """Brackets without a partner, or with one that an address may follow."""
    waiting: list[int] = []
    open_starts: list[int] = []
    for match in _BRACKETS.finditer(mask):
        if match[0] != "]":
            waiting.append(match.start())
        elif waiting:
            start = waiting.pop()
            if mask[match.end() : match.end() + 1] in ("", "("):
                open_starts.append(start)
    return open_starts + waiting


def _last_break(plain: str, limit: int) -> int:
    """The last place at or before `limit` where a row may end, with nothing known behind it."""
    word = max(plain.rfind(" ", 0, limit), plain.rfind("\n", 0, limit)) + 1
    last = 0
    for start, _ in units(plain[word:limit]):
        last = start
    return word + last


class _Grid:
    """A table, or its bare rows where the columns would get too narrow."""

    def __init__(self, alignments: list[JustifyMethod], rows: list[list[Text]]) -> None:
        self._alignments = alignments
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self._table()
        natural = Measurement.get(console, options.update(width=10_000), table).maximum
        if natural > options.max_width < _MIN_COLUMN * len(self._alignments):
            for row in self._rows:
                yield self.row(row)
        else:
            yield table

    def row(self, cells: list[Text]) -> Text:
        return Text(" | ", overflow="fold").join(cells)

    def _table(self) -> Table:
        table = Table(
            box=box.SIMPLE_HEAD, style="markdown.table.border", pad_edge=False, show_edge=False
        )
        for heading, alignment in zip(self._rows[0], self._alignments, strict=True):
            table.add_column(heading, justify=alignment, overflow="fold")
        for row in self._rows[1:]:
            table.add_row(*row)
        return table


def _alignment(column: Token) -> JustifyMethod:
    match column.attrs.get("style"):
        case "text-align:right":
            return "right"
        case "text-align:center":
            return "center"
        case _:
            return "left"


def _start_line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _end_line(token: Token) -> int:
    return token.map[1] if token.map else 0


def wrap(text: str, start: int, width: int) -> list[tuple[int, int]]:
    """The rows of `text` from `start` on, as ranges without the spaces at their ends."""
    rows: list[tuple[int, int]] = []
    begin = end = start
    used = 0
    for unit_start, unit_end in units(text[start:]):
        at = start + unit_start
        unit = text[at : start + unit_end]
        word = unit.rstrip(" ")
        if used + cell_len(word) > width:
            if end > begin:
                rows.append((begin, end))
            *full, (begin, _) = fold(word, at, width)
            rows += full
            used = cell_len(text[begin : start + unit_end])
        else:
            used += cell_len(unit)
        end = at + len(word)
    return [*rows, (begin, end)]


def fold(text: str, base: int, width: int) -> list[tuple[int, int]]:
    """The rows of `text`, broken wherever one is full; `base` is added to their ranges."""
    rows: list[tuple[int, int]] = []
    begin = used = 0
    for start, _, cells in split_graphemes(text)[0]:
        if used + cells > width and start > begin:
            rows.append((base + begin, base + start))
            begin, used = start, 0
        used += cells
    return [*rows, (base + begin, base + len(text))]
