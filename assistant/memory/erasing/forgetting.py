"""From what a person wants forgotten to an `Erasure`: every copy of it, by number and digest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path

import msgspec

from assistant.errors import NothingToErase
from assistant.memory.erasing.byte_search import files_with, holds
from assistant.memory.erasing.exports import Exports
from assistant.memory.erasing.log_eraser import FORGOTTEN
from assistant.memory.erasing.prompt_history import entries, entry_digest
from assistant.memory.erasing.session_files import citing, copies, holding, message_copies
from assistant.memory.recall.vector_cache import vector_digest
from assistant.memory.session import exchange_of
from assistant.memory.session_store import SessionStore
from assistant.messages import Event, Exchange, Memo, Message, Role
from assistant.protocols import Erasure, IndexHome, Stores

#: Memos and facts are few: all are looked at.
ALL = 1_000_000


class Wish(msgspec.Struct):
    """What a person has chosen so far. It is completed with every copy of it."""

    turns: dict[str, set[int]] = {}
    """By session."""
    messages: dict[str, set[int]] = {}
    """By session: ids."""
    titles: set[str] = set()
    lines: dict[str, set[str]] = {}
    sessions: set[str] = set()
    facts: set[str] = set()
    proposals: set[str] = set()
    memos: set[str] = set()
    events: set[str] = set()
    typed: set[str] = set()
    exports: set[str] = set()
    everything: bool = False
    complete: bool = False
    """Whether copies and quotations of all of it are in it: looking for them reads every log."""

    def add(self, other: Wish) -> None:
        """Wish for what another one has, too."""
        self.complete &= not (other.turns or other.messages or other.sessions)
        for session, turns in other.turns.items():
            self.turns.setdefault(session, set()).update(turns)
        for session, messages in other.messages.items():
            self.messages.setdefault(session, set()).update(messages)
        for session, lines in other.lines.items():
            self.lines.setdefault(session, set()).update(lines)
        for name in SETS:
            getattr(self, name).update(getattr(other, name))
        self.everything |= other.everything


#: The fields of a wish that are plain sets.
SETS = ("titles", "sessions", "facts", "proposals", "memos", "events", "typed", "exports")


class Candidate(msgspec.Struct, frozen=True):
    """Something that may be meant, and what to wish for when it is."""

    what: str
    """Where it stands, in words: `turn 20261130-….12 of 2026-11-30`, `memo mk3f9`."""
    text: str
    wish: Wish
    exact: bool = True
    """Whether it holds the very words, or only bears on them."""


class Made(msgspec.Struct, frozen=True):
    """What tools made in turns that are to be erased: the user may want to keep it."""

    events: Sequence[Event] = ()
    memos: Sequence[Memo] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.memos)


class Forgetting:
    """Finds what a person means, and every copy of it."""

    def __init__(
        self,
        store: SessionStore,
        stores: Stores,
        *,
        prompt_history: Path,
        exports: Exports,
        index_home: IndexHome,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._stores = stores
        self._prompt_history = prompt_history
        self._exports = exports
        self._index_home = index_home
        self._clock = clock
        self._new_id = new_id

    # --- what is meant --------------------------------------------------------------------------

    def turns(self, session_id: str, first: int, last: int) -> Wish:
        """Turns of one session, undone ones included. Raises NothingToErase when there are none."""
        there = {one.turn for one in self._messages(session_id)}
        wanted = {turn for turn in there if first <= turn <= last}
        if not wanted:
            named = str(first) if first == last else f"{first} to {last}"
            most = f"Its turns go up to {max(there)}." if there else "It has no turns."
            raise NothingToErase(
                f"Session {session_id} has no turn {named}. {most} Nothing was erased. /history "
                "all shows the numbers."
            )
        return Wish(turns={session_id: wanted})

    def of_role(self, session_id: str, role: Role) -> Wish:
        """All messages of a role in one session; of tools their calls and results."""
        told = self._messages(session_id)
        # What an earlier erasure left of a question is no word of the user's.
        ids = {one.id for one in told if one.role == role and not _is_forgotten(one)}
        if not ids:
            raise NothingToErase(
                f"Session {session_id} has no message of the role {role}. Nothing was erased."
            )
        return Wish(messages={session_id: ids})

    def between(self, start: datetime | None, end: datetime | None) -> Wish:
        """All turns of all sessions that began in that time (`end` is exclusive)."""
        wish = Wish()
        for session_id in self._store.files():
            for turn, messages in _by_turn(self._messages(session_id)):
                if messages[0].ts is None:
                    continue
                # One without an offset, which another program wrote, is local.
                said = messages[0].ts.astimezone()
                if (start is None or said >= start) and (end is None or said < end):
                    wish.turns.setdefault(session_id, set()).add(turn)
        if not wish.turns:
            raise NothingToErase("Nothing was said in that time. Nothing was erased.")
        return wish

    def all_turns(self, session_id: str) -> Wish:
        """Every turn of a session, so that copies of them are found."""
        return Wish(turns={session_id: {one.turn for one in self._messages(session_id)}})

    def copies_of(self, session_id: str) -> Sequence[str]:
        """Other sessions that have some of its turns: forks, and what it was forked from."""
        turns = copies(self._store, self.all_turns(session_id).turns)
        return sorted(name for name in turns if name != session_id)

    def about(self, words: str, alike: Sequence[Exchange] = ()) -> Sequence[Candidate]:
        """All that holds the words, in any store; then exchanges that only bear on them.

        `alike` is what retrieval found, the best first.
        """
        found = [*self._in_logs(words), *self._in_entries(words), *self._typed(words)]
        known = {(s, t) for one in found for s, turns in one.wish.turns.items() for t in turns}
        found += [
            Candidate(_turn_name(one), one.text, Wish(turns={one.session: {one.turn}}), exact=False)
            for one in alike
            if (one.session, one.turn) not in known
        ]
        return found

    def places(self, words: str, home: Path) -> Sequence[str]:
        """Where words stand in all that the program keeps, byte by byte; a line for each place."""
        exported = [Path(one) for one in self._exports.of(None)]
        lines = {_short(hit.path, home): hit.told for hit in files_with(words, home, exported)}
        for place in self._index_home.holding(words):
            lines.setdefault(_short(Path(place), home), "memory index")
        return [f"{name}: {told}" for name, told in sorted(lines.items())]

    # --- every copy of it -----------------------------------------------------------------------

    def made_in(self, wish: Wish) -> Made:
        """Events and memos made in the turns that go, or in those that they are copies of."""
        whole = self.with_copies(wish)
        events, memos = self._stores.calendar.all(), self._stores.memos.search(most=ALL)
        return Made(
            [one for one in events if _goes(whole, one.source) and one.id not in wish.events],
            [one for one in memos if _goes(whole, one.source) and one.id not in wish.memos],
        )

    def exported(self, wish: Wish) -> Sequence[str]:
        """Files that were written of the sessions which lose something."""
        if wish.everything:
            return self._exports.of(None)
        whole = self.with_copies(wish)
        return self._exports.of(
            {*whole.turns, *whole.messages, *whole.sessions, *whole.titles, *whole.lines}
        )

    def erasure(self, wish: Wish) -> Erasure:
        """What is to be erased, with all copies: in forks, in results that quote it, in what was
        typed, and in vectors.
        """
        wish = self.with_copies(wish)
        typed, texts, unsaid = set(wish.typed), set[str](), set[str]()
        changed: dict[str, set[int]] = {}
        for name, turn, told, going in self._going(wish):
            typed |= {entry_digest(one.text) for one in going if one.role == "user"}
            # What tools were asked and have found is no part of an exchange.
            if any(one.role != "tool" and one.text for one in going):
                texts |= _embedded(name, told)
                if not _goes(wish, f"{name}.{turn}"):
                    changed.setdefault(name, set()).add(turn)
            if any(one.role == "user" for one in going):
                unsaid.add(f"{name}.{turn}")
        # Nobody would miss a memo that was deleted; its text is there still.
        deleted = self._stores.memos.deleted_in().items()
        memos = wish.memos | {one for one, source in deleted if _goes(wish, source)}
        said = self._stores.memos.texts() if memos else {}
        texts |= {vector_digest(text) for one in memos for text in said.get(one, ())}
        proposals = self._stores.facts.ever_proposed() if unsaid else ()
        return Erasure(
            id=self._new_id(),
            ts=self._clock(),
            turns=_sorted(wish.turns),
            messages=_sorted(wish.messages),
            changed=_sorted(changed),
            titles=tuple(sorted(wish.titles)),
            lines={name: tuple(sorted(one)) for name, one in wish.lines.items()},
            sessions=tuple(sorted(wish.sessions)),
            facts=tuple(sorted(wish.facts | self._learnt_from(unsaid))),
            proposals=tuple(
                sorted(wish.proposals | {one.id for one in proposals if one.source in unsaid})
            ),
            memos=tuple(sorted(memos)),
            events=tuple(sorted(wish.events)),
            typed=tuple(sorted(typed)),
            texts=tuple(sorted(texts)),
            exports=tuple(sorted(wish.exports)),
            everything=wish.everything,
        )

    def with_copies(self, wish: Wish) -> Wish:
        """The wish with the same turns and messages in forks, and with all results that quote
        what goes. One that has them already is returned as it is.
        """
        if wish.complete:
            return wish
        whole = Wish()
        whole.add(wish)
        whole.turns |= copies(self._store, wish.turns)
        whole.messages |= message_copies(self._store, wish.messages)
        quoted: dict[str, set[int]] = {}
        for name, turn, _, going in self._going(whole):
            if any(one.role != "tool" and one.text for one in going):
                quoted.setdefault(name, set()).add(turn)
        for name, ids in citing(self._store, quoted).items():
            whole.messages[name] = whole.messages.get(name, set()) | ids
        whole.complete = True
        return whole

    def _going(self, wish: Wish) -> Iterator[tuple[str, int, list[Message], list[Message]]]:
        """Session, turn, its messages, and those of them that go, of each that loses something."""
        for name in {*wish.turns, *wish.messages, *wish.sessions}:
            turns, ids = wish.turns.get(name, ()), wish.messages.get(name, ())
            for turn, told in _by_turn(self._messages(name)):
                whole = name in wish.sessions or turn in turns
                if going := told if whole else [one for one in told if one.id in ids]:
                    yield name, turn, told, going

    def _learnt_from(self, turns: Collection[str]) -> set[str]:
        """Facts that have no other source than what the user said in these turns.

        What was erased before of a turn that is still there is no source either.
        """
        sources: dict[str, set[str]] = {}
        for fact in self._stores.facts.ever_kept() if turns else ():
            sources.setdefault(fact.id, set()).update(fact.sources)
        return {
            one
            for one, its_turns in sources.items()
            if its_turns & set(turns)
            and all(turn in turns or self._is_unsaid(turn) for turn in its_turns)
        }

    def _is_unsaid(self, source: str) -> bool:
        """Whether the question of a turn was erased, and not all of its turn."""
        name, _, turn = source.rpartition(".")
        said = (one for one in self._messages(name) if f"{one.turn}" == turn)
        return any(map(_is_forgotten, said))

    # --- where words stand ----------------------------------------------------------------------

    def _in_logs(self, words: str) -> Iterator[Candidate]:
        told: set[tuple[str, int]] = set()
        for finding in holding(self._store, words):
            name, text = finding.session, finding.match.text
            if turn := finding.turn:
                if (name, turn) not in told:
                    told.add((name, turn))
                    yield Candidate(f"turn {name}.{turn}", text, Wish(turns={name: {turn}}))
            elif finding.title:
                yield Candidate(f"title of session {name}", text, Wish(titles={name}))
            elif finding.line:
                what = f"{finding.match.kind} of session {name}"
                yield Candidate(what, text, Wish(lines={name: {finding.line}}))
            else:
                # It may hold anything: it goes only when the user ticks it.
                wish = Wish(sessions={name})
                yield Candidate(f"session {name}", "can't be read", wish, exact=False)

    def _in_entries(self, words: str) -> Iterator[Candidate]:
        stores = self._stores
        facts = {one.id: one for one in stores.facts.ever_kept() if holds(one.text, words)}
        for fact in facts.values():
            yield Candidate(f"fact {fact.id}", fact.text, Wish(facts={fact.id}))
        for proposal in stores.facts.ever_proposed():
            if holds(proposal.text, words):
                what = f"proposed fact {proposal.id}"
                yield Candidate(what, proposal.text, Wish(proposals={proposal.id}))
        for memo_id, texts in stores.memos.texts().items():
            if held := next((text for text in texts if holds(text, words)), None):
                yield Candidate(f"memo {memo_id}", held, Wish(memos={memo_id}))
        found = {
            event.id.partition("@")[0]: event.title
            for event in stores.calendar.all()
            if any(holds(text, words) for text in (event.title, event.location, event.notes))
        }
        for event_id, title in found.items():
            yield Candidate(f"event {event_id}", title, Wish(events={event_id}))

    def _typed(self, words: str) -> Iterator[Candidate]:
        for entry in entries(self._prompt_history):
            if holds(entry, words):
                yield Candidate("typed line", entry, Wish(typed={entry_digest(entry)}))

    def _messages(self, session_id: str) -> Sequence[Message]:
        return [one for one in self._store.records(session_id) if isinstance(one, Message)]


def _goes(wish: Wish, source: str) -> bool:
    """Whether a turn, `<session>.<turn>`, goes."""
    session, _, turn = source.rpartition(".")
    turns = wish.turns.get(session, ())
    return session in wish.sessions or (turn.isdecimal() and int(turn) in turns)


def _is_forgotten(message: Message) -> bool:
    """Whether it is what an erasure left of a question."""
    return message.role == "user" and message.content == FORGOTTEN


def _short(path: Path, home: Path) -> str:
    return str(path.relative_to(home) if path.is_relative_to(home) else path)


def _by_turn(messages: Sequence[Message]) -> Iterator[tuple[int, list[Message]]]:
    in_order = sorted(messages, key=lambda one: (one.turn, one.id))
    for turn, told in groupby(in_order, key=lambda one: one.turn):
        yield turn, list(told)


def _embedded(session_id: str, told: Sequence[Message]) -> set[str]:
    """Digests of the texts of an exchange that vectors may have been made of.

    A question that got its reply late was embedded alone, before.
    """
    asked = [one for one in told if one.role == "user"]
    exchanges = (exchange_of(session_id, messages) for messages in (told, asked))
    return {vector_digest(one.text.strip()) for one in exchanges if one is not None}


def _turn_name(exchange: Exchange) -> str:
    when = f" of {exchange.ts.astimezone():%Y-%m-%d}" if exchange.ts else ""
    return f"turn {exchange.id}{when}"


def _sorted(numbers: dict[str, set[int]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(sorted(one)) for name, one in sorted(numbers.items()) if one}
