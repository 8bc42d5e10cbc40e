"""A session's log as its lines, byte for byte: for reading what the fold passes over."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import msgspec

from assistant.memory.erasing.erasures import digest
from assistant.memory.session_log import FORMAT_VERSION, UNREADABLE, Record


class LogLine(msgspec.Struct, frozen=True):
    """One line as it stands in the file, its newline included, and what it says."""

    raw: bytes
    record: Record | None
    """None for a blank line, and for one that can't be read."""

    @property
    def unreadable(self) -> bool:
        return self.record is None and bool(self.raw.strip())

    @property
    def digest(self) -> str:
        """What an erasure names it by."""
        return digest(self.raw.strip())

    @property
    def version(self) -> int:
        """Of the format it was written in; 0 where it can't be told."""
        if self.record is not None:
            return self.record.v
        try:
            return _version_decoder.decode(self.raw).v
        except UNREADABLE:
            return 0


class _Version(msgspec.Struct):
    v: int = 0


_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_version_decoder = msgspec.json.Decoder(_Version)


def log_lines(data: bytes) -> list[LogLine]:
    """All lines of a log. Joined again they are the log."""
    lines = [LogLine(raw, _record_of(raw)) for raw in _with_ends(data)]
    if any(line.unreadable for line in lines):
        # An editor may have spread a record over lines, or left two on one: they are read, too.
        try:
            records = _decoder.decode_lines(data)
        except UNREADABLE:
            return lines
        return [*map(LogLine, _values(data), records)]
    return lines


def is_newer(lines: Iterable[LogLine]) -> bool:
    """Whether a later version of the program wrote to the log."""
    return any(line.version > FORMAT_VERSION for line in lines)


def _with_ends(data: bytes) -> Iterator[bytes]:
    *whole, last = data.split(b"\n")
    for line in whole:
        yield line + b"\n"
    if last:
        yield last


def _record_of(raw: bytes) -> Record | None:
    try:
        return _decoder.decode(raw)
    except UNREADABLE:
        return None


def _values(data: bytes) -> Iterator[bytes]:
    """The JSON values of a log, each with the space before it, the last also with that behind."""
    text, start = data.decode(), 0
    decoder = json.JSONDecoder()
    end = _after_space(text, 0)
    while end < len(text):
        _, end = decoder.raw_decode(text, end)
        after = _after_space(text, end)
        yield text[start:after].encode()
        start = end = after


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
