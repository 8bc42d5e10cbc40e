"""Session files of any length, written at once: what a real conversation would have left."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from assistant.memory.session_log import Record, SessionRecord, TitleRecord, encode
from assistant.memory.token_budget import message_tokens
from assistant.messages import Message, TokenCount, Usage
from assistant.providers.tiktoken_counter import TiktokenCounter, encoding_for

MODEL = "gpt-4o-mini"
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
PAUSE = timedelta(seconds=40)
DIFFERENT_TEXTS = 500
SENTENCES = (
    "我下周三要去杭州出差，帮我看看行程怎么安排比较合适。",
    "Remember that the review of the Q3 report is on 14 March at 10:30, room B-204.",
    "上次说的那个方案预算是 12,800 元，后来又加了 10%，对吗？",
    "I would split it into three steps, and check the result after each of them.",
    "妈妈对花生过敏，订蛋糕的时候千万不要忘了这一点。",
    "The build fails with `ModuleNotFoundError: No module named 'yaml'` since the last update.",
    "先把数据导出成 CSV，再用脚本清洗，最后导入新的表里就可以了。",
    "Could you make that shorter, and a little more polite at the end?",
    "这本书我看到第 148 页了，后面的章节好像更有意思。",
    "My flight MU5137 leaves at 07:45, so a taxi at 05:30 should do.",
)


def write_session(path: Path, messages: int, *, title: str = "A long conversation") -> None:
    """A titled session of questions and replies, with the counts they were saved with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(encode(record) for record in _records(path.stem, messages, title)))


@cache
def texts() -> Sequence[str]:
    """Chat messages of 50 to 600 characters, Chinese and English, the same in each run."""
    chance = random.Random(1)
    return [_text(chance, chance.randint(50, 600)) for _ in range(DIFFERENT_TEXTS)]


def _text(chance: random.Random, length: int) -> str:
    text = ""
    while len(text) < length:
        text += chance.choice(SENTENCES) + " "
    return text[:length].rstrip()


def _records(session_id: str, messages: int, title: str) -> Iterator[Record]:
    yield SessionRecord(session_id, BEGUN, "assistant benchmark")
    yield TitleRecord(title, BEGUN, by="user")
    for number in range(messages):
        yield _message(number)


def _message(number: int) -> Message:
    text, count = texts()[number % DIFFERENT_TEXTS], _counts()[number % DIFFERENT_TEXTS]
    ts, turn = BEGUN + number * PAUSE, number // 2 + 1
    if number % 2 == 0:
        return Message("user", text, id=number + 1, turn=turn, ts=ts, count=count)
    return Message(
        "assistant",
        text,
        id=number + 1,
        turn=turn,
        ts=ts,
        model=MODEL,
        usage=Usage(prompt_tokens=1_500, completion_tokens=count.tokens),
        finish_reason="stop",
        count=count,
    )


@cache
def _counts() -> Sequence[TokenCount]:
    counter = TiktokenCounter(encoding_for(MODEL))
    return [
        TokenCount(counter.encoding, message_tokens(Message("user", text), counter.count))
        for text in texts()
    ]
