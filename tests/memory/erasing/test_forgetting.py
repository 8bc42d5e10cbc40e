"""From a wish to an erasure: what is meant, and every copy of it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from assistant.errors import NothingToErase
from assistant.memory.entry_log import EntryLog
from assistant.memory.erasing.exports import Exports
from assistant.memory.erasing.forgetting import Forgetting, Wish
from assistant.memory.erasing.log_eraser import FORGOTTEN, LogErasure, without
from assistant.memory.erasing.log_lines import log_lines
from assistant.memory.erasing.prompt_history import entry_digest
from assistant.memory.facts.facts import FactRecord, UndoneRecord, fact_decoder
from assistant.memory.recall.vector_cache import vector_digest
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.memory.stores import HomeStores
from assistant.messages import Fact, Message, Role, Summary, ToolCall
from assistant.protocols import Erasure, IndexRow
from tests.fakes import FakeClock, FakeIds, FakeIndexHome


@pytest.fixture
def index_home() -> FakeIndexHome:
    return FakeIndexHome()


@pytest.fixture
def stores(home: Path, clock: FakeClock) -> HomeStores:
    return HomeStores(home / "data", clock=clock, new_letters=FakeIds(""), embedder=lambda: None)


@pytest.fixture
def exports(home: Path) -> Exports:
    return Exports(home / "data" / "exports.json")


@pytest.fixture
def forgetting(
    home: Path,
    store: SessionStore,
    stores: HomeStores,
    exports: Exports,
    index_home: FakeIndexHome,
    clock: FakeClock,
) -> Forgetting:
    return Forgetting(
        store,
        stores,
        prompt_history=home / "data" / "prompt_history",
        exports=exports,
        index_home=index_home,
        clock=clock,
        new_id=FakeIds("e"),
    )


def talk(store: SessionStore, clock: FakeClock, *questions: str) -> Session:
    """An open session of answered questions; ids are odd for questions, even for replies."""
    session = store.create()
    for question in questions:
        ask(session, clock, question, f"re {question}")
    return session


def ask(session: Session, clock: FakeClock, question: str, reply: str | None = None) -> int:
    clock.advance(minutes=1)
    turn = session.ask(question).turn
    if reply is not None:
        session.answer(Message("assistant", reply, turn=turn))
    return turn


def recall(session: Session, clock: FakeClock, question: str, found: str) -> int:
    """A turn in which the tool `recall` is called; its call and result are its second and third."""
    turn = ask(session, clock, question)
    call = ToolCall("c1", "recall", "{}")
    session.answer(Message("assistant", "", turn=turn, tool_calls=(call,)))
    session.answer(Message("tool", found, turn=turn, tool_call_id="c1"))
    session.answer(Message("assistant", "so it was", turn=turn))
    return turn


# --- what is meant --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "turns"), [(1, 1, {1}), (2, 3, {2, 3}), (2, 99, {2, 3}), (0, 1, {1})]
)
def test_turns_that_are_there(
    forgetting: Forgetting,
    store: SessionStore,
    clock: FakeClock,
    first: int,
    last: int,
    turns: Collection[int],
) -> None:
    session = talk(store, clock, "one", "two", "three")
    session.go_to(1)
    assert forgetting.turns(session.id, first, last).turns == {session.id: turns}


def test_turns_that_are_not_there(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock
) -> None:
    session = talk(store, clock, "one", "two")
    with pytest.raises(NothingToErase, match=r"has no turn 3\. Its turns go up to 2\."):
        forgetting.turns(session.id, 3, 3)
    with pytest.raises(NothingToErase, match="has no turn 3 to 5"):
        forgetting.turns(session.id, 3, 5)
    with pytest.raises(NothingToErase, match="It has no turns"):
        forgetting.turns("nowhere", 1, 1)


@pytest.mark.parametrize(
    ("role", "ids"), [("user", {1, 3}), ("assistant", {2, 4, 6}), ("tool", {5})]
)
def test_messages_of_a_role(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock, role: Role, ids: set[int]
) -> None:
    session = talk(store, clock, "one")
    recall(session, clock, "two", "nothing")
    assert forgetting.of_role(session.id, role).messages == {session.id: ids}


def test_no_message_of_a_role(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock, home: Path
) -> None:
    session = talk(store, clock, "one")
    with pytest.raises(NothingToErase, match="no message of the role tool"):
        forgetting.of_role(session.id, "tool")
    session.close()
    _erase_from_log(store, forgetting.erasure(forgetting.of_role(session.id, "user")))
    # What is left of the question says nothing.
    assert [one.text for one in _messages(store, session.id)] == [FORGOTTEN, "re one"]
    with pytest.raises(NothingToErase, match="no message of the role user"):
        forgetting.of_role(session.id, "user")


def test_turns_of_a_time(forgetting: Forgetting, store: SessionStore, clock: FakeClock) -> None:
    begun = clock()
    first = talk(store, clock, "one", "two")
    second = talk(store, clock, "three")
    second.go_to(0)

    def between(start: int | None, end: int | None) -> dict[str, set[int]]:
        return forgetting.between(_minute(begun, start), _minute(begun, end)).turns

    assert between(2, None) == {first.id: {2}, second.id: {1}}
    assert between(None, 3) == {first.id: {1, 2}}
    assert between(2, 3) == {first.id: {2}}
    for start, end in ((4, None), (None, 1), (3, 3)):
        with pytest.raises(NothingToErase, match="Nothing was said in that time"):
            between(start, end)


def _minute(begun: datetime, minute: int | None) -> datetime | None:
    return None if minute is None else begun + timedelta(minutes=minute)


def test_words_are_found_in_every_store(
    forgetting: Forgetting, store: SessionStore, stores: HomeStores, clock: FakeClock, home: Path
) -> None:
    session = talk(store, clock, "The Zebra runs", "Nothing", "Again a zebra")
    session.rename("zebra talk")
    covered = (session.history[0].id, session.history[1].id)
    session.summarize(Summary("About a zebra.", covered, clock()), after=None)
    session.fail(3, "zebra trouble")
    facts = stores.facts
    facts.remember("My zebra is called Bob")
    facts.remember("The zebra is mine").undo()
    waiting = facts.propose(
        "I like the zebra", "preference", said=clock(), source=f"{session.id}.1"
    )
    refused = facts.propose("I am a zebra", "about", said=clock(), source=f"{session.id}.1")
    assert waiting is not None
    assert refused is not None
    facts.refuse(refused.id)
    stores.memos.save("feed the zebra")
    stores.memos.delete(_id(stores.memos.save("old zebra").after))
    stores.memos.update(_id(stores.memos.save("zebra once").after), text="now another")
    stores.calendar.create("Vet", clock(), notes="for the zebra", repeat="FREQ=DAILY;COUNT=3")
    (home / "data" / "prompt_history").write_text("\n# now\n+The Zebra runs\n")
    found = forgetting.about("zebra")
    assert [one.what.rpartition(" ")[0] for one in found] == [
        "turn",
        "turn",
        "title of session",
        "summary of session",
        "failure of session",
        "fact",
        "fact",
        "proposed fact",
        "proposed fact",
        "memo",
        "memo",
        "memo",
        "event",
        "typed",
    ]
    # An event is called by its title, whatever holds the words.
    assert all("zebra" in one.text.lower() for one in found if not one.what.startswith("event"))
    assert all(one.exact for one in found)
    wish = Wish()
    for one in found:
        wish.add(one.wish)
    assert wish.turns == {session.id: {1, 3}}
    assert wish.titles == {session.id}
    assert len(wish.lines[session.id]) == 2
    assert wish.proposals == {waiting.id, refused.id}
    assert (len(wish.facts), len(wish.memos), len(wish.events)) == (2, 3, 1)
    assert wish.typed == {entry_digest("The Zebra runs")}


def _id(entry: object) -> str:
    return str(entry.id)  # type: ignore[attr-defined]


def test_words_that_are_nowhere_and_what_only_bears_on_them(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock
) -> None:
    session = talk(store, clock, "the zebra", "striped horses")
    assert forgetting.about("unicorn") == []
    alike = store.exchanges(session.id)
    exact, by_meaning = forgetting.about("zebra", alike)
    assert (exact.exact, exact.wish.turns) == (True, {session.id: {1}})
    assert (by_meaning.exact, by_meaning.wish.turns) == (False, {session.id: {2}})
    assert by_meaning.what == f"turn {session.id}.2 of 2026-03-04"


def test_where_words_stand(
    forgetting: Forgetting,
    store: SessionStore,
    clock: FakeClock,
    home: Path,
    tmp_path: Path,
    exports: Exports,
    index_home: FakeIndexHome,
) -> None:
    session = talk(store, clock, "zebra", "zebra")
    exported = tmp_path / "out.md"
    exported.write_text("zebra")
    exports.note(exported, session.id, clock(), b"zebra")
    index_home.index.upsert([IndexRow("s1.1", "s1", 1, 0, "zebra", "", (), "", None)])
    assert forgetting.places("zebra", home) == [
        f"{tmp_path / 'out.md'}: once",
        "s1.1: memory index",
        "sessions/s1.jsonl: 4 times",
    ]
    assert forgetting.places("unicorn", home) == []


# --- every copy of it -----------------------------------------------------------------------------


def test_forks_have_copies_whichever_is_named(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock
) -> None:
    first = talk(store, clock, "one", "two")
    recall(first, clock, "three", "nothing")
    fork = store.fork(first)
    ask(fork, clock, "four", "of the fork")
    ask(first, clock, "four", "of the first")
    for name in (first.id, fork.id):
        whole = forgetting.erasure(Wish(turns={name: {1, 4}}))
        assert whole.turns[name] == (1, 4)
        assert whole.turns[{first.id: fork.id, fork.id: first.id}[name]] == (1,)
        tools = forgetting.erasure(forgetting.of_role(name, "tool"))
        assert tools.messages == {first.id: (7,), fork.id: (7,)}
        assert tools.changed == {}
        user = forgetting.erasure(forgetting.of_role(name, "user"))
        assert {one: len(ids) for one, ids in user.messages.items()} == {
            name: 4,
            {first.id: fork.id, fork.id: first.id}[name]: 3,
        }


def test_results_that_quote_it_go_with_it(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock
) -> None:
    told, asking = talk(store, clock, "one", "two"), talk(store, clock, "hello")
    quote = f"Wed 2026-03-04 ({told.id}.2)\nUser: two"
    recall(asking, clock, "what was it?", quote)
    named = forgetting.erasure(Wish(turns={told.id: {2}}))
    assert named.messages == {asking.id: (5,)}
    assert named.changed == {}
    # The same where the whole session goes, or half of what is quoted.
    assert forgetting.erasure(Wish(sessions={told.id})).messages == {asking.id: (5,)}
    for role in ("user", "assistant"):
        half = forgetting.erasure(forgetting.of_role(told.id, role))
        assert half.messages[asking.id] == (5,)
    assert forgetting.erasure(Wish(turns={told.id: {1}})).messages == {}


def test_what_was_typed_and_vectors_go_too(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock
) -> None:
    session = talk(store, clock, "one")
    late = ask(session, clock, " two\nlines ", "late")
    named = forgetting.erasure(Wish(turns={session.id: {late}}))
    assert named.typed == (entry_digest(" two\nlines "),)
    # It was embedded alone, before its reply came.
    digests = {vector_digest("two\nlines \nlate"), vector_digest("two\nlines")}
    assert set(named.texts) == digests
    only_reply = forgetting.erasure(Wish(messages={session.id: {4}}))
    assert (only_reply.typed, set(only_reply.texts)) == ((), digests)
    assert only_reply.changed == {session.id: (late,)}


def test_an_unanswered_question_that_goes_by_its_role_takes_its_row_along(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock
) -> None:
    session = talk(store, clock)
    turn = ask(session, clock, "one")
    assert forgetting.erasure(forgetting.of_role(session.id, "user")).changed == {
        session.id: (turn,)
    }


def test_a_fact_goes_with_the_last_of_its_sources(
    forgetting: Forgetting, store: SessionStore, stores: HomeStores, clock: FakeClock, home: Path
) -> None:
    session = talk(store, clock, "one", "two", "three")
    session.close()
    log = EntryLog(home / "data" / "facts.jsonl", fact_decoder, "facts")
    for name, turns in {"fone": (1,), "fboth": (1, 2), "fhand": (), "fundone": (1,)}.items():
        sources = tuple(f"{session.id}.{turn}" for turn in turns)
        log.append(FactRecord(Fact(name, name, "other", clock(), sources=sources), clock()))
    log.append(UndoneRecord(clock(), gone=("fundone",)))
    first = forgetting.erasure(Wish(messages={session.id: {1}}))
    assert first.facts == ("fone", "fundone")
    assert forgetting.erasure(Wish(messages={session.id: {2}})).facts == ()
    _erase_from_log(store, first)
    # What the user said in the first turn is gone already, though its reply is not.
    assert forgetting.erasure(Wish(messages={session.id: {3}})).facts == ("fboth",)


def test_proposals_go_with_what_the_user_said(
    forgetting: Forgetting, store: SessionStore, stores: HomeStores, clock: FakeClock
) -> None:
    session = talk(store, clock, "one", "two")
    made = [
        stores.facts.propose(f"I am {n}", "about", said=clock(), source=f"{session.id}.{n}")
        for n in (1, 2)
    ]
    ids = [one.id for one in made if one is not None]
    stores.facts.refuse(ids[0])
    assert forgetting.erasure(Wish(messages={session.id: {1}})).proposals == (ids[0],)
    assert forgetting.erasure(Wish(messages={session.id: {2}})).proposals == ()


def test_deleted_memos_go_with_the_turn_they_were_made_in(
    forgetting: Forgetting, store: SessionStore, stores: HomeStores, clock: FakeClock
) -> None:
    session = talk(store, clock, "one")
    fork = store.fork(session)
    memos = stores.memos
    there = _id(memos.save("there", source=f"{session.id}.1").after)
    deleted = _id(memos.save("deleted", ["tag"], source=f"{session.id}.1").after)
    memos.delete(deleted)
    memos.delete(_id(memos.save("of no turn").after))
    named = forgetting.erasure(Wish(turns={fork.id: {1}}))
    assert named.memos == (deleted,)
    assert set(named.texts) >= {vector_digest("deleted"), vector_digest("tag")}
    assert vector_digest("there") not in named.texts
    assert forgetting.erasure(Wish(sessions={session.id})).memos == (deleted,)
    assert forgetting.erasure(Wish(memos={there})).texts == (vector_digest("there"),)


def test_what_was_made_in_a_turn_is_found_from_its_copies(
    forgetting: Forgetting, store: SessionStore, stores: HomeStores, clock: FakeClock
) -> None:
    session = talk(store, clock, "one", "two")
    fork = store.fork(session)
    stores.calendar.create("Review", clock(), source=f"{session.id}.1", repeat="FREQ=DAILY;COUNT=2")
    memo = stores.memos.save("note", source=f"{session.id}.1").after
    for name in (session.id, fork.id):
        made = forgetting.made_in(Wish(turns={name: {1}}))
        assert made
        assert ([one.title for one in made.events], list(made.memos)) == (["Review"], [memo])
        assert not forgetting.made_in(Wish(turns={name: {2}}))
    assert forgetting.made_in(Wish(sessions={session.id}))
    # What was chosen already is not asked about.
    event = stores.calendar.all()[0].id.partition("@")[0]
    chosen = Wish(turns={session.id: {1}}, events={event}, memos={_id(memo)})
    assert not forgetting.made_in(chosen)


def test_exports_of_all_sessions_that_lose_something(
    forgetting: Forgetting, store: SessionStore, exports: Exports, clock: FakeClock
) -> None:
    session = talk(store, clock, "one", "two")
    fork = store.fork(session, 1)
    asking = talk(store, clock)
    recall(asking, clock, "what?", f"({session.id}.2)\ntwo")
    for name in (session.id, fork.id, asking.id):
        exports.note(Path(f"/out/{name}.md"), name, clock(), b"")

    def exported(wish: Wish) -> list[str]:
        return [Path(one).stem for one in forgetting.exported(wish)]

    assert exported(Wish(turns={fork.id: {1}})) == [session.id, fork.id]
    assert exported(Wish(turns={session.id: {2}})) == [session.id, asking.id]
    assert exported(Wish(messages={session.id: {1}})) == [session.id, fork.id]
    assert exported(Wish(sessions={fork.id})) == [fork.id]
    assert exported(Wish(titles={fork.id})) == [fork.id]
    assert exported(Wish(everything=True)) == [session.id, fork.id, asking.id]
    assert exported(Wish(memos={"m1"})) == []


def test_a_wish_is_not_changed_by_looking_for_its_copies(
    forgetting: Forgetting, store: SessionStore, clock: FakeClock
) -> None:
    session = talk(store, clock, "one")
    store.fork(session)
    wish = Wish(turns={session.id: {1}}, messages={session.id: {2}})
    before = msgspec.json.encode(wish)
    forgetting.erasure(wish)
    forgetting.made_in(wish)
    assert msgspec.json.encode(wish) == before


def test_an_erasure_holds_no_word(
    forgetting: Forgetting, store: SessionStore, stores: HomeStores, clock: FakeClock
) -> None:
    session = talk(store, clock, "the zebra")
    stores.memos.save("a zebra")
    stores.facts.remember("My zebra is Bob")
    wish = Wish()
    for one in forgetting.about("zebra"):
        wish.add(one.wish)
    named = forgetting.erasure(wish)
    assert (named.id, named.ts, named.turns) == ("e1", clock(), {session.id: (1,)})
    assert b"zebra" not in msgspec.json.encode(named)


def _messages(store: SessionStore, session_id: str) -> list[Message]:
    return [one for one in store.records(session_id) if isinstance(one, Message)]


def _erase_from_log(store: SessionStore, erasure: Erasure) -> None:
    for name in (*erasure.turns, *erasure.messages):
        store.rewrite(name, lambda data, name=name: without(data, LogErasure.of(erasure, name)))
        assert log_lines(store.data(name))
