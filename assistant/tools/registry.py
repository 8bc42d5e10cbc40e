"""Tools: each is declared once, as a typed function, and everything else reads that.

A tool's function takes what it works on (`ToolContext`) and the arguments a model passes, each
annotated with its type and a description. Its schema, the check of a call, `/tools` and the tests
are made from that. A function that changes something checks its arguments and hands back a
`Proposal`; whoever called it decides whether that is carried out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, get_type_hints

import msgspec

from assistant.errors import AssistantError, EntryError, WrongEntry
from assistant.messages import Event, Fact, Memo, ToolCall
from assistant.prompt import ToolSchema
from assistant.protocols import Change, Recaller, Stores


class BadCall(AssistantError):
    """A call that can't be run; its text tells the model how to mend it."""


class ToolResult(msgspec.Struct, frozen=True):
    """What a tool came to: lines for the model, and what was written, from the store's answer."""

    text: str
    change: Change | None = None
    stands: str = ""
    """What is so already, so that nothing had to be written and a reply may say it is."""


class Proposal(msgspec.Struct, frozen=True):
    """A change that is ready to be made."""

    question: str
    """What would be done, as it is asked: `Add “Review · Tue 2026-12-01 15:00” to the calendar?`"""
    carry_out: Callable[[], ToolResult]
    """Raises EntryError when it can't be: then nothing was changed."""
    about: Event | Memo | Fact | None = None
    """The entry it would change, as it was when the question was made."""
    always_asks: bool = False
    """Whether it is a guess at what was meant, that the user must see."""


@dataclass(frozen=True)
class ToolContext:
    """What the tools work on."""

    stores: Stores
    recaller: Recaller


Function: TypeAlias = Callable[..., ToolResult | Proposal]


class Tool(msgspec.Struct, frozen=True):
    """A function a model may call."""

    name: str
    function: Function
    changes: bool
    """Whether it may change what the user keeps."""
    arguments: type[msgspec.Struct]
    """The arguments after the context, for checking a call."""
    takes_source: bool = False
    """Whether it wants to know the turn it is called in."""

    @property
    def description(self) -> str:
        """The function's docstring, on one line."""
        return " ".join((inspect.getdoc(self.function) or "").split())

    @property
    def properties(self) -> Mapping[str, Mapping[str, Any]]:
        """Each argument as JSON schema, flat."""
        return {
            one.encode_name: _flat(msgspec.json.schema(one.type))
            for one in msgspec.structs.fields(self.arguments)
        }

    @property
    def required(self) -> Sequence[str]:
        fields = msgspec.structs.fields(self.arguments)
        return [one.encode_name for one in fields if one.required]

    @property
    def signature(self) -> str:
        """`create_event(title, start, end?)`."""
        required = self.required
        names = (name if name in required else f"{name}?" for name in self.properties)
        return f"{self.name}({', '.join(names)})"

    @property
    def schema(self) -> ToolSchema:
        """The tool as the chat API takes it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": self.properties,
                    "required": self.required,
                    "additionalProperties": False,
                },
            },
        }

    def checked(self, arguments: str) -> msgspec.Struct:
        """The arguments of a call. Raises BadCall, saying which is wrong and what is expected."""
        try:
            given = msgspec.json.decode(arguments.strip() or "{}")
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise self._bad("its arguments are no valid JSON") from error
        if not isinstance(given, dict):
            raise self._bad("its arguments are no JSON object")
        # What is not given is often passed as null, or as an empty text.
        given = {name: value for name, value in given.items() if value not in (None, "")}
        try:
            return msgspec.convert(given, self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise self._bad(_in_words(error)) from error

    def _bad(self, reason: str) -> BadCall:
        properties = (
            f"{name} ({_type_name(schema)}{'' if name in self.required else ', may be left out'})"
            for name, schema in self.properties.items()
        )
        return BadCall(
            f"{self.name} was not run: {reason}. It takes {', '.join(properties)}. "
            "Call it again with these."
        )


@dataclass
class ToolGroup:
    """Tools that belong together, in the order they are declared."""

    heading: str
    tools: list[Tool] = field(default_factory=list)

    def tool(self, *, changes: bool = False) -> Callable[[Function], Function]:
        """Declare the decorated function as a tool of its name."""

        def declare(function: Function) -> Function:
            self.tools.append(_tool(function, changes))
            return function

        return declare


class ToolRegistry:
    """All tools by name, and what they work on."""

    def __init__(self, groups: Callable[[], Iterable[ToolGroup]], context: ToolContext) -> None:
        """`groups` gives the tools when they are first needed."""
        self._groups = groups
        self._context = context

    @cached_property
    def _by_name(self) -> Mapping[str, Tool]:
        return {tool.name: tool for group in self._groups() for tool in group.tools}

    @property
    def tools(self) -> Sequence[Tool]:
        return tuple(self._by_name.values())

    def schemas(self, *, changing: bool = True) -> Sequence[ToolSchema]:
        """What is sent with a prompt; without `changing` the tools that only look."""
        return self._schemas if changing else self._looking_schemas

    @cached_property
    def _schemas(self) -> Sequence[ToolSchema]:
        return tuple(tool.schema for tool in self.tools)

    @cached_property
    def _looking_schemas(self) -> Sequence[ToolSchema]:
        return tuple(tool.schema for tool in self.tools if not tool.changes)

    def get(self, name: str) -> Tool:
        """The tool a call names. Raises BadCall."""
        tool = self._by_name.get(name)
        if tool is None:
            raise BadCall(f"There is no tool {name}. There are: {', '.join(self._by_name)}.")
        return tool

    def begin(self, call: ToolCall, source: str) -> ToolResult | Proposal:
        """Look something up, or prepare a change; `source` is the turn, `<session>.<turn>`.

        Raises BadCall for what the model can mend, and EntryError for what it can't.
        """
        tool = self.get(call.name)
        arguments = msgspec.structs.asdict(tool.checked(call.arguments))
        if tool.takes_source:
            arguments["source"] = source
        try:
            return tool.function(self._context, **arguments)
        except WrongEntry as error:
            raise BadCall(f"{tool.name} was not run: {_about(error)}") from error
        except EntryError as error:
            raise BadCall(f"{tool.name} was not run: {error}") from error


def _tool(function: Function, changes: bool) -> Tool:
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for one in parameters:
        if one.name == "source":
            continue
        if one.default is inspect.Parameter.empty:
            fields.append((one.name, hints[one.name]))
        else:
            fields.append((one.name, hints[one.name], one.default))
    name = getattr(function, "__name__", "")
    arguments = msgspec.defstruct(
        f"{name}_arguments",
        fields,
        forbid_unknown_fields=True,
        # `from` is a word of Python's: its argument is called `from_`.
        rename=lambda field_name: field_name.rstrip("_"),
    )
    takes_source = any(one.name == "source" for one in parameters)
    return Tool(name, function, changes, arguments, takes_source)


def _flat(schema: dict[str, Any]) -> dict[str, Any]:
    """A property without the alternative null and its default, which only cost tokens."""
    options = [one for one in schema.pop("anyOf", []) if one.get("type") != "null"]
    flat = {**schema, **(options[0] if options else {})}
    flat.pop("default", None)
    return flat


def _type_name(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(schema["enum"])
    kind = str(schema["type"])
    return {"string": "text", "integer": "whole number", "array": "list of texts"}.get(kind, kind)


def _in_words(error: msgspec.ValidationError) -> str:
    """msgspec's sentence with the argument's name in front."""
    sentence, _, place = str(error).partition(" - at `$.")
    sentence = sentence.replace("Object missing required field", "it misses the argument")
    sentence = sentence.replace("Object contains unknown field", "it has no argument")
    sentence = sentence.replace("`", "“", 1).replace("`", "”", 1)
    return f"{place.rstrip('`')}: {sentence}" if place else sentence


def _about(error: WrongEntry) -> str:
    return f"{error.field}: {error}" if error.field else str(error)
