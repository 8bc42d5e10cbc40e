"""The turn on a fake model: what is saved, what is sent, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assistant.errors import (
    ContextTooLong,
    MessageTooBig,
    RequestRejected,
    ServerFailed,
    SessionReadOnly,
    StreamBroken,
    TimedOut,
)
from assistant.memory.assembly import Fixed
from assistant.memory.compaction_plan import CompactionLimits
from assistant.memory.compactor import Compactor
from assistant.memory.model_profiles import ModelProfiles
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.memory.summarizer import Summarizer, SummaryBounds, SummaryPrompts
from assistant.messages import BROKEN, INTERRUPTED, ImagePart, ImageUrl, Message, TextPart, ToolCall
from assistant.protocols import ReplyPart
from assistant.turn import BudgetLimits, Event, Notice, Pipeline, TextArrived, Turn, run_turn
from tests.fakes import (
    END,
    FakeChatModel,
    FakeClock,
    FakeCounter,
    FakeRetriever,
    Reply,
    failing,
)

LIMITS = BudgetLimits(window=10_000, reply=500, history=3_000, recent_messages=20)
BACKGROUND = "\n\n[Background, not part of the message: it is Wednesday, 2026-03-04 05:06 (UTC).]"


class Talk:
    """A session and a pipeline on fakes; `say` runs one turn."""

    def __init__(self, session: Session, clock: FakeClock, limits: BudgetLimits) -> None:
        self.session = session
        self.model, self.summarizer = FakeChatModel(), FakeChatModel()
        self.events: list[Event] = []
        self.handed_over: list[Turn] = []
        self.pipeline = Pipeline(
            model=self.model,
            counter=FakeCounter(),
            profiles=ModelProfiles(None),
            fixed=Fixed("Be kind."),
            limits=limits,
            clock=clock,
            compactor=Compactor(
                lambda: Summarizer(
                    lambda: self.summarizer,
                    FakeCounter(),
                    {
                        "en": SummaryPrompts("Sum up.", "Shorten."),
                        "zh": SummaryPrompts("总结", "缩短"),
                    },
                    SummaryBounds(),
                    window=lambda: 10_000,
                    clock=clock,
                ),
                FakeCounter(),
                CompactionLimits(),
            ),
            retriever=FakeRetriever(),
            hand_over=lambda session, turn: self.handed_over.append(turn),
        )
        # One token is one character here: no factor between ours and the model's.
        for _ in range(2):
            self.pipeline.profiles.measured("nowhere", "fake", ours=100, theirs=100)

    def say(self, text: str, *replies: Reply, cut_message: bool = False) -> Turn:
        self.model.replies += replies
        return run_turn(
            text, self.session, self.pipeline, self.events.append, cut_message=cut_message
        )

    def sent(self, at: int = -1) -> list[tuple[str, str]]:
        return [(one.role, one.text) for one in self.model.sent[at]]

    def saved(self) -> list[tuple[str, str]]:
        history = self.session.history
        return [(one.role, one.text) for one in history.slice(range(len(history)))]


@pytest.fixture
def talk(store: SessionStore, clock: FakeClock) -> Talk:
    return Talk(store.create(), clock, LIMITS)


@pytest.fixture
def small(store: SessionStore, clock: FakeClock) -> Callable[[int], Talk]:
    """A talk with a model of so many tokens."""
    return lambda window: Talk(
        store.create(), clock, msgspec.structs.replace(LIMITS, window=window, reply=100)
    )


def test_a_turn_saves_the_question_and_the_reply(talk: Talk) -> None:
    turn = talk.say("你好", "Hello| there")
    assert talk.saved() == [("user", "你好"), ("assistant", "Hello there")]
    assert talk.events == [TextArrived("Hello"), TextArrived(" there")]
    assert talk.handed_over == [turn]
    reply = turn.reply
    assert reply is not None
    assert (reply.turn, reply.id, reply.model, reply.finish_reason) == (1, 2, "fake", "stop")
    assert reply.usage == END.usage
    assert reply.count is not None
    assert reply.count.tokens == len("Hello there") + 4


def test_what_is_sent_is_instructions_history_and_the_message_with_its_background(
    talk: Talk,
) -> None:
    talk.say("first", "one")
    turn = talk.say("second", "two")
    assert talk.sent() == [
        ("system", "Be kind."),
        ("user", "first"),
        ("assistant", "one"),
        ("user", "second" + BACKGROUND),
    ]
    assert [one.text for one in turn.prompt.messages] == [text for _, text in talk.sent()]
    assert talk.model.max_tokens == [500, 500]


def test_the_background_and_the_instructions_are_never_stored(talk: Talk) -> None:
    talk.say("first", "one")
    assert talk.session.path is not None
    stored = talk.session.path.read_text("utf-8")
    assert "Background" not in stored
    assert "Be kind." not in stored


def test_the_question_is_on_the_disk_before_the_model_is_asked(talk: Talk) -> None:
    seen: list[bool] = []

    def look() -> None:
        assert talk.session.path is not None
        seen.append("remember me" in talk.session.path.read_text("utf-8"))

    talk.model.before_reply = look
    talk.say("remember me")
    assert seen == [True]


def test_each_piece_is_on_the_disk_before_it_is_shown(talk: Talk, home: Path) -> None:
    shown: list[str] = []

    def check(event: Event) -> None:
        if isinstance(event, TextArrived):
            shown.append(event.text)
            part = home / "sessions" / f"{talk.session.id}.part"
            assert part.read_text("utf-8").endswith("".join(shown))

    talk.model.replies.append("a|b|你|好")
    run_turn("go", talk.session, talk.pipeline, check)
    assert shown == ["a", "b", "你", "好"]
    assert not list((home / "sessions").glob("*.part"))


def test_the_sections_add_up_and_are_told_apart(talk: Talk) -> None:
    talk.say("first", "one")
    prompt = talk.say("second", "two").prompt
    sizes = {section.name: section.tokens for section in prompt.sections}
    assert sizes == {
        "system": len("Be kind.") + 4 + 3,
        "summary": 0,
        "tools": 0,
        "history": len("first") + 4 + len("one") + 4,
        "recalled": 0,
        "input": len("second" + BACKGROUND) + 4,
    }
    assert prompt.tokens == sum(sizes.values())
    assert prompt.free == 10_000 - 500 - prompt.tokens
    assert (prompt.window, prompt.reserve, prompt.left_out) == (10_000, 500, 0)


def test_the_history_stays_inside_its_budget_over_a_long_talk(talk: Talk) -> None:
    for number in range(60):
        turn = talk.say(f"question {number} " + "x" * 150, "y" * 200)
        sizes = {section.name: section.tokens for section in turn.prompt.sections}
        assert sizes["history"] + sizes["summary"] <= 3_000
        assert turn.prompt.messages[1].role == "user"
    assert len(talk.session.history) == 120


def test_at_most_so_many_messages_are_sent_word_for_word(talk: Talk) -> None:
    for number in range(30):
        talk.say(str(number), "ok")
        assert len(talk.model.sent[-1]) <= 1 + 20 + 1


def test_the_newest_turn_is_shortened_rather_than_dropped(talk: Talk) -> None:
    talk.say("BEGIN" + "x" * 5_000 + "END", "a summary")
    prompt = talk.say("and?", "two").prompt
    sent = talk.sent()
    assert sent[1][1].startswith("BEGIN")
    assert sent[1][1].endswith("END")
    assert "characters left out here" in sent[1][1]
    assert sent[2] == ("assistant", "a summary")
    assert {section.name: section.tokens for section in prompt.sections}["history"] <= 3_000
    assert talk.saved()[0][1] == "BEGIN" + "x" * 5_000 + "END"


def test_the_history_shrinks_for_a_long_message(small: Callable[[int], Talk]) -> None:
    talk = small(1_000)
    talk.say("old", "answer " + "y" * 200)
    talk.say("new " + "x" * 600, "two")
    assert "y" * 200 not in str(talk.sent())
    assert "x" * 600 in talk.sent()[-1][1]


# --- too big ------------------------------------------------------------------------------------


def test_a_message_too_big_alone_is_saved_explained_and_not_sent(
    small: Callable[[int], Talk],
) -> None:
    talk = small(1_000)
    with pytest.raises(MessageTooBig, match=r"takes about 2,\d+ tokens; the model has room") as e:
        talk.say("x" * 2_000)
    assert e.value.room < 1_000 < e.value.tokens
    assert talk.saved() == [("user", "x" * 2_000)]
    assert talk.model.sent == []


def test_it_is_sent_cut_with_a_visible_mark_once_the_user_agrees(
    small: Callable[[int], Talk],
) -> None:
    talk = small(1_000)
    with pytest.raises(MessageTooBig):
        talk.say("START" + "x" * 2_000 + "END")
    unanswered = talk.session.unanswered
    assert unanswered is not None
    turn = run_turn(unanswered, talk.session, talk.pipeline, lambda _: None, cut_message=True)
    sent = talk.sent()[-1][1]
    assert "characters left out here" in sent
    assert sent.startswith("START")
    assert turn.prompt.tokens + turn.prompt.reserve <= 1_000
    assert talk.saved() == [("user", "START" + "x" * 2_000 + "END"), ("assistant", "fine")]


def test_a_message_the_user_would_not_cut_is_not_sent_with_the_next(
    small: Callable[[int], Talk],
) -> None:
    talk = small(1_000)
    talk.say("before", "yes")
    with pytest.raises(MessageTooBig):
        talk.say("x" * 2_000)
    assert talk.session.failures[2].rejected
    talk.say("hi there")
    assert talk.sent()[1:] == [
        ("user", "before"), ("assistant", "yes"), ("user", "hi there" + BACKGROUND),
    ]  # fmt: skip


@pytest.mark.parametrize(("most", "sent"), [(0, 0), (1, 2), (2, 2), (3, 2), (4, 4)])
def test_the_number_of_messages_is_held_also_when_it_is_small(
    store: SessionStore, clock: FakeClock, most: int, sent: int
) -> None:
    limits = msgspec.structs.replace(LIMITS, recent_messages=most)
    talk = Talk(store.create(), clock, limits)
    for number in range(6):
        talk.say(str(number), "ok")
    assert len(talk.model.sent[-1]) == 1 + sent + 1


def test_images_that_do_not_fit_are_explained_even_when_cutting_is_allowed(
    small: Callable[[int], Talk],
) -> None:
    talk = small(1_000)
    image = ImagePart(ImageUrl("https://example.org/x.png"))
    with pytest.raises(MessageTooBig):
        run_turn((image, image), talk.session, talk.pipeline, lambda _: None, cut_message=True)


def test_reading_along_asks_nothing(talk: Talk, store: SessionStore, home: Path) -> None:
    with pytest.raises(TimedOut):
        talk.say("hello?", failing(TimedOut("No answer in time.")))
    part = home / "sessions" / f"{talk.session.id}.part"
    part.write_text("what the other terminal is just getting")
    reader = Talk(store.open(talk.session.id, read_only=True), FakeClock(), LIMITS)
    unanswered = reader.session.unanswered
    assert unanswered is not None
    with pytest.raises(SessionReadOnly):
        run_turn(unanswered, reader.session, reader.pipeline, lambda _: None)
    assert reader.model.sent == []
    reader.session.close()
    assert part.read_text() == "what the other terminal is just getting"


# --- failures -----------------------------------------------------------------------------------


def test_a_failed_reply_keeps_the_question_marked_and_a_retry_works(talk: Talk) -> None:
    with pytest.raises(TimedOut):
        talk.say("hello?", failing(TimedOut("No answer in time.")))
    assert talk.session.failures[1].reason == "No answer in time."
    unanswered = talk.session.unanswered
    assert unanswered is not None
    turn = run_turn(unanswered, talk.session, talk.pipeline, talk.events.append)
    assert turn.reply is not None
    assert talk.saved() == [("user", "hello?"), ("assistant", "fine")]
    assert talk.session.failures == {}
    assert talk.handed_over == [turn]


def test_an_unanswered_question_goes_along_with_the_next(talk: Talk) -> None:
    with pytest.raises(TimedOut):
        talk.say("my name is Ann", failing(TimedOut("No answer in time.")))
    talk.say("what is my name?")
    assert [role for role, _ in talk.sent()] == ["system", "user"]
    assert talk.sent()[1][1] == "my name is Ann\n\nwhat is my name?" + BACKGROUND


def test_a_question_the_endpoint_rejected_is_never_sent_again(
    talk: Talk, store: SessionStore
) -> None:
    with pytest.raises(RequestRejected):
        talk.say("something refused", failing(RequestRejected("Refused.")))
    talk.say("hello")
    assert "something refused" not in str(talk.sent())
    talk.session.close()
    again = Talk(store.open(talk.session.id), FakeClock(), LIMITS)
    again.say("still there?")
    assert "something refused" not in str(again.sent())
    assert ("user", "something refused") in again.saved()


def test_a_stream_that_breaks_keeps_what_came(talk: Talk) -> None:
    turn = talk.say("go", failing(StreamBroken("It broke."), after="half a re"))
    assert turn.reply is not None
    assert turn.reply.finish_reason == BROKEN
    assert talk.saved()[-1] == ("assistant", "half a re")
    assert talk.events[-1] == Notice("It broke. What came is kept, marked as cut short.")


def test_a_stream_that_breaks_before_its_first_word_is_a_failure(talk: Talk) -> None:
    with pytest.raises(StreamBroken):
        talk.say("go", failing(StreamBroken("It broke.")))
    assert talk.session.unanswered is not None


def test_an_empty_reply_is_a_failure(talk: Talk) -> None:
    with pytest.raises(ServerFailed, match="answered with nothing"):
        talk.say("go", [END])
    assert talk.saved() == [("user", "go")]


def test_ctrl_c_keeps_what_came(talk: Talk) -> None:
    turn = talk.say("go", [ReplyPart(text="half a "), KeyboardInterrupt()])
    assert turn.reply is not None
    assert turn.reply.finish_reason == INTERRUPTED
    assert talk.saved()[-1] == ("assistant", "half a ")


def test_ctrl_c_before_the_first_word_leaves_the_question_for_a_retry(
    talk: Talk, home: Path
) -> None:
    turn = talk.say("go", KeyboardInterrupt())
    assert turn.reply is None
    assert talk.session.unanswered is not None
    assert talk.session.failures[1].reason == "stopped before the first word"
    assert talk.handed_over == []
    assert not list((home / "sessions").glob("*.part"))


def test_the_true_limit_is_learnt_from_the_refusal_and_used(talk: Talk) -> None:
    for _ in range(10):
        talk.say("x" * 200, "y" * 200)
    turn = talk.say("go", failing(ContextTooLong("Too long.", limit=1_200)), "done")
    assert turn.reply is not None
    assert turn.reply.text == "done"
    assert turn.prompt.window == 1_200
    assert turn.prompt.tokens + turn.prompt.reserve <= 1_200
    assert Notice("The model takes 1,200 tokens at most: sending less.") in talk.events
    assert talk.pipeline.profile().window == 1_200
    assert talk.say("again").prompt.window == 1_200


@pytest.mark.parametrize("limit", [None, 9_999])
def test_a_refusal_without_a_usable_figure_halves_what_is_sent(
    talk: Talk, limit: int | None
) -> None:
    for _ in range(10):
        before = talk.say("x" * 200, "y" * 200).prompt
    turn = talk.say("go", failing(ContextTooLong("Too long.", limit=limit)), "done")
    assert turn.prompt.window == pytest.approx((before.tokens + before.reserve) / 2, rel=0.1)
    assert turn.prompt.tokens + turn.prompt.reserve <= turn.prompt.window


def test_a_second_refusal_is_shown(talk: Talk) -> None:
    for _ in range(10):
        talk.say("x" * 200, "y" * 200)
    refusal = ContextTooLong("Too long.", limit=1_200)
    with pytest.raises(ContextTooLong):
        talk.say("go", failing(refusal), failing(refusal))
    assert talk.session.unanswered is not None


def test_a_refusal_the_message_alone_does_not_fit_is_explained(talk: Talk) -> None:
    with pytest.raises(MessageTooBig):
        talk.say("x" * 3_000, failing(ContextTooLong("Too long.", limit=1_000)))
    assert len(talk.model.sent) == 1
    assert talk.session.unanswered is not None


# --- other shapes -------------------------------------------------------------------------------


def test_surrogates_in_a_reply_are_cleaned_before_they_are_shown(talk: Talk) -> None:
    talk.say("go", "caf\udce9")
    assert talk.events == [TextArrived("caf\ufffd")]


def test_a_pair_of_surrogates_that_comes_in_two_pieces_is_one_character(talk: Talk) -> None:
    talk.say("go", [ReplyPart(text="x\ud83d"), ReplyPart(text="\ude00y"), END])
    assert talk.saved()[-1] == ("assistant", "x😀y")


def test_a_question_in_parts_gets_its_background_as_a_part(talk: Talk) -> None:
    image = ImagePart(ImageUrl("https://example.org/x.png"))
    run_turn((TextPart("see"), image), talk.session, talk.pipeline, talk.events.append)
    assert talk.model.sent[0][-1].content == (
        TextPart("see"), image, TextPart(BACKGROUND.strip()),
    )  # fmt: skip
    assert talk.session.history[0].content == (TextPart("see"), image)


def test_tool_calls_are_saved_with_the_reply(talk: Talk) -> None:
    call = ToolCall("c1", "list_events", "{}")
    turn = talk.say("go", [ReplyPart(tool_calls=(call,)), ReplyPart(finish_reason="tool_calls")])
    assert turn.reply is not None
    assert turn.reply.tool_calls == (call,)


def test_the_tokenizer_is_not_waited_for_before_the_question_is_saved(talk: Talk) -> None:
    counter = FakeCounter(ready=False)
    talk.pipeline.counter = counter
    talk.say("hello")
    assert talk.session.history[0].count is None
    counter.ready = True
    talk.say("hello")
    assert talk.session.history[2].count is not None


def test_a_reply_whose_question_can_not_be_read_joins_the_one_before(talk: Talk) -> None:
    talk.say("first", "one")
    talk.session.add(Message(role="assistant", content="orphan", turn=2))
    talk.say("third", "three")
    assert talk.sent()[1:] == [
        ("user", "first"), ("assistant", "one\n\norphan"), ("user", "third" + BACKGROUND),
    ]  # fmt: skip


def test_a_resumed_session_uses_what_was_said(talk: Talk, store: SessionStore) -> None:
    talk.say("我们做宫保鸡丁吧", "好的！")
    talk.session.close()
    again = Talk(store.open(talk.session.id), FakeClock(), LIMITS)
    again.say("需要什么材料？", "鸡肉")
    assert again.sent()[1:3] == [("user", "我们做宫保鸡丁吧"), ("assistant", "好的！")]


def test_a_full_disk_does_not_end_the_conversation(talk: Talk, home: Path) -> None:
    (home / "sessions").mkdir(parents=True)
    (home / "sessions" / f"{talk.session.id}.jsonl").symlink_to("/dev/full")
    turn = talk.say("hello", "hi")
    assert turn.reply is not None
    assert talk.saved() == [("user", "hello"), ("assistant", "hi")]
    assert talk.session.unsaved == 3
    assert talk.session.saving_failure == "No space left on device"
    talk.say("again")
    assert talk.sent()[1] == ("user", "hello")


def test_the_model_s_tokens_are_turned_into_ours(talk: Talk) -> None:
    for _ in range(40):
        talk.pipeline.profiles.measured("nowhere", "fake", ours=100, theirs=200)
    assert talk.say("go").prompt.window == pytest.approx(5_000, abs=10)


def test_a_message_read_back_has_the_role_it_was_saved_with(store: SessionStore) -> None:
    session = store.create()
    session.ask("q")
    session.answer(
        Message(role="assistant", content="", turn=1, tool_calls=(ToolCall("c", "n", "{}"),))
    )
    session.answer(Message(role="tool", content="r", turn=1, tool_call_id="c"))
    session.answer(Message(role="assistant", content="a", turn=1))
    session.close()
    again = store.open(session.id)
    assert [one.role for one in again.history.slice(range(4))] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert again.history[2].tool_call_id == "c"
    again.close()
