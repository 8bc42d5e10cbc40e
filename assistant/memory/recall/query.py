"""What is searched for: the message, with the exchange before it where it leans on that."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from assistant.memory.language import length_in_words
from assistant.memory.recall.terms import terms
from assistant.memory.session import Session
from assistant.messages import Exchange

#: A message of more words than this says by itself what it is about.
SHORT = 8
#: A message with fewer words of content than this says next to nothing by itself.
FEW_WORDS = 2
#: Characters of the exchange before that join the search; the rest is further from the question.
JOINED = 400

# Words that point at something said before.
_POINTS_BACK = re.compile(
    r"\b(it|its|that|this|they|them|their|those|these|he|him|his|she|her|hers|one|ones|there|then"
    r"|first|second|third|last|other|another|else|same|both|former|latter)\b"
    r"|^\W*(and|but|or|so|what about|how about)\b"
    r"|[它他她那这]|呢\W*$|哪个|哪一个|第[一二三四五六七八九十\d]+个|另一个|其他|还有|然后",
    re.IGNORECASE,
)


class Query(msgspec.Struct, frozen=True):
    """What was typed, and what came before it where that is needed to understand it."""

    text: str
    before: str = ""

    @property
    def whole(self) -> str:
        return f"{self.before}\n{self.text}".strip()


def query_of(session: Session) -> Query:
    """The search for the user's last message in a session."""
    starts = session.history.turn_starts
    text = session.history[starts[-1]].text
    if len(starts) < 2 or not leans_on_previous(text):
        return Query(text)
    before = session.exchange(session.history[starts[-2]].turn)
    return Query(text, _shortened(before) if before else "")


def asked_speaker(text: str) -> Literal["user", "assistant"] | None:
    """Whose words a question asks for, where it says so: "did I say", 你推荐过."""
    if _ASKS_FOR_USER.search(text):
        return "user"
    return "assistant" if _ASKS_FOR_ASSISTANT.search(text) else None


_SAID = "say|said|tell|told|mention|mentioned|write|wrote|talk|talked|ask|asked|promise|promised"
_ADVISED = f"{_SAID}|recommend|recommended|suggest|suggested|advise|advised|explain|explained"
_ASKS_FOR_USER = re.compile(
    rf"\b(did|had|have) i (ever |already )?({_SAID})\b|\bi (ever |already |once )?({_SAID})\b"
    r"|我(曾经?|之前|以前|上次)?(跟|和|向|给)?(你)?(说|提|讲|告诉|推荐|介绍)",
    re.IGNORECASE,
)
_ASKS_FOR_ASSISTANT = re.compile(
    rf"\b(did|had|have) you (ever |already )?({_ADVISED})\b|\byou (ever |already |once )?"
    rf"({_ADVISED})\b|\byour (advice|answer|recommendation|suggestion|proposal)\b"
    r"|你(曾经?|之前|以前|上次)?(跟|和|向|给)?(我)?(说|提|讲|告诉|推荐|介绍|建议)",
    re.IGNORECASE,
)


def leans_on_previous(text: str) -> bool:
    """Whether a message is too short to be understood alone, or points back at what was said."""
    if length_in_words(text) > SHORT:
        return False
    return _content_words(text) < FEW_WORDS or _POINTS_BACK.search(text) is not None


def _content_words(text: str) -> float:
    """Words that carry meaning; a Chinese character is taken for half of one."""
    found = terms(text)
    characters = sum(len(term) == 1 and term >= "\u3400" for term in found)
    pairs = sum(len(term) == 2 and term >= "\u3400" for term in found)
    return len(found) - pairs - characters / 2


def _shortened(exchange: Exchange) -> str:
    half = JOINED // 2
    return f"{exchange.user[:half]}\n{exchange.assistant[:half]}".strip()
