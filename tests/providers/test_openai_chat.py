"""OpenAIChat against a real endpoint on loopback, through the real SDK."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import msgspec
import openai
import pytest

from assistant.errors import (
    AuthenticationFailed,
    ChatModelError,
    ContextTooLong,
    NotConfigured,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StreamBroken,
    TimedOut,
    UnknownModel,
    Unreachable,
)
from assistant.messages import ImagePart, ImageUrl, Message, TextPart, ToolCall, Usage
from assistant.protocols import ChatModel, ReplyPart
from assistant.providers.openai_chat import OpenAIChat
from assistant.providers.openai_errors import plain, public_address, translations
from tests.endpoint import MODEL, Endpoint

KEY = "key-4f9c2b71d8e6"
HI = (Message("user", "Hi."),)
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def model(endpoint: Endpoint) -> Iterator[OpenAIChat]:
    model = chat(endpoint)
    yield model
    model.close()


@pytest.fixture(scope="module")
def tables() -> Iterator[tuple[Endpoint, OpenAIChat]]:
    """One endpoint and model for the long tables, whose cases leave nothing behind in them."""
    with Endpoint() as endpoint:
        model = chat(endpoint, "test-modle")
        yield endpoint, model
        model.close()


def chat(endpoint: Endpoint, name: str = MODEL, **changes: Any) -> OpenAIChat:
    options = {"base_url": endpoint.url, "api_key": KEY, "timeout": 5.0, "max_retries": 0}
    return OpenAIChat(name, **{**options, **changes})


def ask(model: ChatModel, *messages: Message, **options: Any) -> list[ReplyPart]:
    return list(model.stream(messages or HI, max_tokens=100, **options))


def text_of(parts: list[ReplyPart]) -> str:
    return "".join(part.text for part in parts)


def event(delta: object, finish_reason: str | None = None, **rest: object) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return f"data: {json.dumps({'choices': [choice], **rest})}\n"


# --- A reply ------------------------------------------------------------------------------------


def test_text_comes_in_pieces_and_the_last_part_closes_it(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    endpoint.reply("Good morning to you", usage=usage, model="test-model-0301")

    *pieces, last = ask(model)

    assert [piece.text for piece in pieces] == ["Good", " morning", " to", " you"]
    assert last == ReplyPart(
        finish_reason="stop", usage=Usage(12, 3, cached_tokens=8), model="test-model-0301"
    )


def test_text_is_yielded_when_it_comes_not_when_the_reply_ends(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    endpoint.stall_after("First")

    parts = model.stream(HI, max_tokens=100)

    assert next(parts).text == "First"
    parts.close()  # type: ignore[attr-defined]


def test_an_endpoint_with_nothing_queued_echoes(endpoint: Endpoint, model: OpenAIChat) -> None:
    assert text_of(ask(model)) == "You said: Hi."


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": None}, 0),
        ({"prompt_cache_hit_tokens": 5}, 5),
        ({"cached_tokens": 6}, 6),
        ({"prompt_tokens_details": {"cached_tokens": float("inf")}}, 0),
    ],
    ids=["none", "deepseek", "moonshot", "nonsense"],
)
def test_cached_tokens_are_found_where_each_server_puts_them(
    endpoint: Endpoint, model: OpenAIChat, usage: dict[str, Any], cached: int
) -> None:
    endpoint.reply("Yes.", usage={"prompt_tokens": 9, "completion_tokens": 1, **usage})

    assert ask(model)[-1].usage == Usage(9, 1, cached)


def test_reasoning_is_no_part_of_the_reply(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.raw_stream(
        [event({"reasoning_content": "Hmm."}), event({"content": "Yes."}), event({}, "stop")]
    )

    assert text_of(ask(model)) == "Yes."


def test_tool_calls_are_put_together_and_given_whole(endpoint: Endpoint, model: OpenAIChat) -> None:
    calls = [
        {"id": "a", "name": "weather", "arguments": '{"city": "Ulm"}'},
        {"id": "b", "name": "weather", "arguments": '{"city": "Köln"}'},
    ]
    endpoint.reply("Let me look.", tool_calls=calls)

    *pieces, last = ask(model, tools=[WEATHER])

    assert text_of(pieces) == "Let me look."
    assert not any(piece.tool_calls for piece in pieces)
    assert last.tool_calls == tuple(ToolCall(**call) for call in calls)
    assert last.finish_reason == "tool_calls"
    assert endpoint.requests[0]["tools"] == [WEATHER]


def call_event(index: int | None, call_id: str | None, name: str | None, arguments: str) -> str:
    function = {"name": name, "arguments": arguments}
    return event({"tool_calls": [{"index": index, "id": call_id, "function": function}]})


@pytest.mark.parametrize(
    "pieces",
    [
        [(0, "a", "f", ""), (1, "b", "g", "["), (0, None, None, "{}"), (1, None, None, "]")],
        [(0, "a", "f", "{}"), (0, "b", "g", "[]")],
        [(0, "a", "f", "{"), (0, "a", "f", "}"), (1, "b", "g", "[]")],
    ],
    ids=["interleaved", "all with index 0", "id and name in every piece"],
)
def test_parallel_calls_are_told_apart(
    endpoint: Endpoint, model: OpenAIChat, pieces: list[tuple[Any, Any, Any, str]]
) -> None:
    endpoint.raw_stream([*(call_event(*piece) for piece in pieces), event({}, "tool_calls")])

    assert ask(model)[-1].tool_calls == (ToolCall("a", "f", "{}"), ToolCall("b", "g", "[]"))


def test_a_call_without_an_id_gets_one(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.raw_stream([call_event(None, None, "f", "{}"), event({}, "tool_calls")])

    (call,) = ask(model)[-1].tool_calls

    assert call.id.startswith("call_")


def test_a_completion_that_is_not_streamed_is_taken_whole(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    message = {"role": "assistant", "content": "All at once."}
    endpoint.fail(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    assert text_of(ask(model)) == "All at once."


def test_a_reply_is_whole_once_its_finish_reason_came(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    endpoint.raw_stream([event({"content": "Yes."}), event({}, "stop"), "data: {broken", ""])

    assert [part.text for part in ask(model)] == ["Yes.", ""]


# --- A request ----------------------------------------------------------------------------------


def test_every_kind_of_message_is_sent_as_the_api_takes_it(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    picture = ImagePart(ImageUrl("data:image/png;base64,AA=="))
    ask(
        model,
        Message("system", "Be brief."),
        Message("user", (TextPart("What is it?"), picture)),
        Message("assistant", "", tool_calls=(ToolCall("a", "look", '{"at": 1}'),)),
        Message("tool", "A cat.", tool_call_id="a"),
        Message("assistant", "A cat."),
    )

    assert endpoint.requests[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {
                    "type": "image_url",
                    "image_url": {"url": "data:image/png;base64,AA==", "detail": "auto"},
                },
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"at": 1}'},
                }
            ],
        },
        {"role": "tool", "content": "A cat.", "tool_call_id": "a"},
        {"role": "assistant", "content": "A cat."},
    ]


@pytest.mark.parametrize(
    ("written", "sent"),
    [("", {}), ("{oops", {"unreadable": "{oops"}), ("[1]", {"unreadable": "[1]"})],
)
def test_broken_arguments_of_an_old_call_do_not_poison_the_session(
    endpoint: Endpoint, model: OpenAIChat, written: str, sent: dict[str, Any]
) -> None:
    call = Message("assistant", "", tool_calls=(ToolCall("a", "look", written),))
    ask(model, *HI, call, Message("tool", "No.", tool_call_id="a"))

    function = endpoint.requests[0]["messages"][1]["tool_calls"][0]["function"]

    assert json.loads(function["arguments"]) == sent


def test_lone_surrogates_are_replaced_on_both_ways(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.raw_stream([event({"content": "so \ud83d"}), event({}, "stop")])

    parts = ask(model, Message("user", "a\udce4b \ud83d\ude00"))

    assert endpoint.requests[0]["messages"][0]["content"] == "a\ufffdb \U0001f600"
    assert text_of(parts) == "so \ufffd"


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("gpt-4o-mini", "max_tokens"),
        ("gpt-oss-120b", "max_tokens"),
        ("qwen2.5-coder", "max_tokens"),
        ("olmo-2", "max_tokens"),
        ("gpt-5-nano", "max_completion_tokens"),
        ("gpt-6", "max_completion_tokens"),
        ("o3-mini", "max_completion_tokens"),
        ("openai/o4-mini", "max_completion_tokens"),
    ],
)
def test_the_length_of_the_reply_has_the_name_that_the_model_knows(
    endpoint: Endpoint, name: str, parameter: str
) -> None:
    model = chat(endpoint, name)
    ask(model)
    model.close()

    sent = endpoint.requests[0]
    assert sent[parameter] == 100
    assert not {"max_tokens", "max_completion_tokens"} - {parameter} & sent.keys()


def test_the_other_name_is_tried_and_remembered(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.fail(
        400,
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this "
                "model. Use 'max_completion_tokens' instead.",
                "param": "max_tokens",
                "code": "unsupported_parameter",
            }
        },
    )
    ask(model)
    ask(model)

    names = [{"max_tokens", "max_completion_tokens"} & sent.keys() for sent in endpoint.requests]
    assert names == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]


@pytest.mark.parametrize(
    "refusal",
    [
        {"error": {"message": "Unrecognized request argument supplied: stream_options"}},
        {
            "detail": [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "stream_options"],
                    "msg": "Extra inputs are not permitted",
                }
            ]
        },
    ],
    ids=["openai", "fastapi"],
)
def test_usage_is_not_asked_for_where_that_is_refused(
    endpoint: Endpoint, model: OpenAIChat, refusal: object
) -> None:
    endpoint.fail(422, refusal)

    assert text_of(ask(model)) == "You said: Hi."
    assert ask(model)[-1].usage is None
    assert ["stream_options" in sent for sent in endpoint.requests] == [True, False, False]


def test_a_model_without_tools_answers_without_them(endpoint: Endpoint, model: OpenAIChat) -> None:
    before = model.takes_tools
    endpoint.fail(400, {"error": {"message": "gemma:2b does not support tools"}})

    assert text_of(ask(model, tools=[WEATHER])) == "You said: Hi."
    assert (before, model.takes_tools) == (True, False)
    assert "tools" not in endpoint.requests[1]


def test_what_tools_cost_is_told_until_they_are_refused(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    before = model.tools_text([WEATHER])
    endpoint.fail(400, {"error": {"message": "gemma:2b does not support tools"}})
    ask(model, tools=[WEATHER])

    assert "type weather" in before
    assert model.tools_text([WEATHER]) == ""


WRITTEN = '{"name": "weather", "arguments": {"city": "Ulm"}}'


@pytest.mark.parametrize("text", [WRITTEN, f"```json\n{WRITTEN}\n```"], ids=["bare", "fenced"])
def test_a_call_written_as_text_is_taken_for_one(
    endpoint: Endpoint, model: OpenAIChat, text: str
) -> None:
    endpoint.reply(text)

    [last] = ask(model, tools=[WEATHER])

    (call,) = last.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Ulm"})
    assert call.id
    assert last.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"Sure: {WRITTEN}", {"tools": [WEATHER]}),
        (WRITTEN[:-1], {"tools": [WEATHER]}),
        (WRITTEN, {}),
        (WRITTEN, {"tools": [WEATHER], "may_call": False}),
    ],
    ids=["words before it", "not whole", "no tools", "no call wanted"],
)
def test_json_that_is_no_call_is_text(
    endpoint: Endpoint, model: OpenAIChat, text: str, options: dict[str, Any]
) -> None:
    endpoint.reply(text)

    parts = ask(model, **options)

    assert text_of(parts) == text
    assert parts[-1].tool_calls == ()
    assert parts[-1].finish_reason == "stop"


def test_text_held_back_is_given_before_a_stream_that_breaks(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    endpoint.break_after('{"name": "wea')
    parts: list[ReplyPart] = []
    reply = model.stream(HI, tools=[WEATHER], max_tokens=100)
    with pytest.raises(StreamBroken):
        parts.extend(iter(reply))

    assert text_of(parts) == '{"name": "wea'


def test_without_may_call_tools_are_described_and_no_call_comes(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    endpoint.reply("Sunny.", tool_calls=[{"id": "a", "name": "weather", "arguments": "{}"}])

    parts = ask(model, tools=[WEATHER], may_call=False)

    assert (text_of(parts), parts[-1].tool_calls) == ("Sunny.", ())
    assert endpoint.requests[0]["tools"] == [WEATHER]
    assert endpoint.requests[0]["tool_choice"] == "none"


def test_where_a_call_cannot_be_forbidden_no_tool_is_offered(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    endpoint.fail(400, {"error": {"message": "Unsupported parameter: tool_choice"}})

    ask(model, tools=[WEATHER], may_call=False)
    ask(model, tools=[WEATHER], may_call=False)
    ask(model, tools=[WEATHER])

    assert ["tools" in sent for sent in endpoint.requests] == [True, False, False, True]
    assert model.takes_tools


CALLED = (
    Message("assistant", "", tool_calls=(ToolCall("a", "weather", '{"city": "Ulm"}'),)),
    Message("tool", "Sunny.", tool_call_id="a"),
)
AS_TEXT = [
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": WRITTEN},
    {"role": "user", "content": "[Result of weather]\nSunny."},
]


def test_a_model_without_tools_reads_earlier_calls_as_text(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    endpoint.fail(400, {"error": {"message": "gemma:2b does not support tools"}})

    ask(model, *HI, *CALLED, tools=[WEATHER])

    assert endpoint.requests[1]["messages"] == AS_TEXT


@pytest.mark.parametrize(
    "refusal",
    [
        "Unexpected role 'tool'",
        "Invalid role: tool",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "Function call is missing a thought_signature in functionCall parts.",
        "Corrupted thought signature.",
        "Invalid JSON payload received. Unknown name \"extra_content\" at 'messages[1]'",
        "Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.",
        "Tool call IDs should be alphanumeric strings with length 9!",
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum "
        "length 40, but got a string with length 51 instead.",
    ],
)
def test_earlier_calls_are_sent_as_text_where_they_are_refused(
    endpoint: Endpoint, model: OpenAIChat, refusal: str
) -> None:
    endpoint.fail(400, {"error": {"message": refusal}})

    ask(model, *HI, *CALLED)
    ask(model, *HI, *CALLED)

    roles = [[message["role"] for message in sent["messages"]] for sent in endpoint.requests]
    assert roles[0] == ["user", "assistant", "tool"]
    assert [sent["messages"] for sent in endpoint.requests[1:]] == [AS_TEXT, AS_TEXT]


@pytest.mark.parametrize(
    "refusal",
    [
        "Invalid value for 'temperature' in a request with tool_calls",
        "reasoning_content was 12 tokens, the reply is empty",
        "The tool_call_id is not known",
        "Invalid 'messages[0].content': string too long. The tool_calls may stay.",
        "thought_signature is on by default; the temperature must be 1",
    ],
)
def test_another_refusal_of_a_request_with_calls_is_told(
    endpoint: Endpoint, model: OpenAIChat, refusal: str
) -> None:
    endpoint.fail(400, {"error": {"message": refusal}})

    with pytest.raises(RequestRejected):
        ask(model, *HI, *CALLED)


def test_a_refusal_of_roles_without_calls_is_told(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.fail(400, {"error": {"message": "Conversation roles must alternate"}})

    with pytest.raises(RequestRejected):
        ask(model)


# --- What goes back with a call -----------------------------------------------------------------

SIGNED = {"google": {"thought_signature": "CrICAdHtim827fQ/+é=="}}


def signed_event(index: int, **rest: object) -> str:
    return event({"tool_calls": [{"index": index, **rest}]})


def answered(last: ReplyPart) -> tuple[Message, ...]:
    """A reply as a turn saves it, and a result for each of its calls."""
    reply = Message("assistant", "", tool_calls=last.tool_calls, model=last.model or MODEL)
    return (reply, *(Message("tool", "4°", tool_call_id=call.id) for call in last.tool_calls))


def sent_calls(endpoint: Endpoint) -> list[dict[str, Any]]:
    """The calls in the messages of the last request."""
    messages = endpoint.requests[-1]["messages"]
    return [call for message in messages for call in message.get("tool_calls", ())]


FUNCTION = {"name": "weather", "arguments": ""}
REST = {"arguments": "{}"}


@pytest.mark.parametrize(
    "pieces",
    [
        [{"id": "a", "function": FUNCTION, "extra_content": SIGNED}, {"function": REST}],
        [{"id": "a", "function": FUNCTION}, {"function": REST, "extra_content": SIGNED}],
        [{"id": "a", "function": FUNCTION}, {"function": REST}, {"extra_content": SIGNED}],
    ],
    ids=["with the first piece", "with a later one", "alone"],
)
def test_what_came_beside_a_call_goes_back_with_it(
    endpoint: Endpoint, model: OpenAIChat, pieces: list[dict[str, Any]]
) -> None:
    other = signed_event(1, id="b", function={"name": "weather", "arguments": "{}"})
    lines = [*(signed_event(0, **piece) for piece in pieces), other, event({}, "tool_calls")]
    endpoint.raw_stream(
        [line.replace('{"choices"', '{"model": "alias-3", "choices"') for line in lines]
    )

    last = ask(model, tools=[WEATHER])[-1]
    saved = msgspec.json.decode(msgspec.json.encode(answered(last)), type=tuple[Message, ...])
    ask(model, *HI, *saved, tools=[WEATHER])

    assert [call.get("extra_content") for call in sent_calls(endpoint)] == [SIGNED, None]


def test_what_another_model_sent_beside_a_call_is_not_sent(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    call = ToolCall("a", "weather", "{}", json.dumps(SIGNED))

    ask(model, *HI, *answered(ReplyPart(tool_calls=(call,), model="another-model")))

    assert "extra_content" not in sent_calls(endpoint)[0]


def thinking(thought: str, city: str) -> list[str]:
    """A reply of one call, after a thought in two pieces."""
    function = {"name": "weather", "arguments": json.dumps({"city": city})}
    return [
        event({"reasoning_content": thought[:3], "content": None}),
        event({"reasoning_content": thought[3:]}),
        event({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]}),
        event({}, "tool_calls"),
    ]


WANTED = "The `reasoning_content` in the thinking mode must be passed back to the API."


@pytest.mark.parametrize(
    "refusal",
    [
        WANTED,
        "Missing `reasoning_content` field in the assistant message at message index 2",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 1",
    ],
)
def test_reasoning_goes_back_with_its_calls_where_that_is_wanted(
    endpoint: Endpoint, model: OpenAIChat, refusal: str
) -> None:
    endpoint.raw_stream(thinking("Ulm first.", "Ulm"))
    ulm = answered(ask(model, tools=[WEATHER])[-1])
    endpoint.fail(400, {"error": {"message": refusal}})
    endpoint.raw_stream(thinking("Now Köln.", "Köln"))
    # A session gives a call an id of its own where that id is taken.
    call, result = answered(ask(model, *HI, *ulm, tools=[WEATHER])[-1])
    own = msgspec.structs.replace(call.tool_calls[0], id="c00000401")
    köln = (
        msgspec.structs.replace(call, tool_calls=(own,)),
        msgspec.structs.replace(result, tool_call_id=own.id),
    )
    ask(model, *HI, *CALLED, *ulm, *köln, Message("assistant", "Warm."), *HI, tools=[WEATHER])

    sent = [
        [one.get("reasoning_content") for one in body["messages"]] for body in endpoint.requests
    ]
    assert sent == [
        [None],
        [None, None, None],
        [None, "Ulm first.", None],
        [None, "", None, "Ulm first.", None, "Now Köln.", None, None, None],
    ]


def test_calls_are_sent_as_text_where_reasoning_that_is_not_known_is_wanted(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    for _ in range(2):
        endpoint.fail(400, {"error": {"message": WANTED}})

    ask(model, *HI, *CALLED)
    ask(model, *HI, *CALLED)

    assert [sent["messages"] for sent in endpoint.requests[2:]] == [AS_TEXT, AS_TEXT]


def test_a_call_without_anything_beside_it_is_written_as_before() -> None:
    plain_call = ToolCall("a", "look", "{}")
    written = b'{"id":"a","name":"look","arguments":"{}"}'

    assert msgspec.json.encode(plain_call) == written
    assert msgspec.json.decode(written, type=ToolCall) == plain_call


def test_a_reply_may_be_held_to_a_grammar(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.reply(WRITTEN)

    [last] = model.stream_within(HI, grammar="root ::= .", names={"weather"}, max_tokens=9)

    assert endpoint.requests[0]["grammar"] == "root ::= ."
    assert "tools" not in endpoint.requests[0]
    assert [call.name for call in last.tool_calls] == ["weather"]


def test_a_local_server_needs_no_key(endpoint: Endpoint) -> None:
    model = chat(endpoint, api_key=None)
    ask(model)
    model.close()

    assert endpoint.authorizations == ["Bearer none"]


def test_settings_of_the_sdk_in_the_environment_are_not_used(endpoint: Endpoint) -> None:
    program = (
        "from assistant.providers.openai_chat import OpenAIChat\n"
        "from assistant.messages import Message\n"
        "import sys\n"
        "model = OpenAIChat('m', base_url=sys.argv[1], api_key=None, timeout=5, max_retries=0)\n"
        "print(''.join(p.text for p in model.stream([Message('user', 'Hi.')], max_tokens=9)))\n"
    )
    environment = {
        **os.environ,
        "OPENAI_BASE_URL": "http://192.0.2.1/v1",
        "OPENAI_API_KEY": "sk-not-for-this-server",
        "HTTP_PROXY": "http://192.0.2.1:8080",
    }
    done = subprocess.run(
        [sys.executable, "-c", program, endpoint.url],
        env=environment,
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert (done.stdout, done.stderr) == ("You said: Hi.\n", "")
    assert endpoint.authorizations == ["Bearer none"]


# --- Its end ------------------------------------------------------------------------------------


def test_closing_the_iterator_closes_the_connection(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.stall_after("One two")
    parts = model.stream(HI, max_tokens=100)
    next(parts)

    parts.close()  # type: ignore[attr-defined]

    assert endpoint.client_left()
    assert text_of(ask(model)) == "You said: Hi."


@pytest.mark.parametrize("text", ["One", ""], ids=["in the middle", "before the reply"])
def test_ctrl_c_closes_the_connection(endpoint: Endpoint, model: OpenAIChat, text: str) -> None:
    endpoint.stall_after(text)
    model.load()
    interrupt = threading.Thread(target=interrupt_when_asked, args=(endpoint,))
    interrupt.start()

    with pytest.raises(KeyboardInterrupt):
        ask(model)

    interrupt.join()
    assert endpoint.client_left()
    assert text_of(ask(model)) == "You said: Hi."


def interrupt_when_asked(endpoint: Endpoint) -> None:
    while not endpoint.requests:
        time.sleep(0.01)
    time.sleep(0.05)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_close_from_another_thread_ends_the_wait_for_a_reply() -> None:
    with Endpoint(delay=20.0) as slow:
        model = chat(slow)
        model.load()
        threading.Timer(0.3, model.close).start()
        with pytest.raises(StreamBroken, match="was closed"):
            ask(model)


def test_another_shares_no_connection(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.reply("one")
    endpoint.reply("two")
    beside = model.another("other")
    assert text_of(ask(beside)) == "one"
    assert endpoint.requests[-1]["model"] == "other"
    beside.close()
    assert text_of(ask(model)) == "two"


def test_close_from_another_thread_ends_a_reply(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.stall_after("One")
    parts = model.stream(HI, max_tokens=100)
    next(parts)
    threading.Timer(0.05, model.close).start()

    with pytest.raises(StreamBroken, match="was closed"):
        next(parts)
    with pytest.raises(ChatModelError, match="was closed"):
        ask(model)


# --- Failures -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An answer of an endpoint, and what the user is to read about it."""

    name: str
    status: int
    body: object
    error: type[ChatModelError]
    words: tuple[str, ...]
    headers: dict[str, str] = field(default_factory=dict)


def said(message: str, **rest: object) -> dict[str, Any]:
    return {"error": {"message": message, **rest}}


#: Stands for a date that is made when the test runs: the whole suite takes minutes.
IN_HALF_AN_HOUR = "in half an hour"


def as_sent(headers: dict[str, str]) -> dict[str, str]:
    later = format_datetime(datetime.now(UTC) + timedelta(minutes=30), usegmt=True)
    return {name: later if one == IN_HALF_AN_HOUR else one for name, one in headers.items()}


HTML = "<html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>"

CASES = (
    Case("wrong key", 401, said(f"Incorrect API key: {KEY}"), AuthenticationFailed, (".env",)),
    Case("wrong key, Gemini", 400, said("API key not valid."), AuthenticationFailed, (".env",)),
    Case(
        "key without access",
        403,
        said("Project has no access to model"),
        AuthenticationFailed,
        ("Project has no access", "region"),
    ),
    Case(
        "unknown model, OpenAI",
        404,
        said("The model `test-modle` does not exist", code="model_not_found"),
        UnknownModel,
        ("test-modle", "It offers test-model, test-max"),
    ),
    Case(
        "unknown model, Ollama",
        404,
        said('model "test-modle" not found, try pulling it first'),
        UnknownModel,
        ("test-model",),
    ),
    Case("unknown model, DeepSeek", 400, said("Model Not Exist"), UnknownModel, ("test-model",)),
    Case("unknown model, bare", 404, said("test-modle"), UnknownModel, ("test-model",)),
    Case("wrong path", 404, "404 page not found", ServerFailed, ("no chat API", "/v1")),
    Case("wrong path, FastAPI", 404, {"detail": "Not Found"}, ServerFailed, ("no chat API",)),
    Case(
        "wrong path, LM Studio",
        200,
        {"error": "Unexpected endpoint or method. (POST /chat/completions)"},
        ServerFailed,
        ("no chat API",),
    ),
    Case("wrong method", 405, "Method Not Allowed", ServerFailed, ("no chat API",)),
    Case(
        "redirect",
        301,
        "",
        ServerFailed,
        ("redirects to https://example.org/v1",),
        {"Location": "https://user:pass@example.org/v1?key=secret"},
    ),
    Case("rate limit", 429, said("Slow down"), RateLimited, ("in a while",)),
    Case(
        "rate limit, seconds",
        429,
        said("Slow down"),
        RateLimited,
        ("in 37 seconds",),
        {"Retry-After": "37"},
    ),
    Case(
        "rate limit, date",
        429,
        said("Slow down"),
        RateLimited,
        ("in 30 minutes",),
        {"Retry-After": IN_HALF_AN_HOUR},
    ),
    Case(
        "rate limit, milliseconds",
        429,
        said("Slow down"),
        RateLimited,
        ("in 12 seconds",),
        {"Retry-After-Ms": "11500"},
    ),
    Case(
        "rate limit, in words",
        429,
        said("Rate limit reached: too many tokens per min. Please try again in 6m30s."),
        RateLimited,
        ("in 7 minutes",),
    ),
    Case(
        "rate limit, Gemini",
        429,
        [{"error": {"message": "exceeded your current quota", "details": [{"retryDelay": "3s"}]}}],
        RateLimited,
        ("in 3 seconds",),
    ),
    Case(
        "rate limit, nonsense",
        429,
        said("Slow down"),
        RateLimited,
        ("in a while",),
        {"Retry-After": "nan"},
    ),
    Case(
        "quota",
        429,
        said("You exceeded your current quota", code="insufficient_quota"),
        RateLimited,
        ("no credit or quota", "Waiting does not help"),
    ),
    Case("no credit", 402, said("Insufficient Balance"), RateLimited, ("Waiting does not help",)),
    Case(
        "content filter, Azure",
        400,
        said("The response was filtered", code="content_filter"),
        RequestRejected,
        ("content filter", "Rephrase"),
    ),
    Case(
        "content filter, DeepSeek", 400, said("Content Exists Risk"), RequestRejected, ("filter",)
    ),
    Case(
        "bad request",
        400,
        said("Invalid 'messages[1].role'"),
        RequestRejected,
        ("rejected the request (400): Invalid 'messages[1].role'",),
    ),
    Case(
        "bad request, FastAPI",
        422,
        {
            "detail": [
                {"loc": ["body"], "msg": "Field required", "input": "context length exceeded"}
            ]
        },
        RequestRejected,
        ("(422): Field required",),
    ),
    Case(
        "reply longer than the model writes",
        400,
        said("max_tokens is too large: 99. This model supports at most 9 completion tokens"),
        RequestRejected,
        ("at most 9 completion tokens",),
    ),
    Case("server error", 500, said("boom"), ServerFailed, ("failed (500): boom",)),
    Case("bad gateway", 502, HTML, ServerFailed, ("(502): 502 Bad Gateway. Try again",)),
    Case("loading", 503, said("Loading model", code=503), ServerFailed, ("Loading model",)),
    Case(
        "the provider behind OpenRouter",
        502,
        said("Provider returned error", metadata={"raw": "upstream is down"}),
        ServerFailed,
        ("upstream is down",),
    ),
    Case("error with status 200", 200, said("busy", code=429), RateLimited, ("Too many",)),
    Case("a page", 200, HTML, ServerFailed, ("not with a reply",), {"Content-Type": "text/html"}),
    Case("plain text", 200, "It works!", ServerFailed, ("not with a reply", "/v1")),
    Case("other JSON", 200, {"status": "ok"}, ServerFailed, ("not with a reply",)),
    Case(
        "broken JSON",
        200,
        "{oops",
        ServerFailed,
        ("can't be read",),
        {"Content-Type": "application/json"},
    ),
    Case("an odd status", 418, "", RequestRejected, ("(418).",)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_answer_that_is_an_error_is_told_in_plain_words(
    tables: tuple[Endpoint, OpenAIChat], case: Case
) -> None:
    endpoint, model = tables
    endpoint.models = ["test-model", "test-max"]
    endpoint.fail(case.status, case.body, as_sent(case.headers))

    with pytest.raises(ChatModelError) as caught:
        ask(model)

    sentence = str(caught.value)
    assert type(caught.value) is case.error, sentence
    for words in case.words:
        assert words in sentence
    assert KEY not in sentence
    assert "secret" not in sentence
    assert sentence.endswith((".", "?"))


@dataclass(frozen=True)
class Overflow:
    """How one server says that a prompt is too long, and the window it names."""

    server: str
    message: str
    limit: int | None
    status: int = 400
    rest: dict[str, object] = field(default_factory=dict)


OVERFLOWS = (
    Overflow(
        "OpenAI",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9000 tokens. Please reduce the length of the messages.",
        8192,
        rest={"code": "context_length_exceeded"},
    ),
    Overflow(
        "OpenAI, newer",
        "Your input exceeds the context window of this model.",
        None,
        rest={"code": "context_length_exceeded"},
    ),
    Overflow(
        "OpenAI, configured",
        "Input tokens exceed the configured limit of 272,000 tokens.",
        272_000,
    ),
    Overflow(
        "vLLM, reply",
        "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context "
        "length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
        4096,
    ),
    Overflow(
        "vLLM, newer",
        "You passed 8193 input tokens and requested 0 output tokens. However, the model's context "
        "length is only 8192 tokens.",
        8192,
    ),
    Overflow(
        "vLLM, counting wrongly",
        "This model's maximum context length is 3 tokens. However, your request has 8 input "
        "tokens.",
        None,
    ),
    Overflow(
        "vLLM, longest",
        "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
        32768,
    ),
    Overflow("vLLM, nothing left", "max_tokens must be at least 1, got -186.", None),
    Overflow(
        "SGLang",
        "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
        32768,
    ),
    Overflow("Ollama", "prompt too long; exceeded max context length by 1234 tokens", None),
    Overflow("Ollama, older", "the input length exceeds the context length", None),
    Overflow(
        "DeepSeek",
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens "
        "(66000 in the messages, 4000 in the completion).",
        65536,
    ),
    Overflow(
        "llama.cpp",
        "the request exceeds the available context size, try increasing it",
        4096,
        rest={"type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096},
    ),
    Overflow(
        "llama.cpp, in words",
        "request (5000 tokens) exceeds the available context size (4096 tokens)",
        4096,
        status=500,
    ),
    Overflow("llama-cpp-python", "Requested tokens (5000) exceed context window of 4096", 4096),
    Overflow(
        "OpenRouter",
        "This endpoint's maximum context length is 131072 tokens. However, you requested about "
        "200000 tokens (199000 of text input, 1000 in the output).",
        131_072,
    ),
    Overflow(
        "LM Studio",
        "Trying to keep the first 10136 tokens when context the overflows. However, the model is "
        "loaded with context length of only 7866 tokens, which is not enough.",
        7866,
    ),
    Overflow(
        "LM Studio, newer",
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 10136>= n_ctx: 4096).",
        4096,
    ),
    Overflow("LM Studio, MLX", "Context size has been exceeded.", None),
    Overflow("Anthropic", "prompt is too long: 213462 tokens > 200000 maximum", 200_000),
    Overflow(
        "Anthropic, reply",
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
        200_000,
    ),
    Overflow(
        "Gemini",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        1_048_575,
    ),
    Overflow(
        "xAI",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        131_072,
    ),
    Overflow(
        "Mistral",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        32768,
    ),
    Overflow(
        "Fireworks", "The prompt is too long: 40000, model maximum context length: 32767", 32767
    ),
    Overflow(
        "TGI",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 "
        "`max_new_tokens`",
        4096,
        status=422,
    ),
    Overflow("Moonshot", "Your request exceeded model token limit: 8192 (requested: 9000)", 8192),
    Overflow(
        "Cerebras",
        "Please reduce the length of the messages or completion. Current length is 9000 while "
        "limit is 8192",
        8192,
    ),
    Overflow("Qwen", "Range of input length should be [1, 30720]", 30720),
    Overflow("Zhipu", "Prompt 超长", None),
    Overflow("MiniMax", "invalid params, context window exceeds limit (2013)", None),
    Overflow("Copilot", "prompt token count of 70000 exceeds the limit of 64000", 64000),
    Overflow(
        "Cohere", "too many tokens: total number of tokens in the prompt cannot exceed 4081", 4081
    ),
    Overflow(
        "Groq, a minute's tokens",
        "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8000",
        6000,
        status=413,
        rest={"code": "rate_limit_exceeded"},
    ),
    Overflow("a gateway", "Request Entity Too Large", None, status=413),
)


@pytest.mark.parametrize("overflow", OVERFLOWS, ids=lambda overflow: overflow.server)
def test_the_true_window_is_learnt_from_every_servers_wording(
    tables: tuple[Endpoint, OpenAIChat], overflow: Overflow
) -> None:
    endpoint, model = tables
    endpoint.requests.clear()
    endpoint.fail(overflow.status, said(overflow.message, **overflow.rest))

    with pytest.raises(ContextTooLong) as caught:
        ask(model)

    assert caught.value.limit == overflow.limit
    assert len(endpoint.requests) == 1


def test_an_error_event_before_any_text_is_told_as_what_it_is(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    endpoint.raw_stream([f"data: {json.dumps(said('maximum context length is 4096 tokens'))}", ""])

    with pytest.raises(ContextTooLong) as caught:
        ask(model)

    assert caught.value.limit == 4096


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["data: {oops", ""], "not the JSON"),
        (['data: {"choices": 5}', ""], "not the JSON"),
        (["data: [1]", ""], "not the JSON"),
        (["data: null", ""], "not the JSON"),
        (["data: " + "[" * 200_000, ""], "not the JSON"),
        ([f"data: {json.dumps(said('overloaded'))}", ""], "reported an error: overloaded"),
        (['data: {"error": "overloaded"}', ""], "reported an error: overloaded"),
        ([event({}, "error")], "stopped before its end"),
        ([], "stopped before its end"),
        (["data: [DONE]", ""], "stopped before its end"),
    ],
)
def test_what_ends_a_reply_in_the_middle_is_told(
    endpoint: Endpoint, model: OpenAIChat, lines: list[str], words: str
) -> None:
    endpoint.raw_stream([event({"content": "One"}), *lines])

    assert_breaks(model, words)


def assert_breaks(model: OpenAIChat, words: str) -> None:
    parts = model.stream(HI, max_tokens=100)
    assert next(parts).text == "One"
    with pytest.raises(StreamBroken) as caught:
        next(parts)
    assert words in str(caught.value)


def test_a_connection_lost_in_the_middle(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.break_after("One")

    assert_breaks(model, "was lost")


def test_silence_in_the_middle(endpoint: Endpoint) -> None:
    endpoint.stall_after("One")
    model = chat(endpoint, timeout=0.2)

    assert_breaks(model, "nothing came from 127.0.0.1")
    model.close()


def test_no_answer_in_time(endpoint: Endpoint) -> None:
    endpoint.stall_after("")
    model = chat(endpoint, timeout=0.2, max_retries=3)

    with pytest.raises(TimedOut, match=r"within 0\.2 seconds"):
        ask(model)

    model.close()
    assert len(endpoint.requests) == 1


def test_a_connection_closed_without_an_answer(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.break_after("")

    with pytest.raises(ServerFailed, match="closed the connection"):
        ask(model)


def test_a_reply_that_never_began_is_no_reply(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.raw_stream(["data: [DONE]", ""])

    with pytest.raises(ServerFailed, match="not with a reply"):
        ask(model)


def failing(base_url: str | None, key: str | None = None) -> ChatModelError:
    model = OpenAIChat(MODEL, base_url=base_url, api_key=key, timeout=2.0, max_retries=2)
    with pytest.raises(ChatModelError) as caught:
        ask(model)
    model.close()
    return caught.value


def test_nothing_listens_there() -> None:
    with Endpoint() as endpoint:
        port = endpoint.port

    error = failing(f"http://127.0.0.1:{port}/v1")

    assert isinstance(error, Unreachable)
    assert f"Nothing listens at 127.0.0.1:{port}" in str(error)


def test_no_such_host() -> None:
    error = failing("https://no-such-host.invalid/v1")

    assert isinstance(error, Unreachable)
    assert "no-such-host.invalid" in str(error)


def test_tls_where_plain_http_is_spoken(endpoint: Endpoint) -> None:
    error = failing(endpoint.url.replace("http", "https"))

    assert isinstance(error, Unreachable)
    assert "http://" in str(error)


@pytest.mark.parametrize(
    ("base_url", "key", "words"),
    [
        (None, None, "No model is set up"),
        ("", "  ", "No model is set up"),
        ("localhost:11434/v1", None, "must begin with http://"),
        ("http://[::1", None, "must begin with http://"),
        ("http://localhost:eleven/v1", None, "Check the address"),
        (None, "my key", "characters"),
        (None, "schlüssel-123", "characters"),
    ],
)
def test_what_can_not_be_used_is_said_before_anything_is_sent(
    base_url: str | None, key: str | None, words: str
) -> None:
    error = failing(base_url, key)

    assert isinstance(error, NotConfigured)
    assert words in str(error)
    assert key is None or not key.strip() or key not in str(error)


def test_an_endpoint_that_wants_a_key_when_there_is_none() -> None:
    with Endpoint(key=KEY) as endpoint:
        error = failing(endpoint.url)

    assert isinstance(error, AuthenticationFailed)
    assert "none is set" in str(error)


# --- Trying again -------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_short_wait_is_waited_for(endpoint: Endpoint, status: int) -> None:
    endpoint.fail(status, "", {"Retry-After": "0.01"})
    model = chat(endpoint, max_retries=1)

    assert text_of(ask(model)) == "You said: Hi."
    model.close()


def test_a_dropped_connection_is_tried_again(endpoint: Endpoint) -> None:
    endpoint.break_after("")
    model = chat(endpoint, max_retries=1)

    assert text_of(ask(model)) == "You said: Hi."
    model.close()


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (429, "", {"Retry-After": "11"}),
        (429, "", {"Retry-After": "119"}),
        (429, said("", code="insufficient_quota"), {"Retry-After": "0"}),
        (503, "", {"Retry-After": "60"}),
        (400, "", {}),
        (401, "", {}),
        (501, "", {}),
    ],
)
def test_what_does_not_pass_soon_is_not_tried_again(
    endpoint: Endpoint, status: int, body: object, headers: dict[str, str]
) -> None:
    endpoint.fail(status, body, headers)
    model = chat(endpoint, max_retries=2)

    with pytest.raises(ChatModelError):
        ask(model)

    model.close()
    assert len(endpoint.requests) == 1


def test_attempts_are_counted(endpoint: Endpoint) -> None:
    for _ in range(4):
        endpoint.fail(503, "", {"Retry-After": "0.01"})
    model = chat(endpoint, max_retries=2)

    with pytest.raises(ServerFailed):
        ask(model)

    model.close()
    assert len(endpoint.requests) == 3


def test_nothing_is_tried_again_once_text_came(endpoint: Endpoint) -> None:
    endpoint.break_after("One")
    model = chat(endpoint, max_retries=2)

    assert_breaks(model, "was lost")
    model.close()
    assert len(endpoint.requests) == 1


def test_close_ends_a_wait(endpoint: Endpoint) -> None:
    endpoint.fail(503, "", {"Retry-After": "4"})
    model = chat(endpoint, max_retries=1)
    threading.Timer(0.1, model.close).start()
    start = time.monotonic()

    with pytest.raises(ChatModelError):
        ask(model)

    assert time.monotonic() - start < 3


# --- Models -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"max_model_len": 32768}, 32768),
        ({"context_length": 131072}, 131072),
        ({"context_length": 131072, "top_provider": {"context_length": 65536}}, 65536),
        ({"max_context_length": 32768, "loaded_context_length": 4096}, 4096),
        ({"max_context_length": 32768}, 32768),
        ({"meta": {"n_ctx_train": 32768}}, 32768),
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 32768}}, 4096),
        ({"context_window": 8192}, 8192),
        ({}, None),
        ({"context_length": None, "meta": None, "top_provider": []}, None),
        ({"context_length": "many"}, None),
        ({"context_length": True}, None),
        ({"context_length": -1}, None),
    ],
)
def test_the_window_is_read_where_each_server_keeps_it(
    tables: tuple[Endpoint, OpenAIChat], entry: dict[str, Any], window: int | None
) -> None:
    endpoint, model = tables
    endpoint.models = [{"id": model.name, **entry}, {"id": "other", "max_model_len": 1000}]

    assert model.context_window() == window


def test_the_window_of_a_server_that_has_one_model_under_another_name(
    endpoint: Endpoint, model: OpenAIChat
) -> None:
    endpoint.models = [{"id": "/models/x.gguf", "meta": {"n_ctx_train": 4096}}]

    assert model.context_window() == 4096


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:9/v1"])
def test_a_window_that_can_not_be_had_is_none(base_url: str | None) -> None:
    model = OpenAIChat(MODEL, base_url=base_url, api_key=None, timeout=1.0, max_retries=0)

    assert model.context_window() is None
    model.close()


def test_models_are_listed_by_name(endpoint: Endpoint, model: OpenAIChat) -> None:
    endpoint.models = ["b", {"id": "a"}, {"id": None}, {}]

    assert model.list_models() == ["a", "b"]


def test_an_endpoint_without_a_list_of_models(endpoint: Endpoint) -> None:
    model = chat(endpoint, base_url=endpoint.url.removesuffix("/v1"))

    with pytest.raises(ServerFailed, match="end in /v1"):
        model.list_models()
    model.close()


# --- Words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("https://user:pass@example.org/v1/?key=1#x", "https://example.org/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("http://[::1", "(unreadable address)"),
    ],
)
def test_an_address_has_no_secret_in_it(base_url: str, address: str) -> None:
    assert public_address(base_url) == address
    assert OpenAIChat("m", base_url=base_url, api_key=None, timeout=1, max_retries=0).address == (
        address
    )


def test_without_an_address_it_is_openais() -> None:
    model = OpenAIChat("m", base_url=None, api_key=KEY, timeout=1, max_retries=0)

    assert model.address == "https://api.openai.com/v1"


def test_foreign_text_is_made_harmless() -> None:
    text = f"\x1b[31mred\x1b[0m \x1b]0;title\x07 a\u202eb\x00\r\n  key {KEY} sk-abcdefgh1234."

    assert plain(text, [KEY]) == "red ab key … …"
    assert plain("x" * 1000) == "x" * 299 + "…"
    assert plain(HTML) == "502 Bad Gateway"


def test_the_key_is_in_no_sentence_even_if_the_endpoint_repeats_it(endpoint: Endpoint) -> None:
    secrets = {"pass-9871", KEY}
    base_url = endpoint.url.replace("://", "://someone:pass-9871@") + "?token=abc"
    model = chat(endpoint, base_url=base_url)
    for status in (400, 401, 402, 403, 404, 418, 429, 500):
        endpoint.fail(status, said(f"You sent Bearer {KEY}, {' '.join(secrets)}"))
        with pytest.raises(ChatModelError) as caught:
            ask(model)
        assert not any(secret in str(caught.value) for secret in secrets), status
        assert "token" not in str(caught.value)
    model.close()


# --- The SDK ------------------------------------------------------------------------------------


#: Of parts of the SDK that are never called here.
NOT_CALLED = {
    "APIRemovedInV1",
    "AgentFilePreparationError",
    "AgentFileStagingError",
    "AgentOutputParseError",
    "AgentTurnResultError",
    "ContentFilterFinishReasonError",
    "LengthFinishReasonError",
    "MutuallyExclusiveAuthError",
    "StreamAlreadyConsumed",
    "SubjectTokenProviderError",
    "WebSocketConnectionClosedError",
    "WebSocketQueueFullError",
    "_AmbiguousModuleClientUsageError",
}


def test_every_error_of_the_sdk_is_translated() -> None:
    def tree(root: type[Exception]) -> Iterator[type[Exception]]:
        yield root
        for child in root.__subclasses__():
            yield from tree(child)

    table = translations()
    forgotten = [error for error in tree(openai.OpenAIError) if error not in table]

    assert {error.__name__ for error in forgotten} <= NOT_CALLED


def test_importing_the_module_does_not_import_the_sdk() -> None:
    program = (
        "import sys\n"
        "from assistant.providers.openai_chat import OpenAIChat\n"
        "OpenAIChat('m', base_url=None, api_key='k', timeout=1, max_retries=0).address\n"
        "print([name for name in ('openai', 'httpx2', 'httpcore2') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_load_makes_one_client_from_any_number_of_threads(endpoint: Endpoint) -> None:
    model = chat(endpoint)
    threads = [threading.Thread(target=model.load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert text_of(ask(model)) == "You said: Hi."
    model.close()
    model.close()


def test_the_endpoint_serves_as_a_program_of_its_own() -> None:
    command = [sys.executable, "-m", "tests.endpoint", "--echo", "--delay", "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        model = OpenAIChat(MODEL, base_url=address, api_key=None, timeout=5.0, max_retries=0)

        assert text_of(ask(model)) == "You said: Hi."

        model.close()
        process.kill()
