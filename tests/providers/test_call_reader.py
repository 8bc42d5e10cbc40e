"""Calls written as text are told from text, and no text is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.providers.call_reader import CallReader, calls_in

NAMES = {"create_event", "list_events"}
CALL = '{"name": "create_event", "arguments": {"title": "评审", "start": "明天3点"}}'
ARGUMENTS = {"title": "评审", "start": "明天3点"}


def shown_at_once(text: str) -> bool:
    return CallReader(NAMES).add(text) == text


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"  \n{CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"```tool_call\n{CALL}```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"[{CALL}]",
        CALL.replace("arguments", "parameters"),
        CALL.replace("arguments", "args"),
        json.dumps({"arguments": json.dumps(ARGUMENTS), "name": "create_event"}),
        json.dumps({"type": "function", "id": "1", "name": "create_event", "arguments": ARGUMENTS}),
    ],
)
def test_a_reply_that_is_only_a_call_is_one(text: str) -> None:
    reader = CallReader(NAMES)
    shown = "".join(map(reader.add, text))
    [call] = reader.calls()

    assert shown + reader.rest() == ""
    assert call.name == "create_event"
    assert json.loads(call.arguments) == ARGUMENTS


@pytest.mark.parametrize(
    "text",
    [
        f"[{CALL}, {CALL}]",
        f"{CALL}\n{CALL}",
        f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>",
    ],
)
def test_several_calls_have_ids_of_their_own(text: str) -> None:
    first, second = calls_in(text, NAMES)

    assert first.id
    assert first.id != second.id


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"Sure: {CALL}",
        f"{CALL} Done.",
        CALL[:-1],
        CALL.replace("create_event", "send_money"),
        '{"name": "create_event"}',
        '{"name": "create_event", "arguments": [1]}',
        '{"name": "create_event", "arguments": "no JSON"}',
        '{"name": "create_event", "arguments": {}, "args": {}}',
        '{"name": "create_event", "arguments": {}, "why": "so"}',
        '{"name": ["create_event"], "arguments": {}}',
        '{"city": "Oslo"}',
        f"[{CALL}, 3]",
        "[]",
        "[" * 100_000,
        "```python\nprint(1)\n```",
    ],
)
def test_anything_else_is_text_and_comes_whole(text: str) -> None:
    reader = CallReader(NAMES)
    shown = "".join(map(reader.add, text)) if len(text) < 1_000 else reader.add(text)

    assert reader.calls() == ()
    assert shown + reader.rest() == text


@pytest.mark.parametrize(
    "text",
    ["Hello", "[1] says so", "```python\n", "<b>", "{x}", "好的", "``x", "- {", "```jsx"],
)
def test_what_can_be_no_call_is_shown_at_once(text: str) -> None:
    assert shown_at_once(text)


@pytest.mark.parametrize("text", ["", " \n", "{", "[", "[{", '{ "', "`", "```", "```js", "<tool_c"])
def test_what_may_become_a_call_is_held_back(text: str) -> None:
    reader = CallReader(NAMES)

    assert reader.add(text) == ""
    assert reader.rest() == text


def test_where_no_tool_was_offered_nothing_is_held_back() -> None:
    reader = CallReader(set())

    assert reader.add(CALL) == CALL
    assert reader.calls() == ()


@given(st.lists(st.text('{}[]"`:, \nan<tool_call>json', max_size=8)))
def test_no_text_is_lost_whatever_comes(pieces: list[str]) -> None:
    reader = CallReader(NAMES)
    shown = "".join(map(reader.add, pieces))
    calls = reader.calls()

    assert calls or shown + reader.rest() == "".join(pieces)
