"""What the embedded model is told of tools, and what of the conversation it gets."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.memory.background import recalled_block, time_note
from assistant.messages import ImagePart, ImageUrl, Message, TextPart, ToolCall
from assistant.prompt import ToolSchema
from assistant.providers.local_tools import (
    ids_spoken_of,
    results_since,
    said_by_user,
    tools_text,
    with_tools,
)
from assistant.tools import all_groups

TOOLS: list[ToolSchema] = [tool.schema for group in all_groups() for tool in group.tools]
ASKED = Message("user", "What is planned?")
CALLING = Message(
    "assistant", "", tool_calls=(ToolCall("a", "list_events", "{}"), ToolCall("b", "recall", "{}"))
)
RESULTS = (
    Message("tool", "1 event on Mon 2026-11-30:\nek3f9 · Review", tool_call_id="a"),
    Message("tool", "Nothing was found.", tool_call_id="b"),
)
ANSWERED = Message("assistant", "The review.")


def test_no_tools_are_no_text() -> None:
    assert tools_text([]) == ""
    assert with_tools([ASKED], []) == [ASKED]


def test_the_tools_stand_in_the_one_system_message() -> None:
    system = Message("system", "Be brief.")

    first, second = with_tools([system, ASKED], TOOLS)

    assert first.text == f"Be brief.\n\n{tools_text(TOOLS)}"
    assert second == ASKED
    assert [one.role for one in with_tools([ASKED], TOOLS)] == ["system", "user"]


def test_of_earlier_calls_there_is_the_reply_alone() -> None:
    _, *told = with_tools([ASKED, CALLING, *RESULTS, ANSWERED, ASKED], TOOLS)

    assert told == [ASKED, ANSWERED, ASKED]


@pytest.mark.parametrize(
    ("before", "roles"),
    [
        ([ASKED, CALLING], ["user"]),
        ([ASKED, Message("assistant", "I look.", tool_calls=CALLING.tool_calls)], None),
    ],
)
def test_results_without_a_reply_stand_behind_the_question(
    before: list[Message], roles: list[str] | None
) -> None:
    _, *told = with_tools([*before, *RESULTS], TOOLS)

    assert [one.role for one in told] == (roles or ["user", "assistant", "user"])
    assert told[-1].text.endswith(
        "[1 event on Mon 2026-11-30:\nek3f9 · Review]\n\n[Nothing was found.]"
    )


def test_a_picture_stays_before_a_result() -> None:
    picture = Message(
        "user", (TextPart("What is this?"), ImagePart(ImageUrl("data:image/png;base64,eA==")))
    )

    _, told = with_tools([picture, CALLING, RESULTS[1]], TOOLS)

    assert isinstance(told.content, tuple)
    assert told.content[2] == TextPart("[Nothing was found.]")


@pytest.mark.parametrize("text", ["Call Bo tomorrow.", "明天给小李打电话。"])
def test_notes_are_no_words_of_the_user(text: str) -> None:
    now = datetime(2026, 11, 30, 10, 15, tzinfo=UTC)
    # In the language of the words, as the program writes it.
    recalled = recalled_block("2025: yesterday" if text.isascii() else "2025：昨天。")
    asked = Message("user", f"{recalled}\n\n{text}\n\n{time_note(text, now)}")
    result = Message("tool", "2026-01-01", tool_call_id="a")

    assert said_by_user([Message("user", "Earlier."), asked, result]) == text


def test_the_results_are_those_behind_the_last_message() -> None:
    assert results_since([ASKED, CALLING, *RESULTS]) == [*RESULTS]
    assert results_since([ASKED, CALLING, *RESULTS, ANSWERED, ASKED]) == []


@pytest.mark.parametrize(
    ("results", "found"),
    [
        (["Created, with the id ek3f9: Review"], ["ek3f9"]),
        (["Created, with the id ek3f9: Review", "No memo fits."], ["ek3f9"]),
        (["Created, with the id ek3f9: Review", "2 events:\ne1 · A\ne2 · B"], ["ek3f9"]),
        (["1 event:\newait@2026-12-01 · Review"], ["ewait@2026-12-01"]),
        (
            ["Created, with the id ek3f9: A", "Saved, with the id m4x2: B · e1 · x"],
            ["m4x2", "ek3f9"],
        ),
        (["No events."], []),
        ([], []),
    ],
)
def test_what_was_spoken_of_is_what_results_named_alone(
    results: list[str], found: list[str]
) -> None:
    told = [ASKED, CALLING, *(Message("tool", one) for one in results), ASKED]

    assert ids_spoken_of(told) == found
