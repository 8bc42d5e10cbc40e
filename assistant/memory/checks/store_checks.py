"""Checks of what the user keeps, and of the small derived files: each read to its end."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Any

import msgspec

from assistant.memory.calendar.calendar_index import make_index, read_index
from assistant.memory.checks.findings import Copies, Finding, Remedy, some
from assistant.memory.erasing.log_lines import is_newer, log_lines
from assistant.memory.facts.facts import fact_decoder
from assistant.memory.memos import memo_decoder
from assistant.memory.promises import promise_decoder
from assistant.memory.session_log import UNREADABLE

#: Entries of a calendar that are told one by one.
TOLD = 5
#: Seconds to wait for a process that is just writing vectors.
PATIENCE = 1.0


def check_calendar(data: Path, zone: tzinfo) -> Iterator[Finding]:
    """Every entry of the calendar, and the index that was made of it."""
    content = _content(data / "calendar.ics")
    if content is None:
        yield Finding("ok", "There is none yet.")
    else:
        yield from _calendar_findings(content, zone)
    derived = data / "calendar.json"
    if derived.exists() and read_index(derived) is None:
        yield Finding(
            "warning",
            "calendar.json can't be read. It is made from the calendar: nothing is lost.",
            Remedy("calendar.json is removed, and made again when needed.", _removing(derived)),
        )


def _calendar_findings(content: bytes, zone: tzinfo) -> Iterator[Finding]:
    try:
        index = make_index(content, zone, None)
    except ValueError as error:
        yield Finding(
            "problem",
            f"calendar.ics can't be read: {error}. Nothing of it was changed. Open it with the "
            "program that wrote it last, or put it elsewhere: a new one is begun then.",
        )
        return
    problems = [entry.problem for entry in index.entries if entry.problem]
    for problem in problems[:TOLD]:
        yield Finding("warning", problem)
    if len(problems) > TOLD:
        yield Finding("warning", f"Entries like these beside them: {len(problems) - TOLD:,}.")
    yield Finding("ok", f"Entries: {len(index.entries):,}.")


def check_memos(data: Path) -> Iterator[Finding]:
    """Every record of every memo."""
    yield from _entry_findings(data / "memos.jsonl", memo_decoder)


def check_facts(data: Path) -> Iterator[Finding]:
    """Every record of every fact."""
    yield from _entry_findings(data / "facts.jsonl", fact_decoder)


def _entry_findings(path: Path, decoder: msgspec.json.Decoder[Any]) -> Iterator[Finding]:
    content = _content(path)
    if content is None:
        yield Finding("ok", "There are none yet.")
        return
    if is_newer(log_lines(content)):
        yield Finding(
            "warning",
            f"{path.name} was written by a newer version of the program and is only read. Update "
            "the program to add to it.",
        )
        return
    lines = [(at, one) for at, one in enumerate(content.split(b"\n"), 1) if one.strip()]
    skipped = [at for at, line in lines if not _is_read(line, decoder)]
    if skipped:
        yield Finding(
            "warning",
            f"{path.name}: line {some(skipped, TOLD)} can't be read and is passed over. It stays "
            "in the file; all others are used.",
        )
    yield Finding("ok", f"Records: {len(lines) - len(skipped):,}.")


def _is_read(line: bytes, decoder: msgspec.json.Decoder[Any]) -> bool:
    try:
        decoder.decode(line)
    except UNREADABLE:
        return False
    return True


def check_promises(data: Path) -> Iterator[Finding]:
    """What was promised lately."""
    path = data / "promises.json"
    content = _content(path)
    if content is not None and not _is_read(content, promise_decoder):
        yield Finding(
            "warning",
            "promises.json can't be read. What was promised stands in the session files, too: only "
            "the first screen misses it.",
            Remedy("promises.json is removed, and begun anew.", _removing(path)),
        )


def check_prompt_history(data: Path) -> Iterator[Finding]:
    """What was typed, for the search."""
    content = _content(data / "prompt_history")
    if content is None:
        return
    lines = content.split(b"\n")
    # A time before each entry, and each of its lines with a plus before it.
    strange = [line for line in lines if line and not line.startswith((b"#", b"+"))]
    if strange or b"\0" in content:
        yield Finding(
            "warning",
            f"Lines of prompt_history that can't be read: {max(1, len(strange)):,}. The search "
            "with Ctrl-R does not find them; nothing else is lost.",
        )


def check_vectors(data: Path) -> Iterator[Finding]:
    """The cache of vectors, as SQLite itself checks it."""
    path = data / "vectors.sqlite3"
    if not path.exists():
        return
    try:
        number = _vectors_in(path)
    except sqlite3.OperationalError as error:
        yield Finding("warning", f"{path.name} can't be looked at now ({error}).")
    except sqlite3.DatabaseError as error:
        yield Finding(
            "warning",
            f"{path.name} is damaged ({error}). It holds nothing that can't be made again.",
            Remedy(
                f"{path.name} is removed: texts are embedded again when they are needed.",
                _removing(path, path.with_name(f"{path.name}-journal")),
            ),
        )
    else:
        yield Finding("ok", f"Vectors: {number:,}.")


def _vectors_in(path: Path) -> int:
    file = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)
    try:
        (said,) = file.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise sqlite3.DatabaseError(said)
        return int(file.execute("SELECT count(*) FROM vectors").fetchone()[0])
    finally:
        file.close()


def _content(path: Path) -> bytes | None:
    """A file's bytes; None when there is none. Raises OSError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _removing(*paths: Path) -> Callable[[Copies], None]:
    def remove(_: Copies) -> None:
        for path in paths:
            path.unlink(missing_ok=True)

    return remove
