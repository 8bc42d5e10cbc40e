"""A conversation with calls in it, in roles that every server knows."""

from __future__ import annotations

from assistant.messages import ImagePart, ImageUrl, Message, TextPart, ToolCall
from assistant.providers.plain_calls import without_calls

SYSTEM = Message(role="system", content="Be brief.")
ASKED = Message(role="user", content="What is on, and where?")
CALLS = (
    ToolCall("a", "list_events", '{"from": "today"}'),
    ToolCall("b", "recall", '{"question": "where"}'),
)
CALLING = Message(role="assistant", content="", tool_calls=CALLS)
RESULTS = (
    Message(role="tool", content="No events.", tool_call_id="a"),
    Message(role="tool", content="Oslo.", tool_call_id="b"),
)


def said(messages: list[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


def test_calls_and_results_become_text_and_the_roles_alternate() -> None:
    answer = Message(role="assistant", content="Nothing, in Oslo.")
    plain = without_calls([SYSTEM, ASKED, CALLING, *RESULTS, answer, ASKED])

    assert said(plain) == [
        ("system", "Be brief."),
        ("user", "What is on, and where?"),
        (
            "assistant",
            '{"name": "list_events", "arguments": {"from": "today"}}\n'
            '{"name": "recall", "arguments": {"question": "where"}}',
        ),
        ("user", "[Result of list_events]\nNo events.\n\n[Result of recall]\nOslo."),
        ("assistant", "Nothing, in Oslo."),
        ("user", "What is on, and where?"),
    ]
    assert not any(message.tool_calls for message in plain)


def test_words_that_follow_a_result_share_its_message() -> None:
    image = ImagePart(ImageUrl("https://example.org/x.png"))
    picture = Message(role="user", content=(TextPart("And this?"), image))

    asked = without_calls([ASKED, CALLING, *RESULTS, ASKED])[-1]
    assert asked.text.endswith("Oslo.\n\nWhat is on, and where?")
    shown = without_calls([ASKED, CALLING, *RESULTS, picture])[-1]
    assert shown.content[1:] == picture.content
    assert said(without_calls([ASKED, CALLING, *RESULTS]))[-1][0] == "user"


def test_words_before_a_call_stay_and_broken_arguments_are_quoted() -> None:
    call = ToolCall("a", "recall", '{"question')
    [message] = without_calls(
        [Message(role="assistant", content="One moment.", tool_calls=(call,))]
    )

    assert message.text == (
        'One moment.\n{"name": "recall", "arguments": {"unreadable": "{\\"question"}}'
    )


def test_a_conversation_without_calls_stays_as_it_is() -> None:
    messages = [SYSTEM, ASKED, Message(role="user", content="Hello?")]

    assert without_calls(messages) == messages


def test_a_result_whose_call_is_not_there_is_marked_all_the_same() -> None:
    [message] = without_calls([RESULTS[0]])

    assert said([message]) == [("user", "[Result of the tool]\nNo events.")]
