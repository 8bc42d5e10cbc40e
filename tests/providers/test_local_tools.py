"""What the embedded model is told of tools, and the grammar its replies are held to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.memory.background import recalled_block, time_note
from assistant.messages import Message, ToolCall
from assistant.prompt import ToolSchema
from assistant.providers.local_tools import reply_grammar, said_by_user, tools_text, with_tools
from assistant.tools import all_groups

TOOLS: list[ToolSchema] = [tool.schema for group in all_groups() for tool in group.tools]


def tool(name: str, properties: dict[str, object], required: list[str]) -> ToolSchema:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {
        "type": "function",
        "function": {"name": name, "description": "Does it.", "parameters": parameters},
    }


PUT = tool(
    "put",
    {
        "thing": {"type": "string"},
        "where": {"enum": ["left", "right"]},
        "number": {"type": "integer"},
        "firmly": {"type": "boolean"},
        "labels": {"type": "array", "items": {"type": "string"}},
    },
    ["thing"],
)
LOOK = tool("look", {"from": {"type": "string"}, "to": {"type": "string"}}, [])


def rule(grammar: str, name: str) -> str:
    [found] = [line for line in grammar.splitlines() if line.startswith(f"{name} ::= ")]
    return found.removeprefix(f"{name} ::= ")


def test_a_tool_is_one_line_with_its_arguments() -> None:
    line = tools_text([PUT]).splitlines()

    assert (
        "put(thing, where?:left|right, number?:int, firmly?:bool, labels?:list): Does it." in line
    )


def test_no_tools_are_no_text() -> None:
    assert tools_text([]) == ""
    hi = [Message(role="user", content="Hi.")]
    assert with_tools(hi, []) == hi


def test_the_tools_stand_in_the_one_system_message() -> None:
    system = Message(role="system", content="Be brief.")
    asked = Message(role="user", content="Hi.")

    first, second = with_tools([system, asked], [PUT])
    assert (first.role, second.role) == ("system", "user")
    assert "Be brief." in first.text
    assert tools_text([PUT]) in first.text
    assert second.text.startswith("Hi.")
    assert [one.role for one in with_tools([asked], [PUT])] == ["system", "user"]


def test_earlier_calls_stand_there_as_the_model_wrote_them() -> None:
    call = ToolCall("a", "put", '{"thing": "cup"}')
    messages = [
        Message(role="user", content="Put the cup there."),
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content="Put.", tool_call_id="a"),
    ]

    *_, called, result = with_tools(messages, [PUT])
    assert called.text == '{"name": "put", "arguments": {"thing": "cup"}}'
    assert (result.role, result.text.splitlines()[:2]) == ("user", ["[Result of put]", "Put."])


def test_the_grammar_has_required_arguments_first_and_the_others_in_order() -> None:
    grammar = reply_grammar([PUT], may_call=True)

    assert rule(grammar, "call0") == (
        r'"put\", \"arguments\": {" "\"thing\": " string'
        r' (", " "\"where\": " ("\"left\"" | "\"right\""))?'
        r' (", " "\"number\": " integer)?'
        r' (", " "\"firmly\": " boolean)?'
        r' (", " "\"labels\": " strings)? "}"'
    )


def test_where_no_argument_is_required_any_may_be_the_first() -> None:
    grammar = reply_grammar([PUT, LOOK], may_call=True)

    assert rule(grammar, "call1") == (
        r'"look\", \"arguments\": {" ("\"from\": " time (", " "\"to\": " time)?'
        r' | "\"to\": " time)? "}"'
    )
    assert rule(grammar, "call") == r'"{\"name\": \"" (call0 | call1) "}"'


def test_times_are_copied_out_of_what_was_said() -> None:
    grammar = reply_grammar([LOOK], may_call=True, said='明天3pm "or" later')

    assert rule(grammar, "time").startswith(r'"\"" (from0 | from1 | from2 | ')
    assert rule(grammar, "from0") == '"明" (from1)?'
    assert rule(grammar, "from2") == '"3pm" (" " from3)?'
    assert rule(grammar, "from3") == r'"\\\"" (from4)?'
    assert rule(grammar, "from6") == '"later"'


@pytest.mark.parametrize("said", ["", "word " * 500])
def test_of_nothing_and_of_a_long_text_any_time_may_be_written(said: str) -> None:
    assert rule(reply_grammar([LOOK], may_call=True, said=said), "time") == "string"


@pytest.mark.parametrize("text", ["Call Bo tomorrow.", "明天给小李打电话。"])
def test_notes_are_no_words_of_the_user(text: str) -> None:
    now = datetime(2026, 11, 30, 10, 15, tzinfo=UTC)
    # In the language of the words, as the program writes it.
    recalled = recalled_block("2025: yesterday" if text.isascii() else "2025：昨天。")
    asked = Message("user", f"{recalled}\n\n{text}\n\n{time_note(text, now)}")
    result = Message("tool", "2026-01-01", tool_call_id="a")

    said = said_by_user([Message("user", "Earlier."), asked, result])

    assert said == f"Earlier.\n{text}"


def test_without_may_call_there_is_only_text() -> None:
    grammar = reply_grammar([PUT], may_call=False)

    assert rule(grammar, "root") == "text"
    assert "call" not in grammar


@pytest.mark.parametrize("schema", TOOLS, ids=lambda one: one["function"]["name"])
def test_the_real_tools_have_arguments_the_grammar_knows(schema: ToolSchema) -> None:
    for argument in schema["function"]["parameters"]["properties"].values():
        assert "enum" in argument or argument["type"] in ("string", "integer", "boolean", "array")


def test_a_time_is_one_of_those_that_were_said() -> None:
    grammar = reply_grammar([PUT, LOOK], may_call=True, said="x", times=['明天"3点', "at noon"])
    assert rule(grammar, "time") == r'"\"明天\\\"3点\"" | "\"at noon\""'


def test_where_no_time_was_said_no_call_has_one() -> None:
    whole = reply_grammar(TOOLS, may_call=True, said="hello", times=["now"])
    grammar = reply_grammar(TOOLS, may_call=True, said="hello", times=[])
    assert "create_event" in whole
    assert "create_event" not in grammar
    assert "remember" in grammar
    assert "valid_from" in whole
    assert "valid_from" not in grammar
    assert " time" not in grammar
