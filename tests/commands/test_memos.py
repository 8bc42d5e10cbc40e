"""/memo, as it is typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.commands.context import CommandContext
from assistant.commands.memos import SHOWN, group, split_tags
from assistant.commands.outputs import Output, Table, Text, Work
from assistant.errors import EntryChanged, NoSuchEntry, UsageError
from assistant.memory.memos import Memos
from assistant.memory.session_store import SessionStore
from tests.commands.contexts import context_of
from tests.fakes import FakeClock, FakeIds


@pytest.fixture
def memos(home: Path, clock: FakeClock) -> Memos:
    return Memos(home / "data" / "memos.jsonl", clock, FakeIds(), lambda: None)


@pytest.fixture
def context(store: SessionStore, memos: Memos) -> Iterator[CommandContext]:
    session = store.create()
    yield context_of(session, store, group, memos=memos)
    session.close()


def typed(context: CommandContext, line: str) -> Output:
    output = context.registry.run(line, context)
    return output.run(lambda text: None) if isinstance(output, Work) else output


def said(context: CommandContext, line: str) -> str:
    output = typed(context, line)
    assert isinstance(output, Text)
    return output.text


def listed(context: CommandContext, line: str) -> list[str]:
    output = typed(context, line)
    assert isinstance(output, Table)
    return [row[2] for row in output.rows]


def test_what_is_typed_is_kept_and_can_be_taken_back(context: CommandContext, memos: Memos) -> None:
    assert said(context, "/memo the code is PX-4471 #work #Codes") == (
        "✓ memo saved: the code is PX-4471 #work #codes (ms1) · /undo-last takes it back"
    )
    (memo,) = memos.search()
    assert (memo.text, memo.tags) == ("the code is PX-4471", ("work", "codes"))
    context.changes.pop().undo()
    assert memos.search() == []


@pytest.mark.parametrize(
    ("line", "text", "tags"),
    [
        ("buy milk #shop #to-do", "buy milk", ["#shop", "#to-do"]),
        ("买牛奶 ＃购物", "买牛奶", ["＃购物"]),
        ("see issue #42", "see issue #42", []),
        ("the #1 song of 1999", "the #1 song of 1999", []),
        ("use #tags inside a text", "use #tags inside a text", []),
        ("learn C#", "learn C#", []),
        ("#idea", "#idea", []),
        ("two\nlines #x", "two\nlines", ["#x"]),
    ],
)
def test_tags_are_those_at_the_end(line: str, text: str, tags: list[str]) -> None:
    found, at_end = split_tags(line)
    assert (found, list(at_end)) == (text, tags)


def test_add_keeps_what_begins_with_another_verb(context: CommandContext, memos: Memos) -> None:
    typed(context, "/memo add delete the old photos")
    assert memos.search()[0].text == "delete the old photos"


@pytest.mark.parametrize(
    "line", ["/memo delete the old photos", "/memo show me around", "/memo list of groceries"]
)
def test_a_line_that_may_be_a_memo_is_not_guessed(
    context: CommandContext, memos: Memos, line: str
) -> None:
    typed(context, "/memo one")
    with pytest.raises(UsageError, match="begin it with /memo add"):
        typed(context, line)
    assert len(memos.search()) == 1


def test_the_list_has_the_newest_first_and_by_tag(
    context: CommandContext, clock: FakeClock
) -> None:
    assert said(context, "/memo") == "There are no memos. /memo <text> keeps one."
    for line in ("one #a", "two #b", "three #a"):
        typed(context, f"/memo {line}")
        clock.advance(hours=1)
    assert listed(context, "/memo") == listed(context, "/memo list") == ["three", "two", "one"]
    assert listed(context, "/memo list #A") == ["three", "one"]
    assert said(context, "/memo list #none").startswith("No memo has the tag #none.")


def test_a_long_list_says_that_there_are_more(context: CommandContext, memos: Memos) -> None:
    for number in range(SHOWN + 1):
        memos.save(f"memo {number} {'x' * 1_000}")
    output = typed(context, "/memo")
    assert isinstance(output, Table)
    assert len(output.rows) == SHOWN
    assert output.note.startswith(f"Only {SHOWN} are shown.")
    assert max(len(row[2]) for row in output.rows) == 60


def test_search_finds_by_words_or_says_that_nothing_fits(context: CommandContext) -> None:
    typed(context, "/memo the plumber is called Rossi")
    typed(context, "/memo 妈妈对花生过敏")
    assert listed(context, "/memo search plumbers") == ["the plumber is called Rossi"]
    assert listed(context, "/memo search 花生") == ["妈妈对花生过敏"]
    assert said(context, "/memo search quantum") == "No memo has to do with this: quantum"


def test_show_gives_it_whole(context: CommandContext, memos: Memos, clock: FakeClock) -> None:
    text = "line one\n  " + "word " * 100 + "end"
    memos.save(text, ["a"], source="s1.4")
    shown = said(context, "/memo show MS1")
    assert shown.endswith(text)
    assert re.match(r"ms1 · written 2026-.* · in s1\.4 · #a · 514 characters\n", shown)
    clock.advance(days=1)
    typed(context, "/memo edit ms1 other")
    assert " · changed 2026-" in said(context, "/memo show ms1")


def test_edit_gives_another_text_and_keeps_the_tags(context: CommandContext, memos: Memos) -> None:
    typed(context, "/memo one #a")
    assert "memo changed: two (was: one)" in said(context, "/memo edit ms1 two")
    assert memos.get("ms1").tags == ("a",)
    typed(context, "/memo edit ms1 two #b")
    assert memos.get("ms1").tags == ("b",)
    assert "says so already" in said(context, "/memo edit ms1 two")
    assert len(context.changes) == 3
    for change in reversed(context.changes):
        change.undo()
    assert memos.search() == []


def test_delete_can_be_taken_back_unless_another_came_first(
    context: CommandContext, memos: Memos
) -> None:
    typed(context, "/memo one")
    assert "memo deleted: one" in said(context, "/memo delete ms1")
    assert memos.search() == []
    change = context.changes.pop()
    change.undo()
    assert memos.get("ms1").text == "one"
    with pytest.raises(EntryChanged):
        change.undo()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/memo add", "What should be kept"),
        ("/memo search", "Which memo is looked for"),
        ("/memo show", "Which memo"),
        ("/memo edit", "Which memo"),
        ("/memo delete", "Which memo"),
        ("/memo edit ms1", "What should ms1 say"),
        ("/memo delete ms1 please", "one id and nothing after it"),
    ],
)
def test_a_wrong_call_says_what_is_missing(
    context: CommandContext, memos: Memos, line: str, message: str
) -> None:
    typed(context, "/memo one")
    with pytest.raises(UsageError, match=message):
        typed(context, line)
    assert [memo.text for memo in memos.search()] == ["one"]


def test_an_unknown_id_is_said_to_be_none(context: CommandContext) -> None:
    with pytest.raises(NoSuchEntry, match="“mzzz” does not exist"):
        typed(context, "/memo delete mzzz")


def test_a_private_conversation_writes_nothing(
    context: CommandContext, store: SessionStore, memos: Memos, home: Path
) -> None:
    typed(context, "/memo one")
    private = context_of(store.create(private=True), store, group, memos=memos)
    for line in ("/memo secret", "/memo add secret", "/memo edit ms1 secret", "/memo delete ms1"):
        with pytest.raises(UsageError, match="private"):
            typed(private, line)
    assert listed(private, "/memo") == listed(private, "/memo search one") == ["one"]
    for path in home.rglob("*"):
        assert path.is_dir() or b"secret" not in path.read_bytes()


def test_verbs_and_ids_are_completed(context: CommandContext) -> None:
    typed(context, "/memo the plumber")
    complete = context.registry.get("memo").complete
    assert complete is not None
    assert dict(complete(context, "")).keys() == {"add", "list", "search", "show", "edit", "delete"}
    assert list(complete(context, "show ")) == [("show ms1", "the plumber")]
    assert list(complete(context, "add ")) == []
