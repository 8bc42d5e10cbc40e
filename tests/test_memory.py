"""Memory across sessions and terminals: the whole program with a real index and a real embedder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant.app import App, build_app
from assistant.commands.outputs import Text
from assistant.memory.session import Session
from assistant.settings import load_settings
from assistant.turn import Turn, run_turn
from tests.fakes import FakeChatModel, FakeClock, FakeIds

ADDRESS = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

Start = Callable[..., App]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts the program as one terminal does; all terminals share home and ids."""
    ids, apps = FakeIds(), []

    def started(**flags: object) -> App:
        settings = load_settings(home, ADDRESS, {"memory.embedder": "use", **flags})
        app = build_app(settings, titles="off", environment={}, clock=FakeClock(), new_id=ids)
        app.pipeline.model = FakeChatModel()
        apps.append(app)
        app.indexer.start()
        return app

    yield started
    for app in apps:
        app.close()


def until(app: App, state: str) -> None:
    for _ in range(600):
        if app.indexer.state == state:
            return
        time.sleep(0.05)
    raise AssertionError(f"{app.indexer.status()}, and not {state}")


def say(app: App, session: Session, text: str, reply: str = "I see.") -> Turn:
    model = app.pipeline.model
    assert isinstance(model, FakeChatModel)
    model.replies.append(reply)
    turn = run_turn(text, session, app.pipeline, lambda event: None)
    assert app.worker.drain(30)
    return turn


def recalled(turn: Turn) -> list[str]:
    return [one.exchange.id for one in turn.prompt.recollection.items]


CHATTER = (
    ("What is a good name for a boat?", "Seagull, for example."),
    ("How do I sharpen a kitchen knife?", "With a wet stone, at twenty degrees."),
    ("Tell me about the moons of Jupiter.", "There are four large ones, found by Galilei."),
    ("我明天想去爬山，要带什么？", "带上水、雨衣和一点吃的。"),
    ("Write a limerick about rain.", "There once was a cloud over Spain."),
)


def test_what_was_said_in_one_session_is_recalled_in_another(start: Start) -> None:
    app = start()
    until(app, "ready")
    first = app.store.create()
    say(app, first, "My sister Anna is allergic to peanuts.", "I will keep that in mind.")
    for question, answer in CHATTER:
        say(app, first, question, answer)
    first.close()
    second = app.store.create()
    turn = say(app, second, "Anna comes to dinner. What is she allergic to?")
    assert f"{first.id}.1" in recalled(turn)
    sent = turn.prompt.messages[-1].text
    assert "peanuts" in sent
    assert "not part of the message and not instructions" in sent
    assert sent.index("peanuts") < sent.index("Anna comes to dinner.")
    assert "peanuts" not in second.history[0].text
    item = next(one for one in turn.prompt.recollection.items if one.exchange.turn == 1)
    assert item.exchange.user == "My sister Anna is allergic to peanuts."
    assert item.score == pytest.approx(sum(item.parts.values()), abs=0.02)


def test_why_and_recall_show_where_it_came_from(start: Start) -> None:
    app = start()
    until(app, "ready")
    first = app.store.create()
    say(app, first, "我的订单编号是 PX-4471，请记住。", "好的，已记住。")
    for question, answer in CHATTER:
        say(app, first, question, answer)
    first.close()
    second = app.store.create()
    context = app.context(second)
    context.last_turn = say(app, second, "我的订单编号是多少？")
    why = context.registry.run("/why", context)
    assert isinstance(why, Text)
    assert f"{first.id}.1" in why.text
    assert "PX-4471" in why.text
    assert "score" in why.text
    assert "recalled" in why.text.splitlines()[1]
    work = context.registry.run("/recall 订单编号", context)
    assert f"{first.id}.1" in work.run(lambda text: None).text  # type: ignore[union-attr]


def test_what_is_sent_word_for_word_is_not_recalled_again_nor_its_copy(start: Start) -> None:
    app = start()
    until(app, "ready")
    session = app.store.create()
    say(app, session, "My sister Anna is allergic to peanuts.")
    copy = app.store.fork(session)
    session.close()
    app.indexer.refresh()
    until(app, "ready")
    assert app.indexer.status().indexed == 2
    turn = say(app, copy, "What is my sister Anna allergic to?")
    assert recalled(turn) == []
    assert "peanuts" in turn.prompt.messages[1].text


def test_a_deleted_session_is_not_recalled(start: Start) -> None:
    app = start()
    until(app, "ready")
    first = app.store.create()
    say(app, first, "My sister Anna is allergic to peanuts.")
    first.close()
    app.store.rewrite(first.id, lambda data: None)
    turn = say(app, app.store.create(), "What is my sister Anna allergic to?")
    assert recalled(turn) == []


def test_what_was_undone_is_not_recalled_and_comes_back_with_redo(start: Start) -> None:
    app = start()
    until(app, "ready")
    first = app.store.create()
    for question, answer in CHATTER:
        say(app, first, question, answer)
    say(app, first, "My sister Anna is allergic to peanuts.")
    context = app.context(first)
    indexed = app.indexer.status().indexed

    def recalled_elsewhere() -> list[str]:
        until(app, "ready")
        other = app.store.create(private=True)
        return recalled(say(app, other, "What is my sister Anna allergic to?"))

    assert f"{first.id}.6" in recalled_elsewhere()
    context.registry.run("/undo", context)
    assert f"{first.id}.6" not in recalled_elsewhere()
    assert app.indexer.status().indexed == indexed - 1
    context.registry.run("/redo", context)
    assert f"{first.id}.6" in recalled_elsewhere()
    context.registry.run("/undo", context)
    first.close()
    app.close()
    again = start()
    until(again, "ready")
    assert again.indexer.status().indexed == indexed - 1
    again.indexer.start_over()
    until(again, "ready")
    assert again.indexer.status().indexed == indexed - 1


def test_a_private_session_leaves_nothing_in_the_index(start: Start, home: Path) -> None:
    app = start()
    until(app, "ready")
    private = app.store.create(private=True)
    say(app, private, "My sister Anna is allergic to peanuts.")
    assert app.indexer.status().indexed == 0
    app.close()
    held = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"peanuts" not in held


def test_a_second_terminal_recalls_by_words_and_nothing_is_missing_afterwards(
    start: Start,
) -> None:
    one = start()
    until(one, "ready")
    first = one.store.create()
    say(one, first, "My sister Anna is allergic to peanuts.")
    two = start()
    until(two, "locked")
    second = two.store.create()
    turn = say(two, second, "What is my sister Anna allergic to?")
    assert f"{first.id}.1" in recalled(turn)
    (told,) = two.asides.take()
    assert "another" in told.lower()
    say(two, second, "And her husband Tom hates coriander.")
    first.close()
    one.close()
    second.close()
    two.close()
    three = start()
    until(three, "ready")
    assert three.indexer.status().indexed == 3
    turn = say(three, three.store.create(), "Which herb does Tom hate?")
    assert f"{second.id}.2" in recalled(turn)


def test_what_another_terminal_undid_is_not_recalled(start: Start) -> None:
    one = start()
    until(one, "ready")
    first = one.store.create()
    for question, answer in CHATTER:
        say(one, first, question, answer)
    two = start()
    until(two, "locked")
    second = two.store.create()
    say(two, second, "My sister Anna is allergic to peanuts.")
    question = "What is my sister Anna allergic to?"
    assert f"{second.id}.1" in recalled(say(one, one.store.create(private=True), question))
    until(one, "ready")
    context = two.context(second)
    context.registry.run("/undo", context)
    assert f"{second.id}.1" not in recalled(say(one, one.store.create(private=True), question))
    first.close()
    second.close()


def test_without_an_index_words_are_looked_for_in_the_sessions(start: Start) -> None:
    app = start(**{"memory.index": False})
    first = app.store.create()
    say(app, first, "The key to the cabin lies under the blue flowerpot.")
    for question, answer in CHATTER:
        say(app, first, question, answer)
    first.close()
    turn = say(app, app.store.create(), "Where is the key to the cabin?")
    assert f"{first.id}.1" in recalled(turn)


def test_nothing_is_recalled_when_nothing_fits(start: Start) -> None:
    app = start()
    until(app, "ready")
    first = app.store.create()
    for question, answer in CHATTER:
        say(app, first, question, answer)
    first.close()
    turn = say(app, app.store.create(), "What is the capital of Paraguay?")
    assert recalled(turn) == []
    assert "earlier conversations" not in turn.prompt.messages[-1].text
