"""/undo, /redo, /retry, /edit, /rewind, /fork: back in the conversation, and forth again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Ask, Edit, Output, Say, Text, count_text, excerpt
from assistant.commands.registry import CommandGroup
from assistant.commands.session import fork_session, turn_number
from assistant.errors import EntryError, UsageError
from assistant.memory.session import Session
from assistant.messages import Content, ImagePart, Message, TextPart

group = CommandGroup("Going back")

#: Turns that are named when they go or come back, and characters of each.
SHOWN = 10
FIRST_WORDS = 60

NOTHING_ASKED = "Nothing has been asked in this conversation yet."


def _complete(context: CommandContext, typed: str) -> Iterable[tuple[str, str]]:
    undone = context.session.undone
    words: dict[int, str] = {}
    for message in context.session.messages:
        words.setdefault(message.turn, excerpt(message.text, FIRST_WORDS))
    return [
        (str(turn), f"{said} (undone)" if turn in undone else said)
        for turn, said in reversed(words.items())
    ]


@group.command("undo", "[n]")
def undo(context: CommandContext, argument: str) -> Output:
    """Take the last turn, or the last n, out of the conversation.

    It goes on as if they had not been said. Nothing is deleted: /redo puts them back, /history all
    shows them, and /forget is what erases.
    """
    if argument and not re.fullmatch(r"[1-9]\d{0,8}", argument, re.ASCII):
        raise UsageError(f"“{argument}” is no number of turns.")
    session = context.session
    turns = session.turn_numbers[-int(argument or 1) :]
    if not turns:
        return Text("There is nothing to undo: the conversation is empty.")
    told = _go_to(context, session.turn_before(turns[0]))
    return Text("\n".join([*told, "/redo brings back what was undone last."]))


@group.command("redo")
def redo(context: CommandContext, argument: str) -> Output:
    """Put back what /undo took out, as long as nothing new was said."""
    forth = context.session.turn_forth
    if forth is None:
        return Text(
            "There is nothing to put back: nothing was undone, or something new was said since. "
            "/history all shows what was undone, and /rewind <turn> goes there."
        )
    return Text("\n".join(_go_to(context, forth)))


@group.command("retry", "[with <model>]")
def retry(context: CommandContext, argument: str) -> Output:
    """Ask the last question again, with another model if you name one.

    That model answers this one turn. The reply the question had is undone; it comes back when no
    new one comes.
    """
    model = _model(context, argument)
    unanswered = context.session.unanswered
    if unanswered is not None:
        return Ask(unanswered, model)
    question = _last_question(context.session)
    if question is None:
        return Text(NOTHING_ASKED)
    return _asked_anew(context, question, question.content, model)


@group.command("edit")
def edit(context: CommandContext, argument: str) -> Output:
    """Change the last question in your editor ($EDITOR), and ask it anew."""
    session = context.session
    if session.private:
        raise UsageError(
            "An editor needs a file, and nothing of a private conversation is written to one. "
            "/undo takes the question out; then type it again."
        )
    session.require_writable()
    question = _last_question(session)
    if question is None:
        return Text(NOTHING_ASKED)
    before = _typed(question.content)

    def ask(text: str) -> Output:
        if text.strip() in ("", before.strip()):
            return Text("Nothing was changed, and nothing was sent.")
        return _asked_anew(context, question, _with_text(question.content, text.rstrip("\n")))

    return Edit(before, ask)


@group.command("rewind", "<turn>", complete=_complete)
def rewind(context: CommandContext, argument: str) -> Output:
    """Go on from an earlier turn, or from an undone one with what led to it.

    /history all shows the numbers of all turns; 0 is the very beginning.
    """
    if not argument:
        raise UsageError("To which turn? /history all shows their numbers.")
    session, turn = context.session, turn_number(argument)
    if turn == (session.turn_numbers or (0,))[-1]:
        return Text(f"The conversation is at turn {turn} already.")
    told = [*_go_to(context, turn), _at(session)]
    if session.unanswered is not None:
        told.append("Its question has no reply: /retry asks it again.")
    return Text("\n".join([*told, _summary_in_force(session)]))


@group.command("fork", "[turn]", complete=_complete)
def fork(context: CommandContext, argument: str) -> Output:
    """Go on in a copy of this conversation, or of it up to a turn."""
    return fork_session(context, argument)


# --- asking anew --------------------------------------------------------------------------------


def _model(context: CommandContext, argument: str) -> str | None:
    if not argument:
        return None
    word, _, name = argument.partition(" ")
    if word != "with" or not name.strip():
        raise UsageError("Another model is named like this: /retry with its-name.")
    if not context.settings.values.uses_endpoint:
        raise UsageError("The embedded model is the only one here: `assistant setup` sets others.")
    return name.strip()


def _last_question(session: Session) -> Message | None:
    starts = session.history.turn_starts
    return session.history[starts[-1]] if starts else None


def _asked_anew(
    context: CommandContext, question: Message, content: Content, model: str | None = None
) -> Output:
    """Go back before a question, and ask in its place; its turn comes back without a new reply."""
    session = context.session
    answered = session.unanswered is None
    newest = session.turn_numbers[-1]
    _go_to(context, session.turn_before(question.turn))

    def without_reply() -> Output:
        if not answered:
            return Text(f"Turn {newest} is undone; /retry asks the new one again.")
        told = _go_to(context, newest)
        return Text("\n".join(["No reply came, so the old one is there again.", *told]))

    return Say(content, model, without_reply)


def _typed(content: Content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def _with_text(content: Content, text: str) -> Content:
    """Another text beside the same images."""
    if isinstance(content, str):
        return text
    return (TextPart(text), *(part for part in content if isinstance(part, ImagePart)))


# --- going, and saying what that did ------------------------------------------------------------


def _go_to(context: CommandContext, turn: int) -> list[str]:
    """Go on from another turn; what went out of the conversation and what came back, in lines."""
    session = context.session
    before = session.turn_numbers
    session.go_to(turn)
    after = session.turn_numbers
    context.indexer.refresh()
    if context.last_turn is not None and context.last_turn.question.turn not in after:
        context.last_turn = None
    out = [one for one in before if one not in set(after)]
    back = [one for one in after if one not in set(before)]
    return [
        *_named(session, "Taken out of the conversation", out),
        *_named(session, "In the conversation again", back),
        *_what_stays(context, out),
        *([] if after else ["The conversation is empty, as new."]),
    ]


def _named(session: Session, heading: str, turns: Sequence[int]) -> Sequence[str]:
    if not turns:
        return ()
    lines = [f"  {turn} · {_first_words(session, turn)}" for turn in turns[:SHOWN]]
    more = len(turns) - len(lines)
    return [
        f"{heading}: {count_text(len(turns), 'turn')}.",
        *lines,
        *([f"  … and {more:,} more"] if more else []),
    ]


def _first_words(session: Session, turn: int) -> str:
    said = (one.text for one in session.messages if one.turn == turn and one.text)
    return excerpt(next(said, ""), FIRST_WORDS)


def _what_stays(context: CommandContext, turns: Collection[int]) -> Sequence[str]:
    """Events, memos and facts that were made in turns which are undone now."""
    said = (one for one in context.session.messages if one.turn in set(turns))
    written = [one.changed for one in said if one.changed]
    learnt = [one for one in _learnt(context, turns) if not any(one in line for line in written)]
    if not written and not learnt:
        return ()
    return [
        "What was written there stays as it is:",
        *(f"  {line}" for line in [*written, *(f"known about you: {one}" for one in learnt)]),
        "/undo-last takes the last of this run back; /schedule cancel, /memo delete and /memory "
        "delete do it by hand.",
    ]


def _learnt(context: CommandContext, turns: Collection[int]) -> Sequence[str]:
    """The facts that come from turns."""
    if context.session.private or not turns:
        return ()
    ids = {f"{context.session.id}.{turn}" for turn in turns}
    try:
        facts = context.stores.facts.in_force(context.stores.times.now())
    except EntryError:
        return ()  # the first look at them says why
    return [fact.text for fact in facts if ids & set(fact.sources)]


def _at(session: Session) -> str:
    turns = session.turn_numbers
    if not turns:
        return "The next message begins it anew."
    return f"It goes on from turn {turns[-1]}: {_first_words(session, turns[-1])}"


def _summary_in_force(session: Session) -> str:
    summary = session.summary
    if summary is None:
        return "No summary is in force: what is sent is word for word, as far as it fits."
    covered = session.history.slice(range(session.summarized))
    upto = f"up to turn {covered[-1].turn}" if covered else "of no whole turn"
    return f"The summary {upto} is in force (/compact show)."
