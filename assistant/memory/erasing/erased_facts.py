"""What an erasure means for the log of facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from assistant.memory.erasing.erasures import goes, sources
from assistant.memory.facts.facts import (
    DecisionRecord,
    EndRecord,
    ExtractedRecord,
    FactLogRecord,
    FactRecord,
    ProposalRecord,
    UndoneRecord,
)
from assistant.messages import Fact
from assistant.protocols import Erasure, Match

#: Stands for the fact that took another's place and was erased: the other one ended all the same.
ERASED = ""


class ErasedFacts:
    """Which facts and proposals go, and what stays of the records that name them."""

    def __init__(self, erasure: Erasure, records: Sequence[FactLogRecord]) -> None:
        self._erasure = erasure
        self._said = {fact.id: fact for record in records for fact in _facts_in(record)}
        self._facts = set(erasure.facts) | {
            fact.id
            for record in records
            for fact in _facts_in(record)
            if erasure.everything
            or (fact.sources and all(goes(erasure, one) for one in fact.sources))
        }
        self._proposed = {
            record.proposal.id: record.proposal
            for record in records
            if isinstance(record, ProposalRecord)
        }
        named = self._words_of_named()
        self._proposals = {
            one.id
            for one in self._proposed.values()
            if erasure.everything
            or one.id in erasure.proposals
            or goes(erasure, one.source)
            # Its text is that of a fact that goes.
            or one.ends in self._facts
            or (named and _words(one.text) in named)
        }
        gone = {*erasure.proposals, *self._facts, *self._proposals}
        self._names = [f'"{one}"'.encode() for one in (*sorted(gone), *sorted(sources(erasure)))]
        self._names += [f'"{one}.'.encode() for one in erasure.sessions]

    def matches(self) -> Sequence[Match]:
        there = sorted(self._facts & self._said.keys())
        facts = [Match("fact", one, self._said[one].text) for one in there]
        proposals = [
            Match("proposal", one, self._proposed[one].text) for one in sorted(self._proposals)
        ]
        return [*facts, *proposals]

    def names(self, line: bytes) -> bool:
        return any(one in line for one in self._names)

    def changed(self, record: FactLogRecord) -> FactLogRecord | None:
        match record:
            case FactRecord():
                fact = self._kept(record.fact)
                if fact is None:
                    return None
                return record if fact is record.fact else replace(record, fact=fact)
            case EndRecord():
                if record.id in self._facts:
                    return None
                ended = record.replaced_by in self._facts
                return replace(record, replaced_by=ERASED) if ended else record
            case UndoneRecord():
                return self._undone(record)
            case ProposalRecord():
                return self._proposed_still(record)
            case DecisionRecord():
                return None if record.id in self._proposals else record
            case ExtractedRecord():
                return None if record.session in self._erasure.sessions else record

    def _kept(self, fact: Fact) -> Fact | None:
        if fact.id in self._facts:
            return None
        left = tuple(one for one in fact.sources if not goes(self._erasure, one))
        by = ERASED if fact.replaced_by in self._facts else fact.replaced_by
        if (left, by) == (fact.sources, fact.replaced_by):
            return fact
        return replace(fact, sources=left, replaced_by=by)

    def _proposed_still(self, record: ProposalRecord) -> ProposalRecord | None:
        proposal = record.proposal
        if proposal.id in self._proposals:
            return None
        if proposal.replaces not in self._facts:
            return record
        return replace(record, proposal=replace(proposal, replaces=None))

    def _undone(self, record: UndoneRecord) -> UndoneRecord | None:
        new = UndoneRecord(
            record.ts,
            tuple(one for one in record.gone if one not in self._facts),
            tuple(kept for one in record.restored if (kept := self._kept(one))),
            tuple(one for one in record.reopened if one not in self._proposals),
        )
        if new == record:
            return record
        return new if new.gone or new.restored or new.reopened else None

    def _words_of_named(self) -> set[str]:
        """What the facts say that were named one by one: a proposal may say the same."""
        return {_words(self._said[one].text) for one in self._erasure.facts if one in self._said}


def _facts_in(record: FactLogRecord) -> Iterator[Fact]:
    match record:
        case FactRecord():
            yield record.fact
        case UndoneRecord():
            yield from record.restored


def _words(text: str) -> str:
    from assistant.memory.facts.fact_rules import (
        same_words,  # here: its patterns take long to compile
    )

    return same_words(text)
