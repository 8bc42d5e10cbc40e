"""/remember and /memory, as they are typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.commands.context import CommandContext
from assistant.commands.facts import group
from assistant.commands.outputs import Table, Text
from assistant.errors import NoSuchEntry, UsageError, WrongEntry
from assistant.memory.facts.facts import Facts
from assistant.memory.session_store import SessionStore
from tests.commands.contexts import context_of
from tests.memory.facts.test_facts import NOW, Days, day, letters, texts


@pytest.fixture
def times() -> Days:
    return Days()


@pytest.fixture
def facts(home: Path, times: Days) -> Facts:
    return Facts(home / "data" / "facts.jsonl", times=times, new_letters=letters())


@pytest.fixture
def context(store: SessionStore, facts: Facts, times: Days) -> Iterator[CommandContext]:
    session = store.create()
    yield context_of(session, store, group, facts=facts, times=times)
    session.close()


def said(context: CommandContext, line: str) -> str:
    output = context.registry.run(line, context)
    assert isinstance(output, Text)
    return output.text


def rows(context: CommandContext, line: str) -> list[tuple[str, ...]]:
    output = context.registry.run(line, context)
    assert isinstance(output, Table)
    return [tuple(row) for row in output.rows]


def test_what_is_typed_is_kept_and_can_be_taken_back(context: CommandContext, facts: Facts) -> None:
    assert said(context, "/remember I live in Berlin") == (
        "✓ remembered: I live in Berlin (fbbb) · /undo-last takes it back"
    )
    assert texts(facts.in_force(NOW)) == ["I live in Berlin"]
    context.changes.pop().undo()
    assert facts.in_force(NOW) == []


def test_what_it_replaced_is_told(context: CommandContext, times: Days) -> None:
    said(context, "/remember I live in Berlin")
    times.time = day(3)
    assert said(context, "/memory add I moved to Munich") == (
        "✓ remembered: I moved to Munich (fbbc), was: I live in Berlin, until 2026-12-03 · "
        "/undo-last takes it back"
    )


def test_what_is_known_is_said_to_be(context: CommandContext) -> None:
    said(context, "/remember I like tea")
    assert said(context, "/remember I like tea") == "That is known already (fbbb): I like tea"
    assert len(context.changes) == 1


def test_a_secret_is_refused(context: CommandContext, facts: Facts) -> None:
    with pytest.raises(WrongEntry, match="Nothing was kept"):
        context.registry.run("/remember my password is hunter2", context)
    assert facts.history() == []


def test_the_list_shows_what_holds_with_kind_since_and_source(
    context: CommandContext, facts: Facts
) -> None:
    assert said(context, "/memory").startswith("Nothing is known about you yet.")
    facts.remember("I live in Berlin", source="s1.3")
    facts.remember("Never use emojis")
    facts.remember("I live in Munich", source="s1.4", said=day(0))
    assert rows(context, "/memory") == [
        ("fbbc", "rule", "2026-11-30", "Never use emojis", "typed in"),
        ("fbbd", "about", "2026-11-30", "I live in Munich", "s1.4"),
    ]
    assert rows(context, "/memory list") == rows(context, "/memory")


def test_the_history_shows_old_and_new(context: CommandContext, facts: Facts) -> None:
    assert said(context, "/memory history") == "Nothing was ever remembered."
    facts.remember("I live in Berlin", said=day(-5))
    facts.remember("I live in Munich")
    assert rows(context, "/memory history") == [
        ("fbbc", "about", "2026-11-30", "", "I live in Munich", ""),
        ("fbbb", "about", "2026-11-25", "2026-11-30", "I live in Berlin", "fbbc"),
    ]
    assert len(rows(context, "/memory history berlin")) == 1
    assert said(context, "/memory history tea") == "No fact has these words: tea"


def test_one_fact_is_shown_whole(context: CommandContext, facts: Facts) -> None:
    facts.remember("I live in Berlin", said=day(-5), source="s1.3")
    facts.remember("I live in Munich")
    shown = said(context, "/memory show fbbb")
    assert shown.startswith("I live in Berlin\n\nfbbb · about · said 2026-11-25")
    assert "s1.3" in shown
    assert "until 2026-11-30" in shown
    assert "replaced by fbbc: I live in Munich" in shown


def test_an_edit_writes_a_new_fact_in_the_place_of_the_old(
    context: CommandContext, facts: Facts
) -> None:
    said(context, "/remember I like long walks")
    assert "was: I like long walks" in said(context, "/memory edit fbbb Running is my thing")
    assert texts(facts.in_force(NOW)) == ["Running is my thing"]
    assert len(facts.history()) == 2
    with pytest.raises(UsageError, match="What should fbbc say"):
        context.registry.run("/memory edit fbbc", context)


def test_delete_ends_a_fact_and_says_that_it_is_not_erased(
    context: CommandContext, facts: Facts
) -> None:
    said(context, "/remember I like tea")
    assert "ending is not erasing" in said(context, "/memory delete fbbb")
    assert facts.in_force(NOW) == []
    assert len(facts.history()) == 1
    context.changes.pop().undo()
    assert texts(facts.in_force(NOW)) == ["I like tea"]


def test_what_waits_is_approved_or_refused(context: CommandContext, facts: Facts) -> None:
    assert said(context, "/memory pending") == "Nothing waits for your word."
    tea = facts.remember("I like tea", said=day(-5)).after
    assert tea is not None
    for text, ends in (("I live in Berlin", None), ("I like jazz", None), ("I like tea", tea.id)):
        facts.propose(text, "about", said=day(-1), source="s1.2", ends=ends)
    waiting = [row[:2] for row in rows(context, "/memory pending")]
    assert [what for _, what in waiting] == [
        "I live in Berlin",
        "I like jazz",
        "end fbbb: I like tea",
    ]
    assert "remembered: I live in Berlin" in said(context, f"/memory approve {waiting[0][0]}")
    assert "Not kept" in said(context, f"/memory refuse {waiting[1][0]}")
    output = context.registry.run("/memory", context)
    assert isinstance(output, Table)
    assert "1 proposal" in output.note
    assert "fact ended: I like tea" in said(context, f"/memory approve {waiting[2][0]}")
    assert texts(facts.in_force(NOW)) == ["I live in Berlin"]


@pytest.mark.parametrize(
    "line",
    [
        "/remember",
        "/memory add",
        "/memory frobnicate",
        "/memory list all",
        "/memory pending x",
        "/memory show",
        "/memory delete fa fb",
        "/memory edit",
        "/memory approve",
    ],
)
def test_a_wrong_call_says_how_it_is_meant(context: CommandContext, line: str) -> None:
    with pytest.raises(UsageError, match="Usage: /"):
        context.registry.run(line, context)


def test_an_unknown_id_is_said_to_be(context: CommandContext) -> None:
    with pytest.raises(NoSuchEntry, match="Nothing was changed"):
        context.registry.run("/memory delete fzzz", context)


def test_a_private_session_keeps_nothing(store: SessionStore, facts: Facts, times: Days) -> None:
    facts.remember("I like tea")
    facts.propose("I like jazz", "preference", said=NOW, source="s1.1")
    context = context_of(store.create(private=True), store, group, facts=facts, times=times)
    waiting = facts.pending()[0].id
    for line in (
        "/remember I live in Berlin",
        "/memory add I live in Berlin",
        "/memory edit fbbb I like coffee",
        "/memory delete fbbb",
        f"/memory approve {waiting}",
        f"/memory refuse {waiting}",
    ):
        with pytest.raises(UsageError, match="private"):
            context.registry.run(line, context)
    assert texts(facts.history()) == ["I like tea"]
    assert rows(context, "/memory")


def test_verbs_and_ids_are_completed(context: CommandContext, facts: Facts) -> None:
    facts.remember("I like tea")
    facts.propose("I like jazz", "preference", said=NOW, source="s1.1")
    complete = context.registry.get("memory").complete
    assert complete is not None
    assert dict(complete(context, ""))["history"]
    assert list(complete(context, "delete ")) == [("delete fbbb", "I like tea")]
    assert [what for _, what in complete(context, "approve ")] == ["I like jazz"]
    assert list(complete(context, "history ")) == []
