"""What is known about the user: remember, forget_fact."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from assistant.errors import NoSuchEntry
from assistant.messages import Fact
from assistant.protocols import Change, Times
from assistant.tools.arguments import named
from assistant.tools.registry import Proposal, ToolContext, ToolGroup, ToolResult

group = ToolGroup("Facts")

Day = Annotated[str, Meta(description="a date, or the user's own words for it")]

#: Other facts that are named after a new one, so that what it contradicts can be ended.
NEAR = 3


@group.tool(changes=True)
def remember(
    context: ToolContext,
    text: Annotated[str, Meta(description="one fact about the user, in the user's language")],
    valid_from: Day = "",
    valid_until: Day = "",
    source: str = "",
) -> Proposal:
    """Remember a lasting fact about the user: who they are, what they like, a standing rule."""
    since = _day("valid_from", context.stores.times, valid_from)
    until = _day("valid_until", context.stores.times, valid_until)

    def carry_out() -> ToolResult:
        written = context.stores.facts.remember(
            text, valid_from=since, valid_until=until, source=source
        )
        assert written.after is not None
        fact, old = written.after, written.before
        if old is not None and old.id == fact.id:
            known = f"known already: {fact.text}"
            return ToolResult(f"It is {known} (id {fact.id}).", stands=known)
        lines = [f"Remembered, with the id {fact.id}: {fact.text}"]
        said = f"remembered: {fact.text}"
        if old is not None:
            lines.append(f"It takes the place of {old.id}: {old.text}")
            said += f" (was: {old.text})"
        near = [
            one
            for one in context.stores.facts.near(text, NEAR + 1)
            if one.id != fact.id and one.holds(context.stores.times.now())
        ]
        lines += [f"Also in force: {one.id}: {one.text}" for one in near[:NEAR]]
        return ToolResult("\n".join(lines), Change(said, written.undo))

    dates = [f"from {since:%Y-%m-%d}"] if since else []
    dates += [f"until {until:%Y-%m-%d}"] if until else []
    when = f" ({', '.join(dates)})" if dates else ""
    return Proposal(f"Remember “{text}”{when}?", carry_out)


@group.tool(changes=True)
def forget_fact(
    context: ToolContext,
    id: Annotated[str, Meta(description="the fact's id, or its words")],
) -> Proposal:
    """End a fact about the user that holds no longer."""
    old = _named_fact(context, id)

    def carry_out() -> ToolResult:
        written = context.stores.facts.forget(old.id)
        return ToolResult(
            f"Ended: {old.text}. It stays in the history.",
            Change(f"fact ended: {old.text}", written.undo),
        )

    return Proposal(f"End the fact “{old.text}”?", carry_out, about=old, always_asks=old.id != id)


def _named_fact(context: ToolContext, words: str) -> Fact:
    """The fact with this id; else the one in force that is nearest to the words.

    A prompt has the facts without their ids. The user is always asked whether that one is meant.
    """
    try:
        return context.stores.facts.get(words)
    except NoSuchEntry:
        now = context.stores.times.now()
        near = next((one for one in context.stores.facts.near(words) if one.holds(now)), None)
        if near is None:
            raise
        return near


def _day(field: str, times: Times, text: str) -> datetime | None:
    return named(field, lambda: times.moment(text)).start if text else None
