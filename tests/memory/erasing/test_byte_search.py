"""Words in every byte of a home, however a format writes them."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from assistant.memory.erasing.byte_search import FileHit, files_with, holds
from assistant.memory.erasing.prompt_history import entries


def write(home: Path, name: str, data: str | bytes) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def found(words: str, home: Path, others: Sequence[Path] = ()) -> list[str]:
    return [str(hit.path.relative_to(home.parent)) for hit in files_with(words, home, others)]


def in_json(text: str, times: int = 1, *, ascii: bool = True) -> str:
    """A text as JSON has it, or JSON within JSON."""
    for _ in range(times):
        text = json.dumps(text, ensure_ascii=ascii)
    return text


TEXTS = [
    "555 0199",
    "naïve café",
    "订单编号 PX-4471",
    "family 👨‍👩‍👧 photo",
    'say "hi" to Bob',
    "C:\\new\\temp",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("ascii", [True, False])
def test_escapes_make_no_difference(home: Path, text: str, depth: int, ascii: bool) -> None:
    write(home, "sessions/s1.jsonl", f"before {in_json(text, depth, ascii=ascii)} after")
    assert found(text, home) == ["home/sessions/s1.jsonl"]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("My Number is 555", "my number IS"),
        ("cafe\u0301", "caf\u00e9"),
        ("caf\u00e9", "cafe\u0301"),
        ("two  \t words", "two words"),
        ('{"text":"first line\\nsecond line"}', "line second"),
        ('{"text":"{\\"a\\": \\"first\\\\nsecond\\"}"}', "first second"),
        ("STRASSE", "straße"),
    ],
)
def test_case_accents_and_spacing_make_no_difference(home: Path, written: str, words: str) -> None:
    write(home, "data/memos.jsonl", written)
    assert found(words, home) == ["home/data/memos.jsonl"]


def test_a_folded_line_is_one_line_also_where_it_was_cut_within_a_character(home: Path) -> None:
    title = "SUMMARY:Meeting at the Café Müller\\, table four".encode()
    cut = title.index("ü".encode()) + 1
    write(home, "data/calendar.ics", title[:cut] + b"\r\n " + title[cut:] + b"\r\n")
    assert found("café müller, table", home) == ["home/data/calendar.ics"]
    # Elsewhere a line break is one.
    write(home, "data/other.txt", b"Meet\r\n ing")
    assert found("meeting", home) == ["home/data/calendar.ics"]


def test_a_typed_entry_of_several_lines(home: Path) -> None:
    path = write(home, "data/prompt_history", "\n# 2026-11-30\n+my number\n+is 555 0199\n")
    assert entries(path) == ["my number\nis 555 0199"]
    assert found("number is 555", home) == ["home/data/prompt_history"]


def test_how_often(home: Path) -> None:
    write(home, "sessions/s1.jsonl", "word " * 1_200)
    write(home, "sessions/s2.jsonl", "word")
    many, once = files_with("word", home)
    assert (many.times, many.told, once.told) == (1_200, "1,200 times", "once")


def test_no_words_are_nowhere(home: Path) -> None:
    write(home, "sessions/s1.jsonl", "word")
    assert found("  \n", home) == []


def test_in_a_checkout_only_what_the_program_keeps(home: Path, tmp_path: Path) -> None:
    for name in ("assistant/app.py", "README.md", "datafile", "sessions/deep/x", "data/logs/a.log",
                 "config/assistant.toml", ".env"):  # fmt: skip
        write(home, name, "the words")
    exported = write(tmp_path, "out.md", "the words")
    assert found("the words", home, [exported, tmp_path / "gone.md"]) == [
        "home/sessions/deep/x",
        "home/data/logs/a.log",
        "home/config/assistant.toml",
        "home/.env",
        "out.md",
    ]


def test_a_folder_that_is_a_link_is_looked_through(home: Path, tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/memos.jsonl", "the words")
    home.mkdir()
    (home / "data").symlink_to(tmp_path / "elsewhere")
    assert found("the words", home) == ["home/data/memos.jsonl"]


def test_a_file_that_is_deleted_meanwhile_holds_nothing(home: Path) -> None:
    for name in ("a", "b", "c"):
        write(home, f"data/{name}", "the words")
    hits = files_with("the words", home)
    first = next(hits)
    (home / "data" / "b").unlink()
    assert [hit.path.name for hit in (first, *hits)] == ["a", "c"]


class Unreadable(type(Path())):  # type: ignore[misc]
    """A path below which everything that is named `locked` can't be read."""

    def read_bytes(self) -> bytes:
        if self.name == "locked":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return super().read_bytes()


def test_a_file_that_cannot_be_read_is_told(home: Path) -> None:
    write(home, "data/locked", "the words")
    write(home, "data/open", "the words")
    locked, other = files_with("the words", Unreadable(home))
    assert (locked.times, locked.told) == (0, "can't be read: Permission denied")
    assert other.told == "once"


def test_a_link_to_nowhere_is_no_file(home: Path) -> None:
    write(home, "data/a", "the words")
    (home / "data" / "link").symlink_to(home / "nowhere")
    assert list(files_with("the words", home)) == [FileHit(home / "data" / "a", 1)]


@pytest.mark.parametrize(
    ("text", "words", "held"),
    [("Call 555 0199 now", "555  0199", True), ("555 0198", "555 0199", False), ("any", "", True)],
)
def test_a_text_holds_words_one_after_the_other(text: str, words: str, held: bool) -> None:
    assert holds(text, words) is held
