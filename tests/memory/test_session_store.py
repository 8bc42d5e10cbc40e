"""Sessions on real files: made, resumed, found, listed, shared between processes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from assistant.errors import (
    SessionAmbiguous,
    SessionChanged,
    SessionError,
    SessionInUse,
    SessionNotFound,
    SessionReadOnly,
    SessionUnreadable,
)
from assistant.memory.session import Session
from assistant.memory.session_log import EraseRecord, PartFile, PartHeader, TitleRecord, encode
from assistant.memory.session_store import SessionStore
from assistant.messages import INTERRUPTED, ImagePart, ImageUrl, Message, TextPart, ToolCall
from tests.fakes import FakeClock, FakeIds


def reply(session: Session, text: str) -> Message:
    return session.answer(Message(role="assistant", content=text, turn=session.turns, model="m"))


def talk(store: SessionStore, *exchanges: tuple[str, str], title: str | None = None) -> str:
    session = store.create()
    for question, answer in exchanges:
        session.ask(question)
        reply(session, answer)
    if title:
        session.rename(title)
    session.close()
    return session.id


def said(session: Session) -> list[tuple[str, str]]:
    return [(one.role, one.text) for one in session.history.slice(range(len(session.history)))]


def test_a_session_comes_back_as_it_was(store: SessionStore) -> None:
    session_id = talk(store, ("做宫保鸡丁", "好的！"), ("需要什么？", "鸡肉、花生。"))
    session = store.open(session_id)
    assert said(session) == [
        ("user", "做宫保鸡丁"),
        ("assistant", "好的！"),
        ("user", "需要什么？"),
        ("assistant", "鸡肉、花生。"),
    ]
    assert [one.id for one in session.history.slice(range(4))] == [1, 2, 3, 4]
    assert [one.turn for one in session.history.slice(range(4))] == [1, 1, 2, 2]
    session.ask("and then?")
    assert (session.history[4].id, session.history[4].turn) == (5, 3)
    session.close()


def test_content_in_parts_is_stored(store: SessionStore) -> None:
    parts = (TextPart("what is this?"), ImagePart(ImageUrl("https://example.org/x.png")))
    session = store.create()
    session.ask(parts)
    session.close()
    again = store.open(session.id)
    assert again.history[0].content == parts
    assert again.history[0].text == "what is this?\n[image]"
    again.close()


def test_a_session_without_words_leaves_no_file(store: SessionStore, home: Path) -> None:
    store.create().close()
    assert list(store.list()) == []
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_folders_and_files_are_private(store: SessionStore, home: Path) -> None:
    session_id = talk(store, ("a", "b"))
    store.list()
    for folder in (home / "sessions", home / "data", home / "data" / "locks"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in home.rglob("*"):
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert (home / "sessions" / f"{session_id}.jsonl").exists()


def test_a_private_session_leaves_nothing(store: SessionStore, home: Path) -> None:
    session = store.create(private=True)
    session.ask("secret plan")
    session.stream_starts(1, "m")
    session.keep_part("secret")
    reply(session, "secret answer")
    session.rename("secret title")
    assert said(session) == [("user", "secret plan"), ("assistant", "secret answer")]
    session.close()
    assert not home.exists()


# --- finding ------------------------------------------------------------------------------------


@pytest.fixture
def three(store: SessionStore) -> SessionStore:
    talk(store, ("a", "b"), title="Trip to Kyoto")
    talk(store, ("a", "b"), title="川菜")
    talk(store, ("a", "b"), title="Trip to Rome")
    return store


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("s1", "s1"),
        ("S1", "s1"),
        ("Trip to Kyoto", "s1"),
        ("trip to kyoto", "s1"),
        ("川菜", "s2"),
        ("kyoto", "s1"),
        (" s3 ", "s3"),
    ],
)
def test_a_session_is_found(three: SessionStore, reference: str, found: str) -> None:
    assert three.find(reference).id == found


def test_a_unique_start_of_an_id_is_enough(home: Path, clock: FakeClock) -> None:
    ids = iter(["20260101-a", "20260202-b", "20260203-c"])
    store = SessionStore(home / "sessions", home / "data", clock=clock, new_id=lambda: next(ids))
    for _ in range(3):
        talk(store, ("a", "b"))
    assert store.find("202601").id == "20260101-a"
    with pytest.raises(SessionAmbiguous, match="fits 2 sessions"):
        store.find("202602")


def test_an_ambiguous_title_names_the_candidates(three: SessionStore) -> None:
    with pytest.raises(SessionAmbiguous) as caught:
        three.find("trip")
    assert "s1  Trip to Kyoto" in str(caught.value)
    assert "s3  Trip to Rome" in str(caught.value)


@pytest.mark.parametrize(
    "reference", ["nothing", "", "../s1", "s1/../s1", "/etc/passwd", "s1.jsonl"]
)
def test_what_is_no_session_is_not_found(three: SessionStore, reference: str) -> None:
    with pytest.raises(SessionNotFound):
        three.find(reference)
    with pytest.raises(SessionNotFound):
        three.open(reference)
    with pytest.raises(SessionNotFound):
        three.rewrite(reference, removed)


# --- listing ------------------------------------------------------------------------------------


def test_the_list_has_the_last_used_first(three: SessionStore, home: Path) -> None:
    os.utime(home / "sessions" / "s2.jsonl", ns=(2 * 10**18, 2 * 10**18))
    assert three.list()[0].id == "s2"
    assert {info.title for info in three.list()} == {"Trip to Kyoto", "川菜", "Trip to Rome"}
    assert {info.turns for info in three.list()} == {1}


def test_listing_reads_no_bodies_of_files_it_knows(three: SessionStore, home: Path) -> None:
    three.list()
    path = home / "sessions" / "s1.jsonl"
    state, size = path.stat(), path.stat().st_size
    path.write_bytes(b"\0" * size)
    os.utime(path, ns=(state.st_mtime_ns, state.st_mtime_ns))
    assert {info.title for info in three.list()} == {"Trip to Kyoto", "川菜", "Trip to Rome"}


@pytest.mark.parametrize("catalog", [b"", b"{", b'{"s1": 5}', b"\xff"])
def test_a_broken_catalog_is_made_again(three: SessionStore, home: Path, catalog: bytes) -> None:
    before = list(three.list())
    (home / "data" / "sessions.json").write_bytes(catalog)
    assert list(three.list()) == before


def test_foreign_files_are_no_sessions(three: SessionStore, home: Path) -> None:
    for name in ("README.md", "Upper.jsonl", ".s1.jsonl.123.tmp", "a b.jsonl"):
        (home / "sessions" / name).write_text("x")
    assert len(three.list()) == 3


# --- titles -------------------------------------------------------------------------------------


def test_an_automatic_title_never_replaces_one_given_by_hand(store: SessionStore) -> None:
    session = store.create()
    session.ask("a")
    assert session.rename("automatic", by="auto")
    assert session.rename("better", by="auto")
    assert session.rename("mine")
    assert not session.rename("automatic again", by="auto")
    session.close()
    again = store.open(session.id)
    assert (again.title, again.title_by) == ("mine", "user")
    assert not again.rename("automatic again", by="auto")
    again.close()


def test_a_closed_session_takes_no_late_title(store: SessionStore, home: Path) -> None:
    session = store.create()
    session.ask("a")
    session.close()
    before = (home / "sessions" / "s1.jsonl").read_bytes()
    assert not session.rename("late", by="auto")
    assert (home / "sessions" / "s1.jsonl").read_bytes() == before


def test_rename_and_delete_from_outside(three: SessionStore, home: Path) -> None:
    three.rename("s1", "Osaka")
    assert three.find("Osaka").id == "s1"
    three.rewrite("s1", removed)
    assert [path.name for path in home.rglob("s1*")] == []
    three.list()
    assert b"Osaka" not in (home / "data" / "sessions.json").read_bytes()
    with pytest.raises(SessionNotFound):
        three.find("Osaka")


# --- one writer ---------------------------------------------------------------------------------


def removed(data: bytes) -> None:
    """What `rewrite` takes for a file that goes."""


def other(home: Path) -> SessionStore:
    return SessionStore(home / "sessions", home / "data", clock=FakeClock(), new_id=FakeIds())


def test_a_second_writer_is_told(store: SessionStore, home: Path) -> None:
    session_id = talk(store, ("a", "b"))
    session = store.open(session_id)
    for attempt in (other(home).open, lambda one: other(home).rewrite(one, removed)):
        with pytest.raises(SessionInUse, match="open in another terminal") as caught:
            attempt(session_id)
        assert caught.value.session_id == session_id
    session.close()
    other(home).open(session_id).close()


def test_reading_along_needs_no_lock_and_adds_nothing(store: SessionStore, home: Path) -> None:
    session_id = talk(store, ("a", "b"))
    session = store.open(session_id)
    before = (home / "sessions" / f"{session_id}.jsonl").read_bytes()
    reader = other(home).open(session_id, read_only=True)
    assert said(reader) == [("user", "a"), ("assistant", "b")]
    with pytest.raises(SessionReadOnly, match="nothing was added"):
        reader.ask("c")
    assert len(reader.history) == 2
    assert (home / "sessions" / f"{session_id}.jsonl").read_bytes() == before
    reader.close()
    session.close()


HOLD = """
import sys, time
from pathlib import Path
from assistant.memory.session_store import SessionStore
from tests.fakes import FakeClock, FakeIds
home = Path(sys.argv[1])
store = SessionStore(home / "sessions", home / "data", clock=FakeClock(), new_id=FakeIds())
session = store.open("s1")
print("open", flush=True)
time.sleep(60)
"""


def test_the_lock_of_a_killed_process_is_taken_over(store: SessionStore, home: Path) -> None:
    talk(store, ("a", "b"))
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(SessionInUse):
            store.open("s1")
        holder.kill()
    session = store.open("s1")
    assert session.ask("still works").turn == 2
    session.close()


def test_a_fork_goes_on_and_leaves_its_source_alone(store: SessionStore, home: Path) -> None:
    session_id = talk(store, ("a", "b"), ("c", "d"), title="Kyoto")
    source = store.open(session_id, read_only=True)
    before = (home / "sessions" / f"{session_id}.jsonl").read_bytes()
    copy = store.fork(source)
    copy.ask("e")
    copy.close()
    assert (home / "sessions" / f"{session_id}.jsonl").read_bytes() == before
    again = store.open(copy.id)
    assert [text for _, text in said(again)] == ["a", "b", "c", "d", "e"]
    assert (again.title, again.forked_from, again.turns) == ("Kyoto (copy)", session_id, 3)
    again.close()


def test_a_fork_of_a_session_that_is_read_along_has_what_its_file_has_by_now(
    store: SessionStore, home: Path
) -> None:
    session_id = talk(store, ("a", "b"), ("secret", "I see"))
    source = store.open(session_id, read_only=True)
    without = [line for line in store.data(session_id).splitlines(True) if b'"turn":2' not in line]
    store.rewrite(session_id, lambda data: b"".join(without))
    copy = store.fork(source)
    copy.close()
    assert [text for _, text in said(copy)] == ["a", "b"]
    assert b"secret" not in store.data(copy.id)
    store.rewrite(session_id, lambda data: None)
    with pytest.raises(SessionNotFound):
        store.fork(source)


@pytest.mark.parametrize(
    ("by", "at", "title"),
    [("auto", 0, "secret (copy)"), ("auto", 1, ""), ("user", 1, "secret (copy)")],
)
def test_a_copy_has_no_title_that_was_made_of_what_it_has_not(
    store: SessionStore, by: Literal["auto", "user"], at: int, title: str
) -> None:
    session = store.create()
    session.ask("secret")
    reply(session, "I see")
    session.rename("secret", by=by)
    session.ask("more")
    session.answer(Message(role="assistant", content="Well.", turn=2))
    if at:
        session.go_to(0)
        session.ask("hello")
    copy = store.fork(session)
    session.close()
    copy.close()
    for one in (copy, store.open(copy.id)):
        assert (one.title or "") == title
        one.close()


def test_undone_turns_are_neither_counted_nor_the_title(store: SessionStore) -> None:
    session = store.open(talk(store, ("a river?", "Rhine"), ("a lake?", "Constance")))
    session.go_to(0)
    session.ask("a mountain?")
    session.answer(Message(role="assistant", content="Eiger", turn=3))
    session.go_to(0)
    session.close()
    (info,) = store.list()
    assert (info.title, info.turns, info.last_turn) == ("", 0, 0)
    session = store.open(session.id)
    session.go_to(3)
    session.close()
    (info,) = store.list()
    assert (info.title, info.turns, info.last_turn) == ("a mountain?", 1, 3)
    assert [one.turn for one in store.exchanges(session.id)] == [3]
    assert [one.turn for one in store.exchanges(session.id, every=True)] == [1, 2, 3]


def test_what_turns_a_conversation_has_is_told_without_opening_it(store: SessionStore) -> None:
    session_id = talk(store, ("a", "b"), ("c", "d"))
    assert [store.has_turn(session_id, turn) for turn in (1, 2)] == [True, True]
    session = store.open(session_id)
    session.go_to(1)
    assert [store.has_turn(session_id, turn) for turn in (1, 2)] == [True, False]
    session.go_to(2)
    assert store.has_turn(session_id, 2)
    session.close()
    assert not store.has_turn("s7", 1)


def test_an_erased_turn_is_part_of_no_conversation(store: SessionStore) -> None:
    session_id = talk(store, ("a", "b"), ("c", "d"))
    without = [line for line in store.data(session_id).splitlines(True) if b'"turn":1' not in line]
    erased = encode(EraseRecord((1, 2), (1,), datetime(2026, 11, 30, tzinfo=UTC)))
    store.rewrite(session_id, lambda data: b"".join([*without, erased]))
    assert [store.has_turn(session_id, turn) for turn in (1, 2)] == [False, True]


def test_whether_a_message_stands_in_a_file(store: SessionStore) -> None:
    session = store.open(talk(store, ("a", "b")))
    first = session.messages[0]
    session.go_to(0)
    session.close()
    assert store.has_message(session.id, first)
    assert not store.has_message(session.id, msgspec.structs.replace(first, content="[forgotten]"))
    assert not store.has_message("s7", first)


@pytest.mark.parametrize("whole", [True, False])
def test_what_a_link_leads_to_is_rewritten(store: SessionStore, home: Path, whole: bool) -> None:
    session_id = talk(store, ("secret", "I see"))
    link = home / "sessions" / f"{session_id}.jsonl"
    place = link.replace(home / "elsewhere.jsonl")
    link.symlink_to(place)
    first, *_ = store.data(session_id).splitlines(keepends=True)
    store.rewrite(session_id, lambda data: None if whole else first)
    assert link.is_symlink() is not whole
    assert place.exists() is not whole
    assert whole or place.read_bytes() == first


# --- damage and interruption --------------------------------------------------------------------


def test_a_reply_cut_off_by_a_kill_is_kept_and_marked(store: SessionStore, home: Path) -> None:
    session = store.create()
    session.ask("tell me")
    session.close()
    left = PartFile(home / "sessions" / "s1.part")
    left.start(PartHeader(1, "m", FakeClock()()))
    left.add("Once upon ")
    left.add("a time")
    again = store.open(session.id)
    assert said(again) == [("user", "tell me"), ("assistant", "Once upon a time")]
    assert again.history[1].finish_reason == INTERRUPTED
    assert again.history[1].cut_short
    assert not (home / "sessions" / "s1.part").exists()
    again.close()


def test_a_part_whose_reply_was_saved_already_is_dropped(store: SessionStore, home: Path) -> None:
    session_id = talk(store, ("a", "b"))
    part = home / "sessions" / f"{session_id}.part"
    part.write_text('{"turn":1,"model":"m","ts":"2026-01-01T00:00:00Z"}\nb')
    again = store.open(session_id)
    assert said(again) == [("user", "a"), ("assistant", "b")]
    assert not part.exists()
    again.close()


@pytest.mark.parametrize("ran", [False, True])
def test_a_part_that_was_saved_with_its_calls_is_no_second_reply(
    store: SessionStore, home: Path, ran: bool
) -> None:
    session = store.create()
    session.ask("look")
    calls = (ToolCall("c1", "look", "{}"),)
    session.add(Message(role="assistant", content="A moment.", turn=1, tool_calls=calls))
    if ran:
        session.add(Message(role="tool", content="A cup.", turn=1, tool_call_id="c1"))
    session._log.close()  # type: ignore[union-attr] - as kill -9 leaves it
    part = home / "sessions" / "s1.part"
    part.write_text('{"turn":1,"model":"m","ts":"2026-01-01T00:00:00Z"}\nA moment.')
    again = store.open("s1")
    assert [role for role, _ in said(again)] == ["user", "assistant", "tool"]
    assert again.unanswered is not None
    assert not part.exists()
    again.close()


def test_a_question_without_a_reply_is_seen_on_resume(store: SessionStore) -> None:
    session = store.create()
    session.ask("hello?")
    session.fail(1, "No answer in time.")
    session.close()
    again = store.open(session.id)
    assert again.unanswered is not None
    assert again.failures[1].reason == "No answer in time."
    reply(again, "here I am")
    assert again.unanswered is None
    assert again.failures == {}
    again.close()
    assert store.open(session.id, read_only=True).failures == {}


def test_a_newer_file_is_opened_for_reading_only(store: SessionStore, home: Path) -> None:
    session_id = talk(store, ("a", "b"))
    path = home / "sessions" / f"{session_id}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"v":2,"type":"hologram"}\n')
    session = store.open(session_id)
    assert session.read_only
    assert "newer version" in session.notices[0]
    with pytest.raises(SessionReadOnly):
        session.ask("c")
    session.close()


def test_damage_is_said_once_in_a_sentence(store: SessionStore, home: Path) -> None:
    session_id = talk(store, ("a", "b"))
    with (home / "sessions" / f"{session_id}.jsonl").open("ab") as file:
        file.write(b"{broken\n{broken")
    session = store.open(session_id)
    assert session.notices == [
        "2 lines of the session file can't be read and were skipped. They stay in the file as they "
        "are; everything before and after them is here."
    ]
    session.ask("c")
    session.close()
    assert [text for _, text in said(store.open(session_id, read_only=True))] == ["a", "b", "c"]


def test_an_empty_file_is_an_empty_session(store: SessionStore, home: Path) -> None:
    talk(store, ("a", "b"))
    (home / "sessions" / "s9.jsonl").touch()
    session = store.open("s9")
    assert session.notices == ["The session file was empty: the conversation starts here."]
    session.ask("first")
    session.close()
    assert store.find("s9").turns == 1


def test_a_home_that_can_not_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = tmp_path / "file"
    store = SessionStore(folder / "s", folder / "d", clock=FakeClock(), new_id=FakeIds())
    session = store.create()
    session.ask("the conversation goes on")
    assert (session.unsaved, session.saving_failure) == (2, "Not a directory")
    session.close()
    with pytest.raises(SessionError, match="can't be read: Not a directory"):
        store.list()


def test_folders_above_the_home_are_closed_to_others_too(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        deep = tmp_path / "a" / "b" / "home"
        talk(SessionStore(deep / "s", deep / "d", clock=FakeClock(), new_id=FakeIds()), ("a", "b"))
        for folder in (tmp_path / "a", tmp_path / "a" / "b", deep, deep / "s"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (deep / "s").chmod(0o755)
        later = SessionStore(deep / "s", deep / "d", clock=FakeClock(), new_id=lambda: "s9")
        talk(later, ("a", "b"))
        assert stat.S_IMODE((deep / "s").stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_links_to_nowhere_and_pipes_hide_no_session(three: SessionStore, home: Path) -> None:
    (home / "sessions" / "zz.jsonl").symlink_to(home / "nowhere")
    (home / "sessions" / "loop.jsonl").symlink_to(home / "sessions" / "loop.jsonl")
    os.mkfifo(home / "sessions" / "pipe.jsonl")
    assert len(three.list()) == 3
    with pytest.raises(SessionNotFound):
        three.open("pipe")


def test_a_title_that_can_not_be_saved_is_an_error(three: SessionStore, home: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from assistant.memory.session_store import SessionStore\n"
        "from tests.fakes import FakeClock, FakeIds\n"
        "home = Path(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))\n"
        "store = SessionStore(home / 'sessions', home / 'data', clock=FakeClock(),"
        " new_id=FakeIds())\n"
        "try: store.rename('s1', 'L' * 900)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True
    )
    assert "SessionError The title can't be saved: No space left on device." in done.stdout
    assert three.find("Trip to Kyoto").id == "s1"


def test_an_empty_word_names_no_session(three: SessionStore, home: Path) -> None:
    (home / "sessions" / "s9.jsonl").touch()
    for whole_title in (False, True):
        with pytest.raises(SessionNotFound):
            three.find(" ", whole_title=whole_title)


def test_words_of_a_title_are_not_enough_to_delete_it(three: SessionStore) -> None:
    assert three.find("kyoto").id == "s1"
    with pytest.raises(SessionNotFound):
        three.find("kyoto", whole_title=True)


def test_an_automatic_title_that_came_late_never_wins_on_reload(
    store: SessionStore, home: Path
) -> None:
    session_id = talk(store, ("a", "b"), title="mine")
    with (home / "sessions" / f"{session_id}.jsonl").open("ab") as file:
        file.write(encode(TitleRecord("automatic", FakeClock()(), by="auto")))
    assert store.open(session_id, read_only=True).title == "mine"
    assert store.list()[0].title == "mine"


def test_ctrl_c_while_a_reply_is_saved_saves_it_once(home: Path) -> None:
    clock, armed = FakeClock(), []

    def interrupting() -> datetime:
        if armed:
            os.kill(os.getpid(), signal.SIGINT)
        return clock()

    store = SessionStore(home / "sessions", home / "data", clock=interrupting, new_id=FakeIds())
    session = store.create()
    session.ask("tell me")
    session.stream_starts(1, "m")
    session.keep_part("the reply")
    armed.append(True)
    with pytest.raises(KeyboardInterrupt):
        reply(session, "the reply")
    armed.clear()
    session.settle()
    session.close()
    assert said(store.open(session.id, read_only=True)) == [
        ("user", "tell me"), ("assistant", "the reply"),
    ]  # fmt: skip
    assert not list((home / "sessions").glob("*.part"))


def test_the_part_stays_while_the_disk_refuses_the_reply(store: SessionStore, home: Path) -> None:
    session = store.create()
    (home / "sessions").mkdir(parents=True)
    (home / "sessions" / "s1.jsonl").symlink_to("/dev/full")
    session.ask("tell me")
    session.stream_starts(1, "m")
    session.keep_part("the reply")
    reply(session, "the reply")
    assert session.unsaved == 3
    assert (home / "sessions" / "s1.part").read_text("utf-8").endswith("the reply")
    session.close()


def test_a_session_changed_under_us_can_be_left_and_read_anew(
    store: SessionStore, home: Path
) -> None:
    session = store.create()
    session.ask("tell me")
    session.stream_starts(1, "m")
    session.keep_part("the first half")
    with (home / "sessions" / "s1.jsonl").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(SessionChanged):
        reply(session, "the first half and the second")
    session.close()
    session.close()
    again = store.open("s1")
    assert said(again)[-1] == ("assistant", "the first half")
    again.close()


def test_the_part_of_a_newer_session_is_not_ours_to_touch(store: SessionStore, home: Path) -> None:
    session = store.create()
    session.ask("tell me")
    session.close()
    with (home / "sessions" / "s1.jsonl").open("ab") as file:
        file.write(b'{"v":2,"type":"hologram"}\n')
    part = home / "sessions" / "s1.part"
    part.write_text('{"turn":1,"model":"m","ts":"2026-01-01T00:00:00Z"}\nhalf')
    store.open("s1").close()
    assert part.read_text().endswith("half")


def test_a_rejected_turn_stays_rejected_when_asking_again_fails_otherwise(
    store: SessionStore,
) -> None:
    session = store.create()
    session.ask("refused")
    session.fail(1, "Refused.", rejected=True)
    session.fail(1, "Nothing listens there.")
    assert session.failures[1].rejected
    session.close()
    assert store.open("s1", read_only=True).failures[1].rejected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_while_a_reply_is_saved_saves_it_once(home: Path, number: int) -> None:
    armed: list[int] = []
    clock = FakeClock()

    def interrupting() -> datetime:
        for signal_number in armed:
            os.kill(os.getpid(), signal_number)
        return clock()

    def end(*_: object) -> None:
        raise SystemExit(1)

    before = signal.signal(number, end)
    try:
        store = SessionStore(home / "sessions", home / "data", clock=interrupting, new_id=FakeIds())
        session = store.create()
        session.ask("tell me")
        armed.append(number)
        with pytest.raises(SystemExit):
            reply(session, "the reply")
        armed.clear()
        session.close()
    finally:
        signal.signal(number, before)
    assert [text for _, text in said(store.open("s1", read_only=True))] == ["tell me", "the reply"]


def test_a_newer_session_can_not_be_copied(store: SessionStore, home: Path) -> None:
    session_id = talk(store, ("a", "b"))
    with (home / "sessions" / f"{session_id}.jsonl").open("ab") as file:
        file.write(b'{"v":2,"type":"hologram"}\n')
    source = store.open(session_id, read_only=True)
    with pytest.raises(SessionReadOnly, match="newer version"):
        store.fork(source)


# --- rewriting ----------------------------------------------------------------------------------


def test_a_file_is_rewritten_in_one_step(store: SessionStore, home: Path) -> None:
    path = home / "sessions" / f"{talk(store, ('a', 'b'))}.jsonl"
    path.chmod(0o644)
    store.rewrite("s1", lambda data: data + b"\n")
    assert path.read_bytes().endswith(b"\n\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.stat()
    store.rewrite("s1", lambda data: data)
    assert path.stat() == before
    assert [one.name for one in path.parent.iterdir()] == ["s1.jsonl"]
    session = store.open("s1")
    session.close()


def test_a_file_that_is_rewritten_to_nothing_goes_with_its_part(
    store: SessionStore, home: Path
) -> None:
    talk(store, ("a", "b"))
    (home / "sessions" / "s1.part").write_text("x")
    store.rewrite("s1", lambda data: None)
    assert not [path for path in home.rglob("*") if path.is_file()]
    with pytest.raises(SessionNotFound):
        store.rewrite("s1", lambda data: None)


def test_a_session_that_is_open_is_not_rewritten(store: SessionStore, home: Path) -> None:
    session = store.open(talk(store, ("a", "b")))
    before = store.data("s1")
    with pytest.raises(SessionInUse):
        store.rewrite("s1", lambda data: b"")
    assert store.data("s1") == before
    session.close()
    store.rewrite("s1", lambda data: b"")
    assert store.data("s1") == b""


def test_a_rewrite_that_fails_leaves_the_file_as_it_was(store: SessionStore, home: Path) -> None:
    talk(store, ("a", "b"))
    before = store.data("s1")

    def refuse(data: bytes) -> bytes:
        raise SessionReadOnly("no")

    with pytest.raises(SessionReadOnly):
        store.rewrite("s1", refuse)
    (home / "sessions" / f".s1.jsonl.{os.getpid()}.tmp").mkdir()
    with pytest.raises(SessionError, match="can't be rewritten"):
        store.rewrite("s1", lambda data: b"")
    assert store.data("s1") == before
    store.open("s1").close()


def test_ctrl_c_waits_for_the_rewrite(store: SessionStore) -> None:
    talk(store, ("a", "b"))

    def interrupted(data: bytes) -> bytes:
        os.kill(os.getpid(), signal.SIGINT)
        return b"\n"

    with pytest.raises(KeyboardInterrupt):
        store.rewrite("s1", interrupted)
    assert store.data("s1") == b"\n"


def test_several_sessions_are_claimed_or_none(store: SessionStore) -> None:
    for _ in range(3):
        talk(store, ("a", "b"))
    with store.claimed(["s3", "s1", "no-such", "../s2"]):
        for session_id in ("s1", "s3"):
            with pytest.raises(SessionInUse):
                store.open(session_id)
            store.rewrite(session_id, lambda data: data + b"\n")
        with store.claimed(["s1", "s2"]):
            store.rewrite("s1", lambda data: None)
        store.open("s2").close()
        with pytest.raises(SessionInUse):
            store.open("s3")
    held = store.open("s2")
    with pytest.raises(SessionInUse) as raised, store.claimed(["s2", "s3"]):
        pass
    assert raised.value.session_id == "s2"
    store.open("s3").close()
    held.close()


MANY = """
import resource, sys
from pathlib import Path
from assistant.memory.session_store import SessionStore
from tests.fakes import FakeClock, FakeIds
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 1_000))
home = Path(sys.argv[1])
store = SessionStore(home / "sessions", home / "data", clock=FakeClock(), new_id=FakeIds())
with store.claimed(store.files()):
    for session_id in store.files():
        store.rewrite(session_id, lambda data: None)
print(len(store.files()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_more_sessions_are_claimed_than_files_may_be_open(home: Path) -> None:
    (home / "sessions").mkdir(parents=True)
    for number in range(300):
        (home / "sessions" / f"s{number}.jsonl").write_bytes(b"")
    done = subprocess.run([sys.executable, "-c", MANY, str(home)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_file_is_read_byte_for_byte(store: SessionStore, home: Path) -> None:
    talk(store, ("a", "b"))
    path = home / "sessions" / "s1.jsonl"
    path.write_bytes(b"\xff\r\nxyz")
    assert (store.data("s1"), store.data("s1", 2), store.data("none")) == (
        b"\xff\r\nxyz",
        b"\xff\r",
        b"",
    )
    (home / "sessions" / "s2.jsonl").mkdir()
    with pytest.raises(SessionUnreadable, match="can't be read"):
        store.data("s2")
