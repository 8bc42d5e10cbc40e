"""Tools as the text they become, for counting."""

from __future__ import annotations

from assistant.providers.tool_text import namespace_text

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Get the weather of a place",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "The city"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "array", "items": {"type": "integer"}},
                "at": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "near": {"type": "object", "properties": {"km": {"type": "number"}}},
            },
            "required": ["place"],
        },
    },
}


def test_tools_become_a_namespace() -> None:
    text = namespace_text([WEATHER])

    for line in (
        "// Get the weather of a place",
        "// The city\nplace: string,",
        'unit?: "celsius" | "fahrenheit",',
        "days?: number[],",
        "at?: number | null,",
        "near?: {\nkm?: number,\n},",
    ):
        assert line in text


def test_a_tool_without_arguments() -> None:
    tool = {"type": "function", "function": {"name": "now"}}

    assert "type now = () => any;" in namespace_text([tool])


def test_no_tools_are_no_text() -> None:
    assert namespace_text([]) == ""
