"""Tools as the text they become in a prompt."""

from __future__ import annotations

from assistant.providers.tool_text import namespace_text

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
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
    assert "// Get the weather of a place" in text
    assert "place: string," in text
    assert 'unit?: "celsius" | "fahrenheit",' in text
    assert "days?: number[]," in text
    assert "at?: number | null," in text
    assert "km?: number," in text
    assert namespace_text([]) == ""


def test_a_tool_without_arguments() -> None:
    tool = {"type": "function", "function": {"name": "now"}}
    assert "type now = () => any;" in namespace_text([tool])
