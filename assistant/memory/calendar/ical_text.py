"""The text of an iCalendar file: where its components stand, and the lines of one of them.

Only bytes are cut and joined here, so that what is not touched stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

BOM = b"\xef\xbb\xbf"

_EDGE = re.compile(rb"^(?:\xef\xbb\xbf)?(BEGIN|END):([^\r\n]+?)[ \t]*\r?$", re.IGNORECASE | re.M)
_FOLD = re.compile(rb"\r?\n[ \t]")
# Colons and semicolons within quotes belong to a parameter.
_PROPERTY = re.compile(r'([A-Za-z0-9-]+)((?:[^:"]|"[^"]*")*):(.*)', re.DOTALL)
_PARAMETER = re.compile(r';([A-Za-z0-9-]+)=("[^"]*"|[^;:"]*)')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Part:
    """A component right inside a VCALENDAR: its bytes are `data[start:end]`, last newline too."""

    kind: str
    start: int
    end: int
    calendar: int
    """Which VCALENDAR of the file, from 0."""


@dataclass(frozen=True)
class Layout:
    """The components of a file, and where each VCALENDAR ends: the place of its END line."""

    parts: Sequence[Part]
    ends: Sequence[int]


def layout(data: bytes) -> Layout:
    """Find the components. Raises ValueError, in words, for a file whose text can't be trusted."""
    _check_encoding(data)
    parts: list[Part] = []
    ends: list[int] = []
    stack: list[tuple[str, int]] = []
    for edge in _EDGE.finditer(data):
        name = edge[2].decode("utf-8", "replace").upper()
        if edge[1].upper() == b"BEGIN":
            stack.append((name, edge.start()))
            continue
        if not stack or stack[-1][0] != name:
            opened = f"BEGIN:{stack[-1][0]} is still open" if stack else "nothing is open"
            raise ValueError(
                f"line {_line_number(data, edge.start())} says END:{name}, but {opened}"
            )
        _, start = stack.pop()
        if name == "VCALENDAR" and not stack:
            ends.append(edge.start())
        elif len(stack) == 1 and stack[0][0] == "VCALENDAR":
            after = data.find(b"\n", edge.end())
            end = len(data) if after < 0 else after + 1
            parts.append(Part(name, start, end, len(ends)))
    if stack:
        name, start = stack[-1]
        raise ValueError(f"BEGIN:{name} in line {_line_number(data, start)} has no END")
    if not ends:
        raise ValueError("it has no BEGIN:VCALENDAR")
    return Layout(parts, ends)


def newline_of(data: bytes) -> bytes:
    """How a file ends its lines; CRLF, as the standard wants it, where it has none."""
    first = data.find(b"\n")
    return b"\n" if first == 0 or (first > 0 and data[first - 1 : first] != b"\r") else b"\r\n"


class Line:
    """One content line, folded or not, as it stands in the file, and what it says."""

    __slots__ = ("head", "name", "params", "raw", "value")

    def __init__(self, raw: bytes) -> None:
        text = _FOLD.sub(b"", raw).rstrip(b"\r\n").decode("utf-8")
        match = _PROPERTY.fullmatch(text)
        self.raw = raw
        self.head = f"{match[1]}{match[2]}" if match else ""
        """Name and parameters, as they are written."""
        self.name = match[1].upper() if match else ""
        self.value = match[3] if match else ""
        """As it is written: text is still escaped."""
        self.params = (
            {name.upper(): value.strip('"') for name, value in _PARAMETER.findall(match[2])}
            if match and match[2]
            else {}
        )


class Block:
    """The lines of one component, to be read and changed one by one."""

    def __init__(self, data: bytes) -> None:
        self.lines = [Line(raw) for raw in _raw_lines(data)]
        self.newline = newline_of(data)

    def __bytes__(self) -> bytes:
        return b"".join(line.raw for line in self.lines)

    def all(self, name: str) -> Sequence[Line]:
        """The component's own lines of this name; those of what it contains are left out."""
        return [line for _, line in self._own() if line.name == name]

    def first(self, name: str) -> Line | None:
        return next(iter(self.all(name)), None)

    def inner(self, kind: str) -> Sequence[range]:
        """Where the components of a kind right inside this one stand among its lines."""
        found: list[range] = []
        depth = begun = 0
        for index, line in enumerate(self.lines):
            if line.name == "BEGIN":
                depth += 1
                if depth == 2:
                    begun = index
            elif line.name == "END":
                if depth == 2 and line.value.strip().upper() == kind:
                    found.append(range(begun, index + 1))
                depth -= 1
        return found

    def put(self, name: str, *texts: str) -> None:
        """Write these lines in the place of all of this name, or after the component's others."""
        new = [self.line(text) for text in texts]
        places = [index for index, line in self._own() if line.name == name]
        at = places[0] if places else self._last_own() + 1
        for index in reversed(places):
            del self.lines[index]
        self.lines[at:at] = new

    def add(self, *texts: str) -> None:
        """Write lines after those the component has of its own."""
        at = self._last_own() + 1
        self.lines[at:at] = [self.line(text) for text in texts]

    def line(self, text: str) -> Line:
        """A content line, folded as the file is."""
        return Line(content_line(text, self.newline))

    def _own(self) -> Iterator[tuple[int, Line]]:
        depth = 0
        for index, line in enumerate(self.lines):
            if line.name == "BEGIN":
                depth += 1
            elif line.name == "END":
                depth -= 1
            elif depth == 1:
                yield index, line

    def _last_own(self) -> int:
        return max((index for index, _ in self._own()), default=0)


def content_line(text: str, newline: bytes) -> bytes:
    """A content line as it is written: folded after 75 bytes, never within a character."""
    from icalendar.parser import Contentline

    line: Any = Contentline
    folded: bytes = line(text).to_ical()
    return folded.replace(b"\r\n", newline) + newline


def escaped(text: str) -> str:
    """Text as the value of a property; a character that none may hold is left out."""
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    for plain, written in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\n", "\\n")):
        text = text.replace(plain, written)
    return text


def unescaped(value: str) -> str:
    """The text that the value of a property says."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def _check_encoding(data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        # Lines may be folded within a character.
        number = 1
        for raw in _raw_lines(data):
            try:
                _FOLD.sub(b"", raw).decode("utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(f"line {number} is not UTF-8 text") from error
            number += raw.count(b"\n")


def _line_number(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _raw_lines(data: bytes) -> Iterator[bytes]:
    """Content lines with their newlines, each together with the lines it is folded into."""
    gathered: list[bytes] = []
    for physical in re.findall(rb"[^\n]*\n|[^\n]+", data):
        if gathered and not physical.startswith((b" ", b"\t")):
            yield b"".join(gathered)
            gathered.clear()
        gathered.append(physical)
    if gathered:
        yield b"".join(gathered)
