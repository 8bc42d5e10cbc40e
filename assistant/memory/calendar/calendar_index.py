"""What is known of the components of a calendar file, kept beside it so that a start is quick.

Derived from the file and never the only place of anything: what can't be read is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

import msgspec

from assistant.memory.calendar.ical_event import EventRecord, read_event, read_to_do
from assistant.memory.calendar.ical_text import Block, layout
from assistant.memory.calendar.ical_zones import Zones, iana_zone
from assistant.memory.files import write_atomically

FORMAT_VERSION = 1


class Entry(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A component of the file: where it stands, and what it says. Times have the user's zone."""

    kind: str
    start: int
    end: int
    calendar: int
    digest: str
    event: EventRecord | None = None
    to_do: tuple[str, datetime | None] | None = None
    zone: str = ""
    """Of a VTIMEZONE its TZID."""
    problem: str = ""


class CalendarIndex(msgspec.Struct, frozen=True):
    """All components of the file whose bytes have this digest, in their order."""

    digest: str
    home: str
    """The user's zone, which times without one were read in."""
    entries: Sequence[Entry] = ()
    ends: Sequence[int] = ()
    """The place of each END:VCALENDAR."""
    definitions: Mapping[str, str] = {}
    """The file's own definitions of zones that nobody else knows."""
    version: int = FORMAT_VERSION


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def home_name(zone: tzinfo) -> str:
    return str(getattr(zone, "key", zone))


def read_index(path: Path) -> CalendarIndex | None:
    """The index as it was last kept; None where there is none that can be used."""
    try:
        index = msgspec.json.decode(path.read_bytes(), type=CalendarIndex)
    except (OSError, ValueError):
        return None
    return index if index.version == FORMAT_VERSION else None


def keep_index(path: Path, index: CalendarIndex) -> None:
    """Write it down; a disk that refuses costs nothing but time."""
    with contextlib.suppress(OSError):
        write_atomically(path, msgspec.json.encode(index))


def erasure_mark(path: Path) -> Path:
    """Where the number of the last erasure stands that looked at a calendar."""
    return path.with_name(f".{path.name}.erased")


def last_erasure(path: Path) -> bytes:
    """That number; empty when nothing was erased yet."""
    try:
        return erasure_mark(path).read_bytes()
    except OSError:
        return b""


def make_index(data: bytes, home: tzinfo, known: CalendarIndex | None) -> CalendarIndex:
    """Read the components of a file, those that `known` has not read already.

    Raises ValueError, in words, for a file that is no calendar.
    """
    if not data.strip():
        return CalendarIndex(digest_of(data), home_name(home))
    plan = layout(data)
    blocks = [data[part.start : part.end] for part in plan.parts]
    definitions = dict(
        _definition(block)
        for part, block in zip(plan.parts, blocks, strict=True)
        if part.kind == "VTIMEZONE"
    )
    definitions = {name: text for name, text in definitions.items() if not iana_zone(name)}
    zones = Zones(home, definitions)
    same_zones = known and (known.home, known.definitions) == (home_name(home), definitions)
    read = {entry.digest: entry for entry in known.entries} if known and same_zones else {}
    entries = []
    for part, block in zip(plan.parts, blocks, strict=True):
        digest = hashlib.blake2b(block, digest_size=9).hexdigest()
        entry = read.get(digest)
        entry = (
            Entry(
                part.kind,
                part.start,
                part.end,
                part.calendar,
                digest,
                entry.event,
                entry.to_do,
                entry.zone,
                entry.problem,
            )
            if entry
            else _read(Entry(part.kind, part.start, part.end, part.calendar, digest), block, zones)
        )
        entries.append(entry)
    return CalendarIndex(digest_of(data), home_name(home), entries, plan.ends, definitions)


def _read(entry: Entry, block: bytes, zones: Zones) -> Entry:
    change = msgspec.structs.replace
    try:
        if entry.kind == "VEVENT":
            event, problem = read_event(Block(block), zones)
            said = f"The event “{event.title}” {problem}." if problem else ""
            return change(entry, event=event, problem=said)
        if entry.kind == "VTODO":
            return change(entry, to_do=read_to_do(Block(block), zones))
        if entry.kind == "VTIMEZONE":
            return change(entry, zone=_definition(block)[0])
    except (ValueError, OverflowError) as error:
        what = "event" if entry.kind == "VEVENT" else "entry"
        reason = str(error) if isinstance(error, ValueError) else "has a time no clock can show"
        return change(
            entry, problem=f"An {what} {reason}. It is passed over, and stays in the file."
        )
    return entry


def _definition(block: bytes) -> tuple[str, str]:
    line = Block(block).first("TZID")
    return (line.value.strip() if line else ""), block.decode("utf-8", "replace")
