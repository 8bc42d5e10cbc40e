"""Calls made of the user's own words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from assistant.memory.times.times import Times
from assistant.providers.local_plan import Said, planned
from assistant.providers.local_words import minutes_before, names_in, repetition, times_in, wording
from assistant.tools import all_groups

NOW = datetime(2026, 11, 30, 10, 15, tzinfo=UTC)
TOOLS = [tool.name for group in all_groups() for tool in group.tools]


def times_of(said: str) -> tuple[str, ...]:
    return tuple(times_in(said, Times(lambda: NOW).expressions))


def calls(said: str, spoken_of: str = "") -> list[tuple[str, Mapping[str, str | int | None]]]:
    return list(planned(Said(said, times_of(said), tuple(spoken_of.split())), TOOLS))


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("明天下午3点帮我安排产品评审", {"title": "产品评审", "start": "明天下午3点"}),
        ("Can you schedule a call with Bo for 3pm?", {"title": "Call with Bo", "start": "for 3pm"}),
        (
            "Interview on Friday at 2pm in room 204",
            {"title": "Interview", "start": "on Friday at 2pm", "location": "room 204"},
        ),
        (
            "周五晚上七点和小李吃饭，地点在海底捞",
            {"title": "和小李吃饭", "start": "周五晚上七点", "location": "海底捞"},
        ),
        (
            "Yoga every Wednesday at 18:30, remind me an hour before, add it",
            {
                "title": "Yoga",
                "start": "Wednesday at 18:30",
                "remind_before": 60,
                "repeat": "every Wednesday",
            },
        ),
        (
            "每周一早上九点开例会，提前10分钟提醒我",
            {"title": "开例会", "start": "周一早上九点", "remind_before": 10, "repeat": "每周一"},
        ),
        ("三天后上午九点体检，帮我安排", {"title": "体检", "start": "三天后上午九点"}),
        (
            "Book dinner at Casa Luna for 8pm",
            {"title": "Dinner at Casa Luna", "start": "for 8pm", "location": "Casa Luna"},
        ),
    ],
)
def test_an_event_has_the_title_and_the_time_that_were_said(
    said: str, arguments: Mapping[str, object]
) -> None:
    assert calls(said) == [("create_event", arguments)]


def test_two_appointments_are_two_calls() -> None:
    said = "Add the dentist tomorrow at 3pm and a haircut on Friday at 5pm"

    assert [arguments["title"] for _, arguments in calls(said)] == ["Dentist", "Haircut"]


@pytest.mark.parametrize(
    ("said", "spoken_of", "arguments"),
    [
        ("把它改到四点", "ek3f9", {"id": "ek3f9", "start": "四点"}),
        ("把它改到四点", "m4x2 ek3f9", {"id": "ek3f9", "start": "四点"}),
        ("把那个牙医推迟到四点", "m4x2 ek3f9", {"id": "牙医", "start": "四点"}),
        ("Move it to 4pm, the vet is closed", "ek3f9", {"id": "ek3f9", "start": "4pm"}),
        ("make it 4pm", "ek3f9", {"id": "ek3f9", "start": "4pm"}),
        ("把产品评审改到四点", "", {"id": "产品评审", "start": "四点"}),
        ("把产品评审改到四点", "ezzz9", {"id": "产品评审", "start": "四点"}),
        ("move the product review to 4pm", "", {"id": "product review", "start": "4pm"}),
        ("Push the review back to 11", "", {"id": "review", "start": "at 11"}),
        ("Move the review from 3pm to 4pm", "", {"id": "review", "start": "4pm"}),
        ("把评审从三点改到四点", "", {"id": "评审", "start": "四点"}),
        ("Move ek3f9 to Friday", "ezzz9", {"id": "ek3f9", "start": "Friday"}),
        ("Rename ek3f9 to Dental check", "", {"id": "ek3f9", "title": "Dental check"}),
        ("把评审的地点改成二号会议室", "", {"id": "评审", "location": "二号会议室"}),
        ("Move all standups to 9:30", "", {"id": "standups", "start": "9:30", "scope": "all"}),
    ],
)
def test_an_event_is_changed_by_its_id_its_words_or_as_the_last_one(
    said: str, spoken_of: str, arguments: Mapping[str, object]
) -> None:
    assert calls(said, spoken_of) == [("update_event", arguments)]


@pytest.mark.parametrize(
    ("said", "spoken_of", "call"),
    [
        ("cancel the dentist", "", ("cancel_event", {"id": "dentist"})),
        ("取消周五的面试", "", ("cancel_event", {"id": "面试"})),
        (
            "Cancel the standup ew7q2@2026-12-14",
            "",
            ("cancel_event", {"id": "ew7q2@2026-12-14", "scope": "this"}),
        ),
        ("Cancel it", "ek3f9", ("cancel_event", {"id": "ek3f9"})),
        ("Delete it", "mk3f9x", ("delete_memo", {"id": "mk3f9x"})),
        ("今天有什么安排？", "", ("list_events", {"from": "今天"})),
        ("What have I got tomorrow?", "", ("list_events", {"from": "tomorrow"})),
        ("Show me this weekend's plans.", "", ("list_events", {"from": "this weekend"})),
        ("看一下周末的日程", "", ("list_events", {"from": "周末"})),
        ("When is my vet appointment?", "", ("list_events", {"query": "vet appointment"})),
        ("Take a note: toner TN-24", "", ("save_memo", {"text": "toner TN-24"})),
        ("帮我记一下，快递单号是8830", "", ("save_memo", {"text": "快递单号是8830"})),
        ("Change memo m4x2 to: buy ink", "", ("update_memo", {"id": "m4x2", "text": "buy ink"})),
        ("Find my notes on gifts", "", ("search_memos", {"query": "notes on gifts"})),
        ("Please remember that I'm vegan.", "", ("remember", {"text": "I'm vegan."})),
        (
            "Remember that Sofia stays until 20 December",
            "",
            ("remember", {"text": "Sofia stays until 20 December", "valid_until": "20 December"}),
        ),
        ("忘掉我不吃香菜这件事", "", ("forget_fact", {"id": "我不吃香菜"})),
        ("我之前跟你说过车险吗？", "", ("recall", {"question": "我之前跟你说过车险吗？"})),
    ],
)
def test_the_other_tools_get_what_was_said(
    said: str, spoken_of: str, call: tuple[str, Mapping[str, object]]
) -> None:
    assert calls(said, spoken_of) == [call]


@pytest.mark.parametrize(
    "said", ["Cancel it", "Remind me tomorrow at 9", "Hi!", "Schedule the dentist", "把它取消"]
)
def test_where_something_is_missing_or_nothing_is_asked_for_there_is_no_call(said: str) -> None:
    assert calls(said) == []


def test_a_tool_that_is_not_there_is_not_called() -> None:
    assert planned(Said("What have I got tomorrow?", ("tomorrow",)), ["recall"]) == ()


@pytest.mark.parametrize(
    ("said", "times"),
    [
        ("The vet is at 5 now", ("at 5",)),
        ("Games evening at Bo's, tomorrow 7pm", ("tomorrow 7pm",)),
        ("What do I have this evening?", ("this evening",)),
        ("两个小时后给银行打电话", ("两个小时后",)),
    ],
)
def test_the_times_are_those_that_are_meant(said: str, times: tuple[str, ...]) -> None:
    assert times_of(said) == times


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("Scrap tomorrow's stand-up, please", ["stand-up"]),
        ("Put lunch with Dr. Weber on my calendar for tomorrow", ["lunch with Dr. Weber"]),
        ("Make it 5pm instead.", []),
        ("家长会不去了，帮我删掉", ["家长会"]),
    ],
)
def test_a_name_is_what_is_left(said: str, names: list[str]) -> None:
    assert names_in(said, times_of(said)) == names


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Could you note down that Bo owes me 5 euros?", "Bo owes me 5 euros?"),
        ("水管工收了140元，请记下来", "水管工收了140元"),
        ("记住：我对花生过敏", "我对花生过敏"),
        ("Remember", "Remember"),
    ],
)
def test_what_is_kept_is_word_for_word(said: str, kept: str) -> None:
    assert wording(said) == kept


@pytest.mark.parametrize(
    ("said", "minutes"),
    [
        ("remind me half an hour before", 30),
        ("with a 15 minute reminder before it", 15),
        ("提前两个小时提醒我", 120),
        ("before lunch", None),
    ],
)
def test_how_long_before_is_in_minutes(said: str, minutes: int | None) -> None:
    assert minutes_before(said) == minutes


@pytest.mark.parametrize(
    ("said", "words"),
    [("gym every other week", "every other week"), ("每两周的周会", "每两周"), ("today", "")],
)
def test_a_repetition_is_given_in_its_words(said: str, words: str) -> None:
    assert repetition(said) == words
