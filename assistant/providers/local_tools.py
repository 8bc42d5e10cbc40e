"""The tools as the embedded model is told of them, and a conversation without its calls.

It was trained on code, and writes on in JSON where it sees some.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.messages import Message, TextPart
from assistant.prompt import ToolSchema

TELLING = """\
You can add, move, cancel and list the user's appointments, keep and find memos, and remember \
facts about the user. Whatever the user asks of these is done by the program as soon as it is \
asked with what it needs, such as a time; you do nothing of it yourself. Ask for what is missing."""

#: GBNF for a reply in words that can't be taken for a call: neither JSON nor a fence, a tag or a
#: list around it, and no blank line to begin with.
TEXT_GRAMMAR = r"root ::= [^{\[`< \t\r\n] [^\x00]*"


def tools_text(tools: Sequence[ToolSchema]) -> str:
    """What it is told of tools; empty without any.

    The calls are made by code: a description of each would only be read, slowly, and lead to JSON.
    """
    return TELLING if tools else ""


def with_tools(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Message]:
    """The messages with the tools told of at the end of the system message, and without calls."""
    plain = _in_words(messages)
    text = tools_text(tools)
    if not text:
        return plain
    if plain and plain[0].role == "system":
        system = Message(role="system", content=f"{plain[0].text}\n\n{text}")
        return [system, *plain[1:]]
    return [Message(role="system", content=text), *plain]


def said_by_user(messages: Sequence[Message]) -> str:
    """The user's own words in the last message, without the notes that stand beside them."""
    own = [message.text for message in messages if message.role == "user"][-1:]
    return "\n".join(_NOTE.sub("", text).strip() for text in own)


#: What `memory/background.py` puts beside a message: a block with an end, or a line.
_NOTE = re.compile(
    r"^\[Background[^\n]*\n.*?^\[End of the background\]$|^【背景[^\n]*\n.*?^【背景结束】$"
    r"|^\[Background[^\n]*\]$|^【背景[^\n]*】$",
    re.MULTILINE | re.DOTALL,
)


def results_since(messages: Sequence[Message]) -> Sequence[Message]:
    """The results of tools behind the user's last message."""
    own = [place for place, message in enumerate(messages) if message.role == "user"]
    return [one for one in messages[own[-1] + 1 if own else 0 :] if one.role == "tool"]


def ids_spoken_of(messages: Sequence[Message]) -> Sequence[str]:
    """The ids of events and memos that results named alone, the last one first."""
    found: dict[str, None] = {}
    for message in reversed(messages):
        if message.role == "tool":
            ids = {one[1] or one[2] for one in _ID.finditer(message.text)}
            found |= dict.fromkeys(ids if len(ids) == 1 else ())
    return list(found)


_ID = re.compile(r"with the id ([em][a-z0-9@t-]+):|^([em][a-z0-9@t-]+) · ", re.MULTILINE)


def _in_words(messages: Sequence[Message]) -> list[Message]:
    """The conversation without calls: the model would write on in JSON.

    A result stands behind the question it belongs to, until that is answered: the reply says it.
    """
    since, words = {id(one) for one in results_since(messages)}, list[Message]()
    for one in messages:
        if one.role == "tool":
            if id(one) in since:
                asked = words.pop() if words and words[-1].role == "user" else None
                words.append(_joined(asked, f"[{one.text}]"))
        elif not one.tool_calls:
            words.append(one)
        elif one.text:
            words.append(Message(role=one.role, content=one.content))
    return words


def _joined(message: Message | None, text: str) -> Message:
    if message is None:
        return Message(role="user", content=text)
    if isinstance(message.content, str):
        return Message(role=message.role, content=f"{message.content}\n\n{text}")
    return Message(role=message.role, content=(*message.content, TextPart(text)))
