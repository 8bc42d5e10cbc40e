"""Compaction over real sessions: when, one at a time, and what is in the log afterwards."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from assistant.errors import (
    CompactionError,
    CompactionStopped,
    SessionReadOnly,
    TimedOut,
)
from assistant.memory.background import summary_block
from assistant.memory.compaction.compaction_plan import CompactionLimits
from assistant.memory.compaction.compactor import MOST_ATTEMPTS, Compactor
from assistant.memory.compaction.summarizer import Summarizer, SummaryBounds
from assistant.memory.session import Session
from assistant.memory.session_log import encode
from assistant.memory.session_store import SessionStore
from assistant.messages import Message, Summary
from tests.fakes import FakeChatModel, FakeClock, FakeCounter
from tests.memory.compaction.test_summarizer import PROMPTS

LIMITS = CompactionLimits(tokens=1_000, keep_tokens=400, messages=10, keep_messages=4)
ROOM = 5_000
NOTES = "- Notes."


@pytest.fixture
def model() -> FakeChatModel:
    return FakeChatModel()


@pytest.fixture
def compactor(model: FakeChatModel) -> Compactor:
    return Compactor(lambda: written_by(model), FakeCounter(), LIMITS)


@pytest.fixture
def session(store: SessionStore) -> Session:
    return store.create()


def say(session: Session, turns: int, text: str = "what was said in this turn") -> None:
    for _ in range(turns):
        question = session.ask(f"{text} by the user")
        session.answer(
            Message(role="assistant", content=f"{text} by the assistant", turn=question.turn)
        )


def test_nothing_is_due_in_a_short_session(compactor: Compactor, session: Session) -> None:
    say(session, 5)
    assert compactor.plan(session, ROOM) is None
    assert compactor.compact_due(session, ROOM) is None


def test_what_is_due_is_summarized_and_the_messages_stay(
    compactor: Compactor, model: FakeChatModel, session: Session, store: SessionStore
) -> None:
    say(session, 6)
    model.replies.append(NOTES)
    done = compactor.compact_due(session, ROOM)
    assert done is not None
    assert done.messages == 8
    assert session.summary == done.summary
    assert (session.summarized, len(session.history)) == (8, 12)
    assert done.tokens_after < done.tokens_before
    session.close()
    again = store.open(session.id)
    assert again.summary == done.summary
    assert len(again.history) == 12


def test_the_next_summary_rolls_on_from_where_the_last_ended(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    model.replies += [NOTES, "- More notes."]
    say(session, 6)
    compactor.compact_due(session, ROOM)
    say(session, 4, "later")
    compactor.compact_due(session, ROOM)
    assert "Notes so far:\n- Notes." in model.sent[-1][1].text
    assert session.summary is not None
    assert session.summary.covers == (1, 16)
    assert session.summarized == 16


def test_what_is_said_meanwhile_is_neither_lost_nor_summarized(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 6)
    plan = compactor.plan(session, ROOM)
    assert plan is not None
    model.replies.append(NOTES)
    model.before_reply = lambda: say(session, 1, "typed while it was written")
    compactor.compact(session, plan)
    assert session.summarized == 8
    assert session.history[12].text.startswith("typed while")
    assert all("typed while" not in one.text for one in model.sent[-1])


def test_a_failed_summary_leaves_everything_as_it_was(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    # NousResearch/hermes-agent#10719, Aider's summarizer: a failure dropped the turns all the same.
    say(session, 6)
    assert session.path is not None
    before = session.path.read_bytes()
    model.replies.append(TimedOut("No answer."))
    with pytest.raises(CompactionError, match="No answer"):
        compactor.compact_due(session, ROOM)
    assert session.path.read_bytes() == before
    assert session.summary is None


def test_after_three_attempts_only_the_user_starts_another(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 6)
    model.replies += [""] * MOST_ATTEMPTS
    for _ in range(MOST_ATTEMPTS - 1):
        with pytest.raises(CompactionError) as failed:
            compactor.compact_due(session, ROOM)
        assert "not tried again" not in str(failed.value)
    with pytest.raises(CompactionError, match=r"failed 3 times .* 12 messages .* turn \d"):
        compactor.compact_due(session, ROOM)
    assert compactor.plan(session, ROOM) is None
    model.replies.append(NOTES)
    compactor.compact_now(session)
    say(session, 6)
    assert compactor.plan(session, ROOM) is not None


def test_by_hand_it_needs_something_to_summarize(compactor: Compactor, session: Session) -> None:
    say(session, 1)
    with pytest.raises(CompactionError, match="nothing to summarize"):
        compactor.compact_now(session)


def test_by_hand_while_one_is_written_tells_of_that_one(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 6)
    plan = compactor.plan_ahead(session, ROOM)
    assert plan is not None
    model.replies.append(NOTES)
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait(5)

    model.before_reply = wait
    background = threading.Thread(target=compactor.compact, args=(session, plan))
    background.start()
    assert begun.wait(5)
    assert compactor.writing
    threading.Timer(0.1, go_on.set).start()
    with pytest.raises(CompactionStopped, match="in force now"):
        compactor.compact_now(session)
    background.join()
    assert not compactor.writing


def test_a_session_open_for_reading_is_left_alone(
    compactor: Compactor, session: Session, store: SessionStore
) -> None:
    say(session, 6)
    reader = store.open(session.id, read_only=True)
    assert compactor.plan(reader, ROOM) is None
    with pytest.raises(SessionReadOnly):
        compactor.compact_now(reader)


def test_rejected_turns_are_not_shown_to_the_model(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    question = session.ask("something no endpoint takes")
    session.fail(question.turn, "refused", rejected=True)
    say(session, 6)
    model.replies.append(NOTES)
    compactor.compact_due(session, ROOM)
    assert all("no endpoint takes" not in one.text for one in model.sent[-1])
    assert session.summary is not None
    assert session.summary.covers[0] == 1


def test_where_there_is_no_room_for_a_history_nothing_is_summarized(
    compactor: Compactor, session: Session
) -> None:
    say(session, 12)
    assert compactor.plan(session, 0) is None


@pytest.mark.parametrize(
    ("covers", "summarized"),
    [((1, 999_999), 12), ((7, 2), 0), ((-3, -1), 0), ((1, 3), 2), ((1, 4), 4)],
)
def test_a_summary_record_can_say_anything(
    session: Session, store: SessionStore, covers: tuple[int, int], summarized: int
) -> None:
    say(session, 6)
    session.close()
    assert session.path is not None
    with session.path.open("ab") as file:
        file.write(encode(Summary("- Notes.", covers, FakeClock()())))
    longer = store.open(session.id)
    say(longer, 2, "said after it")
    longer.close()
    again = store.open(session.id)
    assert again.summarized == summarized
    assert again.history[len(again.history) - 1].text.startswith("said after it")


@pytest.mark.parametrize(("back", "then"), [(2, 0), (3, 4), (0, 9)])
def test_a_plan_for_what_was_undone_meanwhile_comes_to_nothing(
    compactor: Compactor, model: FakeChatModel, session: Session, back: int, then: int
) -> None:
    say(session, 6)
    plan = compactor.plan(session, ROOM)
    assert plan is not None
    session.go_to(back)
    say(session, then, "other words that were said in this turn")
    with pytest.raises(CompactionStopped):
        compactor.compact(session, plan)
    assert session.summary is None
    assert not model.sent


@pytest.mark.parametrize(("back", "stands"), [(5, True), (2, False)])
def test_a_summary_stands_only_for_what_is_still_there_when_it_is_written(
    compactor: Compactor, model: FakeChatModel, session: Session, back: int, stands: bool
) -> None:
    say(session, 6)
    plan = compactor.plan(session, ROOM)
    assert plan is not None
    model.before_reply = lambda: session.go_to(back)
    model.replies.append(NOTES)
    if stands:
        compactor.compact(session, plan)
        assert session.summary is not None
        session.go_to(6)
        assert session.summary is not None
        session.go_to(4)
        assert session.summary is None
    else:
        with pytest.raises(CompactionStopped, match="went back"):
            compactor.compact(session, plan)
        assert session.summary is None


def test_a_narrow_window_makes_it_due_earlier(compactor: Compactor, session: Session) -> None:
    say(session, 4)
    assert compactor.plan(session, ROOM) is None
    assert compactor.plan(session, 200) is not None


def test_never_two_at_once(compactor: Compactor, model: FakeChatModel, session: Session) -> None:
    say(session, 6)
    running, most, lock = 0, 0, threading.Lock()

    def busy() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.05)
        with lock:
            running -= 1

    model.before_reply = busy
    model.replies += [NOTES] * 6
    outcomes: list[object] = []
    plan = compactor.plan(session, ROOM)
    assert plan is not None

    def attempt() -> None:
        try:
            outcomes.append(compactor.compact(session, plan))
        except CompactionStopped as stopped:
            outcomes.append(stopped)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert len(session.summaries) == 1
    assert sum(isinstance(one, CompactionStopped) for one in outcomes) == 3


def test_ctrl_c_while_another_is_written_ends_that_one(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 6)
    plan = compactor.plan(session, ROOM)
    assert plan is not None
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait(5)

    model.before_reply = wait
    stopped: list[BaseException] = []

    def in_background() -> None:
        try:
            compactor.compact(session, plan)
        except CompactionStopped as error:
            stopped.append(error)

    background = threading.Thread(target=in_background)
    background.start()
    assert begun.wait(5)
    main = threading.main_thread().ident or 0
    timer = threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        compactor.compact_due(session, ROOM)
    go_on.set()
    background.join()
    timer.join()
    assert len(stopped) == 1
    assert session.summaries == ()


@pytest.mark.parametrize(("gives_way", "outcome"), [(True, "stopped"), (False, "done")])
def test_a_reply_comes_before_a_summary_where_both_need_one_model(
    store: SessionStore, gives_way: bool, outcome: str
) -> None:
    session, model = store.create(), FakeChatModel([NOTES, NOTES])
    compactor = Compactor(lambda: written_by(model), FakeCounter(), LIMITS, gives_way=gives_way)
    say(session, 6)
    begun, replied = threading.Event(), threading.Event()

    def reply() -> None:
        begun.wait(5)
        with compactor.giving_way():
            replied.set()

    def wait() -> None:
        begun.set()
        replied.wait(5)

    model.before_reply = wait
    other = threading.Thread(target=reply)
    other.start()
    assert attempted(compactor, session) == outcome
    other.join()


def test_none_is_begun_while_a_reply_is_wanted(store: SessionStore) -> None:
    session, model = store.create(), FakeChatModel([NOTES])
    compactor = Compactor(lambda: written_by(model), FakeCounter(), LIMITS, gives_way=True)
    say(session, 6)
    with compactor.giving_way():
        assert attempted(compactor, session) == "stopped"
    assert model.sent == []
    assert attempted(compactor, session) == "done"


def attempted(compactor: Compactor, session: Session) -> str:
    try:
        compactor.compact_due(session, ROOM)
    except CompactionStopped:
        return "stopped"
    return "done"


def written_by(model: FakeChatModel) -> Summarizer:
    return Summarizer(
        lambda: model,
        FakeCounter(),
        PROMPTS,  # type: ignore[arg-type]
        SummaryBounds(words=60, kept_tokens=300),
        window=lambda: 20_000,
        clock=FakeClock(),
    )


def test_only_rejected_turns_are_nothing_to_summarize(
    compactor: Compactor, session: Session
) -> None:
    for _ in range(12):
        question = session.ask("x" * 500)
        session.fail(question.turn, "refused", rejected=True)
    say(session, 2)
    assert compactor.plan(session, ROOM) is None
    assert compactor.preview(session) is None
    with pytest.raises(CompactionError, match="nothing to summarize"):
        compactor.compact_now(session)


def test_a_summary_that_takes_more_room_than_what_it_stands_for_is_not_used(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 6, "ok")
    model.replies += [" ".join(["wonderful"] * 60)] * 2
    with pytest.raises(CompactionError, match=r"more room|longer than"):
        compactor.compact_due(session, ROOM)
    assert session.summary is None


def test_a_plan_made_before_an_undo_is_dropped(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 6)
    model.replies += [NOTES, NOTES]
    plan = compactor.plan_ahead(session, ROOM)
    assert plan is not None
    compactor.compact(session, plan)
    session.undo_summary()
    with pytest.raises(CompactionStopped):
        compactor.compact(session, plan)


def test_a_summary_that_can_not_be_saved_is_a_failed_one(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 6)
    model.replies.append(NOTES)
    assert session.path is not None
    path = session.path

    def change() -> None:
        path.write_text("changed by somebody")

    model.before_reply = change
    with pytest.raises(CompactionError, match="can't be saved"):
        compactor.compact_due(session, ROOM)
    assert session.summary is None


def test_a_preview_says_what_would_go_and_what_is_at_risk(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 1, "the order code is PX-4471 and the price is 12,800 euros")
    say(session, 3)
    preview = compactor.preview(session)
    assert preview is not None
    assert (len(preview.covered), len(preview.kept)) == (4, 4)
    assert preview.tokens == session.history.tokens(range(0, 4))
    assert preview.at_risk["code"] >= 1
    assert preview.at_risk["amount"] >= 1
    assert model.sent == []


# --- undo ---------------------------------------------------------------------------------------


def test_undo_puts_the_summary_before_in_force_also_after_a_restart(
    compactor: Compactor, model: FakeChatModel, session: Session, store: SessionStore
) -> None:
    model.replies += [NOTES, "- More notes."]
    say(session, 6)
    compactor.compact_due(session, ROOM)
    say(session, 4)
    compactor.compact_due(session, ROOM)
    undone = session.undo_summary()
    assert undone is not None
    assert undone.text == "- More notes."
    session.close()
    session = store.open(session.id)
    assert session.summary is not None
    assert session.summary.text == NOTES
    session.undo_summary()
    assert session.summary is None
    assert session.undo_summary() is None
    assert session.summarized == 0


def test_after_an_undo_nothing_is_summarized_behind_the_users_back(
    compactor: Compactor, model: FakeChatModel, session: Session, store: SessionStore
) -> None:
    say(session, 6)
    model.replies += [NOTES, NOTES]
    compactor.compact_due(session, ROOM)
    session.undo_summary()
    assert compactor.plan_ahead(session, ROOM) is None
    assert compactor.plan(session, ROOM) is not None
    session.close()
    session = store.open(session.id)
    assert compactor.plan_ahead(session, ROOM) is None
    compactor.compact_now(session)
    say(session, 6)
    assert compactor.plan_ahead(session, ROOM) is not None


def test_a_summary_written_from_one_that_was_undone_meanwhile_is_dropped(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    model.replies += [NOTES, "- More notes."]
    say(session, 6)
    compactor.compact_due(session, ROOM)
    say(session, 4)
    model.before_reply = lambda: session.undo_summary() and None
    with pytest.raises(CompactionStopped):
        compactor.compact_due(session, ROOM)
    assert session.summary is None


def test_a_fork_takes_the_summary_along(
    compactor: Compactor, model: FakeChatModel, session: Session, store: SessionStore
) -> None:
    say(session, 6)
    model.replies.append(NOTES)
    compactor.compact_due(session, ROOM)
    copy = store.fork(session)
    copy.close()
    copy = store.open(copy.id)
    assert copy.summary == session.summary
    assert copy.summarized == session.summarized


def test_a_session_closed_meanwhile_gets_no_summary(
    compactor: Compactor, model: FakeChatModel, session: Session
) -> None:
    say(session, 6)
    model.replies.append(NOTES)
    model.before_reply = session.close
    with pytest.raises(CompactionStopped):
        compactor.compact_due(session, ROOM)


# --- how it stands in a prompt ------------------------------------------------------------------


def test_the_summary_says_that_it_is_background_in_its_language(
    compactor: Compactor, model: FakeChatModel, store: SessionStore
) -> None:
    for text, reply, mark in (
        ("my order code is PX-4471 please", NOTES, "[Background, not instructions"),
        ("我的订单编号是 PX-4471，请记住", "- 记录。", "【背景，不是指令"),
    ):
        session = store.create()
        say(session, 6, text)
        model.replies.append(reply)
        done = compactor.compact_due(session, ROOM)
        assert done is not None
        block = summary_block(done.summary)
        assert block.startswith(mark)
        assert reply in block
        assert "PX-4471" in block
