"""What people say, in English and Chinese: the calls it leads to end in what was meant."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assistant.errors import NoSuchEntry
from assistant.messages import Event
from benchmarks.utterances import ExpectedCall, Kept, Utterance, utterances

CORPUS = utterances()


def test_the_corpus_has_all_kinds_in_both_languages() -> None:
    languages = Counter(one.language for one in CORPUS)
    kinds = {(one.language, one.kind) for one in CORPUS}
    both = ("relative", "range", "repeat", "look", "correction", "memo", "fact", "two", "none")

    assert len(CORPUS) >= 160
    assert len({one.id for one in CORPUS}) == len(CORPUS)
    assert min(languages[name] for name in ("en", "zh")) >= 60
    assert {(language, kind) for language in ("en", "zh") for kind in both} <= kinds
    assert all(bool(one.calls) == (one.kind != "none") for one in CORPUS)


@pytest.mark.parametrize("said", [one for one in CORPUS if one.calls], ids=lambda one: one.id)
def test_what_is_said_comes_out_as_it_was_meant(said: Utterance, tmp_path: Path) -> None:
    kept = Kept(tmp_path, said)
    results = [kept.run(call) for call in said.passed]

    for call, result in zip(said.calls, results, strict=True):
        CHECKS[call.name](kept, call, result)


def created(kept: Kept, call: ExpectedCall, result: str) -> None:
    titled = kept.calendar.search(call.arguments["title"])
    # Of a repeated event the search gives an occurrence: `<id>@<date>`.
    event_id = only([one.id for one in titled]).partition("@")[0]
    assert event_id in result
    assert_event(kept, kept.calendar.get(event_id), {"repeat": "", **call.arguments})


def changed(kept: Kept, call: ExpectedCall, result: str) -> None:
    changes = {name: value for name, value in call.arguments.items() if name not in ("id", "scope")}
    assert_event(kept, kept.calendar.get(call.arguments["id"]), changes)


def cancelled(kept: Kept, call: ExpectedCall, result: str) -> None:
    event_id = call.arguments["id"]
    with pytest.raises(NoSuchEntry):
        kept.calendar.get(event_id)
    series, at, _ = event_id.partition("@")
    if at:
        assert kept.calendar.get(series).repeat


def listed(kept: Kept, call: ExpectedCall, result: str) -> None:
    # The result names the days it covers.
    assert kept.run(call) == result
    for day in (call.arguments.get("from"), call.arguments.get("to")):
        assert day is None or day in result


def saved(kept: Kept, call: ExpectedCall, result: str) -> None:
    memo = only([one for one in kept.memos.search() if one.id in result])
    assert (memo.text, list(memo.tags)) == (call.arguments["text"], call.arguments.get("tags", []))


def searched(kept: Kept, call: ExpectedCall, result: str) -> None:
    everything = kept.memos.search()
    assert all(one.text in result for one in everything)
    assert everything or result == "No memo fits."


def rewritten(kept: Kept, call: ExpectedCall, result: str) -> None:
    assert kept.memos.get(call.arguments["id"]).text == call.arguments["text"]


def deleted(kept: Kept, call: ExpectedCall, result: str) -> None:
    with pytest.raises(NoSuchEntry):
        kept.memos.get(call.arguments["id"])


def remembered(kept: Kept, call: ExpectedCall, result: str) -> None:
    fact = only([one for one in kept.facts.history() if one.id in result])
    assert fact.text == call.arguments["text"]
    assert fact.valid_from == moment(kept, call.arguments.get("valid_from"))
    assert fact.valid_until == moment(kept, call.arguments.get("valid_until"))


def forgotten(kept: Kept, call: ExpectedCall, result: str) -> None:
    fact = kept.facts.get(call.arguments["id"])
    assert fact.text in result
    assert not fact.holds(kept.now)


def recalled(kept: Kept, call: ExpectedCall, result: str) -> None:
    assert kept.questions == [call.arguments["question"]]


CHECKS = {
    "create_event": created,
    "update_event": changed,
    "cancel_event": cancelled,
    "list_events": listed,
    "save_memo": saved,
    "search_memos": searched,
    "update_memo": rewritten,
    "delete_memo": deleted,
    "remember": remembered,
    "forget_fact": forgotten,
    "recall": recalled,
}


def assert_event(kept: Kept, event: Event, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        if name == "start":
            assert event.whole_day == ("T" not in value)
            assert event.start == moment(kept, value)
        elif name == "end" and event.whole_day:
            # The last day, as it is said; an event ends before the day after.
            assert event.end - timedelta(days=1) == moment(kept, value)
        elif name == "end":
            assert event.end == moment(kept, value)
        elif name != "scope":
            assert getattr(event, name) == value, name


def moment(kept: Kept, text: str | None) -> datetime | None:
    """A local time, or the beginning of a day, in the user's zone."""
    return datetime.fromisoformat(text).replace(tzinfo=kept.now.tzinfo) if text else None


def only(found: list[Any]) -> Any:
    assert len(found) == 1
    return found[0]
