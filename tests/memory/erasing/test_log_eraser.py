"""Erasing from a log: what goes, what stays, and that the rest folds to what it was."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.errors import SessionReadOnly
from assistant.memory.assembly import Fixed, assemble, share_out
from assistant.memory.erasing.log_eraser import FORGOTTEN, LogErasure, without
from assistant.memory.erasing.log_lines import log_lines
from assistant.memory.session import Session
from assistant.memory.session_log import (
    EraseRecord,
    FailureRecord,
    Record,
    RewindRecord,
    SessionRecord,
    SummaryUndoneRecord,
    TitleRecord,
    encode,
    load,
)
from assistant.memory.token_budget import TokenBudget
from assistant.memory.turn_tree import TurnTree
from assistant.messages import KeptItem, Message, Summary, TokenCount, ToolCall
from assistant.prompt import Prompt, Recollection
from assistant.protocols import Erasure
from tests.fakes import FakeClock, FakeCounter

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
AGREED = NOW + timedelta(days=1)
COUNT = TokenCount("characters", 7)


def user(number: int, turn: int, text: str = "") -> Message:
    return Message("user", text or f"question {number}", number, turn, NOW, count=COUNT)


def reply(number: int, turn: int, text: str = "") -> Message:
    return Message("assistant", text or f"answer {number}", number, turn, NOW, count=COUNT)


def calling(number: int, turn: int, *calls: str, text: str = "") -> Message:
    made = tuple(ToolCall(call, "look", f'{{"what": "argument {call}"}}') for call in calls)
    return Message("assistant", text, number, turn, NOW, tool_calls=made, count=COUNT)


def result(number: int, turn: int, call: str) -> Message:
    return Message("tool", f"result {call}", number, turn, NOW, tool_call_id=call)


def summary(first: int, last: int, text: str = "") -> Summary:
    return Summary(text or f"summary {first}-{last}", (first, last), NOW)


def undone(of: Summary) -> SummaryUndoneRecord:
    return SummaryUndoneRecord(of.covers, NOW)


def log(*records: Record | bytes) -> bytes:
    return b"".join(one if isinstance(one, bytes) else encode(one) for one in records)


def erased(
    data: bytes, *, turns: Sequence[int] = (), messages: Sequence[int] = (), title: bool = False
) -> list[Record | bytes]:
    """What stands in the log then, the tombstone left out: records, and lines without one."""
    what = LogErasure(AGREED, frozenset(turns), frozenset(messages), title)
    after = without(data, what)
    assert without(after, what) == after
    lines = [line.record or line.raw for line in log_lines(after)]
    return [one for one in lines if not isinstance(one, EraseRecord)]


def stub(number: int, turn: int) -> Message:
    return Message("user", FORGOTTEN, number, turn, NOW)


FIRST = SessionRecord("s1", NOW)
TOOLS = (
    user(1, 1),
    calling(2, 1, "a", "b", text="I look."),
    result(3, 1, "a"),
    result(4, 1, "b"),
    calling(5, 1, "c"),
    result(6, 1, "c"),
    reply(7, 1),
)


def bare(message: Message, *calls: str) -> Message:
    """The message with these calls alone."""
    left = tuple(one for one in message.tool_calls if one.id in calls)
    return msgspec.structs.replace(message, tool_calls=left, count=None)


@pytest.mark.parametrize(
    ("named", "left"),
    [
        pytest.param([1], (stub(1, 1), *TOOLS[1:]), id="a question whose reply stays"),
        pytest.param([7], TOOLS[:6], id="a reply"),
        pytest.param([1, 7], (stub(1, 1), *TOOLS[1:6]), id="a question and its reply"),
        pytest.param([3], (TOOLS[0], bare(TOOLS[1], "b"), *TOOLS[3:]), id="a result"),
        pytest.param([3, 4], (TOOLS[0], bare(TOOLS[1]), *TOOLS[4:]), id="all results of a message"),
        pytest.param([2], (TOOLS[0], *TOOLS[4:]), id="calls beside a text"),
        pytest.param([5], (*TOOLS[:4], TOOLS[6]), id="calls without a text"),
        pytest.param([6], (*TOOLS[:4], TOOLS[6]), id="the only result"),
        pytest.param([1, 3, 4, 5, 7], (stub(1, 1), bare(TOOLS[1])), id="all but a text"),
        pytest.param([3, 4, 6], (TOOLS[0], bare(TOOLS[1]), TOOLS[6]), id="tools"),
        pytest.param([99], TOOLS, id="nothing that is there"),
    ],
)
def test_single_messages_go_and_the_rest_is_a_conversation(
    named: list[int], left: tuple[Message, ...]
) -> None:
    assert erased(log(FIRST, *TOOLS), messages=named) == [FIRST, *left]


def test_a_turn_goes_whole() -> None:
    data = log(FIRST, *TOOLS, user(8, 2), reply(9, 2))
    assert erased(data, turns=[1]) == [FIRST, user(8, 2), reply(9, 2)]


def test_a_question_without_anything_else_leaves_no_stub() -> None:
    data = log(FIRST, user(1, 1), reply(2, 1), user(3, 2))
    assert erased(data, messages=[3]) == [FIRST, user(1, 1), reply(2, 1)]


def test_a_stub_goes_with_the_last_of_its_turn_and_text_after_its_calls() -> None:
    data = log(FIRST, user(1, 1), calling(2, 1, "a", text="I look."), result(3, 1, "a"))
    first = without(data, LogErasure(AGREED, messages=frozenset({1, 3})))
    text = bare(calling(2, 1, text="I look."))
    records = [line.record for line in log_lines(first)]
    assert records == [FIRST, stub(1, 1), text, EraseRecord((1, 2, 3), (), AGREED)]
    later = AGREED + timedelta(hours=1)
    second = without(first, LogErasure(later, messages=frozenset({2})))
    assert [line.record for line in log_lines(second)] == [
        FIRST,
        EraseRecord((1, 2, 3), (), AGREED),
        EraseRecord((1, 2), (1,), later),
    ]


def test_a_question_that_reads_like_a_stub_is_one_all_the_same() -> None:
    data = log(FIRST, user(1, 1, FORGOTTEN), user(2, 2), reply(3, 2))
    assert erased(data, turns=[2]) == [FIRST, user(1, 1, FORGOTTEN)]


def test_two_calls_of_one_id_keep_their_own_results() -> None:
    turn = (
        user(1, 1),
        calling(2, 1, "x"),
        result(3, 1, "x"),
        calling(4, 1, "x"),
        result(5, 1, "x"),
        reply(6, 1),
    )
    assert erased(log(FIRST, *turn), messages=[5]) == [FIRST, *turn[:3], turn[5]]


def test_the_tombstone_names_numbers_and_nothing_else() -> None:
    data = log(FIRST, *TOOLS, user(8, 2, "a secret"), reply(9, 2))
    after = without(data, LogErasure(AGREED, frozenset({2}), frozenset({3})))
    last = log_lines(after)[-1]
    assert last.record == EraseRecord((2, 3, 8, 9), (2,), AGREED)
    assert b"secret" not in after


def test_what_is_not_touched_stays_byte_for_byte() -> None:
    strange = b'{ "type": "message","role":"user", "content":"\\u0041", "id":3,"turn":2, "x":1}\r\n'
    broken = (b'{"torn": "li\n', b"\xff\xfe\n", b"\n")
    data = log(FIRST, user(1, 1), reply(2, 1), strange, *broken)
    after = without(data, LogErasure(AGREED, frozenset({1})))
    assert after.startswith(log(FIRST, strange, *broken))


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_torn_line_named_by_its_digest_goes(end: bytes) -> None:
    data = log(FIRST, user(1, 1), b'{"a secr\n', user(2, 2), b'{"type":"mess' + end)
    lines = log_lines(data)
    first = without(data, LogErasure(AGREED, lines=frozenset({lines[2].digest})))
    assert first == log(FIRST, user(1, 1), user(2, 2), b'{"type":"mess' + end)
    # A readable line is not taken for one of them.
    assert without(data, LogErasure(AGREED, lines=frozenset({lines[1].digest}))) == data


def test_the_tombstone_stands_on_its_own_line_behind_a_torn_one() -> None:
    after = without(log(FIRST, user(1, 1), b'{"type":"mess'), LogErasure(AGREED, frozenset({1})))
    assert after == log(FIRST, b'{"type":"mess\n', EraseRecord((1,), (1,), AGREED))


def test_records_that_an_editor_spread_or_joined_are_erased_too() -> None:
    spread = b'{"type":"message",\n "role":"user","content":"a secret",\n"id":1,"turn":1}\n'
    joined = encode(user(2, 2)).strip() + encode(user(3, 3))
    data = log(FIRST, spread, joined, user(4, 4))
    after = without(data, LogErasure(AGREED, frozenset({1, 3})))
    assert b"secret" not in after
    assert [line.record for line in log_lines(after)] == [
        FIRST,
        user(2, 2),
        user(4, 4),
        EraseRecord((1, 3), (1, 3), AGREED),
    ]


@pytest.mark.parametrize("line", [b'{"v":2,"type":"message"}\n', b'{"v":2,"type":"new"}\n'])
def test_a_log_of_a_newer_version_is_refused(line: bytes) -> None:
    with pytest.raises(SessionReadOnly, match="newer version"):
        without(log(FIRST, user(1, 1), line), LogErasure(AGREED, frozenset({1})))


# --- titles, failures ---------------------------------------------------------------------------


def title(text: str, by: str = "auto") -> TitleRecord:
    return TitleRecord(text, NOW, by="user" if by == "user" else "auto")


def test_automatic_titles_that_may_be_made_of_it_go() -> None:
    given_by_user = title("mine", "user")
    data = log(
        FIRST,
        user(1, 1),
        title("of the first"),
        user(2, 2),
        title("of both"),
        given_by_user,
        user(3, 3),
    )
    kept = [FIRST, user(1, 1), title("of the first"), given_by_user, user(3, 3)]
    assert erased(data, turns=[2]) == kept
    assert erased(data, messages=[2]) == kept
    assert erased(data, turns=[3]) == [line.record for line in log_lines(data)][:-1]
    assert erased(data, title=True) == [FIRST, user(1, 1), user(2, 2), user(3, 3)]


def failure(turn: int, *, rejected: bool = False, reason: str = "why") -> FailureRecord:
    return FailureRecord(turn, reason, NOW, rejected)


def test_failures_go_with_their_turn_or_a_message_of_it() -> None:
    turns = (*TOOLS[:6], failure(1), user(8, 2), failure(2), user(9, 3), failure(3, rejected=True))
    data = log(FIRST, *turns)
    assert erased(data, turns=[1, 3]) == [FIRST, user(8, 2), failure(2)]
    left = erased(data, messages=[6, 9])
    assert left == [FIRST, *TOOLS[:4], user(8, 2), failure(2)]


def test_a_rejected_turn_of_which_something_stays_is_sent_no_more() -> None:
    data = log(FIRST, *TOOLS[:6], failure(1, rejected=True))
    left = erased(data, messages=[6])
    assert left == [FIRST, *TOOLS[:4], failure(1, rejected=True, reason=FORGOTTEN)]


def test_a_failure_of_a_turn_without_messages_keeps_its_number() -> None:
    after = without(log(FIRST, failure(4)), LogErasure(AGREED, frozenset({4})))
    assert after == log(FIRST, EraseRecord((), (4,), AGREED))


def test_a_turn_that_was_answered_after_all_is_not_rejected_for_want_of_its_reply() -> None:
    data = log(FIRST, user(1, 1), failure(1, rejected=True), reply(2, 1))
    assert erased(data, messages=[2]) == [FIRST, user(1, 1)]


@pytest.mark.parametrize("rejected", [False, True])
def test_a_reason_is_erased_alone(rejected: bool) -> None:
    record = failure(1, rejected=rejected, reason="a secret")
    data = log(FIRST, user(1, 1), record, summary(1, 1))
    what = LogErasure(AGREED, lines=frozenset({log_lines(data)[2].digest}))
    left = (failure(1, rejected=True, reason=FORGOTTEN),) if rejected else ()
    after = without(data, what)
    assert after == log(FIRST, user(1, 1), *left, summary(1, 1))
    assert without(after, what) == after


# --- summaries ----------------------------------------------------------------------------------

FOUR = [one for turn in range(1, 5) for one in (user(2 * turn - 1, turn), reply(2 * turn, turn))]


def test_summaries_of_what_goes_go_and_others_stay() -> None:
    data = log(FIRST, *FOUR, summary(1, 2), summary(1, 6), reply(9, 4))
    assert erased(data, turns=[3])[-2:] == [summary(1, 2), reply(9, 4)]
    assert erased(data, messages=[6])[-2:] == [summary(1, 2), reply(9, 4)]
    assert erased(data, turns=[4])[-2:] == [summary(1, 2), summary(1, 6)]


def test_a_summary_goes_with_the_record_that_took_it_back() -> None:
    one, two, three = summary(1, 2, "one"), summary(1, 4, "two"), summary(1, 4, "three")
    data = log(FIRST, *FOUR, one, two, undone(two), three, undone(three), undone(one))
    assert erased(data, turns=[2])[-2:] == [one, undone(one)]
    assert erased(data, turns=[1]) == [FIRST, *FOUR[2:]]


def test_a_summary_is_erased_alone() -> None:
    one, two = summary(1, 2), summary(1, 4, "a secret")
    data = log(FIRST, *FOUR, one, two, undone(two))
    what = LogErasure(AGREED, lines=frozenset({log_lines(data)[-2].digest}))
    assert without(data, what) == log(FIRST, *FOUR, one)


def test_a_summary_of_another_branch_stays() -> None:
    branch = [user(9, 5), reply(10, 5), user(11, 6), reply(12, 6)]
    of_branch = summary(1, 10)
    data = log(FIRST, *FOUR, RewindRecord(2, NOW), *branch, of_branch)
    assert erased(data, turns=[4]) == [
        *(FIRST, *FOUR[:6], RewindRecord(2, NOW), *branch, of_branch),
    ]
    assert of_branch not in erased(data, turns=[2])


def test_no_summary_comes_in_force_that_was_not() -> None:
    of_first = summary(1, 2)
    data = log(FIRST, *FOUR[:4], of_first, RewindRecord(1, NOW))
    assert erased(data, turns=[2]) == [FIRST, *FOUR[:2], RewindRecord(1, NOW)]


# --- going back ---------------------------------------------------------------------------------


def test_going_to_a_turn_that_goes_is_going_to_the_nearest_one_before_it() -> None:
    data = log(FIRST, *FOUR, RewindRecord(2, NOW), user(9, 5), RewindRecord(4, NOW))
    back_to_one, to_three = RewindRecord(1, NOW), RewindRecord(3, NOW)
    assert erased(data, turns=[2, 4]) == [
        *(FIRST, *FOUR[:2], *FOUR[4:6], back_to_one, user(9, 5), to_three)
    ]
    assert erased(data, turns=[1, 2])[-3] == RewindRecord(0, NOW)


# --- any log, any erasure -----------------------------------------------------------------------


@dataclass
class Written:
    """A log, and where each of its marks stands."""

    lines: list[bytes] = field(default_factory=lambda: [encode(FIRST)])
    messages: list[Message] = field(default_factory=list)
    tree: TurnTree = field(default_factory=TurnTree)
    broken: list[bytes] = field(default_factory=list)
    rewinds: bool = False
    _marks: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def mark(self) -> str:
        return f"mark{next(self._marks)}end"

    def add(self, record: Record) -> None:
        self.lines.append(encode(record))
        if isinstance(record, Message):
            self.messages.append(record)
            self.tree.say(record.turn)

    def say(self, turn: int, role: str, text: str, calls: Sequence[str] = (), of: str = "") -> None:
        made = tuple(ToolCall(call, "look", f'{{"what":"{self.mark()}"}}') for call in calls)
        number = len(self.messages) + 1
        ts = NOW + timedelta(seconds=number)
        if role == "tool":
            message = Message("tool", text, number, turn, ts, tool_call_id=of, whole=self.mark())
        elif role == "user":
            message = Message("user", text, number, turn, ts)
        else:
            message = Message("assistant", text, number, turn, ts, tool_calls=made)
        self.add(message)

    @property
    def turns(self) -> int:
        return max((one.turn for one in self.messages), default=0)

    def conversation(self) -> list[Message]:
        return [one for one in self.messages if self.tree.has(one.turn)]

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)


Step = Callable[[Written], None]

#: The rounds of a turn, each with its number of calls and whether there is a text, and its end.
Rounds = list[tuple[int, bool]]


def turn(rounds: Rounds, answered: bool) -> Step:
    def write(to: Written) -> None:
        number = to.turns + 1
        to.say(number, "user", to.mark())
        for at, (calls, text) in enumerate(rounds):
            ids = [f"{number}-{at}-{call}" for call in range(calls)]
            to.say(number, "assistant", to.mark() if text else "", ids)
            for one in ids:
                to.say(number, "tool", to.mark(), of=one)
        if answered:
            to.say(number, "assistant", to.mark())

    return write


def failing(back: int, rejected: bool) -> Step:
    def write(to: Written) -> None:
        if to.turns:
            number = max(1, to.turns - back)
            to.add(FailureRecord(number, to.mark(), NOW, rejected))

    return write


def summing_up(most: int) -> Step:
    def write(to: Written) -> None:
        said = to.conversation()
        if said:
            kept = (KeptItem("code", to.mark(), to.mark(), 1, "user"),)
            last = said[min(most, len(said) - 1)].id
            to.add(Summary(to.mark(), (said[0].id, last), NOW, kept=kept, watched=kept))

    return write


def taking_back(to: Written) -> None:
    to.add(SummaryUndoneRecord((1, 1), NOW))


def going_back(share: float) -> Step:
    def write(to: Written) -> None:
        number = round(share * to.turns)
        to.rewinds = True
        to.add(RewindRecord(number, NOW))
        to.tree.go_to(number)

    return write


def titled(by_user: bool) -> Step:
    return lambda to: to.add(TitleRecord(to.mark(), NOW, by="user" if by_user else "auto"))


def breaking(whole: bool) -> Step:
    def write(to: Written) -> None:
        line = f'{{"type":"message","content":"{to.mark()}'.encode() + (b'"}\n' if whole else b"\n")
        to.lines.append(line)
        to.broken.append(line)

    return write


rounds = st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=2)
steps = st.one_of(
    st.builds(turn, rounds, st.booleans()),
    st.builds(turn, rounds, st.just(True)),
    st.builds(failing, st.integers(0, 2), st.booleans()),
    st.builds(summing_up, st.integers(0, 12)),
    st.just(taking_back),
    st.builds(going_back, st.floats(0, 1)),
    st.builds(titled, st.booleans()),
    st.builds(breaking, st.booleans()),
)


@st.composite
def logs_and_erasures(draw: st.DrawFn) -> tuple[Written, LogErasure]:
    written = Written()
    for step in draw(st.lists(steps, max_size=14)):
        step(written)
    some_turns = st.frozensets(st.integers(1, max(1, written.turns)), max_size=3)
    some_ids = st.frozensets(st.integers(1, max(1, len(written.messages))), max_size=4)
    digests = [log_lines(line)[0].digest for line in written.broken]
    some_lines = st.frozensets(st.sampled_from(digests)) if digests else st.just(frozenset())
    what = LogErasure(
        AGREED, draw(some_turns), draw(some_ids), draw(st.booleans()), draw(some_lines)
    )
    return written, what


def touched(written: Written, what: LogErasure) -> tuple[set[str], set[int], set[int]]:
    """Marks that must go, ids of messages that are changed or go, and turns nothing is left of."""
    marks: set[str] = set()
    ids: set[int] = set()
    calls: set[str] = set()
    whole_ids: set[int] = set()
    for one in written.messages:
        named = one.id in what.messages
        if one.turn in what.turns or (named and one.role != "tool"):
            whole_ids.add(one.id)
        if one.turn in what.turns or (named and one.tool_calls):
            calls |= {call.id for call in one.tool_calls}
        if named and one.role == "tool":
            calls.add(str(one.tool_call_id))
    for one in written.messages:
        lost = [call for call in one.tool_calls if call.id in calls]
        if one.role == "tool" and one.tool_call_id in calls:
            whole_ids.add(one.id)
        if one.tool_calls and len(lost) == len(one.tool_calls) and not one.content:
            whole_ids.add(one.id)
        marks |= {call.arguments for call in lost}
        ids |= {one.id} if lost else set()
    for one in written.messages:
        if one.id in whole_ids:
            marks |= {one.text, one.whole or ""}
    left = {one.turn for one in written.messages if one.id not in whole_ids}
    gone = {one.turn for one in written.messages} - left
    return marks - {""}, ids | whole_ids, gone


def records(data: bytes) -> list[Record]:
    return [line.record for line in log_lines(data) if line.record is not None]


def folded(data: bytes, path: Path) -> Session:
    path.write_bytes(data)
    session = Session("s1", clock=FakeClock(AGREED), log=None, part=None)
    session.fold(load(path))
    return session


@settings(deadline=None)
@given(logs_and_erasures())
def test_what_stays_folds_to_what_it_was(
    tmp_path_factory: pytest.TempPathFactory, given_: tuple[Written, LogErasure]
) -> None:
    written, what = given_
    path = tmp_path_factory.getbasetemp() / "log.jsonl"
    after_data = without(written.data, what)
    assert without(after_data, what) == after_data
    marks, ids, gone = touched(written, what)
    check_erased(written, after_data, what, marks, ids)
    before, after = folded(written.data, path), folded(after_data, path)
    check_messages(before, after, ids, gone)
    check_summaries(before, after, after_data)
    check_conversation(after)
    highest = max((one.id for one in written.messages), default=0)
    check_rejected(before, after, gone)
    asked = after.ask("what now?")
    assert (asked.id, asked.turn) > (highest, written.turns)
    assert asked.turn > written.turns
    check_prompt(after)


def check_erased(
    written: Written, after: bytes, what: LogErasure, marks: set[str], ids: set[int]
) -> None:
    text = after.decode()
    assert not [mark for mark in marks if mark in text or mark in text.replace('\\"', '"')]
    first = min((at for at, one in enumerate(records(written.data)) if getattr(one, "id", 0) in ids
                 and isinstance(one, Message)), default=None)  # fmt: skip
    turns = {one.turn for one in written.messages if one.id in ids} | what.turns
    for at, one in enumerate(records(written.data)):
        if isinstance(one, TitleRecord):
            made_of_it = first is not None and at > first and one.by == "auto"
            assert (one.title in text) is not (made_of_it or what.title)
        if isinstance(one, FailureRecord):
            assert (one.reason in text) is (one.turn not in turns)
    for line in written.broken:
        assert (line in after) is (log_lines(line)[0].digest not in what.lines)
    tree = TurnTree()
    turn_of = {one.id: one.turn for one in written.messages}
    for one in records(written.data):
        if isinstance(one, Message):
            tree.say(one.turn)
        elif isinstance(one, RewindRecord):
            tree.go_to(one.turn)
        elif isinstance(one, Summary):
            covered = range(one.covers[0], one.covers[1] + 1)
            if any(number in ids and tree.has(turn_of[number]) for number in covered):
                assert one.text not in text
                assert one.kept[0].value not in text


def check_messages(before: Session, after: Session, ids: set[int], gone: set[int]) -> None:
    """All that was not touched is there, as it was, in the conversation or out of it."""
    kept = [one for one in before.messages if one.id not in ids]
    assert [one for one in after.messages if one.id not in ids] == kept
    stubs = {one.id for one in after.messages if one.text == FORGOTTEN}
    calls = {one.id for one in after.messages if one.id in ids and one.id not in stubs}
    assert all(not one.tool_calls or one.id in calls for one in after.messages if one.id in ids)
    conversation = {one.turn for one in before.history.slice(range(len(before.history)))}
    assert {one.turn for one in after.history.slice(range(len(after.history)))} == (
        conversation - gone
    )


def check_summaries(before: Session, after: Session, data: bytes) -> None:
    """Those in force are those that were, without what went."""
    text = data.decode()
    assert [one.text for one in after.summaries] == [
        one.text for one in before.summaries if one.text in text
    ]


def check_rejected(before: Session, after: Session, gone: set[int]) -> None:
    """A text that lost its calls is a reply; what has one is sent."""
    replied = {one.turn for one in after.messages if one.role == "assistant" and not one.tool_calls}
    assert after.rejected == before.rejected - gone - replied


def check_conversation(session: Session) -> None:
    """Each turn begins with the user's message; each call has its result and the other way."""
    for _, group in itertools.groupby(session.messages, key=lambda one: one.turn):
        told = list(group)
        assert told[0].role == "user"
        assert len(told) > 1 or told[0].text != FORGOTTEN
        calls = [call.id for one in told for call in one.tool_calls]
        assert sorted(calls) == sorted(str(one.tool_call_id) for one in told if one.role == "tool")


def check_prompt(session: Session) -> None:
    prompt = prompt_of(session)
    open_calls: list[str] = []
    for one in prompt.messages:
        if one.role == "tool":
            open_calls.remove(str(one.tool_call_id))
        else:
            assert not open_calls
            open_calls = [call.id for call in one.tool_calls]
    assert not open_calls
    assert roles_in(prompt)[:2] == ["system", "user"]
    pairs = itertools.pairwise(roles_in(prompt))
    assert not [one for one, other in pairs if one == other != "calls"]


def roles_in(prompt: Prompt) -> list[str]:
    messages = [one for one in prompt.messages if one.role != "tool"]
    return ["calls" if one.tool_calls else one.role for one in messages]


def prompt_of(session: Session) -> Prompt:
    fixed, counter = Fixed("Be kind."), FakeCounter()
    budget = TokenBudget.for_window(100_000, reserve=100, history=50_000, recent_messages=50)
    shares = share_out(session, fixed, budget, counter, NOW)
    return assemble(session, shares, Recollection(), fixed, budget, counter)


@pytest.mark.parametrize(
    ("named", "sent"),
    [
        pytest.param([], ["user: q 1", "assistant: a 2", "user: now"], id="nothing"),
        pytest.param([1], ["user: [forgotten]", "assistant: a 2", "user: now"], id="a question"),
        pytest.param([2], ["user: q 1\n\nnow"], id="a reply"),
        pytest.param([1, 2], ["user: now"], id="both"),
    ],
)
def test_a_prompt_copes_with_what_is_missing(
    named: list[int], sent: list[str], tmp_path: Path
) -> None:
    data = log(FIRST, user(1, 1, "q 1"), reply(2, 1, "a 2"))
    after = without(data, LogErasure(AGREED, messages=frozenset(named)))
    session = folded(after, tmp_path / "log.jsonl")
    session.ask("now")
    *before, current = [f"{one.role}: {one.text}" for one in prompt_of(session).messages[1:]]
    assert before == sent[:-1]
    # The time stands behind it.
    assert current.startswith(sent[-1])


few = st.integers(-1, 4)
ids = st.sampled_from(["x", "y"])
odd_records = st.one_of(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant", "tool", "system"]),
        st.sampled_from(["", "words"]),
        few,
        few,
        st.just(NOW),
        st.lists(st.builds(ToolCall, ids, st.just("look"), st.just("{")), max_size=2).map(tuple),
        st.none() | ids,
    ),
    st.builds(Summary, st.sampled_from(["", "words"]), st.tuples(few, few), st.just(NOW)),
    st.just(SummaryUndoneRecord((1, 1), NOW)),
    st.builds(RewindRecord, few, st.just(NOW)),
    st.builds(FailureRecord, few, st.just("why"), st.just(NOW), st.booleans()),
    st.builds(EraseRecord, st.lists(few, max_size=2).map(tuple), st.just(()), st.just(NOW)),
)
some_numbers = st.frozensets(few, max_size=3)


@settings(deadline=None)
@given(st.lists(odd_records, max_size=10), some_numbers, some_numbers)
def test_a_log_may_hold_what_it_likes(
    odd: list[Record], turns: frozenset[int], messages: frozenset[int]
) -> None:
    what = LogErasure(AGREED, turns, messages)
    after = without(log(FIRST, *odd), what)
    assert without(after, what) == after
    left = [line.record for line in log_lines(after)]
    assert not [one for one in left if isinstance(one, Message) and one.turn in turns]


def test_an_erasure_names_what_goes_from_each_session() -> None:
    erasure = Erasure(
        id="e1",
        ts=AGREED,
        turns={"s1": (1, 2)},
        messages={"s1": (7,), "s2": (8,)},
        titles=("s2",),
        lines={"s2": ("abc",)},
    )
    assert LogErasure.of(erasure, "s1") == LogErasure(AGREED, frozenset({1, 2}), frozenset({7}))
    assert LogErasure.of(erasure, "s2") == LogErasure(
        AGREED, frozenset(), frozenset({8}), True, frozenset({"abc"})
    )
    assert LogErasure.of(erasure, "s3") == LogErasure(AGREED)
