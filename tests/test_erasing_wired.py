"""How an erase is wired into a run: finished later, in another terminal, beside the worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from filelock import FileLock

from assistant.app import App, build_app
from assistant.memory.erasing.exports import Exports
from assistant.memory.session import Session
from assistant.messages import Message
from assistant.protocols import Erasure
from assistant.settings import load_settings
from assistant.turn import run_turn
from tests.fakes import FakeChatModel, FakeClock, FakeIds

ADDRESS = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

Start = Callable[[], App]


@pytest.fixture
def start(home: Path, clock: FakeClock) -> Iterator[Start]:
    """Starts the program as one terminal does; all share home, clock and ids."""
    ids, apps = FakeIds(), []

    def started() -> App:
        settings = load_settings(home, ADDRESS, {"memory.index": False, "memory.embedder": "none"})
        app = build_app(settings, titles="off", environment={}, clock=clock, new_id=ids)
        app.pipeline.model = FakeChatModel()
        apps.append(app)
        return app

    yield started
    for app in apps:
        app.close()


@pytest.fixture
def app(start: Start) -> App:
    return start()


def talk(app: App, text: str) -> Session:
    session = app.store.create()
    turn = session.ask(text).turn
    session.answer(Message("assistant", f"re {text}", turn=turn))
    return session


def left_behind(app: App, stage: Literal["agreed", "begun"], erasure: Erasure) -> None:
    """What a killed process leaves."""
    path = app.settings.data_folder / "erasing.json"
    path.write_bytes(msgspec.json.encode({"stage": stage, "erasure": erasure}))


def erasing(app: App, **what: object) -> Erasure:
    return msgspec.convert({"id": "e1", "ts": app.clock(), **what}, Erasure)


def test_mostly_nothing_is_to_be_finished(app: App) -> None:
    assert app.finish_erasing() == ""


def test_what_was_broken_off_is_finished_and_told_once(app: App) -> None:
    session = talk(app, "a zebra")
    session.close()
    left_behind(app, "begun", erasing(app, turns={session.id: [1]}))
    said: list[str] = []
    assert app.finish_erasing(said.append) == (
        "An erase that was broken off is finished: nothing left."
    )
    assert said[0].startswith("Erasing: session files (1 of ")
    assert "zebra" not in app.store.text(session.id)
    assert app.finish_erasing() == ""
    assert not app.eraser().unfinished()


def test_what_was_agreed_to_and_not_begun_is_told_and_not_done(app: App) -> None:
    session = talk(app, "a zebra")
    session.close()
    left_behind(app, "agreed", erasing(app, turns={session.id: [1]}))
    assert app.finish_erasing() == (
        "An erase that was agreed to was stopped before it began: nothing was erased. "
        "/forget it again."
    )
    assert "zebra" in app.store.text(session.id)
    assert app.finish_erasing() == ""


@pytest.mark.parametrize("stage", ["agreed", "begun"])
def test_what_another_terminal_is_doing_is_left_to_it(
    app: App, stage: Literal["agreed", "begun"]
) -> None:
    session = talk(app, "a zebra")
    session.close()
    left_behind(app, stage, erasing(app, turns={session.id: [1]}))
    with FileLock(app.settings.data_folder / ".erasing.json.lock"):
        assert app.finish_erasing() == ""
    assert app.eraser().unfinished()
    assert "zebra" in app.store.text(session.id)


def test_a_session_that_is_open_somewhere_is_waited_for(app: App, start: Start) -> None:
    session = talk(start(), "a zebra")
    left_behind(app, "begun", erasing(app, turns={session.id: [1]}))
    told = app.finish_erasing()
    assert told.startswith("An erase that was begun is not finished: ")
    assert session.id in told
    assert app.finish_erasing() == ""
    session.close()
    assert app.finish_erasing() == "An erase that was broken off is finished: nothing left."


def test_what_says_what_is_to_be_erased_can_not_be_read(app: App) -> None:
    path = app.settings.data_folder / "erasing.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    told = app.finish_erasing()
    assert told.startswith(f"An erase that was begun is not finished: {path} can't be read")
    assert "Remove that file, and erase again." in told
    assert app.finish_erasing() == ""


def test_what_stays_is_told_with_its_reason(app: App, tmp_path: Path) -> None:
    session = talk(app, "a zebra")
    session.close()
    exported = tmp_path / "out.md"
    exported.write_text("changed by hand")
    exports = Exports(app.settings.data_folder / "exports.json")
    exports.note(exported, session.id, app.clock(), b"a zebra")
    left_behind(app, "begun", erasing(app, turns={session.id: [1]}, exports=[str(exported)]))
    told = app.finish_erasing()
    assert told.startswith("An erase that was broken off went on. Left: exported files: Left where")
    assert not app.eraser().unfinished()


def test_a_second_terminal_finishes_it_after_its_next_turn(app: App, start: Start) -> None:
    """Without a new start: the first one may be gone for good."""
    session = talk(app, "a zebra")
    session.close()
    other = start()
    conversation = other.store.create()
    left_behind(app, "begun", erasing(app, turns={session.id: [1]}))
    for _ in range(2):
        run_turn("hello", conversation, other.pipeline, lambda event: None)
        assert other.worker.drain(10)
    assert list(other.asides.take()) == ["An erase that was broken off is finished: nothing left."]
    assert "zebra" not in app.store.text(session.id)
    assert [one.text for one in conversation.messages] == ["hello", "fine"] * 2
    conversation.close()


def test_a_second_terminal_says_once_that_it_can_not(app: App, start: Start) -> None:
    other = start()
    conversation = other.store.create()
    run_turn("a zebra", conversation, other.pipeline, lambda event: None)
    left_behind(app, "begun", erasing(app, turns={conversation.id: [1]}))
    for _ in range(2):
        run_turn("hello", conversation, other.pipeline, lambda event: None)
        assert other.worker.drain(10)
    (told,) = other.asides.take()
    assert told.startswith("An erase that was begun is not finished: ")
    # As soon as it is left, whoever comes next does it.
    conversation.close()
    assert app.finish_erasing() == "An erase that was broken off is finished: nothing left."
    assert "zebra" not in app.store.text(conversation.id)


def test_the_worker_rests_while_something_is_erased(app: App) -> None:
    done: list[str] = []
    begun = threading.Event()

    def slow() -> None:
        begun.set()
        done.append("slow")

    app.worker.submit("slow", slow)
    app.worker.submit("quick", lambda: done.append("quick"))
    with app.at_rest():
        # What was queued before is over.
        assert begun.is_set()
        assert done == ["slow", "quick"]
    app.worker.submit("later", lambda: done.append("later"))
    assert app.worker.drain(10)
    assert done[-1] == "later"


def test_the_eraser_of_a_run_starts_with_the_session_files(app: App) -> None:
    names = [store.name for store in app.eraser().stores]
    assert names[0] == "session files"
    # A step that is under way could put a vector back.
    assert names.index("memory index") < names.index("vector cache")
    assert len(set(names)) == len(names)
