"""What tools add to a prompt, as text: as endpoints write them into it, for counting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from assistant.prompt import ToolSchema


def namespace_text(tools: Sequence[ToolSchema]) -> str:
    """The tools as the TypeScript namespace that OpenAI makes of them; empty without tools.

    What other endpoints make of them is of about the same length.
    """
    if not tools:
        return ""
    lines = ["namespace functions {", ""]
    for tool in tools:
        function = tool["function"]
        if description := function.get("description"):
            lines.append(f"// {description}")
        properties = function.get("parameters", {}).get("properties", {})
        if properties:
            required = function["parameters"].get("required", [])
            lines.append(f"type {function['name']} = (_: {{")
            lines += _property_lines(properties, required)
            lines.append("}) => any;")
        else:
            lines.append(f"type {function['name']} = () => any;")
        lines.append("")
    return "\n".join([*lines, "} // namespace functions"])


def _property_lines(properties: Mapping[str, Any], required: Iterable[str]) -> list[str]:
    lines = []
    for name, schema in properties.items():
        if description := schema.get("description"):
            lines.append(f"// {description}")
        lines.append(f"{name}{'' if name in required else '?'}: {_type_text(schema)},")
    return lines


def _type_text(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(msgspec.json.encode(value).decode() for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type_text(option) for option in schema["anyOf"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"{_type_text(schema.get('items', {}))}[]"
    if kind == "object":
        lines = _property_lines(schema.get("properties", {}), schema.get("required", []))
        return "\n".join(["{", *lines, "}"])
    return "number" if kind == "integer" else str(kind)
