"""The kept section: what the summaries of a conversation lost, carried over word for word.

It is carried from round to round and bounded. Corrections replace what they correct, repetitions
are told once, and where space is short clauses are shortened before anything is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations, islice
from math import log2

import msgspec

from assistant.memory.compaction.at_risk import STATEMENTS, WEIGHTS
from assistant.memory.compaction.clauses import (
    GENERIC,
    content_words,
    is_negative,
    sentences,
    shortened,
    without_date,
)
from assistant.memory.compaction.values import (
    Key,
    code_pattern,
    find_values,
    is_valued,
    key_of,
    narrow,
    numbers_in,
)
from assistant.messages import KeptItem

ROLE_WEIGHTS: Mapping[str, float] = {"user": 1.0, "assistant": 0.4, "tool": 0.3}
PASSING_WEIGHT = 0.3
GRAVE_WEIGHT = 1.3
"""Of an allergy, and of a correction: without it the old value stands."""
_ALLERGY = re.compile("allerg|过敏", re.IGNORECASE)
HALF_LIFE = 200
"""Turns after which a thing counts half."""

ENOUGH_WORDS = 0.6
"""A rule is in a summary when one of its sentences has so much of the rule's words."""

# Shares of words in common: so many make two statements one, so many are needed for one to take
# back another, and so many for a value to be a correction of another.
ALIKE = 0.8
SAME_STATEMENT = 0.6
SAME_THING = 0.5

# More are never weighed: a section holds some thirty.
MOST_WEIGHED = 200
# A correction is about something said lately.
REACH = 200


class Kept(msgspec.Struct, frozen=True):
    """What stands in the section, in the order it was said, and what found no room in it."""

    items: tuple[KeptItem, ...] = ()
    left_out: tuple[KeptItem, ...] = ()


# --- the section --------------------------------------------------------------------------------


def keep(items: Sequence[KeptItem], tokens: int, count: Callable[[str], int]) -> Kept:
    """Choose what stands in a section of `tokens` tokens at most, clauses shortened as need be."""
    wanted = merged(items)
    newest = max((item.turn for item in wanted), default=0)
    scores = {id(item): _score(item, newest) for item in wanted}
    return _fit(wanted, scores, tokens, count)


def kept_lines(items: Sequence[KeptItem]) -> str:
    """The section as it stands in a prompt: a line for each clause, what was said last below."""
    return "\n".join(_line(text, members) for text, members in _by_text(items).items())


def _line(text: str, members: Sequence[KeptItem]) -> str:
    speaker = "" if any(item.role == "user" for item in members) else f"{members[0].role}: "
    return f"- {speaker}{text}"


def _by_text(items: Iterable[KeptItem]) -> dict[str, list[KeptItem]]:
    """Items of one clause share its line."""
    groups: dict[str, list[KeptItem]] = {}
    for item in items:
        groups.setdefault(item.text, []).append(item)
    return groups


def _score(item: KeptItem, newest: int) -> float:
    passing = PASSING_WEIGHT if item.passing else 1.0
    repeated = 1 + 0.15 * log2(item.said)
    grave = GRAVE_WEIGHT if item.replaces or _ALLERGY.search(item.text) else 1.0
    age: float = 0.5 ** ((newest - item.turn) / HALF_LIFE)
    return WEIGHTS[item.kind] * ROLE_WEIGHTS.get(item.role, 0.0) * passing * repeated * grave * age


def _best(items: Sequence[KeptItem], scores: Mapping[int, float], most: int) -> list[KeptItem]:
    ranked = sorted(items, key=lambda item: -scores[id(item)])
    chosen = {id(item) for item in ranked[:most]}
    return [item for item in items if id(item) in chosen]


# --- fitting ------------------------------------------------------------------------------------

_FULL, _SHORT, _SHORTEST, _OUT = range(4)
_WORDS: Mapping[int, tuple[int, int]] = {_SHORT: (4, 14), _SHORTEST: (2, 8)}
"""Words left beside a value, and of a statement."""


class _Clause:
    """One line of the section while it is fitted."""

    def __init__(self, number: int, text: str, members: list[KeptItem], score: float) -> None:
        self.number = number
        self.members = members
        self.score = score
        self.passing = all(item.passing for item in members)
        # Whatever a tool printed, only a few words of it stand among the instructions.
        self.level = _SHORT if all(item.role == "tool" for item in members) else _FULL
        self._texts = {_FULL: text}
        self._tokens: dict[int, int] = {}

    def text(self, level: int) -> str:
        if level not in self._texts:
            beside, of_statement = _WORDS[level]
            full = self._texts[_FULL]
            stated = any(item.kind in STATEMENTS for item in self.members)
            values = [item.value for item in self.members if item.kind not in STATEMENTS]
            values += [full[value.start : value.end] for value in find_values(without_date(full))]
            short = shortened(full, values, of_statement if stated else beside, statement=stated)
            self._texts[level] = min(short or self._texts[_FULL], self.text(level - 1), key=len)
        return self._texts[level]

    def tokens(self, level: int, count: Callable[[str], int]) -> int:
        if level == _OUT:
            return 0
        if level not in self._tokens:
            self._tokens[level] = count(_line(self.text(level), self.members) + "\n")
        return self._tokens[level]


def _fit(
    wanted: Sequence[KeptItem],
    scores: Mapping[int, float],
    tokens: int,
    count: Callable[[str], int],
) -> Kept:
    weighed = _best(wanted, scores, MOST_WEIGHED)
    groups = [
        _Clause(number, text, members, max(scores[id(item)] for item in members))
        for number, (text, members) in enumerate(_by_text(weighed).items())
    ]
    _shrink(groups, tokens, count)
    texts = {
        id(item): group.text(group.level)
        for group in groups
        if group.level < _OUT
        for item in group.members
    }
    return Kept(
        tuple(
            msgspec.structs.replace(item, text=texts[id(item)])
            for item in wanted
            if id(item) in texts
        ),
        tuple(item for item in wanted if id(item) not in texts),
    )


def _shrink(groups: Sequence[_Clause], tokens: int, count: Callable[[str], int]) -> None:
    """Shorten what matters least first, until all fit; then leave it out."""
    ranked = sorted(groups, key=lambda group: (group.score, group.number))
    passing = [group for group in ranked if group.passing]
    steps = (
        (ranked, _SHORT),
        (passing, _SHORTEST),
        (passing, _OUT),
        (ranked, _SHORTEST),
        (ranked, _OUT),
    )
    total = sum(group.tokens(group.level, count) for group in groups)
    for chosen, level in steps:
        for group in chosen:
            if total <= tokens:
                return
            if group.level < level:
                total -= group.tokens(group.level, count) - group.tokens(level, count)
                group.level = level


# --- what a summary lost ------------------------------------------------------------------------


def lost(items: Sequence[KeptItem], summary: str) -> list[KeptItem]:
    """The items a summary does not have, in their order.

    Values are compared in whatever spelling. A date, time, amount or number counts as there only
    when one of its words stands in the same sentence: two things may be on the same day. An item
    that takes a value back is missing too as long as the summary tells the old one.
    """
    if not summary.strip():
        return list(items)
    text = _SummaryText(summary)
    return [item for item in items if not text.has(item) or text.has_old(item)]


class _SummaryText:
    """A summary, read once for all comparisons."""

    def __init__(self, text: str) -> None:
        self._plain = narrow(text)
        self._folded = self._plain.casefold()
        self._sentences = [text[low:high] for low, high in sentences(text)]
        self._words = [content_words(sentence) for sentence in self._sentences]
        self._values = [
            (value.kind, value.key, number)
            for number, sentence in enumerate(self._sentences)
            for value in find_values(sentence)
        ]
        self._numbers = [
            (key, number)
            for number, sentence in enumerate(self._sentences)
            for _, key in numbers_in(sentence)
        ]

    def has(self, item: KeptItem) -> bool:
        if item.kind in STATEMENTS:
            return self._states(item)
        if item.kind == "name":
            return narrow(item.value).casefold() in self._folded
        if item.kind == "link":
            return key_of("link", item.value).word in self._folded
        if item.kind == "code":
            return bool(code_pattern(item.value).search(self._plain))
        about = _subject(item)
        places = self._places(item, _key(item))
        return any(not about or about & self._words[number] for number in places)

    def has_old(self, item: KeptItem) -> bool:
        if not item.replaces:
            return False
        old = msgspec.structs.replace(item, value=item.replaces, replaces="")
        return self.has(old)

    def _places(self, item: KeptItem, key: Key) -> list[int]:
        """The sentences with this value."""
        if item.kind in ("amount", "number"):
            return [number for other, number in self._numbers if key.is_same(other)]
        return [
            number
            for kind, other, number in self._values
            if kind == item.kind and key.is_same(other)
        ]

    def _states(self, item: KeptItem) -> bool:
        words = content_words(item.value)
        if not words:
            return narrow(item.value).casefold() in self._folded
        values = [value.key.word for value in find_values(item.value)]
        told = {key.word for _, key, _ in self._values} | {key.word for key, _ in self._numbers}
        if not all(word in told or word in self._folded for word in values):
            return False
        return any(
            len(words & other) >= ENOUGH_WORDS * len(words)
            and is_negative(item.value) == is_negative(sentence)
            for other, sentence in zip(self._words, self._sentences, strict=True)
        )


# --- repetitions and corrections ----------------------------------------------------------------


def merged(items: Iterable[KeptItem]) -> list[KeptItem]:
    """The items as they stand after all was said, in that order.

    What was said again is there once, and what was corrected only as corrected. Where it can't be
    told what a correction is about, both stay, the later one below.
    """
    result = _Merged()
    for item in sorted(items, key=lambda item: item.turn):
        result.add(item)
    return result.items


class _Told:
    """An item with what comparing it needs, worked out once."""

    def __init__(self, item: KeptItem) -> None:
        self.item = item

    @cached_property
    def key(self) -> Key:
        return _key(self.item)

    @cached_property
    def subject(self) -> frozenset[str]:
        return _subject(self.item)

    @property
    def is_statement(self) -> bool:
        return self.item.kind in STATEMENTS


class _Merged:
    """What was told so far; each thing has a place, and those that may be the same a bucket."""

    def __init__(self) -> None:
        self._places: dict[int, _Told] = {}
        self._buckets: dict[tuple[str, str], list[int]] = {}
        self._next = 0

    @property
    def items(self) -> list[KeptItem]:
        return sorted((told.item for told in self._places.values()), key=lambda item: item.turn)

    def add(self, item: KeptItem) -> None:
        if item.corrects:
            item = msgspec.structs.replace(self._correct(_Told(item)), corrects=False)
        told = _Told(item)
        bucket = self._buckets.setdefault(
            (item.kind, "" if told.is_statement else told.key.word), []
        )
        for place in reversed(bucket[-REACH:]):
            if place in self._places and _is_same(self._places[place], told):
                self._repeat(place, told)
                return
        bucket.append(self._next)
        self._places[self._next] = told
        self._next += 1

    def _repeat(self, place: int, again: _Told) -> None:
        """Said again: told once, in the user's words, in the clause that says more."""
        first = self._places[place]
        both = (first, again)
        users = [one for one in both if one.item.role == "user"] or both
        best = max(users, key=lambda one: (not one.item.passing, len(one.subject), one.item.turn))
        self._places[place] = _Told(
            msgspec.structs.replace(
                best.item,
                turn=max(one.item.turn for one in both),
                said=sum(one.item.said for one in both),
                passing=all(one.item.passing for one in both),
                replaces=again.item.replaces or first.item.replaces,
            )
        )

    def _correct(self, new: _Told) -> KeptItem:
        """Take out what is corrected, if that can be told; the correction as it stands then."""
        item = new.item
        place = self._corrected_by(new)
        if place is None:
            return item
        old = self._places.pop(place)
        if new.is_statement:
            return item
        before = old.item
        self._rewrite(before, item)
        # A clause that tells both values is longer, and may be read the wrong way.
        both = bool(item.replaces) and item.replaces in item.text
        first_says_it = both or new.subject <= old.subject
        text = before.text.replace(before.value, item.value) if first_says_it else item.text
        return msgspec.structs.replace(item, text=text, replaces=item.replaces or before.value)

    def _rewrite(self, old: KeptItem, new: KeptItem) -> None:
        """What else was said in the clause of a corrected value is told with the new one."""
        for place, told in self._places.items():
            if told.item.text == old.text:
                text = old.text.replace(old.value, new.value)
                value = text if told.item.value == old.text else told.item.value
                self._places[place] = _Told(
                    msgspec.structs.replace(told.item, text=text, value=value)
                )

    def _corrected_by(self, new: _Told) -> int | None:
        earlier = [
            (place, told)
            for place, told in islice(reversed(self._places.items()), REACH)
            if told.item.kind == new.item.kind
            # An answer can be wrong about what the user said.
            and (new.item.role == "user" or told.item.role != "user")
        ]
        if not new.item.replaces:
            others = [(place, told) for place, told in earlier if not told.key.is_same(new.key)]
            return _one_meant(new, others)
        key = _key(msgspec.structs.replace(new.item, value=new.item.replaces))
        named = [(place, told) for place, told in earlier if told.key.is_same(key)]
        if new.subject - GENERIC:
            return _one_meant(new, named)
        # "4pm, not 3pm": what is at 3pm, if that is only one thing.
        fitting = [(place, told) for place, told in named if new.subject & told.subject] or named
        apart = _apart([told.subject for _, told in fitting])
        return None if apart or not fitting else fitting[0][0]


def _one_meant(new: _Told, earlier: Sequence[tuple[int, _Told]]) -> int | None:
    """The place of what is corrected, by the words both share; the latest comes first.

    None when more than one thing may be meant, or none fits.
    """
    shares = [
        (_overlap(new, told), place, told) for place, told in earlier if not _conflict(new, told)
    ]
    top = max((share for share, _, _ in shares), default=0.0)
    if top < (SAME_STATEMENT if new.is_statement else SAME_THING) and not new.item.replaces:
        return None
    fits = [(place, told) for share, place, told in shares if share == top > 0]
    if not fits or _apart([told.subject for _, told in fits]):
        return None
    return fits[0][0]


def _apart(subjects: Sequence[frozenset[str]]) -> bool:
    """Whether they are about different things: neither is part of another."""
    return any(not (one <= other or other <= one) for one, other in combinations(subjects, 2))


def _overlap(new: _Told, old: _Told) -> float:
    smaller = min(len(new.subject), len(old.subject))
    return len(new.subject & old.subject) / smaller if smaller else 0.0


def _conflict(new: _Told, old: _Told) -> bool:
    """Whether each names something the other doesn't: then they are about different things."""
    if new.is_statement or new.subject <= old.subject or old.subject <= new.subject:
        return False
    return not new.item.replaces or _people(new.item) != _people(old.item)


_PERSON = re.compile(
    r"(?<=[a-z,;] )[A-Z][a-zÀ-ɏ]+|^[A-Z][a-zÀ-ɏ]+(?='s)"
    r"|\b(?:his|her|their|mom|mum|dad|mother|father|sister|brother|wife|husband|son|daughter|boss)\b"
    r"|[他她]|妈妈?|爸爸?|姐姐?|妹妹?|哥哥?|弟弟?|老婆|老公|妻子|丈夫|儿子|女儿|老板"
)


def _people(item: KeptItem) -> frozenset[str]:
    return frozenset(_PERSON.findall(_beside_values(item)))


def _subject(item: KeptItem) -> frozenset[str]:
    """The words of an item's clause beside its values: what it is about."""
    return content_words(item.value if item.kind in STATEMENTS else _beside_values(item))


def _beside_values(item: KeptItem) -> str:
    text = without_date(item.text).replace(item.value, " ")
    for value in reversed(find_values(text)):
        text = f"{text[: value.start]} {text[value.end :]}"
    return text


def _key(item: KeptItem) -> Key:
    if is_valued(item.kind):
        return key_of(item.kind, item.value)
    return Key(" ".join(sorted(content_words(item.value))) or item.value.casefold())


def _is_same(one: _Told, other: _Told) -> bool:
    """Whether both tell the same of the same thing."""
    first, second = one.subject, other.subject
    if one.is_statement and first | second:
        return len(first & second) >= ALIKE * len(first | second)
    if not one.key.is_same(other.key):
        return False
    if one.item.kind in ("code", "link", "name") or not first or not second:
        return True
    # Rent of 900 and a deposit of 900 are two things; an answer words the same one differently.
    both_users = one.item.role == other.item.role == "user"
    return first <= second or second <= first or (not both_users and bool(first & second))
