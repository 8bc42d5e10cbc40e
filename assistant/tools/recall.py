"""A second look into earlier conversations: recall."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from assistant.tools.arguments import stretch_of
from assistant.tools.registry import ToolContext, ToolGroup, ToolResult

group = ToolGroup("Recall")


@group.tool()
def recall(
    context: ToolContext,
    question: Annotated[str, Meta(description="what to look for")],
    from_: Annotated[str, Meta(description="said on this day; with `to`: from it on")] = "",
    to: Annotated[str, Meta(description="said until this day")] = "",
    source: str = "",
) -> ToolResult:
    """Look for something the user said in earlier conversations."""
    start, end = stretch_of(context.stores.times, from_, to)
    found = context.recaller.found(question, start, end, not_in=source)
    return ToolResult("\n".join(found) if found else "Nothing was found.")
