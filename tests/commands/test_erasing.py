"""/forget: the questions in their order, what a no leaves alone, the receipt, and what stops it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from assistant.app import App, build_app
from assistant.commands.context import CommandContext
from assistant.commands.erasing import MANY, erased_when_free, preview_text, receipt_table
from assistant.commands.outputs import Choose, Confirm, Output, Table, Text, Work
from assistant.errors import (
    EraseBusy,
    EraseStopped,
    NothingToErase,
    SessionInUse,
    SessionNotFound,
    SessionReadOnly,
    UsageError,
    WrongEntry,
)
from assistant.memory.erasing.byte_search import files_with
from assistant.memory.erasing.eraser import Found, Left, Receipt
from assistant.memory.erasing.exports import Exports
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.messages import Message, ToolCall
from assistant.protocols import Change, Erasure, Match
from assistant.settings import load_settings
from tests.fakes import FakeClock, FakeIds

ADDRESS = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

Answer = bool | str | Sequence[int]


@pytest.fixture
def app(home: Path, clock: FakeClock) -> Iterator[App]:
    settings = load_settings(home, ADDRESS, {"memory.index": False, "memory.embedder": "none"})
    app = build_app(settings, environment={}, clock=clock, new_id=FakeIds(), titles="off")
    yield app
    app.close()


@pytest.fixture
def context(app: App, clock: FakeClock) -> Iterator[CommandContext]:
    """A conversation of three turns, one of them with a tool."""
    session = app.store.create()
    for number in (1, 2, 3):
        clock.advance(days=1)
        say(session, f"zebra {number}", tool=number == 2)
    context = app.context(session)
    yield context
    context.session.close()


@pytest.fixture
def other_terminal(home: Path, clock: FakeClock) -> SessionStore:
    return SessionStore(home / "sessions", home / "data", clock=clock, new_id=FakeIds("x"))


def say(session: Session, text: str, *, tool: bool = False) -> int:
    turn = session.ask(text).turn
    if tool:
        call = ToolCall("c1", "look", '{"for": "stripes"}')
        session.answer(Message("assistant", "", turn=turn, tool_calls=(call,)))
        session.answer(Message("tool", "striped", turn=turn, tool_call_id="c1"))
    session.answer(Message("assistant", f"re {text}", turn=turn))
    return turn


def quiet(text: str) -> None:
    """Says nothing to anyone."""


def forget(context: CommandContext, argument: str) -> Output:
    """The first thing it asks, or says."""
    return worked(context.registry.run(f"/forget {argument}", context))


def worked(output: Output) -> Output:
    """What comes of work."""
    while isinstance(output, Work):
        output = output.run(quiet)
    return output


def answered(output: Output, *answers: Answer) -> tuple[Output, list[str]]:
    """What comes of a command after these answers, and the questions that were asked."""
    asked: list[str] = []
    left = list(answers)
    output = worked(output)
    while isinstance(output, Confirm | Choose) and left:
        asked.append(output.question if isinstance(output, Confirm) else output.title)
        answer = left.pop(0)
        if isinstance(output, Choose):
            assert isinstance(answer, Sequence)
            assert not isinstance(answer, str)
            output = output.then(answer)
        elif answer == output.word if output.word else answer:
            output = output.then()
        else:
            output = output.otherwise() if output.otherwise else Text("Nothing was changed.")
        output = worked(output)
    assert not left, (left, output)
    return output, asked


def words_of(context: CommandContext) -> str:
    return " ".join(one.text for one in context.session.messages)


FOR_GOOD = "Erase this for good? It can't be brought back."


# --- forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "left"),
    [
        ("last", "zebra 1 re zebra 1 zebra 2  striped re zebra 2"),
        ("last 2", "zebra 1 re zebra 1"),
        ("LAST 99", ""),
        ("2", "zebra 1 re zebra 1 zebra 3 re zebra 3"),
        ("1-2", "zebra 3 re zebra 3"),
        ("s1.1, 3", "zebra 2  striped re zebra 2"),
        ("1 3", "zebra 2  striped re zebra 2"),
        ("since 2026-03-06", "zebra 1 re zebra 1"),
        ("before 2026-03-06", "zebra 2  striped re zebra 2 zebra 3 re zebra 3"),
        ("tools", "zebra 1 re zebra 1 zebra 2 re zebra 2 zebra 3 re zebra 3"),
        ("assistant", "zebra 1 zebra 2 zebra 3"),
        ("session s1", ""),
    ],
)
def test_what_each_form_leaves(context: CommandContext, argument: str, left: str) -> None:
    output, asked = answered(forget(context, argument), True)
    assert isinstance(output, Table)
    assert asked == [FOR_GOOD]
    assert words_of(context) == left
    assert output.note == "Erased, and every store read again: nothing left."


@pytest.mark.parametrize(
    ("argument", "error", "sentence"),
    [
        ("", UsageError, "What should be forgotten?"),
        ("zebra", UsageError, "“zebra” is no turn"),
        ("3-1", UsageError, "“3-1” runs backwards. Nothing was erased"),
        ("1 x", UsageError, "“x” is no turn"),
        ("last 0", UsageError, "“0” is no number of turns"),
        ("last x", UsageError, "“x” is no number of turns"),
        ("9", NothingToErase, "has no turn 9. Its turns go up to 3"),
        ("nowhere.1", SessionNotFound, "No session has the id or title “nowhere”"),
        ("about", UsageError, "About what?"),
        ("about unicorn", NothingToErase, "Nothing that is kept has to do with “unicorn”"),
        ("since", UsageError, "Which day?"),
        ("since someday or other", WrongEntry, ""),
        ("since 2027-01-01", UsageError, "still to come"),
        # The last December, not the next: every turn is from before that.
        ("before December", NothingToErase, "Nothing was said in that time"),
        ("before 十二月", NothingToErase, "Nothing was said in that time"),
        ("before noon tomorrow", UsageError, "still to come"),
        ("20260304-0506", UsageError, "looks like a session"),
        ("before", UsageError, "Which day?"),
        ("session", UsageError, "Which session?"),
        ("session nowhere", SessionNotFound, "nowhere"),
        ("everything now", UsageError, "takes nothing after it"),
        ("resume now", UsageError, "takes nothing after it"),
        ("verify", UsageError, "Which words"),
    ],
)
def test_what_is_not_meant_erases_nothing(
    context: CommandContext, argument: str, error: type[Exception], sentence: str
) -> None:
    before = words_of(context)
    with pytest.raises(error) as raised:
        worked(forget(context, argument))
    assert sentence in str(raised.value)
    assert words_of(context) == before
    assert not context.session.read_only


def test_nothing_was_said_yet(app: App) -> None:
    context = app.context(app.store.create())
    with pytest.raises(NothingToErase, match="Nothing has been said"):
        forget(context, "last")
    with pytest.raises(NothingToErase, match="has no turn 1"):
        forget(context, "1")


@pytest.mark.parametrize("argument", ["last", "1", "tool", "user"])
def test_of_a_private_conversation_there_is_nothing(app: App, argument: str) -> None:
    context = app.context(app.store.create(private=True))
    context.session.ask("a zebra")
    with pytest.raises(UsageError, match="private: nothing of it is kept"):
        forget(context, argument)


def test_in_a_private_conversation_others_are_erased(app: App, context: CommandContext) -> None:
    context.session.close()
    private = app.context(app.store.create(private=True))
    private.session.ask("a secret")
    output, _ = answered(forget(private, "s1.2"), True)
    assert isinstance(output, Table)
    assert "zebra 2" not in app.store.text("s1")
    # It goes on as it was.
    assert [one.text for one in private.session.messages] == ["a secret"]


# --- the questions --------------------------------------------------------------------------------


@pytest.fixture
def made(context: CommandContext, app: App, tmp_path: Path, clock: FakeClock) -> Path:
    """An event and a memo of the second turn, and an exported file; its path."""
    app.stores.calendar.create("Vet", clock(), source="s1.2")
    app.stores.memos.save("Feed it", source="s1.2")
    path = tmp_path / "out.md"
    path.write_text("zebra 2")
    Exports(app.settings.data_folder / "exports.json").note(path, "s1", clock(), b"zebra 2")
    return path


MADE, EXPORTED = "Erase that, too?", "Delete these files, too?"


@pytest.mark.parametrize("with_made", [True, False])
@pytest.mark.parametrize("with_exports", [True, False])
def test_first_what_was_made_there_then_exports_then_all_of_it(
    context: CommandContext, app: App, made: Path, with_made: bool, with_exports: bool
) -> None:
    first = forget(context, "2")
    assert isinstance(first, Confirm)
    assert first.shown is not None
    assert first.shown.text.splitlines()[0] == "Made in what is to go:"
    assert "Vet" in first.shown.text
    assert "memo: Feed it" in first.shown.text
    output, asked = answered(first, with_made, with_exports, True)
    assert asked == [MADE, EXPORTED, FOR_GOOD]
    assert isinstance(output, Table)
    assert "zebra 2" not in words_of(context)
    assert bool(app.stores.calendar.all()) is not with_made
    assert bool(app.stores.memos.search()) is not with_made
    assert made.exists() is not with_exports
    # What stays names the turn no more.
    assert all(one.source == "" for one in app.stores.memos.search())


def test_a_no_to_the_last_question_leaves_all(
    context: CommandContext, app: App, made: Path
) -> None:
    output, asked = answered(forget(context, "2"), True, True, False)
    assert asked == [MADE, EXPORTED, FOR_GOOD]
    assert output == Text("Nothing was changed.")
    assert "zebra 2" in words_of(context)
    assert made.exists()
    assert app.stores.calendar.all()
    assert app.stores.memos.search()
    assert not app.eraser().unfinished()


def test_the_preview_shows_what_goes(context: CommandContext, app: App) -> None:
    context.session.rename("of zebras")
    (app.settings.data_folder / "prompt_history").write_text("\n# now\n+zebra 2\n+\n")
    output = forget(context, "1-2")
    assert isinstance(output, Confirm)
    assert output.shown is not None
    lines = output.shown.text.splitlines()
    assert lines[0] == "session files: 5 messages, 1 tool result"
    assert lines[1] == "  s1.1.1: zebra 1"
    assert "  … and 1 more" in lines
    assert "title" not in output.shown.text


def test_kinds_are_counted_and_a_few_of_them_shown() -> None:
    matches = [Match("fact", f"f{n}", f"text {n}") for n in range(7)]
    shown = preview_text(
        [Found("facts", matches), Found("files", [Match("file", "a"), Match("file", "b")])]
    )
    assert shown.text.splitlines() == [
        "facts: 7 facts",
        *(f"  f{n}: text {n}" for n in range(5)),
        "  … and 2 more",
        "files: 2 files",
    ]


def test_many_turns_are_asked_about_twice(context: CommandContext, clock: FakeClock) -> None:
    for number in range(MANY):
        say(context.session, f"gnu {number}")
    question = f"These are {MANY + 1} turns. Really all of them?"
    output, asked = answered(forget(context, f"3-{MANY + 3}"), True, False)
    assert (asked, output) == ([FOR_GOOD, question], Text("Nothing was changed."))
    assert "gnu 7" in words_of(context)
    output, asked = answered(forget(context, f"3-{MANY + 3}"), True, True)
    assert asked == [FOR_GOOD, question]
    assert isinstance(output, Table)
    assert "gnu" not in words_of(context)
    assert "zebra 2" in words_of(context)


@pytest.mark.parametrize("typed", ["", "y", "yes", "Everything!"])
def test_everything_wants_its_word(
    context: CommandContext, app: App, made: Path, typed: str
) -> None:
    output, asked = answered(forget(context, "everything"), False, typed)
    assert asked == [EXPORTED, FOR_GOOD]
    assert output == Text("Nothing was changed.")
    assert "zebra 1" in words_of(context)


def test_everything_goes(context: CommandContext, app: App, made: Path, home: Path) -> None:
    output, _ = answered(forget(context, "everything"), True, "everything")
    assert isinstance(output, Table)
    assert list(files_with("zebra", home, [made])) == []
    assert not made.exists()
    assert context.session.id != "s1"
    context.session.ask("and on")


def test_words_are_ticked_off(context: CommandContext, app: App) -> None:
    context.session.rename("zebra 2")
    app.stores.facts.remember("My zebra 2 is called Bob")
    output = worked(forget(context, "about zebra 2"))
    assert isinstance(output, Choose)
    assert [one.partition(":")[0].rpartition(" ")[0] for one in output.items][:3] == [
        "turn",
        "title of session",
        "fact",
    ]
    # Those that only bear on it are there to tick, and not ticked.
    assert list(output.marked) == [0, 1, 2]
    assert all("(by its meaning)" in one for one in output.items[3:])
    nothing, _ = answered(output, ())
    assert nothing == Text("Nothing was erased.")
    done, asked = answered(output, (0, 2), True)
    assert isinstance(done, Table)
    assert asked[1:] == [FOR_GOOD]
    assert "zebra 2" not in words_of(context)
    assert context.session.title == "zebra 2"
    assert app.stores.facts.history() == []


# --- the erasing ----------------------------------------------------------------------------------


def test_what_the_terminal_remembers_is_forgotten(context: CommandContext) -> None:
    told: list[Erasure | None] = []
    context.forgotten = told.append
    context.changed(Change("something", lambda: None))
    answered(forget(context, "last"), True)
    assert context.changes == []
    assert context.last_turn is None
    assert [one is not None and one.turns for one in told] == [{"s1": (3,)}]


def test_a_session_that_is_only_read_is_erased_from_once_it_is_free(
    app: App, context: CommandContext, other_terminal: SessionStore
) -> None:
    context.session.close()
    reading = app.context(app.store.open("s1", read_only=True))
    output, _ = answered(forget(reading, "2"), True)
    assert isinstance(output, Table)
    assert "zebra 2" not in words_of(reading)
    assert reading.session.read_only


def test_it_waits_for_another_terminal(
    context: CommandContext, app: App, other_terminal: SessionStore
) -> None:
    held = say_there(other_terminal, "gnu")
    said: list[str] = []

    def told(text: str) -> None:
        said.append(text)
        held.close()

    confirm = forget(context, f"{held.id}.1")
    assert isinstance(confirm, Confirm)
    work = confirm.then()
    assert isinstance(work, Work)
    output = work.run(told)
    assert isinstance(output, Table)
    assert said[0] == f"Waiting: session {held.id} is open in another terminal. Close it."
    assert "gnu" not in other_terminal.text(held.id)


def test_it_gives_up_waiting_and_nothing_was_touched(
    context: CommandContext, app: App, other_terminal: SessionStore
) -> None:
    held = say_there(other_terminal, "gnu")
    erasure = Erasure("e1", app.clock(), turns={"s1": (1,), held.id: (1,)})
    with context.stepping_aside(erasure), pytest.raises(SessionInUse, match=held.id):
        erased_when_free(app.eraser(), erasure, quiet, patience=-1)
    assert "zebra 1" in words_of(context)
    assert not app.eraser().unfinished()
    held.close()


def say_there(store: SessionStore, text: str) -> Session:
    session = store.create()
    say(session, text)
    return session


def test_ctrl_c_while_it_waits_changes_nothing(
    context: CommandContext, app: App, other_terminal: SessionStore
) -> None:
    held = say_there(other_terminal, "gnu")
    confirm = forget(context, f"1 {held.id}.1")
    assert isinstance(confirm, Confirm)
    work = confirm.then()
    assert isinstance(work, Work)
    with pytest.raises(KeyboardInterrupt):
        work.run(_interrupt)
    assert not app.eraser().unfinished()
    assert "zebra 1" in words_of(context)
    # The session at hand goes on.
    say(context.session, "and on")
    held.close()


def _interrupt(text: str) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_on_its_way_leaves_the_rest_to_resume(context: CommandContext, app: App) -> None:
    app.stores.memos.save("zebra food", source="s1.1")

    def interrupt_second(text: str) -> None:
        if "(2 of" in text:
            raise KeyboardInterrupt

    confirm = worked(forget(context, "about zebra food"))
    assert isinstance(confirm, Choose)
    confirm = worked(confirm.then(confirm.marked))
    assert isinstance(confirm, Confirm)
    work = confirm.then()
    assert isinstance(work, Work)
    with pytest.raises(EraseStopped, match="stopped on its way"):
        work.run(interrupt_second)
    assert app.eraser().unfinished()
    assert app.stores.memos.search()
    say(context.session, "meanwhile")
    receipt, _ = answered(forget(context, "resume"))
    assert isinstance(receipt, Table)
    assert not app.stores.memos.search()
    again, _ = answered(forget(context, "resume"))
    assert again == Text("No erase was broken off.")


def test_one_erases_at_a_time(context: CommandContext, app: App) -> None:
    def meanwhile(text: str) -> None:
        with pytest.raises(EraseBusy):
            app.eraser().finish(quiet)

    confirm = forget(context, "last")
    assert isinstance(confirm, Confirm)
    work = confirm.then()
    assert isinstance(work, Work)
    assert isinstance(work.run(meanwhile), Table)


def test_a_session_of_a_newer_version_is_refused_before_anything_is_begun(
    context: CommandContext, app: App, home: Path
) -> None:
    context.session.close()
    with (home / "sessions" / "s1.jsonl").open("ab") as file:
        file.write(b'{"v":2,"type":"new"}\n')
    other = app.context(app.store.create())
    with pytest.raises(SessionReadOnly, match="newer version"):
        forget(other, "s1.1")
    assert not app.eraser().unfinished()


# --- the receipt ----------------------------------------------------------------------------------


def test_a_receipt_names_what_is_left_and_why() -> None:
    receipt = Receipt([Left("facts", 1_200, 0), Left("memory index", 0, 2, "It is locked.")])
    table = receipt_table(receipt)
    assert table.columns == ("Store", "Erased", "Left", "Why")
    assert table.rows == [("facts", "1,200", "0", ""), ("memory index", "0", "2", "It is locked.")]
    assert table.note == ("Erased as far as it is in reach. What is left, and why, stands above.")
    assert receipt_table(Receipt([Left("facts", 1, 0)])).note == (
        "Erased, and every store read again: nothing left."
    )


def test_words_are_looked_for_in_every_byte(context: CommandContext) -> None:
    found, _ = answered(forget(context, "verify zebra 2"))
    assert found == Text("“zebra 2” still stands in:\n  sessions/s1.jsonl: 2 times")
