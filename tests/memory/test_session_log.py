"""The log on real files: round trips, torn and foreign lines, full disks, other writers."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.errors import SessionChanged, SessionError, SessionUnreadable
from assistant.memory.interrupts import interrupts_held
from assistant.memory.session_log import (
    FailureRecord,
    PartFile,
    PartHeader,
    Release,
    SessionLog,
    SessionRecord,
    TitleRecord,
    encode,
    load,
)
from assistant.messages import (
    ImagePart,
    ImageUrl,
    Message,
    TextPart,
    TokenCount,
    ToolCall,
    Usage,
    clean_content,
    clean_text,
)

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def user(text: str, number: int = 1) -> Message:
    return Message(role="user", content=text, id=number, turn=number, ts=NOW)


RECORDS = [
    SessionRecord("s1", NOW, "assistant 1", forked_from="s0"),
    user("你好 👨‍👩‍👧 \u0000 \u2028 [red]"),
    Message(
        role="assistant",
        content="",
        id=2,
        turn=1,
        ts=NOW,
        model="m",
        usage=Usage(5, 6, 4),
        finish_reason="tool_calls",
        tool_calls=(ToolCall("c1", "list_events", '{"from": "x"}'),),
        count=TokenCount("o200k_base", 12),
    ),
    Message(role="tool", content="none", id=3, turn=1, ts=NOW, tool_call_id="c1"),
    Message(
        role="user",
        content=(TextPart("see"), ImagePart(ImageUrl("data:image/png;base64,AA", "low"))),
        id=4,
        turn=2,
        ts=NOW,
    ),
    TitleRecord("A title", NOW, by="user"),
    FailureRecord(turn=2, reason="No answer.", ts=NOW, rejected=True),
]


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def test_every_record_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "s1.jsonl")
    for record in RECORDS:
        log.append(record)
    log.close()
    loaded = load(log.path)
    assert loaded.records == RECORDS
    assert (loaded.skipped, loaded.newer, loaded.ends_cleanly) == (0, False, True)
    assert loaded.size == log.size == log.path.stat().st_size


def test_a_line_names_its_version_type_and_time(tmp_path: Path) -> None:
    for record in RECORDS:
        line = json.loads(encode(record))
        assert line["v"] == 1
        assert line["type"] in ("session", "message", "title", "failure")
        assert datetime.fromisoformat(line["ts"]) == NOW
        assert encode(record).count(b"\n") == 1


def test_the_file_is_private_and_written_before_append_returns(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "s1.jsonl")
    log.append(user("hello"))
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert b"hello" in log.path.read_bytes()
    log.close()


def test_nothing_is_written_until_something_is_said(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "s1.jsonl", first=lambda: RECORDS[0])
    log.close()
    assert not log.path.exists()


def test_the_first_record_comes_with_the_first_message(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "s1.jsonl", first=lambda: RECORDS[0])
    log.append(user("hello"))
    log.close()
    assert load(log.path).records == [RECORDS[0], user("hello")]


DAMAGE = [
    ("cut in the middle of a line", [encode(user("a")), encode(user("b"))[:40]], 1, False),
    ("cut in half a character", [encode(user("a")), '{"v":1,"x":"你'.encode()[:-1]], 1, False),
    ("broken line in the middle", [encode(user("a")), b"{oops\n", encode(user("b"))], 1, True),
    ("empty lines", [encode(user("a")), b"\n\n", encode(user("b"))], 0, True),
    ("a list", [encode(user("a")), b"[1,2]\n"], 1, True),
    ("a record of an unknown type", [encode(user("a")), b'{"v":1,"type":"mood"}\n'], 1, True),
    ("a message without role", [b'{"v":1,"type":"message","content":"x"}\n'], 1, True),
    ("wrong type inside", [b'{"v":1,"type":"message","role":"user","content":5}\n'], 1, True),
    ("bytes that are no UTF-8", [encode(user("a")), b'{"v":1,"\xff\xfe"}\n'], 1, True),
    ("zeros where a block was lost", [encode(user("a")), b"\0" * 600 + b"\n"], 1, True),
    ("a lone surrogate escape", [b'{"v":1,"type":"title","title":"\\ud800"}\n'], 1, True),
    ("nested without end", [b'{"type":"message","content":' + b"[" * 200_000 + b"\n"], 1, True),
    ("empty", [], 0, True),
]


@pytest.mark.parametrize(
    ("lines", "skipped", "clean"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE]
)
def test_damage_costs_its_own_line_and_nothing_else(
    tmp_path: Path, lines: list[bytes], skipped: int, clean: bool
) -> None:
    path = write(tmp_path / "s1.jsonl", *lines)
    whole = [line for line in lines if line in (encode(user("a")), encode(user("b")))]
    before = path.read_bytes()
    loaded = load(path)
    assert loaded.skipped == skipped
    assert loaded.ends_cleanly is clean
    assert len(loaded.records) == len(whole)
    assert path.read_bytes() == before


def test_appending_after_a_torn_line_starts_a_new_one(tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", encode(user("a")), encode(user("b"))[:30])
    loaded = load(path)
    log = SessionLog(path, size=loaded.size, needs_newline=not loaded.ends_cleanly)
    log.append(user("c"))
    log.append(user("d"))
    log.close()
    again = load(path)
    assert [one.content for one in again.records if isinstance(one, Message)] == ["a", "c", "d"]
    assert again.skipped == 1


@pytest.mark.parametrize(
    "line", [b'{"v":2,"type":"message","role":"user","content":"x"}\n', b'{"v":7,"type":"new"}\n']
)
def test_a_newer_version_is_noticed(tmp_path: Path, line: bytes) -> None:
    assert load(write(tmp_path / "s1.jsonl", encode(user("a")), line)).newer


def test_a_field_of_a_later_release_is_passed_over(tmp_path: Path) -> None:
    line = b'{"v":1,"type":"message","role":"user","content":"x","mood":"good"}\n'
    assert len(load(write(tmp_path / "s1.jsonl", line)).records) == 1


def test_a_file_that_can_not_be_read_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").mkdir()
    with pytest.raises(SessionUnreadable, match=r"s1\.jsonl can't be read.*Nothing was changed"):
        load(tmp_path / "s1.jsonl")


def test_another_writer_is_noticed_and_nothing_is_overwritten(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "s1.jsonl")
    log.append(user("mine"))
    with open(log.path, "ab") as other:
        other.write(encode(user("theirs")))
    before = log.path.read_bytes()
    with pytest.raises(SessionChanged, match="changed by another program"):
        log.append(user("mine again"))
    assert log.path.read_bytes() == before
    log.close()


def test_what_waited_before_a_change_under_us_goes_on_to_wait(tmp_path: Path) -> None:
    released = []
    (tmp_path / "s1.jsonl").symlink_to("/dev/full")
    log = SessionLog(tmp_path / "s1.jsonl", release=lambda: released.append(1))
    log.append(user("waits"))
    log.size = 5
    with pytest.raises(SessionChanged):
        log.append(user("refused"))
    assert log.waiting == 1
    with pytest.raises(SessionChanged):
        log.flush()
    log.close()
    assert released == [1]


def test_a_lock_that_can_not_be_had_for_want_of_room_leaves_the_record_waiting(
    tmp_path: Path,
) -> None:
    def full() -> Release:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = SessionLog(tmp_path / "s1.jsonl", acquire=full)
    log.append(user("a"))
    assert (log.waiting, log.failure) == (1, "No space left on device")
    log.close()


def test_a_file_removed_under_us_is_noticed(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "s1.jsonl")
    log.append(user("mine"))
    log.path.unlink()
    with pytest.raises(SessionChanged):
        log.append(user("mine again"))
    log.close()


def test_a_full_disk_keeps_the_records_waiting(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").symlink_to("/dev/full")
    log = SessionLog(tmp_path / "s1.jsonl")
    log.append(user("a"))
    log.append(user("b", 2))
    assert log.failure == "No space left on device"
    assert log.waiting == 2
    log.close()


def test_what_is_to_be_written_at_once_never_waits(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").symlink_to("/dev/full")
    log = SessionLog(tmp_path / "s1.jsonl")
    for waiting in (0, 1):
        with pytest.raises(SessionError, match="No space left on device"):
            log.append(user("at once"), at_once=True)
        assert log.waiting == waiting
        log.append(user("can wait"))
    log.close()


FILE_LIMIT = """
import resource, signal, sys
from pathlib import Path
from datetime import UTC, datetime
from assistant.memory.session_log import SessionLog, load
from assistant.messages import Message
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def message(text): return Message(role="user", content=text, ts=datetime.now(UTC))
log = SessionLog(Path(sys.argv[1]))
log.append(message("first"))
resource.setrlimit(resource.RLIMIT_FSIZE, (log.size + 20, resource.RLIM_INFINITY))
log.append(message("second"))
assert log.failure and log.waiting == 1, log
assert log.path.stat().st_size == log.size, "the torn line was taken back"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append(message("third"))
assert log.failure is None and log.waiting == 0
log.close()
print([record.content for record in load(log.path).records])
"""


def test_a_disk_that_has_room_again_gets_all_that_waited_in_order(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILE_LIMIT, str(tmp_path / "s1.jsonl")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "['first', 'second', 'third']"


def test_two_threads_append_whole_lines(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "s1.jsonl")

    def append_many() -> None:
        for number in range(50):
            log.append(user("x" * 2_000, number))

    threads = [threading.Thread(target=append_many) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    loaded = load(log.path)
    assert (len(loaded.records), loaded.skipped) == (150, 0)


def test_ctrl_c_waits_until_a_record_is_written() -> None:
    steps = []

    def write() -> None:
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("went on")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# --- parts --------------------------------------------------------------------------------------


def test_a_part_is_read_as_far_as_it_came(tmp_path: Path) -> None:
    part = PartFile(tmp_path / "s1.part")
    part.start(PartHeader(3, "m", NOW))
    assert not (tmp_path / "s1.part").exists()
    part.add("你好，")
    part.add("世界")
    assert PartFile(tmp_path / "s1.part").read() == (PartHeader(3, "m", NOW), "你好，世界")
    with open(tmp_path / "s1.part", "ab") as file:
        file.write("界".encode()[:2])
    assert PartFile(tmp_path / "s1.part").read() == (PartHeader(3, "m", NOW), "你好，世界")
    part.remove()
    assert not (tmp_path / "s1.part").exists()
    assert part.read() is None


@pytest.mark.parametrize("content", [b"", b"{", b"nonsense\nmore", b'{"turn":"x"}\nmore'])
def test_a_part_without_a_header_is_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s1.part").write_bytes(content)
    assert PartFile(tmp_path / "s1.part").read() is None


def test_a_part_that_can_not_be_written_stops_nothing(tmp_path: Path) -> None:
    part = PartFile(tmp_path / "missing" / "s1.part")
    part.start(PartHeader(3, "m", NOW))
    part.add("text")
    part.remove()


# --- text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain 你好", "plain 你好"),
        ("caf\udce9", "caf\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_surrogates_never_reach_a_file(text: str, expected: str) -> None:
    assert clean_text(text) == expected
    assert clean_content((TextPart(text),)) == (TextPart(expected),)
