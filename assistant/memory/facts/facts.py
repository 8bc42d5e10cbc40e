"""What is known about the user, kept in one append-only file: `data/facts.jsonl`.

Nothing is ever overwritten. A fact that holds no more gets an end date and, where another took its
place, that one's id; it stays in the history. The state is the fold of the log.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from assistant.errors import EntryChanged, NoSuchEntry, WrongEntry
from assistant.memory.entry_log import EntryLog
from assistant.messages import Fact, FactKind, clean_text
from assistant.protocols import FactProposal, Times, Written

if TYPE_CHECKING:
    from assistant.memory.facts.fact_rules import Statement

#: A fact is a sentence or two: each stands in every prompt.
LONGEST = 1_000
#: Facts sharing words with a new one that are looked at for being the same thing.
LOOKED_AT = 10
#: Facts near a question that are looked at for having held at its time.
NEAR_THEN = 50
#: What a Chinese character that is shared counts beside a pair of them.
SINGLE_WEIGHT = 0.4

_LETTERS = "bcdfghjkmnpqrstvwxz"  # no vowels: no word comes of it


def fact_letters() -> str:
    """Random letters for an id that is typed by hand."""
    import secrets  # here, because the prompt need not wait for them

    return "".join(secrets.choice(_LETTERS) for _ in range(4))


class FactRecord(msgspec.Struct, frozen=True, tag_field="type", tag="fact"):
    """A fact as it was first kept."""

    fact: Fact
    ts: datetime

    @property
    def temporary(self) -> bool:
        """Whether its end was known when it was said: it takes no other fact's place."""
        return self.fact.valid_until is not None and self.fact.replaced_by is None


class EndRecord(msgspec.Struct, frozen=True, tag_field="type", tag="end", omit_defaults=True):
    """A fact holds no more from `until` on; `replaced_by` does instead."""

    id: str
    until: datetime
    ts: datetime
    replaced_by: str | None = None


class UndoneRecord(msgspec.Struct, frozen=True, tag_field="type", tag="undone", omit_defaults=True):
    """A change was taken back: facts that are gone, and others as they are again."""

    ts: datetime
    gone: tuple[str, ...] = ()
    restored: tuple[Fact, ...] = ()
    reopened: tuple[str, ...] = ()
    """Proposals that wait again."""


class ProposalRecord(msgspec.Struct, frozen=True, tag_field="type", tag="proposal"):
    """Something learnt that waits for the user's word."""

    proposal: FactProposal
    ts: datetime


class DecisionRecord(msgspec.Struct, frozen=True, tag_field="type", tag="decision"):
    """The user's word on a proposal."""

    id: str
    approved: bool
    ts: datetime


class ExtractedRecord(msgspec.Struct, frozen=True, tag_field="type", tag="extracted"):
    """How far a session was looked at for facts."""

    session: str
    turn: int
    ts: datetime


FactLogRecord: TypeAlias = (
    FactRecord | EndRecord | UndoneRecord | ProposalRecord | DecisionRecord | ExtractedRecord
)

fact_decoder: msgspec.json.Decoder[FactLogRecord] = msgspec.json.Decoder(FactLogRecord)


class Facts:
    """The facts about the user. Every method sees what other processes wrote."""

    def __init__(
        self, path: Path, *, times: Times, new_letters: Callable[[], str] = fact_letters
    ) -> None:
        """`new_letters` gives letters that make an id; it is asked again for one that is taken."""
        self._log = EntryLog(path, fact_decoder, "facts")
        self._times = times
        self._new_letters = new_letters
        # Always taken before the log's own: the worker writes while the main thread reads.
        self._lock = threading.RLock()
        self._sorted: list[Fact] | None = None
        """All facts, rules first, then the newest; None when they must be sorted anew."""
        self._start_over()

    # --- writing --------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        kind: FactKind | None = None,
        *,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        source: str = "",
        said: datetime | None = None,
        replaces: str | None = None,
    ) -> Written[Fact]:
        """As FactStore says. The text keeps its words and gets dates beside `tomorrow` and such.

        Of two on the same thing the one that was said earlier ends, whichever is written first.
        """
        with self._writing():
            return self._remember(
                text, kind, valid_from, valid_until, source, said or self._times.now(), replaces
            )

    def forget(self, fact_id: str, *, at: datetime | None = None) -> Written[Fact]:
        with self._writing():
            return self._forget(fact_id, at or self._times.now())

    def propose(
        self,
        text: str,
        kind: FactKind,
        *,
        said: datetime,
        source: str,
        replaces: str | None = None,
        ends: str | None = None,
    ) -> FactProposal | None:
        """Keep for the user to decide on; None for what was proposed before, or is known."""
        from assistant.memory.facts.fact_rules import same_words
        from assistant.memory.facts.secret_text import require_no_secret

        require_no_secret(text)
        with self._writing():
            words = same_words(text)
            before = ((same_words(one.text), one.ends) for one in self._proposals.values())
            if (words, ends) in before or (ends is None and self._known(words, said)):
                return None
            proposal = FactProposal(
                self._new_id("p", self._proposals), text, kind, said, source, replaces, ends
            )
            self._append(ProposalRecord(proposal, self._times.now()))
            return proposal

    def approve(self, proposal_id: str) -> Written[Fact]:
        with self._writing():
            proposal = self._waiting(proposal_id)
            decided = DecisionRecord(proposal.id, True, self._times.now())
            if proposal.ends is not None:
                return self._forget(proposal.ends, proposal.said, decided)
            return self._remember(
                proposal.text,
                proposal.kind,
                None,
                None,
                proposal.source,
                proposal.said,
                proposal.replaces,
                decided,
            )

    def refuse(self, proposal_id: str) -> FactProposal:
        with self._writing():
            proposal = self._waiting(proposal_id)
            self._append(DecisionRecord(proposal.id, False, self._times.now()))
            return proposal

    def looked_at(self, session: str, turn: int) -> None:
        """Write down that a session was searched for facts up to this turn."""
        with self._writing():
            if turn > self._extracted.get(session, 0):
                self._append(ExtractedRecord(session, turn, self._times.now()))

    # --- reading --------------------------------------------------------------------------------

    def now(self) -> datetime:
        """What time it is for them."""
        return self._times.now()

    def get(self, fact_id: str) -> Fact:
        with self._reading():
            return self._get(fact_id)

    def in_force(self, moment: datetime) -> Sequence[Fact]:
        with self._reading():
            if self._sorted is None:
                newest = sorted(self._newest_written(), key=lambda fact: fact.said, reverse=True)
                self._sorted = sorted(newest, key=lambda fact: fact.kind != "rule")
            return [fact for fact in self._sorted if fact.holds(moment)]

    def near(self, text: str, most: int = 5) -> Sequence[Fact]:
        with self._reading():
            return [self._facts[one] for one in self._index.nearest(text)[:most]]

    def bearing_on(self, question: str, now: datetime, most: int = 5) -> Sequence[Fact]:
        """As FactStore says. Words such as "before" without a date ask for what has ended."""
        from assistant.memory.facts.fact_rules import asks_for_before
        from assistant.memory.times.named_dates import named_dates

        spans = [
            (
                datetime.combine(day.start, time(), now.tzinfo),
                datetime.combine(day.end, time(), now.tzinfo) + timedelta(days=1),
            )
            for day in named_dates(question, now)
        ]
        if not spans and not asks_for_before(question):
            return []

        def bears(fact: Fact) -> bool:
            if not spans:
                return fact.valid_until is not None and fact.valid_until <= now
            return any(
                _overlaps(fact, start, end) or start <= fact.said < end for start, end in spans
            )

        return [fact for fact in self.near(question, NEAR_THEN) if bears(fact)][:most]

    def history(self, words: str = "") -> Sequence[Fact]:
        wanted = words.casefold().split()
        with self._reading():
            return sorted(
                (
                    fact
                    for fact in self._newest_written()
                    if all(word in fact.text.casefold() for word in wanted)
                ),
                key=lambda fact: fact.said,
                reverse=True,
            )

    def pending(self) -> Sequence[FactProposal]:
        with self._reading():
            return [self._proposals[one] for one in self._undecided]

    def ever_kept(self) -> Sequence[Fact]:
        """As FactStore says."""
        return [fact for record in self._log.records() for fact in _facts_in(record)]

    def ever_proposed(self) -> Sequence[FactProposal]:
        """As FactStore says."""
        with self._reading():
            return list(self._proposals.values())

    def extracted(self, session: str) -> int:
        """The last turn of a session that was searched for facts; 0 for none."""
        with self._reading():
            return self._extracted.get(session, 0)

    # --- the fold -------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            self._catch_up()
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock, self._log.exclusively():
            self._catch_up()
            yield

    def _append(self, *records: FactLogRecord) -> None:
        self._log.append(*records)
        self._catch_up()

    def _start_over(self) -> None:
        self._folded = 0
        self._generation = self._log.generation
        self._facts: dict[str, Fact] = {}
        self._temporary: set[str] = set()
        self._proposals: dict[str, FactProposal] = {}
        self._undecided: dict[str, None] = {}
        self._extracted: dict[str, int] = {}
        self._sorted = None
        self._index = _Index()

    def _catch_up(self) -> None:
        records = self._log.records(self._folded)
        if self._log.generation != self._generation:
            self._start_over()
            records = self._log.records()
        for record in records:
            self._fold(record)
        self._folded += len(records)

    def _fold(self, record: FactLogRecord) -> None:
        match record:
            case FactRecord(fact=fact) if _has_zones(fact):
                self._put(fact)
                if record.temporary:
                    self._temporary.add(fact.id)
            case EndRecord() if record.id in self._facts and record.until.tzinfo is not None:
                self._put(
                    msgspec.structs.replace(
                        self._facts[record.id],
                        valid_until=record.until,
                        replaced_by=record.replaced_by,
                    )
                )
            case UndoneRecord():
                for gone in record.gone:
                    if self._facts.pop(gone, None):
                        self._index.drop(gone)
                for fact in record.restored:
                    self._put(fact)
                self._undecided.update(dict.fromkeys(record.reopened))
            case ProposalRecord(proposal=proposal):
                self._proposals[proposal.id] = proposal
                self._undecided[proposal.id] = None
            case DecisionRecord():
                self._undecided.pop(record.id, None)
            case ExtractedRecord():
                self._extracted[record.session] = max(
                    record.turn, self._extracted.get(record.session, 0)
                )
            case _:
                pass
        self._sorted = None

    def _put(self, fact: Fact) -> None:
        if fact.id not in self._facts:
            self._index.add(fact)
        self._facts[fact.id] = fact

    # --- deciding -------------------------------------------------------------------------------

    def _remember(
        self,
        text: str,
        kind: FactKind | None,
        valid_from: datetime | None,
        valid_until: datetime | None,
        source: str,
        said: datetime,
        replaces: str | None,
        *decided: DecisionRecord,
    ) -> Written[Fact]:
        from assistant.memory.facts.fact_dates import dated
        from assistant.memory.facts.fact_rules import kind_of, same_words
        from assistant.memory.facts.secret_text import require_no_secret

        require_no_secret(text)
        text = " ".join(clean_text(text).split())
        since = valid_from or said
        _require_fact(text, since, valid_until)
        if known := self._known(same_words(text), said):
            if decided:
                self._append(*decided)
            return Written(known, known, _nothing)
        fact = Fact(
            id=self._new_id("f", self._facts),
            text=dated(text, said, self._times),
            kind=kind or kind_of(text),
            said=said,
            valid_from=valid_from,
            valid_until=valid_until,
            sources=(source,) if source else (),
        )
        named = None if replaces is None else self._get(replaces)
        fact, earlier = self._placed(fact, named)
        now = self._times.now()
        ends = [
            EndRecord(one.id, max(since, one.valid_from or one.said), now, fact.id)
            for one in earlier
        ]
        return self._written(
            [FactRecord(fact, now), *ends, *decided],
            before=earlier[0] if earlier else None,
            after=fact,
            gone=(fact.id,),
            restored=tuple(earlier),
            reopened=tuple(one.id for one in decided),
        )

    def _forget(self, fact_id: str, at: datetime, *decided: DecisionRecord) -> Written[Fact]:
        fact = self._get(fact_id)
        if fact.valid_until is not None and fact.valid_until <= at:
            raise WrongEntry(
                f"{fact.id} ended already, on {fact.valid_until:%Y-%m-%d}. Nothing was changed.",
                "id",
            )
        until = max(at, fact.valid_from or fact.said)
        return self._written(
            [EndRecord(fact.id, until, self._times.now()), *decided],
            before=fact,
            after=fact,
            restored=(fact,),
            reopened=tuple(one.id for one in decided),
        )

    def _written(
        self,
        records: Sequence[FactLogRecord],
        *,
        before: Fact | None,
        after: Fact,
        gone: tuple[str, ...] = (),
        restored: tuple[Fact, ...] = (),
        reopened: tuple[str, ...] = (),
    ) -> Written[Fact]:
        """Write a change. What it gives are the entries as they are now, ends included."""
        self._append(*records)
        changed = {one: self._facts[one] for one in (*gone, *(fact.id for fact in restored))}

        def undo() -> None:
            with self._writing():
                if any(self._facts.get(one) != fact for one, fact in changed.items()):
                    raise EntryChanged(
                        "It was changed since, so it can't be taken back. Nothing was changed; "
                        "/memory history shows how it is now."
                    )
                # What was erased meanwhile is named no more.
                there = tuple(map(self._without_erased, restored))
                waiting = tuple(one for one in reopened if one in self._proposals)
                self._append(UndoneRecord(self._times.now(), gone, there, waiting))

        now_before = before if before is None or not gone else changed[before.id]
        return Written(now_before, changed[after.id], undo)

    def _without_erased(self, fact: Fact) -> Fact:
        if fact.replaced_by is None or fact.replaced_by in self._facts:
            return fact
        return msgspec.structs.replace(fact, replaced_by="")

    def _placed(self, fact: Fact, named: Fact | None) -> tuple[Fact, list[Fact]]:
        """A fact in its place among those on the same thing, and those that end with it.

        The newest of these stands first. The order in which they were said decides, not the one
        in which they are written.
        """
        if fact.valid_until is not None and named is None:
            return fact, []
        from assistant.memory.facts.fact_rules import replaces

        stated = self._index.statement(fact)
        earlier: list[Fact] = [] if named is None else [named]
        later: list[Fact] = []
        for one in self._candidates(fact, stated):
            other = self._index.statement(one)
            if one.said > fact.said and replaces(other, stated):
                later.append(one)
            elif one.said <= fact.said and one is not named and replaces(stated, other):
                earlier.append(one)
        if later:
            successor = min(later, key=lambda one: one.said)
            until = max(fact.valid_from or fact.said, successor.valid_from or successor.said)
            fact = msgspec.structs.replace(fact, valid_until=until, replaced_by=successor.id)
        ending = [one for one in earlier if one is named or self._ends_with(one, fact)]
        return fact, sorted(ending, key=lambda one: one.said, reverse=True)

    def _candidates(self, fact: Fact, stated: Statement) -> list[Fact]:
        near = [*self._index.on_same(stated), *self._index.nearest(fact.text)[:LOOKED_AT]]
        return [self._facts[one] for one in dict.fromkeys(near) if one not in self._temporary]

    def _ends_with(self, earlier: Fact, fact: Fact) -> bool:
        """Whether the earlier one holds on, or only ended with one that was said after this one."""
        if earlier.valid_until is None:
            return True
        by = self._facts.get(earlier.replaced_by or "")
        return by is not None and by.said > fact.said

    def _known(self, words: str, said: datetime) -> Fact | None:
        """The fact of the same words that held when this was said, or holds since."""
        for one in self._index.same(words):
            fact = self._facts[one]
            if fact.valid_until is None or said < fact.valid_until:
                return fact
        return None

    def _newest_written(self) -> Iterator[Fact]:
        return reversed(self._facts.values())

    def _get(self, fact_id: str) -> Fact:
        fact = self._facts.get(fact_id.strip().casefold())
        if fact is None:
            raise NoSuchEntry(
                f"There is no fact {fact_id or 'without an id'}. Nothing was changed; "
                "/memory list shows their ids."
            )
        return fact

    def _waiting(self, proposal_id: str) -> FactProposal:
        wanted = proposal_id.strip().casefold()
        if wanted not in self._undecided:
            raise NoSuchEntry(
                f"Nothing with the id {proposal_id or '…'} waits for your word. Nothing was "
                "changed; /memory pending shows what does."
            )
        return self._proposals[wanted]

    def _new_id(self, prefix: str, taken: dict[str, Fact] | dict[str, FactProposal]) -> str:
        while (made := f"{prefix}{self._new_letters()}") in taken or made in self._index.gone:
            pass
        return made


class _Index:
    """Facts by what they state and by their words. Built when it is first asked."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        """Ids that were taken back: they are not given again."""
        self._to_word: dict[str, Fact] = {}
        self._to_state: dict[str, Fact] = {}
        """What each half is still to take in: what is stated is not wanted in every conversation,
        and takes five times as long to tell as the words.
        """
        self._statements: dict[str, Statement] = {}
        self._on: defaultdict[str, set[str]] = defaultdict(set)
        self._same: defaultdict[str, list[str]] = defaultdict(list)
        self._holding: defaultdict[str, set[str]] = defaultdict(set)
        """Term → the facts that have it."""
        self._lengths: dict[str, int] = {}

    def add(self, fact: Fact) -> None:
        self._to_word[fact.id] = self._to_state[fact.id] = fact

    def drop(self, fact_id: str) -> None:
        self.gone.add(fact_id)
        self._to_word.pop(fact_id, None)
        self._to_state.pop(fact_id, None)
        self._statements.pop(fact_id, None)
        self._lengths.pop(fact_id, None)

    def statement(self, fact: Fact) -> Statement:
        from assistant.memory.facts.fact_rules import statement

        found = self._statements.get(fact.id)
        return statement(fact.text) if found is None else found

    def same(self, words: str) -> list[str]:
        """Facts of the same words."""
        self._take_in_statements()
        return [one for one in self._same.get(words, ()) if one in self._statements]

    def on_same(self, stated: Statement) -> list[str]:
        """Facts that may be on the same thing by their wording."""
        self._take_in_statements()
        found: dict[str, None] = {}
        for key in _keys(stated):
            found.update(dict.fromkeys(self._on.get(key, ())))
        return sorted(one for one in found if one in self._statements)

    def nearest(self, text: str) -> list[str]:
        """The facts that share words with a text, or are what it asks for, best first."""
        from assistant.memory.facts.fact_rules import asked_slots
        from assistant.memory.recall.terms import terms

        self._take_in_words()
        total = len(self._lengths)
        scores: defaultdict[str, float] = defaultdict(float)
        for term in set(terms(text)):
            holding = self._holding.get(term, ())
            weight = math.log(1 + total / max(1, len(holding))) * _weight(term)
            for one in holding:
                scores[one] += weight
        slots = asked_slots(text)
        if slots:
            self._take_in_statements()
        for slot in slots:
            for one in self._on.get(slot, ()):
                scores[one] += math.log(1 + total)
        ranked = [
            (-score / math.sqrt(4 + self._lengths[one]), one)
            for one, score in scores.items()
            if one in self._lengths
        ]
        return [one for _, one in sorted(ranked)]

    def _take_in_words(self) -> None:
        from assistant.memory.recall.terms import terms

        for one, fact in self._to_word.items():
            words = set(terms(fact.text))
            self._lengths[one] = len(words)
            for term in words:
                self._holding[term].add(one)
        self._to_word.clear()

    def _take_in_statements(self) -> None:
        from assistant.memory.facts.fact_rules import same_words, statement

        for one, fact in self._to_state.items():
            stated = self._statements[one] = statement(fact.text)
            for key in _keys(stated):
                self._on[key].add(one)
            self._same[same_words(fact.text)].append(one)
        self._to_state.clear()


def _facts_in(record: FactLogRecord) -> Sequence[Fact]:
    match record:
        case FactRecord():
            return (record.fact,)
        case UndoneRecord():
            return record.restored
        case _:
            return ()


def _keys(stated: Statement) -> Iterator[str]:
    yield from stated.slots
    yield from stated.loose
    yield from (f"about {words}" for words in {stated.says, stated.bare} if words)


def _weight(term: str) -> float:
    """A single Chinese character is in many words."""
    return 1.0 if term.isascii() or len(term) > 1 else SINGLE_WEIGHT


def _has_zones(fact: Fact) -> bool:
    """Whether its times can be compared: a line written by hand may lack the zone."""
    moments = (fact.said, fact.valid_from, fact.valid_until)
    return all(moment is None or moment.tzinfo is not None for moment in moments)


def _overlaps(fact: Fact, start: datetime, end: datetime) -> bool:
    since = fact.valid_from or fact.said
    return since < end and (fact.valid_until is None or fact.valid_until > start)


def _require_fact(text: str, since: datetime, until: datetime | None) -> None:
    if not text:
        raise WrongEntry("Nothing was kept: there is no text to remember. Say it.", "text")
    if len(text) > LONGEST:
        raise WrongEntry(
            f"Nothing was kept: {len(text):,} characters are too long for a fact, which stands in "
            f"every question. Say it in {LONGEST:,} at most, or save it as a memo.",
            "text",
        )
    if until is not None and until <= since:
        raise WrongEntry("Nothing was kept: it would end before it begins.", "valid_until")


def _nothing() -> None:
    """Nothing was written, so there is nothing to take back."""
