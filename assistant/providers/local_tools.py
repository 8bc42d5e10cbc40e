"""Tools for the embedded model: a short description, and the grammar of a reply that may call one.

It was trained on code, and writes a call as JSON whatever it is told. Its replies are held to a
grammar: text that does not begin like a call, or one call that fits the tool's arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assistant.messages import Message
from assistant.prompt import ToolSchema
from assistant.providers.plain_calls import without_calls

#: What precedes the tools. With examples of replies in words it called nothing for most requests;
#: with more examples of calls it called something for thanks and small talk, too.
OPENING = """\
Tools. To use one, reply with one line of JSON only:
{"name": "create_event", "arguments": {"title": "Dentist", "start": "tomorrow 3pm"}}
Copy times exactly as the user said them. Use a tool only when the user asks to add, move, cancel, \
list, note, find or remember something of theirs; answer questions and small talk in words."""


def tools_text(tools: Sequence[ToolSchema]) -> str:
    """The tools, one a line, with their arguments and what they do; empty without tools."""
    return "\n".join([OPENING, *map(_line, tools)]) if tools else ""


def with_tools(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Message]:
    """The messages with the tools described in the system message, and calls as plain text.

    They stand at its end: at its beginning the model used them less.
    """
    plain = without_calls(messages)
    text = tools_text(tools)
    if not text:
        return plain
    if plain and plain[0].role == "system":
        system = Message(role="system", content=f"{plain[0].text}\n\n{text}")
        return [system, *plain[1:]]
    return [Message(role="system", content=text), *plain]


def reply_grammar(
    tools: Sequence[ToolSchema],
    *,
    may_call: bool,
    said: str = "",
    times: Sequence[str] | None = None,
) -> str:
    """GBNF for a reply: text that can't be taken for a call or, with `may_call`, one call.

    The arguments of a call come in the order of the schema, the required ones first. Times are
    copied out of what was `said`, word for word: left to itself the model reckons dates, wrongly.
    With `times`, the expressions of time in it, they are one of those; where there is none, no
    tool that wants a time is called.
    """
    if times is not None:
        tools = [_with_times(tool, bool(times)) for tool in tools if times or not _wants_time(tool)]
    if not may_call or not tools:
        return "\n".join(["root ::= text", _TEXT])
    rules = [
        "root ::= text | call",
        _TEXT,
        f"call ::= {_quoted(_CALL_OPENING)} ({_either('call', len(tools))}) {_CLOSING}",
        *_VALUES,
        *(_time_rules(times) if times is not None else _copy_rules(said)),
    ]
    for number, tool in enumerate(tools):
        function = tool["function"]
        opening = _quoted(f'{function["name"]}", "arguments": {{')
        rules.append(f"call{number} ::= {opening} {_arguments(function)} {_CLOSING}")
    return "\n".join(rules)


# --- The description ----------------------------------------------------------------------------


def _line(tool: ToolSchema) -> str:
    function = tool["function"]
    properties, required = _parameters(function)
    arguments = (
        f"{name}{'' if name in required else '?'}{_type_note(schema)}"
        for name, schema in properties.items()
    )
    return f"{function['name']}({', '.join(arguments)}): {function.get('description', '')}"


def _type_note(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f":{'|'.join(schema['enum'])}"
    return {"integer": ":int", "boolean": ":bool", "array": ":list"}.get(schema["type"], "")


def _parameters(function: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[str]]:
    parameters = function.get("parameters", {})
    return parameters.get("properties", {}), parameters.get("required", ())


# --- The grammar --------------------------------------------------------------------------------

#: Neither JSON nor a fence, a tag or a list around it, and no blank line to begin with.
_TEXT = r"text ::= [^{\[`< \t\r\n] [^\x00]*"

_CALL_OPENING = '{"name": "'
_CLOSING = '"}"'

_VALUES = (
    r'string ::= "\"" character+ "\""',
    r'character ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)',
    r"hex ::= [0-9a-fA-F]",
    r"integer ::= [0-9] [0-9]? [0-9]? [0-9]? [0-9]? [0-9]?",
    r'boolean ::= "true" | "false"',
    r'strings ::= "[" string (", " string)* "]"',
)


#: Arguments that are times, in the words of the user.
_TIMES = frozenset({"start", "end", "from", "to", "valid_from", "valid_until"})

#: Words and marks that a copy may be made of; of a longer text anything may be written.
_MOST_PIECES = 150
_PIECE = re.compile(r"[A-Za-z0-9]+|[^\s\x00-\x1f]")


def said_by_user(messages: Sequence[Message]) -> str:
    """The user's own words in the last two messages, without the notes that stand beside them."""
    own = [message.text for message in messages if message.role == "user"][-2:]
    return "\n".join(_NOTE.sub("", text).strip() for text in own)


#: What `memory/background.py` puts beside a message: a block with an end, or a line.
_NOTE = re.compile(
    r"^\[Background[^\n]*\n.*?^\[End of the background\]$|^【背景[^\n]*\n.*?^【背景结束】$"
    r"|^\[Background[^\n]*\]$|^【背景[^\n]*】$",
    re.MULTILINE | re.DOTALL,
)


def _copy_rules(said: str) -> Sequence[str]:
    """Rules for any run of words in `said`, as the inside of a string: `time`."""
    found = list(_PIECE.finditer(said))
    if not 0 < len(found) <= _MOST_PIECES:
        return ["time ::= string"]
    rules = [f"time ::= {_QUOTE} ({_either('from', len(found))}) {_QUOTE}"]
    for number, piece in enumerate(found):
        rule = f"from{number} ::= {_quoted(json.dumps(piece[0], ensure_ascii=False)[1:-1])}"
        if number + 1 < len(found):
            gap = said[piece.end() : found[number + 1].start()]
            between = '" " ' if gap else ""
            rule += f" ({between}from{number + 1})?"
        rules.append(rule)
    return rules


def _time_rules(times: Sequence[str]) -> Sequence[str]:
    literals = (_quoted(json.dumps(time, ensure_ascii=False)) for time in times)
    return [f"time ::= {' | '.join(literals)}"] if times else []


def _wants_time(tool: ToolSchema) -> bool:
    return any(name in _TIMES for name in _parameters(tool["function"])[1])


def _with_times(tool: ToolSchema, any_time: bool) -> ToolSchema:
    """The tool with arguments that are times, or without them."""
    properties, required = _parameters(tool["function"])
    kept = {name: schema for name, schema in properties.items() if any_time or name not in _TIMES}
    function = {**tool["function"], "parameters": {"properties": kept, "required": required}}
    return {**tool, "function": function}


_QUOTE = r'"\""'


def _arguments(function: Mapping[str, Any]) -> str:
    """The inside of the arguments' braces."""
    properties, required = _parameters(function)
    pairs = {name: _pair(name, schema) for name, schema in properties.items()}
    needed = [pairs[name] for name in pairs if name in required]
    optional = [pairs[name] for name in pairs if name not in required]
    if needed:
        return ' ", " '.join(needed) + _tail(optional)
    # Any of them may be the first; none is, too.
    firsts = [f"{pair}{_tail(optional[place + 1 :])}" for place, pair in enumerate(optional)]
    return f"({' | '.join(firsts)})?" if firsts else ""


def _tail(optional: Iterable[str]) -> str:
    return "".join(f' (", " {pair})?' for pair in optional)


def _pair(name: str, schema: Mapping[str, Any]) -> str:
    return f"{_quoted(json.dumps(name) + ': ')} {'time' if name in _TIMES else _value(schema)}"


def _value(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        options = (_quoted(json.dumps(option, ensure_ascii=False)) for option in schema["enum"])
        return f"({' | '.join(options)})"
    return {"integer": "integer", "boolean": "boolean", "array": "strings"}.get(
        schema["type"], "string"
    )


def _either(rule: str, count: int) -> str:
    return " | ".join(f"{rule}{number}" for number in range(count))


def _quoted(text: str) -> str:
    """A literal of GBNF."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
