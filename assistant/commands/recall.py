"""/recall, /why, /search, /index: what is remembered, and why it was or was not brought up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Table, Text, Work, count_text, excerpt, local_time
from assistant.commands.registry import CommandGroup
from assistant.errors import UsageError
from assistant.memory.recall.indexer import Indexer, IndexStatus
from assistant.messages import Recalled
from assistant.prompt import Prompt, Recollection

group = CommandGroup("Recall")

FOUND_SHOWN = 20
#: Seconds between two looks at how far the index is.
LOOK_EVERY = 0.2
#: Characters of an exchange in a list.
EXCERPT = 70

NOTHING_ASKED = (
    "Nothing was asked in this session since it was opened, or it was undone. Ask something first."
)

PREPARING = ("opening", "catching up")


@group.command("recall", "<question>")
def recall(context: CommandContext, argument: str) -> Output:
    """Show what a question would bring up from all sessions, with scores."""
    if not argument:
        raise UsageError("What should be looked for?")

    def run(say: Callable[[str], None]) -> Output:
        room = context.pipeline.limits.recalled
        recollection = context.pipeline.retriever.look_up(argument, room)
        return _told(recollection, f"What “{argument}” would bring up, in {room:,} tokens at most.")

    return Work("Looking …", run)


@group.command("why")
def why(context: CommandContext, argument: str) -> Output:
    """Show what the last prompt was made of, and what was recalled for it.

    Recalled means that it stood in the prompt; whether the model used it can't be known.
    """
    turn = context.last_turn
    if turn is None:
        return Text(NOTHING_ASKED)
    prompt = turn.prompt
    mark = "" if prompt.exact else "~"
    sections = " · ".join(
        f"{one.name} {mark}{one.tokens:,}" for one in prompt.sections if one.tokens
    )
    lines = [f"Turn {turn.question.turn}: {mark}{prompt.tokens:,} tokens were sent.", sections]
    lines += _facts_told(prompt)
    if prompt.left_out:
        summarized = any(one.name == "summary" and one.tokens for one in prompt.sections)
        stands = " The summary stands for the oldest of them." if summarized else ""
        lines.append(
            f"{prompt.left_out} older messages of this session were not sent word for word.{stands}"
        )
    return _told(prompt.recollection, *lines)


@group.command("search", "<words>")
def search(context: CommandContext, argument: str) -> Output:
    """Find exact words in all sessions. "Words in quotes" must stand together."""
    if not argument:
        raise UsageError("Which words should be found?")
    from assistant.memory.recall.log_search import search_logs

    found = search_logs(context.store, argument, FOUND_SHOWN + 1)
    if not found:
        return Text(f"No session holds these words: {argument}")
    more = "Only the newest are shown." if len(found) > FOUND_SHOWN else ""
    return Table(
        ("turn", "when", "words"),
        [
            (
                f"{one.exchange.id} (undone)" if one.exchange.undone else one.exchange.id,
                local_time(one.exchange.ts),
                one.excerpt,
            )
            for one in found[:FOUND_SHOWN]
        ],
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
        ("indexed", count_text(status.indexed, "exchange")),
        ("to compare", count_text(status.to_do, "exchange")),
    ]
    return Table(("memory index", ""), [row for row in rows if row[1]], note=status.detail)


def _facts_told(prompt: Prompt) -> Sequence[str]:
    """Which facts stood in the prompt, and which found no room."""
    told = []
    if prompt.facts:
        told.append(f"Facts about you in it: {', '.join(one.id for one in prompt.facts)}.")
    if prompt.facts_left_out:
        left = "; ".join(
            f"{one.id} {excerpt(one.text, EXCERPT)}" for one in prompt.facts_left_out[:5]
        )
        more = len(prompt.facts_left_out) - 5
        told.append(
            f"No room was left for {count_text(len(prompt.facts_left_out), 'fact')}: {left}"
            f"{f' and {more} more' if more > 0 else ''}. budget.facts makes room."
        )
    return told


def _told(recollection: Recollection, *before: str) -> Text:
    """What was recalled and what was passed over, each with where it was said and its score."""
    lines = [*before]
    if recollection.dates:
        lines.append(f"Days named in the question: {recollection.dates}.")
    lines += [f"Known of that time: {one.id}: {one.text}" for one in recollection.facts]
    if recollection.items:
        lines += ["", "Recalled:", *(line for one in recollection.items for line in _lines(one))]
    else:
        lines.append("Nothing was recalled.")
    if recollection.passed_over:
        lines += ["", "Passed over:"]
        lines += [line for one in recollection.passed_over for line in _lines(one)]
    if recollection.problem:
        lines += ["", recollection.problem]
    return Text("\n".join(lines))


def _lines(one: Recalled) -> Sequence[str]:
    exchange = one.exchange
    parts = " ".join(f"{name} {value:+.2f}" for name, value in one.parts.items() if value)
    why_not = f" · {one.left_out}" if one.left_out else ""
    head = f"{exchange.id} · {local_time(exchange.ts)} · score {one.score:.2f} ({parts}){why_not}"
    said = (("User", exchange.user), ("Assistant", exchange.assistant))
    return [head, *(f"  {who}: {excerpt(text, EXCERPT)}" for who, text in said if text)]
