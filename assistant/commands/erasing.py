"""What /forget does: a preview, questions, the erasing, and a receipt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, time
from time import monotonic, sleep

import msgspec

from assistant.commands.context import CommandContext
from assistant.commands.outputs import (
    Choose,
    Confirm,
    Output,
    Table,
    Text,
    Work,
    count_text,
    excerpt,
)
from assistant.errors import EraseStopped, NothingToErase, SessionInUse, UsageError
from assistant.event_text import event_line
from assistant.memory.erasing.eraser import Eraser, Found, Receipt
from assistant.memory.erasing.forgetting import Candidate, Wish
from assistant.messages import Role
from assistant.protocols import Erasure

#: Things shown of each kind in a preview, and characters of each.
SHOWN = 5
EXCERPT = 70
#: Tokens of exchanges that only bear on the words.
ALIKE = 1_000
#: More turns than this are asked about a second time.
MANY = 50
#: A number from here on is the beginning of a session's id.
A_DATE = 10_000_000
#: Seconds to wait for another terminal to close a session.
PATIENCE = 60.0

_TURNS = re.compile(
    r"(?:(?P<session>[a-z0-9][a-z0-9-]*)\.)?(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?\Z"
)
_ROLES: dict[str, Role] = {
    "tool": "tool",
    "tools": "tool",
    "user": "user",
    "assistant": "assistant",
}
#: Forms that are about the session at hand.
SESSION_FORMS = ("last", *_ROLES)


def erasing(context: CommandContext, argument: str) -> Output:
    """What /forget does for what stands after it."""
    word, *rest = argument.split(maxsplit=1) or [""]
    form, words = word.lower(), "".join(rest).strip()
    action = _FORMS.get(form)
    if action is not None:
        return action(context, words)
    if form in _ROLES and not words:
        _require_kept(context)
        return _asked(context, context.forgetting.of_role(context.session.id, _ROLES[form]))
    return _turns(context, argument)


# --- what is meant ------------------------------------------------------------------------------


def _require_kept(context: CommandContext) -> None:
    if context.session.private:
        raise UsageError(
            "This conversation is private: nothing of it is kept, so there is nothing to erase. "
            "/undo takes its last turn out."
        )


def _last(context: CommandContext, words: str) -> Output:
    _require_kept(context)
    if words and not re.fullmatch(r"[1-9]\d{0,5}", words, re.ASCII):
        raise UsageError(f"“{words}” is no number of turns.")
    history = context.session.history
    starts = history.turn_starts[-int(words or 1) :]
    if not starts:
        raise NothingToErase("Nothing has been said in this session yet. Nothing was erased.")
    turns = {history[start].turn for start in starts}
    return _asked(context, Wish(turns={context.session.id: turns}))


def _turns(context: CommandContext, words: str) -> Output:
    if not words:
        raise UsageError("What should be forgotten?")
    wish = Wish()
    for part in re.split(r"[\s,]+", words.strip()):
        found = _TURNS.match(part)
        if found is None:
            raise UsageError(f"“{part}” is no turn, and nothing else that /forget knows.")
        first, last = int(found["first"]), int(found["last"] or found["first"])
        if first >= A_DATE and not found["session"]:
            raise UsageError(
                f"“{part}” looks like a session: <session>.<turn> names a turn of it, and /forget "
                "session <id> all of it. Nothing was erased."
            )
        if last < first:
            raise UsageError(f"“{part}” runs backwards. Nothing was erased.")
        if found["session"]:
            session_id = context.store.find(found["session"], whole_title=True).id
        else:
            _require_kept(context)
            session_id = context.session.id
        wish.add(context.forgetting.turns(session_id, first, last))
    return _asked(context, wish)


def _about(context: CommandContext, words: str) -> Output:
    if not words:
        raise UsageError("About what?")

    def run(say: Callable[[str], None]) -> Output:
        recalled = context.pipeline.retriever.look_up(words, ALIKE).items
        candidates = context.forgetting.about(words, [one.exchange for one in recalled])
        if not candidates:
            raise NothingToErase(f"Nothing that is kept has to do with “{words}”.")
        return Choose(
            f"What has to do with “{words}”:",
            [_label(one) for one in candidates],
            [place for place, one in enumerate(candidates) if one.exact],
            lambda places: _chosen(context, [candidates[place] for place in places]),
        )

    return Work("Looking …", run)


def _label(one: Candidate) -> str:
    how = "" if one.exact else " (by its meaning)"
    return f"{one.what}{how}: {excerpt(one.text, EXCERPT)}"


def _chosen(context: CommandContext, candidates: Sequence[Candidate]) -> Output:
    if not candidates:
        return Text("Nothing was erased.")
    wish = Wish()
    for one in candidates:
        wish.add(one.wish)
    return _asked(context, wish)


def _since(context: CommandContext, words: str) -> Output:
    start = _day(context, words)
    found = context.forgetting.between(start, None)
    return _asked(context, found, f"What was said since {start:%a %Y-%m-%d %H:%M}:")


def _before(context: CommandContext, words: str) -> Output:
    end = _day(context, words)
    found = context.forgetting.between(None, end)
    return _asked(context, found, f"What was said before {end:%a %Y-%m-%d %H:%M}:")


def _day(context: CommandContext, words: str) -> datetime:
    """The beginning of the time that words name, which is past: a month alone is the last one."""
    from assistant.memory.times.named_dates import named_dates

    if not words:
        raise UsageError("Which day?")
    times = context.stores.times
    now = times.now()
    dates = named_dates(words, now) or named_dates(f"in {words}", now)
    if dates:
        return datetime.combine(dates[0].start, time.min, now.tzinfo)
    start = times.stretch(words).start
    if start > now:
        raise UsageError(
            f"“{words}” is {start:%a %Y-%m-%d}, which is still to come. Name the day with its year "
            "(2026-03-01). Nothing was erased."
        )
    return start


def session_erased(context: CommandContext, words: str) -> Output:
    """Erase a whole session, which `words` name; copies of it only when the user says so."""
    if not words:
        raise UsageError("Which session?")
    session_id = context.store.find(words, whole_title=True).id
    wish = Wish(sessions={session_id})
    copies = context.forgetting.copies_of(session_id)
    if not copies:
        return _asked(context, wish)

    return _also(
        wish,
        lambda: context.forgetting.all_turns(session_id),
        Confirm(
            "Erase the same turns there, too?",
            lambda: _asked(context, wish),
            otherwise=lambda: _asked(context, wish, f"Left in copies: {', '.join(copies)}."),
            shown=Text(f"These sessions begin as it does, or it as they do: {', '.join(copies)}."),
            aside="copies",
        ),
    )


def _everything(context: CommandContext, words: str) -> Output:
    if words:
        raise UsageError("/forget everything takes nothing after it. Nothing was erased.")
    return _asked(context, Wish(everything=True))


# --- the questions ------------------------------------------------------------------------------


def _asked(context: CommandContext, wish: Wish, note: str = "") -> Output:
    """Ask about what was made there, then about what was exported, then show all that would go.

    `note` stands above that.
    """
    return Work("Looking …", lambda say: _asked_about_entries(context, wish, note))


def _asked_about_entries(context: CommandContext, wish: Wish, note: str) -> Output:
    wish = context.forgetting.with_copies(wish)
    made = context.forgetting.made_in(wish)
    if not made or wish.everything:
        return _asked_about_exports(context, wish, note)
    lines = [*map(event_line, made.events), *(f"memo: {one.text}" for one in made.memos)]
    return _also(
        wish,
        lambda: Wish(
            events={one.id.partition("@")[0] for one in made.events},
            memos={one.id for one in made.memos},
        ),
        Confirm(
            "Erase that, too?",
            lambda: _asked_about_exports(context, wish, note),
            shown=Text("\n".join(["Made in what is to go:", *_listed(lines)])),
            aside="entries",
        ),
    )


def _asked_about_exports(context: CommandContext, wish: Wish, note: str) -> Output:
    paths = context.forgetting.exported(wish)
    if not paths:
        return _previewed(context, wish, note)
    return _also(
        wish,
        lambda: Wish(exports=set(paths)),
        Confirm(
            "Delete these files, too?",
            lambda: _previewed(context, wish, note),
            shown=Text("\n".join(["Exported from it:", *_listed(paths)])),
            aside="exports",
        ),
    )


def _also(wish: Wish, more: Callable[[], Wish], question: Confirm) -> Confirm:
    """Ask whether something beside it goes, too: a yes wishes for it before it goes on.

    A no goes on as well.
    """

    def with_it() -> Output:
        wish.add(more())
        return question.then()

    otherwise = question.otherwise or question.then
    return msgspec.structs.replace(question, then=with_it, otherwise=otherwise)


def _previewed(context: CommandContext, wish: Wish, note: str) -> Output:
    erasure = context.forgetting.erasure(wish)
    found = context.eraser.preview(erasure)
    if not found:
        raise NothingToErase("Nothing of that is kept. Nothing was erased.")
    work = _carried_out(context, erasure)
    turns = sum(map(len, erasure.turns.values()))
    question = "Erase this for good? It can't be brought back."
    shown = preview_text(found, note)
    if wish.everything:
        return Confirm(question, lambda: work, shown=shown, word="everything")
    if turns <= MANY:
        return Confirm(question, lambda: work, shown=shown)
    sure = Confirm(f"These are {count_text(turns, 'turn')}. Really all of them?", lambda: work)
    return Confirm(question, lambda: sure, shown=shown)


def preview_text(found: Sequence[Found], note: str = "") -> Text:
    """What would go, store by store: how many of each kind, and the first words of some."""
    lines = [note] if note else []
    for store in found:
        kinds = Counter(one.kind for one in store.matches)
        counts = ", ".join(count_text(number, kind) for kind, number in kinds.items())
        lines.append(f"{store.store}: {counts}")
        said = [f"{one.id}: {excerpt(one.text, EXCERPT)}" for one in store.matches if one.text]
        lines += _listed(said)
    return Text("\n".join(lines))


def _listed(lines: Iterable[str]) -> list[str]:
    lines = list(lines)
    more = len(lines) - SHOWN
    shown = [f"  {excerpt(line, 2 * EXCERPT)}" for line in lines[:SHOWN]]
    return [*shown, f"  … and {more:,} more"] if more > 0 else shown


# --- doing it -----------------------------------------------------------------------------------


def _carried_out(context: CommandContext, erasure: Erasure) -> Work:
    def run(say: Callable[[str], None]) -> Output:
        before = context.session.id
        with context.stepping_aside(erasure):
            receipt = erased_when_free(context.eraser, erasure, say)
        table = receipt_table(receipt)
        if context.session.id == before or not context.store.has(before):
            return table
        elsewhere = f"{table.note} You go on in a new session: another terminal has {before} now."
        return msgspec.structs.replace(table, note=elsewhere)

    return Work("Erasing …", run)


def erased_when_free(
    eraser: Eraser, erasure: Erasure, say: Callable[[str], None], patience: float = PATIENCE
) -> Receipt:
    """Erase, as soon as no other terminal has one of the sessions open.

    Raises SessionInUse when one has after `patience` seconds, and what `Eraser.erase` does.
    """
    until = monotonic() + patience
    try:
        while True:
            try:
                return eraser.erase(erasure, say)
            except SessionInUse as error:
                if monotonic() > until:
                    raise
                say(f"Waiting: session {error.session_id} is open in another terminal. Close it.")
                sleep(0.5)
    except KeyboardInterrupt:
        if not eraser.is_under_way(erasure):
            raise
        raise EraseStopped(
            "The erase was stopped on its way. The rest is done at the next start, or by "
            "/forget resume."
        ) from None


def receipt_table(receipt: Receipt) -> Table:
    """The receipt: every store that was read again, and what it holds still."""
    rows = [(one.store, f"{one.gone:,}", f"{one.left:,}", one.why) for one in receipt.stores]
    done = "Erased, and every store read again: nothing left."
    left = "Erased as far as it is in reach. What is left, and why, stands above."
    return Table(
        ("Store", "Erased", "Left", "Why"),
        rows,
        title="Receipt",
        note=done if receipt.nothing_left else left,
        incomplete=not receipt.nothing_left,
    )


def resume(context: CommandContext, words: str) -> Output:
    """Go on with an erase that was broken off."""
    if words:
        raise UsageError("/forget resume takes nothing after it.")

    def run(say: Callable[[str], None]) -> Output:
        with context.stepping_aside(None):
            receipt = context.eraser.finish(say)
        return receipt_table(receipt) if receipt else Text("No erase was broken off.")

    return Work("Erasing …", run)


# --- looking for what is left -------------------------------------------------------------------


def _verify(context: CommandContext, words: str) -> Output:
    def run(say: Callable[[str], None]) -> Output:
        return Text(where_text(words, words_left(context, words)))

    return Work("Looking at every byte …", run)


def words_left(context: CommandContext, words: str) -> Sequence[str]:
    """Where words still stand, in every byte that is kept; one line a place."""
    if not words.strip():
        raise UsageError("Which words should be looked for?")
    return context.forgetting.places(words, context.settings.home)


def where_text(words: str, left: Sequence[str]) -> str:
    """What /forget verify says."""
    if not left:
        return f"“{words}” stands nowhere in what this program keeps: nothing left."
    return "\n".join([f"“{words}” still stands in:", *(f"  {line}" for line in left)])


_FORMS: dict[str, Callable[[CommandContext, str], Output]] = {
    "last": _last,
    "about": _about,
    "since": _since,
    "before": _before,
    "session": session_erased,
    "everything": _everything,
    "verify": _verify,
    "resume": resume,
}
