"""What the one place that wires makes of the settings, and what happens after a turn."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assistant.app import App, build_app, log_to, read_prompt
from assistant.errors import ChatModelError, TimedOut
from assistant.memory.session import Session
from assistant.messages import Message
from assistant.prompt import ToolSchema
from assistant.settings import load_settings
from assistant.turn import run_turn
from tests.endpoint import Endpoint
from tests.fakes import FakeChatModel, FakeClock, FakeIds, Reply

ADDRESS = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


def build(home: Path, environment: dict[str, str], *, private: bool = False) -> App:
    settings = load_settings(home, environment, {"memory.index": False})
    return build_app(settings, private=private, environment={}, clock=FakeClock(), new_id=FakeIds())


@pytest.fixture
def app(home: Path) -> Iterator[App]:
    app = build(home, ADDRESS)
    yield app
    app.close()


def talk(app: App, *replies: Reply) -> Session:
    app.pipeline.model = FakeChatModel(list(replies))
    session = app.store.create()
    run_turn("I plan a trip to Kyoto in April", session, app.pipeline, lambda event: None)
    assert app.worker.drain(10)
    return session


def test_the_model_titles_a_new_session(app: App) -> None:
    session = talk(app, "Lovely.", '"Kyoto in April."\n')
    assert (session.title, session.title_by) == ("Kyoto in April", "auto")
    model = app.pipeline.model
    assert isinstance(model, FakeChatModel)
    assert model.sent[1][0].text == read_prompt(app.settings.home, "title")
    assert "I plan a trip to Kyoto in April" in model.sent[1][1].text


@pytest.mark.parametrize("answer", [TimedOut("No answer."), "", "x" * 900])
def test_without_a_title_from_the_model_the_first_words_stay(app: App, answer: Reply) -> None:
    assert talk(app, "Lovely.", answer).title == "I plan a trip to Kyoto in April"


@dataclass
class Several(FakeChatModel):
    """Gives models of other names, and knows which of them are closed."""

    others: list[Several] = field(default_factory=list)
    closed: bool = False

    def another(self, name: str | None = None) -> Several:
        self.others.append(Several(["From the other one."], name=name or self.name, window=5_000))
        return self.others[-1]

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("error", [None, TimedOut("No answer."), KeyboardInterrupt()])
def test_another_model_answers_for_a_while_and_nothing_else_asks_it(
    app: App, error: BaseException | None
) -> None:
    usual = Several(["The usual one.", "A title"])
    app.pipeline.model = usual
    session = app.store.create()
    with (
        pytest.raises(type(error)) if error else nullcontext(),
        app.answered_by("large-one") as pipeline,
    ):
        turn = run_turn("who are you?", session, pipeline, lambda event: None)
        assert turn.reply is not None
        assert turn.reply.text == "From the other one."
        assert app.pipeline.model is usual
        if error is not None:
            raise error
    assert app.worker.drain(10)
    profile = app.pipeline.profiles.profile("nowhere", "large-one", configured=None)
    assert profile.window == 5_000
    assert not usual.sent
    assert [one.closed for one in usual.others] == [True]
    with app.answered_by(None) as pipeline:
        assert pipeline is app.pipeline


def test_a_title_given_meanwhile_is_not_replaced(app: App) -> None:
    app.pipeline.model = model = FakeChatModel(["Lovely.", "Kyoto"])
    session = app.store.create()
    model.before_reply = lambda: len(model.sent) == 2 and session.rename("mine") and None
    run_turn("I plan a trip", session, app.pipeline, lambda event: None)
    assert app.worker.drain(10)
    assert session.title == "mine"


def test_the_window_is_asked_for_once_and_kept(home: Path) -> None:
    with Endpoint() as endpoint:
        endpoint.models = [{"id": "big", "max_model_len": 50_000}]
        environment = {"OPENAI_BASE_URL": endpoint.url, "MODEL_NAME": "big"}
        app = build(home, environment)
        app.warm_up()
        assert app.worker.drain(60)
        profile = app.pipeline.profile()
        assert (profile.window, profile.window_source) == (50_000, "endpoint")
        app.close()
    later = build(home, environment)
    later.learn_window()
    assert later.pipeline.profile().window == 50_000
    later.close()


def test_the_embedded_model_s_window_is_the_one_it_is_started_with(home: Path) -> None:
    app = build(home, {})
    assert app.pipeline.model.address == "embedded"
    assert app.pipeline.profile().window == app.pipeline.model.context_window() == 8_192
    app.close()


@dataclass
class ReadingModel(FakeChatModel):
    """Reads ahead: it keeps what, or fails."""

    read: list[tuple[Sequence[Message], Sequence[ToolSchema]]] = field(default_factory=list)
    failure: ChatModelError | None = None

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> None:
        if self.failure is not None:
            raise self.failure
        self.read.append((tuple(messages), tuple(tools)))


@pytest.mark.parametrize("private", [False, True])
def test_what_every_prompt_begins_with_is_read_ahead_with_the_tools(
    home: Path, private: bool
) -> None:
    app = build(home, ADDRESS, private=private)
    app.pipeline.model = model = ReadingModel()
    app.warm_up()
    assert app.worker.drain(60)
    turn = run_turn("hi", app.store.create(private=private), app.pipeline, lambda event: None)
    assert model.read == [(turn.prompt.messages[:1], tuple(turn.prompt.tools))]
    assert turn.prompt.tools
    assert app.worker.drain(10)
    app.close()


def test_a_model_that_can_not_read_ahead_is_asked_all_the_same(app: App, home: Path) -> None:
    app.pipeline.model = ReadingModel(["Hello."], failure=TimedOut("No answer."))
    app.warm_up()
    assert app.worker.drain(60)
    turn = run_turn("hi", app.store.create(), app.pipeline, lambda event: None)
    assert turn.reply is not None
    log = (home / "data" / "logs" / "assistant.log").read_text("utf-8")
    assert "Nothing was read ahead: TimedOut" in log
    assert "failed" not in log


def test_a_look_up_of_memos_in_private_keeps_no_vector(home: Path) -> None:
    before = build(home, ADDRESS)
    before.stores.memos.save("The spare key is under the flower pot.")
    before.close()
    with Endpoint() as endpoint:
        environment = {"OPENAI_BASE_URL": endpoint.url, "EMBEDDING_MODEL": "letters"}
        for private in (True, False):
            app = build(home, environment, private=private)
            assert len(app.stores.memos.search("Where is the spare key?")) == 1
            for thread in threading.enumerate():
                if thread.name == "memos":
                    thread.join()
            assert bool(endpoint.embedded) is not private
            assert (home / "data" / "vectors.sqlite3").exists() is not private
            app.close()


def test_a_private_run_writes_no_file_whatever_happens(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    app = build(home, ADDRESS, private=True)
    app.pipeline.model = FakeChatModel(["a", "b"])
    session = app.store.create(private=True)
    run_turn("secret", session, app.pipeline, lambda event: None)
    app.worker.submit("breaks", lambda: [][0])
    assert app.worker.drain(10)
    app.store.list()
    app.close()
    assert not home.exists()
    assert capfd.readouterr() == ("", "")


def test_what_fails_beside_the_talk_goes_to_a_log_of_the_user_s_own(app: App, home: Path) -> None:
    app.worker.submit("breaks", lambda: [][0])
    assert app.worker.drain(10)
    log = home / "data" / "logs" / "assistant.log"
    assert "The job 'breaks' failed" in log.read_text("utf-8")
    assert log.stat().st_mode & 0o077 == 0


def test_the_log_does_not_quote_what_was_said(app: App, home: Path) -> None:
    def fails() -> None:
        try:
            int("the quagga")
        except ValueError as error:
            raise KeyError("quagga") from error

    app.worker.submit("breaks", fails)
    assert app.worker.drain(10)
    log = (home / "data" / "logs" / "assistant.log").read_text("utf-8")
    assert "in fails" in log
    assert log.index("KeyError\nwhich came of:") < log.index("\nValueError")
    assert "'quagga'" not in log
    assert "literal" not in log


def test_a_prompt_in_the_home_stands_above_the_shipped_one(home: Path) -> None:
    shipped = read_prompt(home, "system")
    (home / "config" / "prompts").mkdir(parents=True)
    (home / "config" / "prompts" / "system.md").write_text(" Mine. \n")
    assert read_prompt(home, "system") == "Mine."
    assert len(shipped) > 100


def test_an_erase_that_can_not_go_on_keeps_nobody_from_starting(app: App) -> None:
    session = talk(app, "Lovely.", "Kyoto")
    session.close()
    path = app.settings.sessions_folder / f"{session.id}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"v":99,"type":"new"}\n')
    journal = app.settings.data_folder / "erasing.json"
    erasure = f'{{"id":"x","ts":"2026-11-30T09:00:00Z","turns":{{"{session.id}":[1]}}}}'
    journal.write_text(f'{{"stage":"begun","erasure":{erasure}}}')
    assert "is not finished: Session" in app.finish_erasing()
    assert journal.exists()


def test_a_log_that_can_not_be_written_says_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "assistant.log").symlink_to("/dev/full")
    log_to(folder / "assistant.log")
    logging.getLogger("assistant").warning("Something")
    log_to(None)
    assert capsys.readouterr() == ("", "")
