"""Our messages as the chat API takes them, and its chunks as the reply they make up."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from assistant.messages import ImagePart, Message, Part, ToolCall, Usage, clean_text
from assistant.protocols import ReplyPart

#: Finish reasons by which an endpoint says that it gave up, not that the reply is whole.
GIVEN_UP = frozenset({"error", "abort", "insufficient_system_resource"})

#: Replies with calls whose reasoning is remembered: those of a few turns.
MOST_REASONING = 64


class SentBack:
    """What goes back to one model with the calls it made. Safe to share between threads.

    Reasoning lives here alone: it is never written to the log, and no part of any count.
    """

    def __init__(self, model: str) -> None:
        self._names = {model}
        self._reasoning: deque[tuple[tuple[ToolCall, ...], str]] = deque(maxlen=MOST_REASONING)

    def keep(self, part: ReplyPart, reasoning: str) -> None:
        """Take the end of a reply: what the endpoint calls its model, and what led to its calls."""
        if part.model:
            self._names.add(part.model)
        if part.tool_calls and reasoning:
            self._reasoning.append((part.tool_calls, reasoning))

    def made(self, message: Message) -> bool:
        """Whether the model that is asked now wrote it."""
        return message.model in self._names

    def reasoning(self, message: Message) -> str:
        """What led to the calls of a message; empty when that is not known."""
        if not self.made(message):
            return ""
        # Ids may have been changed since.
        asked = [(call.name, call.arguments) for call in message.tool_calls]
        for calls, reasoning in reversed(tuple(self._reasoning)):
            if [(call.name, call.arguments) for call in calls] == asked:
                return reasoning
        return ""


def request_messages(
    messages: Sequence[Message], sent_back: SentBack, *, reasoning: bool
) -> list[dict[str, Any]]:
    """The `messages` of a request. Every string in it can be encoded as UTF-8.

    With `reasoning` each call goes with what led to it.
    """
    requests = []
    for message in messages:
        request = _request_message(message, own=sent_back.made(message))
        if reasoning and message.tool_calls:
            request["reasoning_content"] = sent_back.reasoning(message)
        requests.append(sendable(request))
    return requests


def sendable(value: Any) -> Any:
    """The same JSON value without lone surrogates, which no UTF-8 can carry."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    return value


def new_call_id() -> str:
    """An id for a call that came without one: the tool's result is matched with it later."""
    return f"call_{os.urandom(6).hex()}"


def valid_arguments(arguments: str) -> str:
    """The arguments as a JSON object.

    A model now and then writes broken JSON. Servers that read the arguments of past calls would
    then refuse every later request of the session, so it is sent as an object that quotes it.
    """
    try:
        valid = isinstance(msgspec.json.decode(arguments.encode("utf-8", "replace")), dict)
    except (msgspec.DecodeError, RecursionError):
        valid = False
    if valid:
        return arguments
    return json.dumps({"unreadable": arguments}) if arguments.strip() else "{}"


class Reply:
    """The reply so far: takes chunks as they come and keeps what belongs in the last part."""

    def __init__(self) -> None:
        self.begun = False
        """Whether any of its text has come."""
        self._calls: list[_CallInPieces] = []
        self._call_at: dict[int, _CallInPieces] = {}
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._reasoning: list[str] = []

    @property
    def finished(self) -> bool:
        """Whether the endpoint has said that the reply is whole."""
        return self._finish_reason is not None and self._finish_reason not in GIVEN_UP

    @property
    def reasoning(self) -> str:
        """What the model thought before it answered, where the endpoint tells."""
        return clean_text("".join(self._reasoning))

    def add(self, data: object) -> str:
        """Take one chunk, or a whole completion, and give the text in it; often none.

        Raises `msgspec.ValidationError` for anything that has not the shape of a chunk.
        """
        chunk = msgspec.convert(data, _Chunk, strict=False)
        self._model = chunk.model or self._model
        self._usage = _usage(chunk.usage) or self._usage
        choices = [choice for choice in chunk.choices or () if not choice.index]
        text = "".join(self._add_choice(choice) for choice in choices)
        self.begun = self.begun or bool(text)
        return clean_text(text)

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of tools that came as such."""
        return tuple(call.whole() for call in self._calls if call.name)

    def last_part(self, calls: tuple[ToolCall, ...]) -> ReplyPart:
        """What is only known at the end: finish reason, usage and model, beside the calls."""
        reason = self._finish_reason
        return ReplyPart(
            tool_calls=calls,
            # A call that was written as text ended like text.
            finish_reason="tool_calls" if calls and reason == "stop" else reason,
            usage=self._usage,
            model=self._model,
        )

    def _add_choice(self, choice: _Choice) -> str:
        self._finish_reason = choice.finish_reason or self._finish_reason
        said = choice.delta or choice.message or _Said()
        if isinstance(said.reasoning_content, str):
            self._reasoning.append(said.reasoning_content)
        for position, piece in enumerate(said.tool_calls or ()):
            self._add_call(piece, position)
        return _text(said.content) or said.refusal or ""

    def _add_call(self, piece: _CallPiece, position: int) -> None:
        index = position if piece.index is None else piece.index
        call = self._call_at.get(index)
        if call is None or call.is_other(piece):
            call = _CallInPieces()
            self._calls.append(call)
            self._call_at[index] = call
        call.add(piece)


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Any = None


class _Said(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Said | None = None
    message: _Said | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    """One event of the stream. Anything may be missing: many servers leave parts of it out."""

    model: str | None = None
    choices: list[_Choice] | None = None
    usage: Any = None


class _CallInPieces(msgspec.Struct):
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra_content: str = ""

    def is_other(self, piece: _CallPiece) -> bool:
        """Whether `piece` opens another call: some servers give all calls the same index."""
        opens = piece.function is not None and bool(piece.function.name)
        return opens and bool(piece.id) and bool(self.id) and piece.id != self.id

    def add(self, piece: _CallPiece) -> None:
        self.id = self.id or piece.id or ""
        if piece.extra_content:
            self.extra_content = json.dumps(sendable(piece.extra_content), ensure_ascii=False)
        if piece.function is None:
            return
        self.name = self.name or piece.function.name or ""
        arguments = piece.function.arguments or ""
        self.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def whole(self) -> ToolCall:
        arguments = clean_text(self.arguments)
        return ToolCall(self.id or new_call_id(), self.name, arguments, self.extra_content)


def _request_message(message: Message, *, own: bool) -> dict[str, Any]:
    """One message; `own` says that the model that is asked wrote it."""
    if message.role == "tool":
        return {"role": "tool", "content": message.text, "tool_call_id": message.tool_call_id or ""}
    request: dict[str, Any] = {"role": message.role, "content": _request_content(message)}
    if message.tool_calls:
        request["content"] = request["content"] or None
        request["tool_calls"] = [_request_call(call, own=own) for call in message.tool_calls]
    return request


def _request_content(message: Message) -> str | list[dict[str, Any]]:
    if isinstance(message.content, str):
        return message.content
    # Only a user may send images; other roles take plain text everywhere.
    if message.role != "user":
        return message.text
    return [_request_part(part) for part in message.content]


def _request_part(part: Part) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        image = {"url": part.image_url.url, "detail": part.image_url.detail}
        return {"type": "image_url", "image_url": image}
    return {"type": "text", "text": part.text}


def _request_call(call: ToolCall, *, own: bool) -> dict[str, Any]:
    function = {"name": call.name, "arguments": valid_arguments(call.arguments)}
    request = {"id": call.id, "type": "function", "function": function}
    # Signed for the model that made the call: others refuse it.
    if own and call.extra_content:
        request["extra_content"] = json.loads(call.extra_content)
    return request


def _text(content: str | list[Any] | None) -> str:
    """The text of a content, which some servers send as a list of typed parts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content or ""


def _usage(raw: object) -> Usage | None:
    if not isinstance(raw, dict):
        return None
    prompt = _count(raw.get("prompt_tokens"))
    if not prompt:
        return None
    return Usage(prompt, _count(raw.get("completion_tokens")), _cached_tokens(raw))


def _cached_tokens(usage: dict[str, Any]) -> int:
    """Tokens read from the provider's cache: OpenAI's place for them, DeepSeek's, Moonshot's."""
    details = usage.get("prompt_tokens_details")
    places = (
        details.get("cached_tokens") if isinstance(details, dict) else None,
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    return next((count for place in places if (count := _count(place))), 0)


def _count(value: object) -> int:
    """A count of tokens; 0 for anything that can't be one, such as JSON's `Infinity`."""
    return int(value) if isinstance(value, int | float) and 0 < value < 10**12 else 0
