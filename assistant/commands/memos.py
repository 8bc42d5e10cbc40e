"""/memo: notes kept word for word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Table, Text, Work, count_text, excerpt, local_time
from assistant.commands.registry import CommandGroup
from assistant.errors import NoSuchEntry, UsageError
from assistant.messages import Memo
from assistant.protocols import Change

group = CommandGroup("Memos")

#: Memos in a list.
SHOWN = 20
#: Characters of a memo in a list, or in a line about it.
EXCERPT = 60

VERBS = {
    "add": "keep a text",
    "list": "the newest, or those with a #tag",
    "search": "find memos by words or by meaning",
    "show": "one memo, whole",
    "edit": "give one another text",
    "delete": "take one out of the list",
}

# A number after # is that of an issue or a house, no tag.
_TAG = re.compile(r"[#＃](?=\S*[^\W\d_])[^\s#＃]+")
_TAGS_AT_END = re.compile(rf"(?:(?:^|\s+){_TAG.pattern})+\s*\Z")


def _complete(context: CommandContext, typed: str) -> Iterable[tuple[str, str]]:
    verb, space, _ = typed.partition(" ")
    if not space:
        return list(VERBS.items())
    if verb in ("show", "edit", "delete"):
        return [(f"{verb} {memo.id}", memo_excerpt(memo)) for memo in context.stores.memos.search()]
    return []


@group.command(
    "memo", "[<text> [#tag …] | list | search | show | edit | delete]", complete=_complete
)
def memo(context: CommandContext, argument: str) -> Output:
    """Keep a note, list, search, show, change or delete notes.

    /memo alone lists the newest. Tags stand at the end of the text. A text that begins with one of
    the words above is kept with /memo add <text>. edit takes an id and the new text.
    """
    verb, *rest = argument.split(maxsplit=1) or ["list"]
    act = _ACTIONS.get(verb)
    return _add(context, argument) if act is None else act(context, "".join(rest))


def split_tags(text: str) -> tuple[str, Sequence[str]]:
    """A text without the tags at its end, and these. A text of nothing but tags has none."""
    at_end = _TAGS_AT_END.search(text)
    if at_end is None or not text[: at_end.start()].strip():
        return text, ()
    return text[: at_end.start()], _TAG.findall(at_end.group())


def memo_table(memos: Sequence[Memo], nothing: str) -> Table | Text:
    """Memos as rows; more than SHOWN only tell that there are more. `nothing` is said of none."""
    if not memos:
        return Text(nothing)
    rows = [
        (one.id, local_time(one.written), memo_excerpt(one), _tag_text(one))
        for one in memos[:SHOWN]
    ]
    more = f"Only {SHOWN} are shown." if len(memos) > SHOWN else ""
    return Table(
        ("memo", "written", "text", "tags"), rows, note=f"{more} /memo show <id> shows one.".strip()
    )


def memo_excerpt(memo: Memo) -> str:
    """The beginning of a memo, on one line."""
    return excerpt(memo.text, EXCERPT)


def _add(context: CommandContext, text: str) -> Output:
    context.require_kept("memo")
    if not text.strip():
        raise UsageError("What should be kept?")
    written = context.stores.memos.save(*split_tags(text))
    assert written.after is not None
    new = written.after
    tags = f" {_tag_text(new)}" if new.tags else ""
    return context.changed(
        Change(f"memo saved: {memo_excerpt(new)}{tags} ({new.id})", written.undo)
    )


def _list(context: CommandContext, argument: str) -> Output:
    if argument and not _TAG.fullmatch(argument):
        raise UsageError(
            f"“{argument}” is no #tag, so nothing was listed. To keep the line as a memo, begin it "
            "with /memo add."
        )
    found = context.stores.memos.search(tag=argument or None, most=SHOWN + 1)
    nothing = f"No memo has the tag {argument}." if argument else "There are no memos."
    return memo_table(found, f"{nothing} /memo <text> keeps one.")


def _search(context: CommandContext, argument: str) -> Output:
    if not argument:
        raise UsageError("Which memo is looked for?")

    def run(say: Callable[[str], None]) -> Output:
        found = context.stores.memos.search(argument, most=SHOWN + 1)
        return memo_table(found, f"No memo has to do with this: {argument}")

    return Work("Looking …", run)


def _show(context: CommandContext, argument: str) -> Output:
    one, _ = _named(context, "show", argument, takes_text=False)
    parts = [
        one.id,
        f"written {local_time(one.written)}",
        f"changed {local_time(one.changed)}" if one.changed else "",
        f"in {one.source}" if one.source else "",
        _tag_text(one),
    ]
    size = count_text(len(one.text), "character")
    return Text(f"{' · '.join(filter(None, parts))} · {size}\n\n{one.text}")


def _edit(context: CommandContext, argument: str) -> Output:
    context.require_kept("memo")
    old, text = _named(context, "edit", argument, takes_text=True)
    text, tags = split_tags(text)
    if not text.strip():
        raise UsageError(f"What should {old.id} say instead?")
    written = context.stores.memos.update(old.id, text=text, tags=tags or None)
    if written.after is None or written.after == old:
        return Text(f"{old.id} says so already. Nothing was changed.")
    new = memo_excerpt(written.after)
    return context.changed(Change(f"memo changed: {new} (was: {memo_excerpt(old)})", written.undo))


def _delete(context: CommandContext, argument: str) -> Output:
    context.require_kept("memo")
    old, _ = _named(context, "delete", argument, takes_text=False)
    written = context.stores.memos.delete(old.id)
    return context.changed(Change(f"memo deleted: {memo_excerpt(old)}", written.undo))


_ACTIONS: dict[str, Callable[[CommandContext, str], Output]] = {
    "add": _add,
    "list": _list,
    "search": _search,
    "show": _show,
    "edit": _edit,
    "delete": _delete,
}


def _named(
    context: CommandContext, verb: str, argument: str, *, takes_text: bool
) -> tuple[Memo, str]:
    """The memo whose id comes first, and the text after it.

    A line such as "delete the old photos" may be meant as a memo: it is never guessed.
    """
    memo_id, *rest = argument.split(maxsplit=1) or [""]
    text = "".join(rest)
    if not memo_id:
        raise UsageError(f"Which memo? /memo {verb} takes the id that /memo list shows.")
    try:
        found = context.stores.memos.get(memo_id)
    except NoSuchEntry as error:
        if not text:
            raise
        raise UsageError(
            f"“{memo_id}” is the id of no memo, so nothing was done. To keep the line as a memo, "
            "begin it with /memo add."
        ) from error
    if text and not takes_text:
        raise UsageError(f"/memo {verb} takes one id and nothing after it. Nothing was done.")
    return found, text


def _tag_text(memo: Memo) -> str:
    return " ".join(f"#{tag}" for tag in memo.tags)
