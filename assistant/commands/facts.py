"""/remember, /memory: what is known about the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Table, Text, count_text, excerpt, local_time
from assistant.commands.registry import CommandGroup
from assistant.errors import UsageError
from assistant.messages import Fact
from assistant.protocols import Change, Written

group = CommandGroup("Facts")

#: Characters of a fact in a list.
EXCERPT = 80

VERBS = {
    "list": "what holds now",
    "show": "one fact, with its dates and source",
    "add": "keep a fact",
    "edit": "put a new text in the place of one",
    "delete": "end one; it stays in the history",
    "history": "all facts, old and new, or those with some words",
    "pending": "what was learnt and waits for your word",
    "approve": "keep what waits",
    "refuse": "drop what waits",
}


def _complete(context: CommandContext, typed: str) -> Iterable[tuple[str, str]]:
    verb, space, _ = typed.partition(" ")
    if not space:
        return list(VERBS.items())
    if verb in ("show", "edit", "delete"):
        in_force = context.stores.facts.in_force(context.stores.times.now())
        return [(f"{verb} {fact.id}", _excerpt(fact.text)) for fact in in_force]
    if verb in ("approve", "refuse"):
        waiting = context.stores.facts.pending()
        return [(f"{verb} {one.id}", _excerpt(one.text)) for one in waiting]
    return []


@group.command("remember", "<text>")
def remember(context: CommandContext, argument: str) -> Output:
    """Keep a fact about you: who you are, what you like, a standing rule.

    It stands in every question from now on. A later one on the same thing takes its place; the old
    one stays in /memory history with its dates.
    """
    context.require_kept("fact")
    if not argument:
        raise UsageError("What should be remembered?")
    return _told(context, context.stores.facts.remember(argument))


@group.command(
    "memory",
    "[list | show | add | edit | delete | history | pending | approve | refuse]",
    complete=_complete,
)
def memory(context: CommandContext, argument: str) -> Output:
    """Show, change or end what is known about you.

    /memory alone lists what holds now. show, edit and delete take a fact's id, approve and refuse
    one of /memory pending; edit takes the new text after it. delete ends a fact, which stays in the
    history.
    """
    verb, *rest = argument.split(maxsplit=1) or ["list"]
    act = _ACTIONS.get(verb)
    if act is None:
        raise UsageError(f"/memory does not know “{verb}”. Nothing was done.")
    return act(context, "".join(rest))


def _list(context: CommandContext, argument: str) -> Output:
    _refuse_more("list", argument)
    in_force = context.stores.facts.in_force(context.stores.times.now())
    waiting = len(context.stores.facts.pending())
    note = f"{count_text(waiting, 'proposal')} for your word: /memory pending." if waiting else ""
    if not in_force:
        return Text(f"Nothing is known about you yet. /remember <text> keeps something. {note}")
    return Table(
        ("fact", "kind", "since", "text", "from"),
        [
            (
                fact.id,
                fact.kind,
                _day(fact.valid_from or fact.said),
                _excerpt(fact.text),
                _from(fact),
            )
            for fact in in_force
        ],
        note=f"/memory show <id> shows one whole. {note}".strip(),
    )


def _show(context: CommandContext, argument: str) -> Output:
    fact = context.stores.facts.get(_one_id("show", argument))
    lines = [
        fact.text,
        "",
        f"{fact.id} · {fact.kind} · said {local_time(fact.said)} · {_from(fact)}",
        f"holds since {local_time(fact.valid_from or fact.said)}",
    ]
    if fact.valid_until is not None:
        lines.append(f"until {local_time(fact.valid_until)}")
    if fact.replaced_by:
        lines.append(
            f"replaced by {fact.replaced_by}: {context.stores.facts.get(fact.replaced_by).text}"
        )
    return Text("\n".join(lines))


def _history(context: CommandContext, argument: str) -> Output:
    found = context.stores.facts.history(argument)
    if not found:
        words = f"No fact has these words: {argument}"
        return Text(words if argument else "Nothing was ever remembered.")
    return Table(
        ("fact", "kind", "since", "until", "text", "replaced by"),
        [
            (
                fact.id,
                fact.kind,
                _day(fact.valid_from or fact.said),
                _day(fact.valid_until) if fact.valid_until else "",
                _excerpt(fact.text),
                fact.replaced_by or "",
            )
            for fact in found
        ],
        note="What has an end holds no more, and stands in no question.",
    )


def _edit(context: CommandContext, argument: str) -> Output:
    context.require_kept("fact")
    fact_id, *rest = argument.split(maxsplit=1) or [""]
    if not fact_id:
        raise UsageError("Which fact? /memory edit takes the id that /memory list shows.")
    old = context.stores.facts.get(fact_id)
    if not rest:
        raise UsageError(f"What should {old.id} say instead?")
    return _told(context, context.stores.facts.remember("".join(rest), replaces=old.id))


def _delete(context: CommandContext, argument: str) -> Output:
    context.require_kept("fact")
    written = context.stores.facts.forget(_one_id("delete", argument))
    assert written.after is not None
    return context.changed(
        Change(
            f"fact ended: {_excerpt(written.after.text)} (it stays in /memory history: ending is "
            "not erasing)",
            written.undo,
        )
    )


def _pending(context: CommandContext, argument: str) -> Output:
    _refuse_more("pending", argument)
    waiting = context.stores.facts.pending()
    if not waiting:
        return Text("Nothing waits for your word.")
    return Table(
        ("id", "what", "kind", "said", "from"),
        [
            (
                one.id,
                _excerpt(
                    f"end {one.ends}: {one.text}"
                    if one.ends
                    else f"{one.text} (instead of {one.replaces})"
                    if one.replaces
                    else one.text
                ),
                one.kind,
                _day(one.said),
                one.source,
            )
            for one in waiting
        ],
        note="/memory approve <id> keeps one, /memory refuse <id> drops it.",
    )


def _approve(context: CommandContext, argument: str) -> Output:
    context.require_kept("fact")
    proposal_id = _one_id("approve", argument)
    ends = any(
        one.ends for one in context.stores.facts.pending() if one.id == proposal_id.casefold()
    )
    written = context.stores.facts.approve(proposal_id)
    if ends and written.after is not None:
        return context.changed(Change(f"fact ended: {_excerpt(written.after.text)}", written.undo))
    return _told(context, written)


def _refuse(context: CommandContext, argument: str) -> Output:
    context.require_kept("fact")
    dropped = context.stores.facts.refuse(_one_id("refuse", argument))
    return Text(f"Not kept, and not proposed again: {_excerpt(dropped.text)}")


_ACTIONS: dict[str, Callable[[CommandContext, str], Output]] = {
    "list": _list,
    "show": _show,
    "add": remember,
    "edit": _edit,
    "delete": _delete,
    "history": _history,
    "pending": _pending,
    "approve": _approve,
    "refuse": _refuse,
}


def _told(context: CommandContext, written: Written[Fact]) -> Text:
    """What was remembered, and what it took the place of, from what the store returned."""
    new, old = written.after, written.before
    assert new is not None
    if old is new:
        return Text(f"That is known already ({new.id}): {_excerpt(new.text)}")
    said = f"remembered: {_excerpt(new.text)} ({new.id})"
    if old is not None and old.valid_until is not None:
        said += f", was: {_excerpt(old.text)}, until {_day(old.valid_until)}"
    if new.valid_until is not None:
        said += f", until {_day(new.valid_until)}"
    return context.changed(Change(said, written.undo))


def _one_id(verb: str, argument: str) -> str:
    if not argument:
        shown = "/memory pending" if verb in ("approve", "refuse") else "/memory list"
        raise UsageError(f"Which one? /memory {verb} takes the id that {shown} shows.")
    if len(argument.split()) > 1:
        raise UsageError(f"/memory {verb} takes one id and nothing after it. Nothing was done.")
    return argument.strip()


def _refuse_more(verb: str, argument: str) -> None:
    if argument:
        raise UsageError(f"/memory {verb} takes nothing after it. Nothing was done.")


def _from(fact: Fact) -> str:
    return ", ".join(fact.sources) or "typed in"


def _day(moment: datetime) -> str:
    return local_time(moment)[:10]


def _excerpt(text: str) -> str:
    return excerpt(text, EXCERPT)
