"""/recall, /why, /search, /index: what is remembered, and why it was or was not brought up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Table, Text, Work
from assistant.commands.registry import CommandGroup
from assistant.errors import UsageError
from assistant.memory.indexer import Indexer, IndexStatus
from assistant.messages import Recalled
from assistant.prompt import Recollection

group = CommandGroup("Recall")

FOUND_SHOWN = 20
#: Seconds between two looks at how far the index is.
LOOK_EVERY = 0.2
#: Characters of an exchange in a list.
EXCERPT = 70

PREPARING = ("catching up", "closed")


@group.command("recall", "<question>")
def recall(context: CommandContext, argument: str) -> Output:
    """Show what a question would bring up from all sessions, with scores."""
    if not argument:
        raise UsageError("What should be looked for?")

    def run(say: Callable[[str], None]) -> Output:
        recollection = context.pipeline.retriever.look_up(
            argument, context.session.id, context.pipeline.limits.recalled
        )
        return _items_table(recollection, f"What “{argument}” would bring up")

    return Work("Looking …", run)


@group.command("why")
def why(context: CommandContext, argument: str) -> Output:
    """Show what the last prompt was made of, and what was recalled for it.

    Recalled means that it stood in the prompt; whether the model used it can't be known.
    """
    turn = context.last_turn
    if turn is None:
        return Text("Nothing was asked in this session since it was opened. Ask something first.")
    prompt = turn.prompt
    mark = "" if prompt.exact else "~"
    sections = ", ".join(f"{one.name} {mark}{one.tokens:,}" for one in prompt.sections)
    left_out = f" {prompt.left_out} older messages of this session were not sent word for word."
    summary = context.session.summary
    stands_for = " The summary stands for the oldest of them." if summary else ""
    return _items_table(
        prompt.recollection,
        f"Turn {turn.question.turn}: {mark}{prompt.tokens:,} tokens were sent",
        above=f"{sections}.{left_out}{stands_for if prompt.left_out else ''}",
    )


@group.command("search", "<words>")
def search(context: CommandContext, argument: str) -> Output:
    """Find exact words in all sessions. "Words in quotes" must stand together."""
    if not argument:
        raise UsageError("Which words should be found?")
    from assistant.memory.log_search import search_logs

    found = search_logs(context.store, argument, FOUND_SHOWN + 1)
    if not found:
        return Text(f"No session holds these words: {argument}")
    more = "Only the newest are shown." if len(found) > FOUND_SHOWN else ""
    return Table(
        ("turn", "when", "words"),
        [(one.exchange.id, _when(one.exchange.ts), one.excerpt) for one in found[:FOUND_SHOWN]],
        note=f"{more} /session switch <id> opens a session.".strip(),
    )


@group.command(
    "index",
    "[rebuild]",
    complete=lambda context, typed: [("rebuild", "make it again from the sessions")],
)
def index(context: CommandContext, argument: str) -> Output:
    """Show how the memory index is, or make it again from the sessions."""
    if argument not in ("", "rebuild"):
        raise UsageError(f"“{argument}” is nothing /index does.")
    if not argument:
        return status_table(context.indexer.status())

    def run(say: Callable[[str], None]) -> Output:
        context.indexer.start_over()
        return status_table(followed(context.indexer, say))

    return Work("Making the index anew …", run)


def followed(indexer: Indexer, say: Callable[[str], None]) -> IndexStatus:
    """Tell how far the index is until it is ready, or can't be; Ctrl-C stops it."""
    try:
        while (status := indexer.status()).state in PREPARING:
            say(f"{status.indexed:,} exchanges indexed, {status.to_do:,} to go …")
            time.sleep(LOOK_EVERY)
    except KeyboardInterrupt:
        indexer.stop()
        raise
    return status


def status_table(status: IndexStatus) -> Table:
    """What is known of the index, as a person reads it."""
    rows = [
        ("state", status.state),
        ("place", status.place),
        ("embedder", status.embedder),
        ("indexed", f"{status.indexed:,} exchanges"),
        ("to compare", f"{status.to_do:,} exchanges"),
    ]
    return Table(("memory index", ""), [row for row in rows if row[1]], note=status.detail)


def _items_table(recollection: Recollection, title: str, above: str = "") -> Output:
    rows = [_row(one) for one in (*recollection.items, *recollection.passed_over)]
    notes = [above, recollection.problem]
    if recollection.dates:
        notes.append(f"Days named in the question: {recollection.dates}.")
    if not recollection.items:
        notes.append("Nothing was recalled.")
    note = "\n".join(one for one in notes if one)
    if not rows:
        return Text(f"{title}.\n{note}")
    return Table(("turn", "when", "score", "words", "in the prompt"), rows, title, note)


def _row(one: Recalled) -> Sequence[str]:
    exchange = one.exchange
    words = " ".join(f"{exchange.user} — {exchange.assistant}".split())
    parts = " ".join(f"{name} {value:+.2f}" for name, value in one.parts.items())
    shown = words if len(words) <= EXCERPT else f"{words[: EXCERPT - 1]}…"
    return (
        exchange.id,
        _when(exchange.ts),
        f"{one.score:.2f} ({parts})",
        shown,
        one.left_out or "yes",
    )


def _when(moment: datetime | None) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else ""
