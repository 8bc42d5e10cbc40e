"""/compact: summarize older turns, look at the summary, take it back."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Table, Text, Work, count_text, local_time
from assistant.commands.registry import CommandGroup
from assistant.memory.background import summary_block
from assistant.memory.compaction.compactor import Preview
from assistant.messages import Message, Summary

group = CommandGroup("Memory")

#: Characters of a message in the preview.
FIRST_WORDS = 60
#: What a kind of kept item is called: one of them, and several.
KINDS = {
    "rule": ("standing rule", "standing rules"),
    "promise": ("promise", "promises"),
    "code": ("code", "codes"),
    "amount": ("amount", "amounts"),
    "date": ("date", "dates"),
    "time": ("time", "times"),
    "number": ("number", "numbers"),
    "link": ("link", "links"),
    "name": ("name", "names"),
    "preference": ("preference", "preferences"),
    "about": ("thing about you", "things about you"),
    "negation": ("negation", "negations"),
}


@group.command(
    "compact",
    "[preview | show | diff | undo | instructions]",
    complete=lambda context, typed: [
        ("preview", "what would be summarized, and what is at risk"),
        ("show", "the summary in force"),
        ("diff", "what the last compaction changed in it"),
        ("undo", "take the last compaction back"),
    ],
)
def compact(context: CommandContext, argument: str) -> Output:
    """Summarize the older turns now, or look at the summary.

    Nothing is deleted: the messages stay in the session and can be recalled. With instructions, as
    in /compact keep the budget figures, the summary pays attention to them. preview shows what
    would be summarized and what a summary could lose, show the summary in force, diff what the last
    compaction changed in it, and undo takes the last one back.
    """
    action = _ACTIONS.get(argument)
    return action(context) if action else _compact(context, argument)


def _compact(context: CommandContext, instructions: str) -> Output:
    session, compactor = context.session, context.pipeline.compactor

    def run(say: Callable[[str], None]) -> Output:
        done = compactor.compact_now(session, instructions)
        kept = f", {len(done.summary.kept)} things word for word" if done.summary.kept else ""
        return Text(
            f"{count_text(done.messages, 'message')} summarized: {done.tokens_before:,} tokens "
            f"became {done.tokens_after:,}{kept}. Nothing was deleted. /compact show shows the "
            "summary, /compact undo takes it back."
        )

    return Work("Summarizing …", run)


def _preview(context: CommandContext) -> Output:
    preview = context.pipeline.compactor.preview(context.session)
    if preview is None:
        return Text("There is nothing to summarize yet: the newest turns stay word for word.")
    covered = preview.covered
    return Table(
        ("turn", "who", "first words"),
        [(str(one.turn), one.role, _first_words(one)) for one in covered],
        title=(
            f"/compact would summarize {count_text(len(covered), 'message')} of turns "
            f"{covered[0].turn} to {covered[-1].turn} ({preview.tokens:,} tokens)"
        ),
        note=(
            f"{_at_risk(preview)}\n{count_text(len(preview.kept), 'message')} after them stay word "
            "for word."
        ),
    )


def _at_risk(preview: Preview) -> str:
    counts = [
        f"{number} {KINDS[kind][number != 1]}" for kind, number in preview.at_risk.items() if number
    ]
    if not counts:
        return "Nothing in them is at risk: no codes, dates, amounts, rules or promises."
    return (
        f"At risk: {', '.join(counts)}. What the summary loses of them is carried on word for "
        "word, as far as there is room."
    )


def _show(context: CommandContext) -> Output:
    summary = context.session.summary
    writing = "\nA summary is just being written." if context.pipeline.compactor.writing else ""
    if summary is None:
        return Text(
            f"No summary is in force: what is sent of this session is word for word.{writing}"
        )
    return Text(f"{_about(context, summary)}{writing}\n\n{summary_block(summary)}")


def _about(context: CommandContext, summary: Summary) -> str:
    history = context.session.history
    covered = history.slice(range(0, history.index_after(summary.covers[1])))
    turns = f"turns {covered[0].turn} to {covered[-1].turn}" if covered else "no turns"
    rounds = len(context.session.summaries)
    again = f", updated {rounds - 1} times" if rounds > 1 else ""
    asked = f"\nYou asked for: {summary.instructions}" if summary.instructions else ""
    return (
        f"The summary stands for {turns} ({count_text(len(covered), 'message')}){again}. Written "
        f"{local_time(summary.ts)} by {summary.model}.{asked}"
    )


def _diff(context: CommandContext) -> Output:
    summaries = context.session.summaries
    if not summaries:
        return Text("No summary is in force, so there is nothing to compare.")
    before = _lines(summaries[-2]) if len(summaries) > 1 else []
    changes = [
        line for line in difflib.ndiff(before, _lines(summaries[-1])) if not line.startswith("?")
    ]
    return Text("\n".join(changes))


def _lines(summary: Summary) -> Sequence[str]:
    return summary_block(summary).splitlines()[1:-1]


def _undo(context: CommandContext) -> Output:
    context.session.require_writable()
    undone = context.session.undo_summary()
    if undone is None:
        return Text("No summary is in force, so there is nothing to take back.")
    left = (
        "The one before it is in force again."
        if context.session.summary
        else ("What is sent is word for word again, as far as it fits.")
    )
    return Text(f"The last summary is taken back. {left}")


def _first_words(message: Message) -> str:
    text = " ".join(message.text.split())
    return text if len(text) <= FIRST_WORDS else f"{text[: FIRST_WORDS - 1]}…"


_ACTIONS: dict[str, Callable[[CommandContext], Output]] = {
    "preview": _preview,
    "show": _show,
    "diff": _diff,
    "undo": _undo,
}
