"""Tools are declared once: the schema, the check of a call and its run follow from the function."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.messages import ToolCall
from assistant.tools import all_groups
from assistant.tools.registry import BadCall, Proposal, Tool, ToolResult
from tests.tools.shelf import Shelf, shelf_tools

ALL_TOOLS = [tool for group in all_groups() for tool in group.tools]


def call(name: str, arguments: object) -> ToolCall:
    return ToolCall("1", name, arguments if isinstance(arguments, str) else json.dumps(arguments))


def refusal(name: str, arguments: object) -> str:
    with pytest.raises(BadCall) as refused:
        shelf_tools(Shelf()).begin(call(name, arguments), "s1.1")
    return str(refused.value)


def test_the_schema_is_flat_and_names_every_argument() -> None:
    put = shelf_tools(Shelf()).get("put")
    assert put.schema == {
        "type": "function",
        "function": {
            "name": "put",
            "description": "Put things on the shelf.",
            "parameters": {
                "type": "object",
                "properties": {
                    "thing": {"type": "string", "description": "what to put there"},
                    "number": {"type": "integer", "description": "how many"},
                    "where": {"enum": ["left", "right"], "description": "the side"},
                    "labels": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "words on it",
                    },
                },
                "required": ["thing"],
                "additionalProperties": False,
            },
        },
    }
    assert put.signature == "put(thing, number?, where?, labels?)"


def test_tools_that_change_something_can_be_left_out() -> None:
    names = [one["function"]["name"] for one in shelf_tools(Shelf()).schemas(changing=False)]
    assert names == ["look", "break_asking"]


def test_a_change_is_prepared_and_made_only_when_it_is_carried_out() -> None:
    shelf = Shelf()
    begun = shelf_tools(shelf).begin(call("put", {"thing": "cup", "number": "2"}), "s1.4")
    assert isinstance(begun, Proposal)
    assert (begun.question, shelf) == ("Put 2 cup on the shelf?", [])
    result = begun.carry_out()
    assert (result.text, list(shelf)) == ("Put 2 cup.", ["2 cup (s1.4)"])
    assert result.change is not None
    result.change.undo()
    assert not shelf


def test_an_argument_named_like_a_word_of_the_language_is_taken() -> None:
    begun = shelf_tools(Shelf()).begin(call("look", {"from": "left"}), "")
    assert begun == ToolResult("The shelf is empty.")


@pytest.mark.parametrize("arguments", ["", "  ", "{}", '{"from": null}', '{"from": ""}'])
def test_what_is_not_given_may_be_passed_as_nothing(arguments: str) -> None:
    assert isinstance(shelf_tools(Shelf()).begin(call("look", arguments), ""), ToolResult)


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    assert (
        refusal("puts", {})
        == "There is no tool puts. There are: put, drop, look, break_asking, break_doing."
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"thing": "cu', "no valid JSON"),
        ("[1]", "no JSON object"),
        ("[" * 100_000, "no valid JSON"),
        ({}, "it misses the argument “thing”"),
        ({"thing": "cup", "colour": "red"}, "it has no argument “colour”"),
        ({"thing": "cup", "number": "many"}, "number: Expected “int”"),
        ({"thing": "cup", "where": "up"}, "where: Invalid enum value 'up'"),
        ({"thing": "cup", "labels": "x"}, "labels: Expected “array”"),
        ({"thing": "cup", "number": 0}, "number: 0 is no number of things."),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_expected(arguments: object, said: str) -> None:
    text = refusal("put", arguments)
    assert text.startswith("put was not run: ")
    assert said in text
    if "no number" not in said:
        assert "It takes thing (text), number (whole number, may be left out)" in text
        assert "where (left or right, may be left out)" in text


@given(st.one_of(st.text(), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
).map(json.dumps)))  # fmt: skip
def test_whatever_is_passed_nothing_but_a_bad_call_comes_of_it(arguments: str) -> None:
    registry = shelf_tools(Shelf())
    for name in ("put", "look", arguments):
        with contextlib.suppress(BadCall):
            registry.begin(ToolCall("1", name, arguments), "s.1")


@pytest.mark.parametrize("tool", ALL_TOOLS, ids=lambda tool: tool.name)
def test_every_tool_says_what_it_does_and_describes_each_argument(tool: Tool) -> None:
    assert tool.description.endswith(".")
    assert len(tool.description) <= 120
    for name, schema in tool.properties.items():
        assert schema["description"], f"{tool.name}: {name}"
        assert "anyOf" not in schema
        assert "default" not in schema
    assert json.dumps(tool.schema)


def test_the_tools_are_those_the_documents_name() -> None:
    assert [tool.signature for tool in ALL_TOOLS] == [
        "create_event(title, start, end?, location?, notes?, remind_before?, repeat?)",
        "list_events(from?, to?, query?)",
        "update_event(id, title?, start?, end?, location?, notes?, remind_before?, repeat?, "
        "scope?)",
        "cancel_event(id, scope?)",
        "save_memo(text, tags?)",
        "search_memos(query?, from?, to?)",
        "update_memo(id, text?, tags?)",
        "delete_memo(id)",
        "remember(text, valid_from?, valid_until?)",
        "forget_fact(id)",
        "recall(question, from?, to?)",
    ]
    looking = {tool.name for tool in ALL_TOOLS if not tool.changes}
    assert looking == {"list_events", "search_memos", "recall"}
