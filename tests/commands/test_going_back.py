"""/undo, /redo, /retry, /edit, /rewind, /fork, as they are typed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assistant.commands.context import CommandContext
from assistant.commands.going_back import group
from assistant.commands.outputs import Ask, Edit, Output, Say, Text
from assistant.errors import SessionError, SessionReadOnly, UsageError
from assistant.memory.facts.facts import Facts
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.messages import ImagePart, ImageUrl, Message, TextPart
from tests.commands.contexts import context_of
from tests.memory.facts.test_facts import Days, letters


class Index:
    """Counts how often it was told to compare itself with the logs."""

    def __init__(self) -> None:
        self.refreshed = 0

    def refresh(self) -> None:
        self.refreshed += 1


@pytest.fixture
def facts(home: Path) -> Facts:
    return Facts(home / "data" / "facts.jsonl", times=Days(), new_letters=letters())


@pytest.fixture
def session(store: SessionStore) -> Iterator[Session]:
    session = store.create()
    yield session
    session.close()


@pytest.fixture
def context(session: Session, store: SessionStore, facts: Facts) -> CommandContext:
    return about(session, store, facts)


def about(session: Session, store: SessionStore, facts: Facts) -> CommandContext:
    return dataclasses.replace(
        context_of(session, store, group, facts=facts, times=Days()),
        indexer=cast(Any, Index()),
        settings=cast(Any, SimpleNamespace(values=SimpleNamespace(uses_endpoint=True))),
    )


def say(session: Session, *questions: str) -> None:
    for question in questions:
        turn = session.ask(question).turn
        session.answer(Message(role="assistant", content=f"re: {question}", turn=turn))


def asked(session: Session) -> Sequence[str]:
    return [one.user for one in session.exchanges()]


def run(context: CommandContext, line: str) -> Output:
    return context.registry.run(line, context)


def said(context: CommandContext, line: str) -> str:
    output = run(context, line)
    assert isinstance(output, Text)
    return output.text


def test_more_turns_than_there_are_undo_all_and_only_some_are_named(
    context: CommandContext, session: Session
) -> None:
    say(session, *(f"question {number}" for number in range(1, 15)))
    told = said(context, "/undo 99")
    assert "Taken out of the conversation: 14 turns." in told
    assert "  10 · question 10\n  … and 4 more\n" in told
    assert "question 11" not in told
    assert asked(session) == []


def test_the_index_is_compared_again_and_the_last_prompt_is_that_of_no_turn(
    context: CommandContext, session: Session
) -> None:
    say(session, "one", "two")
    context.last_turn = cast(Any, SimpleNamespace(question=SimpleNamespace(turn=2)))
    run(context, "/rewind 2")
    assert context.last_turn is not None
    run(context, "/undo")
    assert context.last_turn is None
    run(context, "/redo")
    assert cast(Any, context.indexer).refreshed == 2


def test_a_fact_that_was_learnt_there_stays_and_is_named_once(
    context: CommandContext, session: Session, facts: Facts
) -> None:
    say(session, "one", "I live in Bern")
    facts.remember("I live in Bern", source=f"{session.id}.2")
    facts.remember("I like tea", source=f"{session.id}.1")
    told = said(context, "/undo")
    assert "What was written there stays as it is:\n  known about you: I live in Bern\n" in told
    assert "tea" not in told
    assert "stays as it is" not in said(context, "/redo")


def test_an_answered_question_is_asked_anew_with_its_images(
    context: CommandContext, session: Session
) -> None:
    parts = (TextPart("what is this?"), ImagePart(ImageUrl("https://example.org/x.png")))
    say(session, "one")
    session.ask(parts)
    session.answer(Message(role="assistant", content="A cup.", turn=2))
    output = run(context, "/retry with large-one")
    assert isinstance(output, Say)
    assert (output.content, output.model) == (parts, "large-one")
    assert asked(session) == ["one"]


def test_without_a_new_reply_the_old_one_is_there_again(
    context: CommandContext, session: Session
) -> None:
    say(session, "one", "two")
    output = run(context, "/retry")
    assert isinstance(output, Say)
    session.fail(session.ask("two").turn, "no")
    assert output.without_reply is not None
    told = output.without_reply()
    assert isinstance(told, Text)
    assert told.text.startswith("No reply came, so the old one is there again.")
    assert session.history[3].text == "re: two"
    assert list(session.undone) == [3]


def test_an_unanswered_question_is_asked_as_it_is(
    context: CommandContext, session: Session
) -> None:
    question = session.ask("hello?")
    assert run(context, "/retry") == Ask(question)
    assert run(context, "/retry with other") == Ask(question, "other")


@pytest.mark.parametrize("line", ["/retry with", "/retry other", "/retry  with  "])
def test_what_names_no_model_is_refused(context: CommandContext, line: str) -> None:
    with pytest.raises(UsageError, match="/retry with its-name"):
        run(context, line)


def test_the_embedded_model_is_the_only_one(context: CommandContext, session: Session) -> None:
    say(session, "one")
    cast(Any, context.settings).values.uses_endpoint = False
    with pytest.raises(UsageError, match="embedded model is the only one"):
        run(context, "/retry with other")
    assert asked(session) == ["one"]


def test_an_edited_question_takes_the_place_of_the_old_one(
    context: CommandContext, session: Session
) -> None:
    say(session, "one", "two")
    output = run(context, "/edit")
    assert isinstance(output, Edit)
    assert output.text == "two"
    new = output.then("two and a half\n")
    assert isinstance(new, Say)
    assert new.content == "two and a half"
    assert asked(session) == ["one"]


def test_an_edited_question_keeps_its_images(context: CommandContext, session: Session) -> None:
    image = ImagePart(ImageUrl("https://example.org/x.png"))
    session.ask((TextPart("what is this?"), image))
    output = run(context, "/edit")
    assert isinstance(output, Edit)
    assert output.text == "what is this?"
    new = output.then("what is that?")
    assert isinstance(new, Say)
    assert new.content == (TextPart("what is that?"), image)
    # It had no reply that could come back.
    assert new.without_reply is not None
    session.fail(session.ask(new.content).turn, "no")
    assert new.without_reply() == Text("Turn 1 is undone; /retry asks the new one again.")
    assert session.unanswered is not None
    assert session.unanswered.turn == 2


@pytest.mark.parametrize("text", ["two", "two\n", "", " \n\n"])
def test_an_unchanged_or_empty_question_changes_nothing(
    context: CommandContext, session: Session, store: SessionStore, text: str
) -> None:
    say(session, "one", "two")
    before = store.text(session.id)
    output = run(context, "/edit")
    assert isinstance(output, Edit)
    assert output.then(text) == Text("Nothing was changed, and nothing was sent.")
    assert store.text(session.id) == before


def test_no_editor_for_a_private_conversation_and_for_one_that_is_only_read(
    store: SessionStore, session: Session, facts: Facts
) -> None:
    private = store.create(private=True)
    say(private, "one")
    with pytest.raises(UsageError, match="nothing of a private conversation is written"):
        run(about(private, store, facts), "/edit")
    say(session, "one")
    read = store.open(session.id, read_only=True)
    for line in ("/edit", "/undo", "/rewind 0", "/retry"):
        with pytest.raises(SessionReadOnly):
            run(about(read, store, facts), line)
    read.close()


def test_a_private_conversation_goes_back_and_forth(
    store: SessionStore, facts: Facts, home: Path
) -> None:
    private = store.create(private=True)
    say(private, "one", "two")
    context = about(private, store, facts)
    run(context, "/undo")
    assert asked(private) == ["one"]
    run(context, "/redo")
    assert asked(private) == ["one", "two"]
    with pytest.raises(UsageError, match="leaves no trace"):
        run(context, "/fork")
    assert not list(home.rglob("*.jsonl"))


def test_turns_are_offered_with_their_words(context: CommandContext, session: Session) -> None:
    say(session, "one", "two")
    session.go_to(1)
    command = context.registry.get("rewind")
    assert command.complete is not None
    assert list(command.complete(context, "")) == [("2", "two (undone)"), ("1", "one")]


def test_a_turn_that_was_erased_can_not_be_gone_to(
    context: CommandContext, session: Session
) -> None:
    say(session, "one")
    session.erased = frozenset({2})
    with pytest.raises(SessionError, match="Turn 2 was forgotten"):
        run(context, "/rewind 2")
