"""Tools over a shelf of things, for tests: `put` and `drop` change it, `look` does not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal, cast

from msgspec import Meta

from assistant.errors import NotSaved, WrongEntry
from assistant.messages import Memo
from assistant.protocols import Change
from assistant.tools.registry import Proposal, ToolContext, ToolGroup, ToolRegistry, ToolResult

group = ToolGroup("Shelf")


class Shelf(list[str]):
    """What stands on it, and whether it takes anything at the moment."""

    full = False
    reads: int = 0


def _shelf(context: ToolContext) -> Shelf:
    return cast(Shelf, context)


@group.tool(changes=True)
def put(
    context: ToolContext,
    thing: Annotated[str, Meta(description="what to put there")],
    number: Annotated[int, Meta(description="how many")] = 1,
    where: Annotated[Literal["left", "right"] | None, Meta(description="the side")] = None,
    labels: Annotated[tuple[str, ...], Meta(description="words on it")] = (),
    source: str = "",
) -> Proposal:
    """Put things
    on the shelf."""
    shelf = _shelf(context)
    if number < 1:
        raise WrongEntry(f"{number} is no number of things.", "number")

    def carry_out() -> ToolResult:
        if shelf.full:
            raise NotSaved("The shelf is full. Nothing was saved.")
        shelf.append(f"{number} {thing} ({source})")
        return ToolResult(f"Put {number} {thing}.", Change(f"put: {thing}", shelf.pop))

    return Proposal(f"Put {number} {thing} on the shelf?", carry_out)


@group.tool(changes=True)
def drop(
    context: ToolContext, guess: Annotated[bool, Meta(description="whether it is a guess")] = False
) -> Proposal:
    """Drop everything."""
    shelf = _shelf(context)
    first = Memo("m1", shelf[0], datetime(2026, 3, 4, tzinfo=UTC)) if shelf else None

    def carry_out() -> ToolResult:
        shelf.clear()
        return ToolResult("Dropped.", Change("dropped", lambda: None))

    return Proposal("Drop everything?", carry_out, about=first, always_asks=guess)


@group.tool()
def look(
    context: ToolContext, from_: Annotated[str, Meta(description="where to begin")] = ""
) -> ToolResult:
    """Look at the shelf."""
    _shelf(context).reads += 1
    return ToolResult("\n".join(_shelf(context)) or "The shelf is empty.")


broken = ToolGroup("Broken")


@broken.tool()
def break_asking(context: ToolContext) -> ToolResult:
    """Fail at once."""
    raise ValueError("no such luck")


@broken.tool(changes=True)
def break_doing(context: ToolContext) -> Proposal:
    """Fail when it comes to it."""

    def carry_out() -> ToolResult:
        raise ValueError("no such luck")

    return Proposal("Break something?", carry_out)


def shelf_tools(shelf: Shelf) -> ToolRegistry:
    return ToolRegistry(lambda: [group, broken], cast(ToolContext, shelf))
