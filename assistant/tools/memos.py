"""The user's memos: save_memo, search_memos, update_memo, delete_memo."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from assistant.errors import NoSuchEntry, WrongEntry
from assistant.messages import Memo, one_line
from assistant.protocols import Change
from assistant.tools.arguments import stretch_of
from assistant.tools.fitting import best_fits
from assistant.tools.registry import Proposal, ToolContext, ToolGroup, ToolResult

group = ToolGroup("Memos")

MemoId = Annotated[str, Meta(description="id as search_memos gives it, or words of it")]
Tags = Annotated[tuple[str, ...], Meta(description="words to file it under")]
FirstDay = Annotated[str, Meta(description="written on this day; with `to`: from it on")]
LastDay = Annotated[str, Meta(description="written until this day")]

#: Characters of a memo in a line about it.
EXCERPT = 60

#: Memos that are listed when words fit more than one.
MOST_NAMED = 5


@group.tool(changes=True)
def save_memo(
    context: ToolContext,
    text: Annotated[str, Meta(description="what to keep, in the user's words")],
    tags: Tags = (),
    source: str = "",
) -> Proposal:
    """Save a note that the user wants kept."""

    def carry_out() -> ToolResult:
        written = context.stores.memos.save(text, tags, source=source)
        assert written.after is not None
        return ToolResult(
            f"Saved, with the id {written.after.id}: {written.after.text}",
            Change(f"memo saved: {_short(written.after)}", written.undo),
        )

    filed = f" with the tags {', '.join(tags)}" if tags else ""
    return Proposal(f"Save the memo “{text}”{filed}?", carry_out)


@group.tool()
def search_memos(
    context: ToolContext,
    query: Annotated[str, Meta(description="what it is about; without it the newest")] = "",
    from_: FirstDay = "",
    to: LastDay = "",
) -> ToolResult:
    """Find the user's memos."""
    start, end = stretch_of(context.stores.times, from_, to)
    memos = context.stores.memos.search(query, start, end)
    if not memos:
        return ToolResult("No memo fits.")
    return ToolResult("\n".join(_line(one) for one in memos))


@group.tool(changes=True)
def update_memo(
    context: ToolContext,
    id: MemoId,
    text: Annotated[str, Meta(description="the whole new text")] = "",
    tags: Tags = (),
) -> Proposal:
    """Change a memo."""
    old = _named_memo(context, id)
    if not text and not tags:
        raise WrongEntry("neither a new text nor new tags were given.", "")

    def carry_out() -> ToolResult:
        written = context.stores.memos.update(old.id, text=text or None, tags=tags or None)
        assert written.after is not None
        if written.before == written.after:
            as_asked = f"as asked already: {_short(old)}"
            return ToolResult(f"Nothing was changed: it is {as_asked}", stands=as_asked)
        return ToolResult(
            f"Changed. It was: {old.text}\nIt is now: {written.after.text}",
            Change(f"memo changed: {_short(written.after)} (was: {_short(old)})", written.undo),
        )

    new = [f"to “{text}”"] if text else []
    new += [f"tags {', '.join(tags)}"] if tags else []
    question = f"Change the memo “{_short(old)}” {' and '.join(new)}?"
    return Proposal(question, carry_out, about=old, always_asks=_is_guess(old, id))


@group.tool(changes=True)
def delete_memo(context: ToolContext, id: MemoId) -> Proposal:
    """Delete a memo."""
    old = _named_memo(context, id)

    def carry_out() -> ToolResult:
        written = context.stores.memos.delete(old.id)
        return ToolResult(
            f"Deleted: {old.text}", Change(f"memo deleted: {_short(old)}", written.undo)
        )

    question = f"Delete the memo “{old.text}”?"
    return Proposal(question, carry_out, about=old, always_asks=_is_guess(old, id))


def _named_memo(context: ToolContext, words: str) -> Memo:
    """The memo with this id; else the one that the words fit.

    Raises NoSuchEntry, and WrongEntry with those that fit where it is more than one.
    """
    try:
        return context.stores.memos.get(words)
    except NoSuchEntry:
        found = best_fits(words, context.stores.memos.search(words), lambda one: one.text)
        if not found:
            raise
    if len(found) > 1:
        lines = [_line(one) for one in found[:MOST_NAMED]]
        raise WrongEntry("\n".join([f"“{words}” fits {len(found)} memos:", *lines]), "id")
    return found[0]


def _is_guess(memo: Memo, name: str) -> bool:
    """Whether the memo was not called by its id."""
    return memo.id != name.strip().lower()


def _line(memo: Memo) -> str:
    tags = "".join(f" #{tag}" for tag in memo.tags)
    return f"{memo.id} · {memo.written.astimezone():%Y-%m-%d} · {memo.text}{tags}"


def _short(memo: Memo) -> str:
    return one_line(memo.text, EXCERPT)
