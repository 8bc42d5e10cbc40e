"""Events and memos that a call names by words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from assistant.messages import ToolCall
from assistant.tools.registry import BadCall, Proposal
from benchmarks.utterances import Before, ExpectedCall, Kept, Utterance

NOW = "2026-11-30T10:15[Asia/Shanghai]"
REVIEW = {
    "id": "ek3f9",
    "title": "产品评审",
    "start": "2026-12-01T15:00",
    "end": "2026-12-01T16:00",
}


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    before = Before(events=(REVIEW,))
    return Kept(tmp_path, Utterance("u", "zh", "correction", NOW, before, "", (), ()))


def add(kept: Kept, title: str, days: int, **more: str) -> None:
    kept.calendar.create(title, kept.now.replace(hour=9, minute=0) + timedelta(days), **more)


def refusal(kept: Kept, name: str, **arguments: str) -> str:
    with pytest.raises(BadCall) as refused:
        kept.run(ExpectedCall(name, arguments))
    return str(refused.value)


def proposal(kept: Kept, arguments: str) -> Proposal:
    begun = kept.tools.begin(ToolCall("a", "cancel_event", arguments), "s.1")
    assert isinstance(begun, Proposal)
    return begun


def test_an_event_that_words_fit_is_moved_on_its_own_day(kept: Kept) -> None:
    kept.run(ExpectedCall("update_event", {"id": "产品评审", "start": "四点"}))

    [event] = kept.calendar.search("产品评审")
    assert event.start == datetime(2026, 12, 1, 16, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert event.end - event.start == timedelta(hours=1)


def test_of_several_that_fit_none_is_changed_and_all_are_named(kept: Kept) -> None:
    add(kept, "设计评审", 2)

    said = refusal(kept, "cancel_event", id="评审")

    assert said.startswith("cancel_event was not run: id: “评审” fits 2 events:\n")
    assert [line.partition(" · ")[2][:4] for line in said.splitlines()[1:]] == [
        "产品评审",
        "设计评审",
    ]
    assert len(kept.calendar.search("评审")) == 2


def test_what_is_to_come_goes_before_what_was(kept: Kept) -> None:
    add(kept, "产品评审", -7)

    kept.run(ExpectedCall("cancel_event", {"id": "产品评审"}))

    [left] = kept.calendar.search("产品评审")
    assert left.start < kept.now


def test_what_was_is_found_where_nothing_is_to_come(kept: Kept) -> None:
    add(kept, "Dentist", -7)

    kept.run(ExpectedCall("cancel_event", {"id": "Dentist"}))

    assert kept.calendar.search("Dentist") == []


def test_of_a_repeated_event_the_next_time_is_meant_or_all(kept: Kept) -> None:
    add(kept, "Standup", 1, repeat="FREQ=DAILY;COUNT=3")

    assert "this occurrence only" in proposal(kept, '{"id": "standup"}').question
    kept.run(ExpectedCall("cancel_event", {"id": "the standup", "scope": "all"}))
    assert kept.calendar.search("Standup") == []


@pytest.mark.parametrize(("name", "guess"), [("ek3f9", False), (" EK3F9 ", False), ("评审", True)])
def test_what_is_called_by_words_is_always_asked_about(kept: Kept, name: str, guess: bool) -> None:
    assert proposal(kept, f'{{"id": "{name}"}}').always_asks is guess


def test_words_that_fit_nothing_are_no_event(kept: Kept) -> None:
    assert "There is no event “牙医”" in refusal(kept, "cancel_event", id="牙医")


@pytest.mark.parametrize("query", ["产品评审", "产品评审会议"])
def test_events_are_found_by_more_words_than_they_have(kept: Kept, query: str) -> None:
    result = kept.run(ExpectedCall("list_events", {"query": query}))

    assert "ek3f9 · 产品评审" in result


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("delete_memo", {"id": "the note about toner"}),
        ("update_memo", {"id": "toner", "text": "x"}),
    ],
)
def test_a_memo_that_words_fit_is_the_one(
    kept: Kept, name: str, arguments: Mapping[str, str]
) -> None:
    kept.memos.save("Toner TN-24 for the printer")
    kept.memos.save("The key is with Mrs. Fuller")

    kept.run(ExpectedCall(name, arguments))

    assert all("Toner" not in one.text for one in kept.memos.search())
    assert any("key" in one.text for one in kept.memos.search())


def test_of_several_memos_that_fit_none_is_changed(kept: Kept) -> None:
    for text in ("Key of the flat", "Key of the cellar"):
        kept.memos.save(text)

    assert "“key” fits 2 memos:" in refusal(kept, "delete_memo", id="key")
    assert len(kept.memos.search()) == 2
    assert "garage" in refusal(kept, "delete_memo", id="garage")
