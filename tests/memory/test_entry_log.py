"""The log of entries: what is appended stays, whatever happens to the file meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.errors import EntriesUnreadable, NotSaved
from assistant.memory.entry_log import FORMAT_VERSION, EntryLog


class Note(msgspec.Struct, frozen=True, tag_field="type", tag="note"):
    text: str


def notes(path: Path) -> EntryLog[Note]:
    return EntryLog(path, msgspec.json.Decoder(Note), "notes")


def texts(log: EntryLog[Note]) -> Sequence[str]:
    return [note.text for note in log.records()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "notes.jsonl"


def test_what_was_appended_is_read_again_by_another(path: Path) -> None:
    log = notes(path)
    assert texts(log) == []
    log.append(Note("one"), Note("zwei\n二"))
    log.append(Note("three"))
    assert texts(log) == texts(notes(path)) == ["one", "zwei\n二", "three"]
    assert path.read_text().splitlines()[0] == '{"v":1,"type":"note","text":"one"}'


def test_records_from_a_number_on(path: Path) -> None:
    log = notes(path)
    log.append(Note("a"), Note("b"), Note("c"))
    assert log.records(1) == (Note("b"), Note("c"))
    assert log.records(3) == ()


def test_the_folder_and_the_file_are_the_owners_alone(path: Path) -> None:
    notes(path).append(Note("mine"))
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {one.stat().st_mode & 0o777 for one in path.parent.iterdir()} == {0o600}


def test_what_another_appends_is_seen_without_starting_over(path: Path) -> None:
    mine, other = notes(path), notes(path)
    mine.append(Note("mine"))
    other.append(Note("theirs"))
    assert texts(mine) == ["mine", "theirs"]
    assert mine.generation == 0


# --- damage -------------------------------------------------------------------------------------


def test_a_torn_last_line_does_not_swallow_the_next(path: Path) -> None:
    log = notes(path)
    log.append(Note("whole"))
    with path.open("ab") as file:
        file.write(b'{"v":1,"type":"note","te')
    assert texts(log) == ["whole"]
    assert log.skipped == 0
    log.append(Note("after"))
    assert texts(log) == texts(notes(path)) == ["whole", "after"]
    assert log.skipped == 1


def test_a_last_line_without_its_newline_counts_once_it_is_whole(path: Path) -> None:
    log = notes(path)
    log.append(Note("one"))
    with path.open("ab") as file:
        file.write(b'{"v":1,"type":"note","text":"by')
    assert texts(log) == ["one"]
    with path.open("ab") as file:
        file.write(b' hand"}')
    assert texts(log) == ["one", "by hand"]
    log.append(Note("three"))
    assert texts(log) == texts(notes(path)) == ["one", "by hand", "three"]
    assert log.skipped == 0


GARBAGE = [
    b"\n\n",
    b"not json\n",
    b"\x00\x00\x00\n",
    b"\xff\xfe\n",
    b"{}\n",
    b"[" * 5_000 + b"\n",
    b'{"v":1,"type":"other","text":"x"}\n',
    b'{"v":1,"type":"note","text":3}\n',
    b'{"v":"1","type":"other"}\n',
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=repr)
def test_garbage_is_passed_over_and_stays_where_it_is(path: Path, garbage: bytes) -> None:
    log = notes(path)
    log.append(Note("before"))
    with path.open("ab") as file:
        file.write(garbage)
    log.append(Note("after"))
    assert texts(log) == texts(notes(path)) == ["before", "after"]
    assert garbage in path.read_bytes()
    assert log.skipped == (0 if garbage.isspace() else 1)


@given(
    pieces=st.lists(
        st.one_of(
            st.text(st.characters(exclude_categories=["Cs"])),
            st.binary(max_size=20).filter(lambda data: b"{" not in data),
        ),
        max_size=8,
    )
)
def test_whatever_stands_between_all_that_was_appended_is_there(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str | bytes]
) -> None:
    path = tmp_path_factory.mktemp("log") / "notes.jsonl"
    log, kept = notes(path), []
    for piece in pieces:
        if isinstance(piece, str):
            log.append(Note(piece))
            kept.append(piece)
        else:
            with path.open("ab") as file:
                file.write(piece)
    assert texts(log) == texts(notes(path)) == kept


def test_a_file_of_a_newer_version_is_read_and_not_written(path: Path) -> None:
    log = notes(path)
    log.append(Note("old"))
    newer = b'{"v":%d,"type":"note","text":"new"}\n' % (FORMAT_VERSION + 1)
    with path.open("ab") as file:
        file.write(newer + b'{"v":%d,"type":"unheard of"}\n' % (FORMAT_VERSION + 1))
    before = path.read_bytes()
    with pytest.raises(NotSaved, match="newer version"):
        log.append(Note("mine"))
    assert texts(log) == ["old", "new"]
    assert log.newer
    assert path.read_bytes() == before


# --- another file in its place ------------------------------------------------------------------


def test_a_file_that_took_its_place_is_read_anew(path: Path) -> None:
    log = notes(path)
    log.append(Note("one"), Note("two"))
    other = path.with_name("other")
    notes(other).append(Note("two"))
    other.replace(path)
    assert texts(log) == ["two"]
    assert log.generation == 1
    log.append(Note("three"))
    assert texts(log) == texts(notes(path)) == ["two", "three"]


def test_a_longer_one_with_the_same_number_is_read_anew(path: Path) -> None:
    log = notes(path)
    log.append(Note("secret one"), Note("two"))
    # As a file has that was deleted and made again: the same inode, and more in it than before.
    lines = path.read_bytes().split(b"\n", 1)[1]
    path.write_bytes(lines + b'{"v":1,"type":"note","text":"%s"}\n' % (b"3" * 100))
    assert texts(log) == ["two", "3" * 100]
    assert log.generation == 1


def test_one_of_the_same_size_is_read_anew(path: Path) -> None:
    log = notes(path)
    log.append(Note("one"))
    path.write_bytes(path.read_bytes().replace(b"one", b"two"))
    os.utime(path, ns=(1, 1))
    assert texts(log) == ["two"]


def test_a_file_that_is_gone_leaves_nothing_and_is_made_again(path: Path) -> None:
    log = notes(path)
    log.append(Note("one"))
    path.unlink()
    assert texts(log) == []
    assert texts(log) == []
    assert log.generation == 1
    log.append(Note("two"))
    assert texts(log) == ["two"]


def test_what_was_skipped_is_counted_for_the_file_that_is_there(path: Path) -> None:
    log = notes(path)
    path.parent.mkdir()
    path.write_bytes(b"rubbish\n")
    assert texts(log) == []
    assert log.skipped == 1
    path.unlink()
    assert texts(log) == []
    assert log.skipped == 0


# --- rewriting ----------------------------------------------------------------------------------


def without(*gone: str) -> Callable[[Note], Note | None]:
    return lambda note: None if note.text in gone else note


def stays(line: bytes) -> bool:
    return False


def test_records_go_and_change_and_all_other_lines_stay_byte_for_byte(path: Path) -> None:
    path.parent.mkdir()
    others = b'{ "v":1, "type":"note", "text":"by hand" }\n\nrubbish\r\n'
    path.write_bytes(others + b'{"v":1,"type":"note","text":"secret"}\n')
    log, other = notes(path), notes(path)
    log.append(Note("old"), Note("last"))
    assert len(texts(other)) == 4

    def change(note: Note) -> Note | None:
        return Note("new") if note.text == "old" else without("secret")(note)

    assert log.touched(change, stays) == 2
    log.rewrite(change, stays)

    expected = others + b'{"v":1,"type":"note","text":"new"}\n{"v":1,"type":"note","text":"last"}\n'
    assert path.read_bytes() == expected
    assert path.stat().st_mode & 0o777 == 0o600
    assert texts(log) == texts(other) == ["by hand", "new", "last"]
    assert (log.generation, other.generation) == (1, 1)
    assert log.touched(change, stays) == 0
    log.append(Note("after"))
    assert texts(other) == ["by hand", "new", "last", "after"]


def test_what_can_not_be_read_goes_when_that_is_wanted(path: Path) -> None:
    log = notes(path)
    log.append(Note("one"))
    with path.open("ab") as file:
        file.write(b'rubbish\n{"v":1,"type":"note","text":"torn secr')

    def goes(line: bytes) -> bool:
        return b"secr" in line

    assert log.touched(without(), goes) == 1
    log.rewrite(without(), goes)
    assert path.read_bytes() == b'{"v":1,"type":"note","text":"one"}\nrubbish\n'


def test_nothing_is_written_where_nothing_changes(path: Path) -> None:
    log = notes(path)
    log.rewrite(without("one"), stays)
    assert not path.exists()
    log.append(Note("one"))
    before = path.stat()
    log.rewrite(without("two"), stays)
    assert path.stat() == before
    assert log.generation == 0


def test_a_link_stays_and_what_it_leads_to_is_rewritten(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.jsonl"
    path.parent.mkdir()
    path.symlink_to(elsewhere)
    log = notes(path)
    log.append(Note("secret"), Note("kept"))
    log.rewrite(without("secret"), stays)
    assert path.is_symlink()
    assert b"secret" not in elsewhere.read_bytes()
    assert texts(log) == ["kept"]
    log.remove()
    assert not path.is_symlink()
    assert not elsewhere.exists()
    assert texts(log) == []


def test_a_file_of_a_newer_version_is_not_rewritten(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"v":%d,"type":"note","text":"one"}\n' % (FORMAT_VERSION + 1))
    before = path.read_bytes()
    with pytest.raises(NotSaved, match="newer version"):
        notes(path).rewrite(without("one"), stays)
    assert path.read_bytes() == before


def test_what_others_append_meanwhile_is_not_lost(path: Path) -> None:
    log = notes(path)
    log.append(*(Note(f"mine {number}") for number in range(50)))
    process = appending(path, "other", 40)
    for number in range(50):
        log.rewrite(without(f"mine {number}"), stays)
    process.communicate(timeout=60)
    assert texts(log) == texts(notes(path)) == [f"other {number}" for number in range(40)]


REWRITE = """
import sys
from pathlib import Path
from tests.memory.test_entry_log import notes, stays, without
log = notes(Path(sys.argv[1]))
print("begun", flush=True)
for number in range(2_000):
    log.rewrite(without(f"{number:05}"), stays)
"""


def test_killed_while_it_rewrites_the_file_is_an_old_or_a_new_one(path: Path) -> None:
    numbers = [f"{number:05}" for number in range(2_000)]
    notes(path).append(*map(Note, numbers))
    for delay in (0.0, 0.03, 0.1, 0.2):
        process = subprocess.Popen(
            [sys.executable, "-c", REWRITE, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.kill()
        process.wait()
        process.stdout.close()
        found = texts(log := notes(path))
        assert found == numbers[len(numbers) - len(found) :]
        assert log.skipped == 0


# --- trouble ------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_file_as_it_was(path: Path) -> None:
    notes(path).append(Note("before"))
    before = path.read_bytes()
    script = f"""
import resource
from pathlib import Path
from assistant.errors import NotSaved
from tests.memory.test_entry_log import Note, notes
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 40}, resource.RLIM_INFINITY))
log = notes(Path({str(path)!r}))
for _ in range(2):
    try:
        log.append(Note("x" * 1000))
    except NotSaved as error:
        print(error)
log.append(Note("y"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Nothing was saved: notes.jsonl can't be written") == 2
    assert "unchanged" in done.stdout
    assert path.read_bytes() == before + b'{"v":1,"type":"note","text":"y"}\n'


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_a_device_without_room_is_not_saved(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to("/dev/full")
    with pytest.raises(NotSaved, match="No space left"):
        notes(path).append(Note("x"))


def test_a_folder_that_can_not_be_made_is_not_saved(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    log = notes(tmp_path / "data" / "notes.jsonl")
    with pytest.raises(NotSaved, match="Nothing was saved"):
        log.append(Note("x"))
    with pytest.raises(EntriesUnreadable, match="Nothing was changed"):
        log.records()


def test_a_folder_in_its_place_is_said_to_be_unreadable(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(EntriesUnreadable, match=r"notes\.jsonl can't be read"):
        notes(path).records()


# --- several at once ----------------------------------------------------------------------------

APPEND = """
import sys
from pathlib import Path
from tests.memory.test_entry_log import Note, notes
log = notes(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    log.append(Note(f"{sys.argv[2]} {number}"))
    print(number, flush=True)
"""


def appending(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", APPEND, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_append_at_once_and_nothing_is_lost(path: Path) -> None:
    both = [appending(path, name, 30) for name in ("a", "b")]
    for process in both:
        process.communicate(timeout=60)
        assert process.returncode == 0
    found = texts(log := notes(path))
    assert [one for one in found if one[0] == "a"] == [f"a {number}" for number in range(30)]
    assert [one for one in found if one[0] == "b"] == [f"b {number}" for number in range(30)]
    assert len(found) == 60
    assert log.skipped == 0


def test_what_was_reported_saved_outlives_a_kill(path: Path) -> None:
    process = appending(path, "a", 100_000)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(5)]
    process.kill()
    said += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    reported = sum(line.endswith("\n") for line in said)
    log = notes(path)
    found = texts(log)
    assert len(found) in (reported, reported + 1)
    log.append(Note("after"))
    assert texts(log) == [*found, "after"]


def test_one_waits_while_another_decides(path: Path) -> None:
    log = notes(path)
    log.append(Note("one"))
    with log.exclusively():
        process = appending(path, "other", 1)
        time.sleep(0.5)
        log.append(Note(f"{len(log.records())} before me"))
        assert process.poll() is None
    process.communicate(timeout=60)
    assert texts(log) == ["one", "1 before me", "other 0"]


def test_one_who_waits_too_long_is_told_so(path: Path) -> None:
    holder, other = (
        notes(path),
        EntryLog(path, msgspec.json.Decoder(Note), "notes", lock_timeout=0.1),
    )
    failed: list[NotSaved] = []

    def write() -> None:
        try:
            other.append(Note("late"))
        except NotSaved as error:
            failed.append(error)

    with holder.exclusively():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert "another program has been writing notes" in str(failed[0])
    assert texts(holder) == []


def test_threads_share_one_log(path: Path) -> None:
    log = notes(path)

    def write(name: str) -> None:
        for number in range(20):
            log.append(Note(f"{name} {number}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts(log))) == 40


def test_ctrl_c_waits_until_it_is_written(path: Path) -> None:
    log = notes(path)

    def interrupted() -> None:
        with log.exclusively():
            signal.raise_signal(signal.SIGINT)
            log.append(Note("whole"))

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert texts(log) == ["whole"]
