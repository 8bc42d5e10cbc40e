"""Calls of tools and their results as plain text, for models that know neither."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from assistant.messages import Message, TextPart, ToolCall
from assistant.providers.openai_messages import valid_arguments


def without_calls(messages: Sequence[Message]) -> list[Message]:
    """The same conversation in the roles system, user and assistant.

    A call is a line of JSON in the assistant's message, the way a model is asked to write one; the
    results are a user's message, each marked with its tool. That takes up the user's next words,
    too, where there was no reply between, so that the roles still alternate.
    """
    flat: list[Message] = []
    names: dict[str, str] = {}
    after_result = False
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls}
        said = _plain(message, names)
        if after_result and said.role == "user":
            flat[-1] = _joined(flat[-1], said)
        else:
            flat.append(said)
        after_result = message.role == "tool"
    return flat


def call_text(call: ToolCall) -> str:
    """A call as one line of JSON; the arguments exactly as the model wrote them, if they can be."""
    name = json.dumps(call.name, ensure_ascii=False)
    return f'{{"name": {name}, "arguments": {valid_arguments(call.arguments)}}}'


def _plain(message: Message, names: Mapping[str, str]) -> Message:
    """One message as text; `names` are those of the tools by the ids of their calls."""
    if message.role == "tool":
        tool = names.get(message.tool_call_id or "", "the tool")
        return Message(role="user", content=f"[Result of {tool}]\n{message.text}")
    if not message.tool_calls:
        return message
    lines = [message.text] if message.text else []
    return Message(
        role=message.role, content="\n".join([*lines, *map(call_text, message.tool_calls)])
    )


def _joined(first: Message, second: Message) -> Message:
    """Two messages of the user's as one."""
    if isinstance(second.content, str):
        return Message(role="user", content=f"{first.text}\n\n{second.content}")
    return Message(role="user", content=(TextPart(first.text), *second.content))
