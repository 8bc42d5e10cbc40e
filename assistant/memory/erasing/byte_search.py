"""Looking for words in every byte that the program owns, however they are written there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assistant.messages import folded

#: What of the home is the program's. In a checkout the rest is not.
OWNED = ("sessions", "data", "config", ".env")

# JSON within JSON doubles the backslashes.
_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
_BLANK = re.compile(r"\\+[nrt]")
# RFC 5545, section 3.1: a long line goes on after a line break and one blank.
_FOLD = re.compile(rb"\r?\n[ \t]")


class FileHit(msgspec.Struct, frozen=True):
    """A file that holds the words, and how often; a file that can't be read has none, and why."""

    path: Path
    times: int
    problem: str = ""

    @property
    def told(self) -> str:
        if self.problem:
            return f"can't be read: {self.problem}"
        return "once" if self.times == 1 else f"{self.times:,} times"


def holds(text: str, words: str) -> bool:
    """Whether a text holds the words, one right after the other."""
    return folded(words) in folded(text)


def files_with(words: str, home: Path, others: Sequence[Path] = ()) -> Iterator[FileHit]:
    """The program's files below `home`, and `others`, that hold the words in whatever spelling.

    The columns of compressed files are not unpacked here.
    """
    # A backslash of theirs is lost as those of the files are.
    wanted = folded(_unescaped(words))
    if not wanted:
        return
    for path in (*_owned(home), *others):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            yield FileHit(path, 0, error.strerror or str(error))
            continue
        if times := folded(_plain(path, data)).count(wanted):
            yield FileHit(path, times)


def _owned(home: Path) -> Iterator[Path]:
    for name in OWNED:
        place = home / name
        if place.is_dir():
            yield from sorted(path for path in place.rglob("*") if path.is_file())
        elif place.is_file():
            yield place


def _plain(path: Path, data: bytes) -> str:
    """The file's text without what its format puts between the letters."""
    if path.name == "prompt_history":
        data = data.replace(b"\n+", b"\n")
    if path.suffix == ".ics" or b"BEGIN:V" in data:
        # A calendar, or a copy of one, whatever it is called.
        data = _FOLD.sub(b"", data)
    return _unescaped(data.decode("utf-8", "replace"))


def _unescaped(text: str) -> str:
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    # A pair of surrogates is one character.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _BLANK.sub(" ", text).replace("\\", "")
