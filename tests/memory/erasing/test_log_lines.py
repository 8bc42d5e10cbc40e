"""A log as its lines: nothing is lost, and what is read is what a session has."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.erasing.log_lines import is_newer, log_lines
from assistant.memory.session_log import TitleRecord, encode, load

TITLE = TitleRecord("火锅", datetime(2026, 3, 4, tzinfo=UTC))
LINE = encode(TITLE)

pieces = st.sampled_from(
    [
        LINE,
        LINE.strip(),
        b"\n",
        b"\r\n",
        b" ",
        LINE.replace(b",", b",\n"),
        b'{"torn',
        b"\xff",
        b"{}",
    ]
)


@given(st.lists(pieces, max_size=8).map(b"".join))
def test_lines_joined_are_the_log(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    lines = log_lines(data)
    assert b"".join(line.raw for line in lines) == data
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    path.write_bytes(data)
    loaded = load(path)
    assert [line.record for line in lines if line.record is not None] == loaded.records
    assert sum(line.unreadable for line in lines) == loaded.skipped
    assert is_newer(lines) == loaded.newer


@pytest.mark.parametrize(
    ("data", "newer"),
    [
        (LINE, False),
        (LINE.replace(b'"v":1', b'"v":2'), True),
        (b'{"v":2,"type":"new"}', True),
        (b'{"v":"2"}', False),
        (b"", False),
    ],
)
def test_a_newer_version_is_told(data: bytes, newer: bool) -> None:
    assert is_newer(log_lines(data)) is newer


def test_a_digest_does_not_depend_on_the_end_of_its_line() -> None:
    (one,), (other,) = log_lines(b'{"torn'), log_lines(b'{"torn\r\n')
    assert one.digest == other.digest
    assert len(one.digest) == 16
