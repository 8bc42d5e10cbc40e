"""Keeping the index true to the logs, whatever happens to either."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from assistant.errors import (
    EmbedderUnavailable,
    IndexBroken,
    IndexLocked,
    IndexUnavailable,
)
from assistant.memory.files import write_atomically
from assistant.memory.recall.indexer import Indexer
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.messages import Message
from assistant.protocols import Embedder, IndexRow
from tests.fakes import FakeClock, FakeEmbedder, FakeIndex, FakeIndexHome

if TYPE_CHECKING:
    from assistant.protocols import Vector


class Keeper:
    """An indexer whose jobs run when the test says so, and what it told the user."""

    def __init__(self, home: Path, store: SessionStore, clock: FakeClock) -> None:
        self.home, self.store, self.clock = home, store, clock
        self.place = FakeIndexHome()
        self.embedder: Embedder | None = FakeEmbedder()
        self.told: list[str] = []
        self.begin()

    def begin(self) -> None:
        """The program starts."""
        self.jobs: list[Callable[[], None]] = []
        self.seconds = 0.0
        self.indexer = self.made()

    def made(
        self,
        place: FakeIndexHome | None = None,
        make_embedder: Callable[[], Embedder | None] | None = None,
        off: str = "",
    ) -> Indexer:
        """An indexer over the same sessions."""
        return Indexer(
            place or self.place,
            make_embedder or (lambda: self.embedder),
            self.store,
            self.home / "data" / "index.json",
            submit=lambda name, job: self.jobs.append(job),
            say=self.told.append,
            clock=self.clock,
            monotonic=lambda: self.seconds,
            off=off,
        )

    def work(self, steps: int = 1_000) -> None:
        for _ in range(steps):
            if not self.jobs:
                return
            self.jobs.pop(0)()

    def start(self) -> None:
        self.begin()
        self.indexer.start()
        self.work()

    def talk(self, *texts: str, session: Session | None = None) -> Session:
        session = session or self.store.create()
        for text in texts:
            question = session.ask(text)
            session.answer(Message(role="assistant", content=f"re {text}", turn=question.turn))
        return session

    def say_elsewhere(self, text: str) -> None:
        """What a second terminal does; `ask` does it without an index of its own."""
        session = self.talk(text)
        exchange = session.exchange(1)
        assert exchange is not None
        self.made(FakeIndexHome(), off="Not needed.").add(exchange)
        session.close()

    def stray_row(self) -> None:
        """Put something into the index that no log has."""
        row = self.index.stored["s1.1"]
        self.index.stored["s9.1"] = msgspec.structs.replace(row, id="s9.1", session="s9")

    @property
    def index(self) -> FakeIndex:
        return self.place.index

    @property
    def state(self) -> str:
        return self.indexer.status().state


@pytest.fixture
def keeper(home: Path, store: SessionStore, clock: FakeClock) -> Keeper:
    return Keeper(home, store, clock)


def test_nothing_is_opened_before_it_is_started(keeper: Keeper) -> None:
    assert keeper.place.opened == []
    assert keeper.state == "opening"
    assert keeper.indexer.searchable(0) is None


def test_what_the_logs_have_is_in_the_index_after_the_start(keeper: Keeper) -> None:
    keeper.talk("one", "two").close()
    keeper.talk("three").close()
    keeper.start()
    assert sorted(keeper.index.stored) == ["s1.1", "s1.2", "s2.1"]
    row = keeper.index.stored["s1.2"]
    assert (row.user, row.assistant, row.session, row.turn) == ("two", "re two", "s1", 2)
    assert "two" in row.terms
    assert row.vector is not None
    assert row.ts == int(keeper.clock.now.timestamp() * 1000)
    status = keeper.indexer.status()
    assert (status.state, status.indexed, status.to_do) == ("ready", 3, 0)
    assert keeper.indexer.searchable(0) is keeper.index
    assert keeper.told == []


def test_a_second_start_reads_only_what_has_changed(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.start()
    embedder = keeper.embedder = FakeEmbedder()
    session = keeper.talk("two")
    session.close()
    keeper.start()
    assert [text.partition("\n")[0] for text in embedder.embedded] == ["two"]


def test_a_finished_turn_is_added(keeper: Keeper) -> None:
    keeper.start()
    session = keeper.talk("one")
    exchange = session.exchange(1)
    assert exchange is not None
    keeper.indexer.add(exchange)
    assert keeper.index.stored == {}
    keeper.work()
    assert list(keeper.index.stored) == ["s1.1"]


def test_what_was_not_added_in_time_is_found_by_the_next_start(keeper: Keeper) -> None:
    # zilliztech/memsearch#755: an indexing job died with its session and nobody noticed.
    keeper.start()
    session = keeper.talk("one")
    exchange = session.exchange(1)
    assert exchange is not None
    keeper.indexer.add(exchange)
    session.close()
    keeper.start()  # the job was never run
    assert list(keeper.index.stored) == ["s1.1"]


def test_turns_said_while_it_catches_up_are_not_missed(keeper: Keeper) -> None:
    for _ in range(4):
        keeper.talk(*["early"] * 10).close()
    keeper.begin()
    keeper.indexer.start()
    keeper.work(steps=2)
    assert keeper.state == "catching up"
    assert keeper.indexer.searchable(0) is None
    session = keeper.talk("meanwhile")
    exchange = session.exchange(1)
    assert exchange is not None
    keeper.indexer.add(exchange)
    keeper.work()
    assert keeper.state == "ready"
    assert "s5.1" in keeper.index.stored


def test_a_changed_or_deleted_session_is_followed(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.talk("two").close()
    keeper.start()
    keeper.store.rewrite("s1", lambda data: None)
    keeper.start()
    assert list(keeper.index.stored) == ["s2.1"]


def test_rejected_turns_are_not_indexed(keeper: Keeper) -> None:
    session = keeper.talk("one")
    question = session.ask("refused")
    session.fail(question.turn, "no", rejected=True)
    assert session.exchange(question.turn) is None
    session.close()
    keeper.start()
    assert list(keeper.index.stored) == ["s1.1"]


def test_a_question_without_a_reply_is_indexed_alone(keeper: Keeper) -> None:
    session = keeper.store.create()
    session.ask("my code is PX-4471")
    session.close()
    keeper.start()
    assert keeper.index.stored["s1.1"].assistant == ""


def test_rows_that_vanished_from_the_index_come_back(keeper: Keeper) -> None:
    # A damaged manifest makes Milvus Lite silently forget rows (milvus.md, section 5).
    keeper.talk("one", "two", "three").close()
    keeper.start()
    del keeper.index.stored["s1.2"]
    keeper.start()
    assert sorted(keeper.index.stored) == ["s1.1", "s1.2", "s1.3"]


def test_rows_of_nothing_in_the_logs_go(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.start()
    keeper.stray_row()
    keeper.start()
    assert list(keeper.index.stored) == ["s1.1"]


@pytest.mark.parametrize("spoilt", ["", "{", '{"contents": 3}', "\x00"])
def test_what_is_remembered_of_it_can_be_anything(keeper: Keeper, spoilt: str) -> None:
    keeper.talk("one").close()
    keeper.start()
    (keeper.home / "data" / "index.json").write_text(spoilt)
    keeper.start()
    assert keeper.state == "ready"
    assert list(keeper.index.stored) == ["s1.1"]


def test_another_embedder_makes_all_vectors_anew(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.start()
    keeper.place.index = FakeIndex()  # another collection
    keeper.embedder = FakeEmbedder(name="other")
    keeper.start()
    assert keeper.place.opened[-1] == ("other", 26)
    (told,) = keeper.told
    assert "changed from letters to other" in told
    assert list(keeper.index.stored) == ["s1.1"]


def test_without_an_embedder_words_are_indexed(keeper: Keeper) -> None:
    keeper.embedder = None
    keeper.talk("one").close()
    keeper.start()
    assert keeper.place.opened == [(None, None)]
    assert keeper.index.stored["s1.1"].vector is None
    assert keeper.indexer.status().embedder == "none: words alone"


def test_a_session_deleted_meanwhile_is_gone_before_the_index_is_searched_again(
    keeper: Keeper,
) -> None:
    keeper.talk("one").close()
    keeper.talk("two").close()
    keeper.start()
    keeper.store.rewrite("s1", lambda data: None)
    keeper.indexer.refresh()
    assert keeper.indexer.searchable(0) is None
    keeper.work()
    assert keeper.indexer.searchable(0) is keeper.index
    assert list(keeper.index.stored) == ["s2.1"]


def test_what_another_terminal_says_is_indexed_before_the_next_search(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.start()
    keeper.say_elsewhere("said elsewhere")
    assert keeper.indexer.searchable(0) is None
    keeper.work()
    assert keeper.indexer.searchable(0) is keeper.index
    assert sorted(keeper.index.stored) == ["s1.1", "s2.1"]


def test_the_session_at_hand_is_no_news(keeper: Keeper) -> None:
    keeper.start()
    session = keeper.talk("one")
    exchange = session.exchange(1)
    assert exchange is not None
    keeper.indexer.add(exchange)
    keeper.work()
    assert keeper.indexer.searchable(0) is keeper.index


def test_many_small_sessions_are_embedded_together(keeper: Keeper) -> None:
    for _ in range(40):
        keeper.talk("one").close()
    calls: list[int] = []

    class Counting(FakeEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
            calls.append(len(texts))
            return super().embed_documents(texts)

    keeper.embedder = Counting()
    keeper.start()
    assert len(keeper.index.stored) == 40
    assert len(calls) <= 4


@pytest.mark.parametrize("year", [1, 9999])
def test_a_moment_no_zone_can_hold_is_no_trouble(keeper: Keeper, year: int) -> None:
    keeper.clock.now = datetime(year, 1, 1, tzinfo=UTC)
    keeper.talk("one").close()
    keeper.start()
    assert keeper.index.stored["s1.1"].ts == 0


def test_a_fault_of_ours_is_said_and_ends_nothing(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.place.errors = [RuntimeError("unforeseen")]  # type: ignore[list-item]
    keeper.start()
    assert keeper.state == "unavailable"
    assert "a bug: RuntimeError" in keeper.told[0]
    keeper.seconds = 100
    keeper.indexer.start()
    keeper.work()
    assert keeper.state == "ready"


def test_a_failed_search_closes_it_and_it_is_tried_again(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.start()
    keeper.indexer.failed(IndexUnavailable("Hanging."))
    keeper.work()
    assert (keeper.state, keeper.told) == ("unavailable", ["Hanging."])
    keeper.seconds = 100
    keeper.indexer.searchable(0)
    keeper.work()
    assert keeper.state == "ready"


def test_a_new_one_is_followed_from_the_first_moment(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.start()
    keeper.indexer.start_over()
    status = keeper.indexer.status()
    assert (status.state, status.indexed, status.to_do) == ("catching up", 0, 1)


# --- trouble ------------------------------------------------------------------------------------


def test_a_locked_index_is_said_once_tried_again_and_caught_up_with(keeper: Keeper) -> None:
    # zilliztech/memsearch#80, milvus-lite#195: a second process can't open it.
    keeper.place.errors = [IndexLocked("In use."), IndexLocked("In use.")]
    session = keeper.talk("one")
    keeper.indexer.start()
    keeper.work()
    assert keeper.state == "locked"
    for second in (5.0, 11.0, 22.0):
        keeper.seconds = second
        assert keeper.indexer.searchable(0) is None
        keeper.work()
    assert keeper.told == ["In use."]
    assert keeper.state == "ready"
    assert list(keeper.index.stored) == ["s1.1"]
    session.close()


def test_a_broken_index_is_set_aside_and_made_again(keeper: Keeper) -> None:
    # zilliztech/memsearch#652: never blamed on the user, nothing to be deleted by hand.
    keeper.talk("one").close()
    keeper.place.errors = [IndexBroken("Unreadable.")]
    keeper.indexer.start()
    keeper.work()
    assert keeper.place.aside == ["20260304-050607"]
    assert keeper.state == "ready"
    assert list(keeper.index.stored) == ["s1.1"]
    (told,) = keeper.told
    assert "made again from your sessions" in told
    assert "Nothing was lost" in told


def test_one_that_breaks_again_at_once_is_given_up(keeper: Keeper) -> None:
    keeper.place.errors = [IndexBroken("Unreadable."), IndexBroken("Unreadable.")]
    keeper.indexer.start()
    keeper.work()
    assert keeper.state == "off"
    assert "words" in keeper.told[-1]
    keeper.seconds = 1_000
    keeper.indexer.start()
    assert keeper.jobs == []


def test_after_a_failed_write_it_is_opened_and_compared_again(keeper: Keeper) -> None:
    # After one ENOSPC Milvus Lite lost 100 of 100 later rows it had acknowledged (milvus.md 0.6).
    keeper.start()
    keeper.index.errors = [IndexUnavailable("The disk is full.")]
    session = keeper.talk("one", "two")
    for turn in (1, 2):
        exchange = session.exchange(turn)
        assert exchange is not None
        keeper.indexer.add(exchange)
    keeper.work()
    assert keeper.index.closed
    assert (keeper.state, keeper.told) == ("unavailable", ["The disk is full."])
    keeper.seconds = 100
    keeper.indexer.searchable(0)
    keeper.work()
    assert keeper.state == "ready"
    assert sorted(keeper.index.stored) == ["s1.1", "s1.2"]


def test_an_embedder_that_fails_is_tried_again_and_nothing_is_missed(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.embedder = FakeEmbedder(errors=[EmbedderUnavailable("Rate limited.")])
    keeper.start()
    assert (keeper.state, keeper.told) == ("unavailable", ["Rate limited."])
    keeper.seconds = 100
    keeper.indexer.start()
    keeper.work()
    assert keeper.state == "ready"
    assert list(keeper.index.stored) == ["s1.1"]


def test_making_the_embedder_can_fail_and_words_are_left(keeper: Keeper) -> None:
    def fail() -> Embedder | None:
        raise EmbedderUnavailable("Not installed.")

    keeper.talk("one").close()
    keeper.indexer = keeper.made(make_embedder=fail)
    keeper.indexer.start()
    keeper.work()
    assert (keeper.state, keeper.told) == ("ready", ["Not installed."])
    assert keeper.place.opened == [(None, None)]


def test_it_can_be_stopped_and_goes_on_with_the_next_start(keeper: Keeper) -> None:
    for _ in range(5):
        keeper.talk(*["one"] * 20).close()
    keeper.indexer.start()
    keeper.work(steps=2)
    keeper.indexer.stop()
    keeper.work()
    assert keeper.state == "unavailable"
    assert 0 < len(keeper.index.stored) < 100
    assert "goes on" in keeper.indexer.status().detail
    keeper.start()
    assert len(keeper.index.stored) == 100


@pytest.mark.parametrize("discards", [True, False])
def test_it_can_be_made_from_scratch(keeper: Keeper, discards: bool) -> None:
    keeper.place.discards = discards
    keeper.talk("one").close()
    keeper.start()
    keeper.stray_row()
    keeper.indexer.start_over()
    keeper.work()
    assert keeper.state == "ready"
    assert list(keeper.index.stored) == ["s1.1"]


def test_switched_off_it_is_left_alone(keeper: Keeper) -> None:
    keeper.indexer = keeper.made(off="The setting memory.index is off.")
    keeper.indexer.start()
    assert (keeper.jobs, keeper.place.opened) == ([], [])
    assert keeper.indexer.searchable(10) is None
    assert "memory.index" in keeper.indexer.status().detail


# --- logs that are rewritten meanwhile ----------------------------------------------------------


class Hooked(FakeIndex):
    """Does something once when rows are written, or when all are looked at."""

    def __init__(self, at: str, act: Callable[[], None]) -> None:
        super().__init__()
        self.at, self.act = at, act
        self.asked: list[Sequence[str] | None] = []
        self.written: set[str] = set()
        """All that ever was: deleting it later would not take its bytes away."""

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        super().upsert(rows)
        self.written |= {row.id for row in rows}
        self._reached("upsert")

    def newest(self, limit: int) -> list[IndexRow]:
        found = super().newest(limit)
        self._reached("newest")
        return found

    def digests(self, sessions: Sequence[str] | None = None) -> Mapping[str, str]:
        self.asked.append(sessions)
        return super().digests(sessions)

    def _reached(self, place: str) -> None:
        if place == self.at:
            self.at = ""
            self.act()


class HookedEmbedder(FakeEmbedder):
    """Does something before its first vectors are ready."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self.act = act

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        act, self.act = self.act, lambda: None
        act()
        return super().embed_documents(texts)


def take_from_log(keeper: Keeper, session: str, *turns: int) -> None:
    """What an erase does to a session's file."""
    path = keeper.home / "sessions" / f"{session}.jsonl"
    marks = [b'"turn":%d,' % turn for turn in turns]
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not any(mark in line for mark in marks)]
    assert len(kept) < len(lines)
    write_atomically(path, b"".join(kept))


def all_but(*turns: int) -> list[str]:
    return sorted(f"s1.{turn}" for turn in range(1, 41) if turn not in turns)


@pytest.mark.parametrize("steps", [1, 2])
def test_what_was_read_before_it_was_erased_is_not_written(keeper: Keeper, steps: int) -> None:
    hooked = keeper.place.index = Hooked("", lambda: None)
    keeper.talk(*["early"] * 40).close()
    keeper.indexer.start()
    keeper.work(steps)
    take_from_log(keeper, "s1", 35, 40)
    keeper.work()
    assert sorted(hooked.stored) == all_but(35, 40)
    assert hooked.written == set(all_but(35, 40))


def test_what_is_erased_while_vectors_are_made_is_not_written(keeper: Keeper) -> None:
    hooked = keeper.place.index = Hooked("", lambda: None)
    keeper.talk(*["early"] * 40).close()
    keeper.embedder = HookedEmbedder(lambda: take_from_log(keeper, "s1", 3))
    keeper.start()
    assert hooked.written == set(hooked.stored) == set(all_but(3))


def test_what_is_erased_while_it_is_written_goes_for_good(keeper: Keeper) -> None:
    keeper.talk(*["early"] * 40).close()
    keeper.place.index = Hooked("upsert", lambda: take_from_log(keeper, "s1", 3))
    keeper.start()
    assert keeper.state == "ready"
    assert sorted(keeper.index.stored) == all_but(3)
    assert "s1.3" in keeper.place.erased


def test_a_turn_that_waits_to_be_added_and_is_erased_is_not(keeper: Keeper) -> None:
    keeper.start()
    session = keeper.talk("one", "two")
    for turn in (1, 2):
        exchange = session.exchange(turn)
        assert exchange is not None
        keeper.indexer.add(exchange)
    session.close()
    take_from_log(keeper, "s1", 2)
    keeper.work()
    assert list(keeper.index.stored) == ["s1.1"]


def test_a_session_that_only_grows_is_read_once_more(keeper: Keeper) -> None:
    session = keeper.talk(*["early"] * 40)
    keeper.indexer.start()
    keeper.work(1)
    keeper.talk("late", session=session)
    keeper.work()
    assert sorted(keeper.index.stored) == sorted([*all_but(), "s1.41"])
    session.close()


def test_rows_too_many_in_a_session_leave_the_index(keeper: Keeper) -> None:
    hooked = Hooked("", lambda: None)
    keeper.place.index = hooked
    keeper.talk(*["early"] * 40).close()
    keeper.talk("another").close()
    keeper.start()
    hooked.asked.clear()
    take_from_log(keeper, "s1", 39, 40)
    keeper.indexer.refresh()
    keeper.work()
    assert sorted(hooked.stored) == sorted([*all_but(39, 40), "s2.1"])
    assert hooked.asked == [["s1"]]


def test_a_session_deleted_elsewhere_is_noticed(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.talk("two").close()
    keeper.start()
    keeper.store.rewrite("s1", lambda data: None)
    keeper.say_elsewhere("three")
    assert keeper.indexer.searchable(0) is None
    keeper.work()
    assert sorted(keeper.index.stored) == ["s2.1", "s3.1"]


def test_a_change_at_the_very_end_of_catching_up_is_not_missed(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.talk("two").close()

    def change() -> None:
        keeper.store.rewrite("s1", lambda data: None)
        keeper.indexer.refresh()

    keeper.place.index = Hooked("newest", change)
    keeper.start()
    assert keeper.state == "ready"
    assert list(keeper.index.stored) == ["s2.1"]


def test_a_new_one_leaves_nothing_running_for_the_old_one(keeper: Keeper) -> None:
    embedder = keeper.embedder = FakeEmbedder()
    keeper.talk(*["early"] * 40).close()
    keeper.indexer.start()
    keeper.work(1)
    begun = len(embedder.embedded)
    keeper.indexer.start_over()
    keeper.work()
    one_step = begun  # was queued before
    assert len(embedder.embedded) == begun + one_step + 40


# --- erasing ------------------------------------------------------------------------------------


def test_erased_rows_are_gone_at_once_and_the_rest_is_opened_again(keeper: Keeper) -> None:
    keeper.talk(*["early"] * 40).close()
    keeper.start()
    assert keeper.indexer.statistics is not None
    take_from_log(keeper, "s1", 3)
    keeper.indexer.erase(["s1.3"])
    assert (keeper.place.erased, keeper.index.closed) == (["s1.3"], True)
    assert (keeper.state, keeper.indexer.statistics) == ("catching up", None)
    keeper.work()
    assert keeper.state == "ready"
    assert keeper.indexer.statistics is not None
    assert keeper.indexer.statistics.rows == 39
    assert sorted(keeper.index.stored) == all_but(3)


def test_erasing_breaks_off_what_is_being_caught_up_with(keeper: Keeper) -> None:
    keeper.talk(*["early"] * 40).close()
    keeper.indexer.start()
    keeper.work(1)
    take_from_log(keeper, "s1", 3, 30)
    keeper.indexer.erase(["s1.3", "s1.30"])
    keeper.work()
    assert (keeper.state, sorted(keeper.index.stored)) == ("ready", all_but(3, 30))


def test_an_index_that_is_not_open_stays_closed(keeper: Keeper) -> None:
    keeper.indexer.erase(["s1.3"])
    assert (keeper.jobs, keeper.state, keeper.place.opened) == ([], "opening", [])
    assert keeper.place.erased == ["s1.3"]


def test_after_it_was_stopped_it_is_not_opened_again(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.start()
    keeper.indexer.stop()
    keeper.indexer.erase(["s1.1"])
    assert keeper.jobs == []


def test_what_can_not_be_erased_is_said_and_opened_again_later(keeper: Keeper) -> None:
    keeper.talk("one").close()
    keeper.start()
    keeper.place.locked = True
    with pytest.raises(IndexLocked):
        keeper.indexer.erase(["s1.1"])
    assert keeper.state == "locked"
    keeper.place.locked = False
    keeper.seconds = 100
    keeper.indexer.searchable(0)
    keeper.work()
    assert keeper.state == "ready"


def test_other_terminals_look_again_after_an_erase(keeper: Keeper) -> None:
    keeper.talk("one", "two").close()
    keeper.start()
    elsewhere = keeper.made(FakeIndexHome(locked=True))
    take_from_log(keeper, "s1", 2)
    with pytest.raises(IndexLocked):
        elsewhere.erase(["s1.2"])
    assert keeper.indexer.searchable(0) is None
    keeper.work()
    assert list(keeper.index.stored) == ["s1.1"]


def test_ctrl_c_leaves_it_to_the_worker(keeper: Keeper) -> None:
    keeper.talk("one", "two").close()
    keeper.start()
    take_from_log(keeper, "s1", 2)
    keeper.place.errors = [KeyboardInterrupt()]  # type: ignore[list-item]
    keeper.indexer.erase(["s1.2"])
    assert "s1.2" in keeper.index.stored
    keeper.work()
    assert (keeper.state, list(keeper.index.stored)) == ("ready", ["s1.1"])
    assert keeper.place.erased == ["s1.2"]


def test_the_step_at_hand_is_waited_for(keeper: Keeper) -> None:
    begun, going_on = threading.Event(), threading.Event()
    order: list[str] = []

    def embed() -> None:
        begun.set()
        going_on.wait(30)
        order.append("embedded")

    def wait() -> None:
        keeper.indexer.finish_step()
        order.append("finished")

    keeper.talk("one").close()
    keeper.embedder = HookedEmbedder(embed)
    keeper.indexer.start()
    threads = [threading.Thread(target=keeper.work), threading.Thread(target=wait)]
    threads[0].start()
    assert begun.wait(30)
    threads[1].start()
    threads[1].join(0.05)
    assert order == []
    going_on.set()
    for thread in threads:
        thread.join()
    assert order == ["embedded", "finished"]
